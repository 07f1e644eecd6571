//! Quantities over time: how many kernels wait, how busy a GPU is, how fast copies are, how much memory is in use.

use super::field;
use super::levels::{BIN_FACTOR, BINS_PER_TILE, Scale};
use super::model::{Model, StoreKind};
use super::rows::{Packed, Quantity, Row};
use super::varint::Writer;
use crate::analysis::allocated::{self, Allocated, Device};
use crate::error::Result;
use crate::lines::page::{COPIES, KERNELS};
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use trace_format::tables;
use trace_format::tables::column::memory;
use trace_format::vocabulary::memory_operation;

/// Copies are so many fractions of a byte per ns fast: a slow one is less than one byte per ns.
const FRACTIONS: i64 = 1 << 20;

/// A quantity that changes by steps.
pub(super) struct Steps {
    /// When and by how much.
    pub changes: Vec<(u64, i64)>,
    /// What a change of one unit is.
    pub one: i64,
}

/// What a counter was during one bin. Where it was 0 all the time there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bin {
    index: u64,
    /// Value times ns.
    area: i128,
    /// For how long it was not 0.
    covered_ns: u64,
    /// The least and the largest value while it was not 0.
    min: i128,
    max: i128,
}

impl Bin {
    /// What two parts of bin `index` were together.
    fn join(self, other: Bin, index: u64) -> Bin {
        Bin {
            index,
            area: self.area + other.area,
            covered_ns: self.covered_ns + other.covered_ns,
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// A bin as tiles have it: values in thousandths.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    index: u64,
    mean: i64,
    min: i64,
    max: i64,
}

impl Steps {
    /// The bins of the finest level in which the counter is not 0 all the time.
    fn bins(&mut self, scale: Scale) -> Vec<Bin> {
        self.changes.sort_unstable();
        let mut bins: Vec<Bin> = Vec::new();
        let (mut value, mut since) = (0_i128, 0_u64);
        let end = [(scale.duration_ns, 0)];
        for &(at, change) in self.changes.iter().chain(&end) {
            let until = at.min(scale.duration_ns);
            while value != 0 && since < until {
                let index = since / scale.base_bin_ns;
                let to = until.min((index + 1).saturating_mul(scale.base_bin_ns));
                let area = value * i128::from(to - since);
                let part = Bin { index, area, covered_ns: to - since, min: value, max: value };
                match bins.last_mut().filter(|last| last.index == index) {
                    Some(last) => *last = last.join(part, index),
                    None => bins.push(part),
                }
                since = to;
            }
            since = since.max(until);
            value += i128::from(change);
        }
        bins
    }

    /// Fills a row with the tiles of all levels.
    pub(super) fn fill(mut self, row: &mut Row, scale: Scale) {
        let mut bins = self.bins(scale);
        row.levels = scale.levels;
        row.max_thousandths = self.thousandths(bins.iter().map(|bin| bin.max).max().unwrap_or(0), 1);
        for level in 1..=scale.levels {
            let shown: Vec<Shown> = bins.iter().map(|bin| self.shown(bin, level, scale)).collect();
            row.tiles.push(tiles(&shown));
            bins = coarser(&bins);
        }
    }

    /// A bin of this level, which may reach beyond the end.
    fn shown(&self, bin: &Bin, level: u32, scale: Scale) -> Shown {
        let width = scale.bin_ns(level);
        let begin = bin.index.saturating_mul(width);
        let known = (begin.saturating_add(width)).min(scale.duration_ns).saturating_sub(begin).max(1);
        // For the rest of the time it was 0.
        let is_zero_at_times = bin.covered_ns < known;
        let (least, most) = if is_zero_at_times { (bin.min.min(0), bin.max.max(0)) } else { (bin.min, bin.max) };
        Shown {
            index: bin.index,
            mean: self.thousandths(bin.area, known),
            min: self.thousandths(least, 1),
            max: self.thousandths(most, 1),
        }
    }

    fn thousandths(&self, sum: i128, of: u64) -> i64 {
        let value = sum * 1000 / (i128::from(of) * i128::from(self.one));
        i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
    }
}

fn coarser(bins: &[Bin]) -> Vec<Bin> {
    let groups = bins.chunk_by(|a, b| a.index / BIN_FACTOR == b.index / BIN_FACTOR);
    let joined = groups.filter_map(|group| {
        let index = group.first()?.index / BIN_FACTOR;
        group.iter().copied().reduce(|all, one| all.join(one, index)).map(|bin| Bin { index, ..bin })
    });
    joined.collect()
}

/// Count, indices, means, and then how far above and below its mean the counter was.
fn tiles(bins: &[Shown]) -> Vec<(u64, Packed)> {
    let of_tile = bins.chunk_by(|a, b| a.index / BINS_PER_TILE == b.index / BINS_PER_TILE);
    let encode = |bins: &[Shown]| {
        let mut out = Writer::default();
        out.put(bins.len() as u64);
        out.deltas(bins.iter().map(|bin| bin.index % BINS_PER_TILE));
        bins.iter().for_each(|bin| out.signed(bin.mean));
        bins.iter().for_each(|bin| out.put(bin.max.saturating_sub(bin.mean).max(0) as u64));
        bins.iter().for_each(|bin| out.put(bin.mean.saturating_sub(bin.min).max(0) as u64));
        (bins[0].index / BINS_PER_TILE, Packed::new(out.into_bytes()))
    };
    of_tile.map(encode).collect()
}

/// Fills the counter rows.
pub(super) fn fill(
    rows: &mut [Row],
    devices: &BTreeMap<Device, usize>,
    model: &Model,
    memory: &mut Memory,
    scale: Scale,
) {
    let device_of: HashMap<usize, Device> = devices.iter().map(|(device, row)| (*row, *device)).collect();
    // One at a time: the steps of one are as many as its records.
    for row in rows {
        let (Some(quantity), Some(&device)) = (row.counter, row.parent.and_then(|parent| device_of.get(&parent)))
        else {
            continue;
        };
        let steps = match quantity {
            Quantity::Busy => busy(model, device),
            Quantity::Queue => queue(model, device),
            Quantity::Copies => copies(model, device),
            Quantity::Memory => memory.steps(device, model.start_ns),
            Quantity::Sample { .. } => continue,
        };
        steps.fill(row, scale);
    }
}

/// Calls `each` with every record of GPU work of a device: its number, begin and end.
fn each_of(model: &Model, (process, device): Device, mut each: impl FnMut(usize, u64, u64)) {
    let gpu = model.store(StoreKind::Gpu);
    let devices = gpu.field(field::DEVICE);
    for i in 0..gpu.len() {
        if devices.id(i, 0) == device && gpu.process.id(i, 0) == process {
            let (start, end) = gpu.span(i);
            each(i, start, end);
        }
    }
}

fn busy(model: &Model, device: Device) -> Steps {
    let mut changes: Vec<(u64, i64)> = Vec::new();
    let mut covered = (0, 0);
    let mut close = |(start, end): (u64, u64)| {
        if end > start {
            changes.extend([(start, 100), (end, -100)]);
        }
    };
    each_of(model, device, |_, start, end| {
        if start > covered.1 {
            close(covered);
            covered = (start, end);
        } else {
            covered.1 = covered.1.max(end);
        }
    });
    close(covered);
    Steps { changes, one: 1 }
}

fn queue(model: &Model, device: Device) -> Steps {
    let (gpu, api) = (model.store(StoreKind::Gpu), model.store(StoreKind::Api));
    let (table, launch) = (gpu.field(field::TABLE), gpu.field(field::LAUNCH));
    let mut changes = Vec::new();
    each_of(model, device, |i, start, end| {
        if table.get(i) == Some(KERNELS) {
            // From the call that launched it; what nobody is known to have launched waited for nothing.
            let launched = launch.get(i).and_then(|call| api.start_ns.get(call as usize).copied());
            changes.extend([(launched.unwrap_or(start).min(start), 1), (end, -1)]);
        }
    });
    Steps { changes, one: 1 }
}

fn copies(model: &Model, device: Device) -> Steps {
    let gpu = model.store(StoreKind::Gpu);
    let (table, bytes) = (gpu.field(field::TABLE), gpu.field(field::BYTES));
    let mut changes = Vec::new();
    each_of(model, device, |i, start, end| {
        if let (Some(COPIES), Some(bytes)) = (table.get(i), bytes.get(i)) {
            let ns = (end - start).max(1);
            let rate = u128::from(bytes) * FRACTIONS as u128 / u128::from(ns);
            let rate = i64::try_from(rate).unwrap_or(i64::MAX);
            changes.extend([(start, rate), (start + ns, -rate)]);
        }
    });
    // Bytes per ns are gigabytes per second.
    Steps { changes, one: FRACTIONS }
}

/// One allocation or release: time, address, whether it is a release, bytes.
type Operation = (i64, u64, bool, i64);

/// Allocations and releases by device.
#[derive(Default)]
pub(super) struct Memory(BTreeMap<Device, Vec<Operation>>);

impl Memory {
    /// Reads table `memory`.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub(super) fn read(frames: &Frames, filter: &Filter) -> Result<Memory> {
        frames.fold(
            &tables::MEMORY,
            &[
                memory::START_NS,
                memory::OPERATION,
                memory::MEM_KIND,
                memory::ADDRESS,
                memory::BYTES,
                memory::DEVICE,
            ],
            filter,
            Memory::default,
            |memory, batch| {
                let (start, bytes) = (batch.get(memory::START_NS), batch.get(memory::BYTES));
                let (operation, kind) = (batch.get(memory::OPERATION), batch.get(memory::MEM_KIND));
                let (address, device) = (batch.get(memory::ADDRESS), batch.get(memory::DEVICE));
                batch.for_each_row(|i| {
                    let on_device = kind.get(i).is_some_and(allocated::is_on_device);
                    let release = match operation.get(i) {
                        Some(memory_operation::ALLOCATION) => false,
                        Some(memory_operation::RELEASE) => true,
                        _ => return,
                    };
                    if let (true, Some(start)) = (on_device, start.get(i)) {
                        let of_device = memory.0.entry((batch.process, device.get(i).unwrap_or(0))).or_default();
                        let start = start.saturating_add(batch.offset_ns);
                        of_device.push((start, address.get(i).unwrap_or(0), release, bytes.get(i).unwrap_or(0)));
                    }
                });
            },
            |memory, other| {
                for (device, mut operations) in other.0 {
                    memory.0.entry(device).or_default().append(&mut operations);
                }
            },
        )
    }

    /// Whether anything is known of a device.
    pub(super) fn knows(&self, device: Device) -> bool {
        self.0.contains_key(&device)
    }

    /// Allocated minus released bytes. What was allocated before the recording began is not known.
    fn steps(&mut self, device: Device, begin_ns: i64) -> Steps {
        let mut operations = self.0.remove(&device).unwrap_or_default();
        operations.sort_unstable();
        let mut allocated = Allocated::default();
        let mut changes = Vec::with_capacity(operations.len());
        for (start, address, is_release, bytes) in operations {
            let operation = if is_release { memory_operation::RELEASE } else { memory_operation::ALLOCATION };
            let Some((change, _)) = allocated.take(device, operation, address, bytes) else { continue };
            // What was allocated before the first record is there from the start.
            let at = u64::try_from(start.saturating_sub(begin_ns)).unwrap_or(0);
            changes.push((at, change));
        }
        Steps { changes, one: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_has_the_mean_of_its_time_and_the_extremes() {
        let scale = Scale { duration_ns: 25, base_bin_ns: 10, levels: 2 };
        let mut steps = Steps { changes: vec![(5, 2), (12, -2), (20, 4), (25, -4)], one: 1 };
        let bins = steps.bins(scale);
        let bin = |index, area, covered_ns, min, max| Bin { index, area, covered_ns, min, max };
        assert_eq!(bins, [bin(0, 10, 5, 2, 2), bin(1, 4, 2, 2, 2), bin(2, 20, 5, 4, 4)]);
        let shown: Vec<_> = bins.iter().map(|bin| steps.shown(bin, 1, scale)).collect();
        let of = |index, mean, min, max| Shown { index, mean, min, max };
        assert_eq!(
            shown,
            [of(0, 1000, 0, 2000), of(1, 400, 0, 2000), of(2, 4000, 4000, 4000)],
            "the last bin has 5 ns"
        );
        assert_eq!(coarser(&bins), [bin(0, 34, 12, 2, 4)]);
        assert_eq!(steps.shown(&bin(0, 34, 12, 2, 4), 2, scale), of(0, 1360, 0, 4000));
    }

    #[test]
    fn a_short_peak_is_not_lost_in_the_mean_of_its_bin() {
        let scale = Scale { duration_ns: 1_000_000, base_bin_ns: 1000, levels: 6 };
        let steps = Steps { changes: vec![(0, 1), (500_100, 1 << 35), (500_110, -(1 << 35))], one: 1 };
        let mut row = Row::heading(super::super::rows::RowKind::Counter, None, "memory".to_owned());
        steps.fill(&mut row, scale);
        assert_eq!(row.max_thousandths, ((1 << 35) + 1) * 1000);
    }
}
