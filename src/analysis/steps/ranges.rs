//! Steps by ranges and annotations of the program.

use super::names::{is_step, without_numbers};
use crate::analysis::ranges::{Range, nesting};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use trace_format::vocabulary::range_style;

/// Ranges that are not called like steps have to come this often.
const LEAST_UNNAMED: usize = 3;

/// The ranges of one process that are its steps.
pub struct StepRanges {
    /// What they are called, with `*` for numbers.
    pub name: String,
    /// Whether they are called like steps.
    pub is_named: bool,
    /// Their positions, in order of time. They do not overlap.
    pub ranges: Vec<usize>,
}

/// Ranges of one thread and domain that are called the same but for numbers.
#[derive(Default)]
struct Group {
    level: u32,
    ranges: Vec<usize>,
}

/// The steps of each process among all ranges, in order. Ranges that are called like steps come first; else it is the outermost ones
/// that come three times or more and cover at least half of the time from the first to the last. Of several, those take the most time.
/// Ranges of one thread that overlap are no steps. `text` gives the text of a name.
pub fn step_ranges<'t>(text: impl Fn(u32) -> &'t str, ranges: &[Range]) -> BTreeMap<u32, StepRanges> {
    let nesting = nesting(ranges);
    // Texts are looked at once for each name, not for each range.
    let mut folded: Vec<(String, bool)> = Vec::new();
    let mut by_text: HashMap<String, usize> = HashMap::new();
    let mut by_name: HashMap<u32, usize> = HashMap::new();
    let mut groups: BTreeMap<(u32, u32, u32, usize), Group> = BTreeMap::new();
    for (at, range) in ranges.iter().enumerate() {
        if range.end_ns.is_none() {
            continue;
        }
        let name = *by_name.entry(range.name).or_insert_with(|| {
            let text = text(range.name);
            *by_text.entry(without_numbers(text)).or_insert_with_key(|key| {
                folded.push((key.clone(), is_step(text, None)));
                folded.len() - 1
            })
        });
        // PyTorch of 2020 wrote annotations as operators.
        if range.style == range_style::OPERATOR && !folded[name].1 {
            continue;
        }
        let level = nesting[at].level;
        let group = groups.entry((range.process, range.tid, range.domain, name)).or_default();
        if group.ranges.is_empty() || level < group.level {
            *group = Group { level, ranges: Vec::new() };
        }
        if level == group.level {
            group.ranges.push(at);
        }
    }
    // Called like steps, level, time, name and thread: the smallest is the best.
    type Rank<'f> = (bool, u32, Reverse<i64>, &'f str, u32);
    let mut best: BTreeMap<u32, (Rank, Vec<usize>)> = BTreeMap::new();
    for ((process, tid, _, name), group) in groups {
        let (text, is_named) = &folded[name];
        let Some(total_ns) = time_of(ranges, &group.ranges, *is_named) else { continue };
        let rank = (!is_named, group.level, Reverse(total_ns), text.as_str(), tid);
        if best.get(&process).is_none_or(|(known, _)| rank < *known) {
            best.insert(process, (rank, group.ranges));
        }
    }
    let found = |(process, (rank, ranges)): (u32, (Rank, Vec<usize>))| {
        (process, StepRanges { name: rank.3.to_owned(), is_named: !rank.0, ranges })
    };
    best.into_iter().map(found).collect()
}

/// How long the ranges of a group take together; `None`: they cannot be steps.
fn time_of(ranges: &[Range], group: &[usize], is_named: bool) -> Option<i64> {
    let times = |&at: &usize| Some((ranges[at].start_ns, ranges[at].end_ns?));
    let times: Vec<(i64, i64)> = group.iter().filter_map(times).collect();
    if times.windows(2).any(|pair| pair[1].0 < pair[0].1) {
        return None;
    }
    let total_ns = times.iter().map(|(from, to)| to.saturating_sub(*from)).fold(0, i64::saturating_add);
    let span_ns = times.last()?.1.saturating_sub(times.first()?.0);
    let is_program = times.len() >= LEAST_UNNAMED && total_ns >= span_ns / 2;
    (is_named || is_program).then_some(total_ns)
}
