//! The ring policy: a trace as numbered files of which the oldest goes when the next would not fit, or when it is old.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::ring_definitions::RingDefinitions;
use super::{Output, TraceWriter, WriteError, WriteOptions};
use crate::columns::{Batch, Values};
use crate::frame::REPEAT;
use crate::header::{FileHeader, random_id};
use crate::schema::{Role, TableSpec};
use crate::tables;

/// Opens and removes the files of a segmented trace.
pub trait Segments {
    /// What a segment is written to.
    type Output: Output;
    /// Opens segment `number`, empty; must not overwrite anything.
    fn open(&mut self, number: u32) -> io::Result<Self::Output>;
    /// Removes segment `number`.
    fn remove(&mut self, number: u32) -> io::Result<()>;
    /// Keeps segments as another trace, called after `name`, that [`Segments::remove`] does not reach. At once where
    /// files can have two names; else at most `most_copied_bytes` are copied. Returns where it is.
    ///
    /// Errors: it could not be done, and nothing is left of the attempt.
    fn keep(&mut self, _numbers: &[u32], _name: &str, _most_copied_bytes: u64) -> io::Result<PathBuf> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The path of segment `number` of the trace `NAME.gpuprof`: `NAME.000001.gpuprof`.
pub fn segment_path(trace: &Path, number: u32) -> PathBuf {
    trace.with_extension(format!("{number:06}.gpuprof"))
}

/// Segments as ordinary files beside each other.
#[derive(Debug)]
pub struct SegmentFiles {
    /// The path of the trace without segment number, e.g. `run.gpuprof`.
    pub trace: PathBuf,
}

impl Segments for SegmentFiles {
    type Output = File;
    fn open(&mut self, number: u32) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(segment_path(&self.trace, number))
    }
    fn remove(&mut self, number: u32) -> io::Result<()> {
        std::fs::remove_file(segment_path(&self.trace, number))
    }
}

/// Writes a trace as a ring of segments. Each is a whole trace: it defines what its rows refer to.
pub struct SegmentedWriter<S: Segments> {
    segments: S,
    options: WriteOptions,
    segment_bytes: u64,
    budget_bytes: u64,
    /// Segments whose newest record is older than this go; none: only for want of room.
    keep_ns: Option<u64>,
    number: u32,
    current: TraceWriter<S::Output>,
    /// What the current segment began with is not worth beginning another for.
    opening_bytes: u64,
    /// When the current segment was begun, and when activity was last written to it: by [`SegmentedWriter::at`].
    opened_ns: i64,
    active_ns: Option<i64>,
    now_ns: i64,
    /// When there was activity to be written at last: what is too old is older than that by [`Self::keep_ns`].
    newest_ns: i64,
    /// The segments before the current one that still exist, oldest first.
    older: VecDeque<Past>,
    definitions: RingDefinitions,
    /// Rows per table number in all segments before the current one.
    rows_before: BTreeMap<u16, u64>,
    /// Records that rows of `loss` in those tell of.
    lost_before: u64,
    lost_in_current: u64,
    /// Rows per table number in segments that were removed; definitions are left out, for they are carried on.
    dropped: BTreeMap<u16, u64>,
    closed_bytes: u64,
}

/// A segment that is closed.
struct Past {
    number: u32,
    bytes: u64,
    /// When activity was last written to it: every record in it was over by then.
    until_ns: i64,
    /// Rows per table number, definitions left out.
    rows: BTreeMap<u16, u64>,
}

/// Under [`FileHeader::other`]: records known to be lost before this segment began.
pub const LOST_BEFORE: &str = "lost_before";
/// Segments for which definitions take up to this much whatever their size.
const LEAST_OPENING_BYTES: u64 = 256 << 10;

impl<S: Segments> SegmentedWriter<S> {
    /// Opens segment 1.
    ///
    /// All segments together stay below `budget_bytes`, except that the current one always exists; a new one
    /// begins every `segment_bytes` (an eighth of the budget serves well: fewer lose more at a time, more repeat the
    /// definitions more often).
    /// Errors: the segment could not be opened or written.
    pub fn create(
        mut segments: S,
        header: &FileHeader,
        options: WriteOptions,
        segment_bytes: u64,
        budget_bytes: u64,
    ) -> Result<Self, WriteError> {
        let output = segments.open(1).map_err(|source| WriteError::Io { offset: 0, source })?;
        let run = header.run.clone().or_else(|| Some(hex(&random_id())));
        let header = FileHeader { run, segment: Some(1), ..header.clone() };
        let definitions = RingDefinitions::new(options.definitions_limit_bytes, segment_bytes);
        let options = WriteOptions {
            // If the next segment cannot be opened, this one goes on, but not for ever.
            limit_bytes: Some(segment_bytes.saturating_mul(2)),
            // A segment repeats its own definitions; `RingDefinitions` has those of all segments.
            definitions_limit_bytes: options.definitions_limit_bytes / 3,
            ..options
        };
        let current = TraceWriter::create(output, &header, options).inspect_err(|_| {
            let _ = segments.remove(1);
        })?;
        Ok(SegmentedWriter {
            segments,
            options,
            segment_bytes,
            budget_bytes,
            keep_ns: None,
            number: 1,
            opening_bytes: current.bytes(),
            current,
            opened_ns: 0,
            active_ns: None,
            now_ns: 0,
            newest_ns: 0,
            older: VecDeque::new(),
            definitions,
            rows_before: BTreeMap::new(),
            lost_before: 0,
            lost_in_current: 0,
            dropped: BTreeMap::new(),
            closed_bytes: 0,
        })
    }

