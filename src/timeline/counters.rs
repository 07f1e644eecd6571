//! Quantities over time: how many kernels wait, how busy a GPU is, how fast copies are, how much memory is in use.

use super::levels::{BIN_FACTOR, BINS_PER_TILE, Scale};
use super::model::{Kept, Model};
use super::rows::{Packed, Quantity, Row};
use super::tree::{COPIES, KERNELS};
use super::varint::Writer;
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use trace_format::tables;

/// Copies are so many fractions of a byte per ns fast: a slow one is less than one byte per ns.
const FRACTIONS: i64 = 1 << 20;

/// A device of a process.
type Device = (u32, u32);

/// A quantity that changes by steps.
pub(super) struct Steps {
    /// When and by how much.
    pub changes: Vec<(u64, i64)>,
    /// What a change of one unit is.
    pub one: i64,
}

/// The part of a bin's area that is known: which bin, and value times ns.
type Area = (u64, i128);

impl Steps {
    /// Value times ns in every bin of the finest level; bins in which it is 0 all the time are left out.
    fn areas(&mut self, scale: Scale) -> Vec<Area> {
        self.changes.sort_unstable();
        let mut areas: Vec<Area> = Vec::new();
        let (mut value, mut since) = (0_i128, 0_u64);
        let end = [(scale.duration_ns, 0)];
        for &(at, change) in self.changes.iter().chain(&end) {
            let until = at.min(scale.duration_ns);
            while value != 0 && since < until {
                let index = since / scale.base_bin_ns;
                let to = until.min((index + 1).saturating_mul(scale.base_bin_ns));
                let area = value * i128::from(to - since);
                match areas.last_mut().filter(|(last, _)| *last == index) {
                    Some((_, sum)) => *sum += area,
                    None => areas.push((index, area)),
                }
                since = to;
            }
            since = since.max(until);
            value += i128::from(change);
        }
        areas
    }

    /// Fills a row with the tiles of all levels.
    pub(super) fn fill(mut self, row: &mut Row, scale: Scale) {
        let mut areas = self.areas(scale);
        row.levels = scale.levels;
        for level in 1..=scale.levels {
            let values: Vec<(u64, i64)> = areas.iter().map(|area| self.mean(area, level, scale)).collect();
            if level == 1 {
                row.max_thousandths = values.iter().map(|(_, value)| *value).max().unwrap_or(0);
            }
            row.tiles.push(tiles(&values));
            areas = coarser(&areas);
        }
    }

    /// Thousandths of the mean over the bin, which may reach beyond the end.
    fn mean(&self, (index, area): &Area, level: u32, scale: Scale) -> (u64, i64) {
        let width = scale.bin_ns(level);
        let begin = index.saturating_mul(width);
        let known = (begin.saturating_add(width)).min(scale.duration_ns).saturating_sub(begin).max(1);
        let mean = area * 1000 / (i128::from(known) * i128::from(self.one));
        (*index, i64::try_from(mean).unwrap_or(i64::MAX))
    }
}

fn coarser(areas: &[Area]) -> Vec<Area> {
    let groups = areas.chunk_by(|a, b| a.0 / BIN_FACTOR == b.0 / BIN_FACTOR);
    groups.map(|group| (group[0].0 / BIN_FACTOR, group.iter().map(|(_, area)| area).sum())).collect()
}

fn tiles(values: &[(u64, i64)]) -> Vec<(u64, Packed)> {
    let of_tile = values.chunk_by(|a, b| a.0 / BINS_PER_TILE == b.0 / BINS_PER_TILE);
    let encode = |values: &[(u64, i64)]| {
        let mut out = Writer::default();
        out.put(values.len() as u64);
        out.deltas(values.iter().map(|(index, _)| index % BINS_PER_TILE));
        values.iter().for_each(|(_, value)| out.signed(*value));
        (values[0].0 / BINS_PER_TILE, Packed::new(out.into_bytes()))
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
    let gpu = model.store(Kept::Gpu);
    let devices = gpu.field("device");
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
    let (gpu, api) = (model.store(Kept::Gpu), model.store(Kept::Api));
    let (table, launch) = (gpu.field("table"), gpu.field("launch"));
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
    let gpu = model.store(Kept::Gpu);
    let (table, bytes) = (gpu.field("table"), gpu.field("bytes"));
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
    /// A part of a file that cannot be read.
    pub(super) fn read(frames: &Frames, filter: &Filter) -> Result<Memory> {
        frames.fold(
            &tables::MEMORY,
            &["start_ns", "operation", "mem_kind", "address", "bytes", "device"],
            filter,
            Memory::default,
            |memory, batch| {
                let (start, bytes) = (batch.i64("start_ns"), batch.i64("bytes"));
                let (operation, kind) = (batch.u32("operation"), batch.u32("mem_kind"));
                let (address, device) = (batch.u64("address"), batch.u32("device"));
                batch.for_each_row(|i| {
                    // Device memory, managed memory included; pinned memory is the host's.
                    let on_device = matches!(kind.get(i), Some(3..=7));
                    let release = match operation.get(i) {
                        Some(1) => false,
                        Some(2) => true,
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
        let mut live: HashMap<u64, i64> = HashMap::new();
        let mut changes = Vec::with_capacity(operations.len());
        for (start, address, release, bytes) in operations {
            let change = if release {
                live.remove(&address).map_or(0, |allocated| -allocated)
            } else {
                let bytes = bytes.max(0);
                bytes - live.insert(address, bytes).unwrap_or(0)
            };
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
    fn a_bin_has_the_mean_of_its_time() {
        let scale = Scale { duration_ns: 25, base_bin_ns: 10, levels: 2 };
        let mut steps = Steps { changes: vec![(5, 2), (12, -2), (20, 4), (25, -4)], one: 1 };
        let areas = steps.areas(scale);
        assert_eq!(areas, [(0, 10), (1, 4), (2, 20)]);
        let means: Vec<_> = areas.iter().map(|area| steps.mean(area, 1, scale)).collect();
        assert_eq!(means, [(0, 1000), (1, 400), (2, 4000)], "the last bin has 5 ns");
        assert_eq!(coarser(&areas), [(0, 34)]);
        assert_eq!(steps.mean(&(0, 34), 2, scale), (0, 1360));
    }
}
