//! The CSV timeline and its kin: one row per activity in order of time, as CSV, TSV or JSON lines.
//!
//! Rows are formatted by all threads, each some thousands of rows into a buffer of its own, and written in order.
//! What a launch shape becomes is formatted once per shape: shapes repeat millions of times.

mod format;
mod plan;

use super::flat::Layout;
use super::{Columns, Context, Destination, Exporter, KeptTable, KeptTables, Shape};
use crate::error::{Error, Result};
use crate::exchange::flat::{IS_LAST, ROW};
use crate::render::digits::unsigned;
use crate::trace::ordered::{Chunk, Piece};
use crate::trace::sink::Need;
use flate2::Compression;
use flate2::write::GzEncoder;
use format::{Csv, Format, JsonLines, Tsv};
use plan::Plan;
use rayon::prelude::*;
use std::borrow::Cow;
use std::io::Write;
use trace_format::schema::{AnyColumn as _, Role, TableSpec};
use trace_format::tables;
use trace_format::tables::column::{any, device};

/// The CSV timeline.
pub static CSV: Exporter = Exporter {
    name: "csv",
    extension: "csv",
    other_endings: &[],
    binary: false,
    doc: "CSV timeline: one row per activity in order of time, all columns, base units in their names",
    shape: Shape::Stream,
    need: Need::all,
    options: &[UNTIMED],
    keeps: KeptTables { listed: LISTED, others: is_written_whole, note: "" },
    write: |context, destination| write_stream(context, destination, &Csv(b',')),
};

/// The format of CSV with tabs between the columns.
pub static TSV: Exporter = Exporter {
    name: "tsv",
    extension: "tsv",
    other_endings: &["tab"],
    doc: "the CSV timeline with tabs between values; tabs and line ends inside of them are written as \\t, \\n, \\r",
    keeps: KeptTables::NOTHING,
    write: |context, destination| write_stream(context, destination, &Tsv),
    ..CSV
};

/// The same as JSON, an object per line.
pub static JSONL: Exporter = Exporter {
    name: "jsonl",
    extension: "jsonl",
    other_endings: &["ndjson"],
    doc: "the CSV timeline as JSON, one object per line, without what is null except in the first, which names all columns",
    keeps: KeptTables::NOTHING,
    write: |context, destination| write_stream(context, destination, &JsonLines),
    ..CSV
};

/// Rows without a start leave holes in the columns of times, and whoever reads whole numbers with holes as floating-point
/// numbers, pandas for one, is then off by up to 128 ns everywhere.
const UNTIMED: (&str, &str) = (
    "untimed",
    "yes: rows that have no place on a timeline too: external ids, launch stacks, remarks, arguments of rows (default: no)",
);

/// One CSV file per table.
pub static CSV_TABLES: Exporter = Exporter {
    name: "csv-tables",
    extension: "",
    doc: "a folder with one CSV file per table, each in order of time, and a manifest",
    shape: Shape::Folder,
    options: &[],
    keeps: KeptTables::EVERYTHING,
    write: write_folder,
    ..CSV
};

const LISTED: &[KeptTable] = &[
    KeptTable { table: &tables::SHAPE, columns: Columns::All, note: "" },
    KeptTable {
        table: &tables::DEVICE,
        columns: Columns::Only(&[device::DEVICE, device::NAME_ID]),
        note: "of devices that did something",
    },
    KeptTable { table: &tables::THREAD, columns: Columns::All, note: "of threads that did something" },
    KeptTable { table: &tables::EXTERNAL, columns: Columns::All, note: "with `--option untimed=yes`" },
    KeptTable {
        table: &tables::LOSS,
        columns: Columns::All,
        note: "those without a time with `--option untimed=yes`",
    },
    KeptTable {
        table: &tables::NOTE,
        columns: Columns::All,
        note: "those without a time with `--option untimed=yes`",
    },
    KeptTable { table: &tables::DETAILS, columns: Columns::All, note: "with `--option untimed=yes`" },
];

/// Rows of the timeline are written with all columns. Stacks are no rows of it, so that what refers to them is lost.
fn is_written_whole(table: &TableSpec) -> bool {
    is_of_timeline(table) && table != &tables::CPU_SAMPLE && table != &tables::LAUNCH_STACK
}

