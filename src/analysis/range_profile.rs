//! Ranges of a CPU by name: how long in them, and how long in them and in nothing inside them. For traces that hold
//! functions and annotations of a program and no GPU work.

use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::sink::valid_duration;
use hashbrown::HashMap;
use std::cmp::Reverse;
use trace_format::tables;
use trace_format::tables::column::range;

/// All ranges of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedRanges {
    /// Name id.
    pub name: u32,
    /// How many.
    pub calls: u64,
    /// Time in them; ranges inside others of the same name count once.
    pub total_ns: u128,
    /// Time in them and in no range inside them.
    pub own_ns: u128,
}

/// Styles of operators, annotations and Python functions, which nest on their thread.
const NESTING: std::ops::RangeInclusive<u32> = 3..=5;

struct Item {
    process: u32,
    tid: u32,
    start_ns: i64,
    end_ns: i64,
    id: u64,
    name: u32,
}

/// The selected operators, annotations and Python functions by name, in no particular order.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn range_profile(frames: &Frames, filter: &Filter) -> Result<Vec<NamedRanges>> {
    let mut items = frames.fold(
        &tables::RANGE,
        &[range::START_NS, range::END_NS, range::STYLE, range::RANGE_ID, range::NAME_ID, range::TID],
        filter,
        Vec::new,
        |out: &mut Vec<Item>, batch| {
            let (start, end, id) =
                (batch.get(range::START_NS), batch.get(range::END_NS), batch.get(range::RANGE_ID));
            let (style, name, tid) = (batch.get(range::STYLE), batch.get(range::NAME_ID), batch.get(range::TID));
            batch.for_each_row(|i| {
                let (Some(start_ns), Some(end_ns)) = (start.get(i), end.get(i)) else { return };
                let nests = style.get(i).is_some_and(|style| NESTING.contains(&style));
                if !nests || ((start_ns, end_ns) != (0, 0) && valid_duration(start_ns, end_ns).is_none()) {
                    return;
                }
                out.push(Item {
                    process: batch.process,
                    tid: tid.get(i).unwrap_or(0),
                    start_ns,
                    end_ns,
                    id: id.get(i).unwrap_or(0),
                    name: name.get(i).unwrap_or(0),
                });
            });
        },
        |a, mut b| a.append(&mut b),
    )?;
    // Of ranges with equal times, the one that was begun first encloses the others.
    items.sort_unstable_by_key(|r| (r.process, r.tid, r.start_ns, Reverse(r.end_ns), r.id, r.name));
    let mut sweep = Sweep::default();
    for item in &items {
        sweep.take(item);
    }
    sweep.close_until(None);
    Ok(sweep.rows)
}

/// A range that encloses what comes next.
struct Open {
    row: usize,
    end_ns: i64,
    own_ns: i128,
}

#[derive(Default)]
struct Sweep {
    rows: Vec<NamedRanges>,
    index: HashMap<u32, usize>,
    /// How many ranges of each row are open.
    nested: Vec<u32>,
    open: Vec<Open>,
    thread: Option<(u32, u32)>,
}

impl Sweep {
    fn take(&mut self, item: &Item) {
        let thread = Some((item.process, item.tid));
        let same = self.thread == thread;
        self.thread = thread;
        self.close_until(same.then_some(item.start_ns));
        let duration = i128::from(item.end_ns) - i128::from(item.start_ns);
        if let Some(parent) = self.open.last_mut() {
            // What reaches beyond its parent is inside it only as far as the parent goes.
            parent.own_ns -= duration.min(i128::from(parent.end_ns) - i128::from(item.start_ns));
        }
        let next = self.rows.len();
        let row = *self.index.entry(item.name).or_insert(next);
        if row == next {
            self.rows.push(NamedRanges { name: item.name, ..NamedRanges::default() });
            self.nested.push(0);
        }
        self.rows[row].calls += 1;
        if self.nested[row] == 0 {
            self.rows[row].total_ns += duration.unsigned_abs();
        }
        self.nested[row] += 1;
        self.open.push(Open { row, end_ns: item.end_ns, own_ns: duration });
    }

    /// Closes what ends by then; everything if `None`.
    fn close_until(&mut self, time: Option<i64>) {
        while let Some(open) = self.open.pop_if(|open| time.is_none_or(|time| open.end_ns <= time)) {
            self.rows[open.row].own_ns += open.own_ns.max(0).unsigned_abs();
            self.nested[open.row] -= 1;
        }
    }
}
