//! Which ranks a run has, and where their numbers come from: the traces say them (native traces, PyTorch's `distributedInfo`),
//! or the names of the files do, or, if nothing does, GPUs are counted in the order of files and processes.

use super::calls::KernelCalls;
use crate::numbers::items;
use crate::trace::frames::Frames;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// One rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Its number.
    pub number: u32,
    /// Ordinal of its process.
    pub process: u32,
    /// Its GPU, as the process counts them, where every GPU is a rank; `None`: all GPUs of the process.
    pub device: Option<u32>,
    /// Which clock its times are of, counted from 0: processes of one foreign file share one.
    pub clock: usize,
}

/// Where numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NumberedBy {
    /// The traces say them.
    Trace,
    /// Some stand in names of files or folders alone.
    FileName,
    /// Nothing says them: GPUs in the order of files and processes.
    Order,
}

impl NumberedBy {
    /// As programs read it.
    pub fn word(self) -> &'static str {
        match self {
            NumberedBy::Trace => "trace",
            NumberedBy::FileName => "file name",
            NumberedBy::Order => "order",
        }
    }
}

/// The ranks of a run.
#[derive(Clone, Debug)]
pub struct Who {
    /// By number.
    pub ranks: Vec<Rank>,
    /// Where the numbers come from.
    pub numbered_by: NumberedBy,
    /// How many ranks the program had, if the traces say so.
    pub world_size: Option<u32>,
    /// Numbers that no trace has.
    pub missing: Vec<u32>,
    /// Numbers that several processes claim, and where their traces are.
    pub twice: BTreeMap<u32, Vec<String>>,
    /// What was left out, in sentences.
    pub notes: Vec<String>,
}

/// More ranks than any program has: a larger number is damage, and numbers that are missing are not listed up to it.
const MOST_RANKS: u32 = 1 << 20;

impl Who {
    /// The ranks among processes with GPU work.
    pub fn of(frames: &Frames, kernels: &KernelCalls) -> Who {
        let worked: BTreeSet<u32> = kernels.places.iter().map(|(process, _)| *process).collect();
        let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
        let mut numbered_by = NumberedBy::Trace;
        for &process in &worked {
            let Some(known) = frames.processes.get(process as usize) else { continue };
            if let Some(rank) = known.info.rank.filter(|rank| *rank < MOST_RANKS) {
                numbers.insert(process, rank);
            }
        }
        for file in &frames.files {
            let mut of_file = file.processes.clone().filter(|process| worked.contains(process));
            if let (Some(process), None) = (of_file.next(), of_file.next())
                && !numbers.contains_key(&process)
                && let Some(rank) = rank_in_path(&file.path)
            {
                numbers.insert(process, rank);
                numbered_by = NumberedBy::FileName;
            }
        }
        let clocks = clocks(frames);
        let clock = |process: u32| clocks.get(&process).copied().unwrap_or(0);
        let mut notes = Vec::new();
        let mut ranks: Vec<Rank> = Vec::new();
        let mut twice = BTreeMap::new();
        if numbers.is_empty() {
            numbered_by = NumberedBy::Order;
            let places = kernels.places.iter().enumerate();
            ranks.extend(places.map(|(number, &(process, device))| Rank {
                number: number as u32,
                process,
                device: Some(device),
                clock: clock(process),
            }));
        } else {
            let unknown = worked.len() - numbers.len();
            if unknown > 0 {
                notes.push(format!(
                    "{} GPU work and no rank, and {} left out",
                    items(unknown as u64, "process has", "processes have"),
                    if unknown == 1 { "is" } else { "are" }
                ));
            }
            let mut by_number: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            numbers.iter().for_each(|(process, number)| by_number.entry(*number).or_default().push(*process));
            for (number, mut of_number) in by_number {
                let talk = |process: &u32| kernels.calls.iter().any(|call| call.process == *process);
                // A helper that a rank starts inherits its number, and takes no part in collectives.
                if of_number.len() > 1 && of_number.iter().filter(|process| talk(process)).count() == 1 {
                    of_number.retain(talk);
                }
                if of_number.len() > 1 {
                    let path = |p: &u32| frames.processes.get(*p as usize).map(|p| p.path.display().to_string());
                    twice.insert(number, of_number.iter().filter_map(path).collect());
                }
                ranks.extend(of_number.into_iter().map(|process| Rank {
                    number,
                    process,
                    device: None,
                    clock: clock(process),
                }));
            }
        }
        let world_size = frames.processes.iter().filter_map(|p| p.info.world_size).max();
        let last = ranks.iter().map(|rank| rank.number + 1).max().unwrap_or(0);
        let present: BTreeSet<u32> = ranks.iter().map(|rank| rank.number).collect();
        let all = world_size.unwrap_or(0).max(last).min(MOST_RANKS);
        let missing = (0..all).filter(|number| !present.contains(number)).collect();
        Who { ranks, numbered_by, world_size, missing, twice, notes }
    }

    /// The rank whose work this is, by its place in [`Who::ranks`].
    pub fn finder(&self) -> impl Fn(u32, u32) -> Option<usize> + use<> {
        let of: BTreeMap<(u32, Option<u32>), usize> =
            self.ranks.iter().enumerate().map(|(i, rank)| ((rank.process, rank.device), i)).collect();
        move |process, device| of.get(&(process, None)).or_else(|| of.get(&(process, Some(device)))).copied()
    }
}

/// Which clock each process has. A native trace has its own; processes of a foreign file share that of the file, if they
/// count from the same moment.
fn clocks(frames: &Frames) -> BTreeMap<u32, usize> {
    let natives: BTreeSet<u32> = frames.natives().iter().map(|native| native.process).collect();
    let mut known: BTreeMap<(usize, Option<u32>, Option<i64>), usize> = BTreeMap::new();
    let mut clocks = BTreeMap::new();
    for (file, opened) in frames.files.iter().enumerate() {
        for process in opened.processes.clone() {
            let Some(info) = frames.processes.get(process as usize).map(|p| &p.info) else { continue };
            let key = match natives.contains(&process) {
                true => (usize::MAX, Some(process), None),
                false => (file, None, info.unix_offset_ns),
            };
            let next = known.len();
            clocks.insert(process, *known.entry(key).or_insert(next));
        }
    }
    clocks
}

/// `rank_3` and the like in the name of a file, or else of its folder.
fn rank_in_path(path: &Path) -> Option<u32> {
    let pattern = Regex::new(r"(?i)(?:^|[^a-z])rank[-_.= ]?(\d{1,6})(?:\D|$)").ok()?;
    let find = |name: Option<&std::ffi::OsStr>| {
        let found = pattern.captures_iter(name?.to_str()?).last()?;
        found.get(1)?.as_str().parse().ok()
    };
    find(path.file_name()).or_else(|| find(path.parent().and_then(Path::file_name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_found_in_names_of_files_and_folders() {
        let of = |path: &str| rank_in_path(Path::new(path));
        for (path, rank) in [
            ("run/rank3.json.gz", Some(3)),
            ("run/trace_rank-12_step5.json", Some(12)),
            ("run/Rank_7/trace.json", Some(7)),
            ("rank0/frank5.json", Some(0)),
            ("run/frank5.json", None),
            ("run/ranking.json", None),
            ("run/worker4.json", None),
            ("run/rank12345678.json", None),
        ] {
            assert_eq!(of(path), rank, "{path}");
        }
    }
}
