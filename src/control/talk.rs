//! One connection to one process: a line there, a line back, and never a wait without end.

use crate::os::identity;
use serde_json::{Value, json};
use shim_config::control::{ANSWER_BYTES, REQUEST_BYTES, VERSION};
use std::fmt;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Why a process did not do what was asked.
#[derive(Debug)]
pub enum Trouble {
    /// Nobody listens any more.
    Gone,
    /// It is another user's.
    Denied,
    /// The request is longer than a process reads.
    TooLong(usize),
    /// It did not answer in time.
    NoAnswer(Duration),
    /// It ended the connection.
    Ended,
    /// Something else answered, or nothing that can be understood.
    Strange(String),
    /// It refused, and said why.
    Refused(String),
    /// The system did.
    System(io::Error),
}

impl fmt::Display for Trouble {
    /// The end of a sentence about the process.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Gone => f.write_str("nobody listens at its socket any more"),
            Trouble::Denied => f.write_str("its socket belongs to another user"),
            Trouble::TooLong(bytes) => {
                write!(f, "the request has {bytes} bytes, and a process reads {REQUEST_BYTES}: make it shorter")
            }
            Trouble::NoAnswer(after) => {
                write!(f, "no answer within {} s: is it stopped, or very busy?", after.as_secs_f64())
            }
            Trouble::Ended => f.write_str("it ended the connection: has the program ended?"),
            Trouble::Strange(what) => write!(f, "what listens at its socket gave no answer of a gpuprof: {what}"),
            Trouble::Refused(why) => f.write_str(why),
            Trouble::System(error) => write!(f, "its socket cannot be used: {error}"),
        }
    }
}

/// A request without anything more to say.
pub fn request(verb: &str) -> Value {
    json!({"gpuprof": VERSION, "do": verb})
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    /// Bytes behind the last answer.
    rest: Vec<u8>,
}

impl Connection {
    /// Connects to the socket at `path`.
    ///
    /// # Errors
    /// Fails if the socket cannot be connected to, for example because no process listens on it or because it belongs
    /// to another user.
    pub fn to(path: &Path) -> Result<Connection, Trouble> {
        match UnixStream::connect(path) {
            Ok(stream) => Ok(Connection { stream, rest: Vec::new() }),
            Err(e) => Err(match e.kind() {
                ErrorKind::ConnectionRefused | ErrorKind::NotFound => Trouble::Gone,
                ErrorKind::PermissionDenied => Trouble::Denied,
                _ => Trouble::System(e),
            }),
        }
    }

    /// The pid of who made the socket, as we see him; `None` where we do not.
    pub fn peer_pid(&self) -> Option<u32> {
        identity::peer_pid(&self.stream)
    }

    /// Sends a request and waits for its answer, `patience` at most.
    ///
    /// # Errors
    /// Fails if the request was refused, or if there was no answer.
    pub fn ask(&mut self, request: &Value, patience: Duration) -> Result<Value, Trouble> {
        let until = Instant::now() + patience;
        let mut line = request.to_string().into_bytes();
        line.push(b'\n');
        if line.len() > REQUEST_BYTES {
            return Err(Trouble::TooLong(line.len()));
        }
        self.stream.set_write_timeout(Some(patience)).map_err(Trouble::System)?;
        match self.stream.write_all(&line) {
            // It may have said why before it hung up.
            Err(e) if matches!(e.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {}
            Err(e) if is_late(&e) => return Err(Trouble::NoAnswer(patience)),
            other => other.map_err(Trouble::System)?,
        }
        let answer = self.line(until, patience)?;
        let strange = || Trouble::Strange(String::from_utf8_lossy(&answer[..answer.len().min(80)]).into_owned());
        let answer: Value = serde_json::from_slice(&answer).map_err(|_| strange())?;
        if answer.get("gpuprof").and_then(Value::as_u64) != Some(VERSION) {
            return Err(strange());
        }
        match answer.get("ok").and_then(Value::as_bool) {
            Some(true) => Ok(answer),
            Some(false) => {
                let why = answer.get("error").and_then(Value::as_str).unwrap_or("it gave no reason");
                Err(Trouble::Refused(why.to_owned()))
            }
            None => Err(strange()),
        }
    }

    /// The next line, without its line feed.
    fn line(&mut self, until: Instant, patience: Duration) -> Result<Vec<u8>, Trouble> {
        let mut chunk = [0; 4096];
        loop {
            if let Some(end) = self.rest.iter().position(|b| *b == b'\n') {
                let mut line: Vec<u8> = self.rest.drain(..=end).collect();
                line.pop();
                return Ok(line);
            }
            if self.rest.len() > ANSWER_BYTES {
                return Err(Trouble::Strange("a line without end".to_owned()));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Trouble::NoAnswer(patience));
            }
            self.stream.set_read_timeout(Some(left)).map_err(Trouble::System)?;
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(Trouble::Ended),
                Ok(n) => self.rest.extend_from_slice(&chunk[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if is_late(&e) => return Err(Trouble::NoAnswer(patience)),
                Err(e) if e.kind() == ErrorKind::ConnectionReset => return Err(Trouble::Ended),
                Err(e) => return Err(Trouble::System(e)),
            }
        }
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of asking somebody who says `answer` and no more.
    fn asked(answer: &'static [u8], patience: Duration) -> Result<Value, Trouble> {
        let (mine, mut theirs) = UnixStream::pair().expect("two sockets");
        let other = std::thread::spawn(move || {
            let mut request = [0; 256];
            let n = theirs.read(&mut request).expect("a request");
            assert!(request[..n].ends_with(b"\n"));
            theirs.write_all(answer).expect("somebody listens");
            // Until we are gone.
            let _ = theirs.read(&mut request);
        });
        let mut connection = Connection { stream: mine, rest: Vec::new() };
        let result = connection.ask(&request("status"), patience);
        drop(connection);
        other.join().expect("the other side");
        result
    }

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn an_answer_is_a_line_of_our_protocol_or_trouble() {
        assert_eq!(asked(b"{\"gpuprof\":1,\"ok\":true,\"pid\":7}\n", LONG).expect("an answer")["pid"], 7);
        let refused = asked(b"{\"gpuprof\":1,\"ok\":false,\"error\":\"not today\"}\n", LONG);
        assert_eq!(refused.expect_err("refused").to_string(), "not today");
        for strange in
            [&b"HTTP/1.1 400 Bad Request\r\n"[..], b"\n", b"{}\n", b"{\"gpuprof\":2,\"ok\":true}\n", b"\xff\n"]
        {
            assert!(matches!(asked(strange, LONG), Err(Trouble::Strange(_))), "{strange:?}");
        }
        let late = asked(b"{\"gpuprof\":1", Duration::from_millis(50));
        assert!(matches!(late, Err(Trouble::NoAnswer(_))), "{late:?}");
    }

    #[test]
    fn a_request_that_no_process_reads_is_not_sent() {
        let (mine, _theirs) = UnixStream::pair().expect("two sockets");
        let mut connection = Connection { stream: mine, rest: Vec::new() };
        let long = json!({"gpuprof": VERSION, "do": "mark", "text": "x".repeat(REQUEST_BYTES)});
        assert!(matches!(connection.ask(&long, LONG), Err(Trouble::TooLong(_))));
    }
}
