//! Allocations of memory: how much, how long each lived, how often memory was released and taken again, and what the calls took.
//!
//! As in [`super::allocated`], what was allocated before the recording began is not known: releasing it counts as a release and
//! changes no sum. Memory pools are left out, for their records say how large the pool is and not who uses it.

use super::stats::{Stats, Wanted};
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use trace_format::schema::Row as _;
use trace_format::tables::column::any;
use trace_format::tables::{self, MemoryRow};
use trace_format::vocabulary::memory_operation;

/// Memory that did not live as long as this might as well have been kept: a pool hands out again in less, a call takes longer.
pub const SHORT_LIVED_NS: i64 = 1_000_000;

/// Where memory is: process, device and `CUpti_ActivityMemoryKind`.
pub type Place = (u32, u32, u32);

/// What was allocated in one place.
#[derive(Clone, Debug, Default)]
pub struct Allocations {
    /// How often memory was allocated.
    pub allocations: u64,
    /// How often memory was released, of which it is known when it was allocated.
    pub releases: u64,
    /// Releases of what was allocated before the recording began, or released already.
    pub unknown_releases: u64,
    /// Bytes of all allocations.
    pub bytes: u128,
    /// The most bytes that were allocated at once.
    pub peak_bytes: i64,
    /// When that was first so, in the time of the trace.
    pub peak_at_ns: i64,
    /// Bytes that were never released.
    pub left_bytes: i64,
    /// From each allocation to its release.
    pub lifetimes: Stats,
    /// Allocations that were released within [`SHORT_LIVED_NS`].
    pub short_lived: u64,
    /// Allocations of as many bytes as something had that was released before and not taken again since: a pool would have
    /// had them at hand.
    pub repeated: u64,
    /// What the API calls that allocate and release took, added up.
    pub calls_ns: u128,
    live: HashMap<u64, (i64, i64)>,
    /// How many blocks of a size lie released.
    released: HashMap<i64, u64>,
}

impl Allocations {
    fn take(&mut self, row: &MemoryRow) {
        let bytes = row.bytes.max(0);
        match row.operation {
            memory_operation::ALLOCATION => {
                self.allocations += 1;
                self.bytes += u128::from(bytes.unsigned_abs());
                if let Some(count) = self.released.get_mut(&bytes).filter(|count| **count > 0) {
                    *count -= 1;
                    self.repeated += 1;
                }
                // An address that is allocated again was released in between, and no record said so.
                let before = self.live.insert(row.address, (row.start_ns, bytes));
                let change = bytes.saturating_sub(before.map_or(0, |(_, bytes)| bytes));
                self.left_bytes = self.left_bytes.saturating_add(change);
                if self.left_bytes > self.peak_bytes {
                    (self.peak_bytes, self.peak_at_ns) = (self.left_bytes, row.start_ns);
                }
            }
            memory_operation::RELEASE => match self.live.remove(&row.address) {
                None => self.unknown_releases += 1,
                Some((start_ns, bytes)) => {
                    let lifetime_ns = row.start_ns.saturating_sub(start_ns);
                    self.releases += 1;
                    self.left_bytes = self.left_bytes.saturating_sub(bytes);
                    self.lifetimes.add(lifetime_ns, Wanted { quantiles: true });
                    self.short_lived += u64::from(lifetime_ns <= SHORT_LIVED_NS);
                    *self.released.entry(bytes).or_default() += 1;
                }
            },
            _ => {}
        }
    }
}

/// The allocations that `filter` selects, by place.
///
/// Memory: what is allocated at a time, sizes, lifetimes, and the correlation ids of all allocations.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn allocations(frames: &Frames, filter: &Filter) -> Result<BTreeMap<Place, Allocations>> {
    let mut all: BTreeMap<Place, Allocations> = BTreeMap::new();
    let mut calls: HashMap<(u32, u64), Place> = HashMap::new();
    frames.in_order(&[&tables::MEMORY], filter, |chunk| {
        for (piece, i) in chunk.iter() {
            let row = MemoryRow::from_batch(&piece.rows, i);
            let place = (piece.process, row.device, row.mem_kind);
            if matches!(row.operation, memory_operation::ALLOCATION | memory_operation::RELEASE) {
                all.entry(place).or_default().take(&row);
                if row.correlation != 0 {
                    calls.insert((piece.process, row.correlation), place);
                }
            }
        }
        Ok(())
    })?;
    for (place, ns) in call_times(frames, &calls)? {
        if let Some(allocations) = all.get_mut(&place) {
            allocations.calls_ns += ns;
        }
    }
    Ok(all)
}

/// What the calls took, by the place that each changed.
fn call_times(frames: &Frames, calls: &HashMap<(u32, u64), Place>) -> Result<HashMap<Place, u128>> {
    if calls.is_empty() {
        return Ok(HashMap::new());
    }
    frames.fold(
        &tables::API,
        &[any::CORRELATION, any::DURATION_NS],
        &Filter::everything(),
        HashMap::new,
        |sums: &mut HashMap<Place, u128>, batch| {
            let (correlation, duration) = (batch.get(any::CORRELATION), batch.get(any::DURATION_NS));
            batch.for_each_row(|i| {
                let (Some(correlation), Some(Ok(ns))) = (correlation.get(i), duration.get(i).map(u128::try_from))
                else {
                    return;
                };
                if let Some(place) = calls.get(&(batch.process, correlation)) {
                    *sums.entry(*place).or_default() += ns;
                }
            });
        },
        |all, other| other.into_iter().for_each(|(place, ns)| *all.entry(place).or_default() += ns),
    )
}
