//! Which ranks come late to collectives, and why.
//!
//! In a collective in which everybody waits for everybody, the last rank to begin makes the others wait. A rank is named if
//! it is later than the middle of the ranks by far more than it differs from one collective to the next and than ranks differ
//! from each other. The cause follows from what its GPU did since the collective before, beside what the middle rank's GPU
//! did: it worked for longer (slow kernels, or more of them), or it had nothing to do for longer (a late host).

use super::align::{Alignment, median};
use super::busy::Busy;
use super::waits::Timed;
use std::collections::{BTreeMap, BTreeSet};

/// How many standard errors the median lateness of a rank has to be above 0.
const LEAST_SURE: f64 = 6.0;

/// How many times the spread of the ranks' median lateness a rank has to be late.
const LEAST_APART: f64 = 3.0;

/// Ranks from which on their spread says something.
const LEAST_FOR_SPREAD: usize = 5;

/// Collectives below which nobody is named.
pub const LEAST_COLLECTIVES: usize = 5;

/// Of the observed time, what a rank has to be late in all to be worth a word, in percent.
pub const LEAST_LATE_PERCENT: f64 = 1.0;

/// A standard deviation, from the median distance to the median of normal values.
const DEVIATIONS: f64 = 1.4826;

/// Why a rank is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Its GPU worked for longer than those of other ranks.
    SlowKernels,
    /// Its GPU had nothing to do for longer than those of other ranks.
    LateHost,
    /// There is no collective before those in which it is late.
    Unknown,
}

impl Cause {
    /// As users read it.
    pub fn word(self) -> &'static str {
        match self {
            Cause::SlowKernels => "slow kernels",
            Cause::LateHost => "late host",
            Cause::Unknown => "unknown",
        }
    }
}

/// How late one rank was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Late {
    /// The rank's place.
    pub rank: usize,
    /// Collectives that it took part in and in which everybody waits for everybody.
    pub collectives: u64,
    /// In how many of them it began last.
    pub last: u64,
    /// How much later than the middle rank it began, at the median; below 0: earlier.
    pub median_ns: i64,
    /// How much later than the middle rank it began in all, where it was later.
    pub total_ns: i64,
}

/// A rank that is late again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Straggler {
    /// How late.
    pub late: Late,
    /// Why.
    pub cause: Cause,
    /// How much longer than that of the middle rank its GPU worked between collectives, in all.
    pub more_work_ns: i64,
    /// How much longer than that of the middle rank its GPU had nothing of its own to do between collectives, in all.
    pub more_idle_ns: i64,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stragglers {
    /// All ranks, the latest first.
    pub ranks: Vec<Late>,
    /// Those that are named, the latest first.
    pub named: Vec<Straggler>,
    /// What could be won at most, if those that are named came when the others do.
    pub gain_ns: i64,
}

/// For each collective, when the one before in its communicator began everywhere and when this one began on each rank, on the
/// rank's own clock: between the two it had to do its own work. Empty where there is none before.
pub type Windows = Vec<Vec<(usize, i64, i64)>>;

/// The windows of all collectives; in those of kinds that do not wait for everybody there are none.
pub fn windows(collectives: &[Timed], alignment: &Alignment, clock_of: &[usize]) -> Windows {
    let mut before: BTreeMap<usize, i64> = BTreeMap::new();
    let window = |collective: &Timed| {
        if !collective.op.waits_for_all() {
            return Vec::new();
        }
        let Some(began) = before.insert(collective.lane, collective.last_start_ns) else { return Vec::new() };
        let own = |&(rank, start): &(usize, i64)| {
            let clock = clock_of[rank];
            let (from, to) = (alignment.shown_ns(clock, began)?, alignment.shown_ns(clock, start)?);
            Some((rank, from, to.max(from)))
        };
        collective.starts_ns.iter().filter_map(own).collect()
    };
    collectives.iter().map(window).collect()
}