    /// Keeps everything that is newer than `keep_ns` and lets go of the rest, an eighth of that time at once; the
    /// budget still holds. Whoever asks for it says what time it is with [`SegmentedWriter::at`].
    ///
    /// Records go by when they were written, which is never before they ended. So a clock that steps, or a record with
    /// an absurd time, cannot empty the ring; and while nothing happens, nothing goes.
    pub fn keep_for(&mut self, keep_ns: u64, now_ns: i64) {
        self.keep_ns = Some(keep_ns);
        (self.opened_ns, self.now_ns, self.newest_ns) = (now_ns, now_ns, now_ns);
    }

    /// What time it is, on a clock that never steps.
    pub fn at(&mut self, now_ns: i64) {
        self.now_ns = now_ns;
    }

    /// As [`TraceWriter::write_batch`], into the current segment or the next.
    pub fn write_batch(&mut self, batch: &Batch) -> Result<(), WriteError> {
        let is_activity = batch.table.role == Role::Activity && batch.rows > 0;
        self.turn(is_activity);
        if batch.table.role != Role::Json {
            let wanted = self.definitions.wanted_by(batch);
            for definitions in wanted.batches() {
                self.current.write_batch(&definitions).inspect_err(|_| self.definitions.start_over(self.number))?;
            }
        }
        let before = self.current.rows(batch.table);
        let written = self.current.write_batch(batch);
        let rows = usize::try_from(self.current.rows(batch.table) - before).unwrap_or(batch.rows).min(batch.rows);
        self.definitions.learn(batch, rows);
        if is_activity && rows > 0 {
            self.active_ns = Some(self.now_ns);
        }
        if batch.table == &tables::LOSS {
            self.lost_in_current += records_lost(batch, rows);
        }
        written
    }

    /// Does the same as [`TraceWriter::write_json`].
    pub fn write_json(&mut self, table: &'static TableSpec, value: &Value) -> Result<(), WriteError> {
        self.turn(false);
        self.definitions.learn_json(table, value);
        self.current.write_json(table, value)
    }

    /// As [`TraceWriter::finish`], for the current segment; the others are closed already.
    pub fn finish(&mut self, more: &Value) -> Result<(), WriteError> {
        self.current.finish(more)
    }

    /// Rows of `table` written to all segments, those removed since included.
    pub fn rows(&self, table: &TableSpec) -> u64 {
        self.rows_before.get(&table.id).copied().unwrap_or(0) + self.current.rows(table)
    }

    /// Rows per table number that went with segments that were removed; definitions are left out.
    pub fn dropped(&self) -> &BTreeMap<u16, u64> {
        &self.dropped
    }

    /// References to names and shapes that were forgotten: more were in use at once than memory holds.
    pub fn unknown_names(&self) -> u64 {
        self.definitions.unknown()
    }

    /// The segment being written.
    pub fn current(&self) -> &TraceWriter<S::Output> {
        &self.current
    }

    /// Bytes of all segments that exist.
    pub fn bytes(&self) -> u64 {
        self.older.iter().map(|past| past.bytes).sum::<u64>() + self.current.bytes()
    }

    /// Bytes written so far, those removed since included.
    pub fn written_bytes(&self) -> u64 {
        self.closed_bytes + self.current.bytes()
    }

    /// What opens and removes segments.
    pub fn segments(&self) -> &S {
        &self.segments
    }

    /// Keeps all that the ring holds now as the trace `name`, out of the ring's reach: see [`Segments::keep`]. The
    /// ring goes on with a new segment.
    ///
    /// If no new segment can be begun, the current one is kept as it is, and grows on.
    /// Errors: it could not be kept; the ring is as it was.
    pub fn keep(&mut self, name: &str, most_copied_bytes: u64) -> io::Result<PathBuf> {
        let begun = self.begin_next();
        let mut numbers: Vec<u32> = self.older.iter().map(|past| past.number).collect();
        if begun.is_err() {
            numbers.push(self.number);
        }
        let kept = self.segments.keep(&numbers, name, most_copied_bytes);
        self.remove_oldest();
        kept
    }

