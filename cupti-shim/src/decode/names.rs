//! The pass over a block inside CUPTI's completed callback: pointers to names become ids.
//!
//! Names belong to CUPTI and die with their module, possibly right after the callback, so they are read here. What
//! runs here runs on a thread of the program's or of CUPTI's: nothing is allocated, nothing is waited for, CUPTI is not
//! called.

use std::ffi::{c_char, c_void};

use cupti_sys::{CUPTI_ACTIVITY_KIND_OVERHEAD, Field, fields};

use super::record::Record;
use super::{Records, Walk, kind_of};
use crate::names::{MAX_NAME_BYTES, Names};
use crate::strides::Strides;

/// What the pass saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interned {
    /// Whole records of known kinds.
    pub records: u64,
    /// Bytes behind them, which nobody can read.
    pub unknown_bytes: usize,
    /// The kind that they begin with, unless a record is cut off.
    pub unknown_kind: Option<u32>,
}

/// Replaces each pointer to a name in `block`, the valid bytes of a completed buffer, by the id of the name, in place.
/// Ends at the first record of a kind that is not known.
///
/// Also frees what overhead records bring: CUPTI leaves that to whoever takes the buffer.
///
/// # Safety
/// `block` must be what CUPTI completed just now, on the thread that it calls: the pointers in the records are followed.
pub unsafe fn intern_block(block: &mut [u8], strides: &Strides, names: &Names) -> Interned {
    let mut cache = Cache::new();
    let mut seen = Interned::default();
    let (_, left) = each(block, strides, |kind, record| {
        seen.records += 1;
        if let Some(kind) = kind_of(kind) {
            for &field in kind.names {
                // SAFETY: the caller vouches for the pointers.
                replace(record, field, |pointer| unsafe { cache.id(pointer, names) });
            }
        }
        if kind == CUPTI_ACTIVITY_KIND_OVERHEAD {
            // SAFETY: as above.
            unsafe { free_overhead_data(record) };
        }
    });
    (seen.unknown_bytes, seen.unknown_kind) = left;
    seen
}

/// Counts the records of a block that is dropped, and over which time they reach; frees what they bring.
///
/// # Safety
/// As [`intern_block`].
pub unsafe fn drop_block(block: &mut [u8], strides: &Strides) -> Walk {
    let mut walk = Walk::EMPTY;
    let (records, left) = each(block, strides, |id, record| {
        if let Some(kind) = kind_of(id) {
            let record = Record(record);
            walk.saw(record.u64(kind.start), record.u64(kind.end));
        }
        if id == CUPTI_ACTIVITY_KIND_OVERHEAD {
            // SAFETY: the caller vouches for the pointers.
            unsafe { free_overhead_data(record) };
        }
    });
    walk.records = records;
    (walk.unknown_bytes, walk.unknown_kind) = left;
    walk
}

/// Calls `f` with kind and bytes of each record. Returns how many there were, and what is left as [`Records::left`].
fn each(block: &mut [u8], strides: &Strides, mut f: impl FnMut(u32, &mut [u8])) -> (u64, (usize, Option<u32>)) {
    let mut rest = block;
    let mut records = 0;
    loop {
        let mut walker = Records { rest, strides };
        let Some((kind, record)) = walker.next() else {
            return (records, walker.left());
        };
        let stride = record.len();
        let (record, tail) = rest.split_at_mut(stride);
        f(kind, record);
        records += 1;
        rest = tail;
    }
}

/// Puts `id(pointer)` in the place of a pointer, if the record has it.
#[inline(always)]
fn replace(record: &mut [u8], field: Field, id: impl FnOnce(u64) -> u32) {
    if let Some(bytes) = record.get_mut(usize::from(field.offset)..).and_then(|r| r.first_chunk_mut::<8>()) {
        *bytes = u64::from(id(u64::from_le_bytes(*bytes))).to_le_bytes();
    }
}

/// The first page is never mapped: numbers below are not pointers.
const FIRST_ADDRESS: u64 = 4096;

/// Frees the heap block that an overhead record points to (CUPTI 12.4 and later; documented with
/// `CUpti_ActivityOverhead3`), and forgets it.
///
/// # Safety
/// As [`intern_block`].
unsafe fn free_overhead_data(record: &mut [u8]) {
    replace(record, fields::overhead::OVERHEAD_DATA, |pointer| {
        // What `malloc` returned is aligned to 16; anything else is not for us to free.
        if pointer >= FIRST_ADDRESS && pointer.is_multiple_of(16) {
            // SAFETY: CUPTI has allocated it with `malloc` for its client, which we are, and hands it over once.
            unsafe { libc::free(std::ptr::with_exposed_provenance_mut::<c_void>(pointer as usize)) };
        }
        0
    });
}

/// Names of one block by pointer. A block holds thousands of kernels of a few functions, and reading a name costs
/// 20 times as much as finding it here. Not kept from block to block: pointers may be used again for other names.
///
/// Four places for each hash: with one, two names of a training loop that share it would push each other out at every
/// step.
struct Cache {
    pointers: [[u64; Cache::WAYS]; Cache::SETS],
    ids: [[u32; Cache::WAYS]; Cache::SETS],
    /// Which place is given up next; the same for all.
    turn: usize,
}

impl Cache {
    /// On the stack of somebody else's thread: 6 KiB.
    const SETS: usize = 128;
    const WAYS: usize = 4;

