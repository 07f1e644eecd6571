//! Sums of each rank that need no common time: its kernels by name, and the most memory that it had allocated.

use super::align::median;
use crate::analysis::allocated::{self, Allocated};
use crate::analysis::grouping::{self, ByName, Grouping};
use crate::analysis::labels::Labels;
use crate::analysis::stats::Wanted;
use crate::analysis::totals::Split;
use crate::analysis::work_class::is_communication;
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use std::collections::BTreeMap;
use trace_format::tables;
use trace_format::tables::column::memory;

/// Time and number of what has a name.
pub type Names = BTreeMap<String, (i64, u64)>;

/// Kernels, copies and fills of each rank by name without namespaces and arguments, those of communication apart.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn work_by_name(
    labels: &Labels,
    filter: &Filter,
    ranks: usize,
    rank_of: impl Fn(u32, u32) -> Option<usize>,
) -> Result<Vec<Names>> {
    let split = Split { process: true, device: true, ..Split::default() };
    let grouping = Grouping { name: ByName::BaseName, split };
    let mut sums = vec![Names::new(); ranks];
    for (place, summary) in grouping::gpu_by_place(labels, grouping, Wanted::default(), filter)?.0 {
        let Some(names) = rank_of(place.process, place.device).and_then(|rank| sums.get_mut(rank)) else {
            continue;
        };
        for row in summary.rows.into_iter().filter(|row| !is_communication(&row.name)) {
            let sum = names.entry(row.name).or_default();
            let ns = i64::try_from(row.stats.total_ns).unwrap_or(i64::MAX);
            *sum = (sum.0.saturating_add(ns), sum.1 + row.stats.count);
        }
    }
    Ok(sums)
}

/// Work that takes one rank longer than the others.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowWork {
    /// Its name.
    pub name: String,
    /// How much longer than on the middle rank, in all.
    pub more_ns: i64,
    /// How long on this rank and on the middle one, in all.
    pub total_ns: [i64; 2],
    /// How often on this rank and on the middle one.
    pub count: [u64; 2],
}

/// What takes a rank longest beyond what it takes the middle one of the others.
pub fn slowest_work(sums: &[Names], rank: usize) -> Option<SlowWork> {
    let others = || sums.iter().enumerate().filter(move |(other, _)| *other != rank).map(|(_, names)| names);
    let middle = |name: &str, of: fn(&(i64, u64)) -> i64| {
        median(&mut others().map(|names| names.get(name).map_or(0, of)).collect::<Vec<i64>>()).unwrap_or(0)
    };
    let work = |(name, own): (&String, &(i64, u64))| {
        let total_ns = middle(name, |sum| sum.0);
        let count = middle(name, |sum| sum.1 as i64).max(0) as u64;
        SlowWork {
            name: name.clone(),
            more_ns: own.0.saturating_sub(total_ns),
            total_ns: [own.0, total_ns],
            count: [own.1, count],
        }
    };
    let all = sums.get(rank)?.iter().map(work);
    all.max_by(|a, b| a.more_ns.cmp(&b.more_ns).then_with(|| b.name.cmp(&a.name))).filter(|work| work.more_ns > 0)
}

/// The most bytes that each rank had allocated on its GPUs at a time, as far as allocations were recorded; `None`: they were not.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn peak_bytes(
    frames: &Frames,
    filter: &Filter,
    ranks: usize,
    rank_of: impl Fn(u32, u32) -> Option<usize>,
) -> Result<Vec<Option<i64>>> {
    type Row = (u32, i64, u64, u32, u32, i64);
    let mut rows: Vec<Row> = frames.fold(
        &tables::MEMORY,
        &[memory::START_NS, memory::OPERATION, memory::MEM_KIND, memory::ADDRESS, memory::BYTES, memory::DEVICE],
        filter,
        Vec::new,
        |rows: &mut Vec<Row>, batch| {
            let (start, bytes) = (batch.get(memory::START_NS), batch.get(memory::BYTES));
            let (operation, kind) = (batch.get(memory::OPERATION), batch.get(memory::MEM_KIND));
            let (address, device) = (batch.get(memory::ADDRESS), batch.get(memory::DEVICE));
            batch.for_each_row(|i| {
                if let (Some(start), true) = (start.get(i), kind.get(i).is_some_and(allocated::is_on_device)) {
                    rows.push((
                        batch.process,
                        start,
                        address.get(i).unwrap_or(0),
                        operation.get(i).unwrap_or(0),
                        device.get(i).unwrap_or(0),
                        bytes.get(i).unwrap_or(0),
                    ));
                }
            });
        },
        |a, mut b| a.append(&mut b),
    )?;
    rows.sort_unstable();
    let mut all = Allocated::default();
    let mut peaks: Vec<Option<i64>> = vec![None; ranks];
    let mut now: Vec<i64> = vec![0; ranks];
    for (process, _, address, operation, device, bytes) in rows {
        let Some(rank) = rank_of(process, device).filter(|rank| *rank < ranks) else { continue };
        let peak = peaks[rank].get_or_insert(0);
        if let Some((change, _)) = all.take((process, device), operation, address, bytes) {
            now[rank] = now[rank].saturating_add(change);
            *peak = now[rank].max(*peak);
        }
    }
    Ok(peaks)
}
