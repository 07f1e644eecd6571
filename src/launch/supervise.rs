//! Running the program as if nobody stood between it and whoever started us.
//!
//! It gets our descriptors, signal mask and signal dispositions as we were started with them, stays in our process
//! group, and keeps the terminal. We wait for it alone, pass on the signals that were sent to us alone
//! (`witness`), stop and continue with it, and end as it ended. As PID 1 of a container we also reap what
//! nobody else does.
//!
//! All signals are blocked and taken one by one, so there is no signal handler.
#![allow(unsafe_code, reason = "fork, exec and signals are not in std")]

use super::witness::Witness;
use std::ffi::{CString, OsString, c_char};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With this status.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
}

impl Ended {
    /// Ends this process in the same way: whoever waits for us sees what they would have seen of the program. Only for
    /// `main`; returns the status to return where the program ended with one.
    pub fn leave(self) -> ExitCode {
        match self {
            Ended::Exited(status) => ExitCode::from(status as u8),
            Ended::Signalled(signal) => {
                // SAFETY: plain numbers; the limit is ours. The program has dumped its core, ours would replace it.
                unsafe {
                    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                    libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
                    libc::signal(signal, libc::SIG_DFL);
                    let mut set = std::mem::zeroed();
                    libc::sigemptyset(&raw mut set);
                    libc::sigaddset(&raw mut set, signal);
                    libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
                    libc::kill(libc::getpid(), signal);
                }
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
/// It could not be started.
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
    // SAFETY: waits for a child of ours.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    Err(NotStarted::Exec(io::Error::from_raw_os_error(i32::from_ne_bytes(error))))
}

/// Every signal that can be held back, held back, until dropped. Faults act all the same.
struct Mask {
    blocked: libc::sigset_t,
    before: libc::sigset_t,
}

impl Mask {
    fn block() -> Mask {
        // SAFETY: the sets are ours, and filled before use.
        unsafe {
            let (mut blocked, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut blocked);
            // What the terminal says to background jobs that read or write stops us as it stops any program.
            libc::sigdelset(&raw mut blocked, libc::SIGTTIN);
            libc::sigdelset(&raw mut blocked, libc::SIGTTOU);
            libc::sigprocmask(libc::SIG_BLOCK, &raw const blocked, &raw mut before);
            Mask { blocked, before }
        }
    }

    /// The mask with which we were started.
    fn restore(&self) {
        // SAFETY: the set is ours.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
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
            // SAFETY: the set and the structure are ours.
            let (signal, information) = unsafe {
                let mut information = std::mem::zeroed::<libc::siginfo_t>();
                (libc::sigwaitinfo(&raw const self.mask.blocked, &raw mut information), information)
            };
            if signal > 0 && signal != libc::SIGCHLD {
                self.received(signal, &information);
            }
        }
    }

    /// Takes note of children that have ended or stopped; says how the program ended once it has.
    fn reap(&mut self) -> Option<Ended> {
        // SAFETY: no argument.
        let everyone = unsafe { libc::getpid() } == 1;
        loop {
            let mut status = 0;
            let whom = if everyone { -1 } else { self.child };
            // SAFETY: `status` is ours.
            let pid = unsafe { libc::waitpid(whom, &raw mut status, libc::WNOHANG | libc::WUNTRACED) };
            if pid == -1 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
                continue;
            }
            if pid <= 0 {
                return None;
            }
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
        if by_job_control && has_terminal() {
            self.stop(signal);
        }
    }

    fn received(&mut self, signal: i32, information: &libc::siginfo_t) {
        // SAFETY: for signals that the kernel makes there is no sender, which is looked at last.
        let sender = unsafe { information.si_pid() };
        let from_a_process = matches!(information.si_code, libc::SI_USER | libc::SI_QUEUE | SI_TKILL);
        // Asked always, so that the witness does not take this one for the next.
        let alone = !self.group_got_it(signal) && from_a_process;
        // What the program itself sends to its parent is not meant for the program.
        if alone && sender != self.child {
            // SAFETY: plain numbers; the child is not reaped yet, so the number is still its own.
            unsafe { libc::kill(self.child, signal) };
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
        // SAFETY: the set is ours, and filled before use.
        unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, signal);
            libc::kill(libc::getpid(), signal);
            // Acts here, by its default, unless the group is orphaned and nobody could continue us.
            libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
            libc::sigprocmask(libc::SIG_SETMASK, &raw const self.mask.blocked, std::ptr::null_mut());
        }
    }
}

/// `tgkill` and `pthread_kill`; libc has no name for it on all systems.
const SI_TKILL: i32 = -6;

/// Whether we are in the foreground of a terminal, so that a shell waits for us.
fn has_terminal() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else { return false };
    // SAFETY: plain numbers, of an open descriptor.
    unsafe { libc::tcgetpgrp(terminal.as_raw_fd()) == libc::getpgrp() }
}
