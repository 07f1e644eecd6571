//! The ring policy: a trace as numbered files of which the oldest goes when the next would not fit.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Output, TraceWriter, WriteError, WriteOptions};
use crate::columns::Batch;
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

/// Writes a trace as a ring of segments. Each is a whole trace, with all definitions so far at its beginning.
pub struct SegmentedWriter<S: Segments> {
    segments: S,
    options: WriteOptions,
    segment_bytes: u64,
    budget_bytes: u64,
    number: u32,
    current: TraceWriter<S::Output>,
    /// Number and size of the segments before the current one that still exist, oldest first.
    older: VecDeque<(u32, u64)>,
    /// Rows per table number in all segments before the current one.
    rows_before: BTreeMap<u16, u64>,
}

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
        // If the next segment cannot be opened, this one goes on, but not for ever.
        let options = WriteOptions { limit_bytes: Some(segment_bytes.saturating_mul(2)), ..options };
        let current = TraceWriter::create(output, &header, options).inspect_err(|_| {
            let _ = segments.remove(1);
        })?;
        let (older, rows_before) = (VecDeque::new(), BTreeMap::new());
        Ok(SegmentedWriter {
            segments,
            options,
            segment_bytes,
            budget_bytes,
            number: 1,
            current,
            older,
            rows_before,
        })
    }

    /// As [`TraceWriter::write_batch`], into the current segment or the next.
    pub fn write_batch(&mut self, batch: &Batch) -> Result<(), WriteError> {
        self.turn();
        self.current.write_batch(batch)
    }

    /// As [`TraceWriter::write_json`].
    pub fn write_json(&mut self, table: &'static TableSpec, value: &Value) -> Result<(), WriteError> {
        self.turn();
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

    /// The segment being written.
    pub fn current(&self) -> &TraceWriter<S::Output> {
        &self.current
    }

    /// Bytes of all segments that exist.
    pub fn bytes(&self) -> u64 {
        self.older.iter().map(|(_, bytes)| bytes).sum::<u64>() + self.current.bytes()
    }

    /// What opens and removes segments.
    pub fn segments(&self) -> &S {
        &self.segments
    }

    /// Begins the next segment if this one is long enough. If that fails the current one goes on, and the next
    /// call tries again; its own limit ends that.
    fn turn(&mut self) {
        if self.current.bytes() >= self.segment_bytes {
            let _ = self.next_segment();
        }
    }

    fn next_segment(&mut self) -> Result<(), WriteError> {
        let number = self.number + 1;
        let rows_before = self.rows_before_next();
        let named = |(&id, &rows): (&u16, &u64)| Some((tables::by_id(id)?.name.to_owned(), Value::from(rows)));
        let header = FileHeader {
            file_id: random_id(),
            segment: Some(number),
            rows_before: rows_before.iter().filter_map(named).collect(),
            ..self.current.header().clone()
        };
        let output = self.segments.open(number).map_err(|source| WriteError::Io { offset: 0, source })?;
        // The new one is complete before the old one is closed: there is no moment without a trace.
        let definitions = std::mem::take(&mut self.current.definitions);
        let next = TraceWriter::create(output, &header, self.options).and_then(|mut next| {
            next.write_each_definition(&definitions, 0)?;
            next.repeated_at = next.bytes();
            Ok(next)
        });
        let mut next = match next {
            Ok(next) => next,
            Err(error) => {
                self.current.definitions = definitions;
                let _ = self.segments.remove(number);
                return Err(error);
            }
        };
        next.definitions = definitions;
        let mut old = std::mem::replace(&mut self.current, next);
        // An old segment that cannot be closed is still a whole trace.
        let _ = old.finish(&Value::Null);
        self.older.push_back((self.number, old.bytes()));
        self.number = number;
        self.rows_before = rows_before;
        self.remove_oldest();
        Ok(())
    }

    /// Definitions are left out: every segment has them all again.
    fn rows_before_next(&self) -> BTreeMap<u16, u64> {
        let mut rows = self.rows_before.clone();
        for (&id, totals) in self.current.totals() {
            if tables::by_id(id).is_some_and(|t| matches!(t.role, Role::Activity | Role::Meta)) {
                *rows.entry(id).or_default() += totals.rows;
            }
        }
        rows
    }

    fn remove_oldest(&mut self) {
        let mut total: u64 = self.older.iter().map(|(_, bytes)| bytes).sum();
        while total.saturating_add(self.segment_bytes) > self.budget_bytes {
            let Some((number, bytes)) = self.older.pop_front() else { break };
            // Somebody may have taken it away already; either way it is no longer ours to count.
            let _ = self.segments.remove(number);
            total -= bytes;
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
