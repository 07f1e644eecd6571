//! Writing a trace: frames appended one by one, so that at every moment the file is a whole trace.

mod append;
mod definitions;
mod error;
mod options;
mod output;
mod ring_definitions;
mod segments;

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::columns::Batch;
use crate::frame::{
    EncodeError, Encoder, FrameInfo, HEADER_BYTES, JSON, MAX_PAYLOAD_BYTES, MAX_ROWS, REPEAT, SORTED, padded,
};
use crate::header::FileHeader;
use crate::index::{Index, trailer};
use crate::schema::{Role, TableSpec};
use crate::tables::{CLOSED, INDEX, PROCESS};
use append::Appender;
use definitions::Definitions;

pub use error::WriteError;
pub use options::{TableTotals, WriteOptions};
pub use output::Output;
pub use segments::{LOST_BEFORE, SegmentFiles, SegmentedWriter, Segments, segment_path};

/// Appends frames to an output.
pub struct TraceWriter<W> {
    file: Appender<W>,
    header: FileHeader,
    options: WriteOptions,
    encoder: Encoder,
    /// The frame being built: header, payload, padding.
    frame: Vec<u8>,
    seq: u64,
    totals: BTreeMap<u16, TableTotals>,
    definitions: Definitions,
    repeated_at: u64,
    repeated_bytes: u64,
    /// Frames that no index lists yet.
    unlisted: Vec<FrameInfo>,
    last_index: Option<u64>,
    /// The closing frame is written: nothing but the trailer may follow.
    closed: bool,
    /// Whether the trailer is written as well.
    ended: bool,
}

impl<W: Output> TraceWriter<W> {
    /// Begins a trace on an empty output.
    ///
    /// Errors: the header could not be written.
    pub fn create(output: W, header: &FileHeader, options: WriteOptions) -> Result<Self, WriteError> {
        let mut writer = TraceWriter {
            file: Appender::new(output),
            header: header.clone(),
            options,
            encoder: Encoder::default(),
            frame: Vec::new(),
            seq: 0,
            totals: BTreeMap::new(),
            definitions: Definitions::default(),
            repeated_at: 0,
            repeated_bytes: 0,
            unlisted: Vec::new(),
            last_index: None,
            closed: false,
            ended: false,
        };
        writer.append(&header.to_bytes())?;
        writer.repeated_at = writer.bytes();
        Ok(writer)
    }

    /// Appends the rows of `batch`, as more than one frame where one would be too large.
    ///
    /// Errors: see [`WriteError`]. Frames before the one that failed are in the file: [`TraceWriter::rows`] before
    /// and after says how many rows made it. The batch may be tried again from there.
    pub fn write_batch(&mut self, batch: &Batch) -> Result<(), WriteError> {
        if self.closed {
            return Err(WriteError::Closed);
        }
        if batch.table.role == Role::Json {
            let what = "its payload is JSON";
            return Err(EncodeError::Batch { table: batch.table.name, column: "(all)", what }.into());
        }
        self.upkeep();
        let mut start = 0;
        while start < batch.rows {
            let end = batch.rows.min(start.saturating_add(self.options.max_rows.clamp(1, MAX_ROWS)));
            let first_row = self.rows(batch.table);
            let end = self.write_rows(batch, start..end, 0, first_row)?;
            self.definitions.remember(batch, start..end, self.options.definitions_limit_bytes);
            start = end;
        }
        Ok(())
    }

    /// Appends one JSON value of a JSON table, e.g. [`PROCESS`]; the newest one is repeated with the definitions.
    ///
    /// Errors: as [`TraceWriter::write_batch`].
    pub fn write_json(&mut self, table: &'static TableSpec, value: &Value) -> Result<(), WriteError> {
        if self.closed {
            return Err(WriteError::Closed);
        }
        if table.role != Role::Json {
            let what = "its payload is rows";
            return Err(EncodeError::Batch { table: table.name, column: "(all)", what }.into());
        }
        self.upkeep();
        let row = self.rows(table);
        self.write_value(table, value, 0, row)?;
        if table == &PROCESS {
            self.definitions.remember_json(table, row, value);
        }
        Ok(())
    }

