//! Where in the program each call was made: the stack of its thread and ranges, found by correlation id.

use super::{Frame, ROOT, Tree};
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::sink::valid_duration;
use hashbrown::HashMap;
use std::cmp::Reverse;
use trace_format::schema::Row;
use trace_format::tables::{self, ApiRow, RangeRow};
use trace_format::vocabulary::range_style::{ANNOTATION, OPERATOR, PUSH_POP, START_END};

/// Ids on one page of [`Sites`].
const PAGE: usize = 128;

/// The node of the call with each correlation id. Ids are counters, so a page of neighbours costs little more than
/// its values: about 4 bytes for a call, however it is spread over the trace.
#[derive(Default)]
pub(super) struct Sites(HashMap<(u32, u64), Box<[u32; PAGE]>>);

impl Sites {
    /// Finds all calls, not the selected ones alone: a filter chooses GPU work, its call may lie outside.
    pub(super) fn read(frames: &Frames, tree: &mut Tree) -> Result<Sites> {
        let mut reading = Reading { tree, sites: Sites::default(), threads: HashMap::new(), waiting: Vec::new() };
        frames.in_order(&[&tables::RANGE, &tables::API], &Filter::everything(), |chunk| {
            for (piece, i) in chunk.iter() {
                if piece.table() == &tables::API {
                    reading.call(piece.process, &ApiRow::from_batch(&piece.rows, i));
                } else {
                    let row = RangeRow::from_batch(&piece.rows, i);
                    reading.range(piece.process, &row, frames.offset_ns(piece.process));
                }
            }
            Ok(())
        })?;
        reading.place_calls();
        Ok(reading.sites)
    }

    /// The node of the call that made `correlation`, if it was recorded.
    pub(super) fn get(&self, process: u32, correlation: u64) -> Option<u32> {
        let page = self.0.get(&(process, correlation / PAGE as u64))?;
        let node = page[(correlation % PAGE as u64) as usize];
        (node != ROOT).then_some(node)
    }

    /// Of several calls with one id the first is the one the program made; the others were made by it.
    pub(super) fn set_first(&mut self, process: u32, correlation: u64, node: u32) {
        let page = self.0.entry((process, correlation / PAGE as u64)).or_insert_with(|| Box::new([ROOT; PAGE]));
        let slot = &mut page[(correlation % PAGE as u64) as usize];
        if *slot == ROOT {
            *slot = node;
        }
    }
}

/// A call that may have caused GPU work.
struct Call {
    process: u32,
    tid: u32,
    start_ns: i64,
    end_ns: i64,
    correlation: u64,
    name: u32,
}

struct Reading<'t> {
    tree: &'t mut Tree,
    sites: Sites,
    threads: HashMap<(u32, u32), OpenRanges>,
    /// Calls that begin now. A range that begins at the same time may come after them, so they wait for time to move.
    waiting: Vec<Call>,
}

impl Reading<'_> {
    fn call(&mut self, process: u32, row: &ApiRow) {
        let Some(duration_ns) = row.duration_ns.filter(|_| row.correlation != 0) else { return };
        self.move_to(row.start_ns);
        self.waiting.push(Call {
            process,
            tid: row.tid,
            start_ns: row.start_ns,
            end_ns: row.start_ns.saturating_add(duration_ns),
            correlation: row.correlation,
            name: row.name_id,
        });
    }

    /// Offset: what was added to the row's times.
    fn range(&mut self, process: u32, row: &RangeRow, offset_ns: i64) {
        // As `ranges::ranges` has it: no marks, no Python functions, no impossible times.
        let original = |ns: i64| ns.saturating_sub(offset_ns);
        let valid = row.end_ns.is_none_or(|end| valid_duration(original(row.start_ns), original(end)).is_some());
        if !valid || !matches!(row.style, PUSH_POP | START_END | OPERATOR | ANNOTATION) {
            return;
        }
        self.move_to(row.start_ns);
        let thread = self.threads.entry((process, row.tid)).or_default();
        thread.push(Open {
            start_ns: row.start_ns,
            end_ns: row.end_ns.unwrap_or(i64::MAX),
            tie: (row.range_id, row.style),
            domain: row.domain_id.unwrap_or(0),
            name: row.name_id,
        });
    }

    fn move_to(&mut self, now_ns: i64) {
        if self.waiting.first().is_some_and(|call| call.start_ns != now_ns) {
            self.place_calls();
        }
    }

    fn place_calls(&mut self) {
        for call in std::mem::take(&mut self.waiting) {
            let thread = self.threads.entry((call.process, call.tid)).or_default();
            let node = thread.path(self.tree, &call);
            let node = self.tree.child(node, Frame::Call(call.name));
            self.sites.set_first(call.process, call.correlation, node);
        }
    }
}

/// A range that has begun.
struct Open {
    start_ns: i64,
    end_ns: i64,
    /// Id and style: order those that begin and end together.
    tie: (u64, u32),
    domain: u32,
    name: u32,
}

impl Open {
    fn order(&self) -> (i64, Reverse<i64>, (u64, u32), u32, u32) {
        (self.start_ns, Reverse(self.end_ns), self.tie, self.domain, self.name)
    }
}

/// The ranges that are open on one thread, from the outermost to the innermost.
#[derive(Default)]
struct OpenRanges {
    open: Vec<Open>,
    /// The first end among them.
    first_end_ns: i64,
    /// The node of all of them, as long as none begins or ends.
    node: Option<u32>,
}

impl OpenRanges {
    fn push(&mut self, range: Open) {
        self.retire(range.start_ns);
        let at = self.open.partition_point(|other| other.order() <= range.order());
        self.open.insert(at, range);
        self.changed();
    }

    /// Forgets what ended before `now_ns`.
    fn retire(&mut self, now_ns: i64) {
        if !self.open.is_empty() && self.first_end_ns < now_ns {
            self.open.retain(|range| range.end_ns >= now_ns);
            self.changed();
        }
    }

    fn changed(&mut self) {
        self.first_end_ns = self.open.iter().map(|range| range.end_ns).min().unwrap_or(i64::MAX);
        self.node = None;
    }

    /// The node of the thread and its ranges that hold the call whole.
    fn path(&mut self, tree: &mut Tree, call: &Call) -> u32 {
        self.retire(call.start_ns);
        let whole = self.open.is_empty() || call.end_ns <= self.first_end_ns;
        if let Some(node) = self.node.filter(|_| whole) {
            return node;
        }
        let process = tree.child(ROOT, Frame::Process(call.process));
        let mut node = tree.child(process, Frame::Thread { process: call.process, tid: call.tid });
        for range in self.open.iter().filter(|range| call.end_ns <= range.end_ns) {
            node = tree.child(node, Frame::Range { domain: range.domain, name: range.name });
        }
        if whole {
            self.node = Some(node);
        }
        node
    }
}
