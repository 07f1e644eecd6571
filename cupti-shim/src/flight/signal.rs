//! A signal that asks for a dump. Off unless the user names one; never in the place of a handler of the program's.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

use shim_config::signal_name;

use crate::{log, session, sys};

/// The signal came, and nobody has looked since.
static CAME: AtomicBool = AtomicBool::new(false);

/// Whether the signal came since the last call.
pub fn take() -> bool {
    CAME.load(Ordering::Relaxed) && CAME.swap(false, Ordering::AcqRel)
}

/// What a forked child forgets ([`crate::fork`]): a signal that came to its parent. It did not ask the child.
pub fn forget() {
    CAME.store(false, Ordering::Release);
}

/// Takes the signal, if it has its default meaning. Otherwise says once that it is the program's own.
pub fn install(number: u8) {
    let signal = c_int::from(number);
    // SAFETY: both structures are ours, and zeros are a valid value; the handler lives as long as the process.
    let refused = unsafe {
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        let known = libc::sigaction(signal, std::ptr::null(), before.as_mut_ptr()) == 0;
        if !known || before.assume_init().sa_sigaction != libc::SIG_DFL {
            true
        } else {
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_signal as extern "C" fn(c_int) as usize;
            ours.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
            libc::sigemptyset(&mut ours.sa_mask);
            libc::sigaction(signal, &ours, std::ptr::null_mut()) != 0
        }
    };
    if refused {
        let name = signal_name(number);
        log::line(
            1,
            format_args!("signal {name} is the program's own and makes no dump; choose another with --dump-signal"),
        );
    }
}

/// Only wakes threads of ours: async-signal-safe, and errno stays what it was.
extern "C" fn on_signal(number: c_int) {
    // SAFETY: errno is the thread's own.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let saved = unsafe { *errno };
    if sys::is_ours() {
        CAME.store(true, Ordering::Release);
        if let Some(session) = session::current() {
            sys::signal(&session.flush_word);
            // Should that thread be inside CUPTI and not come back.
            session.shared.nudge();
        }
    } else {
        // A forked child: for it the signal means what it meant before.
        // SAFETY: both are async-signal-safe; the signal is delivered when this handler returns.
        unsafe {
            libc::signal(number, libc::SIG_DFL);
            libc::raise(number);
        }
    }
    // SAFETY: as above.
    unsafe { *errno = saved };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_with_a_handler_is_left_alone() {
        extern "C" fn theirs(_: c_int) {}
        let number = libc::SIGRTMIN() + 9;
        let handler = |number| {
            let mut now = MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: reads only.
            unsafe {
                libc::sigaction(number, std::ptr::null(), now.as_mut_ptr());
                now.assume_init().sa_sigaction
            }
        };
        let theirs = theirs as extern "C" fn(c_int) as usize;
        // SAFETY: a signal that nobody else uses here.
        unsafe { libc::signal(number, theirs) };
        install(number as u8);
        assert_eq!(handler(number), theirs);
        // SAFETY: as above.
        unsafe { libc::signal(number, libc::SIG_IGN) };
        install(number as u8);
        assert_eq!(handler(number), libc::SIG_IGN);
        // SAFETY: as above.
        unsafe { libc::signal(number, libc::SIG_DFL) };
        install(number as u8);
        assert_eq!(handler(number), on_signal as extern "C" fn(c_int) as usize);
        // SAFETY: as above.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
}
