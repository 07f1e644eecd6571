//! Frames and stacks by id, in tables of fixed size: written by one thread at a time, read by the writer thread.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering};

/// Different frames, and different stacks, prefixes included. Pages that nobody touches cost nothing.
const FRAMES: usize = 1 << 14;
const STACKS: usize = 1 << 16;

/// A function and a line in it, by ids of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameDef {
    /// Function.
    pub name: u32,
    /// Source file.
    pub file: u32,
    /// Line; 0: not known.
    pub line: u32,
}

/// A stack as the stack that called it (0: none) and its innermost frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackDef {
    /// The caller's stack.
    pub parent: u32,
    /// The frame.
    pub frame: u32,
}

/// Values that are only ever added.
pub(super) struct Appended<T> {
    values: Box<[UnsafeCell<MaybeUninit<T>>]>,
    length: AtomicU32,
}

// SAFETY: a value is written once, before `length` says that it is there, and only read afterwards.
unsafe impl<T: Copy + Send> Sync for Appended<T> {}

impl<T: Copy> Appended<T> {
    fn new(capacity: usize) -> Appended<T> {
        let values = (0..capacity).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect();
        Appended { values, length: AtomicU32::new(0) }
    }

    fn get(&self, i: u32) -> Option<T> {
        if i >= self.length.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: below the length, so it was written, and nobody writes it again.
        self.values.get(i as usize).map(|cell| unsafe { (*cell.get()).assume_init() })
    }

    /// # Safety
    /// By one thread at a time.
    unsafe fn push(&self, value: T) -> Option<u32> {
        let at = self.length.load(Ordering::Relaxed);
        let cell = self.values.get(at as usize)?;
        // SAFETY: beyond the length nobody reads, and nobody else writes.
        unsafe { (*cell.get()).write(value) };
        self.length.store(at + 1, Ordering::Release);
        Some(at)
    }

    /// Calls `each` with the id of every value from number `from` on; returns how many there are. Ids begin at 1.
    pub(super) fn each_from(&self, from: u32, each: &mut dyn FnMut(u32, T)) -> u32 {
        let length = self.length.load(Ordering::Acquire);
        for i in from..length {
            if let Some(value) = self.get(i) {
                each(i + 1, value);
            }
        }
        length
    }
}

/// Values and the way to find them: open addressing, ids in the slots.
struct Interned<T> {
    /// Twice as many slots as values, a power of two.
    slots: Box<[AtomicU32]>,
    _values: std::marker::PhantomData<T>,
}

impl<T: Copy + PartialEq> Interned<T> {
    fn new(capacity: usize) -> Interned<T> {
        let slots = (0..capacity * 2).map(|_| AtomicU32::new(0)).collect();
        Interned { slots, _values: std::marker::PhantomData }
    }

    /// # Safety
    /// By one thread at a time.
    unsafe fn id(&self, defs: &Appended<T>, hash: u64, value: T) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = (hash >> 32) as usize & mask;
        for _ in 0..self.slots.len() {
            let slot = self.slots.get(at)?;
            match slot.load(Ordering::Relaxed) {
                0 => {
                    // SAFETY: the caller's promise.
                    let id = unsafe { defs.push(value) }? + 1;
                    slot.store(id, Ordering::Relaxed);
                    return Some(id);
                }
                id if defs.get(id - 1) == Some(value) => return Some(id),
                _ => at = (at + 1) & mask,
            }
        }
        None
    }
}

/// Spreads two numbers over 64 bits.
pub(super) fn hash(a: u64, b: u64) -> u64 {
    let mixed = (a ^ b.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xa076_1d64_78bd_642f)
}

macro_rules! table {
    ($(#[doc = $doc:literal])+ $table:ident, $def:ty, $capacity:expr, $value:ident => $hash:expr) => {
        $(#[doc = $doc])+
        pub(super) struct $table {
            index: Interned<$def>,
            /// All of them, in the order of their ids.
            pub(super) defs: Appended<$def>,
        }

        impl $table {
            pub(super) fn new() -> $table {
                $table { index: Interned::new($capacity), defs: Appended::new($capacity) }
            }

            /// The id, new or known; none: there is no room.
            ///
            /// # Safety
            /// By one thread at a time.
            pub(super) unsafe fn id(&self, $value: $def) -> Option<u32> {
                // SAFETY: the caller's promise.
                unsafe { self.index.id(&self.defs, $hash, $value) }
            }
        }
    };
}

table!(
    /// Frames by id.
    Frames, FrameDef, FRAMES, value => hash(u64::from(value.name) << 32 | u64::from(value.file), value.line.into())
);
table!(
    /// Stacks by id.
    Stacks, StackDef, STACKS, value => hash(value.parent.into(), value.frame.into())
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_id_and_a_full_table_refuses() {
        let frames = Frames::new();
        let frame = |line| FrameDef { name: 1, file: 2, line };
        // SAFETY: one thread.
        unsafe {
            for line in 0..FRAMES as u32 {
                assert_eq!(frames.id(frame(line)), Some(line + 1));
            }
            assert_eq!(frames.id(frame(7)), Some(8));
            assert_eq!(frames.id(frame(FRAMES as u32)), None);
        }
        let mut seen = Vec::new();
        let length = frames.defs.each_from(FRAMES as u32 - 2, &mut |id, def| seen.push((id, def.line)));
        assert_eq!(length, FRAMES as u32);
        assert_eq!(seen, [(FRAMES as u32 - 1, FRAMES as u32 - 2), (FRAMES as u32, FRAMES as u32 - 1)]);
    }
}
