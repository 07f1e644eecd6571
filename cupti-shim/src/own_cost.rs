//! What our own threads take: CPU time by their own clocks, which the trace says at its end.
//!
//! Each thread tells its time itself when it goes to rest. Asking for another thread's clock is a system call that
//! sandboxed programs may not expect, and a thread that has ended has no clock any more.

use std::sync::atomic::{AtomicI64, Ordering};

use trace_format::own_cost::{OwnCost, OwnThread};

use crate::sys;

/// The thread of [`crate::flush`].
pub static FLUSHES: Meter = Meter::new();
/// The thread of [`crate::control`].
pub static CONTROL: Meter = Meter::new();

/// The thread is working, so nobody else knows how much time it has used.
const WORKS: i64 = -1;

/// The CPU time of one thread in nanoseconds, as of its last rest; [`WORKS`] in between.
pub struct Meter(AtomicI64);

impl Meter {
    const fn new() -> Meter {
        Meter(AtomicI64::new(0))
    }

    /// Its thread begins to work.
    pub fn works(&self) {
        self.0.store(WORKS, Ordering::Release);
    }

    /// Its thread goes to rest, or ends. To be called on that thread.
    pub fn rests(&self) {
        self.0.store(sys::thread_cpu_ns(), Ordering::Release);
    }

    fn read(&self) -> Option<u64> {
        u64::try_from(self.0.load(Ordering::Acquire)).ok()
    }
}

/// What a forked child forgets ([`crate::fork`]): the CPU time of its parent's threads. The child has threads of its
/// own, whose clocks begin at 0.
pub fn forget() {
    FLUSHES.0.store(0, Ordering::Release);
    CONTROL.0.store(0, Ordering::Release);
}

/// What was taken so far. To be called on the writer thread; `elapsed_ns`: since the recording began.
///
/// A thread that is at work just now is left out. That is the case for one that does not come back from CUPTI.
pub fn taken(elapsed_ns: i64) -> OwnCost {
    let writer = u64::try_from(sys::thread_cpu_ns()).ok();
    let threads =
        [(OwnThread::Flushes, FLUSHES.read()), (OwnThread::Writer, writer), (OwnThread::Control, CONTROL.read())];
    OwnCost {
        elapsed_ns: u64::try_from(elapsed_ns).unwrap_or(0),
        cpu_ns: threads.into_iter().filter_map(|(thread, ns)| Some((thread, ns?))).collect(),
    }
}
