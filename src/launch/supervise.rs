//! Running the program as if nobody stood between it and whoever started us.
//!
//! It gets our descriptors, signal mask and signal dispositions as we were started with them, stays in our process
//! group, and keeps the terminal. We wait for it alone, pass on the signals that were sent to us alone
//! (`witness`), stop and continue with it, and end as it ended. As PID 1 of a container we also reap what
//! nobody else does.
//!
//! All signals are blocked and taken one by one, so there is no signal handler.
#![allow(unsafe_code, reason = "fork and exec are not in std")]

use super::witness::Witness;
use crate::os::signals::{self, SignalInfo, SignalSet};
use crate::os::{limits, process, terminal};
use std::ffi::{CString, OsString, c_char};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The program returned this status.
    Exited(i32),
    /// The program was ended by this signal.
    Signalled(i32),
}

impl Ended {
    /// Ends this process in the same way: whoever waits for us sees what they would have seen of the program. Only for
    /// `main`; returns the status to return where the program ended with one.
    pub fn leave(self) -> ExitCode {
        match self {
            Ended::Exited(status) => ExitCode::from(status as u8),
            Ended::Signalled(signal) => {
                // The program has dumped its core, ours would replace it.
                limits::no_core_files();
                signals::act_by_default(signal);
                SignalSet::one(signal).unblock();
                signals::send_to_self(signal);
                // PID 1 of a container cannot be killed: then as shells say it.
                ExitCode::from((128 + signal) as u8)
            }
        }
    }
}

/// What kept the program from starting: the error of `exec`.
#[derive(Debug)]
pub enum NotStarted {
    /// It could not be executed.
    Exec(io::Error),
    /// The system had no room for another process.
    Fork(io::Error),
}

/// A null-terminated array of C strings.
struct Strings {
    /// Keeps them where the pointers say they are.
    _owned: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl Strings {
    fn new(strings: impl Iterator<Item = OsString>) -> io::Result<Strings> {
        let owned: Vec<CString> = strings.map(|s| CString::new(s.as_bytes())).collect::<Result<_, _>>()?;
        let pointers = owned.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect();
        Ok(Strings { _owned: owned, pointers })
    }
}

/// Runs `command` with `environment` (each `NAME=VALUE`) until it ends. `started` is called once it runs.
///
/// # Errors
/// Fails if the program could not be started.
pub fn run(
    command: &[OsString],
    environment: impl Iterator<Item = OsString>,
    started: impl FnOnce(u32),
) -> Result<Ended, NotStarted> {
    let arguments = Strings::new(command.iter().cloned()).map_err(NotStarted::Exec)?;
    let environment = Strings::new(environment).map_err(NotStarted::Exec)?;
    let mask = Mask::block();
    // Without one we still work: signals from other processes then count as sent to us alone.
    let witness = Witness::start().ok();
    let outcome = fork_and_exec(&arguments, &environment, &mask).map(|child| {
        started(child.cast_unsigned());
        Supervisor { child, witness: witness.as_ref(), mask: &mask, shared: None }.wait()
    });
    if let Some(witness) = witness {
        witness.end();
    }
    // Signals that came since act as they do on any program, from here on.
    drop(mask);
    outcome
}

fn fork_and_exec(arguments: &Strings, environment: &Strings, mask: &Mask) -> Result<libc::pid_t, NotStarted> {
    // Closed by exec; else it carries the error.
    let (read, write) = io::pipe().map_err(NotStarted::Fork)?;
    // SAFETY: this process has one thread, and the child makes only plain system calls before it is replaced.
    let child = match unsafe { libc::fork() } {
        -1 => return Err(NotStarted::Fork(io::Error::last_os_error())),
        0 => {
            super::start::restore();
            mask.restore();
            // SAFETY: both arrays end with a null pointer and outlive the call; the rest are plain numbers.
            unsafe {
                libc::execvpe(arguments.pointers[0], arguments.pointers.as_ptr(), environment.pointers.as_ptr());
                let error = *libc::__errno_location();
                libc::write(write.as_raw_fd(), (&raw const error).cast(), size_of::<i32>());
                libc::_exit(127)
            }
        }
        child => child,
    };
    drop(write);
    let mut error = [0; size_of::<i32>()];
    if io::Read::read_exact(&mut &read, &mut error).is_err() {
        return Ok(child);
    }
    process::wait(child);
    Err(NotStarted::Exec(io::Error::from_raw_os_error(i32::from_ne_bytes(error))))
}

/// Every signal that can be held back, held back, until dropped. Faults act all the same.
struct Mask {
    blocked: SignalSet,
    before: SignalSet,
}

impl Mask {
    fn block() -> Mask {
        // What the terminal says to background jobs that read or write stops us as it stops any program.
        let blocked = SignalSet::all_but(&[libc::SIGTTIN, libc::SIGTTOU]);
        Mask { before: blocked.block(), blocked }
    }

