//! The rows that importers have read: in memory, and where these are too many in a temporary file.
//!
//! A foreign file is read once, from its beginning to its end, and its rows are asked for again and again. What is more than may be
//! in memory is written away as frames of the native format, some eight bytes a record, and each frame is decoded when somebody
//! asks for it, as the frames of native files are. So files of any size can be read.

use super::stored::decode_payload;
use crate::error::{Error, Result};
use crate::os::disk;
use polars::prelude::*;
use rayon::prelude::*;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use trace_format::columns::{Batch, Values};
use trace_format::frame::Encoder;
use trace_format::schema::{Role, TableSpec};

/// Rows of a frame, as in native files.
pub(super) const BATCH_ROWS: usize = 65_536;

/// Frames that are encoded at once: on all threads, and not so many that they take much memory.
const ENCODED_AT_ONCE: usize = 32;

/// What is written away at once is at least so much of what may be in memory: one part in so many.
const LEAST_PART: usize = 8;

/// Some rows of one table.
#[derive(Debug)]
pub enum Piece {
    /// In memory.
    Here(Batch),
    /// In a temporary file.
    Away(Away),
}

impl Piece {
    /// The table.
    pub fn table(&self) -> &'static TableSpec {
        match self {
            Piece::Here(batch) => batch.table,
            Piece::Away(away) => away.table,
        }
    }

    /// The memory that it takes, about.
    pub fn bytes_in_memory(&self) -> usize {
        match self {
            Piece::Here(batch) => batch.size_bytes(),
            Piece::Away(_) => 0,
        }
    }

    /// Adds this to all times.
    pub fn move_times(&mut self, shift_ns: i64) {
        match self {
            Piece::Here(batch) => {
                for (spec, column) in batch.table.columns.iter().zip(&mut batch.columns) {
                    if let (true, Values::I64(times)) = (spec.is_time(), &mut column.values) {
                        times.iter_mut().for_each(|time| *time = time.saturating_add(shift_ns));
                    }
                }
            }
            Piece::Away(away) => away.shift_ns = away.shift_ns.saturating_add(shift_ns),
        }
    }
}

/// A frame in a temporary file.
#[derive(Debug)]
pub struct Away {
    /// The table.
    pub table: &'static TableSpec,
    /// How many rows.
    pub rows: usize,
    file: Arc<File>,
    offset: u64,
    bytes: usize,
    /// First start and last end of rows with valid times, as they were written.
    bounds: Option<(i64, i64)>,
    /// What is to be added to all times.
    shift_ns: i64,
}

impl Away {
    /// First start and last end of rows with valid times.
    pub fn bounds(&self) -> Option<(i64, i64)> {
        let moved = |ns: i64| ns.saturating_add(self.shift_ns);
        self.bounds.map(|(start_ns, end_ns)| (moved(start_ns), moved(end_ns)))
    }

    /// Decodes some columns; those in which every row is null are left out. `buffer` is scratch.
    ///
    /// # Errors
    /// Fails if the temporary file cannot be read.
    pub fn decode(&self, columns: &[&str], buffer: &mut Vec<u8>) -> Result<DataFrame> {
        buffer.resize(self.bytes, 0);
        self.file.read_exact_at(buffer, self.offset).map_err(Error::temporary)?;
        let mut frame = decode_payload(self.rows, columns, buffer).map_err(Error::temporary)?;
        if self.shift_ns != 0 {
            for spec in self.table.columns.iter().filter(|spec| spec.is_time()) {
                if let Ok(times) = frame.column(spec.name) {
                    let moved = times.i64().map_err(|error| Error::new(error.to_string()))?;
                    let moved: Int64Chunked =
                        moved.iter().map(|time| time.map(|time| time.saturating_add(self.shift_ns))).collect();
                    let column = moved.with_name(spec.name.into()).into_column();
                    frame.with_column(column).map_err(|error| Error::new(error.to_string()))?;
                }
            }
        }
        Ok(frame)
    }
}

/// Writes rows away where they become too many, those of all files together.
#[derive(Debug)]
pub struct Overflow {
    /// Rows may take so much memory.
    limit_bytes: usize,
    /// What the rows of the file take that is being read, as far as they are in memory.
    held_bytes: usize,
    /// What those of files take that were read before.
    settled_bytes: usize,
    file: Option<Arc<File>>,
    /// Where the next frame goes.
    end: u64,
}

impl Default for Overflow {
    fn default() -> Self {
        Overflow::new(usize::MAX)
    }
}

