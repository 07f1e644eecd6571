//! One connection: a line in, a line out, and an end to it whatever the other side does.

use std::io::ErrorKind;

use shim_config::control::REQUEST_BYTES;

use super::protocol::{self, Request};
use super::socket::Socket;
use super::state::{Answer, Later, State};
use super::verbs;

/// How long the other side may take for a request, and for the reading of an answer.
const PATIENCE_NS: i64 = 10_000_000_000;

/// One connection: its socket, what has come of a request, and what is still to be sent of the answer.
pub(super) struct Client {
    socket: Socket,
    input: Vec<u8>,
    /// The answer, from `sent` on still to be sent.
    output: Vec<u8>,
    sent: usize,
    /// What is not over yet.
    later: Option<Later>,
    /// When patience ends, monotonic.
    until_ns: i64,
    /// No more requests are taken; the connection ends with the answer.
    is_closing: bool,
    /// The other side sends no more.
    has_ended: bool,
}

impl Client {
    /// A new connection.
    pub(super) fn new(socket: Socket, now_ns: i64) -> Client {
        Client {
            socket,
            input: Vec::new(),
            output: Vec::new(),
            sent: 0,
            later: None,
            until_ns: now_ns + PATIENCE_NS,
            is_closing: false,
            has_ended: false,
        }
    }

    /// What to wait for at its socket.
    pub(super) fn polled(&self) -> libc::pollfd {
        let events = if !self.output.is_empty() {
            libc::POLLOUT
        } else if self.later.is_some() || self.has_ended {
            // Hang-ups are told unasked.
            0
        } else {
            libc::POLLIN
        };
        libc::pollfd { fd: self.socket.fd(), events, revents: 0 }
    }

    /// When it is to be looked at though nothing happened.
    pub(super) fn due_ns(&self) -> i64 {
        match &self.later {
            Some(later) => later.at_ns,
            None if self.has_line() => i64::MIN,
            None => self.until_ns,
        }
    }

    /// Whether it waits for something that was promised.
    pub(super) fn is_promised(&self) -> bool {
        self.later.is_some()
    }

    /// Since when it has kept still; the greater, the more recent.
    pub(super) fn heard_ns(&self) -> i64 {
        self.until_ns
    }

    fn has_line(&self) -> bool {
        self.output.is_empty() && !self.is_closing && self.input.contains(&b'\n')
    }

    /// Tells it why it is not served, and is done with it.
    pub(super) fn turn_away(mut self, why: &str) {
        self.output = protocol::refused(why);
        let _ = self.socket.send(&self.output);
    }

    /// Deals with what happened at its socket, one request at most. False: the connection is over.
    pub(super) fn serve(&mut self, happened: i16, now_ns: i64, state: &mut State) -> bool {
        if !self.socket.is_ours() {
            return false;
        }
        if happened & libc::POLLIN != 0 && !self.read() {
            return false;
        }
        if let Some(later) = self.later.take() {
            if happened & (libc::POLLHUP | libc::POLLERR) != 0 {
                // Nobody waits for the answer: what was promised is off.
                return false;
            }
            if now_ns >= later.at_ns {
                self.answer((later.go_on)(state), now_ns);
            } else {
                self.later = Some(later);
            }
        } else if self.has_line() {
            self.request(now_ns, state);
        } else if self.input.len() >= REQUEST_BYTES {
            self.last_word(&format!("a request has at most {REQUEST_BYTES} bytes"));
        }
        let is_open = self.write(now_ns);
        if self.later.is_some() || self.has_line() {
            return is_open;
        }
        let is_hung_up = happened & (libc::POLLHUP | libc::POLLERR) != 0;
        is_open && !(self.output.is_empty() && (is_hung_up || self.has_ended)) && self.is_in_time(now_ns)
    }

    fn is_in_time(&mut self, now_ns: i64) -> bool {
        if now_ns < self.until_ns {
            return true;
        }
        if self.output.is_empty() && !self.input.is_empty() {
            self.last_word("the request did not come to an end");
            let _ = self.socket.send(&self.output);
        }
        false
    }

    /// Takes what there is, within the bounds. False: the connection is broken.
    fn read(&mut self) -> bool {
        let mut room = [0; REQUEST_BYTES];
        let free = REQUEST_BYTES.saturating_sub(self.input.len());
        match self.socket.receive(&mut room[..free]) {
            Ok(0) if free > 0 => self.has_ended = true,
            Ok(n) => self.input.extend_from_slice(&room[..n]),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => return false,
        }
        true
    }

    fn request(&mut self, now_ns: i64, state: &mut State) {
        let Some(end) = self.input.iter().position(|b| *b == b'\n') else { return };
        let line: Vec<u8> = self.input.drain(..=end).collect();
        match Request::parse(&line[..end]) {
            Ok(request) => self.answer(verbs::run(state, &request), now_ns),
            Err(why) => self.last_word(&why),
        }
    }

    fn answer(&mut self, answer: Answer, now_ns: i64) {
        self.until_ns = now_ns + PATIENCE_NS;
        match answer {
            Answer::Done(facts) => self.output = protocol::done(facts),
            Answer::Refused(why) => self.output = protocol::refused(&why),
            Answer::Later(later) => self.later = Some(later),
        }
    }

    /// An error after which nothing that this client says is listened to.
    fn last_word(&mut self, why: &str) {
        self.output = protocol::refused(why);
        self.is_closing = true;
    }

    /// Sends what there is room for. False: the connection is over.
    fn write(&mut self, now_ns: i64) -> bool {
        if self.output.is_empty() {
            return true;
        }
        match self.socket.send(&self.output[self.sent..]) {
            Ok(n) => self.sent += n,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => return false,
        }
        if self.sent < self.output.len() {
            return true;
        }
        (self.output, self.sent) = (Vec::new(), 0);
        self.until_ns = now_ns + PATIENCE_NS;
        !self.is_closing
    }
}
