//! The blocks that CUPTI fills: a fixed number, handed out and taken back without a lock and without allocating.
//!
//! Each block is an allocation of its own, because another tool that takes CUPTI over may `free` it. They are all made
//! at the first context; untouched, they cost address space and no memory. The block given back last is handed out
//! first, so that a quiet program keeps one or two of them warm, and [`Pool::trim`] returns the memory of the others.
//!
//! When none is left, CUPTI 12.9 and later take NULL for an answer and count what they drop. Older ones may crash on
//! NULL; they get small blocks whose records are counted and thrown away on the spot, in the callback, because the
//! writer that would do it is just what does not keep up.

mod stack;

use crate::sync;
use crate::sync::atomic::{AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};
use stack::Stack;
use std::alloc::Layout;
use std::ptr::null_mut;

/// Size of a drop block. Any record fits (the largest has 304 bytes); larger ones would only be thrown away later.
pub const DROP_BLOCK_BYTES: usize = 64 << 10;
/// Drop blocks made in advance for CUPTI before 12.9: one per context or thread that asks at the same moment.
const DROP_BLOCKS: usize = 32;
/// More drop blocks are made on demand, up to here: an allocation in a callback is better than a crash.
const MAX_DROP_BLOCKS: usize = 4_096;
const PAGE_BYTES: usize = 4_096;

const FREE: u8 = 0;
const OUT: u8 = 1;
const DONE: u8 = 2;

/// Whose block CUPTI has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// One of ours, to be queued and given back.
    Block,
    /// One of ours whose records are only counted; to be given back at once.
    DropBlock,
    /// Not one that we handed out, or completed before: not ours to read, clear or free.
    Foreign,
}

/// A span in which no block was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dry {
    /// Requests that found none.
    pub requests: u64,
    /// The first of them, CLOCK_REALTIME.
    pub first_unix_ns: i64,
    /// The last of them, CLOCK_REALTIME.
    pub last_unix_ns: i64,
}

/// All blocks. One per process, made without touching memory.
pub struct Pool {
    table: AtomicPtr<Table>,
    /// Blocks with memory behind them.
    warm: Stack,
    /// Blocks without.
    cold: Stack,
    drops: Stack,
    /// Fewest warm blocks since the last trim: that many were not needed.
    warm_low: AtomicU32,
    requested: AtomicU64,
    completed: AtomicU64,
    /// Requests that found no block, ever.
    refused: AtomicU64,
    /// The same, since [`Pool::take_dry`] was last called.
    dry_requests: AtomicU64,
    dry_first: AtomicI64,
    dry_last: AtomicI64,
}

struct Table {
    block_bytes: usize,
    /// Sorted by address.
    blocks: Box<[BlockSlot]>,
    drops: Box<[BlockSlot]>,
    drops_made: AtomicU32,
}

struct BlockSlot {
    ptr: AtomicPtr<u8>,
    state: AtomicU8,
    /// The request that it was handed out for, counted from 1.
    number: AtomicU64,
    next: AtomicU32,
}

impl Pool {
    /// No blocks yet.
    pub const fn new() -> Pool {
        Pool {
            table: AtomicPtr::new(null_mut()),
            warm: Stack::new(),
            cold: Stack::new(),
            drops: Stack::new(),
            warm_low: AtomicU32::new(0),
            requested: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            dry_requests: AtomicU64::new(0),
            dry_first: AtomicI64::new(0),
            dry_last: AtomicI64::new(0),
        }
    }