    /// Ends the trace: index, totals, and the 16 bytes from which a reader finds them.
    ///
    /// `more` is an object of the caller's own totals (records delivered, lost, ...), kept under `writer_totals`.
    /// Errors: the output refused; what was written before is a whole trace. May be tried again.
    pub fn finish(&mut self, more: &Value) -> Result<(), WriteError> {
        if self.ended {
            return Err(WriteError::Closed);
        }
        if !self.closed {
            self.write_index()?;
            self.write_closed(more)?;
            self.closed = true;
        }
        let end = trailer(self.last_index.unwrap_or(0), self.header.marker());
        self.append(&end)?;
        self.ended = true;
        Ok(())
    }

    fn write_closed(&mut self, more: &Value) -> Result<(), WriteError> {
        let table = |(&id, totals): (&u16, &TableTotals)| {
            let name = crate::tables::by_id(id).map_or_else(|| id.to_string(), |t| t.name.to_owned());
            (name, json!({"rows": totals.rows, "frames": totals.frames, "bytes": totals.bytes}))
        };
        let tables: Map<String, Value> = self.totals.iter().map(table).collect();
        let closed =
            json!({"frames": self.seq, "bytes": self.file.offset, "tables": tables, "writer_totals": more});
        self.write_value(&CLOSED, &closed, 0, 0)
    }

    /// Rows of `table` in the file, repetitions not counted.
    pub fn rows(&self, table: &TableSpec) -> u64 {
        self.totals.get(&table.id).map_or(0, |t| t.rows)
    }

    /// What has been written, per table number.
    pub fn totals(&self) -> &BTreeMap<u16, TableTotals> {
        &self.totals
    }

    /// Size of the file up to its last whole frame.
    pub fn bytes(&self) -> u64 {
        self.file.offset
    }

    /// The header of the file.
    pub fn header(&self) -> &FileHeader {
        &self.header
    }

