//! Ranges of the program: how they nest, and which calls were made inside which.

use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::sink::valid_duration;
use hashbrown::{HashMap, HashSet};
use std::cmp::Reverse;
use trace_format::tables;
use trace_format::tables::column::range;
use trace_format::vocabulary::range_style::{ANNOTATION, OPERATOR, PUSH_POP, START_END};

/// One range. Its style is push/pop, start/end, or one of PyTorch's operators and annotations, which nest on their
/// thread as push/pop ranges do. Marks are no ranges, and Python functions are left to call stacks.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// Start: Unix nanoseconds where the trace has an epoch, else relative.
    pub start_ns: i64,
    /// End; `None`: still open when the recording ended.
    pub end_ns: Option<i64>,
    /// Ordinal of the process.
    pub process: u32,
    /// Thread that started it. A start/end range may end on another one, which traces do not say.
    pub tid: u32,
    /// The style, by the numbers of `range.style`.
    pub style: u32,
    /// Name id of the domain; 0: the default one.
    pub domain: u32,
    /// Name id of the text.
    pub name: u32,
    /// The producer's own number of it; 0: none.
    pub id: u64,
}

impl Range {
    /// End minus start; `None` while it is open.
    pub fn duration_ns(&self) -> Option<i64> {
        self.end_ns.map(|end| end - self.start_ns)
    }

    /// Where it ends, at the end of time if it is open.
    pub fn last_ns(&self) -> i64 {
        self.end_ns.unwrap_or(i64::MAX)
    }

    fn nests(&self) -> bool {
        self.style != START_END
    }

    fn encloses(&self, start_ns: i64, end_ns: i64) -> bool {
        self.start_ns <= start_ns && end_ns <= self.last_ns()
    }
}

/// All selected ranges in order, those that start together from the outermost. Ranges with impossible times are
/// left out, and so is an open range that a later row closes.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn ranges(frames: &Frames, filter: &Filter) -> Result<Vec<Range>> {
    let mut all = frames.fold(
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
        filter,
        Vec::new,
        |out: &mut Vec<Range>, batch| {
            let (start, end, id) =
                (batch.get(range::START_NS), batch.get(range::END_NS), batch.get(range::RANGE_ID));
            let (style, domain, name, tid) = (
                batch.get(range::STYLE),
                batch.get(range::DOMAIN_ID),
                batch.get(range::NAME_ID),
                batch.get(range::TID),
            );
            batch.for_each_row(|i| {
                let style = style.get(i).unwrap_or(0);
                let Some(start_ns) =
                    start.get(i).filter(|_| matches!(style, PUSH_POP | START_END | OPERATOR | ANNOTATION))
                else {
                    return;
                };
                let end = end.get(i);
                if end.is_some_and(|end| valid_duration(start_ns, end).is_none()) {
                    return;
                }
                out.push(Range {
                    start_ns: start_ns.saturating_add(batch.offset_ns),
                    end_ns: end.map(|end| end.saturating_add(batch.offset_ns)),
                    process: batch.process,
                    tid: tid.get(i).unwrap_or(0),
                    style,
                    domain: domain.get(i).unwrap_or(0),
                    name: frames.names.first(name.get(i).unwrap_or(0)),
                    id: id.get(i).unwrap_or(0),
                });
            });
        },
        |a, mut b| a.append(&mut b),
    )?;
    let numbered = |r: &Range| r.id != 0;
    let closed: HashSet<(u32, u64)> =
        all.iter().filter(|r| numbered(r) && r.end_ns.is_some()).map(|r| (r.process, r.id)).collect();
    all.retain(|r| r.end_ns.is_some() || !numbered(r) || !closed.contains(&(r.process, r.id)));
    all.sort_unstable_by_key(|r| {
        (r.start_ns, Reverse(r.last_ns()), r.process, r.tid, r.id, r.style, r.domain, r.name)
    });
    Ok(all)
}

/// Ids, by process, of ranges that were written while they were open and again when they were closed. Open ones are
/// few, so their ids are looked for among all.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn closed_later(frames: &Frames, filter: &Filter) -> Result<HashSet<(u32, u64)>> {
    let ids = |is_open: bool, wanted: Option<&HashSet<(u32, u64)>>| {
        frames.fold(
            &tables::RANGE,
            &[range::END_NS, range::RANGE_ID],
            filter,
            HashSet::new,
            |found: &mut HashSet<(u32, u64)>, batch| {
                let (end, id) = (batch.get(range::END_NS), batch.get(range::RANGE_ID));
                batch.for_each_row(|i| {
                    let key = (batch.process, id.get(i).unwrap_or(0));
                    let matches = key.1 != 0 && end.get(i).is_none() == is_open;
                    if matches && wanted.is_none_or(|wanted| wanted.contains(&key)) {
                        found.insert(key);
                    }
                });
            },
            |a, b| a.extend(b),
        )
    };
    let open = ids(true, None)?;
    if open.is_empty() { Ok(open) } else { ids(false, Some(&open)) }
}

/// Where a range stands among those of its thread. Start/end ranges stand alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nesting {
    /// Index of the innermost range that encloses it.
    pub parent: Option<usize>,
    /// How many ranges enclose it.
    pub level: u32,
    /// How many ranges it is the parent of.
    pub children: u32,
    /// Their durations together.
    pub children_ns: i64,
}

/// Indices of what shares a thread, by start.
fn by_thread<T>(items: &[T], thread: impl Fn(&T) -> (u32, u32)) -> HashMap<(u32, u32), Vec<usize>> {
    let mut threads: HashMap<(u32, u32), Vec<usize>> = HashMap::new();
    for (i, item) in items.iter().enumerate() {
        threads.entry(thread(item)).or_default().push(i);
    }
    threads
}

