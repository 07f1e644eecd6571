//! The control thread's loop. It sleeps until a client, a signal or a promised time wakes it.

use std::sync::atomic::AtomicU32;

use super::client::Client;
use super::endpoint::Listener;
use super::signal::Waker;
use super::socket::{Socket, poll};
use super::state::State;
use crate::gate::GATE;
use crate::own_cost::CONTROL;
use crate::session::Session;
use crate::{log, sys};

/// Connections at a time. When one more comes, the one that has kept still longest goes.
const CLIENTS: usize = 16;
/// What is done at most in one period, connections and requests: a client that floods costs the program a few percent of
/// one processor, and others wait a period at most.
const BURST: u32 = 200;
const PERIOD_NS: i64 = 100_000_000;

/// The control thread's listening socket, its waker and its clients.
pub(super) struct Server {
    listener: Option<Listener>,
    waker: Option<Waker>,
    clients: Vec<Client>,
    state: State,
    budget: Budget,
}

/// What may still be done in this period.
struct Budget {
    end_ns: i64,
    left: u32,
}

impl Budget {
    /// Takes one. `Err`: how long until there are more.
    fn take(&mut self, now_ns: i64) -> Result<(), i64> {
        if now_ns >= self.end_ns {
            (self.end_ns, self.left) = (now_ns + PERIOD_NS, BURST);
        }
        if self.left == 0 {
            return Err(self.end_ns - now_ns);
        }
        self.left -= 1;
        Ok(())
    }
}

fn pause() {
    let nobody = AtomicU32::new(0);
    sys::futex_wait(&nobody, 0, Some(PERIOD_NS));
}

impl Server {
    pub(super) fn new(session: &'static Session, listener: Option<Listener>, waker: Option<Waker>) -> Server {
        let budget = Budget { end_ns: 0, left: 0 };
        Server { listener, waker, clients: Vec::new(), state: State::new(session), budget }
    }

    /// Serves until there is nothing left to listen to.
    pub(super) fn run(mut self) {
        // Signals that came before there was anybody to wake.
        self.obey_signals();
        while self.listener.is_some() || self.waker.is_some() {
            self.turn();
        }
    }

    fn turn(&mut self) {
        let none = libc::pollfd { fd: -1, events: 0, revents: 0 };
        let input = |socket: &Socket| libc::pollfd { fd: socket.fd(), events: libc::POLLIN, revents: 0 };
        let listener = self.listener.as_ref().map_or(none, |listener| input(&listener.socket));
        let waker = self.waker.as_ref().map_or(none, |waker| input(&waker.socket));
        let mut polled = vec![listener, waker];
        polled.extend(self.clients.iter().map(Client::polled));
        let due_ns = self.clients.iter().map(Client::due_ns).min();
        CONTROL.rests();
        if !poll(&mut polled, due_ns.map(|due_ns| due_ns.saturating_sub(sys::monotonic_ns()))) {
            // The program allows itself fewer descriptors than there are here: not again and again at once.
            pause();
        }
        CONTROL.works();
        // The program may have closed everything that it does not know, and opened files of its own under our numbers.
        if self.waker.as_ref().is_some_and(|waker| !waker.socket.is_ours()) {
            self.waker = None;
        }
        if self.listener.as_ref().is_some_and(|listener| !listener.socket.is_ours() || !listener.may_serve()) {
            self.close();
        }
        self.obey_signals();
        let mut happened = polled[2..].iter().map(|p| p.revents);
        let (mut wait_ns, budget, state) = (None, &mut self.budget, &mut self.state);
        self.clients.retain_mut(|client| {
            let happened = happened.next().unwrap_or(0);
            let now_ns = sys::monotonic_ns();
            if happened == 0 && now_ns < client.due_ns() {
                return true;
            }
            // Whoever is promised something gets it in time.
            match if client.is_promised() { Ok(()) } else { budget.take(now_ns) } {
                Ok(()) => client.serve(happened, now_ns, state),
                Err(ns) => {
                    wait_ns = Some(ns);
                    true
                }
            }
        });
        if polled[0].revents != 0 && self.listener.is_some() {
            match self.budget.take(sys::monotonic_ns()) {
                Ok(()) => self.accept(),
                Err(ns) => wait_ns = Some(ns),
            }
        }
        if let Some(ns) = wait_ns {
            let promised = self.clients.iter().filter(|c| c.is_promised()).map(Client::due_ns).min();
            let now_ns = sys::monotonic_ns();
            let ns = promised.map_or(ns, |due_ns| ns.min(due_ns.saturating_sub(now_ns)));
            let mut waker = [waker];
            poll(&mut waker, Some(ns));
        }
    }

    fn accept(&mut self) {
        let Some(socket) = self.listener.as_ref().and_then(|listener| listener.socket.accept()) else {
            // No descriptor to be had: whoever waits stays where he is, and is not asked for again at once.
            return pause();
        };
        // SAFETY: cannot fail.
        let own = unsafe { libc::geteuid() };
        let peer = socket.peer_uid();
        let client = Client::new(socket, sys::monotonic_ns());
        match peer {
            Some(uid) if uid == own || uid == 0 => {}
            _ => return client.turn_away("only the user who runs the program, and root, may control it"),
        }
        if self.clients.len() >= CLIENTS {
            let idle = self.clients.iter().enumerate().filter(|(_, client)| !client.is_promised());
            match idle.min_by_key(|(_, client)| client.heard_ns()).map(|(i, _)| i) {
                Some(longest) => drop(self.clients.remove(longest)),
                None => return client.turn_away("too many clients wait for something already; try again later"),
            }
        }
        self.clients.push(client);
    }

    /// The socket is not ours any more, or may not be used.
    fn close(&mut self) {
        self.listener = None;
        self.clients.clear();
        super::remove();
        log::line(
            2,
            format_args!("the control socket is gone: `gpuprof ctl` does not reach this process any more"),
        );
    }

    fn obey_signals(&mut self) {
        if self.waker.as_mut().is_some_and(Waker::take_toggle) {
            self.toggle();
        }
    }

    fn toggle(&self) {
        let on = !GATE.is_open();
        match self.state.switch(on) {
            Ok(_) => {
                log::line(2, format_args!("recording is switched {} by signal", if on { "on" } else { "off" }))
            }
            Err(why) => log::line(1, format_args!("a signal to switch recording cannot be obeyed: {why}")),
        }
    }
}
