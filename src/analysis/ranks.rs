//! The ranks of one distributed run side by side: who makes the others wait, why, and what of each GPU's time was left over.
//!
//! [`who`] finds out which ranks there are, [`calls`] reads their kernels of communication, [`lanes`] says of which communicator each
//! is, [`collectives`] finds those that belong together, and [`align`] one time for all of them. On that time [`waits`] says of each
//! collective who waited for whom and how fast it then was, [`stragglers`] which ranks come late and why, [`links`] which communicators
//! are slow. What the traces do not tell is said by name and not guessed.

pub mod align;
mod busy;
pub mod calls;
pub mod collectives;
mod lanes;
mod links;
mod shifts;
mod stragglers;
mod sums;
mod together;
mod waits;
mod who;

pub use align::{Alignment, Clock};
pub use calls::Op;
pub use lanes::Lane;
pub use links::{SLOW_PERCENT, SlowLink};
pub use shifts::Shifts;
pub use stragglers::{Cause, LEAST_LATE_PERCENT, Late, Straggler, Stragglers};
pub use sums::SlowWork;
pub use waits::{HeatMap, LaneSum, Timed};
pub use who::{NumberedBy, Rank, Who};

use super::activity::WORK_TABLES;
use super::labels::Labels;
use crate::error::Result;
use crate::numbers::items;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::sink::Need;
use busy::Busy;
use together::Together;
use trace_format::tables;

/// Bins of a heat map.
pub const BINS: usize = 60;

/// Of the ranks, those that have to be there for stragglers to be named, in percent.
const LEAST_PRESENT_PERCENT: u64 = 50;

/// One rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankRow {
    /// Its number.
    pub number: u32,
    /// Ordinal of its process.
    pub process: u32,
    /// Its host, if known.
    pub host: Option<String>,
    /// What its GPU is called, if known.
    pub gpu: String,
    /// The trace that it is in.
    pub path: String,
    /// How its clock differs from that of the first rank, by when collectives ended.
    pub clock: Option<Clock>,
    /// What shares are of: from the first to the last GPU work of all ranks, or of this one where there is no time for all.
    pub observed_ns: i64,
    /// Computation ran.
    pub compute_ns: i64,
    /// Communication ran.
    pub communication_ns: i64,
    /// Communication ran and no computation.
    pub exposed_communication_ns: i64,
    /// Copies or fills ran and no kernel.
    pub exposed_memory_ns: i64,
    /// Nothing ran.
    pub idle_ns: i64,
    /// It waited for other ranks in collectives.
    pub wait_ns: i64,
    /// How late it came to collectives.
    pub late: Option<Late>,
    /// The most memory that it had allocated at a time; `None`: allocations were not recorded.
    pub peak_bytes: Option<i64>,
}

impl RankRow {
    /// Time without computation.
    pub fn bubble_ns(&self) -> i64 {
        self.observed_ns.saturating_sub(self.compute_ns)
    }
}

/// What was computed, and what was not, over all ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pipeline {
    /// Time without computation, of the observed time of all ranks, in percent.
    pub bubble_percent: f64,
    /// The most computation of a rank, by the mean of all: 1 is balanced.
    pub imbalance: f64,
    /// The rank that computes the longest, by place.
    pub longest: usize,
    /// Whether ranks send each other something, as stages of a pipeline do.
    pub sends: bool,
}

/// The most memory of ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryUse {
    /// The rank with the most, by place, and its bytes.
    pub most: (usize, i64),
    /// The rank with the least, by place, and its bytes.
    pub least: (usize, i64),
    /// The most by the mean of all: 1 is balanced.
    pub imbalance: f64,
}

/// The answer. What could not be found out has the reason in its place.
#[derive(Clone, Debug)]
pub struct Ranks {
    /// The ranks, by number.
    pub rows: Vec<RankRow>,
    /// Where numbers come from and which are missing.
    pub who: Who,
    /// Why ranks cannot be held against each other at all; `None`: they can.
    pub obstacle: Option<String>,
    /// One time for all.
    pub alignment: std::result::Result<Alignment, String>,
    /// Communicators.
    pub lanes: Vec<Lane>,
    /// Collectives on that time, by start.
    pub collectives: Vec<Timed>,
    /// Sums by communicator and kind.
    pub sums: Vec<LaneSum>,
    /// Who is late.
    pub stragglers: std::result::Result<Stragglers, String>,
    /// For each rank that is named with slow kernels: what takes it longer.
    pub slow_work: Vec<Option<SlowWork>>,
    /// Communicators slower than others that do the same, and ranks that they share.
    pub slow_links: std::result::Result<(Vec<SlowLink>, Vec<usize>), String>,
    /// Bubbles and imbalance.
    pub pipeline: std::result::Result<Pipeline, String>,
    /// Memory.
    pub memory: std::result::Result<MemoryUse, String>,
    /// Who waited when.
    pub heat_map: Option<HeatMap>,
    /// What is remarkable, in sentences.
    pub notes: Vec<String>,
}

