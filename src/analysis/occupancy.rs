//! Theoretical occupancy: how many warps of a kernel can be on a multiprocessor at once, what limits them, and how full the last wave of
//! blocks is.
//!
//! A block needs warps, registers and shared memory, and a multiprocessor has so much of each. What it has follows from the compute
//! capability (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; reserved shared memory and units of
//! allocation as in `cuda_occupancy.h`). How much of the occupancy is reached, a trace does not say.

use std::fmt;

/// Threads of a warp.
const WARP: u64 = 32;

/// Registers are given to a warp in multiples of this.
const REGISTER_UNIT: u64 = 256;

/// What a multiprocessor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Resident warps.
    pub warps: u64,
    /// Resident blocks.
    pub blocks: u64,
    /// Registers, 32 bits each.
    pub registers: u64,
    /// Shared memory, if all that can be is used as such.
    pub shared_bytes: u64,
    /// Parts that share the registers evenly.
    parts: u64,
    /// Shared memory is given to a block in multiples of this,
    shared_unit_bytes: u64,
    /// and so much of it is taken by the system for each block.
    reserved_bytes: u64,
}

impl Limits {
    /// Those of a compute capability; `None` of one that is not known here.
    pub fn of(major: u32, minor: u32) -> Option<Limits> {
        let (warps, blocks, shared_kib) = match (major, minor) {
            (5, 0 | 3) | (6, 0 | 2) => (64, 32, 64),
            (5, 2) | (6, 1) | (7, 0 | 2) => (64, 32, 96),
            (7, 5) => (32, 16, 64),
            (8, 0) => (64, 32, 164),
            (8, 6) => (48, 16, 100),
            (8, 7) => (48, 16, 164),
            (8, 9) | (12, 0 | 1) => (48, 24, 100),
            (9, 0) | (10, 0 | 3) => (64, 32, 228),
            (11, 0) => (48, 24, 228),
            _ => return None,
        };
        let is_new = major >= 8;
        Some(Limits {
            warps,
            blocks,
            registers: 65_536,
            shared_bytes: shared_kib << 10,
            parts: if (major, minor) == (6, 0) { 2 } else { 4 },
            shared_unit_bytes: if is_new { 128 } else { 256 },
            reserved_bytes: if is_new { 1024 } else { 0 },
        })
    }
}

/// What a block of a launch needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block {
    /// Its threads.
    pub threads: u64,
    /// Registers of a thread.
    pub registers: u64,
    /// Static and dynamic shared memory together.
    pub shared_bytes: u64,
}

/// What there is no more of when no further block fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Warps: every place for one is taken, or the rest is too small for a block.
    Warps,
    /// Blocks.
    Blocks,
    /// Registers.
    Registers,
    /// Shared memory.
    SharedMemory,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::Warps => "warps",
            Limit::Blocks => "blocks",
            Limit::Registers => "registers",
            Limit::SharedMemory => "shared memory",
        })
    }
}

/// How many blocks are on a multiprocessor at once, and why no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Blocks.
    pub blocks: u64,
    /// Their warps.
    pub warps: u64,
    /// What limits them; of several limits the first in the order of [`Limit`].
    pub limit: Limit,
}

/// The occupancy of a launch; `None` if a block has no threads or does not fit at all, so that what is known of the launch or of the
/// GPU cannot be true.
pub fn occupancy(limits: &Limits, block: Block) -> Option<Occupancy> {
    let warps = block.threads.div_ceil(WARP);
    if warps == 0 {
        return None;
    }
    let of_warp = block.registers.checked_mul(WARP)?.checked_next_multiple_of(REGISTER_UNIT)?;
    let shared = block.shared_bytes.checked_add(limits.reserved_bytes)?;
    let shared = shared.checked_next_multiple_of(limits.shared_unit_bytes)?;
    let all = [
        (Some(limits.warps / warps), Limit::Warps),
        (Some(limits.blocks), Limit::Blocks),
        (
            (limits.registers / limits.parts).checked_div(of_warp).map(|n| n * limits.parts / warps),
            Limit::Registers,
        ),
        (limits.shared_bytes.checked_div(shared), Limit::SharedMemory),
    ];
    // The first of equal ones.
    let (blocks, limit) = all.into_iter().filter_map(|(blocks, limit)| Some((blocks?, limit))).min()?;
    (blocks > 0).then_some(Occupancy { blocks, warps: blocks * warps, limit })
}

