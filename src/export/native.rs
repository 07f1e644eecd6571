//! Our own format, written from any trace that can be read: `gpuprof convert`, and `export --format gpuprof`.
//!
//! A file holds one process. Rows are written in order of time and in full frames, so a native trace gets smaller,
//! a piece of one can be cut out, and the segments of a ring become one file again.

use super::{Context, Destination, Exporter, KeptTables, Shape};
use crate::error::{Error, Result};
use crate::trace::frames::{Frames, Process};
use crate::trace::ordered::Piece;
use crate::trace::sink::Need;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use trace_format::columns::{Batch, Column, Values};
use trace_format::frame::MAX_ROWS;
use trace_format::header::FileHeader;
use trace_format::schema::{Role, RowBuilder as _, TableSpec};
use trace_format::tables::{self, ClockRow, DeviceRow, StringRow};
use trace_format::write::{TraceWriter, WriteOptions};

/// Our own format.
pub static GPUPROF: Exporter = Exporter {
    name: "gpuprof",
    extension: "gpuprof",
    other_endings: &[],
    binary: true,
    doc: "gpuprof's own format, one file per process; several processes make a folder",
    shape: Shape::FilePerProcess,
    need: Need::all,
    options: &[],
    keeps: KeptTables::EVERYTHING,
    write,
};

fn write(context: &Context, destination: &mut Destination) -> Result<()> {
    match destination {
        Destination::Folder(folder) => {
            for process in 0..context.frames.processes.len() as u32 {
                // Padded, so that the order of names is the order of processes.
                write_process(context, process, &folder.join(format!("process-{process:05}.gpuprof")))?;
            }
            Ok(())
        }
        _ => write_process(context, 0, destination.path()?),
    }
}

/// Writes one process as a trace of its own.
fn write_process(context: &Context, process: u32, path: &Path) -> Result<()> {
    let failed = |e: &dyn std::fmt::Display| Error::at(path, format_args!("cannot be written: {e}"));
    let frames = context.frames;
    let Some(known) = frames.processes.get(process as usize) else {
        return Err(Error::nothing("no process to write"));
    };
    let file = File::create(path).map_err(|e| failed(&e))?;
    let native = frames.natives().iter().find(|native| native.process == process);
    let created = native.map_or(0, |native| native.reader().header().created_unix_ns);
    let header = FileHeader::new(concat!("gpuprof ", env!("CARGO_PKG_VERSION"), ", converted"), created);
    let writer = TraceWriter::create(file, &header, WriteOptions::default()).map_err(|e| failed(&e))?;
    let mut out = Out {
        frames,
        writer,
        path: path.to_owned(),
        offset_ns: frames.offset_ns(process),
        names: vec![false; frames.names.len()],
        shapes: vec![false; frames.shape_count()],
        open: BTreeMap::new(),
    };
    out.writer
        .write_json(&tables::PROCESS, &process_json(frames, process, known, context.filter.is_everything()))
        .map_err(|e| failed(&e))?;
    if native.is_none() {
        out.foreign_clock(known)?;
    }
    out.devices_of_others(process)?;
    let filter = context.filter.within_process(process);
    let everything = crate::trace::select::Filter::everything().within_process(process);
    // What others refer to comes first, whole, whatever the filter keeps of the rest.
    let defining = |table: &&&TableSpec| {
        table.role == Role::Defining && **table != &tables::STRING && **table != &tables::SHAPE
    };
    let defining: Vec<&'static TableSpec> = tables::ALL.iter().filter(defining).copied().collect();
    frames.in_order(&defining, &everything, |chunk| {
        context.count(chunk.order.len() as u64);
        chunk.iter().try_for_each(|(piece, i)| out.row(piece, i))
    })?;
    out.flush()?;
    let rest: Vec<&'static TableSpec> =
        tables::ALL.iter().filter(|table| matches!(table.role, Role::Activity | Role::Meta)).copied().collect();
    frames.in_order(&rest, &filter, |chunk| {
        context.count(chunk.order.len() as u64);
        chunk.iter().try_for_each(|(piece, i)| out.row(piece, i))
    })?;
    out.flush()?;
    out.writer.finish(&json!({"converted_from": known.path.display().to_string()})).map_err(|e| failed(&e))
}

