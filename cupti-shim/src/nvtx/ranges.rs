//! From calls to ranges: the writer thread's half.

use std::collections::BTreeMap;

use trace_format::schema::RowBuilder as _;
use trace_format::tables::range::RangeBuilder;
use trace_format::tables::{NoteRow, RangeRow, ThreadRow};
use trace_format::vocabulary::range_style::{MARK, PUSH_POP, START_END};

use super::event::{Event, EventKind, Payload, UNTRACKED};

/// A range that has been open for longer is written before it ends: the one that hung is the one people want.
const PATIENCE_NS: i64 = 1_000_000_000;

/// Ranges open at once; of more, the oldest are written as open and forgotten. 65,536 are 6 MB.
const MAX_OPEN: usize = 65_536;
/// How many are forgotten then, so that looking for the oldest is paid once in so many.
const FORGET: usize = MAX_OPEN / 8;

/// Stacks of threads and domains that are kept although nothing is open in them.
const MAX_IDLE_STACKS: usize = 4_096;
/// Names of threads and categories that are remembered, so that a program which repeats them each step writes them once.
const MAX_NAMES: usize = 16_384;

/// What the program named, apart from ranges.
#[derive(Clone, Debug, PartialEq)]
pub enum Named {
    /// A row of `thread`.
    Thread(ThreadRow),
    /// A row of `note`: a category of a domain.
    Category(NoteRow),
    /// An object of CUDA, known by the program's handle; CUPTI knows what id that is.
    Object {
        /// What it is.
        object: Object,
        /// String id of the name.
        name_id: u32,
        /// The same as a sentence, for those who do not know the handle.
        note: NoteRow,
    },
}

/// An object of CUDA that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    /// Device number.
    Device(i32),
    /// `CUcontext`.
    Context(u64),
    /// `CUstream` or `cudaStream_t`, which are one.
    Stream(u64),
    /// `CUevent` or `cudaEvent_t`, which are one.
    Event(u64),
}

/// How ranges fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeCounts {
    /// Ranges and marks that came to an end, each one row.
    pub ended: u64,
    /// Rows of ranges that were still open; most have a second row by now, counted in `ended`.
    pub open_rows: u64,
    /// Ranges whose end will never come: it was lost, the thread ended without it, or too many were open.
    pub without_end: u64,
    /// Ends whose beginning was lost or forgotten.
    pub without_start: u64,
}

/// A range without an end yet.
#[derive(Clone, Copy)]
struct Open {
    row: Row,
    level: u16,
    serial: u32,
    /// Its row with a null end is in the file.
    written: bool,
}

/// [`RangeRow`], as bytes to copy.
#[derive(Clone, Copy)]
struct Row {
    start_ns: i64,
    range_id: u64,
    payload: Payload,
    domain: u32,
    name: u32,
    category: u32,
    color: Option<u32>,
    tid: u32,
    style: u32,
}

impl Row {
    fn of(event: &Event, style: u32, range_id: u64) -> Row {
        Row {
            start_ns: event.time_ns,
            range_id,
            payload: event.payload,
            domain: event.domain,
            name: event.name,
            category: event.category,
            color: event.color,
            tid: event.tid,
            style,
        }
    }

    fn push(&self, end_ns: Option<i64>, out: &mut RangeBuilder) {
        let nonzero = |id: u32| (id != 0).then_some(id);
        let (payload_i64, payload_f64) = match self.payload {
            Payload::None => (None, None),
            Payload::Int(value) => (Some(value), None),
            Payload::Float(value) => (None, Some(value)),
        };
        out.push(RangeRow {
            start_ns: self.start_ns,
            end_ns,
            style: self.style,
            range_id: self.range_id,
            domain_id: nonzero(self.domain),
            name_id: self.name,
            category: nonzero(self.category),
            color: self.color,
            payload_i64,
            payload_f64,
            tid: self.tid,
        });
    }
}

