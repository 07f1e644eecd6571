//! One time for all ranks: how the clock of each differs from that of the first, by when collectives ended.
//!
//! A collective in which everybody waits for everybody ends everywhere at once, give or take some microseconds, whoever came
//! late. So the differences of the ends are differences of clocks: a line over time, its height the offset and its slope the
//! drift. Both are medians (the slope of Theil and Sen over pairs that are half of the time apart), so that some collectives
//! that ended otherwise change nothing.

use super::collectives::Collective;
use std::collections::{BTreeMap, BTreeSet};

/// Collectives that two clocks need to have in common.
pub const LEAST_COMMON: usize = 4;

/// Collectives below which a slope is noise.
const LEAST_FOR_DRIFT: usize = 8;

/// Real clocks differ by less than this, in parts per million.
const MOST_DRIFT_PPM: f64 = 1_000.0;

/// Ends looked at for one clock: more make nothing more exact.
const MOST_ENDS: usize = 2_000;

/// Clocks whose ends make the middle that another clock is held against.
const MOST_OTHERS: usize = 9;

/// How the clock of a rank differs from that of the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clock {
    /// How far it is ahead at [`Alignment::from_ns`].
    pub offset_ns: i64,
    /// How much faster it goes, in parts per million.
    pub drift_ppm: f64,
}

/// One time for all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Alignment {
    /// Offsets are those at this moment of the first clock.
    pub from_ns: i64,
    /// By clock; `None`: it shares too few collectives with the others.
    pub clocks: Vec<Option<Clock>>,
    /// How far ends still are from the middle of their collective: the median over all parts of all collectives.
    pub residual_ns: i64,
    /// The same, for 95 of 100.
    pub residual_95_ns: i64,
    /// Collectives that were used.
    pub collectives: usize,
    /// Whether there was nothing to find out: all times are of one clock.
    pub is_one_clock: bool,
}

impl Alignment {
    /// What a clock shows, on that of the first.
    pub fn time_ns(&self, clock: usize, ns: i64) -> Option<i64> {
        let known = (*self.clocks.get(clock)?)?;
        let since = ns.saturating_sub(known.offset_ns).saturating_sub(self.from_ns);
        // Own time runs `1 + drift` times as fast.
        let drift = known.drift_ppm * 1e-6;
        let gained = since as f64 * (drift / (1.0 + drift));
        Some(ns.saturating_sub(known.offset_ns).saturating_sub(gained.round() as i64))
    }

    /// What the clock shows at a time of the first.
    pub fn shown_ns(&self, clock: usize, ns: i64) -> Option<i64> {
        let known = (*self.clocks.get(clock)?)?;
        let gained = ns.saturating_sub(self.from_ns) as f64 * known.drift_ppm * 1e-6;
        Some(ns.saturating_add(known.offset_ns).saturating_add(gained.round() as i64))
    }
}

/// Finds out how the clocks of ranks differ. `clock_of` has the clock of each rank.
///
/// # Errors
/// Says why no time can be found that is good for all.
pub fn align(collectives: &[Collective], clock_of: &[usize]) -> Result<Alignment, String> {
    let all: BTreeSet<usize> = clock_of.iter().copied().collect();
    let count = all.last().map_or(0, |last| last + 1);
    let joint: Vec<&Collective> = collectives.iter().filter(|c| c.op.waits_for_all()).collect();
    if joint.is_empty() {
        return Err("there is no collective in which every rank waits for every other (AllReduce, AllGather, ReduceScatter, AllToAll)".into());
    }
    let used = evenly(&joint);
    // When each clock saw each collective end: the last of its ranks.
    let ends: Vec<Ends> = used
        .iter()
        .map(|collective| {
            let mut ends: Ends = collective.members.iter().map(|m| (clock_of[m.rank], m.end_ns)).collect();
            ends.sort_unstable();
            ends.reverse();
            ends.dedup_by_key(|(clock, _)| *clock);
            ends.reverse();
            ends
        })
        .collect();
    let first = clock_of.first().copied().unwrap_or(0);
    let of_first = ends.iter().flatten().filter(|(clock, _)| *clock == first).map(|(_, end)| *end).min();
    let mut out = Alignment {
        from_ns: of_first.unwrap_or(0),
        clocks: vec![None; count],
        collectives: joint.len(),
        is_one_clock: all.len() == 1,
        ..Alignment::default()
    };
    out.clocks[first] = Some(Clock::default());
    place(&mut out, &ends, first)?;
    residuals(&mut out, &joint, clock_of);
    Ok(out)
}

/// When each clock saw a collective end, by clock.
type Ends = Vec<(usize, i64)>;

/// Of each communicator no more than so many collectives, from all of its time.
fn evenly<'c>(joint: &[&'c Collective]) -> Vec<&'c Collective> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    joint.iter().for_each(|collective| *counts.entry(collective.lane).or_default() += 1);
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    let is_used = |collective: &&&Collective| {
        let seen = seen.entry(collective.lane).or_default();
        *seen += 1;
        (*seen - 1).is_multiple_of(counts[&collective.lane].div_ceil(MOST_ENDS).max(1))
    };
    joint.iter().filter(is_used).copied().collect()
}