/// What is known of the process: all of it from a native trace, what the importer told from others. `is_whole`: all its rows
/// are written.
fn process_json(frames: &Frames, process: u32, known: &Process, is_whole: bool) -> Value {
    let native = frames.natives().iter().find(|native| native.process == process);
    let mut json = native
        .and_then(|native| native.reader().process())
        .and_then(|value| value.as_object().cloned())
        .unwrap_or_default();
    if !is_whole {
        // Of the steps, or the time, that a part of a trace stands for, nobody has counted all.
        json.remove(tables::STEPS);
        json.remove(tables::BUDGET);
    }
    let mut put = |key: &str, value: Value| {
        if !value.is_null() && !json.contains_key(key) {
            json.insert(key.to_owned(), value);
        }
    };
    put("pid", json!(known.info.pid));
    put("rank", json!(known.info.rank));
    put("world_size", json!(known.info.world_size));
    put("host", json!(known.info.host));
    put("process_name", json!(known.info.name));
    let file = frames.files.iter().find(|file| file.processes.contains(&process));
    let mut converted = Map::new();
    converted.insert("from".to_owned(), json!(known.path.display().to_string()));
    converted.insert("origin".to_owned(), json!(file.map(|file| &file.origin)));
    converted.insert("was_closed".to_owned(), json!(native.map(|native| native.reader().is_closed())));
    put("converted", Value::Object(converted));
    Value::Object(json)
}

/// A trace being written.
struct Out<'a> {
    frames: &'a Frames,
    writer: TraceWriter<File>,
    path: PathBuf,
    /// What reading has added to all times.
    offset_ns: i64,
    /// Which names and shapes are in the file already.
    names: Vec<bool>,
    shapes: Vec<bool>,
    /// Rows gathered, by table number.
    open: BTreeMap<u16, Batch>,
}