/// Pairs beginnings with ends.
///
/// Times of events are on the clock of the trace by the time they come here. Bounded, whatever the program does:
/// never ends, ends twice, ends what it did not begin, loses its threads.
#[derive(Default)]
pub struct Ranges {
    /// Ranges that are open, by thread and domain.
    stacks: BTreeMap<(u32, u32), Vec<Open>>,
    /// Ranges that were started, by the program's range id.
    started: BTreeMap<u64, Open>,
    /// Number of stacks at which the empty ones go.
    tidy_at: usize,
    open: usize,
    /// Open and not yet written: while 0, there is nothing to look for.
    unwritten: usize,
    newest_id: u64,
    named: Vec<Named>,
    thread_names: BTreeMap<u32, u32>,
    category_names: BTreeMap<(u32, u32), u32>,
    object_names: BTreeMap<Object, u32>,
    counts: RangeCounts,
}

impl Ranges {
    /// Nothing is open.
    pub fn new() -> Ranges {
        Ranges::default()
    }

    /// Takes one call; a range or mark that is complete becomes a row.
    pub fn event(&mut self, event: Event, out: &mut RangeBuilder) {
        match event.kind {
            EventKind::Push => self.push(&event, out),
            EventKind::Pop => self.pop(&event, out),
            EventKind::Start => {
                let open = self.begin(&event, START_END, out);
                if let Some(same) = self.started.insert(event.pair, open) {
                    // The ids come from another tool, and it gave the same id twice.
                    self.abandon(same, out);
                }
            }
            EventKind::End => match self.started.remove(&event.pair) {
                Some(open) => self.end(open, event.time_ns, out),
                None => self.counts.without_start += 1,
            },
            EventKind::Mark => {
                let id = self.next_id();
                Row::of(&event, MARK, id).push(None, out);
                self.counts.ended += 1;
            }
            EventKind::Thread => {
                if remember(&mut self.thread_names, event.tid, event.name) {
                    self.named.push(Named::Thread(ThreadRow { tid: event.tid, name_id: event.name }));
                }
            }
            EventKind::Category => {
                if remember(&mut self.category_names, (event.domain_key, event.category), event.name) {
                    let note = NoteRow { start_ns: Some(event.time_ns), text_id: event.name, detail_id: None };
                    self.named.push(Named::Category(note));
                }
            }
            EventKind::Device => self.name(Object::Device(event.pair as i32), &event),
            EventKind::Context => self.name(Object::Context(event.pair), &event),
            EventKind::Stream => self.name(Object::Stream(event.pair), &event),
            EventKind::CudaEvent => self.name(Object::Event(event.pair), &event),
        }
    }

    fn name(&mut self, object: Object, event: &Event) {
        if remember(&mut self.object_names, object, event.name) {
            let note = NoteRow { start_ns: Some(event.time_ns), text_id: event.category, detail_id: None };
            self.named.push(Named::Object { object, name_id: event.name, note });
        }
    }

    fn next_id(&mut self) -> u64 {
        self.newest_id += 1;
        self.newest_id
    }

    fn begin(&mut self, event: &Event, style: u32, out: &mut RangeBuilder) -> Open {
        if self.open >= MAX_OPEN {
            self.forget_oldest(out);
        }
        self.open += 1;
        self.unwritten += 1;
        let range_id = self.next_id();
        Open { row: Row::of(event, style, range_id), level: event.level(), serial: event.serial(), written: false }
    }

    fn left(&mut self, open: &Open) {
        self.open -= 1;
        self.unwritten -= usize::from(!open.written);
    }

    fn end(&mut self, open: Open, end_ns: i64, out: &mut RangeBuilder) {
        self.left(&open);
        open.row.push(Some(end_ns), out);
        self.counts.ended += 1;
    }

    /// Gives up on an end.
    fn abandon(&mut self, open: Open, out: &mut RangeBuilder) {
        self.left(&open);
        self.counts.without_end += 1;
        if !open.written {
            open.row.push(None, out);
            self.counts.open_rows += 1;
        }
    }

    fn push(&mut self, event: &Event, out: &mut RangeBuilder) {
        if self.stacks.len() > self.tidy_at.max(MAX_IDLE_STACKS) {
            self.stacks.retain(|_, stack| !stack.is_empty());
            // Clean up again only when there are twice as many stacks as remained now, so that searching all of them
            // stays rare.
            self.tidy_at = 2 * self.stacks.len();
        }
        let key = (event.tid, event.domain_key);
        let mut open = self.begin(event, PUSH_POP, out);
        let newest = self.stacks.entry(key).or_default().last().map(|o| o.level);
        if open.level == UNTRACKED {
            open.level = newest.map_or(0, |level| level.saturating_add(1));
        }
        // Whatever is as deep as this or deeper has ended: its end was lost, or it belonged to an earlier thread
        // that had the same id.
        self.abandon_from(key, open.level, out);
        self.stacks.entry(key).or_default().push(open);
    }