    /// Brings everything written to the disk.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.output.sync()
    }

    /// The output.
    pub fn output(&self) -> &W {
        &self.file.output
    }

    /// Another [`WriteOptions::limit_bytes`] holds from here on; what is written already stays.
    pub fn set_limit(&mut self, limit_bytes: Option<u64>) {
        self.options.limit_bytes = limit_bytes;
    }

    /// Writes an index and repeats the definitions where it is time. Failures wait for the next call: the batch
    /// that follows will run into the same obstacle and report it.
    fn upkeep(&mut self) {
        let since_repeat = self.file.offset - self.repeated_at;
        if since_repeat >= self.options.repeat_every_bytes.max(8 * self.repeated_bytes) {
            let _ = self.write_definitions(REPEAT);
        }
        let listed_to = self.unlisted.first().map_or(self.file.offset, |f| f.offset);
        if self.file.offset - listed_to >= self.options.index_every_bytes
            || self.unlisted.len() >= self.options.index_every_frames
        {
            let _ = self.write_index();
        }
    }

    /// Writes all definitions: as new rows at the beginning of a segment, else as a repetition.
    fn write_definitions(&mut self, flags: u16) -> Result<(), WriteError> {
        let start = self.file.offset;
        // Out and back, because writing borrows all of the writer.
        let definitions = std::mem::take(&mut self.definitions);
        let written = self.write_each_definition(&definitions, flags);
        self.definitions = definitions;
        self.repeated_at = self.file.offset;
        self.repeated_bytes = self.file.offset - start;
        written
    }

    fn write_each_definition(&mut self, definitions: &Definitions, flags: u16) -> Result<(), WriteError> {
        for (table, row, value) in definitions.json() {
            let row = if flags & REPEAT != 0 { *row } else { self.rows(table) };
            self.write_value(table, value, flags, row)?;
        }
        for batch in definitions.batches() {
            let mut start = 0;
            while start < batch.rows {
                let end = batch.rows.min(start.saturating_add(self.options.max_rows.clamp(1, MAX_ROWS)));
                start = self.write_rows(batch, start..end, flags, start as u64)?;
            }
        }
        Ok(())
    }

    fn write_index(&mut self) -> Result<(), WriteError> {
        let at = self.file.offset;
        let index = Index::new(self.last_index, &self.unlisted);
        self.write_value(&INDEX, &index, 0, self.rows(&INDEX))?;
        self.last_index = Some(at);
        // The index just written is the first frame that the next one lists.
        let keep_from = self.unlisted.len().saturating_sub(1);
        self.unlisted.drain(..keep_from);
        Ok(())
    }

    /// Writes one frame with as many of the rows as fit; returns the row after the last one.
    fn write_rows(
        &mut self,
        batch: &Batch,
        mut rows: Range<usize>,
        flags: u16,
        first_row: u64,
    ) -> Result<usize, WriteError> {
        loop {
            self.frame.clear();
            self.frame.resize(HEADER_BYTES, 0);
            self.encoder.encode(batch, rows.clone(), &mut self.frame)?;
            let bytes = self.frame.len() - HEADER_BYTES;
            if bytes <= self.options.max_payload_bytes.min(MAX_PAYLOAD_BYTES) {
                break;
            }
            if rows.len() <= 1 {
                return Err(WriteError::TooLong { table: batch.table.name, bytes });
            }
            rows.end = rows.start + rows.len() / 2;
        }
        let bounds = batch.time_bounds_of(rows.clone());
        let sorted = if bounds.is_some() && is_sorted(batch, rows.clone()) { SORTED } else { 0 };
        let info = FrameInfo {
            table: batch.table.id,
            flags: flags | sorted,
            rows: rows.len() as u32,
            first_row,
            min_start_ns: bounds.map(|b| b.0),
            max_end_ns: bounds.map(|b| b.1),
            ..blank()
        };
        self.write_frame(info, batch.table)?;
        Ok(rows.end)
    }

    fn write_value(
        &mut self,
        table: &'static TableSpec,
        value: &impl Serialize,
        flags: u16,
        first_row: u64,
    ) -> Result<(), WriteError> {
        self.frame.clear();
        self.frame.resize(HEADER_BYTES, 0);
        // JSON values and our own index cannot fail to serialize into memory.
        let _ = serde_json::to_writer(&mut self.frame, value);
        let bytes = self.frame.len() - HEADER_BYTES;
        if bytes > MAX_PAYLOAD_BYTES {
            return Err(WriteError::TooLong { table: table.name, bytes });
        }
        self.write_frame(FrameInfo { table: table.id, flags: flags | JSON, rows: 1, first_row, ..blank() }, table)
    }

    /// Completes and writes the frame that lies in `self.frame`.
    fn write_frame(&mut self, mut info: FrameInfo, table: &TableSpec) -> Result<(), WriteError> {
        let payload_len = self.frame.len() - HEADER_BYTES;
        let end = self.file.offset + (HEADER_BYTES + padded(payload_len)) as u64;
        if let Some(limit_bytes) = self.options.limit_bytes {
            let spare = match table.role {
                Role::Json => u64::MAX,
                Role::Meta => 1 << 20,
                Role::Defining | Role::Activity => 0,
            };
            if end > limit_bytes.saturating_add(spare) {
                return Err(WriteError::Full { limit_bytes });
            }
        }
        info.offset = self.file.offset;
        info.payload_len = payload_len as u32;
        info.payload_crc = crc32c::crc32c(&self.frame[HEADER_BYTES..]);
        info.seq = self.seq;
        info.index_distance = self.last_index.map_or(0, |at| u32::try_from(self.file.offset - at).unwrap_or(0));
        self.frame[..HEADER_BYTES].copy_from_slice(&info.to_bytes(self.header.marker()));
        self.frame.resize(HEADER_BYTES + padded(payload_len), 0);
        let frame = std::mem::take(&mut self.frame);
        let written = self.append(&frame);
        self.frame = frame;
        written?;
        let totals = self.totals.entry(info.table).or_default();
        totals.frames += 1;
        totals.bytes += info.end() - info.offset;
        if !info.is_repeat() {
            totals.rows += u64::from(info.rows);
        }
        self.seq += 1;
        self.unlisted.push(info);
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        let offset = self.file.offset;
        self.file.append(bytes).map_err(|source| WriteError::Io { offset, source })
    }
}

fn blank() -> FrameInfo {
    FrameInfo {
        offset: 0,
        table: 0,
        flags: 0,
        rows: 0,
        payload_len: 0,
        payload_crc: 0,
        seq: 0,
        first_row: 0,
        min_start_ns: None,
        max_end_ns: None,
        index_distance: 0,
    }
}

fn is_sorted(batch: &Batch, rows: Range<usize>) -> bool {
    let Some(start) = batch.column("start_ns") else { return false };
    match &start.values {
        crate::columns::Values::I64(v) => start.validity.is_none() && v[rows].is_sorted(),
        _ => false,
    }
}