    /// Makes the blocks, once: `memory_bytes` of them in all, at least two. `with_drops`: CUPTI is older than 12.9.
    ///
    /// Errors: false where not even one block could be had; fewer than wanted are fine.
    pub fn prepare(&self, block_bytes: usize, memory_bytes: usize, with_drops: bool) -> bool {
        if !self.table.load(Ordering::Acquire).is_null() {
            return true;
        }
        let block_bytes = block_bytes.max(DROP_BLOCK_BYTES).next_multiple_of(PAGE_BYTES);
        let count = (memory_bytes / block_bytes).max(2);
        let mut blocks: Vec<*mut u8> = (0..count).map_while(|_| zeroed_block(block_bytes)).collect();
        if blocks.is_empty() {
            return false;
        }
        blocks.sort_unstable();
        let made: Vec<*mut u8> = match with_drops {
            true => (0..DROP_BLOCKS).map_while(|_| zeroed_block(DROP_BLOCK_BYTES)).collect(),
            false => Vec::new(),
        };
        let place = |ptr| BlockSlot {
            ptr: AtomicPtr::new(ptr),
            state: AtomicU8::new(FREE),
            number: AtomicU64::new(0),
            next: AtomicU32::new(0),
        };
        let later = if with_drops { MAX_DROP_BLOCKS - made.len() } else { 0 };
        let table = Box::new(Table {
            block_bytes,
            drops_made: AtomicU32::new(made.len() as u32),
            blocks: blocks.into_iter().map(place).collect(),
            drops: made.into_iter().chain(std::iter::repeat_n(null_mut(), later)).map(place).collect(),
        });
        // Lives as long as the process: CUPTI may hold a block until the very end.
        let table = Box::into_raw(table);
        let stored = self.table.compare_exchange(null_mut(), table, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if !stored {
            // Two first contexts at once. The other thread's blocks serve; freeing these is not worth the code.
            return true;
        }
        if let Some(table) = self.table() {
            for i in (0..table.blocks.len() as u32).rev() {
                self.cold.push(i, table.blocks[i as usize].link());
            }
            for i in (0..table.drops_made.load(Ordering::Relaxed)).rev() {
                self.drops.push(i, table.drops[i as usize].link());
            }
        }
        true
    }

    fn table(&self) -> Option<&'static Table> {
        // SAFETY: set once, by `prepare`, from a box that is never freed.
        unsafe { self.table.load(Ordering::Acquire).as_ref() }
    }

    /// Bytes of a block; 0 before there are any.
    pub fn block_bytes(&self) -> usize {
        self.table().map_or(0, |t| t.block_bytes)
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.table().map_or(0, |t| t.blocks.len())
    }

