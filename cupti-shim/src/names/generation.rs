//! One generation of names: a hash table, a list of entries, the bytes; all in one mapping of fixed size.

use super::MAX_NAME_BYTES;
use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use crate::sync::{self, MODEL};
use std::ptr::{NonNull, null_mut};

/// Address space of one generation. Pages cost memory only when names lie in them.
const REGION_BYTES: usize = if MODEL { 128 << 10 } else { 8 << 20 };
/// Places of the hash table.
const SLOTS: usize = if MODEL { 8 } else { 1 << 16 };
/// Most names: three quarters of the places, so that a search for a new name ends after some eight of them.
const MAX_ENTRIES: usize = SLOTS / 4 * 3;
const ENTRIES_AT: usize = SLOTS * size_of::<AtomicU64>();
const ARENA_AT: usize = ENTRIES_AT + MAX_ENTRIES * size_of::<AtomicU32>();
/// Places for names, in units of 8 bytes.
const ARENA_UNITS: usize = (REGION_BYTES - ARENA_AT) / 8;
/// Counts of threads inside.
const LANES: usize = if MODEL { 1 } else { 8 };
/// Id and length before the bytes of a name.
const HEADER_BYTES: usize = 8;
/// Set in an entry that was drained.
const GIVEN: u32 = 1 << 31;

const _: () = assert!(ARENA_AT.is_multiple_of(8) && ARENA_UNITS < GIVEN as usize);
const _: () = assert!(MAX_NAME_BYTES < ARENA_UNITS * 8);

pub(super) enum Inserted {
    As(u32),
    /// There is no room.
    Full,
    /// It is being emptied: look again.
    Closed,
}

pub(super) struct Generation {
    region: AtomicPtr<u8>,
    /// Entries claimed (upper half) and units of the arena claimed (lower half), so that one step claims both.
    claimed: AtomicU64,
    /// All entries before this one were drained. Only the writer thread changes it.
    drained: AtomicU32,
    /// The epoch that may use this generation. One that is in use, or was, has an older one.
    ready_for: AtomicU32,
    closed: AtomicBool,
    /// Threads inside, spread over cache lines: NVTX calls of many threads come here.
    inside: [Inside; LANES],
}

#[repr(align(64))]
struct Inside(AtomicU32);