/// How `ranges` (in order) nest. A range that outlasts the one it was opened in is a child of the next one out that
/// encloses it whole: push and pop cannot overlap in part, but PyTorch's spans can.
pub fn nesting(ranges: &[Range]) -> Vec<Nesting> {
    let mut nesting = vec![Nesting::default(); ranges.len()];
    for lane in by_thread(ranges, |r| (r.process, r.tid)).into_values() {
        let mut open: Vec<usize> = Vec::new();
        for i in lane {
            let range = &ranges[i];
            if !range.nests() {
                continue;
            }
            open.retain(|&o| ranges[o].last_ns() > range.start_ns);
            if let Some(&parent) = open.iter().rev().find(|&&o| ranges[o].encloses(range.start_ns, range.last_ns()))
            {
                nesting[i].parent = Some(parent);
                nesting[i].level = nesting[parent].level + 1;
                nesting[parent].children += 1;
                nesting[parent].children_ns += range.duration_ns().unwrap_or(0);
            }
            open.push(i);
        }
    }
    nesting
}

/// A call on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Ordinal of the process.
    pub process: u32,
    /// Thread id.
    pub tid: u32,
    /// Start, as in [`Range`].
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
}

/// Credits every span to all of `ranges` (in order) that were open on its thread from its start to its end: calls
/// `each(range, span)` with indices, for one span from the outermost range to the innermost.
pub fn credit(ranges: &[Range], spans: &[Span], mut each: impl FnMut(usize, usize)) {
    let mut threads: HashMap<(u32, u32), Vec<(i64, usize)>> =
        ranges.iter().map(|range| ((range.process, range.tid), Vec::new())).collect();
    for (i, span) in spans.iter().enumerate() {
        if let Some(lane) = threads.get_mut(&(span.process, span.tid)) {
            lane.push((span.start_ns, i));
        }
    }
    for (thread, lane) in by_thread(ranges, |r| (r.process, r.tid)) {
        let Some(mut calls) = threads.remove(&thread) else { continue };
        // Pieces of it are in order already, which a stable sort makes use of.
        calls.sort();
        let mut coming = lane.into_iter().peekable();
        let mut open: Vec<usize> = Vec::new();
        for (_, call) in calls {
            let span = &spans[call];
            while let Some(next) = coming.next_if(|&i| ranges[i].start_ns <= span.start_ns) {
                open.push(next);
            }
            open.retain(|&o| ranges[o].last_ns() >= span.start_ns);
            for &range in &open {
                if ranges[range].encloses(span.start_ns, span.end_ns) {
                    each(range, call);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(tid: u32, start_ns: i64, end_ns: Option<i64>, style: u32) -> Range {
        Range { start_ns, end_ns, process: 0, tid, style, domain: 0, name: 1, id: 0 }
    }

    fn parents(ranges: &[Range]) -> Vec<Option<usize>> {
        nesting(ranges).iter().map(|n| n.parent).collect()
    }

    #[test]
    fn only_direct_children_are_subtracted_from_a_range() {
        let ranges = [
            range(1, 0, Some(100), 0),
            range(1, 10, Some(60), 0),
            range(1, 20, Some(30), 0),
            range(1, 60, Some(100), 0),
            range(2, 61, Some(62), 0),
        ];
        let nesting = nesting(&ranges);
        assert_eq!(nesting[0], Nesting { parent: None, level: 0, children: 2, children_ns: 90 });
        assert_eq!(nesting[1], Nesting { parent: Some(0), level: 1, children: 1, children_ns: 10 });
        assert_eq!(nesting[2].level, 2);
        assert_eq!(nesting[4], Nesting::default());
    }

    #[test]
    fn a_range_that_outlasts_another_is_not_its_child() {
        let ranges = [range(1, 0, Some(100), 0), range(1, 10, Some(50), 0), range(1, 40, Some(60), 0)];
        assert_eq!(parents(&ranges), [None, Some(0), Some(0)]);
    }

    #[test]
    fn an_open_range_encloses_what_follows() {
        let ranges = [range(1, 0, None, 0), range(1, 10, Some(50), 0), range(1, 60, None, 0)];
        assert_eq!(parents(&ranges), [None, Some(0), Some(0)]);
        assert_eq!(nesting(&ranges)[0].children_ns, 40);
    }

    #[test]
    fn start_end_ranges_stand_alone() {
        let ranges = [range(1, 0, Some(100), 1), range(1, 10, Some(50), 0), range(1, 20, Some(30), 1)];
        assert_eq!(parents(&ranges), [None, None, None]);
    }

    #[test]
    fn a_call_counts_for_every_range_that_holds_it_whole() {
        let ranges = [
            range(1, 0, Some(100), 0),
            range(1, 0, Some(40), 0),
            range(1, 30, Some(90), 1),
            range(2, 0, Some(100), 0),
            range(1, 95, None, 0),
        ];
        let span = |start_ns, end_ns| Span { process: 0, tid: 1, start_ns, end_ns };
        // The last one was made after an open range began; the one before ends with the outer range.
        let spans = [span(35, 41), span(10, 40), span(92, 100), span(200, 210)];
        let mut credited = Vec::new();
        credit(&ranges, &spans, |range, call| credited.push((call, range)));
        credited.sort_unstable();
        assert_eq!(credited, [(0, 0), (0, 2), (1, 0), (1, 1), (2, 0), (3, 4)]);
    }

    #[test]
    fn a_long_chain_of_overlaps_stays_short_in_memory() {
        let ranges: Vec<Range> = (0..100_000).map(|i| range(1, i * 10, Some(i * 10 + 15), 0)).collect();
        assert!(parents(&ranges).iter().all(Option::is_none));
    }
}
