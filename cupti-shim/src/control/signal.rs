//! The second way to switch recording on and off: a signal that the user chose.
//!
//! The handler runs on a thread of the program, in the middle of anything. It adds one to a number and sends one byte to
//! the control thread, which does the rest.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use shim_config::{Settings, signal_name};

use super::socket::Socket;
use crate::log::{self, identity};
use crate::sys;

/// Signals so far. Sequentially consistent with [`WAKE`]: either the handler finds somebody to wake, or he finds the signal.
static SIGNALS: AtomicU32 = AtomicU32::new(0);
/// Where the control thread is woken, with the file's device and inode; -1: nowhere.
static WAKE: AtomicI32 = AtomicI32::new(-1);
static DEVICE: AtomicU64 = AtomicU64::new(0);
static INODE: AtomicU64 = AtomicU64::new(0);

/// Installs the handler if a signal was chosen. Before the first context, so that a signal which comes too early does not
/// end the program; what came until then counts.
///
/// A handler of the program's own stays, and is not called by ours: whose signal it was nobody could tell.
pub fn install(settings: &Settings) {
    let Some(number) = settings.toggle_signal else { return };
    let signal = c_int::from(number);
    let handler: extern "C" fn(c_int) = on_signal;
    // SAFETY: both are whole, and initialised with zeros, a valid value.
    unsafe {
        let mut old = MaybeUninit::<libc::sigaction>::zeroed();
        if libc::sigaction(signal, std::ptr::null(), old.as_mut_ptr()) != 0 {
            return;
        }
        let old = old.assume_init().sa_sigaction;
        if old == handler as usize {
            return;
        }
        if old != libc::SIG_DFL {
            let what = if old == libc::SIG_IGN { "ignores it" } else { "has a handler of its own for it" };
            return log::line(
                1,
                format_args!(
                    "GPUPROF_TOGGLE_SIGNAL={}: the program {what}, which stays; choose another, or use `gpuprof ctl`",
                    signal_name(number)
                ),
            );
        }
        let mut new = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        new.sa_sigaction = handler as usize;
        // Calls of the program go on where they can, and runtimes with small stacks have one for handlers.
        new.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigfillset(&mut new.sa_mask);
        libc::sigaction(signal, &new, std::ptr::null_mut());
    }
}

/// What a forked child forgets ([`crate::fork`]): the signals that its parent got, and where the parent's control
/// thread is woken. A signal to the child must wake nobody in the parent.
pub(super) fn forget() {
    WAKE.store(-1, Ordering::Release);
    SIGNALS.store(0, Ordering::Release);
}

extern "C" fn on_signal(_: c_int) {
    // A child that has no recording of its own has inherited the handler.
    if !sys::is_ours() {
        return;
    }
    SIGNALS.fetch_add(1, Ordering::SeqCst);
    let fd = WAKE.load(Ordering::SeqCst);
    if fd < 0 {
        return;
    }
    // SAFETY: errno is the thread's own; `fstat` and `send` may be called in a handler. No signal, no waiting: if the
    // socket is full, the thread is awake.
    unsafe {
        let errno = libc::__errno_location();
        let saved = *errno;
        if identity(fd) == Some((DEVICE.load(Ordering::Relaxed), INODE.load(Ordering::Relaxed))) {
            libc::send(fd, b"!".as_ptr().cast(), 1, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
        }
        *errno = saved;
    }
}

/// The control thread's end.
pub(super) struct Waker {
    pub(super) socket: Socket,
    /// Kept open for the handler.
    _other: Socket,
    /// Signals that were obeyed.
    obeyed: u32,
}

impl Waker {
    /// Lets the handler wake this thread. None: there is no descriptor to be had.
    pub(super) fn open() -> Option<Waker> {
        let (socket, other) = Socket::pair()?;
        let (device, inode) = other.identity();
        DEVICE.store(device, Ordering::Relaxed);
        INODE.store(inode, Ordering::Relaxed);
        WAKE.store(other.fd(), Ordering::SeqCst);
        Some(Waker { socket, _other: other, obeyed: 0 })
    }

    /// Whether an odd number of signals came since the last call: two of them cancel each other.
    pub(super) fn take_toggle(&mut self) -> bool {
        let mut bytes = [0; 64];
        while self.socket.receive(&mut bytes).is_ok_and(|n| n == bytes.len()) {}
        let signals = SIGNALS.load(Ordering::SeqCst);
        let is_odd = signals.wrapping_sub(self.obeyed) % 2 == 1;
        self.obeyed = signals;
        is_odd
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        WAKE.store(-1, Ordering::Release);
    }
}
