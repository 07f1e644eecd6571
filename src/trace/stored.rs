//! The frames of a native file: decoded by Polars when somebody asks, with what is damaged noted and what was decoded
//! counted.

use super::guard::decoded;
use super::parquet::{ParquetFile, Source};
use super::sink::Note;
use crate::numbers::counted;

use polars::prelude::*;
use polars_buffer::Buffer;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use trace_format::frame::FrameInfo;
use trace_format::read::{Problem, ProblemKind, TraceReader};
use trace_format::schema::{ColumnType, Role, TableSpec};
use trace_format::tables;

/// The columns decoded so far, by table, and how many rows were decoded of each table.
pub type DecodedColumns = BTreeMap<&'static str, (u64, BTreeSet<&'static str>)>;

/// An open native file as a store of frames.
pub struct Stored {
    path: PathBuf,
    reader: TraceReader,
    /// What turned out to be unreadable when somebody asked for it, by offset.
    unreadable: Mutex<BTreeMap<u64, String>>,
    decoded: Mutex<DecodedColumns>,
}

impl Stored {
    /// The frames of `reader`, whose file is at `path`.
    pub fn new(path: &Path, reader: TraceReader) -> Stored {
        Stored { path: path.to_owned(), reader, unreadable: Mutex::default(), decoded: Mutex::default() }
    }

    /// The reader underneath.
    pub fn reader(&self) -> &TraceReader {
        &self.reader
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What reading frames has found since the file was opened.
    pub fn late_notes(&self) -> Vec<Note> {
        let found = self.unreadable.lock().unwrap_or_else(|e| e.into_inner());
        found.values().map(|text| Note { code: "unreadable-frame", text: text.clone() }).collect()
    }

    /// What was decoded since the file was opened. Definitions are read a second time where a view asks for more of them.
    pub fn decoded(&self) -> DecodedColumns {
        self.decoded.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    fn unreadable(&self, offset: u64, text: String) {
        self.unreadable.lock().unwrap_or_else(|e| e.into_inner()).insert(offset, text);
    }

    /// What a problem of the file is called.
    pub fn note_of(&self, problem: &Problem) -> Note {
        let table = problem.table.and_then(tables::by_id).map_or("a table", |t| t.name);
        let rows = match problem.rows {
            Some(0) => ", no rows lost".to_owned(),
            Some(rows) => format!(", {} of {table} lost", counted(rows, "row")),
            None => format!(", an unknown number of rows of {table} lost"),
        };
        let what = match problem.kind {
            ProblemKind::Frame => "frame unreadable",
            ProblemKind::Header => "file header damaged",
            _ => "damaged",
        };
        let text =
            format!("{}: {what} at byte {} ({} bytes){rows}", self.path.display(), problem.offset, problem.bytes);
        Note { code: "unreadable-frame", text }
    }

    /// Decodes `columns` of one frame and has `finish` make shared ids of them; `None`: the frame is damaged, which is now
    /// noted. Columns that the frame does not have, because all their rows are null or it is older than they are, are left
    /// out. `buffer` is scratch.
    pub fn decode(
        &self,
        frame: usize,
        table: &'static TableSpec,
        columns: &[&str],
        buffer: &mut Vec<u8>,
        finish: &dyn Fn(&mut DataFrame) -> PolarsResult<()>,
    ) -> Option<(DataFrame, usize)> {
        let info = &self.reader.frames()[frame];
        let decoded =
            self.decode_raw(info, table, columns, buffer).and_then(|mut frame| match finish(&mut frame) {
                Ok(()) => Ok(frame),
                Err(error) => Err(self.undecodable(info, &error)),
            });
        match decoded {
            Ok(frame) => Some((frame, info.rows as usize)),
            Err(why) => {
                self.unreadable(
                    info.offset,
                    format!("{why}; {} of {} lost", counted(info.rows.into(), "row"), table.name),
                );
                None
            }
        }
    }

    fn undecodable(&self, info: &FrameInfo, error: &PolarsError) -> String {
        format!("{}: frame at byte {} cannot be decoded: {error}", self.path.display(), info.offset)
    }

    /// Decodes `columns` of one frame, ids as they are in the file. Errors: why the frame is unreadable.
    fn decode_raw(
        &self,
        info: &FrameInfo,
        table: &'static TableSpec,
        columns: &[&str],
        buffer: &mut Vec<u8>,
    ) -> Result<DataFrame, String> {
        self.reader.read_payload(info, buffer).map_err(|error| error.to_string())?;
        let frame = decode_payload(info.rows as usize, columns, buffer);
        let frame = frame.and_then(|frame| match table.role {
            Role::Defining => with_types_of(table, frame),
            _ => Ok(frame),
        });
        let mut counted = self.decoded.lock().unwrap_or_else(|e| e.into_inner());
        let (rows, names) = counted.entry(table.name).or_default();
        *rows += u64::from(info.rows);
        names.extend(table.columns.iter().map(|column| column.name).filter(|name| columns.contains(name)));
        drop(counted);
        frame.map_err(|error| self.undecodable(info, &error))
    }

    /// Hands `columns` of a defining table to `each` in order: the frame, which of its rows, and all of its rows decoded.
    /// `each` returns false when it has seen enough. A damaged frame is replaced by a repetition that has its rows; what no
    /// frame has is noted. Frames are decoded some at a time, on as many threads as there are.
    pub fn definitions(
        &self,
        table: &'static TableSpec,
        columns: &[&str],
        each: &mut dyn FnMut(&FrameInfo, Range<usize>, &DataFrame) -> bool,
    ) {
        let mut ahead = Ahead { stored: self, table, columns, decoded: BTreeMap::new() };
        let problems = self.reader.definition_parts(
            table,
            &mut |frame| ahead.take(frame),
            &mut |frame, rows, decoded: DataFrame| each(frame, rows, &decoded),
        );
        for problem in problems {
            self.unreadable(problem.offset, self.note_of(&problem).text);
        }
    }
}

/// Frames that were decoded before they are asked for.
struct Ahead<'a> {
    stored: &'a Stored,
    table: &'static TableSpec,
    columns: &'a [&'a str],
    decoded: BTreeMap<u64, Option<DataFrame>>,
}