/// Rows handed to one thread at a time.
const ROWS_AT_ONCE: usize = 4096;

/// The tables of the timeline: what happened, and what is said about it.
fn timeline_tables() -> Vec<&'static TableSpec> {
    tables::ALL.iter().copied().filter(|table| is_of_timeline(table)).collect()
}

fn is_of_timeline(table: &TableSpec) -> bool {
    table.role == Role::Activity || is_remark(table)
}

/// Whether rows of a table stand on the timeline: arguments of rows would be there a second time.
fn has_place(table: &TableSpec) -> bool {
    table.column_index(any::START_NS.name()).is_some() && table != &tables::DETAILS
}

fn is_remark(table: &TableSpec) -> bool {
    [&tables::LOSS, &tables::CAPTURE, &tables::NOTE, &tables::SAMPLE].contains(&table)
}

fn write_stream(context: &Context, destination: &mut Destination, format: &impl Format) -> Result<()> {
    let with_untimed = context.options.flag(UNTIMED.0, false)?;
    let (tables, untimed): (Vec<_>, Vec<_>) =
        timeline_tables().into_iter().partition(|table| with_untimed || has_place(table));
    let mut layout = Layout::of(&tables);
    if let Some(columns) = &context.options.columns {
        layout.choose(columns)?;
    }
    let mut out = destination.stream()?;
    let rows = Rows { layout: &layout, with_untimed, counted: context.options.columns.is_none() };
    let left_out = if context.options.gzip {
        write_rows(context, &rows, format, &mut GzMembers(&mut out))?
    } else {
        write_rows(context, &rows, format, &mut out)?
    };
    say_what_is_left_out(context, &untimed, left_out);
    Ok(())
}

/// Says how many rows have no start and are not written: `left_out` of the tables written, all of `untimed`.
fn say_what_is_left_out(context: &Context, untimed: &[&'static TableSpec], left_out: u64) {
    let details = context.frames.rows(&tables::DETAILS);
    if details > 0 && untimed.contains(&&tables::DETAILS) {
        let what = format!("arguments that the trace gives {details} of its rows are not written (table details)");
        context.note("details-left-out", format!("{what}; --option untimed=yes writes them too"));
    }
    let others = untimed.iter().filter(|table| **table != &tables::DETAILS);
    let others = others.map(|table| (table.name, context.frames.rows(table)));
    let others: Vec<(&str, u64)> = others.filter(|(_, rows)| *rows > 0).collect();
    let total = left_out + others.iter().map(|(_, rows)| rows).sum::<u64>();
    if total > 0 {
        let mut names: Vec<&str> = others.iter().map(|(name, _)| *name).collect();
        names.extend((left_out > 0).then_some("event, loss or note"));
        let rows = if total == 1 { "row has" } else { "rows have" };
        let what = format!("{total} {rows} no start and no place on a timeline ({})", names.join(", "));
        context.note("untimed-rows", format!("{what}; --option untimed=yes writes them too"));
    }
}

/// The rows of a stream or file.
struct Rows<'a> {
    layout: &'a Layout,
    /// Whether those without a start take part.
    with_untimed: bool,
    /// Whether each says which it is, so that a file that was cut off is known by its last one.
    counted: bool,
}

impl Rows<'_> {
    /// Appends the number of a row to it.
    fn count(&self, format: &impl Format, out: &mut Vec<u8>, number: u64) {
        if !self.counted {
            return;
        }
        let (_, close) = format.ends();
        out.truncate(out.len().saturating_sub(close.len()));
        format.begin(out, false, ROW);
        unsigned(out, number);
        format.begin(out, false, IS_LAST);
        out.push(b'0');
        out.extend_from_slice(close);
    }

    /// Makes the row that `out` ends with the last one.
    fn end(&self, format: &impl Format, out: &mut Vec<u8>) {
        let (_, close) = format.ends();
        if self.counted {
            out.truncate(out.len().saturating_sub(close.len() + 1));
            out.push(b'1');
            out.extend_from_slice(close);
        }
    }
}

