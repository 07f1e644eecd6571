//! Signals: sets of them, which are blocked, and what they do. All functions are plain system calls, so that they may be
//! called between `fork` and `exec`.

use std::mem::MaybeUninit;
use std::time::Duration;

/// Some signals.
#[derive(Clone, Copy)]
pub struct SignalSet(libc::sigset_t);

impl SignalSet {
    /// This signal alone; a number that is no signal's makes an empty set.
    pub fn one(signal: i32) -> SignalSet {
        let mut set = MaybeUninit::zeroed();
        // SAFETY: the set is ours, and initialised before it is added to.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), signal);
            SignalSet(set.assume_init())
        }
    }

    /// Every signal but these.
    pub fn all_but(signals: &[i32]) -> SignalSet {
        let mut set = MaybeUninit::zeroed();
        // SAFETY: the set is ours, and filled before it is taken from.
        unsafe {
            libc::sigfillset(set.as_mut_ptr());
            for signal in signals {
                libc::sigdelset(set.as_mut_ptr(), *signal);
            }
            SignalSet(set.assume_init())
        }
    }

    /// Holds these back as well, in this thread; returns what was held back before. Faults act all the same.
    pub fn block(&self) -> SignalSet {
        self.mask(libc::SIG_BLOCK)
    }

    /// Lets these act again, in this thread.
    pub fn unblock(&self) {
        self.mask(libc::SIG_UNBLOCK);
    }

    /// Holds back these and no others, in this thread.
    pub fn become_mask(&self) {
        self.mask(libc::SIG_SETMASK);
    }

    fn mask(&self, how: i32) -> SignalSet {
        let mut before = MaybeUninit::zeroed();
        // SAFETY: both sets are ours; all zeros is a valid one.
        unsafe {
            libc::sigprocmask(how, &raw const self.0, before.as_mut_ptr());
            SignalSet(before.assume_init())
        }
    }

    /// Waits for one of these, which must be blocked: its number, which is not positive after an error, and what the
    /// kernel says about it.
    pub fn wait(&self) -> (i32, SignalInfo) {
        let mut information = MaybeUninit::zeroed();
        // SAFETY: the set and the structure are ours; all zeros is a valid value of it.
        unsafe {
            let signal = libc::sigwaitinfo(&raw const self.0, information.as_mut_ptr());
            (signal, SignalInfo(information.assume_init()))
        }
    }

    /// Waits for one of these, which must be blocked, for less than a second: its number, or -1.
    pub fn wait_for(&self, at_most: Duration) -> i32 {
        let wait = libc::timespec { tv_sec: 0, tv_nsec: i64::from(at_most.subsec_nanos()) };
        // SAFETY: the set and the time are ours, and nothing more is asked for.
        unsafe { libc::sigtimedwait(&raw const self.0, std::ptr::null_mut(), &raw const wait) }
    }
}

/// What the kernel says about a signal.
pub struct SignalInfo(libc::siginfo_t);

/// `tgkill` and `pthread_kill`; libc has no name for it on all systems.
const SI_TKILL: i32 = -6;

impl SignalInfo {
    /// The process that sent it; `None` where the kernel made it.
    pub fn sender(&self) -> Option<i32> {
        let by_a_process = matches!(self.0.si_code, libc::SI_USER | libc::SI_QUEUE | SI_TKILL);
        // SAFETY: signals that processes send carry their sender.
        by_a_process.then(|| unsafe { self.0.si_pid() })
    }
}

/// Sends a signal to a process.
pub fn send(pid: i32, signal: i32) {
    // SAFETY: plain numbers; a process that does not exist is an error without effect.
    unsafe { libc::kill(pid, signal) };
}

/// Sends a signal to this process.
pub fn send_to_self(signal: i32) {
    send(std::process::id().cast_signed(), signal);
}

/// Lets a signal do what it does to programs that did not ask for it.
pub fn act_by_default(signal: i32) {
    // SAFETY: sets the default, which needs no function.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Whether this process ignores a signal.
pub fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: only asks, into memory that has room; all zeros is a valid value.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}
