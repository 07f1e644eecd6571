//! Was a signal sent to us alone, or to the whole process group?
//!
//! Ctrl+C, a shell that ends, `timeout`, Slurm and systemd signal every process they know of, so the program has the
//! signal already and would get it twice if we passed it on; `docker stop` and `kill PID` signal us alone, and the
//! program hears of it only from us. The kernel does not say which it was. So a second small process of ours sits in
//! the group with all signals blocked, and says whether it got one too.
#![allow(unsafe_code, reason = "system calls that std does not offer")]

use crate::os::limits::{Resource, soft_limit};
use crate::os::process;
use crate::os::signals::SignalSet;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How long after us the witness may get a signal of the same sending. The kernel signals a group within
/// microseconds; tools that walk a list of processes need a little longer. Longer only delays what is passed on.
const PATIENCE: Duration = Duration::from_millis(50);

/// The other process, and the line to it.
pub(super) struct Witness {
    pid: libc::pid_t,
    line: OwnedFd,
}

impl Witness {
    /// Starts it. All signals must be blocked, and no other thread may run.
    pub(super) fn start() -> io::Result<Witness> {
        let (ours, theirs) = UnixStream::pair()?;
        let parent = std::process::id().cast_signed();
        // SAFETY: this process has one thread, so the child may do what it likes.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(ours);
                serve(theirs.as_raw_fd(), parent);
                // SAFETY: ends this process at once, running nothing of the parent's.
                unsafe { libc::_exit(0) }
            }
            pid => Ok(Witness { pid, line: ours.into() }),
        }
    }

    /// Whether the signal that we have just got was sent to the whole group. `None`: it cannot say any more.
    pub(super) fn saw(&self, signal: i32) -> Option<bool> {
        let mut byte = [u8::try_from(signal).ok()?];
        let descriptor = self.line.as_raw_fd();
        // SAFETY: one byte from and to a byte of ours; MSG_NOSIGNAL because a dead witness must not kill us.
        unsafe {
            if libc::send(descriptor, byte.as_ptr().cast(), 1, libc::MSG_NOSIGNAL) != 1
                || libc::recv(descriptor, byte.as_mut_ptr().cast(), 1, 0) != 1
            {
                return None;
            }
        }
        Some(byte[0] != 0)
    }

    /// Ends it.
    pub(super) fn end(self) {
        drop(self.line);
        // PID 1 may have reaped it already.
        process::wait(self.pid);
    }
}

/// The witness's life: for each number it is sent, says whether that signal came. Plain system calls only.
fn serve(line: RawFd, parent: libc::pid_t) {
    // Not to be found by `pkill gpuprof` and the like, which would be taken for a signal to the group.
    super::start::rename(c"signal-witness");
    // SAFETY: plain numbers, a C string, and one byte from and to a byte of ours.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, c"signal-witness".as_ptr());
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            return;
        }
        // Whoever waits for the end of a pipe must not wait for us.
        if line > 0 {
            close_range(0, line - 1);
        }
        close_range(line + 1, RawFd::MAX);
        let mut byte = [0u8; 1];
        while libc::recv(line, byte.as_mut_ptr().cast(), 1, 0) == 1 {
            let signal = i32::from(byte[0]);
            let came = SignalSet::one(signal).wait_for(PATIENCE) == signal;
            byte[0] = u8::from(came);
            if libc::send(line, byte.as_ptr().cast(), 1, libc::MSG_NOSIGNAL) != 1 {
                return;
            }
        }
    }
}

/// Closes descriptors `first` to `last`.
fn close_range(first: RawFd, last: RawFd) {
    // SAFETY: closes descriptors of a process that uses none of them.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, last, 0) == 0 {
            return;
        }
        // Before Linux 5.9.
        let limit = soft_limit(Resource::Nofile).unwrap_or(u64::MAX);
        let most = RawFd::try_from(limit.min(65_536)).unwrap_or(65_536);
        for descriptor in first..=last.min(most) {
            libc::close(descriptor);
        }
    }
}