/// Writes every piece it gets as a gzip member of its own: readers take them as one file.
struct GzMembers<W>(W);

impl<W: Write> Write for GzMembers<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut encoder = GzEncoder::new(&mut self.0, Compression::fast());
        encoder.write_all(bytes)?;
        encoder.finish()?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Writes the rows of all tables of the layout, below their heading; returns how many were left out.
fn write_rows(context: &Context, rows: &Rows, format: &impl Format, out: &mut (impl Write + Send)) -> Result<u64> {
    let layout = rows.layout;
    let failed = |e: std::io::Error| Error::output(&e);
    let mut heading = Vec::new();
    match rows.counted {
        true => format.heading(&layout.with_counting(), &mut heading),
        false => format.heading(layout, &mut heading),
    }
    if !heading.is_empty() {
        out.write_all(&heading).map_err(failed)?;
    }
    let plan = Plan::new(context, layout, format);
    // Some buffers are written while others are filled, and all are used again: there is more text here than in any
    // other format, and pieces that `behind` takes are new ones each time.
    let (mut filling, mut ready): (Vec<Vec<u8>>, Vec<Vec<u8>>) = Default::default();
    let (mut ready_parts, mut rows_written, mut left_out) = (0, 0u64, 0u64);
    context.frames.in_order(&layout.tables, context.filter, |chunk: &Chunk| {
        let is_timed = |&(piece, row): &(u32, u32)| {
            let (piece, i) = chunk.row((piece, row));
            has_start(piece, i)
        };
        let order: Cow<[(u32, u32)]> = match rows.with_untimed || chunk.order.iter().all(is_timed) {
            true => Cow::Borrowed(&chunk.order),
            false => chunk.order.iter().filter(|at| is_timed(at)).copied().collect(),
        };
        left_out += (chunk.order.len() - order.len()) as u64;
        let parts: Vec<&[(u32, u32)]> = order.chunks(ROWS_AT_ONCE).collect();
        if parts.is_empty() {
            // What is ready stays so: the last row of all is not written before it is known to be the last.
            return Ok(());
        }
        let before = rows_written;
        rows_written += order.len() as u64;
        context.count(order.len() as u64);
        filling.resize_with(parts.len().max(filling.len()), Vec::new);
        let fill = || {
            filling.par_iter_mut().zip(&parts).enumerate().for_each(|(number, (buffer, part))| {
                buffer.clear();
                let numbers = before + (number * ROWS_AT_ONCE) as u64 + 1..;
                for (&at, number) in part.iter().zip(numbers) {
                    let (piece, i) = chunk.row(at);
                    if number == 1 {
                        plan.first_row(context, layout, piece, i, buffer);
                    } else {
                        plan.row(context, piece, i, buffer);
                    }
                    rows.count(format, buffer, number);
                }
            });
        };
        let write = || ready[..ready_parts].iter().try_for_each(|buffer| out.write_all(buffer));
        let (written, ()) = rayon::join(write, fill);
        written.map_err(failed)?;
        std::mem::swap(&mut filling, &mut ready);
        ready_parts = parts.len();
        Ok(())
    })?;
    if let Some(last) = ready[..ready_parts].last_mut() {
        rows.end(format, last);
    }
    ready[..ready_parts].iter().try_for_each(|buffer| out.write_all(buffer)).map_err(failed)?;
    Ok(left_out)
}

fn has_start(piece: &Piece, i: usize) -> bool {
    piece.table().column_index(any::START_NS.name()).is_some_and(|start| !piece.rows.columns[start].is_null(i))
}

fn write_folder(context: &Context, destination: &mut Destination) -> Result<()> {
    super::folder::write(context, destination, "csv", |context, path, table| {
        let layout = super::folder::layout(context, table);
        let file =
            std::fs::File::create(path).map_err(|e| Error::at(path, format_args!("cannot be created: {e}")))?;
        let mut out = std::io::BufWriter::with_capacity(1 << 18, file);
        write_rows(context, &Rows { layout: &layout, with_untimed: true, counted: false }, &Csv(b','), &mut out)?;
        out.flush().map_err(|e| Error::at(path, format_args!("cannot be written: {e}")))
    })
}
