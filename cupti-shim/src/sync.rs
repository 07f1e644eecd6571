//! What threads share: atomics, locks, a queue. Here they are those of everybody; `tests/loom` compiles the modules that
//! use them against loom's instead, and goes through what threads can do to each other.

pub use crossbeam_queue::ArrayQueue;
pub use std::sync::atomic;
pub use std::sync::{Mutex, MutexGuard};

/// Whether this is the model of `tests/loom`: tables are then so small that it sees them full.
pub const MODEL: bool = false;

/// Memory at `ptr` that is not atomic is about to be read, by a thread that may not be the one that wrote it.
#[inline(always)]
pub fn reads<T>(_ptr: *const T) {}

/// It is about to be written.
#[inline(always)]
pub fn writes<T>(_ptr: *const T) {}

/// Memory that holds atomics was set to zeros by other means than theirs.
#[inline(always)]
pub fn zeroed(_ptr: *const u8, _bytes: usize) {}
