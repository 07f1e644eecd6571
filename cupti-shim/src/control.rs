//! Control of a recording while it runs: a socket that answers `gpuprof ctl`, and, where the user chose one, a signal.
//!
//! ```text
//! endpoint  the folder, the socket in it, and its end                ┐
//! socket    descriptors that stay ours, and calls that never wait    ├─▶ server  one thread, asleep in `ppoll`
//! signal    a handler that only wakes the thread                     ┘      │
//! client    one connection: a line in, a line out, a time limit  ◀──────────┘
//! protocol  the lines
//! verbs     what can be asked for, one file each; state: what they work with
//! ```
//!
//! The thread begins with the first context, like the others (docs/decisions/013). Whatever clients do, the program does
//! not notice: nothing here is waited for by a thread of the program, no client is waited for by the thread, and no lock
//! that a buffer callback takes is held anywhere. System calls that the program did not need without us are made when
//! the socket is made, and later only when a client comes; a program that has put itself into a sandbox meanwhile is
//! left alone then.

mod client;
mod endpoint;
mod protocol;
mod server;
mod signal;
mod socket;
mod state;
mod verbs;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use shim_config::control::RuntimeDir;

use crate::messages::Message;
use crate::own_cost::CONTROL;
use crate::session::Session;
use crate::{log, sys};
use endpoint::{Bound, Endpoint};
use server::Server;
use signal::Waker;

pub use signal::install as listen_to_signal;

/// The gate is switched on this thread, and CUPTI runs on it then, as on the flush thread.
const STACK_BYTES: usize = 1 << 20;

/// Where this process's socket is, for whoever ends the process; leaked.
static BOUND: AtomicPtr<Bound> = AtomicPtr::new(std::ptr::null_mut());
/// The end of the program has begun.
static ENDED: AtomicBool = AtomicBool::new(false);

/// Starts the thread, if there is anything for it to listen to.
pub fn start(session: &'static Session) {
    let settings = session.settings;
    if settings.runtime_dir == RuntimeDir::Off && settings.toggle_signal.is_none() {
        return;
    }
    if !sys::spawn(c"gpuprof-ctl", STACK_BYTES, move || run(session)) {
        log::line(
            2,
            format_args!("the control thread could not be started: `gpuprof ctl` does not reach this process"),
        );
    }
}

/// Removes the socket: the end of the program, on one of its threads. Nothing is obeyed from here on.
pub fn finish() {
    ENDED.store(true, Ordering::SeqCst);
    remove();
}

/// What a forked child forgets ([`crate::fork`]): where its parent's socket is, that the end of the parent has begun,
/// and the parent's signals. The socket stays the parent's.
pub fn forget() {
    BOUND.store(std::ptr::null_mut(), Ordering::Release);
    ENDED.store(false, Ordering::Release);
    signal::forget();
}

fn remove() {
    let bound = BOUND.swap(std::ptr::null_mut(), Ordering::SeqCst);
    // SAFETY: a leaked box, given up by the swap to one caller alone; nobody frees it.
    if let Some(bound) = unsafe { bound.as_ref() } {
        bound.remove();
    }
}

fn run(session: &'static Session) {
    // A panic in here must cost the recording nothing: everything it shares with others is whole at any moment.
    if catch_unwind(AssertUnwindSafe(|| serve(session))).is_err() {
        log::line(
            1,
            format_args!("the control thread failed: the recording goes on without it; please report this"),
        );
    }
    remove();
    CONTROL.rests();
}

fn serve(session: &'static Session) {
    let listener = match endpoint::open(session) {
        Ok(Some(Endpoint { listener, bound })) => {
            BOUND.store(Box::into_raw(Box::new(bound)), Ordering::SeqCst);
            if ENDED.load(Ordering::SeqCst) {
                // The end did not find it.
                return;
            }
            Some(listener)
        }
        Ok(None) => None,
        Err(trouble) => {
            let verbosity = if trouble.is_worth_a_line { 1 } else { 2 };
            log::line(verbosity, format_args!("{}", trouble.text));
            session.shared.send(Message::Note { start_ns: None, text: trouble.text.into() });
            None
        }
    };
    let waker = session.settings.toggle_signal.and_then(|_| Waker::open());
    if listener.is_some() || waker.is_some() {
        Server::new(session, listener, waker).run();
    }
}
