//! Native `.gpuprof` files: opened by their indices, decoded frame by frame, by Polars, when a report asks.

use super::batch::remap_ids;
use super::guard::guarded;
use super::names::{Names, Shapes};
use super::parquet::{ParquetFile, Source};
use super::sink::{Note, ProcessInfo};
use crate::error::{Error, Result};
use crate::import::Head;
use crate::launch::companion::{ROLE, ROLE_LAUNCHER};
use crate::numbers::counted;
use polars::prelude::*;
use polars_buffer::Buffer;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use trace_format::columns::Values;
use trace_format::frame::FrameInfo;
use trace_format::read::{Problem, ProblemKind, TraceReader};
use trace_format::schema::{Row as _, TableSpec, Unit};
use trace_format::tables::{self, ClockRow, ShapeRow};

/// Ids of a file, as ids shared by all files.
#[derive(Default)]
struct IdMap(Vec<u32>);

/// Ids are dense, so the map is a vector; a damaged or hostile file may say otherwise, and must not make us allocate
/// gigabytes. Names are capped at 16 MiB by the writer, which is far fewer than this.
const MOST_IDS: u32 = 1 << 26;

impl IdMap {
    fn insert(&mut self, id: u32, shared: u32) {
        if id < MOST_IDS {
            if id as usize >= self.0.len() {
                self.0.resize(id as usize + 1, 0);
            }
            self.0[id as usize] = shared;
        }
    }

    fn get(&self, id: u32) -> u32 {
        self.0.get(id as usize).copied().unwrap_or(0)
    }
}

/// One open native file.
pub struct NativeFile {
    /// Ordinal of its process.
    pub process: u32,
    /// Who was recorded.
    pub info: ProcessInfo,
    /// Format and writer version.
    pub origin: String,
    path: PathBuf,
    reader: TraceReader,
    names: IdMap,
    shapes: IdMap,
    /// Frames that turned out to be unreadable when a report asked for them, by offset.
    unreadable: Mutex<BTreeMap<u64, String>>,
}

impl NativeFile {
    /// Whether the file is native.
    pub fn sniff(head: &Head) -> bool {
        head.raw.starts_with(&trace_format::header::MAGIC)
    }

    /// Opens the file and reads what it defines. Rows are not touched.
    ///
    /// # Errors
    /// No whole header, a newer major version, or a disk that cannot be read. Damage further on becomes notes.
    pub fn open(
        path: &Path,
        process: u32,
        names: &mut Names,
        shapes: &mut Shapes,
        notes: &mut Vec<Note>,
    ) -> Result<NativeFile> {
        let reader = TraceReader::open(path).map_err(|e| Error::new(e.to_string()))?;
        let header = reader.header();
        let role = reader.process().unwrap_or_default();
        let of = if role.get(ROLE).and_then(|v| v.as_str()) == Some(ROLE_LAUNCHER) { " of a launcher" } else { "" };
        let origin = format!("gpuprof trace {}.{}{of}, written by {}", header.major, header.minor, header.writer);
        let mut file = NativeFile {
            process,
            info: ProcessInfo::default(),
            origin,
            path: path.to_owned(),
            reader,
            names: IdMap::default(),
            shapes: IdMap::default(),
            unreadable: Mutex::default(),
        };
        file.read_definitions(names, shapes, notes);
        for problem in file.reader.problems() {
            notes.push(file.note_of(problem));
        }
        file.read_process(notes);
        if !file.reader.is_closed() {
            let tail = file.reader.tail_bytes();
            let tail = if tail == 0 {
                String::new()
            } else {
                format!("; {} of an incomplete frame at its end", counted(tail, "byte"))
            };
            let text = format!("{}: not closed: the program was killed or is still running{tail}", path.display());
            notes.push(Note { code: "not-closed", text });
        }
        Ok(file)
    }

