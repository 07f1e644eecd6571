//! What each thread of the program remembers of the calls that it is in.
//!
//! Thread-local storage without destructor and all zeros at first, as that of NVTX.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use cupti_sys::CUPTI_CB_DOMAIN_RUNTIME_API;

use super::CHECK_EVERY;
use crate::sys;

/// Calls of one thread that are open at once: a runtime call and the driver call in it are two, and a function of ours
/// that makes driver calls inside a callback adds another.
const MOST: usize = 8;

/// Which incarnation of the process this is: a child that records itself starts over.
static EPOCH: AtomicU32 = AtomicU32::new(1);

/// A call that has begun.
#[derive(Clone, Copy)]
struct Open {
    domain: u32,
    cbid: u32,
    correlation: u32,
    start_ns: i64,
}

/// The state of one thread.
pub struct Thread {
    epoch: Cell<u32>,
    tid: Cell<u32>,
    queued: Cell<u32>,
    len: Cell<usize>,
    open: [Cell<Open>; MOST],
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            epoch: Cell::new(0),
            tid: Cell::new(0),
            queued: Cell::new(0),
            len: Cell::new(0),
            open: [const { Cell::new(Open { domain: 0, cbid: 0, correlation: 0, start_ns: 0 }) }; MOST],
        }
    };
}

/// See [`super::forget`].
pub fn forget() {
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

/// Runs `body` on the calling thread's state; nothing where the thread is past its end.
#[inline]
pub fn with<R>(body: impl FnOnce(&Thread) -> R) -> Option<R> {
    THREAD
        .try_with(|thread| {
            if thread.epoch.get() != EPOCH.load(Ordering::Relaxed) {
                thread.begin();
            }
            body(thread)
        })
        .ok()
}

impl Thread {
    #[cold]
    fn begin(&self) {
        self.epoch.set(EPOCH.load(Ordering::Relaxed));
        self.tid.set(sys::gettid());
        self.len.set(0);
    }

    /// The kernel's id of this thread.
    pub fn tid(&self) -> u32 {
        self.tid.get()
    }

    fn open(&self) -> &[Cell<Open>] {
        self.open.get(..self.len.get()).unwrap_or_default()
    }

    /// Whether this thread is in a runtime call of this id.
    #[inline]
    pub fn is_in_runtime_call(&self, correlation: u32) -> bool {
        let is_it = |open: Open| open.domain == CUPTI_CB_DOMAIN_RUNTIME_API && open.correlation == correlation;
        self.open().iter().any(|open| is_it(open.get()))
    }

    /// A call begins.
    #[inline]
    pub fn enter(&self, domain: u32, cbid: u32, correlation: u32, start_ns: i64) {
        if self.len.get() == MOST {
            // The callbacks of the oldest were switched off before it ended: a thread is in few calls at once.
            for (to, from) in self.open.iter().zip(self.open.iter().skip(1)) {
                to.set(from.get());
            }
            self.len.set(MOST - 1);
        }
        if let Some(slot) = self.open.get(self.len.get()) {
            slot.set(Open { domain, cbid, correlation, start_ns });
            self.len.set(self.len.get() + 1);
        }
    }

    /// A call ends: when it began, if that was heard. Calls inside it whose end was not heard are over too.
    #[inline]
    pub fn exit(&self, domain: u32, cbid: u32, correlation: u32) -> Option<i64> {
        let is_it = |open: Open| (open.domain, open.cbid, open.correlation) == (domain, cbid, correlation);
        let at = self.open().iter().rposition(|open| is_it(open.get()))?;
        self.len.set(at);
        self.open.get(at).map(|open| open.get().start_ns)
    }

    /// Counts a record; true once in a while.
    pub fn is_time_to_check(&self) -> bool {
        let queued = self.queued.get().wrapping_add(1);
        self.queued.set(queued);
        queued.is_multiple_of(CHECK_EVERY)
    }
}