impl Out<'_> {
    fn failed(&self, error: &dyn std::fmt::Display) -> Error {
        Error::at(&self.path, format_args!("cannot be written: {error}"))
    }

    /// A trace of another tool whose times count from 1970 says so by one clock reading.
    fn foreign_clock(&mut self, known: &Process) -> Result<()> {
        let Some(unix_ns) = known.info.unix_offset_ns else { return Ok(()) };
        let mut clock = tables::clock::ClockBuilder::default();
        clock.push(ClockRow { trace_ns: 0, unix_ns, monotonic_ns: 0, provisional: false });
        self.writer.write_batch(&clock.take()).map_err(|e| self.failed(&e))
    }

    /// A file with several processes may describe its devices for the first of them only.
    fn devices_of_others(&mut self, process: u32) -> Result<()> {
        let frames = self.frames;
        if frames.devices.iter().any(|(p, _)| *p == process) {
            return Ok(());
        }
        let Some(file) = frames.files.iter().find(|file| file.processes.contains(&process)) else { return Ok(()) };
        let mut devices = tables::device::DeviceBuilder::default();
        let mut seen = Vec::new();
        for (other, row) in &frames.devices {
            if file.processes.contains(other) && !seen.contains(&row.device) {
                seen.push(row.device);
                self.define_name(row.name_id)?;
                devices.push(DeviceRow { ..row.clone() });
            }
        }
        if devices.is_empty() {
            return Ok(());
        }
        self.writer.write_batch(&devices.take()).map_err(|e| self.failed(&e))
    }

    fn row(&mut self, piece: &Piece, i: usize) -> Result<()> {
        let table = piece.table();
        for (spec, column) in table.columns.iter().zip(&piece.rows.columns) {
            match &column.values {
                _ if column.is_null(i) => {}
                Values::U32(ids) if spec.unit.is_name() => self.define_name(ids[i])?,
                Values::U32(ids) if spec.unit.is_shape() => self.define_shape(ids[i])?,
                _ => {}
            }
        }
        let offset_ns = self.offset_ns;
        let open = self.open.entry(table.id).or_insert_with(|| Batch::empty(table));
        for ((spec, to), from) in table.columns.iter().zip(&mut open.columns).zip(&piece.rows.columns) {
            let moved = if spec.is_time() { offset_ns } else { 0 };
            append(to, from, i, moved);
        }
        open.rows += 1;
        if open.rows >= MAX_ROWS {
            let full = std::mem::replace(open, Batch::empty(table));
            // What the rows refer to comes before them.
            for defining in [&tables::STRING, &tables::SHAPE] {
                if let Some(rows) = self.open.remove(&defining.id) {
                    self.write_rows(rows)?;
                }
            }
            self.write_rows(full)?;
        }
        Ok(())
    }

    fn write_rows(&mut self, mut rows: Batch) -> Result<()> {
        for column in &mut rows.columns {
            if column.validity.as_ref().is_some_and(|valid| valid.iter().all(|v| *v)) {
                column.validity = None;
            }
        }
        self.writer.write_batch(&rows).map_err(|e| self.failed(&e))
    }

    fn flush(&mut self) -> Result<()> {
        let open = std::mem::take(&mut self.open);
        open.into_values().filter(|rows| rows.rows > 0).try_for_each(|rows| self.write_rows(rows))
    }

    fn define_name(&mut self, id: u32) -> Result<()> {
        let Some(written) = self.names.get_mut(id as usize).filter(|written| !**written) else { return Ok(()) };
        *written = true;
        self.gather(&tables::STRING, |batch| {
            let mut rows = tables::string::StringBuilder::default();
            rows.push(StringRow { id, bytes: batch.names.get(id).to_vec() });
            rows.take()
        })
    }

    fn define_shape(&mut self, id: u32) -> Result<()> {
        let Some(written) = self.shapes.get_mut(id as usize).filter(|written| !**written) else { return Ok(()) };
        *written = true;
        let Some(shape) = self.frames.shape(id) else { return Ok(()) };
        [Some(shape.name_id), shape.demangled_id, shape.base_id]
            .into_iter()
            .flatten()
            .try_for_each(|name| self.define_name(name))?;
        self.gather(&tables::SHAPE, |_| {
            let mut rows = tables::shape::ShapeBuilder::default();
            rows.push(shape);
            rows.take()
        })
    }

    /// Adds one row to those that are open. Definitions are written before the rows that refer to them: tables are
    /// flushed in the order of their numbers, and a table that is full flushes definitions first.
    fn gather(&mut self, table: &'static TableSpec, rows: impl FnOnce(&Frames) -> Batch) -> Result<()> {
        let rows = rows(self.frames);
        let open = self.open.entry(table.id).or_insert_with(|| Batch::empty(table));
        for (to, from) in open.columns.iter_mut().zip(&rows.columns) {
            append(to, from, 0, 0);
        }
        open.rows += 1;
        Ok(())
    }
}

/// Appends value `i` of `from`, moved back by `offset_ns` if it is a time.
fn append(to: &mut Column, from: &Column, i: usize, offset_ns: i64) {
    let null = from.is_null(i);
    let before = to.values.len();
    match (&mut to.values, &from.values) {
        (Values::U32(to), Values::U32(from)) => to.push(from[i]),
        (Values::U64(to), Values::U64(from)) => to.push(from[i]),
        (Values::I64(to), Values::I64(from)) => to.push(if null { 0 } else { from[i].saturating_sub(offset_ns) }),
        (Values::F64(to), Values::F64(from)) => to.push(from[i]),
        (Values::Bool(to), Values::Bool(from)) => to.push(from[i]),
        (Values::Bytes(to), Values::Bytes(from)) => to.push(from.get(i)),
        // Both are columns of one table of one registry.
        _ => return,
    }
    if null && to.validity.is_none() {
        to.validity = Some(vec![true; before]);
    }
    if let Some(validity) = &mut to.validity {
        validity.push(!null);
    }
}