    fn read_definitions(&mut self, names: &mut Names, shapes: &mut Shapes, notes: &mut Vec<Note>) {
        // Batch by batch, each dropped when done: there can be millions of names and shapes.
        let NativeFile { reader, names: name_map, shapes: shape_map, .. } = self;
        let mut problems = reader.each_definition_batch(&tables::STRING, &mut |batch| {
            let [id, bytes] = &batch.columns[..] else { return };
            if let (Values::U32(ids), Values::Bytes(bytes)) = (&id.values, &bytes.values) {
                for (i, &id) in ids.iter().enumerate() {
                    name_map.insert(id, names.intern(bytes.get(i)));
                }
            }
        });
        problems.extend(reader.each_definition_batch(&tables::SHAPE, &mut |batch| {
            for i in 0..batch.rows {
                let row = ShapeRow::from_batch(&batch, i);
                let id = row.id;
                let shared = shapes.intern(ShapeRow {
                    name_id: name_map.get(row.name_id),
                    demangled_id: row.demangled_id.map(|n| name_map.get(n)),
                    base_id: row.base_id.map(|n| name_map.get(n)),
                    ..row
                });
                shape_map.insert(id, shared);
            }
        }));
        notes.extend(problems.iter().map(|p| self.note_of(p)));
    }

    /// Reads who was recorded and what its clock showed. What damage took from either is noted: without it, times and
    /// ranks of several processes would stand beside each other as if they could be compared.
    fn read_process(&mut self, notes: &mut Vec<Note>) {
        let (process, damaged) = self.reader.newest_process();
        if let Some(process) = &process {
            let number = |key: &str| process.get(key).and_then(|v| v.as_u64()).and_then(|v| u32::try_from(v).ok());
            self.info.pid = number("pid");
            self.info.rank = number("rank");
            self.info.world_size = number("world_size");
            let role = process.get(ROLE).and_then(|v| v.as_str());
            self.info.is_launcher = role == Some(ROLE_LAUNCHER);
            let text = |key: &str| process.get(key).and_then(|v| v.as_str()).map(str::to_owned);
            (self.info.host, self.info.name) = (text("host"), text("process_name"));
        }
        notes.extend(damaged.iter().map(|p| self.note_of(p)));
        // One constant offset per process. The first triple is provisional (CUPTI 13 settles late) and serves only
        // where nothing better was written.
        let clocks = self.reader.definitions::<ClockRow>();
        let clock = clocks.rows.iter().find(|c| !c.provisional).or(clocks.rows.last());
        self.info.unix_offset_ns = clock.and_then(|c| c.unix_ns.checked_sub(c.trace_ns));
        notes.extend(clocks.problems.iter().map(|p| self.note_of(p)));

        let lost_in = |table: u16, problems: &[Problem]| {
            problems
                .iter()
                .chain(self.reader.problems())
                .any(|p| p.table.is_none_or(|t| t == table) && p.rows != Some(0))
        };
        let path = self.path.display();
        if lost_in(tables::PROCESS.id, &damaged) {
            let lost = match process {
                None => Some("its process id, rank and host are not known"),
                Some(_) if damaged.is_empty() => None,
                Some(_) => {
                    Some("an older description of the process is used: its rank or host may be missing or outdated")
                }
            };
            notes.extend(lost.map(|lost| Note {
                code: "unknown-process",
                text: format!("{path}: {lost}; copy the file again if there is a whole one"),
            }));
        }
        if lost_in(tables::CLOCK.id, &clocks.problems) {
            let lost = match clock {
                None => Some(
                    "no reading of the clock can be found: times have no date and cannot be put beside those of other processes",
                ),
                Some(clock) if clock.provisional => {
                    Some("a first reading of the clock is used: dates may be off by some microseconds")
                }
                Some(_) => None,
            };
            notes.extend(lost.map(|lost| Note {
                code: "unknown-epoch",
                text: format!("{path}: {lost}; copy the file again if there is a whole one"),
            }));
        }
    }

