//! Passes over one process after another, several of them at once: what needs the order of time within a process, and no order
//! between processes, need not wait for the others.

use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use trace_format::schema::TableSpec;

/// The selected processes that have rows of some tables.
pub fn processes_with(frames: &Frames, tables: &[&TableSpec], filter: &Filter) -> BTreeSet<u32> {
    let of_table = tables.iter().flat_map(|table| frames.processes_with_rows(table));
    of_table.filter(|process| filter.takes_process(*process)).collect()
}

/// Some processes, those together that know a device in common: one GPU has one UUID ([`Frames::device_identity`]).
pub fn sharing_devices(frames: &Frames, processes: BTreeSet<u32>) -> Vec<BTreeSet<u32>> {
    // The process that each one is found with, which may be found with another one.
    let mut with: BTreeMap<u32, u32> = BTreeMap::new();
    fn root(with: &BTreeMap<u32, u32>, mut process: u32) -> u32 {
        while let Some(&other) = with.get(&process).filter(|other| **other != process) {
            process = other;
        }
        process
    }
    for (process, device) in &frames.devices {
        let (first, _) = frames.device_identity(*process, device.device);
        let (a, b) = (root(&with, *process), root(&with, first));
        with.insert(a.max(b), a.min(b));
    }
    let mut groups: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for process in processes {
        groups.entry(root(&with, process)).or_default().insert(process);
    }
    groups.into_values().collect()
}

/// Calls `pass` for each process, several at once. Gives what the passes gave, in order of processes.
///
/// # Errors
/// As of [`several_at_once`].
pub fn each_process<T: Send>(processes: &BTreeSet<u32>, pass: impl Fn(u32) -> Result<T> + Sync) -> Result<Vec<T>> {
    several_at_once(processes.iter().copied().collect(), pass)
}

/// Calls `pass` with each of `parts`, on as many threads as Rayon has. Gives what the passes gave, in the order of the parts.
///
/// # Errors
/// Fails with the error of the first pass that failed; those that have not begun by then do not begin.
pub fn several_at_once<P: Send, T: Send>(parts: Vec<P>, pass: impl Fn(P) -> Result<T> + Sync) -> Result<Vec<T>> {
    let count = parts.len();
    let parts = Mutex::new(parts.into_iter().map(Some).collect::<Vec<_>>());
    let done: Mutex<Vec<(usize, Result<T>)>> = Mutex::new(Vec::with_capacity(count));
    on_threads(count, &|at| {
        let part = parts.lock().unwrap_or_else(|e| e.into_inner())[at].take();
        let Some(result) = part.map(&pass) else { return true };
        let is_well = result.is_ok();
        done.lock().unwrap_or_else(|e| e.into_inner()).push((at, result));
        is_well
    });
    let mut done = done.into_inner().unwrap_or_else(|e| e.into_inner());
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Calls `pass` with each number below `count`, until it returns false. Compiled once, and not for every kind of pass.
///
/// The threads are none of Rayon's: one of those that waits for a piece of its pass would begin the next pass, and in that
/// one more, which a thousand processes would make a deep stack.
fn on_threads(count: usize, pass: &(dyn Fn(usize) -> bool + Sync)) {
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return;
            }
            if !pass(at) {
                // Nobody takes what is left.
                next.store(count, Ordering::Relaxed);
            }
        }
    };
    match rayon::current_num_threads().clamp(1, count.max(1)) {
        1 => work(),
        threads => thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use trace_format::tables::DeviceRow;

    #[test]
    fn processes_that_know_a_gpu_in_common_come_together() {
        let row = |(device, (process, uuid)): (u32, (u32, Option<u8>))| {
            (process, DeviceRow { device, uuid: uuid.map(|byte| vec![byte; 16]), ..DeviceRow::default() })
        };
        // 3 and 1 share one with 0 and 4, which know none in common; 2 and 5 do not say what they have.
        let devices = [(0, Some(1)), (1, Some(2)), (1, Some(1)), (2, None), (3, Some(2)), (4, Some(2)), (5, None)];
        let mut frames = Frames::default();
        frames.devices = (0..).zip(devices).map(row).collect();
        let groups = sharing_devices(&frames, BTreeSet::from([0, 2, 3, 4, 5, 9]));
        assert_eq!(groups, [[0, 3, 4].into(), [2].into(), [5].into(), BTreeSet::from([9])]);
    }

    #[test]
    fn every_process_is_passed_once_and_a_failure_is_told() {
        for count in [0, 1, 2, 500] {
            let processes: BTreeSet<u32> = (0..count).map(|at| at * 3).collect();
            let found = each_process(&processes, |process| Ok(process + 1)).expect("no pass fails");
            assert_eq!(found, processes.iter().map(|process| process + 1).collect::<Vec<u32>>());
        }
        let processes: BTreeSet<u32> = (0..500).collect();
        let failed = each_process(&processes, |process| match process {
            7 => Err(Error::new("process 7")),
            _ => Ok(()),
        });
        assert_eq!(failed.expect_err("a pass fails").to_string(), "process 7");
    }
}