/// A thread that is inside; the generation is not emptied before it has left.
struct Visit<'a>(&'a AtomicU32);

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl Generation {
    pub(super) const fn new(ready_for: u32) -> Generation {
        Generation {
            region: AtomicPtr::new(null_mut()),
            claimed: AtomicU64::new(0),
            drained: AtomicU32::new(0),
            ready_for: AtomicU32::new(ready_for),
            closed: AtomicBool::new(false),
            inside: [const { Inside(AtomicU32::new(0)) }; LANES],
        }
    }

    pub(super) fn is_ready_for(&self, epoch: u32) -> bool {
        self.ready_for.load(Ordering::Acquire) == epoch
    }

    pub(super) fn is_half_full(&self) -> bool {
        let (entries, units) = split(self.claimed.load(Ordering::Relaxed));
        entries >= MAX_ENTRIES / 2 || units >= ARENA_UNITS / 2
    }

    /// None where the generation is being emptied.
    fn enter(&self) -> Option<Visit<'_>> {
        let on_stack = 0_u8;
        // Stacks of different threads lie megabytes apart.
        let lane = (std::ptr::from_ref(&on_stack) as usize >> 13) % self.inside.len();
        let inside = &self.inside[lane].0;
        // Sequentially consistent, as in `reset`: either this thread sees `closed`, or the writer sees this thread.
        inside.fetch_add(1, Ordering::SeqCst);
        let visit = Visit(inside);
        (!self.closed.load(Ordering::SeqCst)).then_some(visit)
    }

    /// The mapping, made by whoever comes first.
    fn region(&self) -> Option<NonNull<u8>> {
        if let Some(region) = NonNull::new(self.region.load(Ordering::Acquire)) {
            return Some(region);
        }
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
        // SAFETY: a fresh anonymous mapping touches nothing that exists.
        let fresh = unsafe { libc::mmap(null_mut(), REGION_BYTES, protection, flags, -1, 0) };
        if fresh == libc::MAP_FAILED {
            return None;
        }
        let fresh = fresh.cast::<u8>();
        match self.region.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => NonNull::new(fresh),
            Err(theirs) => {
                // SAFETY: mapped just above, seen by nobody else.
                unsafe { libc::munmap(fresh.cast(), REGION_BYTES) };
                NonNull::new(theirs)
            }
        }
    }

    pub(super) fn find(&self, hash: u64, name: &[u8]) -> Option<u32> {
        let region = NonNull::new(self.region.load(Ordering::Acquire))?;
        let _visit = self.enter()?;
        let mut found = None;
        probe(region, hash, |slot| {
            let place = slot.load(Ordering::Acquire);
            if place == 0 {
                return true;
            }
            if (place ^ hash) >> 32 == 0 {
                // SAFETY: `place` was published with `Release` after the entry was complete, and entries do not
                // change while a visit lasts.
                let (id, bytes) = unsafe { entry(region, place as u32) };
                found = (bytes == name).then_some(id);
            }
            found.is_some()
        });
        found
    }

    pub(super) fn insert(&self, hash: u64, name: &[u8], new_id: impl FnOnce() -> u32) -> Inserted {
        let Some(region) = self.region() else { return Inserted::Full };
        let Some(_visit) = self.enter() else { return Inserted::Closed };
        let Some((index, unit)) = self.claim(name.len()) else { return Inserted::Full };
        let id = new_id();
        // SAFETY: the claim made this part of the arena ours alone, within the mapping; nobody reads it before the
        // entry is published below.
        unsafe {
            let at = region.as_ptr().add(ARENA_AT + unit * 8);
            sync::writes(at);
            at.cast::<u32>().write(id);
            at.add(4).cast::<u32>().write(name.len() as u32);
            std::ptr::copy_nonoverlapping(name.as_ptr(), at.add(HEADER_BYTES), name.len());
        }
        // Entry before slot: whoever finds the id in the table may queue a block at once, and the writer must then
        // find the name in the list.
        let place = unit as u32 + 1;
        entry_word(region, index).store(place, Ordering::Release);
        let slot_value = (hash >> 32 << 32) | u64::from(place);
        probe(region, hash, |slot| {
            slot.compare_exchange(0, slot_value, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        });
        Inserted::As(id)
    }

    /// Room for one more name: its number and the first unit of its bytes.
    fn claim(&self, bytes: usize) -> Option<(usize, usize)> {
        let wanted = (HEADER_BYTES + bytes).div_ceil(8);
        let mut claimed = self.claimed.load(Ordering::Relaxed);
        loop {
            let (entries, units) = split(claimed);
            if entries >= MAX_ENTRIES || units + wanted > ARENA_UNITS {
                return None;
            }
            let next = claimed + (1 << 32) + wanted as u64;
            // `AcqRel`: the writer reads the number of claims and must see those made before a block was queued.
            match self.claimed.compare_exchange_weak(claimed, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some((entries, units)),
                Err(now) => claimed = now,
            }
        }
    }

    /// Gives the entries that were not given before. Writer thread only.
    pub(super) fn drain(&self, f: &mut dyn FnMut(u32, &[u8])) {
        let (entries, _) = split(self.claimed.load(Ordering::Acquire));
        let first = self.drained.load(Ordering::Relaxed) as usize;
        let Some(region) = NonNull::new(self.region.load(Ordering::Acquire)).filter(|_| first < entries) else {
            return;
        };
        let mut all_before = true;
        for index in first..entries {
            let word = entry_word(region, index);
            let value = word.load(Ordering::Acquire);
            if value != 0 && value & GIVEN == 0 {
                // SAFETY: published with `Release` after the entry was complete; only this thread empties.
                let (id, bytes) = unsafe { entry(region, value) };
                f(id, bytes);
                word.store(value | GIVEN, Ordering::Relaxed);
            }
            // One that is claimed and not yet published belongs to a thread that is about to: nobody has its id. It
            // is looked at again next time, the ones behind it are not kept waiting.
            all_before &= value != 0;
            if all_before {
                self.drained.store(index as u32 + 1, Ordering::Relaxed);
            }
        }
    }

    /// Empties the generation for `epoch`, after giving what is left; does nothing while a thread is inside, the next
    /// call tries again. Writer thread only.
    pub(super) fn reset(&self, epoch: u32, f: &mut dyn FnMut(u32, &[u8])) {
        self.closed.store(true, Ordering::SeqCst);
        let empty = self.inside.iter().all(|lane| lane.0.load(Ordering::SeqCst) == 0);
        self.drain(f);
        let all_given =
            self.drained.load(Ordering::Relaxed) as usize == split(self.claimed.load(Ordering::Acquire)).0;
        if empty && all_given {
            self.clear(epoch);
        }
        self.closed.store(false, Ordering::SeqCst);
    }

    /// For a forked child: nobody is inside, whatever the counts of the parent's threads say.
    pub(super) fn forget(&self, epoch: u32) {
        for lane in &self.inside {
            lane.0.store(0, Ordering::Relaxed);
        }
        self.clear(epoch);
        self.closed.store(false, Ordering::SeqCst);
    }

    fn clear(&self, epoch: u32) {
        if let Some(region) = NonNull::new(self.region.load(Ordering::Acquire)) {
            let region = region.as_ptr();
            // SAFETY: our own mapping, and nobody is inside. Where the pages cannot be dropped (a program that locks
            // its memory), they are zeroed.
            unsafe {
                if libc::madvise(region.cast(), REGION_BYTES, libc::MADV_DONTNEED) != 0 {
                    region.write_bytes(0, REGION_BYTES);
                }
            }
            sync::zeroed(region, REGION_BYTES);
        }
        self.claimed.store(0, Ordering::Relaxed);
        self.drained.store(0, Ordering::Relaxed);
        self.ready_for.store(epoch, Ordering::Release);
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        let region = *self.region.get_mut();
        if !region.is_null() {
            // SAFETY: mapped by `region`, and `&mut` says that nobody uses it. (The one of the process lives for ever;
            // this is for tests.)
            unsafe { libc::munmap(region.cast(), REGION_BYTES) };
        }
    }
}