    fn note_of(&self, problem: &Problem) -> Note {
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

    /// Frames of rows: their positions in [`TraceReader::frames`] and their tables. Repeated definitions and tables
    /// of a newer minor version are left out.
    pub fn frames(&self) -> impl Iterator<Item = (usize, &'static TableSpec)> + '_ {
        self.reader.frames().iter().enumerate().filter_map(|(i, frame)| {
            let skip = frame.is_json() || frame.is_repeat();
            if skip { None } else { tables::by_id(frame.table).map(|table| (i, table)) }
        })
    }

    /// Rows of one frame.
    pub fn frame_rows(&self, frame: usize) -> u64 {
        u64::from(self.reader.frames()[frame].rows)
    }

    /// Earliest start and latest end of one frame's rows with valid times, on the trace clock.
    pub fn frame_times(&self, frame: usize) -> Option<(i64, i64)> {
        let info = &self.reader.frames()[frame];
        info.min_start_ns.zip(info.max_end_ns)
    }

    /// The reader underneath, for `info`.
    pub fn reader(&self) -> &TraceReader {
        &self.reader
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What all segments of one recording share; none for a trace in one file.
    pub fn run(&self) -> Option<&str> {
        self.reader.header().run.as_deref()
    }

    /// What reading frames has found since the file was opened.
    pub fn late_notes(&self) -> Vec<Note> {
        let found = self.unreadable.lock().unwrap_or_else(|e| e.into_inner());
        found.values().map(|text| Note { code: "unreadable-frame", text: text.clone() }).collect()
    }

    /// Decodes `columns` of one frame; `None`: the frame is damaged, which is now noted. Columns that the frame does
    /// not have, because all their rows are null or it is older than they are, are left out. `buffer` is scratch.
    pub fn decode(
        &self,
        frame: usize,
        table: &TableSpec,
        columns: &[&str],
        buffer: &mut Vec<u8>,
    ) -> Option<(DataFrame, usize)> {
        let info = &self.reader.frames()[frame];
        let failed = |why: String| {
            let text = format!("{why}; {} of {} lost", counted(info.rows.into(), "row"), table.name);
            self.unreadable.lock().unwrap_or_else(|e| e.into_inner()).insert(info.offset, text);
            None
        };
        if let Err(error) = self.reader.read_payload(info, buffer) {
            return failed(error.to_string());
        }
        // Polars wants to own what it decodes from. The memory comes back, so that a thread needs one buffer for all frames.
        let payload = Buffer::from_vec(std::mem::take(buffer));
        let decoded = guarded(|| self.decode_payload(info, table, columns, payload.clone()));
        *buffer = payload.into_mut().right().unwrap_or_default();
        match decoded.unwrap_or_else(|panic| Err(polars_err!(ComputeError: "the decoder gave up: {panic}"))) {
            Ok(frame) => Some((frame, info.rows as usize)),
            Err(error) => {
                failed(format!("{}: frame at byte {} cannot be decoded: {error}", self.path.display(), info.offset))
            }
        }
    }

    fn decode_payload(
        &self,
        info: &FrameInfo,
        table: &TableSpec,
        columns: &[&str],
        payload: Buffer<u8>,
    ) -> PolarsResult<DataFrame> {
        let file = ParquetFile::open(Source::Memory(payload))?;
        let rows = info.rows as usize;
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
        for column in table.columns.iter().filter(|c| columns.contains(&c.name)) {
            match column.unit {
                Unit::Name => remap_ids(&mut frame, column.name, &self.names.0, 0)?,
                Unit::Shape => remap_ids(&mut frame, column.name, &self.shapes.0, u32::MAX)?,
                _ => {}
            }
        }
        without_impossible_durations(&mut frame)?;
        Ok(frame)
    }
}

/// A duration below zero is none, whoever wrote it. Sums are made without looking again.
fn without_impossible_durations(frame: &mut DataFrame) -> PolarsResult<()> {
    let Ok(column) = frame.column("duration_ns") else { return Ok(()) };
    let durations = column.i64()?;
    if durations.min().is_none_or(|least| least >= 0) {
        return Ok(());
    }
    let kept: Int64Chunked = durations.iter().map(|ns| ns.filter(|&ns| ns >= 0)).collect();
    frame.with_column(kept.with_name("duration_ns".into()).into_column())?;
    Ok(())
}
