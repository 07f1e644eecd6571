//! The writer thread's work: blocks, NVTX calls and messages in, frames out.

use std::borrow::Cow;
use std::sync::atomic::Ordering;

use serde_json::Value;
use trace_format::columns::Batch;
use trace_format::schema::{Row as _, RowBuilder};
use trace_format::tables::capture::CaptureBuilder;
use trace_format::tables::clock::ClockBuilder;
use trace_format::tables::note::NoteBuilder;
use trace_format::tables::range::RangeBuilder;
use trace_format::tables::thread::ThreadBuilder;
use trace_format::tables::{NoteRow, RangeRow};
use trace_format::vocabulary::range_style::MARK;
use trace_format::write::Segments;

use super::dumps::{Flight, LOOK_NS};
use super::launches::Launches;
use super::losses::{Losses, Window};
use super::obstacle::{Obstacle, SIZE_LIMIT};
use super::pace::Pace;
use super::shared::{Completed, Shared};
use super::sources::Sources;
use super::strings::{CallName, Strings};
use super::totals::Totals;
use super::trace::{Trace, TraceOutput};
use crate::buffers::Dry;
use crate::clock::Triple;
use crate::correlation::Correlation;
use crate::decode::{CALL_BYTES, Decoder, Facts, duration, record_of_call};
use crate::messages::{Adjustment, Cause, Message};
use crate::nvtx::{self, Event, Named, Ranges};
use crate::strides::Strides;
use crate::{calls, gate};

/// Rows that fill a frame. Encoding a row of a mixed trace costs 105 ns with 8,192 rows a frame, 81 with 16,384, 78 with
/// 32,768 (`benches/collector`); more rows only cost memory.
pub(super) const FRAME_ROWS: usize = 16_384;
/// Blocks between two looks at the messages.
const BLOCKS_AT_ONCE: usize = 16;
/// API calls that are decoded together, and between two looks at anything else: as many as fill a block.
const CALLS_AT_ONCE: usize = 13_107;
/// NVTX calls between two looks at anything else.
const EVENTS_AT_ONCE: usize = nvtx::CAPACITY;
/// NVTX calls that wait for CUPTI's clock to settle, at most (6 MB). A program that makes more in so short a time has the
/// times that the clock gives.
const EARLY_EVENTS: usize = 65_536;

/// Which records and ranges belong into the trace.
pub(super) trait Keep {
    /// Takes the windows as they are now.
    fn refresh(&mut self);
    /// Whether a record belongs.
    fn keeps(&self, facts: &Facts) -> bool;
    /// Whether a range belongs.
    fn keeps_range(&self, start_ns: i64, end_ns: Option<i64>) -> bool;
    /// How far the counter of correlation ids has come.
    fn seen(&self, counter: Correlation);
    /// Records of the program that lay outside all windows, so far.
    fn outside(&self) -> u64;
    /// Records of the program by what they are of, so far.
    fn seen_of_program(&self) -> gate::Seen {
        gate::Seen::default()
    }
}

impl Keep for gate::Filter {
    fn refresh(&mut self) {
        gate::Filter::refresh(self);
    }
    fn keeps(&self, facts: &Facts) -> bool {
        gate::Filter::keeps(self, facts)
    }
    fn keeps_range(&self, start_ns: i64, end_ns: Option<i64>) -> bool {
        gate::Filter::keeps_range(self, start_ns, end_ns)
    }
    fn seen(&self, counter: Correlation) {
        gate::Filter::seen(self, counter);
    }
    fn outside(&self) -> u64 {
        gate::Filter::outside(self)
    }
    fn seen_of_program(&self) -> gate::Seen {
        gate::Filter::seen_of_program(self)
    }
}

/// What the user has set, as far as it concerns the writer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub flush_ns: i64,
    /// 0: the disk may be filled.
    pub min_free_percent: u64,
    pub fsync: bool,
}

/// What one turn of the writer's loop found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// There may be more at once.
    Busy,
    /// Nothing to do for so long, unless somebody calls.
    Idle(i64),
    /// The file is closed.
    Closed,
}

