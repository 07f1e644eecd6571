//! API calls that CUPTI calls us back for, where it cannot record single calls itself (before 12.5): both kinds of API
//! records stay off, so that CUPTI looks at the calls that matter and at no others, and each of these leaves a record
//! that is made here.
//!
//! ```text
//! program's thread ─ enter ─▶ thread: the calls that are open ─ exit ─▶ queue ─▶ writer: a record as CUPTI has them
//! ```
//!
//! The writer decodes, sorts out, judges and counts such a record as one of CUPTI's. The times are those of CUPTI's own
//! clock, asked at both ends of the call: 24 ns each in 11.8, 12.0 and 12.4 without a GPU, where `clock_gettime` takes
//! 22, and nothing needs to be put from one clock on the other.
//!
//! What a record needs of the beginning of its call waits in the calling thread's own memory, not in `correlationData`:
//! nobody promises what that holds where the callback was switched on in the middle of a call, and whether a driver call
//! is the runtime's own is known by the calls around it.

mod thread;
mod wanted;

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64, Ordering};

use crossbeam_queue::ArrayQueue;
use cupti_sys::{
    CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_CB_DOMAIN_DRIVER_API,
    CUPTI_CB_DOMAIN_RUNTIME_API, CUpti_CallbackData,
};

use crate::decode::{CALL_BYTES, record_of_call};
use crate::writer;
pub use wanted::{Wanted, choose};

/// Records that wait for the writer at most: 3 MB, and what a training step of 900 launches makes in half a second. A
/// writer that is not held up takes them after tens of microseconds to a millisecond; for one that is, there are blocks.
pub const CAPACITY: usize = 1 << 16;
/// How many records a thread queues before it looks how full the queue is, which costs two shared loads.
pub const CHECK_EVERY: u32 = 64;

/// One call as it was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The kind of the record that CUPTI would have made.
    pub kind: u32,
    /// CUPTI's id of the call.
    pub cbid: u32,
    /// The kernel's id of the thread.
    pub tid: u32,
    /// Of 32 bits, as CUPTI counts.
    pub correlation: u32,
    /// What the call returned.
    pub result: u32,
    /// When the call began, on CUPTI's clock.
    pub start_ns: i64,
    /// When it ended.
    pub end_ns: i64,
}

/// Calls that found the queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// How many.
    pub calls: u64,
    /// When the first of them began, on CUPTI's clock.
    pub start_ns: i64,
    /// When the last of them ended.
    pub end_ns: i64,
}

struct State {
    wanted: Wanted,
    /// Whether calls of a domain leave records now: the driver's, the runtime's.
    on: [AtomicBool; 2],
    queue: ArrayQueue<Heard>,
    lost: AtomicU64,
    lost_from_ns: AtomicI64,
    lost_to_ns: AtomicI64,
}

/// Made with the session, never freed: a call may be inside at any moment.
static STATE: AtomicPtr<State> = AtomicPtr::new(null_mut());

fn state() -> Option<&'static State> {
    // SAFETY: null or a leaked box.
    unsafe { STATE.load(Ordering::Acquire).as_ref() }
}

/// From here on calls are heard here, those of a domain once it is switched on.
pub fn listen(wanted: Wanted) {
    let state = State {
        wanted,
        on: [const { AtomicBool::new(false) }; 2],
        queue: ArrayQueue::new(CAPACITY),
        lost: AtomicU64::new(0),
        lost_from_ns: AtomicI64::new(i64::MAX),
        lost_to_ns: AtomicI64::new(i64::MIN),
    };
    STATE.store(Box::into_raw(Box::new(state)), Ordering::Release);
}

/// What a forked child forgets ([`crate::fork`]): that calls were heard, and those that its parent's writer has not
/// taken. Their memory is not freed. A thread forgets the calls that it was in at its next call.
pub fn forget() {
    STATE.store(null_mut(), Ordering::Release);
    thread::forget();
}

/// Whether calls are heard here.
pub fn are_heard() -> bool {
    !STATE.load(Ordering::Relaxed).is_null()
}

/// Switches the calls of a domain; `each` switches the callback of one.
pub fn switch(domain: u32, on: bool, each: impl FnMut(u32)) {
    let Some(state) = state() else { return };
    if let Some(is_on) = state.switch_of(domain) {
        is_on.store(on, Ordering::Release);
    }
    state.wanted.ids(domain).iter().copied().for_each(each);
}