/// Judges. `observed_ns` is the time that everything is a share of, and ranks that began within `tolerance_ns` of each other began
/// together. Collectives come by time.
pub fn judge(
    collectives: &[Timed],
    windows: &Windows,
    busy: &mut [Busy],
    observed_ns: i64,
    tolerance_ns: i64,
) -> Stragglers {
    let mut lateness: Vec<Vec<i64>> = vec![Vec::new(); busy.len()];
    let mut last = vec![0_u64; busy.len()];
    for collective in collectives.iter().filter(|c| c.op.waits_for_all()) {
        let starts: Vec<i64> = collective.starts_ns.iter().map(|(_, start)| *start).collect();
        let late = beyond_middle(&starts);
        for ((rank, _), late) in collective.starts_ns.iter().zip(late) {
            lateness[*rank].push(late);
        }
        last[collective.last_rank] += 1;
    }
    let mut spreads: Vec<i64> = vec![0; busy.len()];
    let mut ranks = Vec::new();
    for (rank, of_rank) in lateness.iter_mut().enumerate() {
        let total_ns = of_rank.iter().map(|ns| (*ns).max(0)).fold(0, i64::saturating_add);
        let collectives = of_rank.len();
        let Some(median_ns) = median(of_rank) else { continue };
        of_rank.iter_mut().for_each(|ns| *ns = ns.saturating_sub(median_ns).saturating_abs());
        spreads[rank] = median(of_rank).unwrap_or(0);
        ranks.push(Late { rank, collectives: collectives as u64, last: last[rank], median_ns, total_ns });
    }
    let spread_ns = match ranks.len() {
        LEAST_FOR_SPREAD.. => {
            let mut medians: Vec<i64> = ranks.iter().map(|late| late.median_ns).collect();
            let middle = median(&mut medians).unwrap_or(0);
            medians.iter_mut().for_each(|ns| *ns = ns.saturating_sub(middle).saturating_abs());
            median(&mut medians).unwrap_or(0) as f64 * DEVIATIONS
        }
        _ => 0.0,
    };
    // Of few collectives the spread of one rank may come out small by chance.
    let middle_spread = median(&mut ranks.iter().map(|late| spreads[late.rank]).collect::<Vec<i64>>()).unwrap_or(0);
    let error_ns = |late: &Late| {
        1.253 * DEVIATIONS * spreads[late.rank].max(middle_spread) as f64 / (late.collectives as f64).sqrt()
    };
    let is_named = |late: &&Late| {
        let ns = late.median_ns as f64;
        late.collectives >= LEAST_COLLECTIVES as u64
            && late.median_ns > tolerance_ns
            && ns > LEAST_SURE * error_ns(late)
            && ns > LEAST_APART * spread_ns
            && late.total_ns as f64 * 100.0 >= LEAST_LATE_PERCENT * observed_ns as f64
    };
    ranks.sort_by_key(|late| (std::cmp::Reverse(late.total_ns), late.rank));
    let chosen: Vec<Late> = ranks.iter().filter(is_named).cloned().collect();
    let names: BTreeSet<usize> = chosen.iter().map(|late| late.rank).collect();
    let mut excess = excess(windows, busy, &names);
    let named = chosen
        .into_iter()
        .map(|late| {
            let (more_work_ns, more_idle_ns, known) = excess.remove(&late.rank).unwrap_or_default();
            let cause = match known {
                0 => Cause::Unknown,
                _ if more_work_ns >= more_idle_ns => Cause::SlowKernels,
                _ => Cause::LateHost,
            };
            Straggler { late, cause, more_work_ns, more_idle_ns }
        })
        .collect();
    Stragglers { ranks, named, gain_ns: gain_ns(collectives, &names) }
}

/// How much later than the middle each of some moments is. Of two and three moments the middle is that of the others: their own
/// would hide half of what they are late.
fn beyond_middle(moments: &[i64]) -> Vec<i64> {
    if moments.len() > 3 {
        let middle = median(&mut moments.to_vec()).unwrap_or(0);
        return moments.iter().map(|ns| ns.saturating_sub(middle)).collect();
    }
    let others = |at: usize| -> Vec<i64> {
        moments.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, ns)| *ns).collect()
    };
    let beyond = |(at, ns): (usize, &i64)| ns.saturating_sub(median(&mut others(at)).unwrap_or(*ns));
    moments.iter().enumerate().map(beyond).collect()
}

/// By rank: how much longer its GPU worked, and had nothing of its own to do, than that of the middle rank, and in how many
/// windows this is known.
fn excess(windows: &Windows, busy: &mut [Busy], names: &BTreeSet<usize>) -> BTreeMap<usize, (i64, i64, u64)> {
    let mut sums: BTreeMap<usize, (i64, i64, u64)> = BTreeMap::new();
    for window in windows.iter().filter(|window| window.iter().any(|(rank, ..)| names.contains(rank))) {
        let mut split: Vec<(usize, i64, i64)> = Vec::with_capacity(window.len());
        for &(rank, from, to) in window {
            let work = &mut busy[rank].own_work;
            if let (Some(before), Some(by)) = (work.by(from), work.by(to)) {
                let worked = by - before;
                split.push((rank, worked, to.saturating_sub(from).saturating_sub(worked)));
            }
        }
        if split.len() < 2 {
            continue;
        }
        let worked = beyond_middle(&split.iter().map(|(_, work, _)| *work).collect::<Vec<i64>>());
        let idle = beyond_middle(&split.iter().map(|(.., idle)| *idle).collect::<Vec<i64>>());
        for (((rank, ..), worked), idle) in split.iter().zip(worked).zip(idle) {
            if names.contains(rank) {
                let sum = sums.entry(*rank).or_default();
                *sum = (sum.0.saturating_add(worked), sum.1.saturating_add(idle), sum.2 + 1);
            }
        }
    }
    sums
}

/// How much earlier collectives would have begun everywhere without some ranks.
fn gain_ns(collectives: &[Timed], without: &BTreeSet<usize>) -> i64 {
    let one = |collective: &Timed| {
        let others = collective.starts_ns.iter().filter(|(rank, _)| !without.contains(rank));
        let last = others.map(|(_, start)| *start).max()?;
        Some(collective.last_start_ns.saturating_sub(last))
    };
    collectives.iter().filter(|c| c.op.waits_for_all()).filter_map(one).fold(0, i64::saturating_add)
}