impl Ahead<'_> {
    fn take(&mut self, frame: &FrameInfo) -> Option<DataFrame> {
        if let Some(decoded) = self.decoded.remove(&frame.offset) {
            return decoded;
        }
        let threads = rayon::current_num_threads().max(1);
        let is_next = |f: &&FrameInfo| f.table == frame.table && f.is_repeat() == frame.is_repeat() && !f.is_json();
        let frames = self.stored.reader.frames();
        let at = frames.partition_point(|f| f.offset < frame.offset);
        // A repetition is asked for in place of a damaged frame alone, so the next one may never be.
        let most = if frame.is_repeat() { 1 } else { threads * FRAMES_AHEAD };
        let group: Vec<&FrameInfo> = frames[at..].iter().filter(is_next).take(most).collect();
        let next = AtomicUsize::new(0);
        let results = Mutex::new(&mut self.decoded);
        let (stored, table, columns) = (self.stored, self.table, self.columns);
        let work = || {
            let mut buffer = Vec::new();
            while let Some(info) = group.get(next.fetch_add(1, Ordering::Relaxed)) {
                let decoded = stored.decode_raw(info, table, columns, &mut buffer).ok();
                results.lock().unwrap_or_else(|e| e.into_inner()).insert(info.offset, decoded);
            }
        };
        // Not on Rayon's threads: while one of them waits for its share to come back it may take up other work, and that
        // may wait for these definitions, and never get them.
        std::thread::scope(|scope| {
            for _ in 1..threads.min(group.len()) {
                scope.spawn(work);
            }
            work();
        });
        self.decoded.remove(&frame.offset).flatten()
    }
}

/// Frames of a defining table that each thread decodes before the first of them is looked at. More save waiting; each holds
/// up to 65,536 rows in memory.
const FRAMES_AHEAD: usize = 4;

/// Definitions in other types than the registry's are damaged: without them, rows of other tables would lose their names
/// and nobody would hear of it.
fn with_types_of(table: &TableSpec, frame: DataFrame) -> PolarsResult<DataFrame> {
    for spec in table.columns {
        let expected = match spec.ty {
            ColumnType::U32 => DataType::UInt32,
            ColumnType::U64 => DataType::UInt64,
            ColumnType::I64 => DataType::Int64,
            ColumnType::F64 => DataType::Float64,
            ColumnType::Bool => DataType::Boolean,
            ColumnType::Bytes => DataType::Binary,
        };
        if let Ok(column) = frame.column(spec.name) {
            let found = column.dtype();
            polars_ensure!(found == &expected, ComputeError: "column {} is of type {found}, not {expected}", spec.name);
        }
    }
    Ok(frame)
}

/// Decodes some columns of the payload of a frame of so many rows.
///
/// # Errors
/// Fails if the payload is none, or has another number of rows.
pub(super) fn decode_payload(rows: usize, columns: &[&str], payload: &mut Vec<u8>) -> PolarsResult<DataFrame> {
    // Polars wants to own what it decodes from. The memory comes back, so that a thread needs one buffer for all frames.
    let buffer = Buffer::from_vec(std::mem::take(payload));
    let frame = decoded(|| decode_buffer(rows, columns, buffer.clone()));
    *payload = buffer.into_mut().right().unwrap_or_default();
    frame
}

fn decode_buffer(rows: usize, columns: &[&str], payload: Buffer<u8>) -> PolarsResult<DataFrame> {
    let file = ParquetFile::open(Source::Memory(payload))?;
    let found: usize = file.group_rows().sum();
    polars_ensure!(found == rows, ComputeError: "{found} rows found where {rows} were promised");
    let mut frame = DataFrame::empty_with_height(0);
    for (group, height) in file.group_rows().enumerate() {
        let present = columns.iter().filter(|column| file.has(column));
        let decoded = present.map(|column| file.decode(group, column)).collect::<PolarsResult<_>>()?;
        let part = DataFrame::new(height, decoded)?;
        if group == 0 {
            frame = part
        } else {
            frame.vstack_mut(&part)?;
        }
    }
    frame.rechunk_mut();
    Ok(frame)
}