    /// The mask with which we were started.
    fn restore(&self) {
        self.before.become_mask();
    }
}

impl Drop for Mask {
    fn drop(&mut self) {
        self.restore();
    }
}

/// Tools that signal us and then our group do both within this time. And two signals for the group, one close behind
/// the other, may be one to the witness.
const SAME_SENDING: Duration = Duration::from_millis(200);

struct Supervisor<'a> {
    child: libc::pid_t,
    witness: Option<&'a Witness>,
    mask: &'a Mask,
    /// The last signal that came to the whole group, and when.
    shared: Option<(i32, Instant)>,
}

impl Supervisor<'_> {
    fn wait(mut self) -> Ended {
        loop {
            if let Some(ended) = self.reap() {
                return ended;
            }
            let (signal, information) = self.mask.blocked.wait();
            if signal > 0 && signal != libc::SIGCHLD {
                self.received(signal, &information);
            }
        }
    }

    /// Takes note of children that have ended or stopped; says how the program ended once it has.
    fn reap(&mut self) -> Option<Ended> {
        let everyone = std::process::id() == 1;
        loop {
            let (pid, status) = match process::look(if everyone { -1 } else { self.child }) {
                Ok(found) => found?,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return None,
            };
            if pid != self.child {
                continue;
            }
            if libc::WIFEXITED(status) {
                return Some(Ended::Exited(libc::WEXITSTATUS(status)));
            }
            if libc::WIFSIGNALED(status) {
                return Some(Ended::Signalled(libc::WTERMSIG(status)));
            }
            if libc::WIFSTOPPED(status) {
                self.child_stopped(libc::WSTOPSIG(status));
            }
        }
    }

    /// A program that stops itself gives the terminal back to the shell, which waits for us.
    fn child_stopped(&self, signal: i32) {
        // Not for SIGSTOP: whoever sent that (a debugger, `kill -STOP`) continues the program alone, and nobody would
        // continue us.
        let by_job_control = matches!(signal, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU);
        if by_job_control && terminal::is_in_foreground() {
            self.stop(signal);
        }
    }

    fn received(&mut self, signal: i32, information: &SignalInfo) {
        let sender = information.sender();
        // The witness is asked every time. Otherwise it would take what it saw of this signal for the next one.
        let alone = !self.group_got_it(signal) && sender.is_some();
        // What the program itself sends to its parent is not meant for the program.
        if alone && sender != Some(self.child) {
            // The child is not reaped yet, so the number is still its own.
            signals::send(self.child, signal);
        }
        if signal == libc::SIGTSTP {
            self.stop(signal);
        }
    }

    fn group_got_it(&mut self, signal: i32) -> bool {
        let Some(saw) = self.witness.and_then(|witness| witness.saw(signal)) else { return false };
        let now = Instant::now();
        if saw {
            self.shared = Some((signal, now));
            return true;
        }
        // `timeout` signals us, and then the group with us in it: we get two, the witness and the program one.
        self.shared.is_some_and(|(number, at)| number == signal && now - at < SAME_SENDING)
    }

    /// Stops this process, as the terminal's user asked.
    fn stop(&self, signal: i32) {
        signals::send_to_self(signal);
        // Acts here, by its default, unless the group is orphaned and nobody could continue us.
        SignalSet::one(signal).unblock();
        self.mask.blocked.become_mask();
    }
}