    fn new() -> Cache {
        Cache { pointers: [[0; Cache::WAYS]; Cache::SETS], ids: [[0; Cache::WAYS]; Cache::SETS], turn: 0 }
    }

    /// # Safety
    /// `pointer` must be null or point to a C string that stays for the duration of the call.
    #[inline(always)]
    unsafe fn id(&mut self, pointer: u64, names: &Names) -> u32 {
        if pointer < FIRST_ADDRESS {
            return 0;
        }
        let set = (pointer.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 57) as usize;
        for (way, known) in self.pointers[set].iter().enumerate() {
            if *known == pointer {
                return self.ids[set][way];
            }
        }
        // SAFETY: the caller's promise.
        let id = unsafe { read(pointer, names) };
        self.turn = (self.turn + 1) % Cache::WAYS;
        self.pointers[set][self.turn] = pointer;
        self.ids[set][self.turn] = id;
        id
    }
}

/// # Safety
/// As [`Cache::id`], and not null.
#[cold]
unsafe fn read(pointer: u64, names: &Names) -> u32 {
    let text = std::ptr::with_exposed_provenance::<c_char>(pointer as usize);
    // One byte more than is kept lets `Names` see, and count, that it was cut.
    // SAFETY: a C string, says the caller; no more than its bytes are looked at.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast(), libc::strnlen(text, MAX_NAME_BYTES + 1)) };
    names.intern(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Writer, set};
    use super::*;

    /// All names that were interned, by id.
    fn known(names: &Names) -> std::collections::HashMap<u32, Vec<u8>> {
        let mut all = std::collections::HashMap::new();
        names.drain(&mut |id, bytes| {
            all.insert(id, bytes.to_vec());
        });
        all
    }

    #[test]
    fn pointers_become_ids_of_what_they_point_to() {
        let strides = Strides::newest();
        let texts: Vec<std::ffi::CString> =
            (0..600).map(|i| std::ffi::CString::new(format!("kernel_{i}")).unwrap()).collect();
        let mut block = Writer::new(&strides);
        // Each name many times and out of order, so that the cache is hit and overrun.
        for i in 0..6000 {
            let text = &texts[i * 7 % 600];
            block.record(10, &[("name", text.as_ptr().expose_provenance() as u64)]);
        }
        block.record(10, &[("name", 0)]);
        let names = Names::new();
        // SAFETY: the texts outlive the call.
        let seen = unsafe { intern_block(&mut block.bytes, &strides, &names) };
        assert_eq!(seen, Interned { records: 6001, unknown_bytes: 0, unknown_kind: None });
        let known = known(&names);
        assert_eq!(known.len(), 600);
        for i in 0..6000 {
            let id = super::super::synthetic::get(&block.bytes[i * strides.of(10)..], 10, "name");
            assert_eq!(known[&(id as u32)], texts[i * 7 % 600].to_bytes(), "record {i}");
        }
        assert_eq!(super::super::synthetic::get(&block.bytes[6000 * strides.of(10)..], 10, "name"), 0);
    }

    #[test]
    fn overhead_data_is_freed_once_and_forgotten() {
        let strides = Strides::newest();
        let mut block = Writer::new(&strides);
        // SAFETY: plain malloc; the pass frees it.
        let heap = unsafe { libc::malloc(12) };
        block.record(17, &[("overheadKind", 6 << 16), ("overheadData", heap.expose_provenance() as u64)]);
        block.record(17, &[("overheadData", 7)]);
        // SAFETY: the pointer is of `malloc`, 7 is none.
        let seen = unsafe { intern_block(&mut block.bytes, &strides, &Names::new()) };
        assert_eq!(seen.records, 2);
        for record in block.bytes.chunks(strides.of(17)) {
            assert_eq!(super::super::synthetic::get(record, 17, "overheadData"), 0);
        }
        // Before 12.4 the record ends before the pointer.
        let old = Strides::of_toolkit("12.3").unwrap();
        let mut block = Writer::new(&old);
        block.record(17, &[("start", 5)]);
        block.record(4, &[("cbid", 5)]);
        let before = block.bytes.clone();
        // SAFETY: no pointers.
        unsafe { intern_block(&mut block.bytes, &old, &Names::new()) };
        assert_eq!(block.bytes, before);
    }

    #[test]
    fn the_pass_ends_at_what_it_does_not_know() {
        let strides = Strides::of_toolkit("12.4").unwrap();
        let mut block = Writer::new(&strides);
        block.record(10, &[("start", 5), ("end", 9)]);
        let whole = block.bytes.len();
        let mut cut = block.bytes.clone();
        cut.extend_from_slice(&block.bytes[..whole - 8]);
        // SAFETY: no pointers in these blocks.
        let seen = unsafe { intern_block(&mut cut, &strides, &Names::new()) };
        assert_eq!(seen, Interned { records: 1, unknown_bytes: whole - 8, unknown_kind: None });
        let mut alien = block.bytes.clone();
        alien.resize(whole + 64, 0);
        set(&mut alien[whole..], 10, "kind", 59);
        // SAFETY: as above.
        let seen = unsafe { intern_block(&mut alien, &strides, &Names::new()) };
        assert_eq!(seen, Interned { records: 1, unknown_bytes: 64, unknown_kind: Some(59) });
        // SAFETY: as above.
        let walk = unsafe { drop_block(&mut alien, &strides) };
        assert_eq!((walk.records, walk.first_ns, walk.last_ns, walk.unknown_bytes), (1, 5, 9, 64));
    }
}
