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
/// The thread of [`crate::writer`].
pub static WRITER: Meter = Meter::new();

/// The thread is working, so nobody else knows how much time it has used.
const WORKS: i64 = -1;

/// The CPU time of one thread in nanoseconds.
pub struct Meter {
    /// As of its last rest; [`WORKS`] in between.
    now_ns: AtomicI64,
    /// As of its last rest, whatever it does now.
    rested_ns: AtomicI64,
}

impl Meter {
    const fn new() -> Meter {
        Meter { now_ns: AtomicI64::new(0), rested_ns: AtomicI64::new(0) }
    }

    fn forget(&self) {
        self.now_ns.store(0, Ordering::Release);
        self.rested_ns.store(0, Ordering::Release);
    }

    /// Its thread begins to work.
    pub fn works(&self) {
        self.now_ns.store(WORKS, Ordering::Release);
    }

    /// Its thread goes to rest, or ends. To be called on that thread.
    pub fn rests(&self) {
        let ns = sys::thread_cpu_ns();
        self.rested_ns.store(ns, Ordering::Release);
        self.now_ns.store(ns, Ordering::Release);
    }

    fn read(&self) -> Option<u64> {
        u64::try_from(self.now_ns.load(Ordering::Acquire)).ok()
    }
}

/// What a forked child forgets ([`crate::fork`]): the CPU time of its parent's threads. The child has threads of its
/// own, whose clocks begin at 0.
pub fn forget() {
    [&FLUSHES, &CONTROL, &WRITER].into_iter().for_each(Meter::forget);
}

/// What the threads beside the flush thread took up to their last rest, in nanoseconds.
pub fn of_others() -> i64 {
    [&CONTROL, &WRITER].into_iter().map(|meter| meter.rested_ns.load(Ordering::Acquire)).sum()
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