impl Ranks {
    /// What has to be read of traces.
    pub fn need() -> Need {
        // Graphs traced whole are work; calls are not looked at.
        let mut need = Need::full(&[&tables::DETAILS, &tables::MEMORY, &tables::LOSS]);
        need.add(&Need::full(&WORK_TABLES));
        need
    }

    /// Reads and judges the selected records.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn of(labels: &Labels, filter: &Filter) -> Result<Ranks> {
        let frames = labels.frames();
        let together = Together::find(labels, filter)?;
        let notes = together.notes();
        let Together { who, clock_of, obstacle, matched, alignment, timed: collectives, sends } = together;
        let rank_of = who.finder();
        let by_date = alignment.as_ref().err().and_then(|_| by_date(frames, &who));

        let windows = match &alignment {
            Ok(alignment) => stragglers::windows(&collectives, alignment, &clock_of),
            Err(_) => Vec::new(),
        };
        let mut moments: Vec<Vec<i64>> = vec![Vec::new(); who.ranks.len()];
        windows.iter().flatten().for_each(|&(rank, from, to)| moments[rank].extend([from, to]));
        let mut busy = busy::read(labels, filter, &who, moments)?;

        let observed = observed(&busy, alignment.as_ref().ok().or(by_date.as_ref()), &clock_of);
        let observed_ns = observed.map_or(0, |(from, to)| to.saturating_sub(from));
        let heat_map = observed
            .filter(|_| !collectives.is_empty())
            .map(|observed| HeatMap::of(&collectives, who.ranks.len(), observed, BINS));
        let stragglers = match (&alignment, too_few(&who, &collectives)) {
            (Err(why), _) => Err(why.clone()),
            (Ok(_), Some(why)) => Err(why),
            (Ok(alignment), None) => {
                let tolerance_ns = alignment.residual_95_ns.max(alignment.residual_ns * 3).max(1_000);
                Ok(stragglers::judge(&collectives, &windows, &mut busy, observed_ns, tolerance_ns))
            }
        };
        let named = stragglers.as_ref().map(|s| s.named.clone()).unwrap_or_default();
        let slow_work = match named.iter().any(|one| one.cause == Cause::SlowKernels) {
            true => {
                let sums = sums::work_by_name(labels, filter, who.ranks.len(), &rank_of)?;
                let of = |one: &Straggler| match one.cause {
                    Cause::SlowKernels => sums::slowest_work(&sums, one.late.rank),
                    _ => None,
                };
                named.iter().map(of).collect()
            }
            false => vec![None; named.len()],
        };
        let slow_links = match &alignment {
            Err(why) => Err(why.clone()),
            Ok(_) if collectives.iter().all(|c| c.bytes.is_none()) => {
                Err("the traces do not say how many bytes collectives move".to_owned())
            }
            Ok(_) => Ok(links::slow(&collectives)),
        };
        let peaks = sums::peak_bytes(frames, filter, who.ranks.len(), &rank_of)?;
        let rows: Vec<RankRow> = who
            .ranks
            .iter()
            .enumerate()
            .map(|(at, rank)| {
                let late = stragglers.as_ref().ok().and_then(|s| s.ranks.iter().find(|late| late.rank == at));
                RankRow {
                    wait_ns: heat_map.as_ref().map_or(0, |map| map.wait_ns(at)),
                    clock: alignment.as_ref().ok().and_then(|a| a.clocks.get(rank.clock).copied().flatten()),
                    late: late.cloned(),
                    peak_bytes: peaks[at],
                    ..row(labels, rank, &busy[at], observed)
                }
            })
            .collect();
        let pipeline = pipeline(frames, &rows, observed, sends, obstacle.as_deref());
        let memory = memory_use(&rows);
        Ok(Ranks {
            sums: waits::sums(&collectives),
            rows,
            who,
            obstacle,
            alignment,
            lanes: matched.lanes,
            collectives,
            stragglers,
            slow_work,
            slow_links,
            pipeline,
            memory,
            heat_map,
            notes,
        })
    }

    /// The number of the rank at a place.
    pub fn number(&self, place: usize) -> u32 {
        self.rows.get(place).map_or(0, |row| row.number)
    }

    /// In words: `straggler`, `no straggler` or `cannot be judged`.
    pub fn verdict(&self) -> &'static str {
        match &self.stragglers {
            Err(_) => "cannot be judged",
            Ok(found) if found.named.is_empty() => "no straggler",
            Ok(_) => "straggler",
        }
    }
}

/// The time by the dates of the traces, where all have one or share a clock.
fn by_date(frames: &Frames, who: &Who) -> Option<Alignment> {
    let has_date =
        |rank: &Rank| frames.processes.get(rank.process as usize).is_some_and(|p| p.info.epoch_ns().is_some());
    let one_clock = who.ranks.iter().all(|rank| Some(rank.clock) == who.ranks.first().map(|first| first.clock));
    if !one_clock && !who.ranks.iter().all(has_date) {
        return None;
    }
    let clocks = who.ranks.iter().map(|rank| rank.clock + 1).max().unwrap_or(0);
    Some(Alignment { clocks: vec![Some(Clock::default()); clocks], ..Alignment::default() })
}