impl Overflow {
    /// Everything stays in memory for as long as it takes no more than this.
    pub fn new(limit_bytes: usize) -> Overflow {
        Overflow { limit_bytes, held_bytes: 0, settled_bytes: 0, file: None, end: 0 }
    }

    /// Counts rows that are kept now. Whether it is time to write some away: there are too many, and enough of them to be
    /// worth it.
    pub fn add(&mut self, batch: &Batch) -> bool {
        self.held_bytes = self.held_bytes.saturating_add(batch.size_bytes());
        self.is_full() && self.held_bytes > self.limit_bytes / LEAST_PART
    }

    fn is_full(&self) -> bool {
        self.settled_bytes.saturating_add(self.held_bytes) > self.limit_bytes
    }

    /// A file has been read to its end. Whether its rows are to be written away.
    pub fn is_full_at_end(&mut self, batches: impl Iterator<Item = usize>) -> bool {
        self.held_bytes = batches.fold(0, usize::saturating_add);
        self.is_full()
    }

    /// What is still in memory of the file stays there.
    pub fn settle(&mut self) {
        self.settled_bytes = self.settled_bytes.saturating_add(std::mem::take(&mut self.held_bytes));
    }

    /// Writes away all records of some processes that are in memory; what defines something stays, for it is little and often
    /// asked for.
    ///
    /// # Errors
    /// Fails if there is no room for a temporary file, or if it cannot be written. All rows are still there then, in memory,
    /// and no more are written away.
    pub fn put_away<'p>(&mut self, processes: impl Iterator<Item = &'p mut Vec<Piece>>) -> io::Result<()> {
        self.held_bytes = 0;
        let mut written = Ok(());
        for pieces in processes {
            written = written.and(self.put_away_of(pieces));
        }
        if written.is_err() {
            self.limit_bytes = usize::MAX;
        }
        written
    }

    fn put_away_of(&mut self, pieces: &mut Vec<Piece>) -> io::Result<()> {
        let mut whole: Vec<Batch> = Vec::new();
        let mut open: Vec<Batch> = Vec::new();
        for piece in std::mem::take(pieces) {
            match piece {
                Piece::Here(batch) if batch.table.role == Role::Activity => {
                    // Runs of many processes come in small pieces, and each frame has its price.
                    let known = open.iter().position(|open| open.table == batch.table);
                    match known {
                        Some(at) if open[at].rows + batch.rows <= BATCH_ROWS => {
                            open[at].append(&batch, 0..batch.rows);
                        }
                        Some(at) => whole.push(std::mem::replace(&mut open[at], batch)),
                        None => open.push(batch),
                    }
                }
                other => pieces.push(other),
            }
        }
        whole.append(&mut open);
        let mut written = Ok(());
        while !whole.is_empty() {
            let some: Vec<Batch> = whole.drain(..whole.len().min(ENCODED_AT_ONCE)).collect();
            let encoded: Vec<Option<Vec<u8>>> = some.par_iter().map_init(Encoder::default, encode).collect();
            for (batch, payload) in some.into_iter().zip(encoded) {
                let away = match payload {
                    Some(payload) if written.is_ok() => self.write(&batch, &payload),
                    _ => Ok(None),
                };
                match away {
                    Ok(Some(away)) => pieces.push(Piece::Away(away)),
                    Ok(None) => pieces.push(Piece::Here(batch)),
                    Err(error) => {
                        pieces.push(Piece::Here(batch));
                        written = Err(error);
                    }
                }
            }
        }
        written
    }

    fn write(&mut self, batch: &Batch, payload: &[u8]) -> io::Result<Option<Away>> {
        let file = match &self.file {
            Some(file) => file.clone(),
            None => self.file.insert(Arc::new(disk::unnamed_file()?)).clone(),
        };
        file.write_all_at(payload, self.end)?;
        let offset = self.end;
        self.end += payload.len() as u64;
        let (table, rows, bounds) = (batch.table, batch.rows, batch.time_bounds());
        Ok(Some(Away { table, rows, file, offset, bytes: payload.len(), bounds, shift_ns: 0 }))
    }
}

/// The frame of a batch; `None`: it is none, and its reader will say so.
fn encode(encoder: &mut Encoder, batch: &Batch) -> Option<Vec<u8>> {
    let mut payload = Vec::new();
    encoder.encode(batch, 0..batch.rows, &mut payload).ok().map(|()| payload)
}