fn split(claimed: u64) -> (usize, usize) {
    ((claimed >> 32) as usize, claimed as u32 as usize)
}

/// Offers slots, beginning at the place that the hash names, until one is taken. There is always an empty one.
fn probe(region: NonNull<u8>, hash: u64, mut take: impl FnMut(&AtomicU64) -> bool) {
    let mut at = hash as usize % SLOTS;
    for _ in 0..SLOTS {
        // SAFETY: the first `SLOTS` words of the mapping are only ever used as these atomics; all zeros is valid.
        let slot = unsafe { &*region.as_ptr().cast::<AtomicU64>().add(at) };
        if take(slot) {
            return;
        }
        at = (at + 1) % SLOTS;
    }
}

fn entry_word<'a>(region: NonNull<u8>, index: usize) -> &'a AtomicU32 {
    // SAFETY: `index < MAX_ENTRIES` by `claim`; this part of the mapping is only ever used as these atomics.
    unsafe { &*region.as_ptr().add(ENTRIES_AT).cast::<AtomicU32>().add(index) }
}

/// Id and bytes of the entry at `place`.
///
/// # Safety
/// `place` was read, with `Acquire`, from a slot or an entry word, and the generation is not emptied while the bytes
/// are in use.
unsafe fn entry<'a>(region: NonNull<u8>, place: u32) -> (u32, &'a [u8]) {
    let unit = (place & !GIVEN) as usize - 1;
    // SAFETY: as the caller promises, `insert` wrote a whole entry here, inside the mapping.
    unsafe {
        let at = region.as_ptr().add(ARENA_AT + unit * 8);
        sync::reads(at);
        let (id, len) = (at.cast::<u32>().read(), at.add(4).cast::<u32>().read());
        (id, std::slice::from_raw_parts(at.add(HEADER_BYTES), len as usize))
    }
}