/// Why nobody can be called late.
fn too_few(who: &Who, collectives: &[Timed]) -> Option<String> {
    let joint = collectives.iter().filter(|c| c.op.waits_for_all()).count();
    if joint < stragglers::LEAST_COLLECTIVES {
        return Some(format!(
            "{} in which every rank waits for every other: at least {} are needed",
            items(joint as u64, "collective was found", "collectives were found"),
            stragglers::LEAST_COLLECTIVES
        ));
    }
    let (present, missing) = (who.ranks.len() as u64, who.missing.len() as u64);
    (present * 100 < LEAST_PRESENT_PERCENT * (present + missing)).then(|| {
        format!(
            "{present} of {} are there: the one that makes them wait may be missing",
            items(present + missing, "rank", "ranks")
        )
    })
}

/// From the first to the last work of all ranks, on one time.
fn observed(busy: &[Busy], alignment: Option<&Alignment>, clock_of: &[usize]) -> Option<(i64, i64)> {
    let alignment = alignment?;
    let ends = busy.iter().zip(clock_of).filter_map(|(busy, clock)| {
        Some((alignment.time_ns(*clock, busy.first_ns?)?, alignment.time_ns(*clock, busy.last_ns?)?))
    });
    ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

fn row(labels: &Labels, rank: &Rank, busy: &Busy, observed: Option<(i64, i64)>) -> RankRow {
    let frames = labels.frames();
    let process = frames.processes.get(rank.process as usize);
    let observed_ns = match observed {
        // A clock that is put right moves an end by a nanosecond.
        Some((from, to)) => to.saturating_sub(from).max(busy.coverage.span_ns()),
        None => busy.coverage.span_ns(),
    };
    let device = rank.device.or_else(|| {
        let mut devices = frames.devices.iter().filter(|(process, _)| *process == rank.process);
        devices.next().filter(|_| devices.next().is_none()).map(|(_, row)| row.device)
    });
    RankRow {
        number: rank.number,
        process: rank.process,
        host: process.and_then(|p| p.info.host.clone()),
        gpu: device.map(|device| labels.device(rank.process, device).to_owned()).unwrap_or_default(),
        path: process.map(|p| p.path.display().to_string()).unwrap_or_default(),
        observed_ns,
        compute_ns: busy.compute_ns(),
        communication_ns: busy.communication_ns(),
        exposed_communication_ns: busy.exposed_communication_ns(),
        exposed_memory_ns: busy.exposed_memory_ns(),
        idle_ns: observed_ns.saturating_sub(busy.coverage.busy_ns()),
        ..RankRow::default()
    }
}

fn pipeline(
    frames: &Frames,
    rows: &[RankRow],
    observed: Option<(i64, i64)>,
    sends: bool,
    obstacle: Option<&str>,
) -> std::result::Result<Pipeline, String> {
    if let Some(why) = obstacle {
        return Err(why.to_owned());
    }
    if frames.processes.iter().any(|process| process.info.is_sample()) {
        return Err("only some of the time was recorded (some steps, or what a budget allowed), so what lies between is unknown".into());
    }
    if observed.is_none() {
        return Err("there is no time that is good for all ranks".into());
    }
    let sum = |of: fn(&RankRow) -> i64| rows.iter().map(|row| i128::from(of(row))).sum::<i128>() as f64;
    let (all, computed) = (sum(|row| row.observed_ns), sum(|row| row.compute_ns));
    let longest = (0..rows.len()).max_by_key(|&at| (rows[at].compute_ns, std::cmp::Reverse(at)));
    match longest {
        Some(longest) if computed > 0.0 => Ok(Pipeline {
            bubble_percent: (all - computed) * 100.0 / all,
            imbalance: rows[longest].compute_ns as f64 * rows.len() as f64 / computed,
            longest,
            sends,
        }),
        _ => Err("no kernels but those of communication were recorded".into()),
    }
}

fn memory_use(rows: &[RankRow]) -> std::result::Result<MemoryUse, String> {
    let known: Vec<(usize, i64)> =
        rows.iter().enumerate().filter_map(|(at, row)| Some((at, row.peak_bytes?))).collect();
    if known.len() < rows.len() || known.len() < 2 {
        return Err(match known.len() {
            0 => "allocations were not recorded".to_owned(),
            n => format!("allocations were recorded of {n} of {} alone", items(rows.len() as u64, "rank", "ranks")),
        });
    }
    let most = known.iter().copied().max_by_key(|(at, bytes)| (*bytes, std::cmp::Reverse(*at)));
    let least = known.iter().copied().min_by_key(|(at, bytes)| (*bytes, *at));
    let sum: f64 = known.iter().map(|(_, bytes)| *bytes as f64).sum();
    match (most, least) {
        (Some(most), Some(least)) if sum > 0.0 => {
            Ok(MemoryUse { most, least, imbalance: most.1 as f64 * known.len() as f64 / sum })
        }
        _ => Err("no rank allocated memory while it was recorded".into()),
    }
}

#[cfg(test)]
mod tests;
