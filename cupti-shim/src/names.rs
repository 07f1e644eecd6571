//! Names to ids, inside other people's callbacks: no lock, no allocation, no waiting.
//!
//! Kernel names die with their module and NVTX messages with the call, so they are read on the spot. Equal bytes give
//! equal ids as long as both are remembered. Two generations of 8 MiB are all the memory there ever is: when one is
//! full, new names go to the other, and once everything in the older one is in the file and the newer one is half
//! full, the older is emptied for the next turn. A name forgotten like that gets another id when it comes again, which
//! readers merge. While neither has room, names are refused: id 0, counted.

mod generation;

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use generation::{Generation, Inserted};

/// Longest name that is kept whole. The longest mangled names seen in the wild (nested expression templates) have
/// some 30,000 bytes.
pub const MAX_NAME_BYTES: usize = 64 << 10;

/// The names of this process: those of NVTX may come long before there is anything else.
pub static NAMES: Names = Names::new();

/// Interned names. Made without touching memory.
pub struct Names {
    generations: [Generation; 2],
    /// Counts the turns: names go to generation `epoch & 1`. Only ever grows, so that a thread which slept through
    /// two turns cannot take the third one for its own.
    epoch: AtomicU32,
    next_id: AtomicU64,
    refused: AtomicU64,
    cut: AtomicU64,
}

impl Names {
    /// No names yet. Memory is mapped with the first one.
    pub const fn new() -> Names {
        Names {
            generations: [Generation::new(0), Generation::new(1)],
            epoch: AtomicU32::new(0),
            next_id: AtomicU64::new(1),
            refused: AtomicU64::new(0),
            cut: AtomicU64::new(0),
        }
    }

    /// The id of a name; 0 where there is no room. Longer names than [`MAX_NAME_BYTES`] are cut, and counted.
    ///
    /// From any thread, inside any callback. Two threads that bring the same new name at the same moment may get two
    /// ids: better than one waiting for the other.
    pub fn intern(&self, bytes: &[u8]) -> u32 {
        let name = match bytes.get(..MAX_NAME_BYTES) {
            Some(start) if bytes.len() > MAX_NAME_BYTES => {
                self.cut.fetch_add(1, Ordering::Relaxed);
                start
            }
            _ => bytes,
        };
        let hash = hash(name);
        // A turn can come between reading the epoch and inserting; two in a row mean that names come faster than
        // they can be written.
        for _ in 0..3 {
            let epoch = self.epoch.load(Ordering::Acquire);
            let active = &self.generations[epoch as usize & 1];
            let other = &self.generations[!epoch as usize & 1];
            if let Some(id) = active.find(hash, name).or_else(|| other.find(hash, name)) {
                return id;
            }
            match active.insert(hash, name, || self.own()) {
                Inserted::As(id) => return id,
                Inserted::Closed => {}
                Inserted::Full => {
                    if !other.is_ready_for(epoch.wrapping_add(1)) {
                        break;
                    }
                    // Somebody else may have turned first; either way the next round sees the new epoch.
                    let (ok, not) = (Ordering::AcqRel, Ordering::Relaxed);
                    let _ = self.epoch.compare_exchange(epoch, epoch.wrapping_add(1), ok, not);
                }
            }
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        0
    }

    /// An id without a name here, for strings that the writer thread makes itself; 0 once all are used up.
    pub fn own(&self) -> u32 {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        // 64 bits do not wrap, so the 4 billionth name is refused rather than confused with the first.
        u32::try_from(id).unwrap_or(0)
    }

    /// Gives every name that was not given before; afterwards forgets what may be forgotten.
    ///
    /// For the writer thread alone. A name whose id was returned before this call began is among those given now or
    /// earlier.
    pub fn drain(&self, f: &mut dyn FnMut(u32, &[u8])) {
        let epoch = self.epoch.load(Ordering::Acquire);
        let active = &self.generations[epoch as usize & 1];
        let other = &self.generations[!epoch as usize & 1];
        active.drain(f);
        other.drain(f);
        let next = epoch.wrapping_add(1);
        // Half full: names of the older generation stay known as long as that is safe, and a burst of new ones still
        // finds 12 MiB.
        if !other.is_ready_for(next) && active.is_half_full() {
            other.reset(next, f);
        }
    }

    /// What a forked child forgets ([`crate::fork`]): all names and the counts of refused and cut ones. Ids begin at 1
    /// again.
    ///
    /// Only the thread that calls this may use the names meanwhile. What other threads of the parent were doing with
    /// them at the fork is forgotten too.
    pub fn forget(&self) {
        self.generations[0].forget(0);
        self.generations[1].forget(1);
        self.next_id.store(1, Ordering::Relaxed);
        self.refused.store(0, Ordering::Relaxed);
        self.cut.store(0, Ordering::Relaxed);
        self.epoch.store(0, Ordering::Release);
    }

    /// How many names were refused so far.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// How many names were cut so far.
    pub fn cut(&self) -> u64 {
        self.cut.load(Ordering::Relaxed)
    }
}

impl Default for Names {
    fn default() -> Self {
        Names::new()
    }
}

/// A hash of bytes: multiply and fold, sixteen bytes a step. Never 0.
///
/// Nobody attacks this table, and a slow hash would be paid inside the program's launches.
fn hash(bytes: &[u8]) -> u64 {
    const K: [u64; 3] = [0x9e37_79b9_7f4a_7c15, 0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db];
    let fold = |a: u64, b: u64| {
        let wide = u128::from(a) * u128::from(b);
        (wide as u64) ^ (wide >> 64) as u64
    };
    let word = |b: &[u8; 8]| u64::from_le_bytes(*b);
    // The length is folded before any byte is mixed in. Otherwise the bytes of a short name could cancel out its
    // length.
    let mut state = fold(K[2] ^ bytes.len() as u64, K[1]);
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first_chunk::<8>() {
        let Some((second, after)) = after.split_first_chunk::<8>() else {
            state = fold(state ^ word(first), K[0]);
            rest = after;
            break;
        };
        state = fold(word(first) ^ K[0], word(second) ^ state);
        rest = after;
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    fold(fold(state ^ word(&last), K[1]), K[2]) | 1
}

#[cfg(test)]
mod tests;
