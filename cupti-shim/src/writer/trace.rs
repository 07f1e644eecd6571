//! The file being written: one, or the segments of a ring.

use std::io;
use std::path::PathBuf;

use serde_json::Value;
use shim_config::Ring;
use trace_format::columns::Batch;
use trace_format::header::FileHeader;
use trace_format::schema::{Role, TableSpec};
use trace_format::tables::{self, RANGE, SAMPLE};
use trace_format::write::{Output, SegmentedWriter, Segments, TraceWriter, WriteError, WriteOptions};

use crate::output::{Space, TraceFile};

/// An output that knows where it lies.
pub(super) trait TraceOutput: Output {
    /// Room on its file system; none: not known.
    fn space(&self) -> Option<Space>;
    /// Where it is; none before it has a name.
    fn path(&self) -> Option<PathBuf>;
    /// Brings what was written to the disk.
    fn sync_data(&self) -> io::Result<()>;
}

impl TraceOutput for TraceFile {
    fn space(&self) -> Option<Space> {
        TraceFile::space(self)
    }
    fn path(&self) -> Option<PathBuf> {
        self.is_published().then(|| TraceFile::path(self))
    }
    fn sync_data(&self) -> io::Result<()> {
        TraceFile::sync_data(self)
    }
}

/// What is written to.
pub(super) enum Trace<S: Segments> {
    /// One file.
    Whole(Box<TraceWriter<S::Output>>),
    /// A ring of segments.
    Ring(Box<SegmentedWriter<S>>),
}

/// An eighth of the budget per segment: fewer lose more at a time, more repeat the definitions more often.
const SEGMENTS: u64 = 8;
/// Segments are not smaller than this, or a trace would consist of definitions.
const MIN_SEGMENT_BYTES: u64 = if cfg!(test) { 256 << 10 } else { 1 << 20 };