/// A call begins on this thread. `now_ns`: CUPTI's clock, unless the recording has ended.
#[inline]
pub fn enter(domain: u32, cbid: u32, call: &CUpti_CallbackData, now_ns: impl FnOnce() -> Option<i64>) {
    if let Some(state) = state()
        && state.records(domain, cbid)
    {
        thread::with(|thread| {
            // No id has two records: the driver's part of a runtime call that has one goes without (docs/hardware).
            let is_part = domain == CUPTI_CB_DOMAIN_DRIVER_API && thread.is_in_runtime_call(call.correlationId);
            if !is_part && let Some(start_ns) = now_ns() {
                thread.enter(domain, cbid, call.correlationId, start_ns);
            }
        });
    }
}

/// A call ends on this thread. It leaves no record where its beginning was not heard, as with CUPTI's own records.
#[inline]
pub fn exit(domain: u32, cbid: u32, call: &CUpti_CallbackData, now_ns: impl FnOnce() -> Option<i64>) {
    let Some(state) = state().filter(|state| state.wanted.has(domain, cbid)) else { return };
    thread::with(|thread| {
        let Some(start_ns) = thread.exit(domain, cbid, call.correlationId) else { return };
        let Some(end_ns) = now_ns().filter(|_| state.records(domain, cbid)) else { return };
        let result = call.functionReturnValue.cast::<u32>();
        // SAFETY: at the exit of a call CUPTI has it point to a cudaError_t or a CUresult, 32 bits both (cupti_callbacks.h).
        let result = if result.is_null() { 0 } else { unsafe { result.read_unaligned() } };
        let kind = match domain {
            CUPTI_CB_DOMAIN_RUNTIME_API => CUPTI_ACTIVITY_KIND_RUNTIME,
            _ => CUPTI_ACTIVITY_KIND_DRIVER,
        };
        let (tid, correlation) = (thread.tid(), call.correlationId);
        state.push(Heard { kind, cbid, tid, correlation, result, start_ns, end_ns });
        if thread.is_time_to_check() {
            state.relieve();
        }
    });
}

/// The oldest record; the writer thread's alone to call.
pub fn pop() -> Option<Heard> {
    state()?.queue.pop()
}

/// What was lost since the last time this was asked.
pub fn take_lost() -> Option<Lost> {
    let state = state()?;
    let calls = state.lost.swap(0, Ordering::Acquire);
    (calls > 0).then(|| Lost {
        calls,
        start_ns: state.lost_from_ns.swap(i64::MAX, Ordering::Relaxed),
        end_ns: state.lost_to_ns.swap(i64::MIN, Ordering::Relaxed),
    })
}

impl State {
    fn switch_of(&self, domain: u32) -> Option<&AtomicBool> {
        wanted::place(domain).and_then(|place| self.on.get(place))
    }

    /// Whether a call leaves a record now. Others listen to single calls too: the gate, and stacks of launches.
    #[inline]
    fn records(&self, domain: u32, cbid: u32) -> bool {
        self.wanted.has(domain, cbid) && self.switch_of(domain).is_some_and(|on| on.load(Ordering::Acquire))
    }

    #[inline]
    fn push(&self, heard: Heard) {
        if let Err(heard) = self.queue.push(heard) {
            self.lose(heard);
        }
    }

    /// Calls the writer where much is waiting. Where the writer does not come, because the disk or the machine is busy, what
    /// waits moves into one of the blocks that CUPTI fills otherwise: there is as much room then as for records of CUPTI's.
    fn relieve(&self) {
        let waiting = self.queue.len();
        if waiting < CAPACITY / 2 {
            return;
        }
        writer::shared().nudge();
        if waiting >= CAPACITY / 4 * 3 {
            writer::shared().queue_own(|block| {
                let places = block.chunks_exact_mut(CALL_BYTES);
                let moved = places.map_while(|place| self.queue.pop().map(|heard| (place, heard)));
                moved.map(|(place, heard)| place.copy_from_slice(&record_of_call(&heard))).count() * CALL_BYTES
            });
        }
    }

    #[cold]
    fn lose(&self, heard: Heard) {
        self.lost_from_ns.fetch_min(heard.start_ns, Ordering::Relaxed);
        self.lost_to_ns.fetch_max(heard.end_ns, Ordering::Relaxed);
        self.lost.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
