//! Which call launched which GPU work, and where GPUs had nothing to do.

use super::Timeline;
use super::column::Column;
use super::field;
use super::model::{Model, Shown, StoreKind};
use super::rows::RowKind;
use super::tree::Tree;
use crate::lines::page::KERNELS;
use crate::trace::frames::Frames;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// How many gaps and kernels a page lists.
const LISTED: usize = 100;

impl Model {
    /// Joins GPU work and calls by process and correlation: fields `launch` of GPU work (a call), `gpu` (the first
    /// record) and `gpu_count` of calls.
    pub(super) fn link(&mut self) {
        let (gpu, api) = (self.store(StoreKind::Gpu), self.store(StoreKind::Api));
        let correlation = api.field(field::CORRELATION);
        // Of several calls with one id the first is the one the program made; the others were made by it.
        let known = |i: &u32| correlation.get(*i as usize).is_some_and(|c| c != 0);
        let mut calls: Vec<(u32, u64, u32)> = (0..api.len() as u32)
            .filter(known)
            .map(|i| (api.process.id(i as usize, 0), correlation.get(i as usize).unwrap_or(0), i))
            .collect();
        calls.par_sort_unstable();
        calls.dedup_by_key(|(process, correlation, _)| (*process, *correlation));
        let correlation = gpu.field(field::CORRELATION);
        let launch = (0..gpu.len()).map(|i| {
            let wanted = (gpu.process.id(i, 0), correlation.get(i).filter(|&c| c != 0)?);
            let at =
                calls.binary_search_by_key(&wanted, |(process, correlation, _)| (*process, *correlation)).ok()?;
            Some(u64::from(calls[at].2))
        });
        let launch: Column = launch.collect();
        drop(calls);
        let nothing: Column = (0..api.len()).map(|_| None).collect();
        let (mut first, mut count) = (nothing.clone(), nothing);
        for i in 0..gpu.len() {
            if let Some(call) = launch.get(i) {
                let call = call as usize;
                if first.get(call).is_none() {
                    first.set(call, Some(i as u64));
                }
                count.set(call, Some(count.get(call).unwrap_or(0) + 1));
            }
        }
        self.store_mut(StoreKind::Gpu).add_field(field::LAUNCH, Shown::Never, launch);
        let api = self.store_mut(StoreKind::Api);
        api.add_field(field::GPU, Shown::Never, first);
        api.add_field(field::GPU_COUNT, Shown::Always, count);
    }
}

/// A stretch of time in which a device had nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The device's row.
    pub row: usize,
    /// When the work before it ended.
    pub start_ns: u64,
    /// Until the next began.
    pub duration_ns: u64,
}

/// Duration, start and row of a gap: the longer is the larger, of equal ones the earlier.
type LongFirst = (u64, Reverse<u64>, Reverse<usize>);

/// The longest gaps between any two pieces of work of a device, whichever process they belong to.
pub(super) fn gaps(model: &Model, tree: &Tree, frames: &Frames) -> Vec<Gap> {
    let gpu = model.store(StoreKind::Gpu);
    let devices = gpu.field(field::DEVICE);
    // One GPU may be known under several numbers.
    let mut identities: BTreeMap<(u32, u32), (u32, u32)> = BTreeMap::new();
    let mut rows: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for (&(process, device), &row) in &tree.devices {
        let identity = frames.device_identity(process, device);
        identities.insert((process, device), identity);
        rows.entry(identity).or_insert(row);
    }
    let mut ends: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    let mut longest: BinaryHeap<Reverse<LongFirst>> = BinaryHeap::new();
    for i in 0..gpu.len() {
        let Some(&identity) = identities.get(&(gpu.process.id(i, 0), devices.id(i, 0))) else { continue };
        let (start, end) = gpu.span(i);
        let until = ends.entry(identity).or_insert(start);
        if start > *until {
            let row = rows.get(&identity).copied().unwrap_or(0);
            longest.push(Reverse((start - *until, Reverse(*until), Reverse(row))));
            if longest.len() > LISTED {
                longest.pop();
            }
        }
        *until = end.max(*until);
    }
    let sorted = longest.into_sorted_vec();
    sorted
        .into_iter()
        .map(|Reverse((duration_ns, Reverse(start_ns), Reverse(row)))| Gap { row, start_ns, duration_ns })
        .collect()
}

/// The longest kernels: their rows and places in them.
pub(super) fn longest_kernels(model: &Model, tree: &Tree) -> Vec<(usize, u64)> {
    let gpu = model.store(StoreKind::Gpu);
    let table = gpu.field(field::TABLE);
    let mut longest: BinaryHeap<Reverse<(u64, Reverse<u32>)>> = BinaryHeap::new();
    for i in (0..gpu.len()).filter(|&i| table.get(i) == Some(KERNELS)) {
        longest.push(Reverse((gpu.duration_ns.get(i).unwrap_or(0), Reverse(i as u32))));
        if longest.len() > LISTED {
            longest.pop();
        }
    }
    let compute: Vec<usize> = (0..tree.rows.len()).filter(|&row| tree.rows[row].kind == RowKind::Compute).collect();
    let place = |record: u32| compute.iter().find_map(|&row| Some((row, tree.rows[row].position(record)?)));
    longest.into_sorted_vec().into_iter().filter_map(|Reverse((_, Reverse(record)))| place(record)).collect()
}

/// How many names of kernels have a colour of their own: of those that took longest together, and of the longest single ones.
const OWN_COLOURS: usize = 10;

/// Names of the kernels that took longest, all of a name together, and then of the longest single ones, each once.
pub(super) fn longest_names(timeline: &Timeline) -> Vec<u32> {
    let gpu = timeline.model.store(StoreKind::Gpu);
    let table = gpu.field(field::TABLE);
    let mut totals: BTreeMap<u32, u64> = BTreeMap::new();
    for i in (0..gpu.len()).filter(|&i| table.get(i) == Some(KERNELS)) {
        *totals.entry(gpu.name.id(i, 0)).or_default() += gpu.duration_ns.get(i).unwrap_or(0);
    }
    let mut totals: Vec<(u32, u64)> = totals.into_iter().collect();
    totals.sort_by_key(|&(_, total_ns)| Reverse(total_ns));
    let mut names: Vec<u32> = totals.into_iter().take(OWN_COLOURS).map(|(name, _)| name).collect();
    let name_of =
        |&(row, place): &(usize, u64)| gpu.name.id(timeline.rows[row].members[place as usize] as usize, 0);
    let mut longest: Vec<u32> = Vec::new();
    for name in timeline.longest.iter().map(name_of) {
        if longest.len() < OWN_COLOURS && !longest.contains(&name) {
            longest.push(name);
        }
    }
    longest.retain(|name| !names.contains(name));
    names.append(&mut longest);
    names
}