/// Rows about the recording itself that wait to be written.
#[derive(Default)]
pub(super) struct Meta {
    pub clocks: ClockBuilder,
    pub captures: CaptureBuilder,
    pub notes: NoteBuilder,
    pub threads: ThreadBuilder,
    pub process: Option<Value>,
    pub losses: Losses,
}

impl Meta {
    fn is_empty(&self) -> bool {
        self.clocks.is_empty()
            && self.captures.is_empty()
            && self.notes.is_empty()
            && self.threads.is_empty()
            && self.process.is_none()
            && self.losses.is_empty()
    }
}

/// One recording on its way to a file.
pub(super) struct Recorder<S: Segments, K> {
    pub(super) shared: &'static Shared,
    pub(super) trace: Trace<S>,
    pub(super) limits: Limits,
    pub(super) decoder: Decoder,
    pub(super) strings: Strings,
    pub(super) ranges: Ranges,
    pub(super) range_rows: RangeBuilder,
    pub(super) launches: Launches,
    pub(super) meta: Meta,
    pub(super) totals: Totals,
    pub(super) obstacle: Option<Obstacle>,
    /// Definitions that could not be written yet. What refers to them must not be written before.
    pub(super) definitions: Vec<Batch>,
    pub(super) scratch: Vec<Batch>,
    /// Records of API calls, on their way through [`Recorder::take_calls`].
    heard: Vec<u8>,
    pub(super) checked: Checked,
    /// Obstacles have been mentioned on standard error.
    pub(super) complained: bool,
    pub(super) later: LossPatience,
    keep: K,
    pub(super) sources: Sources,
    pub(super) pace: Pace,
    /// With a ring: what asks for dumps of it.
    pub(super) flight: Option<Flight>,
    clock: Option<Triple>,
    /// NVTX calls whose times cannot be put on the trace's clock yet, because that has not settled.
    early: Vec<Event>,
    pub(super) dry: Option<(Dry, u32)>,
    pub(super) names_refused: u64,
    excluded_told: u64,
    /// When the trace was begun, monotonic.
    pub(super) began_ns: i64,
    pub(super) closed: bool,
}

/// When the disk was last looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Checked {
    pub at_ns: i64,
    pub at_bytes: u64,
}

/// How often losses are written while nothing else can be: the room for such rows is limited too.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossPatience {
    pub next_ns: i64,
    pub step_ns: i64,
}