/// Fits one clock after another to those that are known, the one with the most in common first.
fn place(out: &mut Alignment, ends: &[Ends], first: usize) -> Result<(), String> {
    let mut of_clock: Vec<Vec<usize>> = vec![Vec::new(); out.clocks.len()];
    for (at, ends) in ends.iter().enumerate() {
        ends.iter().for_each(|(clock, _)| of_clock[*clock].push(at));
    }
    let (mut is_known, mut common) = (vec![false; ends.len()], vec![0_usize; out.clocks.len()]);
    let mut known = first;
    loop {
        for &at in &of_clock[known] {
            if !std::mem::replace(&mut is_known[at], true) {
                ends[at].iter().for_each(|(clock, _)| common[*clock] += 1);
            }
        }
        let waiting = (0..common.len()).filter(|clock| out.clocks[*clock].is_none());
        let next = waiting.max_by_key(|clock| (common[*clock], std::cmp::Reverse(*clock)));
        let Some(clock) = next.filter(|clock| common[*clock] >= LEAST_COMMON) else { return Ok(()) };
        let pair = |at: &usize| {
            let others = ends[*at].iter().filter_map(|(other, end)| out.time_ns(*other, *end));
            let middle = median(&mut others.take(MOST_OTHERS).collect::<Vec<i64>>())?;
            let (_, own) = ends[*at].iter().find(|(other, _)| *other == clock)?;
            Some((middle, *own))
        };
        let pairs: Vec<(i64, i64)> = of_clock[clock].iter().filter_map(pair).collect();
        out.clocks[clock] = Some(fit(&pairs, out.from_ns)?);
        known = clock;
    }
}

/// The line through pairs of times: of the first clock, and of another one.
fn fit(pairs: &[(i64, i64)], from_ns: i64) -> Result<Clock, String> {
    let mut pairs: Vec<(i64, i64)> =
        pairs.iter().step_by(pairs.len().div_ceil(MOST_ENDS).max(1)).copied().collect();
    pairs.sort_unstable();
    let mut ahead: Vec<i64> = pairs.iter().map(|(at, own)| own.saturating_sub(*at)).collect();
    let middle = median(&mut ahead.clone()).unwrap_or(0);
    // Floats hold only what differs: the clocks may be decades apart.
    let points: Vec<(f64, f64)> = pairs
        .iter()
        .zip(&ahead)
        .map(|(&(at, _), ahead)| (at.saturating_sub(from_ns) as f64, ahead.saturating_sub(middle) as f64))
        .collect();
    let half = points.len() / 2;
    let mut slopes: Vec<f64> = points
        .iter()
        .zip(&points[points.len() - half..])
        .filter(|(a, b)| b.0 > a.0)
        .map(|(a, b)| (b.1 - a.1) / (b.0 - a.0))
        .collect();
    let mut slope = 0.0;
    if points.len() >= LEAST_FOR_DRIFT && !slopes.is_empty() {
        let found = median_f64(&mut slopes);
        let mut apart: Vec<f64> = slopes.iter().map(|slope| (slope - found).abs()).collect();
        // The standard error of a median, from the median distance.
        let error = 1.253 * 1.4826 * median_f64(&mut apart) / (slopes.len() as f64).sqrt();
        if found.abs() > 3.0 * error {
            slope = found;
        }
    }
    if slope.abs() * 1e6 > MOST_DRIFT_PPM {
        return Err(format!(
            "one of the clocks would have to go wrong by {:.0} parts per million, so collectives were matched that do not belong together",
            slope.abs() * 1e6
        ));
    }
    ahead = points.iter().map(|(at, ahead)| (ahead - slope * at).round() as i64).collect();
    let offset = median(&mut ahead).unwrap_or(0);
    Ok(Clock { offset_ns: middle.saturating_add(offset), drift_ppm: slope * 1e6 })
}

/// How far ends are from the middle of their collective when clocks are put right.
fn residuals(out: &mut Alignment, joint: &[&Collective], clock_of: &[usize]) {
    let mut apart: Vec<i64> = Vec::new();
    for collective in joint {
        let ends = collective.members.iter().filter_map(|m| out.time_ns(clock_of[m.rank], m.end_ns));
        let ends: Vec<i64> = ends.collect();
        if let Some(middle) = median(&mut ends.clone()).filter(|_| ends.len() > 1) {
            apart.extend(ends.iter().map(|end| end.abs_diff(middle) as i64));
        }
    }
    apart.sort_unstable();
    let at = |percent: usize| apart.get((apart.len() * percent / 100).min(apart.len().saturating_sub(1))).copied();
    (out.residual_ns, out.residual_95_ns) = (at(50).unwrap_or(0), at(95).unwrap_or(0));
}

/// The median; of an even number the mean of the two in the middle, rounded down.
pub fn median(values: &mut [i64]) -> Option<i64> {
    if values.is_empty() {
        return None;
    }
    let (half, is_odd) = (values.len() / 2, !values.len().is_multiple_of(2));
    let (below, upper, _) = values.select_nth_unstable(half);
    let upper = *upper;
    match is_odd {
        true => Some(upper),
        false => {
            let lower = below.iter().copied().max().unwrap_or(upper);
            Some(((i128::from(lower) + i128::from(upper)).div_euclid(2)) as i64)
        }
    }
}

/// The median; 0 of nothing.
pub fn median_f64(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}
