//! What each thread of the program remembers: its id, and which ranges it has pushed.
//!
//! Thread-local storage without destructor and all zeros at first, so that nothing is registered and nothing runs
//! when a thread ends. Where the library came by `dlopen`, the dynamic linker takes memory for it at a thread's first
//! NVTX call; that once, not ours to avoid.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use super::event::UNTRACKED;
use crate::sys;

/// Ranges of one thread that are open at once, over all domains. 128 frames are 1.5 KiB in every thread of every
/// program; beyond that (functions traced by a Python profiler in deep recursion) the answer is "no tracking".
const FRAMES: usize = 128;

/// How many events a thread queues before it looks how full the queue is.
const CHECK_EVERY: u32 = 64;

/// Which incarnation of the process this is: a child that records itself starts over.
static EPOCH: AtomicU32 = AtomicU32::new(1);
/// Threads seen, so that the serial numbers of two threads with one recycled id differ.
static THREADS: AtomicU32 = AtomicU32::new(0);

/// An open range.
#[derive(Clone, Copy)]
pub struct Frame {
    domain_key: u32,
    /// See [`super::Event::nested`].
    pub serial: u32,
    /// Nesting level within its domain, from 0.
    pub level: u16,
    /// It opened the capture gate.
    pub matched: bool,
}

/// The state of one thread.
pub struct Thread {
    epoch: Cell<u32>,
    tid: Cell<u32>,
    serial: Cell<u32>,
    queued: Cell<u32>,
    len: Cell<usize>,
    /// Pushes that found no room and have not been popped yet.
    beyond: Cell<u32>,
    frames: [Cell<Frame>; FRAMES],
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            epoch: Cell::new(0),
            tid: Cell::new(0),
            serial: Cell::new(0),
            queued: Cell::new(0),
            len: Cell::new(0),
            beyond: Cell::new(0),
            frames: [const { Cell::new(Frame { domain_key: 0, serial: 0, level: 0, matched: false }) }; FRAMES],
        }
    };
}

/// The current incarnation of the process.
pub fn epoch() -> u32 {
    EPOCH.load(Ordering::Relaxed)
}

/// What a forked child forgets ([`crate::fork`]): the state of every thread. Each thread forgets what it inherited at
/// its next call.
pub fn forget() {
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

/// Runs `body` on the calling thread's state; nothing where the thread is past its end.
#[inline]
pub fn with<R>(body: impl FnOnce(&Thread) -> R) -> Option<R> {
    THREAD
        .try_with(|thread| {
            if thread.epoch.get() != epoch() {
                thread.begin();
            }
            body(thread)
        })
        .ok()
}

impl Thread {
    #[cold]
    fn begin(&self) {
        self.epoch.set(epoch());
        self.tid.set(sys::gettid());
        self.serial.set(THREADS.fetch_add(1, Ordering::Relaxed) << 20);
        self.len.set(0);
        self.beyond.set(0);
    }

    /// The kernel's id of this thread.
    pub fn tid(&self) -> u32 {
        self.tid.get()
    }

    /// Whether one more push can be tracked.
    pub fn has_room(&self) -> bool {
        self.len.get() < FRAMES
    }

    /// Opens a range.
    pub fn push(&self, domain_key: u32, matched: bool) -> Frame {
        let len = self.len.get();
        let Some(slot) = self.frames.get(len) else {
            self.beyond.set(self.beyond.get().wrapping_add(1));
            return Frame { domain_key, serial: 0, level: UNTRACKED, matched: false };
        };
        let level = self.newest(domain_key).map_or(0, |(_, frame)| frame.level + 1);
        // 0 means "untracked", so it is left out when the numbers wrap.
        let serial = self.serial.get().wrapping_add(1).max(1);
        self.serial.set(serial);
        let frame = Frame { domain_key, serial, level, matched };
        slot.set(frame);
        self.len.set(len + 1);
        frame
    }

    /// Closes the newest range of a domain; none where nothing is open there.
    pub fn pop(&self, domain_key: u32) -> Option<Frame> {
        if self.beyond.get() > 0 {
            // Exact where the deep recursion has one domain, which is what recursion does.
            self.beyond.set(self.beyond.get() - 1);
            return Some(Frame { domain_key, serial: 0, level: UNTRACKED, matched: false });
        }
        let (at, frame) = self.newest(domain_key)?;
        let len = self.len.get();
        // Ranges of other domains that were opened later stay open.
        for (to, from) in self.frames.iter().skip(at).zip(self.frames.get(at + 1..len).unwrap_or_default()) {
            to.set(from.get());
        }
        self.len.set(len - 1);
        Some(frame)
    }

    #[inline]
    fn newest(&self, domain_key: u32) -> Option<(usize, Frame)> {
        let open = self.frames.get(..self.len.get()).unwrap_or_default();
        open.iter().enumerate().rev().map(|(i, f)| (i, f.get())).find(|(_, f)| f.domain_key == domain_key)
    }

    /// Counts an event; true once in a while.
    pub fn is_time_to_check(&self) -> bool {
        let queued = self.queued.get().wrapping_add(1);
        self.queued.set(queued);
        queued.is_multiple_of(CHECK_EVERY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a thread of its own, so that no other test's ranges are there.
    fn alone(body: impl FnOnce(&Thread) + Send + 'static) {
        std::thread::spawn(|| with(body)).join().unwrap().unwrap();
    }

    #[test]
    fn levels_count_per_domain() {
        alone(|t| {
            assert_eq!([t.push(0, false).level, t.push(0, false).level, t.push(7, false).level], [0, 1, 0]);
            assert_eq!(t.pop(0).unwrap().level, 1);
            assert_eq!(t.push(7, false).level, 1);
            assert_eq!(t.pop(0).unwrap().level, 0);
            assert!(t.pop(0).is_none());
            assert_eq!([t.pop(7).unwrap().level, t.pop(7).unwrap().level], [1, 0]);
            assert!(t.pop(7).is_none());
        });
    }

    #[test]
    fn a_pop_belongs_to_its_push_whatever_other_domains_did_in_between() {
        alone(|t| {
            let outer = t.push(1, true);
            let other = t.push(2, false);
            let inner = t.push(1, false);
            assert!(outer.serial != inner.serial && other.serial != inner.serial);
            assert_eq!(t.pop(1).unwrap().serial, inner.serial);
            let closed = t.pop(1).unwrap();
            assert!(closed.serial == outer.serial && closed.matched);
            assert_eq!(t.pop(2).unwrap().serial, other.serial);
        });
    }

    #[test]
    fn a_thousand_levels_are_survived_and_unwound() {
        alone(|t| {
            let pushed: Vec<Frame> = (0..1_000).map(|_| t.push(0, false)).collect();
            assert_eq!(pushed[FRAMES - 1].level as usize, FRAMES - 1);
            assert_eq!(pushed[FRAMES].level, UNTRACKED);
            for frame in pushed.iter().rev() {
                assert_eq!(t.pop(0).unwrap().serial, frame.serial);
            }
            assert!(t.pop(0).is_none());
        });
    }

    #[test]
    fn two_threads_never_share_a_serial_number() {
        let serial = || std::thread::spawn(|| with(|t| t.push(0, false).serial)).join().unwrap().unwrap();
        assert_ne!(serial(), serial());
    }
}