    /// A zeroed block of [`Pool::block_bytes`]; null when none is left. For the buffer-requested callback.
    pub fn take(&self) -> *mut u8 {
        self.requested.fetch_add(1, Ordering::Relaxed);
        let block = self.pop();
        if block.is_null() {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        block
    }

    fn pop(&self) -> *mut u8 {
        let Some(table) = self.table() else { return null_mut() };
        let Some(place) = self.pop_free(table) else {
            self.note_dry();
            return null_mut();
        };
        place.hand_out(self.requested())
    }

    fn pop_free(&self, table: &'static Table) -> Option<&'static BlockSlot> {
        let popped = self.warm.pop(|i| table.blocks[i as usize].link());
        if popped.is_some() {
            self.warm_low.fetch_min(self.warm.len(), Ordering::Relaxed);
        }
        let index = popped.or_else(|| self.cold.pop(|i| table.blocks[i as usize].link()))?;
        Some(&table.blocks[index as usize])
    }

    /// A zeroed block for records that are made here; null when none is left. CUPTI has no part in it, so it counts as
    /// neither requested nor missing: it is to be given back like one that CUPTI has completed.
    pub fn take_own(&self) -> *mut u8 {
        let Some(place) = self.table().and_then(|table| self.pop_free(table)) else { return null_mut() };
        place.state.store(DONE, Ordering::Release);
        place.ptr.load(Ordering::Relaxed)
    }

    /// As [`Pool::take`], for CUPTI before 12.9: a drop block instead of null. Returns its size too.
    pub fn take_or_drop(&self) -> (*mut u8, usize) {
        self.requested.fetch_add(1, Ordering::Relaxed);
        let block = self.pop();
        if !block.is_null() {
            return (block, self.block_bytes());
        }
        self.drop_block().unwrap_or_else(|| {
            self.refused.fetch_add(1, Ordering::Relaxed);
            (null_mut(), 0)
        })
    }

    fn drop_block(&self) -> Option<(*mut u8, usize)> {
        let table = self.table()?;
        if let Some(index) = self.drops.pop(|i| table.drops[i as usize].link()) {
            return Some((table.drops[index as usize].hand_out(self.requested()), DROP_BLOCK_BYTES));
        }
        let more = |made: u32| ((made as usize) < table.drops.len()).then_some(made + 1);
        let index = table.drops_made.fetch_update(Ordering::AcqRel, Ordering::Relaxed, more).ok()?;
        let fresh = zeroed_block(DROP_BLOCK_BYTES)?;
        let place = &table.drops[index as usize];
        place.ptr.store(fresh, Ordering::Release);
        Some((place.hand_out(self.requested()), DROP_BLOCK_BYTES))
    }

    fn note_dry(&self) {
        let now = crate::sys::realtime_ns();
        let _ = self.dry_first.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        self.dry_last.fetch_max(now, Ordering::Relaxed);
        // Last, and released: the writer takes the count first.
        self.dry_requests.fetch_add(1, Ordering::Release);
    }

    /// Whether CUPTI still holds a block that it was given for one of the first `number` requests.
    pub fn is_out_since(&self, number: u64) -> bool {
        let is_out = |place: &BlockSlot| {
            place.state.load(Ordering::Acquire) == OUT && place.number.load(Ordering::Relaxed) <= number
        };
        self.table().is_some_and(|table| {
            let made = table.drops_made.load(Ordering::Acquire) as usize;
            table.blocks.iter().chain(&table.drops[..made]).any(is_out)
        })
    }

    /// The span without blocks since the last call, if there was one.
    pub fn take_dry(&self) -> Option<Dry> {
        let requests = self.dry_requests.swap(0, Ordering::Acquire);
        if requests == 0 {
            return None;
        }
        let first_unix_ns = self.dry_first.swap(0, Ordering::Relaxed);
        let last_unix_ns = self.dry_last.swap(0, Ordering::Relaxed).max(first_unix_ns);
        Some(Dry { requests, first_unix_ns, last_unix_ns })
    }

    /// Notes that CUPTI has completed a block, and says whose it is.
    pub fn complete(&self, ptr: *mut u8) -> Owner {
        let Some((_, place, owner)) = self.find(ptr) else { return Owner::Foreign };
        let (ok, not) = (Ordering::AcqRel, Ordering::Relaxed);
        if place.state.compare_exchange(OUT, DONE, ok, not).is_err() {
            return Owner::Foreign;
        }
        self.completed.fetch_add(1, Ordering::Relaxed);
        owner
    }

    fn find(&self, ptr: *mut u8) -> Option<(&'static Table, &'static BlockSlot, Owner)> {
        let table = self.table()?;
        if let Ok(i) = table.blocks.binary_search_by_key(&ptr, |p| p.ptr.load(Ordering::Relaxed)) {
            return Some((table, &table.blocks[i], Owner::Block));
        }
        let made = table.drops_made.load(Ordering::Acquire) as usize;
        let place = table.drops[..made].iter().find(|p| p.ptr.load(Ordering::Acquire) == ptr && !ptr.is_null())?;
        Some((table, place, Owner::DropBlock))
    }

    /// Takes a completed block back, cleared: CUPTI is told that blocks come zeroed, which spares the program's
    /// threads the work. What was not completed, or is not ours, is left alone.
    pub fn give_back(&self, ptr: *mut u8, used_bytes: usize) {
        let Some((table, place, owner)) = self.find(ptr) else { return };
        let (blocks, bytes) = match owner {
            Owner::DropBlock => (&table.drops, DROP_BLOCK_BYTES),
            _ => (&table.blocks, table.block_bytes),
        };
        if place.state.load(Ordering::Acquire) != DONE {
            return;
        }
        // A page more than CUPTI called valid: an unfinished record may lie behind.
        let used = used_bytes.saturating_add(PAGE_BYTES).min(bytes);
        sync::writes(ptr);
        // SAFETY: a block of at least `used` bytes that CUPTI has returned and nobody else holds (state DONE).
        unsafe { ptr.write_bytes(0, used) };
        place.state.store(FREE, Ordering::Release);
        // SAFETY: `place` is an element of `blocks`.
        let index = unsafe { std::ptr::from_ref(place).offset_from_unsigned(blocks.as_ptr()) } as u32;
        let stack = if owner == Owner::DropBlock { &self.drops } else { &self.warm };
        stack.push(index, place.link());
    }

    /// Returns the memory of half the blocks that were not needed since the last call. Writer thread only.
    pub fn trim(&self) {
        let Some(table) = self.table() else { return };
        let unneeded = self.warm_low.swap(self.warm.len(), Ordering::Relaxed);
        // Half: a program that works in bursts does not pay for all its pages at each of them.
        for _ in 0..unneeded.div_ceil(2) {
            let Some(index) = self.warm.pop(|i| table.blocks[i as usize].link()) else { break };
            let place = &table.blocks[index as usize];
            // The block is all zeros; if the pages cannot be dropped they stay, and stay zero.
            // SAFETY: a free block of ours, aligned to pages.
            unsafe {
                libc::madvise(place.ptr.load(Ordering::Relaxed).cast(), table.block_bytes, libc::MADV_DONTNEED)
            };
            self.cold.push(index, place.link());
        }
    }

    /// How many blocks CUPTI asked for, those it did not get included.
    pub fn requested(&self) -> u64 {
        self.requested.load(Ordering::Relaxed)
    }

    /// How many of those requests are settled: the block is back, or there was none. The rest is with CUPTI.
    pub fn completed(&self) -> u64 {
        self.completed.load(Ordering::Relaxed) + self.refused()
    }

    /// How many requests found no block, not even one to drop.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Blocks that are neither with CUPTI nor queued.
    #[cfg(test)]
    pub fn free(&self) -> usize {
        self.warm.len() as usize + self.cold.len() as usize
    }

    /// Blocks that have memory and nothing to do.
    #[cfg(test)]
    pub fn warm(&self) -> usize {
        self.warm.len() as usize
    }
}

impl Default for Pool {
    fn default() -> Self {
        Pool::new()
    }
}

impl BlockSlot {
    fn link(&self) -> &AtomicU32 {
        &self.next
    }

    fn hand_out(&self, number: u64) -> *mut u8 {
        self.number.store(number, Ordering::Relaxed);
        self.state.store(OUT, Ordering::Release);
        self.ptr.load(Ordering::Acquire)
    }
}

/// A block of zeros of its own.
fn zeroed_block(bytes: usize) -> Option<*mut u8> {
    let layout = Layout::from_size_align(bytes, PAGE_BYTES).ok()?;
    // Not through Rust's allocator: whoever believes the block to be his must be able to `free` it.
    // SAFETY: the size is a multiple of the alignment and not zero.
    let ptr = unsafe { libc::aligned_alloc(layout.align(), layout.size()) }.cast::<u8>();
    if ptr.is_null() {
        return None;
    }
    // Memory that was used before is replaced by fresh pages, which cost nothing until they are written. Some
    // allocators use memory for which that does not give zeros (or locked memory, for which it fails).
    // SAFETY: `ptr` has `bytes` bytes and is aligned to pages; dropping pages of one's own block harms nobody.
    unsafe {
        let dropped = libc::madvise(ptr.cast(), bytes, libc::MADV_DONTNEED) == 0;
        let first = ptr.cast::<u64>();
        let last = ptr.add(bytes - 8).cast::<u64>();
        if !dropped || first.read() != 0 || last.read() != 0 {
            ptr.write_bytes(0, bytes);
        }
    }
    Some(ptr)
}

#[cfg(test)]
mod tests;
