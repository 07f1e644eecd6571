//! Processes that are signalled by a descriptor: a process id may be another's by the time a signal is sent.

use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// One process for as long as this is held, and no other that gets its number.
#[derive(Debug)]
pub struct ProcessHandle(OwnedFd);

impl ProcessHandle {
    /// The process with this id; `None` if there is none, or before Linux 5.3.
    pub fn open(pid: u32) -> Option<ProcessHandle> {
        // SAFETY: plain numbers; the descriptor is ours alone.
        unsafe {
            let descriptor = i32::try_from(libc::syscall(libc::SYS_pidfd_open, pid, 0)).ok()?;
            (descriptor >= 0).then(|| ProcessHandle(OwnedFd::from_raw_fd(descriptor)))
        }
    }

    /// Sends a signal. A process that is gone gets none.
    pub fn signal(&self, signal: i32) {
        let none = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: plain numbers and a null pointer, which means "as kill does".
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), signal, none, 0) };
    }
}

/// Waits until child `pid` has ended. Where somebody else has waited for it already, this returns at once.
pub fn wait(pid: i32) {
    // SAFETY: nothing more is asked for.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

/// A child that has ended or stopped, of `pid` or (-1) of all, with its status as `wait` has it; `None` if there is
/// none now. Does not wait.
///
/// # Errors
/// Fails if a signal came in between, or if there is no such child.
pub fn look(pid: i32) -> std::io::Result<Option<(i32, i32)>> {
    let mut status = 0;
    // SAFETY: `status` is ours.
    match unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG | libc::WUNTRACED) } {
        -1 => Err(std::io::Error::last_os_error()),
        0 => Ok(None),
        found => Ok(Some((found, status))),
    }
}