    /// Gives up on the ranges of a stack from a level on.
    fn abandon_from(&mut self, key: (u32, u32), level: u16, out: &mut RangeBuilder) {
        while let Some(stack) = self.stacks.get_mut(&key)
            && stack.last().is_some_and(|open| open.level >= level)
            && let Some(open) = stack.pop()
        {
            self.abandon(open, out);
        }
    }

    fn pop(&mut self, event: &Event, out: &mut RangeBuilder) {
        let key = (event.tid, event.domain_key);
        if event.level() != UNTRACKED {
            self.abandon_from(key, event.level().saturating_add(1), out);
        }
        let newest = self.stacks.get_mut(&key).and_then(Vec::pop);
        match newest {
            // Untracked ones have serial 0 on both sides.
            Some(open) if open.serial == event.serial() => self.end(open, event.time_ns, out),
            Some(open) if open.level < event.level() && event.level() != UNTRACKED || event.serial() == 0 => {
                // The beginning was lost; what is open lies around it.
                self.stacks.entry(key).or_default().push(open);
                self.counts.without_start += 1;
            }
            Some(open) => {
                // Same level, another range: its end was lost, and so was the beginning of the one that ends.
                self.abandon(open, out);
                self.counts.without_start += 1;
            }
            None => self.counts.without_start += 1,
        }
    }

    /// Writes what has been open for long, once; what ends later gets a second row with the same id.
    pub fn open_since(&mut self, now_ns: i64, out: &mut RangeBuilder) {
        if self.unwritten > 0 {
            self.write_open(now_ns.saturating_sub(PATIENCE_NS), out);
        }
    }

    /// Writes what is still open, with a null end.
    pub fn finish(&mut self, out: &mut RangeBuilder) {
        self.write_open(i64::MAX, out);
    }

    fn write_open(&mut self, started_before_ns: i64, out: &mut RangeBuilder) {
        for open in self.stacks.values_mut().flatten().chain(self.started.values_mut()) {
            if !open.written && open.row.start_ns < started_before_ns {
                open.written = true;
                open.row.push(None, out);
                self.unwritten -= 1;
                self.counts.open_rows += 1;
            }
        }
    }

    #[cold]
    fn forget_oldest(&mut self, out: &mut RangeBuilder) {
        let nested = self.stacks.values().flatten().map(|open| open.row.range_id);
        let mut ids: Vec<u64> = nested.chain(self.started.values().map(|open| open.row.range_id)).collect();
        let at = FORGET.min(ids.len().saturating_sub(1));
        // Ids are given in the order in which ranges begin.
        let newest_forgotten = *ids.select_nth_unstable(at).1;
        let mut forgotten = Vec::new();
        for stack in self.stacks.values_mut() {
            forgotten.extend(stack.extract_if(.., |open| open.row.range_id <= newest_forgotten));
        }
        let old = self.started.extract_if(.., |_, open| open.row.range_id <= newest_forgotten);
        forgotten.extend(old.map(|(_, open)| open));
        for open in forgotten {
            self.abandon(open, out);
        }
    }

    /// What was named since this was last asked.
    pub fn take_named(&mut self) -> Vec<Named> {
        std::mem::take(&mut self.named)
    }

    /// How many ranges are open.
    pub fn open(&self) -> usize {
        self.open
    }

    /// How ranges fared so far. At the end, `open` of them have no end either.
    pub fn counts(&self) -> RangeCounts {
        self.counts
    }
}

/// Remembers a name; false where it is the one that was known.
fn remember<K: Ord>(names: &mut BTreeMap<K, u32>, key: K, name: u32) -> bool {
    if names.len() >= MAX_NAMES {
        names.clear();
    }
    names.insert(key, name) != Some(name)
}

#[cfg(test)]
mod tests;