impl<S: Segments, K: Keep> Recorder<S, K>
where
    S::Output: TraceOutput,
{
    pub(super) fn new(
        shared: &'static Shared,
        trace: Trace<S>,
        limits: Limits,
        strides: Strides,
        keep: K,
        sources: Sources,
        call_name: CallName,
    ) -> Self {
        Recorder {
            shared,
            trace,
            limits,
            decoder: Decoder::new(strides),
            strings: Strings::new(shared.names, call_name),
            ranges: Ranges::new(),
            range_rows: RangeBuilder::default(),
            launches: Launches::default(),
            meta: Meta::default(),
            totals: Totals::default(),
            obstacle: None,
            definitions: Vec::new(),
            scratch: Vec::new(),
            heard: Vec::new(),
            checked: Checked::default(),
            complained: false,
            later: LossPatience::default(),
            keep,
            sources,
            pace: Pace::new(limits.flush_ns, 0),
            flight: None,
            clock: None,
            early: Vec::new(),
            dry: None,
            names_refused: 0,
            excluded_told: 0,
            began_ns: 0,
            closed: false,
        }
    }

    /// Facts about the process, and the first reading of the clocks: written at once. `began_ns`: when the recording
    /// began, monotonic.
    pub(super) fn begin(&mut self, process: Value, clock: Option<Triple>, began_ns: i64) {
        self.began_ns = began_ns;
        self.pace = Pace::new(self.limits.flush_ns, began_ns);
        self.trace.at(began_ns);
        self.meta.process = Some(process);
        // At the limit itself no string is accepted any more, and the row that tells of it needs this one.
        self.strings.text_id(SIZE_LIMIT.into());
        if let Some(triple) = clock {
            self.clock(triple);
        }
        self.write_all(began_ns);
    }

    /// Does what there is to do, a bounded part of it at a time. `now_ns`: monotonic.
    pub(super) fn turn(&mut self, now_ns: i64) -> Turn {
        self.trace.at(now_ns);
        self.lift_obstacle(now_ns);
        let blocks = self.take_blocks(BLOCKS_AT_ONCE, now_ns);
        let calls = self.take_calls(now_ns);
        let events = self.take_events(false, now_ns);
        self.take_launches(now_ns);
        while let Some(message) = self.shared.next_message() {
            self.message(message, now_ns);
            if self.closed {
                return Turn::Closed;
            }
        }
        // Also when there is no end of work: losses and clocks must be told.
        if self.pace.is_due(now_ns, self.pending()) {
            self.tick(now_ns);
        }
        self.publish();
        self.ask_for_dumps();
        self.make_dumps(now_ns, now_ns);
        if blocks == BLOCKS_AT_ONCE || calls == CALLS_AT_ONCE || events == EVENTS_AT_ONCE {
            return Turn::Busy;
        }
        let waits = self.flight.as_ref().is_some_and(|flight| flight.requests.are_waiting());
        let most_ns = if waits { LOOK_NS } else { i64::MAX };
        Turn::Idle(self.pace.left_ns(now_ns, self.pending()).max(1_000_000).min(most_ns))
    }

    /// Tells whoever asks how far we are.
    fn publish(&self) {
        let (progress, totals, seen) = (&self.shared.progress, &self.totals, self.keep.seen_of_program());
        for (number, value) in [
            (&progress.written, totals.written()),
            (&progress.excluded, totals.excluded),
            (&progress.activity, totals.activity),
            (&progress.outside, self.keep.outside()),
            (&progress.lost, totals.lost),
            (&progress.ranges, totals.ranges_written),
            (&progress.bytes, self.trace.bytes()),
            (&progress.devices, self.decoder.devices()),
            (&progress.work, seen.work),
            (&progress.runtime_calls, seen.runtime),
            (&progress.driver_calls, seen.driver),
        ] {
            number.store(value, Ordering::Relaxed);
        }
    }

    fn adjust(&mut self, adjustment: Adjustment) {
        self.limits.flush_ns = i64::try_from(adjustment.flush_ms).unwrap_or(500).saturating_mul(1_000_000);
        self.limits.min_free_percent = adjustment.min_free_percent;
        self.limits.fsync = adjustment.fsync;
        self.pace.set_base(self.limits.flush_ns);
        self.trace.set_limit(adjustment.limit_bytes);
        // What the old limits refused may find room now; if not, that is noticed at once.
        if self.obstacle.as_ref().is_some_and(|o| o.retry_ns.is_some() || o.cause == Cause::SizeLimit) {
            self.obstacle = None;
            self.checked = Checked::default();
        }
    }

    /// Rows that wait.
    fn pending(&self) -> usize {
        let meta = usize::from(!self.meta.is_empty());
        self.decoder.tables.rows_pending() + self.range_rows.len() + self.launches.len() + self.strings.len() + meta
    }

    /// What is done every interval.
    pub(super) fn tick(&mut self, now_ns: i64) {
        if let Some(triple) = self.clock {
            let now_trace_ns = crate::sys::realtime_ns().saturating_add(triple.trace_minus_unix_ns());
            self.ranges.open_since(now_trace_ns, &mut self.range_rows);
        }
        self.collect_losses(false);
        self.account_for_ring();
        let progress = self.progress(now_ns);
        if let Some(flight) = &mut self.flight {
            flight.rules.tick(progress);
        }
        let rows = self.pending();
        self.write_all(now_ns);
        if self.limits.fsync {
            let _ = self.trace.output().sync_data();
        }
        self.shared.pool.trim();
        self.pace.wrote(now_ns, rows);
    }

    /// Decodes up to `most` blocks; returns how many there were.
    fn take_blocks(&mut self, most: usize, now_ns: i64) -> usize {
        for taken in 0..most {
            let Some(block) = self.shared.next_block() else { return taken };
            self.block(&block, now_ns);
            self.shared.pool.give_back(block.ptr, block.valid_bytes);
            self.write_what_is_full(now_ns);
        }
        most
    }

    /// Decodes API calls of which the records are made here; returns how many there were.
    fn take_calls(&mut self, now_ns: i64) -> usize {
        let (mut records, mut taken) = (std::mem::take(&mut self.heard), 0);
        while taken < CALLS_AT_ONCE
            && let Some(call) = (self.sources.pop_call)()
        {
            records.extend_from_slice(&record_of_call(&call));
            taken += 1;
        }
        if taken > 0 {
            self.totals.heard += taken as u64;
            // All of them were made before the windows are looked at, so that none lies in a window not known yet.
            self.records(&records, now_ns);
            self.write_what_is_full(now_ns);
        }
        records.clear();
        self.heard = records;
        taken
    }

    fn write_what_is_full(&mut self, now_ns: i64) {
        if self.decoder.tables.most_pending() >= FRAME_ROWS || self.strings.are_many() {
            self.write_full(now_ns);
        }
    }

    fn block(&mut self, block: &Completed, now_ns: i64) {
        // SAFETY: the completed callback queued this block with that many valid bytes, and nobody else touches it
        // before it is given back.
        let bytes = unsafe { std::slice::from_raw_parts(block.ptr, block.valid_bytes) };
        if block.is_own {
            self.totals.heard += (bytes.len() / CALL_BYTES) as u64;
        }
        self.records(bytes, now_ns);
    }

    /// Takes a row of records, as CUPTI lays them out.
    fn records(&mut self, bytes: &[u8], now_ns: i64) {
        // The names that they refer to were interned before they were queued.
        self.drain_names();
        self.judge_block(bytes, now_ns);
        let hidden = self.flight.as_ref().map_or([0; 2], |flight| flight.hidden);
        self.keep.refresh();
        let (mut refused, mut window) = (0, Window::EMPTY);
        let (keep, blocked) = (&self.keep, self.obstacle.is_some());
        let walk = self.decoder.block(bytes, &mut self.strings, &mut |facts| {
            let keeps = keep.keeps(facts) && !hidden.contains(&facts.kind);
            if keeps && blocked {
                refused += 1;
                if duration(facts.start_ns as u64, facts.end_ns as u64).is_some() {
                    window.add(facts.start_ns, facts.end_ns);
                }
                return false;
            }
            keeps
        });
        self.keep.seen(self.decoder.correlation());
        let unknown = u64::from(walk.unknown_bytes > 0);
        self.totals.delivered += walk.records + unknown;
        self.totals.excluded += walk.excluded - refused + walk.ignored;
        self.totals.ignored += walk.ignored;
        if refused > 0 {
            self.lose(refused, window);
        }
        if unknown > 0 {
            self.totals.lost += unknown;
            self.totals.unknown_bytes += walk.unknown_bytes as u64;
            let detail = match walk.unknown_kind {
                Some(kind) => format!("kind {kind}; what lies behind it in its buffer is lost with it").into(),
                None => Cow::from("a record that is cut off"),
            };
            let mut window = Window::EMPTY;
            window.add(walk.first_ns, walk.last_ns);
            self.meta.losses.add(Cause::UnknownKind, Some(detail), unknown, window);
        }
    }

    /// Records that the obstacle at hand costs.
    pub(super) fn lose(&mut self, records: u64, window: Window) {
        self.totals.lost += records;
        let (cause, detail) = match &self.obstacle {
            Some(obstacle) => (obstacle.cause, Some(obstacle.detail.clone())),
            None => (Cause::DiskFull, None),
        };
        self.meta.losses.add(cause, detail, records, window);
    }

    /// Takes NVTX calls. `at_once`: whether their times are put on the trace's clock as far as that is known now.
    fn take_events(&mut self, at_once: bool, now_ns: i64) -> usize {
        let has_settled = at_once || self.clock.is_none_or(|clock| !clock.provisional);
        let mut count = 0;
        if has_settled || self.early.len() >= EARLY_EVENTS {
            count += self.early.len();
            std::mem::take(&mut self.early).into_iter().for_each(|event| self.event(event));
        }
        let mut taken = 0;
        while taken < EVENTS_AT_ONCE
            && let Some(event) = (self.sources.pop_event)()
        {
            match has_settled {
                true => self.event(event),
                false => self.early.push(event),
            }
            taken += 1;
        }
        count += taken;
        if count == 0 {
            return 0;
        }
        // After the last of them, so that each one's names are there.
        self.drain_names();
        for named in self.ranges.take_named() {
            match named {
                Named::Thread(row) => self.meta.threads.push(row),
                Named::Category(row) => self.meta.notes.push(row),
                // Other rows know the object by CUPTI's id, which nobody has asked CUPTI for yet; the note tells a person.
                Named::Object { note, .. } => self.meta.notes.push(note),
            }
        }
        if self.range_rows.len() >= FRAME_ROWS {
            self.write_ranges(now_ns);
        }
        taken
    }

    fn event(&mut self, event: Event) {
        let time_ns = self.trace_ns(event.time_ns);
        self.ranges.event(Event { time_ns, ..event }, &mut self.range_rows);
    }

    /// A CLOCK_REALTIME time on the trace's clock.
    pub(super) fn trace_ns(&self, unix_ns: i64) -> i64 {
        unix_ns.saturating_add(self.clock.map_or(0, |c| c.trace_minus_unix_ns()))
    }

    fn clock(&mut self, triple: Triple) {
        self.meta.clocks.push(triple.row());
        self.clock = Some(triple);
    }

    fn message(&mut self, message: Message, now_ns: i64) {
        match message {
            Message::Clock(triple) => self.clock(triple),
            Message::Capture(mut row) => {
                let excluded = self.totals.excluded - self.totals.ignored;
                row.excluded_rows = i64::try_from(excluded - self.excluded_told).unwrap_or(i64::MAX);
                self.excluded_told = excluded;
                self.meta.captures.push(row);
            }
            Message::Loss(loss) => self.told_of_loss(loss),
            Message::Note { start_ns, text } => {
                let text_id = self.strings.text_id(text);
                self.meta.notes.push(NoteRow { start_ns, text_id, detail_id: None });
            }
            Message::Mark { start_ns, text, detail } => {
                let text_id = self.strings.text_id(text.into());
                let detail_id = detail.map(|detail| self.strings.text_id(detail.into()));
                self.meta.notes.push(NoteRow { start_ns: Some(start_ns), text_id, detail_id });
            }
            Message::Adjust(adjustment) => self.adjust(adjustment),
            Message::Process(value) => self.meta.process = Some(value),
            Message::Flushed => self.pace.flushed(now_ns),
            Message::Flush { ticket } => {
                self.catch_up(now_ns);
                self.tick(now_ns);
                self.publish();
                self.shared.answer(ticket);
            }
            Message::Close { ticket, reason } => {
                self.catch_up(now_ns);
                self.close(reason, now_ns);
                self.shared.answer(ticket);
            }
        }
    }

    /// Takes everything that is queued now, and no more: what comes meanwhile could come for ever.
    pub(super) fn catch_up(&mut self, now_ns: i64) {
        self.take_blocks(self.shared.blocks_waiting(), now_ns);
        let _ = (0..=calls::CAPACITY / CALLS_AT_ONCE).any(|_| self.take_calls(now_ns) < CALLS_AT_ONCE);
        self.take_events(true, now_ns);
        self.take_launches(now_ns);
    }

    /// Rows of ranges that belong into the trace, of those gathered so far.
    pub(super) fn take_ranges(&mut self, now_ns: i64) -> Option<Batch> {
        if self.range_rows.is_empty() {
            return None;
        }
        self.keep.refresh();
        let all = self.range_rows.take();
        let progress = self.progress(now_ns);
        let mut rules = self.flight.as_mut().map(|flight| &mut flight.rules).filter(|rules| !rules.is_empty());
        let mut kept = RangeBuilder::default();
        for i in 0..all.rows {
            let row = RangeRow::from_batch(&all, i);
            if let Some(rules) = &mut rules {
                rules.range(&row, progress);
            }
            // A mark has no end either, and is over all the same.
            let end_ns = if row.style == MARK { Some(row.start_ns) } else { row.end_ns };
            if self.keep.keeps_range(row.start_ns, end_ns) {
                kept.push(row);
            }
        }
        self.totals.ranges_excluded += (all.rows - kept.len()) as u64;
        if kept.len() == all.rows {
            return Some(all);
        }
        (!kept.is_empty()).then(|| kept.take())
    }
}
