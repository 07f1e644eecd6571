//! Which ranks come late to collectives, and why.
//!
//! In a collective in which everybody waits for everybody, the last rank to begin makes the others wait. A rank is named if
//! it is later than the middle of the ranks by far more than it differs from one collective to the next and than ranks differ
//! from each other. The cause follows from what its GPU did since the collective before, beside what the middle rank's GPU
//! did: it worked for longer (slow kernels, or more of them), or it had nothing to do for longer (a late host).

use super::align::{Alignment, median};
use super::busy::Busy;
use super::waits::Timed;
use std::collections::BTreeMap;

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
    /// How late, to the collectives of one communicator.
    pub late: Late,
    /// That communicator.
    pub lane: usize,
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

/// Lateness by rank.
type ByRank = BTreeMap<usize, Vec<i64>>;

/// Judges. `observed_ns` is the time that everything is a share of, and ranks that began within `tolerance_ns` of each other began
/// together. Collectives come by time.
///
/// Every communicator is judged by itself: a rank that is late to the few collectives of one must not be hidden by the many of another.
pub fn judge(
    collectives: &[Timed],
    windows: &Windows,
    busy: &mut [Busy],
    observed_ns: i64,
    tolerance_ns: i64,
) -> Stragglers {
    let mut all = ByRank::new();
    let mut by_lane: BTreeMap<usize, ByRank> = BTreeMap::new();
    let mut last: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for collective in collectives.iter().filter(|c| c.op.waits_for_all()) {
        let starts: Vec<i64> = collective.starts_ns.iter().map(|(_, start)| *start).collect();
        let of_lane = by_lane.entry(collective.lane).or_default();
        for ((rank, _), late) in collective.starts_ns.iter().zip(beyond_middle(&starts)) {
            all.entry(*rank).or_default().push(late);
            of_lane.entry(*rank).or_default().push(late);
        }
        *last.entry((collective.lane, collective.last_rank)).or_default() += 1;
    }
    // Of several communicators, the one to which a rank is late for the longest.
    let mut chosen: BTreeMap<usize, (Late, usize)> = BTreeMap::new();
    for (lane, of_lane) in by_lane {
        let lates = lates(of_lane, |rank| last.get(&(lane, rank)).copied().unwrap_or(0));
        for late in late_again_and_again(&lates, observed_ns, tolerance_ns) {
            let known = chosen.entry(late.rank).or_insert_with(|| (late.clone(), lane));
            if late.total_ns > known.0.total_ns {
                *known = (late, lane);
            }
        }
    }
    let last_of =
        |rank: usize| last.iter().filter(|((_, other), _)| *other == rank).map(|(_, count)| *count).sum::<u64>();
    let mut ranks: Vec<Late> = lates(all, last_of).into_iter().map(|(late, _)| late).collect();
    ranks.sort_by_key(|late| (std::cmp::Reverse(late.total_ns), late.rank));

    let lane_of: BTreeMap<usize, usize> = chosen.iter().map(|(rank, (_, lane))| (*rank, *lane)).collect();
    let mut excess = excess(collectives, windows, busy, &lane_of);
    let straggler = |(late, lane): (Late, usize)| {
        let (more_work_ns, more_idle_ns, known) = excess.remove(&late.rank).unwrap_or_default();
        let cause = match known {
            0 => Cause::Unknown,
            _ if more_work_ns >= more_idle_ns => Cause::SlowKernels,
            _ => Cause::LateHost,
        };
        Straggler { late, lane, cause, more_work_ns, more_idle_ns }
    };
    let mut named: Vec<Straggler> = chosen.into_values().map(straggler).collect();
    named.sort_by_key(|one| (std::cmp::Reverse(one.late.total_ns), one.late.rank));
    Stragglers { ranks, named, gain_ns: gain_ns(collectives, &lane_of).min(observed_ns) }
}

/// How late each rank was, and the median distance of that from one collective to the next.
fn lates(lateness: ByRank, last: impl Fn(usize) -> u64) -> Vec<(Late, i64)> {
    let late = |(rank, mut of_rank): (usize, Vec<i64>)| {
        let total_ns = of_rank.iter().map(|ns| (*ns).max(0)).fold(0, i64::saturating_add);
        let median_ns = median(&mut of_rank)?;
        of_rank.iter_mut().for_each(|ns| *ns = ns.saturating_sub(median_ns).saturating_abs());
        let spread_ns = median(&mut of_rank)?;
        Some((Late { rank, collectives: of_rank.len() as u64, last: last(rank), median_ns, total_ns }, spread_ns))
    };
    lateness.into_iter().filter_map(late).collect()
}

