//! From the program's threads to the writer: bounded, no lock, nothing allocated after the first call of all.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64, Ordering};

use crossbeam_queue::ArrayQueue;

use super::event::Event;

/// How many events wait at most. Before CUDA exists nobody takes them: this is also what is kept of the time until
/// then. 16,384 are 1.3 MB; at half the writer is woken, so only more than 8,192 events within its reaction time
/// (tens of microseconds to a millisecond) are lost.
pub const CAPACITY: usize = 16_384;

/// Made at the first initialisation, never freed: calls may come at any moment. A child that records itself gets a
/// new one, because a thread of its parent may have been half way through a push when the child was made.
static QUEUE: AtomicPtr<ArrayQueue<Event>> = AtomicPtr::new(null_mut());

static LOST: AtomicU64 = AtomicU64::new(0);
static LOST_FROM_NS: AtomicI64 = AtomicI64::new(i64::MAX);
static LOST_TO_NS: AtomicI64 = AtomicI64::new(i64::MIN);

/// The writer was told already and has not come since.
static TOLD: AtomicBool = AtomicBool::new(false);
/// A `fn()`; null: nobody to tell.
static WAKER: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Events that found the queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// How many.
    pub events: u64,
    /// The first of them, CLOCK_REALTIME.
    pub start_ns: i64,
    /// The last.
    pub end_ns: i64,
}

/// Makes the queue if there is none yet.
pub fn prepare() {
    if QUEUE.load(Ordering::Acquire).is_null() {
        let fresh = Box::into_raw(Box::new(ArrayQueue::new(CAPACITY)));
        if QUEUE.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: nobody else has seen it.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }
}

/// What a forked child forgets ([`crate::fork`]): the events that wait in its parent's queue, and how many were lost
/// there. The child gets a new queue. The memory of the old queue is not freed.
pub fn forget() {
    if !QUEUE.load(Ordering::Acquire).is_null() {
        QUEUE.store(Box::into_raw(Box::new(ArrayQueue::new(CAPACITY))), Ordering::Release);
    }
    LOST.store(0, Ordering::Relaxed);
    LOST_FROM_NS.store(i64::MAX, Ordering::Relaxed);
    LOST_TO_NS.store(i64::MIN, Ordering::Relaxed);
    TOLD.store(false, Ordering::Relaxed);
}

fn queue() -> Option<&'static ArrayQueue<Event>> {
    // SAFETY: null or a box that is never freed.
    unsafe { QUEUE.load(Ordering::Acquire).as_ref() }
}

/// Queues one event, or counts it as lost.
#[inline]
pub fn push(event: Event) {
    if let Some(queue) = queue()
        && let Err(event) = queue.push(event)
    {
        lose(event.time_ns);
    }
}

#[cold]
fn lose(time_ns: i64) {
    LOST.fetch_add(1, Ordering::Relaxed);
    LOST_FROM_NS.fetch_min(time_ns, Ordering::Relaxed);
    LOST_TO_NS.fetch_max(time_ns, Ordering::Relaxed);
    tell();
}

/// The oldest event; the writer thread's alone to call.
pub fn pop() -> Option<Event> {
    let event = queue()?.pop();
    // It is awake: should it fall asleep over a full queue, it has to be told again.
    if TOLD.load(Ordering::Relaxed) {
        TOLD.store(false, Ordering::Relaxed);
    }
    event
}

/// How many wait.
pub fn len() -> usize {
    queue().map_or(0, ArrayQueue::len)
}

/// What was lost since the last time this was asked.
pub fn take_lost() -> Option<Lost> {
    let events = LOST.swap(0, Ordering::Relaxed);
    (events > 0).then(|| Lost {
        events,
        start_ns: LOST_FROM_NS.swap(i64::MAX, Ordering::Relaxed),
        end_ns: LOST_TO_NS.swap(i64::MIN, Ordering::Relaxed),
    })
}

/// Whom to call when the queue is half full: from a program's thread, so it must not block or allocate.
pub fn on_pressure(wake: fn()) {
    WAKER.store(wake as *mut (), Ordering::Release);
}

/// Tells the writer if much is waiting. Threads ask once in a while: the length costs two shared loads.
pub fn relieve() {
    if len() >= CAPACITY / 2 {
        tell();
    }
}

fn tell() {
    if TOLD.load(Ordering::Relaxed) || TOLD.swap(true, Ordering::Relaxed) {
        return;
    }
    let waker = WAKER.load(Ordering::Acquire);
    if !waker.is_null() {
        // SAFETY: only `on_pressure` stores here, and it stores a `fn()`.
        let wake = unsafe { std::mem::transmute::<*mut (), fn()>(waker) };
        wake();
    }
}
