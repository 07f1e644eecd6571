//! Which kernels of different ranks are one collective.
//!
//! Of each communicator and kind of collective every rank has a sequence. Where the traces number the collectives, equal numbers
//! belong together. Else the n-th belongs to the n-th; where recordings began at different moments, the shift is found by
//! the distances between one end and the next, which no clock and no drift changes much ([`super::lanes`]).

use super::calls::{Call, Group, Op};
use super::lanes::{Lane, fit, lanes};
use crate::numbers::items;
use std::collections::BTreeMap;

/// One rank's part of a collective, on the clock of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Place of the rank among the run's ranks.
    pub rank: usize,
    /// Start of its kernel.
    pub start_ns: i64,
    /// End of its kernel.
    pub end_ns: i64,
}

/// A collective.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// Its communicator: the place in [`Matched::lanes`].
    pub lane: usize,
    /// What it does.
    pub op: Op,
    /// Which one of its lane and kind it is, counted from 0, or as the traces number it.
    pub number: i64,
    /// Bytes of the larger side on one rank, if traces say so.
    pub bytes: Option<u64>,
    /// How many ranks take part: as traces say, else those that are there.
    pub size: u32,
    /// By rank. Two at least.
    pub members: Vec<Member>,
}

/// The answer.
#[derive(Clone, Debug, Default)]
pub struct Matched {
    /// Communicators, in order.
    pub lanes: Vec<Lane>,
    /// By lane, kind and number.
    pub collectives: Vec<Collective>,
    /// Kernels that have no counterpart on any other rank.
    pub alone: u64,
    /// What is remarkable, in sentences.
    pub notes: Vec<String>,
}

/// Matches calls; each comes with the place of its rank. `groups` are what calls refer to, `numbers` the ranks' numbers.
pub fn matched(calls: &[(usize, Call)], groups: &[Group], numbers: &[u32]) -> Matched {
    let (lanes, lane_of) = lanes(calls, groups, numbers);
    let mut sequences: BTreeMap<(usize, Op), BTreeMap<usize, Vec<&Call>>> = BTreeMap::new();
    for ((rank, call), lane) in calls.iter().zip(lane_of) {
        sequences.entry((lane, call.op)).or_default().entry(*rank).or_default().push(call);
    }
    let mut out = Matched { lanes, ..Matched::default() };
    for ((index, op), mut of_ranks) in sequences {
        of_ranks.values_mut().for_each(|calls| calls.sort_by_key(|call| (call.start_ns, call.end_ns, call.stream)));
        let mut found: BTreeMap<(i64, u32), Collective> = BTreeMap::new();
        let shifts = shifts(&of_ranks);
        for (&rank, calls) in &of_ranks {
            let shift = shifts.as_ref().and_then(|shifts| shifts.get(&rank)).copied().unwrap_or(0);
            if shift != 0 {
                out.notes.push(format!(
                    "rank {}: its recording has {} {} of {} {} at its beginning than that of the other ranks",
                    numbers.get(rank).copied().unwrap_or(0),
                    shift.unsigned_abs(),
                    if shift > 0 { "fewer" } else { "more" },
                    out.lanes[index].text(),
                    op.word()
                ));
            }
            let mut last = None;
            for (at, call) in (0_i64..).zip(calls) {
                // A group of calls that NCCL launches at once shares a number.
                let key = match (&shifts, call.said.as_ref().and_then(|said| said.sequence)) {
                    (None, Some(sequence)) => {
                        let again =
                            last.filter(|(before, _)| *before == sequence).map_or(0, |(_, again)| again + 1);
                        last = Some((sequence, again));
                        (sequence, again)
                    }
                    _ => (at + shift, 0),
                };
                let said = call.said.as_ref();
                let collective = found.entry(key).or_insert_with(|| Collective {
                    lane: index,
                    op,
                    number: key.0,
                    bytes: None,
                    size: 0,
                    members: Vec::new(),
                });
                collective.bytes = collective.bytes.max(said.and_then(|said| said.bytes));
                collective.size = collective.size.max(said.and_then(|said| said.size).unwrap_or(0));
                collective.members.push(Member { rank, start_ns: call.start_ns, end_ns: call.end_ns });
            }
        }
        for mut collective in found.into_values() {
            match collective.members.len() {
                0 | 1 => out.alone += 1,
                members => {
                    collective.size = collective.size.max(members as u32);
                    out.collectives.push(collective);
                }
            }
        }
    }
    if out.alone > 0 && !out.collectives.is_empty() {
        out.notes.push(format!(
            "{} no counterpart on another rank",
            items(out.alone, "kernel of communication has", "kernels of communication have")
        ));
    }
    out
}

/// By how much the n-th collective of each rank is a later one; `None`: all are numbered.
fn shifts(of_ranks: &BTreeMap<usize, Vec<&Call>>) -> Option<BTreeMap<usize, i64>> {
    let is_numbered = |call: &&Call| call.said.as_ref().is_some_and(|said| said.sequence.is_some());
    if of_ranks.values().flatten().all(is_numbered) {
        return None;
    }
    // The longest sequence; of equal ones the first rank's.
    let (reference, longest) =
        of_ranks.iter().max_by_key(|(rank, calls)| (calls.len(), std::cmp::Reverse(**rank)))?;
    let shift = |(rank, calls): (&usize, &Vec<&Call>)| {
        let shift = if rank == reference { 0 } else { fit(longest, calls).0 };
        (*rank, shift)
    };
    Some(of_ranks.iter().map(shift).collect())
}