impl<S: Segments> Trace<S>
where
    S::Output: TraceOutput,
{
    pub(super) fn whole(output: S::Output, header: &FileHeader, options: WriteOptions) -> Result<Self, WriteError> {
        Ok(Trace::Whole(Box::new(TraceWriter::create(output, header, options)?)))
    }

    pub(super) fn ring(
        segments: S,
        header: &FileHeader,
        options: WriteOptions,
        budget_bytes: u64,
    ) -> Result<Self, WriteError> {
        let segment_bytes = (budget_bytes / SEGMENTS).max(MIN_SEGMENT_BYTES);
        Ok(Trace::Ring(Box::new(SegmentedWriter::create(segments, header, options, segment_bytes, budget_bytes)?)))
    }

    /// The ring of a flight recorder. `size_limit_bytes`: where the ring itself has no limit; `file_limit_bytes`: the
    /// largest file that may be written.
    pub(super) fn flight(
        segments: S,
        header: &FileHeader,
        options: WriteOptions,
        ring: Ring,
        size_limit_bytes: Option<u64>,
        file_limit_bytes: Option<u64>,
        now_ns: i64,
    ) -> Result<Self, WriteError> {
        let budget_bytes = ring.most_bytes.or(size_limit_bytes).unwrap_or(u64::MAX);
        // A segment may reach twice its size where the next cannot be begun.
        let largest = file_limit_bytes.map_or(u64::MAX, |limit| limit / 2);
        let segment_bytes = (budget_bytes / SEGMENTS).max(MIN_SEGMENT_BYTES).min(largest);
        let mut writer = SegmentedWriter::create(segments, header, options, segment_bytes, budget_bytes)?;
        if let Some(keep_ns) = ring.keep_ns {
            writer.keep_for(keep_ns, now_ns);
        }
        Ok(Trace::Ring(Box::new(writer)))
    }

    /// What time it is, monotonic.
    pub(super) fn at(&mut self, now_ns: i64) {
        if let Trace::Ring(writer) = self {
            writer.at(now_ns);
        }
    }

    /// Bytes written so far, those that are gone included.
    pub(super) fn written_bytes(&self) -> u64 {
        match self {
            Trace::Whole(writer) => writer.bytes(),
            Trace::Ring(writer) => writer.written_bytes(),
        }
    }

    /// Records of CUPTI and ranges of NVTX that went with the oldest segments.
    pub(super) fn dropped(&self) -> (u64, u64) {
        let Trace::Ring(writer) = self else { return (0, 0) };
        // CUPTI's records of the environment are rows of `sample`.
        let is_record =
            |id: u16| tables::by_id(id).is_some_and(|t| t.role == Role::Activity && t != &RANGE || t == &SAMPLE);
        let records = writer.dropped().iter().filter(|(id, _)| is_record(**id)).map(|(_, rows)| rows).sum();
        (records, writer.dropped().get(&RANGE.id).copied().unwrap_or(0))
    }

    /// References to names that a ring has forgotten.
    pub(super) fn unknown_names(&self) -> u64 {
        match self {
            Trace::Whole(_) => 0,
            Trace::Ring(writer) => writer.unknown_names(),
        }
    }

    /// Keeps what a ring holds as a trace of that name; see [`SegmentedWriter::keep`].
    pub(super) fn keep(&mut self, name: &str, most_copied_bytes: u64) -> io::Result<PathBuf> {
        match self {
            Trace::Whole(_) => Err(io::ErrorKind::Unsupported.into()),
            Trace::Ring(writer) => writer.keep(name, most_copied_bytes),
        }
    }

    fn current(&self) -> &TraceWriter<S::Output> {
        match self {
            Trace::Whole(writer) => writer,
            Trace::Ring(writer) => writer.current(),
        }
    }

    pub(super) fn output(&self) -> &S::Output {
        self.current().output()
    }

    /// Another size limit holds for a trace that is one file; a ring keeps its own.
    pub(super) fn set_limit(&mut self, limit_bytes: Option<u64>) {
        if let Trace::Whole(writer) = self {
            writer.set_limit(limit_bytes);
        }
    }

    /// Whether a size limit ends the recording, rather than dropping what is oldest.
    pub(super) fn stops_when_full(&self) -> bool {
        matches!(self, Trace::Whole(_))
    }

    /// What is in the newest file, by table number.
    #[cfg(test)]
    pub(super) fn totals(&self) -> &std::collections::BTreeMap<u16, trace_format::write::TableTotals> {
        self.current().totals()
    }

    /// Bytes of everything that exists.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Trace::Whole(writer) => writer.bytes(),
            Trace::Ring(writer) => writer.bytes(),
        }
    }

    pub(super) fn rows(&self, table: &TableSpec) -> u64 {
        match self {
            Trace::Whole(writer) => writer.rows(table),
            Trace::Ring(writer) => writer.rows(table),
        }
    }

    /// Writes a batch. Returns how many of its rows are in the file, and why not all.
    pub(super) fn write(&mut self, batch: &Batch) -> (usize, Result<(), WriteError>) {
        let before = self.rows(batch.table);
        let result = match self {
            Trace::Whole(writer) => writer.write_batch(batch),
            Trace::Ring(writer) => writer.write_batch(batch),
        };
        if result.is_ok() {
            // Not from the counts: a ring's new segment counts definitions again.
            return (batch.rows, Ok(()));
        }
        let written = self.rows(batch.table).saturating_sub(before);
        (usize::try_from(written).unwrap_or(batch.rows).min(batch.rows), result)
    }

    pub(super) fn write_json(&mut self, table: &'static TableSpec, value: &Value) -> Result<(), WriteError> {
        match self {
            Trace::Whole(writer) => writer.write_json(table, value),
            Trace::Ring(writer) => writer.write_json(table, value),
        }
    }

    pub(super) fn finish(&mut self, totals: &Value) -> Result<(), WriteError> {
        match self {
            Trace::Whole(writer) => writer.finish(totals),
            Trace::Ring(writer) => writer.finish(totals),
        }
    }
}
