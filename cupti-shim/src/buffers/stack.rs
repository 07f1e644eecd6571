//! A stack of small numbers without a lock (Treiber). The links live with the caller.

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The head: how often it changed (upper half), the top number plus one or 0 (lower half). The count keeps a thread
/// that slept from mistaking a head that came back for one that never went.
pub(super) struct Stack {
    head: AtomicU64,
    len: AtomicU32,
}

impl Stack {
    pub(super) const fn new() -> Stack {
        Stack { head: AtomicU64::new(0), len: AtomicU32::new(0) }
    }

    /// How many there are, about: exact when nobody pushes or pops.
    pub(super) fn len(&self) -> u32 {
        self.len.load(Ordering::Relaxed)
    }

    /// Puts `number` on top; `link` is its link, and the number is on no stack.
    pub(super) fn push(&self, number: u32, link: &AtomicU32) {
        // Before it can be popped, so that the length never falls below 0.
        self.len.fetch_add(1, Ordering::Relaxed);
        step();
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            step();
            link.store(head as u32, Ordering::Relaxed);
            step();
            match self.head.compare_exchange_weak(head, next(head, number + 1), Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Takes the number on top; `link_of` finds the link of a number.
    pub(super) fn pop<'a>(&self, link_of: impl Fn(u32) -> &'a AtomicU32) -> Option<u32> {
        step();
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            step();
            let number = (head as u32).checked_sub(1)?;
            // May be a link of another moment, if others were faster: then the head has changed as well.
            let below = link_of(number).load(Ordering::Relaxed);
            step();
            match self.head.compare_exchange_weak(head, next(head, below), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    self.len.fetch_sub(1, Ordering::Relaxed);
                    return Some(number);
                }
                Err(now) => head = now,
            }
        }
    }
}

/// Where another thread may come in between: tests try all the ways.
#[inline(always)]
fn step() {
    #[cfg(test)]
    super::tests::interleave::step();
}

fn next(head: u64, top: u32) -> u64 {
    ((head >> 32).wrapping_add(1) << 32) | u64::from(top)
}