/// Those of the ranks of one communicator that are late by more than chance.
fn late_again_and_again(lates: &[(Late, i64)], observed_ns: i64, tolerance_ns: i64) -> Vec<Late> {
    let apart_ns = match lates.len() {
        LEAST_FOR_SPREAD.. => {
            let mut medians: Vec<i64> = lates.iter().map(|(late, _)| late.median_ns).collect();
            let middle = median(&mut medians).unwrap_or(0);
            medians.iter_mut().for_each(|ns| *ns = ns.saturating_sub(middle).saturating_abs());
            median(&mut medians).unwrap_or(0) as f64 * DEVIATIONS
        }
        _ => 0.0,
    };
    // Of few collectives the spread of one rank may come out small by chance.
    let usual_ns = median(&mut lates.iter().map(|(_, spread)| *spread).collect::<Vec<i64>>()).unwrap_or(0);
    let is_named = |(late, spread_ns): &&(Late, i64)| {
        let ns = late.median_ns as f64;
        // The standard error of a median.
        let error_ns = 1.253 * DEVIATIONS * (*spread_ns).max(usual_ns) as f64 / (late.collectives as f64).sqrt();
        late.collectives >= LEAST_COLLECTIVES as u64
            && late.median_ns > tolerance_ns
            && ns > LEAST_SURE * error_ns
            && ns > LEAST_APART * apart_ns
            && late.total_ns as f64 * 100.0 >= LEAST_LATE_PERCENT * observed_ns as f64
    };
    lates.iter().filter(is_named).map(|(late, _)| late.clone()).collect()
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
/// windows this is known. `lane_of` has the ranks that are asked for, and the communicator of each.
fn excess(
    collectives: &[Timed],
    windows: &Windows,
    busy: &mut [Busy],
    lane_of: &BTreeMap<usize, usize>,
) -> BTreeMap<usize, (i64, i64, u64)> {
    let mut sums: BTreeMap<usize, (i64, i64, u64)> = BTreeMap::new();
    for (collective, window) in collectives.iter().zip(windows) {
        let is_asked = |rank: &usize| lane_of.get(rank) == Some(&collective.lane);
        if !window.iter().any(|(rank, ..)| is_asked(rank)) {
            continue;
        }
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
            if is_asked(rank) {
                let sum = sums.entry(*rank).or_default();
                *sum = (sum.0.saturating_add(worked), sum.1.saturating_add(idle), sum.2 + 1);
            }
        }
    }
    sums
}

/// How much earlier collectives would have begun everywhere without the ranks that are late to them.
fn gain_ns(collectives: &[Timed], lane_of: &BTreeMap<usize, usize>) -> i64 {
    let one = |collective: &Timed| {
        let is_late = |rank: &usize| lane_of.get(rank) == Some(&collective.lane);
        let others = collective.starts_ns.iter().filter(|(rank, _)| !is_late(rank));
        let last = others.map(|(_, start)| *start).max()?;
        Some(collective.last_start_ns.saturating_sub(last))
    };
    collectives.iter().filter(|c| c.op.waits_for_all()).filter_map(one).fold(0, i64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::super::calls::Op;
    use super::*;

    #[test]
    fn a_rank_that_is_late_to_few_collectives_of_one_communicator_is_named() {
        let collective = |lane: usize, at: i64, starts: Vec<(usize, i64)>| {
            let first = starts.iter().map(|(_, start)| *start).min().expect("a rank");
            let (last_rank, last) = *starts.iter().max_by_key(|(_, start)| *start).expect("a rank");
            Timed {
                lane,
                op: Op::AllReduce,
                number: at,
                bytes: None,
                size: starts.len() as u32,
                starts_ns: starts,
                first_start_ns: first,
                last_start_ns: last,
                last_rank,
                end_ns: last + 50_000,
                first_end_ns: last + 50_000,
            }
        };
        let mut all = Vec::new();
        for at in 0..200_i64 {
            // Two groups of four begin within microseconds; after every twentieth time all eight, and rank 6 a millisecond later.
            let start = at * 1_000_000;
            let near = |rank: usize| (rank, start + (rank as i64 * 7 + at * 3) % 5 * 1_000);
            all.push(collective(0, at, (0..4).map(near).collect()));
            all.push(collective(1, at, (4..8).map(near).collect()));
            if at % 20 == 19 {
                let late = |rank: usize| (rank, near(rank).1 + if rank == 6 { 1_000_000 } else { 0 });
                all.push(collective(2, at, (0..8).map(late).collect()));
            }
        }
        let mut busy = vec![Busy::default(); 8];
        let windows = vec![Vec::new(); all.len()];
        let found = judge(&all, &windows, &mut busy, 200_000_000, 2_000);
        let named: Vec<(usize, usize, Cause, u64)> =
            found.named.iter().map(|one| (one.late.rank, one.lane, one.cause, one.late.last)).collect();
        assert_eq!(named, [(6, 2, Cause::Unknown, 10)]);
        assert!((9_900_000..=10_000_000).contains(&found.gain_ns), "{}", found.gain_ns);
        assert_eq!(found.ranks[0].rank, 6);
        assert_eq!(found.ranks[0].collectives, 210);
    }
}
