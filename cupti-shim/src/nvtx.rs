//! NVTX: the program's own names for what it does, heard by an injection of our own.
//!
//! NVTX is headers: every library that uses it carries function pointers, which an injected library may set when the
//! first of them is called. [`initialize`] does that, once for each such library, with static state alone: it may
//! come long before CUDA, or without it. From then on each call of the program leaves one [`Event`] in a bounded
//! queue; no lock, no allocation. The writer thread takes them out with [`pop`] and makes rows of them with [`Ranges`].
//!
//! ```text
//! program's thread ─ nvtxRangePush ─▶ calls ─▶ text, attributes, names ─▶ record ─▶ queue
//!                                                   gate (--capture nvtx:…) ◀┘        └─▶ writer: Ranges ─▶ range
//! ```
//!
//! Another tool's injection can be served as well ([`chain_to`]): it fills the tables first, and our functions call
//! what they found there.

mod abi;
mod attach;
mod calls;
mod chain;
mod event;
mod handles;
mod queue;
mod ranges;
mod record;
mod text;
mod thread;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};

pub use abi::GetExportTable;
pub use attach::initialize;
pub use chain::chain_to;
pub use event::Event;
pub use queue::{CAPACITY, Lost, on_pressure, pop, take_lost};
pub use ranges::{Named, Ranges};

/// The string id of a text, in the names that all callbacks share.
fn intern(bytes: &[u8]) -> u32 {
    crate::names::NAMES.intern(bytes)
}

/// What a forked child forgets ([`crate::fork`]): the parent's events, threads, string ids and counts. Handles that the
/// program holds stay valid.
pub fn forget() {
    queue::forget();
    thread::forget();
    record::forget();
    COUNTS.forget();
}

/// What was odd about the program's calls.
struct Counters {
    pops_without_push: AtomicU64,
    untracked: AtomicU64,
    strange_handles: AtomicU64,
}

static COUNTS: Counters = Counters {
    pops_without_push: AtomicU64::new(0),
    untracked: AtomicU64::new(0),
    strange_handles: AtomicU64::new(0),
};

impl Counters {
    fn pop_without_push(&self) {
        self.pops_without_push.fetch_add(1, Ordering::Relaxed);
    }

    fn untracked(&self) {
        self.untracked.fetch_add(1, Ordering::Relaxed);
    }

    fn strange_handle(&self) {
        self.strange_handles.fetch_add(1, Ordering::Relaxed);
    }

    fn forget(&self) {
        for count in [&self.pops_without_push, &self.untracked, &self.strange_handles] {
            count.store(0, Ordering::Relaxed);
        }
    }
}

/// What was odd about the program's calls, for notes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Pops where nothing was open in that thread and domain; answered with "no tracking".
    pub pops_without_push: u64,
    /// Pushes deeper than a thread keeps track of; recorded, but answered with "no tracking".
    pub untracked: u64,
    /// Handles of domains or strings that were never given out.
    pub strange_handles: u64,
}

/// The counts up to now.
pub fn counts() -> CallCounts {
    CallCounts {
        pops_without_push: COUNTS.pops_without_push.load(Ordering::Relaxed),
        untracked: COUNTS.untracked.load(Ordering::Relaxed),
        strange_handles: COUNTS.strange_handles.load(Ordering::Relaxed),
    }
}