    /// Begins the next segment if this one is long enough. If that fails the current one goes on, and the next
    /// call tries again; its own limit ends that.
    fn turn(&mut self, is_activity: bool) {
        if is_activity {
            self.newest_ns = self.now_ns;
        }
        let bytes = self.current.bytes();
        let is_long = bytes >= self.segment_bytes && bytes >= self.opening_bytes.saturating_mul(2);
        let eighth_ns = self.keep_ns.map(|keep| i64::try_from(keep / 8).unwrap_or(i64::MAX));
        let is_old = |eighth_ns| self.now_ns.saturating_sub(self.opened_ns) >= eighth_ns;
        // Only for activity: clocks and notes of a program that hangs must not push out what it did before.
        let is_over = is_activity && self.active_ns.is_some() && eighth_ns.is_some_and(is_old);
        if (is_long || is_over) && self.begin_next().is_ok() {
            self.remove_oldest();
        }
    }

    fn begin_next(&mut self) -> Result<(), WriteError> {
        let number = self.number + 1;
        let rows_before = self.rows_before_next();
        let lost_before = self.lost_before + self.lost_in_current;
        let named = |(&id, &rows): (&u16, &u64)| Some((tables::by_id(id)?.name.to_owned(), Value::from(rows)));
        let mut header = FileHeader {
            file_id: random_id(),
            segment: Some(number),
            rows_before: rows_before.iter().filter_map(named).collect(),
            ..self.current.header().clone()
        };
        if lost_before > 0 {
            header.other.insert(LOST_BEFORE.to_owned(), lost_before.into());
        }
        let output = self.segments.open(number).map_err(|source| WriteError::Io { offset: 0, source })?;
        let past_bytes = self.current.bytes();
        // The new one is complete before the old one is closed: there is no moment without a trace.
        let most = (past_bytes / 4).max(LEAST_OPENING_BYTES).min((self.segment_bytes / 4).max(64 << 10));
        let opening = self.definitions.open(number, usize::try_from(most).unwrap_or(usize::MAX));
        let next = TraceWriter::create(output, &header, self.options).and_then(|mut next| {
            if let Some(process) = &opening.process {
                next.write_json(&tables::PROCESS, process)?;
            }
            for batch in opening.definitions.batches().chain(opening.others) {
                next.write_batch(&batch)?;
            }
            if let Some(clock) = &opening.clock {
                next.write_rows(clock, 0..clock.rows, REPEAT, 0)?;
            }
            next.repeated_at = next.bytes();
            Ok(next)
        });
        let next = match next {
            Ok(next) => next,
            Err(error) => {
                // Back to the segment that goes on. What it has already may come a second time, which does no harm.
                self.definitions.start_over(self.number);
                let _ = self.segments.remove(number);
                return Err(error);
            }
        };
        let rows = self.current.totals().iter().filter(|(id, _)| goes_with_its_segment(**id));
        let rows = rows.map(|(id, totals)| (*id, totals.rows)).collect();
        let mut old = std::mem::replace(&mut self.current, next);
        // An old segment that cannot be closed is still a whole trace.
        let _ = old.finish(&Value::Null);
        let until_ns = self.active_ns.take().unwrap_or(self.opened_ns);
        self.older.push_back(Past { number: self.number, bytes: old.bytes(), until_ns, rows });
        self.closed_bytes += old.bytes();
        self.number = number;
        self.rows_before = rows_before;
        (self.lost_before, self.lost_in_current) = (lost_before, 0);
        self.opening_bytes = self.current.bytes();
        self.opened_ns = self.now_ns;
        Ok(())
    }

    /// Definitions are left out: every segment has its own again.
    fn rows_before_next(&self) -> BTreeMap<u16, u64> {
        let mut rows = self.rows_before.clone();
        for (&id, totals) in self.current.totals() {
            if goes_with_its_segment(id) {
                *rows.entry(id).or_default() += totals.rows;
            }
        }
        rows
    }

    /// Lets go of what there is no room for, and of what is too old: called when a segment was begun because there
    /// is more to write now.
    fn remove_oldest(&mut self) {
        let mut total: u64 = self.older.iter().map(|past| past.bytes).sum();
        let oldest_ns = self.keep_ns.map(|keep| self.newest_ns.saturating_sub_unsigned(keep));
        while let Some(past) = self.older.front() {
            let is_too_much = total.saturating_add(self.segment_bytes) > self.budget_bytes;
            let is_too_old = oldest_ns.is_some_and(|oldest_ns| past.until_ns < oldest_ns);
            if !is_too_much && !is_too_old {
                return;
            }
            let Some(past) = self.older.pop_front() else { return };
            // Somebody may have taken it away already; either way it is no longer ours to count.
            let _ = self.segments.remove(past.number);
            total -= past.bytes;
            for (id, rows) in past.rows {
                *self.dropped.entry(id).or_default() += rows;
            }
        }
    }
}

/// Definitions do not: they are carried on.
fn goes_with_its_segment(table: u16) -> bool {
    tables::by_id(table).is_some_and(|t| matches!(t.role, Role::Activity | Role::Meta))
}

/// Records that the first rows of a batch of `loss` tell of.
fn records_lost(batch: &Batch, rows: usize) -> u64 {
    match batch.column("rows").map(|column| &column.values) {
        Some(Values::I64(lost)) => lost.iter().take(rows).map(|n| u64::try_from(*n).unwrap_or(0)).sum(),
        _ => 0,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
