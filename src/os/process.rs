//! Processes that are signalled by a descriptor: a process id may be another's by the time a signal is sent.

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid};
use std::os::fd::OwnedFd;

/// One process for as long as this is held, and no other that gets its number.
#[derive(Debug)]
pub struct ProcessHandle(OwnedFd);

impl ProcessHandle {
    /// The process with this id; `None` if there is none, or before Linux 5.3.
    pub fn open(pid: u32) -> Option<ProcessHandle> {
        let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
        pidfd_open(pid, PidfdFlags::empty()).ok().map(ProcessHandle)
    }

    /// Sends a signal that has a name. A process that is gone gets none.
    pub fn signal(&self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            let _ = pidfd_send_signal(&self.0, signal);
        }
    }
}

/// Waits until child `pid` has ended. Where somebody else has waited for it already, this returns at once.
pub fn wait(pid: i32) {
    let _ = waitpid(Pid::from_raw(pid), WaitOptions::empty());
}

/// A child that has ended or stopped, of `pid` or (-1) of all, with its status as `wait` has it; `None` if there is
/// none now. Does not wait.
///
/// # Errors
/// Fails if a signal came in between, or if there is no such child.
pub fn look(pid: i32) -> std::io::Result<Option<(i32, i32)>> {
    let child = if pid == -1 { None } else { Pid::from_raw(pid) };
    let found = waitpid(child, WaitOptions::NOHANG | WaitOptions::UNTRACED)?;
    Ok(found.map(|(pid, status)| (pid.as_raw_pid(), status.as_raw())))
}