/// How often a grid fills all multiprocessors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waves {
    /// Blocks of the grid.
    pub blocks: u64,
    /// Blocks that are on all multiprocessors at once.
    pub places: u64,
    /// Places of all waves, the last one included.
    pub all_places: u64,
}

impl Waves {
    /// Places that stay empty, all of them in the last wave.
    pub fn empty(&self) -> u64 {
        self.all_places - self.blocks
    }
}

/// The waves of a grid; `None` without blocks or places.
pub fn waves(grid_blocks: u64, blocks_per_multiprocessor: u64, multiprocessors: u64) -> Option<Waves> {
    let places = blocks_per_multiprocessor.checked_mul(multiprocessors).filter(|places| *places > 0)?;
    let all_places = grid_blocks.checked_next_multiple_of(places).filter(|all| *all > 0)?;
    Some(Waves { blocks: grid_blocks, places, all_places })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of((major, minor): (u32, u32), threads: u64, registers: u64, shared_bytes: u64) -> Option<(u64, Limit)> {
        let limits = Limits::of(major, minor).expect("a known one");
        occupancy(&limits, Block { threads, registers, shared_bytes }).map(|found| (found.blocks, found.limit))
    }

    #[test]
    fn what_runs_out_first_is_the_limit() {
        // From NVIDIA's spreadsheet and its function for the occupancy of a kernel.
        for (capability, threads, registers, shared_bytes, expected) in [
            ((8, 0), 256, 32, 0, (8, Limit::Warps)),
            ((8, 0), 256, 47, 0, (5, Limit::Registers)),
            ((8, 0), 32, 16, 0, (32, Limit::Blocks)),
            ((8, 0), 128, 32, 40_000, (4, Limit::SharedMemory)),
            ((9, 0), 384, 168, 231_424, (1, Limit::Registers)),
            ((8, 6), 1024, 32, 0, (1, Limit::Warps)),
            ((7, 5), 1024, 64, 0, (1, Limit::Warps)),
            // The same registers in two parts of the multiprocessor and in four.
            ((6, 0), 64, 40, 0, (25, Limit::Registers)),
            ((6, 1), 64, 40, 0, (24, Limit::Registers)),
            ((7, 0), 33, 20, 100, (32, Limit::Warps)),
        ] {
            assert_eq!(
                of(capability, threads, registers, shared_bytes),
                Some(expected),
                "{capability:?} {threads}"
            );
        }
        assert_eq!(of((8, 0), 1024, 255, 0), None);
        assert_eq!(of((8, 0), 0, 32, 0), None);
        assert_eq!(of((8, 0), u64::MAX, u64::MAX, u64::MAX), None);
        // Nothing but blocks limits a launch of which nothing else is needed.
        assert_eq!(of((7, 0), 1, 0, 0), Some((32, Limit::Blocks)));
        assert_eq!(Limits::of(4, 0), None);
    }

    #[test]
    fn the_last_wave_may_be_nearly_empty() {
        // 108 multiprocessors with 2 blocks each.
        for (grid_blocks, waves_of_216, empty) in [(216, 1, 0), (217, 2, 215), (54, 1, 162)] {
            let waves = waves(grid_blocks, 2, 108).expect("waves");
            assert_eq!((waves.places, waves.all_places, waves.empty()), (216, waves_of_216 * 216, empty));
        }
        assert_eq!(waves(0, 2, 108), None);
        assert_eq!(waves(5, 0, 108), None);
        assert_eq!(waves(u64::MAX, 2, 108), None);
    }
}
