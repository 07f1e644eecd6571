//! What lies inside the ranges of a name.

use super::{Filter, Launch};
use crate::error::Result;
use crate::trace::frames::Frames;
use regex::Regex;
use std::collections::{HashMap, HashSet};
use trace_format::tables;
use trace_format::tables::column::{api, range};
use trace_format::vocabulary::range_style;

/// Where a range was open: process and thread; no thread for ranges that are not bound to one.
type Lane = (u32, Option<u32>);

/// Time spans; disjoint and in order once united.
#[derive(Clone, Debug, Default)]
pub struct Spans(Vec<(i64, i64)>);

impl Spans {
    /// Adds the span from `start` to just before `end`.
    pub fn push(&mut self, start: i64, end: i64) {
        self.0.push((start, end));
    }

    /// Moves all spans of `other` in here.
    pub fn append(&mut self, other: &mut Spans) {
        self.0.append(&mut other.0);
    }

    /// The spans.
    pub fn as_slice(&self) -> &[(i64, i64)] {
        &self.0
    }

    /// Sorts and unites what was pushed: a call is inside a range if it is inside any occurrence of it.
    pub fn unite(&mut self) {
        self.0.sort_unstable();
        let mut united: Vec<(i64, i64)> = Vec::with_capacity(self.0.len());
        for &(start, end) in &self.0 {
            match united.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => united.push((start, end)),
            }
        }
        self.0 = united;
    }

    fn contain(&self, at: i64) -> bool {
        let begun = self.0.partition_point(|&(start, _)| start <= at);
        begun > 0 && at < self.0[begun - 1].1
    }
}

/// An expression for a name in which `*` stands for anything. `None`: it would be too large.
pub fn name_pattern(name: &str) -> Option<Regex> {
    let parts: Vec<String> = name.split('*').map(regex::escape).collect();
    Regex::new(&format!("(?s)^{}$", parts.join(".*"))).ok()
}

/// Where a range was open, and what was launched from inside.
pub(super) struct InRange {
    pub(super) open: HashMap<Lane, Spans>,
    pub(super) launches: HashSet<Launch>,
    /// Launches that other threads made while a range of one thread was open, and that do not count for that reason.
    pub(super) of_other_threads: u64,
}

impl InRange {
    /// All ranges called `name` (or `domain:name`), where `*` stands for anything.
    pub(super) fn find(frames: &Frames, name: &str) -> Result<InRange> {
        let pattern = name.contains('*').then(|| name_pattern(name)).flatten();
        let everything = Filter::everything();
        let mut found = frames.fold(
            &tables::RANGE,
            &[
                range::START_NS,
                range::END_NS,
                range::STYLE,
                range::RANGE_ID,
                range::DOMAIN_ID,
                range::NAME_ID,
                range::TID,
            ],
            &everything,
            Vec::new,
            |found: &mut Vec<(Lane, u64, i64, Option<i64>)>, batch| {
                let (start, end, id) =
                    (batch.get(range::START_NS), batch.get(range::END_NS), batch.get(range::RANGE_ID));
                let (style, domain) = (batch.get(range::STYLE), batch.get(range::DOMAIN_ID));
                let (text, tid) = (batch.get(range::NAME_ID), batch.get(range::TID));
                batch.for_each_row(|i| {
                    let range_name = frames.names.text(text.get(i).unwrap_or(0));
                    let is_like = |pattern: &Regex| {
                        pattern.is_match(&range_name)
                            || domain.get(i).filter(|&id| id != 0).is_some_and(|id| {
                                pattern.is_match(&format!("{}:{range_name}", frames.names.text(id)))
                            })
                    };
                    let matches = range_name == name
                        || pattern.as_ref().is_some_and(is_like)
                        || name
                            .strip_suffix(&*range_name)
                            .and_then(|d| d.strip_suffix(':'))
                            .is_some_and(|d| d == frames.names.text(domain.get(i).unwrap_or(0)));
                    let style = style.get(i).unwrap_or(0);
                    if let (true, Some(start)) = (matches && style != range_style::MARK, start.get(i)) {
                        let thread = if style == range_style::START_END { None } else { tid.get(i) };
                        found.push(((batch.process, thread), id.get(i).unwrap_or(0), start, end.get(i)));
                    }
                });
            },
            |a, mut b| a.append(&mut b),
        )?;
        // A long range is written while it is open, and again when it is closed.
        let closed: HashSet<(u32, u64)> = found
            .iter()
            .filter(|(_, id, _, end)| *id != 0 && end.is_some())
            .map(|((process, _), id, ..)| (*process, *id))
            .collect();
        found.retain(|((process, _), id, _, end)| end.is_some() || !closed.contains(&(*process, *id)));
        let mut open: HashMap<Lane, Spans> = HashMap::new();
        for (lane, _, start, end) in found {
            // A range still open at the end of the recording reaches to the end.
            open.entry(lane).or_default().push(start, end.unwrap_or(i64::MAX));
        }
        open.values_mut().for_each(Spans::unite);
        let names = 0..frames.names.len() as u32;
        let launches: Vec<bool> = names.map(|id| frames.names.text(id).contains("Launch")).collect();
        let is_launch = |name: Option<u32>| name.and_then(|id| launches.get(id as usize)).is_some_and(|is| *is);
        let mut of_threads: HashMap<u32, Spans> = HashMap::new();
        for ((process, tid), spans) in &open {
            let all = of_threads.entry(*process).or_default();
            spans.as_slice().iter().filter(|_| tid.is_some()).for_each(|&(start, end)| all.push(start, end));
        }
        of_threads.values_mut().for_each(Spans::unite);
        let mut range = InRange { open, launches: HashSet::new(), of_other_threads: 0 };
        (range.launches, range.of_other_threads) = frames.fold(
            &tables::API,
            &[api::START_NS, api::TID, api::CORRELATION, api::NAME_ID],
            &everything,
            || (HashSet::new(), 0),
            |(set, others): &mut (HashSet<Launch>, u64), batch| {
                let (start, tid, correlation) =
                    (batch.get(api::START_NS), batch.get(api::TID), batch.get(api::CORRELATION));
                let name = batch.get(api::NAME_ID);
                batch.for_each_row(|i| {
                    let (Some(at), Some(c)) = (start.get(i), correlation.get(i).filter(|&c| c != 0)) else {
                        return;
                    };
                    if range.holds_call(batch.process, tid.get(i), at) {
                        set.insert((batch.process, c));
                    } else if is_launch(name.get(i))
                        && of_threads.get(&batch.process).is_some_and(|spans| spans.contain(at))
                    {
                        *others += 1;
                    }
                });
            },
            |a, b| {
                a.0.extend(b.0);
                a.1 += b.1;
            },
        )?;
        Ok(range)
    }

    /// Whether a call that started then and there is inside: on the same thread, or anywhere in a start/end range.
    pub(super) fn holds_call(&self, process: u32, tid: Option<u32>, at: i64) -> bool {
        let in_lane = |lane: Lane| self.open.get(&lane).is_some_and(|spans| spans.contain(at));
        in_lane((process, None)) || tid.is_some_and(|tid| in_lane((process, Some(tid))))
    }
}
