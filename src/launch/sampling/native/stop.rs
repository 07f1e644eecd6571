//! Stopping one thread of another process for a moment.
//!
//! `PTRACE_SEIZE` and `PTRACE_INTERRUPT` send no signal and change nothing that the thread could see. The kernel ends
//! them with the thread that asked: whatever becomes of the launcher, the other runs on.
//!
//! The launcher waits for its child elsewhere, on another thread, and may take the notice of a stop before we see it
//! (or we take that of the child's end, which must be the launcher's). So nobody waits for a notice here: whether the
//! thread has stopped is asked of the thread (`PTRACE_GETSIGINFO`), and only what nobody else waits for is reaped.

use super::super::threads;
use crate::os::ptrace;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// How long a running thread may take to stop. It stops when it next leaves the kernel: microseconds.
const PATIENCE: Duration = Duration::from_millis(5);
/// So often the question is repeated at once, before there is a pause between two.
const EAGER: u32 = 20;
const PAUSE: Duration = Duration::from_micros(20);

/// Registers that unwinding begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Program counter.
    pub pc: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer, if the code keeps one.
    pub fp: u64,
    /// Return address of the innermost function, where the machine has a register for it.
    pub lr: u64,
}

/// Why a thread was not stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is not there any more.
    Gone,
    /// Nobody may, see `permission`; or somebody else does already.
    NotPermitted,
    /// It did not stop in time. It is let go as soon as it does, see [`settle`].
    TooSlow,
}

/// A thread that stands still. It runs on when this is dropped.
#[derive(Debug)]
pub struct Stopped {
    tid: libc::pid_t,
    /// Detached already.
    done: bool,
}

thread_local! {
    /// Threads that were asked to stop and have not, and such that ended but cannot be reaped yet (the first thread of a
    /// process goes last): those that this thread of ours still has to let go.
    static PENDING: RefCell<Vec<libc::pid_t>> = const { RefCell::new(Vec::new()) };
}

/// Lets go of threads that were late; false: there are some left, so ask again soon.
pub fn settle() -> bool {
    let pending = PENDING.take();
    let left: Vec<libc::pid_t> = pending.into_iter().filter(|&tid| !let_go_late(tid)).collect();
    PENDING.with_borrow_mut(|now| {
        now.extend(left);
        now.is_empty()
    })
}

fn let_go_late(tid: libc::pid_t) -> bool {
    if ptrace::signal_of_stop(tid).is_some() {
        drop(Stopped { tid, done: false });
        return true;
    }
    ptrace::has_ended(tid) && bury(tid)
}

impl Stopped {
    /// Stops a thread. All of this must happen on one thread of ours.
    ///
    /// # Errors
    /// Fails if the thread cannot be stopped.
    pub fn stop(tid: u32) -> Result<Stopped, Refused> {
        let tid = libc::pid_t::try_from(tid).map_err(|_| Refused::Gone)?;
        if PENDING.with_borrow(|pending| pending.contains(&tid)) {
            return Err(Refused::TooSlow);
        }
        ptrace::seize(tid).map_err(|errno| match errno {
            libc::ESRCH => Refused::Gone,
            _ => Refused::NotPermitted,
        })?;
        // From here on it has to be let go, come what may.
        let mut stopped = Stopped { tid, done: false };
        if ptrace::interrupt(tid).is_err() {
            return Err(Refused::Gone);
        }
        let until = Instant::now() + PATIENCE;
        let mut asked = 0;
        loop {
            if ptrace::signal_of_stop(tid).is_some() {
                return Ok(stopped);
            }
            if ptrace::has_ended(tid) {
                stopped.let_go();
                return Err(Refused::Gone);
            }
            if Instant::now() >= until {
                stopped.done = true;
                PENDING.with_borrow_mut(|pending| pending.push(tid));
                return Err(Refused::TooSlow);
            }
            asked += 1;
            if asked < EAGER { std::thread::yield_now() } else { std::thread::sleep(PAUSE) }
        }
    }

    /// Its registers; none if it was killed meanwhile.
    pub fn registers(&self) -> Option<Registers> {
        ptrace::registers(self.tid).map(|all| chosen(&all))
    }

    fn let_go(&mut self) {
        if std::mem::replace(&mut self.done, true) {
            return;
        }
        let signal = ptrace::signal_of_stop(self.tid).unwrap_or(0);
        let is_over = ptrace::detach(self.tid, signal) || (ptrace::has_ended(self.tid) && bury(self.tid));
        if !is_over {
            PENDING.with_borrow_mut(|pending| pending.push(self.tid));
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.let_go();
    }
}

/// A thread that ended while it was ours has to be taken notice of, or its process cannot end. Our own child is the
/// launcher's to wait for. False: it is too early.
fn bury(tid: libc::pid_t) -> bool {
    if threads::parent(tid.cast_unsigned()) == Some(std::process::id()) && is_leader(tid.cast_unsigned()) {
        return true;
    }
    ptrace::reap(tid)
}

fn is_leader(tid: u32) -> bool {
    threads::status(tid, "Tgid").is_none_or(|group| group == tid.to_string())
}

#[cfg(target_arch = "x86_64")]
fn chosen(all: &libc::user_regs_struct) -> Registers {
    Registers { pc: all.rip, sp: all.rsp, fp: all.rbp, lr: 0 }
}

#[cfg(target_arch = "aarch64")]
fn chosen(all: &libc::user_regs_struct) -> Registers {
    Registers { pc: all.pc, sp: all.sp, fp: all.regs[29], lr: all.regs[30] }
}
