//! The CSV timeline and its kin: one row per activity in order of time, as CSV, TSV or JSON lines.
//!
//! Rows are formatted by all threads, each some thousands of rows into a buffer of its own, and written in order.
//! What a launch shape becomes is formatted once per shape: shapes repeat millions of times.

use super::flat::{self, Cell, Layout, ShapeField, Source};
use super::{Columns, Context, Destination, Exporter, Keeps, Shape};
use crate::error::{Error, Result};
use crate::trace::ordered::{Chunk, Piece};
use crate::trace::sink::Need;
use flate2::Compression;
use flate2::write::GzEncoder;
use rayon::prelude::*;
use std::io::Write;
use trace_format::columns::Values;
use trace_format::schema::{Role, TableSpec};
use trace_format::tables;

/// The CSV timeline.
pub static CSV: Exporter = Exporter {
    name: "csv",
    extension: "csv",
    doc: "CSV timeline: one row per activity in order of time, all columns, base units in their names",
    shape: Shape::Stream,
    need: Need::all,
    options: &[],
    keeps: KEEPS,
    write: |context, destination| write_stream(context, destination, &Csv(b',')),
};

/// The same with tabs.
pub static TSV: Exporter = Exporter {
    name: "tsv",
    extension: "tsv",
    doc: "the CSV timeline with tabs between values; tabs and line ends inside of them are written as \\t, \\n, \\r",
    keeps: &[],
    write: |context, destination| write_stream(context, destination, &Tsv),
    ..CSV
};

/// The same as JSON, an object per line.
pub static JSONL: Exporter = Exporter {
    name: "jsonl",
    extension: "jsonl",
    doc: "the CSV timeline as JSON, one object per line, without what is null",
    keeps: &[],
    write: |context, destination| write_stream(context, destination, &JsonLines),
    ..CSV
};

/// One CSV file per table.
pub static CSV_TABLES: Exporter = Exporter {
    name: "csv-tables",
    extension: "",
    doc: "a folder with one CSV file per table, each in order of time, and a manifest",
    shape: Shape::Folder,
    keeps: super::folder::KEEPS,
    write: write_folder,
    ..CSV
};

const KEEPS: &[Keeps] = &{
    const fn all(table: &'static str) -> Keeps {
        Keeps { table, columns: Columns::All, note: "" }
    }
    [
        all("shape"),
        Keeps {
            table: "device",
            columns: Columns::Only(&["device", "name_id"]),
            note: "of devices that did something",
        },
        Keeps { table: "thread", columns: Columns::All, note: "of threads that did something" },
        all("kernel"),
        all("memcpy"),
        all("memset"),
        all("api"),
        all("sync"),
        all("overhead"),
        all("graph"),
        all("memory"),
        all("uvm"),
        all("event"),
        all("external"),
        all("jit"),
        all("openacc"),
        all("openmp"),
        all("range"),
        all("loss"),
        all("capture"),
        all("note"),
        all("sample"),
    ]
};

/// Rows handed to one thread at a time.
const ROWS_AT_ONCE: usize = 4096;

/// The tables of the timeline: what happened, and what is said about it.
pub fn timeline_tables() -> Vec<&'static TableSpec> {
    let timeline = |table: &&&TableSpec| matches!(table.role, Role::Activity) || is_remark(table);
    tables::ALL.iter().filter(timeline).copied().collect()
}

fn is_remark(table: &TableSpec) -> bool {
    [&tables::LOSS, &tables::CAPTURE, &tables::NOTE, &tables::SAMPLE].iter().any(|remark| *remark == table)
}

/// How one record becomes text.
trait Format: Sync {
    /// The line above all records; nothing if there is none.
    fn heading(&self, layout: &Layout, out: &mut Vec<u8>);
    /// Begins a value in the column at this position; `first` in its record.
    fn begin(&self, out: &mut Vec<u8>, first: bool, name: &str);
    /// Whether nulls are written, as nothing between separators.
    fn writes_nulls(&self) -> bool;
    /// Text.
    fn text(&self, out: &mut Vec<u8>, text: &str);
    /// Begins and ends a record.
    fn ends(&self) -> (&'static [u8], &'static [u8]);
}

struct Csv(u8);
struct Tsv;
struct JsonLines;

impl Format for Csv {
    fn heading(&self, layout: &Layout, out: &mut Vec<u8>) {
        for (i, column) in layout.columns.iter().enumerate() {
            self.begin(out, i == 0, &column.name);
            self.text(out, &column.name);
        }
        out.extend_from_slice(b"\r\n");
    }
    fn begin(&self, out: &mut Vec<u8>, first: bool, _: &str) {
        if !first {
            out.push(self.0);
        }
    }
    fn writes_nulls(&self) -> bool {
        true
    }
    fn text(&self, out: &mut Vec<u8>, text: &str) {
        let special = |b: u8| matches!(b, b'"' | b'\r' | b'\n') || b == self.0;
        // A leading or trailing blank is quoted too: some readers trim what is not.
        let plain = !text.bytes().any(special) && !text.starts_with(' ') && !text.ends_with(' ');
        if plain {
            out.extend_from_slice(text.as_bytes());
            return;
        }
        out.push(b'"');
        for (i, part) in text.split('"').enumerate() {
            if i > 0 {
                out.extend_from_slice(b"\"\"");
            }
            out.extend_from_slice(part.as_bytes());
        }
        out.push(b'"');
    }
    fn ends(&self) -> (&'static [u8], &'static [u8]) {
        // RFC 4180 ends records so.
        (b"", b"\r\n")
    }
}

impl Format for Tsv {
    fn heading(&self, layout: &Layout, out: &mut Vec<u8>) {
        let names: Vec<&str> = layout.columns.iter().map(|column| column.name.as_str()).collect();
        out.extend_from_slice(names.join("\t").as_bytes());
        out.push(b'\n');
    }
    fn begin(&self, out: &mut Vec<u8>, first: bool, _: &str) {
        if !first {
            out.push(b'\t');
        }
    }
    fn writes_nulls(&self) -> bool {
        true
    }
    fn text(&self, out: &mut Vec<u8>, text: &str) {
        for byte in text.bytes() {
            match byte {
                b'\t' => out.extend_from_slice(b"\\t"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\\' => out.extend_from_slice(b"\\\\"),
                other => out.push(other),
            }
        }
    }
    fn ends(&self) -> (&'static [u8], &'static [u8]) {
        (b"", b"\n")
    }
}

impl Format for JsonLines {
    fn heading(&self, _: &Layout, _: &mut Vec<u8>) {}
    fn begin(&self, out: &mut Vec<u8>, first: bool, name: &str) {
        out.extend_from_slice(if first { b"\"" } else { b",\"" });
        // Names of columns are words of the registry, which need no escapes.
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
    }
    fn writes_nulls(&self) -> bool {
        false
    }
    fn text(&self, out: &mut Vec<u8>, text: &str) {
        // Writing to memory cannot fail.
        let _ = serde_json::to_writer(out, text);
    }
    fn ends(&self) -> (&'static [u8], &'static [u8]) {
        (b"{", b"}\n")
    }
}

/// A whole number in decimal digits.
fn whole(out: &mut Vec<u8>, value: i128) {
    let mut digits = [0u8; 40];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    if let Ok(mut small) = u64::try_from(rest) {
        loop {
            at -= 1;
            digits[at] = b'0' + (small % 10) as u8;
            small /= 10;
            if small == 0 {
                break;
            }
        }
    } else {
        while rest > 0 {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }
    if value < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    out.extend_from_slice(&digits[at..]);
}

fn put(format: &impl Format, out: &mut Vec<u8>, cell: &Cell) {
    match cell {
        Cell::Null => {}
        Cell::Text(text) => format.text(out, text),
        Cell::Whole(value) => whole(out, *value),
        Cell::Real(value) if value.is_finite() => {
            let _ = write!(out, "{value:?}");
        }
        // JSON has no word for these, and as text every reader of CSV knows them.
        Cell::Real(value) => format.text(
            out,
            if value.is_nan() {
                "nan"
            } else if *value > 0.0 {
                "inf"
            } else {
                "-inf"
            },
        ),
        Cell::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Cell::Bytes(bytes) => format.text(out, &hex(bytes)),
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// One step of writing a row of one table.
enum Step {
    /// Columns in which the table has nothing: their separators.
    Nothing(Vec<u8>),
    /// A stored number that is never null, the commonest case.
    Number(usize),
    /// Anything else.
    Value(Source),
    /// Consecutive fields of the shape that this column refers to, as formatted before for each shape.
    Shape(usize, Vec<Vec<u8>>),
}

/// The steps for every table of a layout.
struct Plan<'a, F> {
    format: &'a F,
    names: Vec<&'a str>,
    /// By position of the table: position of the first column of a step, and the step.
    steps: Vec<Vec<(usize, Step)>>,
}

impl<'a, F: Format> Plan<'a, F> {
    fn new(context: &Context, layout: &'a Layout, format: &'a F) -> Self {
        let names = layout.columns.iter().map(|column| column.name.as_str()).collect();
        let mut plan = Plan { format, names, steps: Vec::new() };
        for (position, table) in layout.tables.iter().enumerate() {
            let sources: Vec<Source> = layout.columns.iter().map(|column| column.source(position)).collect();
            let steps = plan.of_table(context, table, &sources);
            plan.steps.push(steps);
        }
        plan
    }

    fn of_table(&self, context: &Context, table: &TableSpec, sources: &[Source]) -> Vec<(usize, Step)> {
        let mut steps = Vec::new();
        let mut at = 0;
        while at < sources.len() {
            let begun = at;
            let step = match sources[at] {
                Source::None => {
                    let mut separators = Vec::new();
                    while at < sources.len() && sources[at] == Source::None {
                        if self.format.writes_nulls() {
                            self.format.begin(&mut separators, at == 0, self.names[at]);
                        }
                        at += 1;
                    }
                    Step::Nothing(separators)
                }
                Source::Shape(column, _) => {
                    let mut fields = Vec::new();
                    while let Some(Source::Shape(same, field)) = sources.get(at)
                        && *same == column
                    {
                        fields.push(*field);
                        at += 1;
                    }
                    Step::Shape(column, self.shapes(context, begun, &fields))
                }
                Source::Cell(column) if !table.columns[column].nullable => {
                    at += 1;
                    Step::Number(column)
                }
                other => {
                    at += 1;
                    Step::Value(other)
                }
            };
            steps.push((begun, step));
        }
        steps
    }

    /// The text of some fields for every shape, and last for a shape that is not known.
    fn shapes(&self, context: &Context, first: usize, fields: &[ShapeField]) -> Vec<Vec<u8>> {
        let count = context.frames.shapes.all().len() as u32;
        (0..=count)
            .map(|shape| {
                let mut text = Vec::new();
                for (i, field) in fields.iter().enumerate() {
                    let value = flat::shape_cell(context, shape, *field);
                    if matches!(value, Cell::Null) && !self.format.writes_nulls() {
                        continue;
                    }
                    // Where nulls are left out, what comes first differs from row to row: see `row`.
                    let is_first = self.format.writes_nulls() && first + i == 0;
                    self.format.begin(&mut text, is_first, self.names[first + i]);
                    put(self.format, &mut text, &value);
                }
                text
            })
            .collect()
    }

    fn row(&self, context: &Context, layout: &Layout, piece: &Piece, i: usize, out: &mut Vec<u8>) {
        let (open, close) = self.format.ends();
        out.extend_from_slice(open);
        let begun = out.len();
        for (at, step) in &self.steps[layout.table(piece.table())] {
            // Where nulls are left out, the first value that is written is the first.
            let first = if self.format.writes_nulls() { *at == 0 } else { out.len() == begun };
            match step {
                Step::Nothing(separators) => out.extend_from_slice(separators),
                Step::Number(column) => {
                    self.format.begin(out, first, self.names[*at]);
                    match &piece.rows.columns[*column].values {
                        Values::I64(v) => whole(out, i128::from(v[i])),
                        Values::U32(v) => whole(out, i128::from(v[i])),
                        Values::U64(v) => whole(out, i128::from(v[i])),
                        _ => put(self.format, out, &flat::stored(piece, *column, i)),
                    }
                }
                Step::Shape(column, texts) => {
                    let id = match &piece.rows.columns[*column].values {
                        Values::U32(ids) => ids[i] as usize,
                        _ => usize::MAX,
                    };
                    let text = texts.get(id).or(texts.last()).map_or(&[][..], Vec::as_slice);
                    let leads = first && !self.format.writes_nulls();
                    out.extend_from_slice(if leads { text.strip_prefix(b",").unwrap_or(text) } else { text });
                }
                Step::Value(source) => {
                    let value = flat::cell(context, piece, i, *source);
                    if matches!(value, Cell::Null) && !self.format.writes_nulls() {
                        continue;
                    }
                    self.format.begin(out, first, self.names[*at]);
                    put(self.format, out, &value);
                }
            }
        }
        out.extend_from_slice(close);
    }
}

fn write_stream(context: &Context, destination: &mut Destination, format: &impl Format) -> Result<()> {
    let mut layout = Layout::of(&timeline_tables());
    if let Some(columns) = &context.options.columns {
        layout.choose(columns)?;
    }
    let mut out = destination.stream()?;
    let gzip = context.options.gzip;
    if gzip {
        write_rows(context, &layout, format, &mut GzMembers(&mut out))
    } else {
        write_rows(context, &layout, format, &mut out)
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

/// Writes the rows of all tables of the layout, below their heading.
fn write_rows(context: &Context, layout: &Layout, format: &impl Format, out: &mut impl Write) -> Result<()> {
    let failed = |e: std::io::Error| Error::output(&e);
    let mut heading = Vec::new();
    format.heading(layout, &mut heading);
    if !heading.is_empty() {
        out.write_all(&heading).map_err(failed)?;
    }
    let plan = Plan::new(context, layout, format);
    let mut buffers: Vec<Vec<u8>> = Vec::new();
    context.frames.in_order(&layout.tables, context.filter, |chunk: &Chunk| {
        let parts: Vec<&[(u32, u32)]> = chunk.order.chunks(ROWS_AT_ONCE).collect();
        buffers.resize_with(parts.len().max(buffers.len()), Vec::new);
        buffers.par_iter_mut().zip(&parts).for_each(|(buffer, rows)| {
            buffer.clear();
            for &at in *rows {
                let (piece, i) = chunk.row(at);
                plan.row(context, layout, piece, i, buffer);
            }
        });
        buffers[..parts.len()].iter().try_for_each(|buffer| out.write_all(buffer).map_err(failed))
    })
}

fn write_folder(context: &Context, destination: &mut Destination) -> Result<()> {
    super::folder::write(context, destination, "csv", |context, path, table| {
        let mut layout = Layout::of(&[table]);
        if let Some(columns) = &context.options.columns {
            layout.choose(columns)?;
        }
        let file =
            std::fs::File::create(path).map_err(|e| Error::at(path, format_args!("cannot be created: {e}")))?;
        let mut out = std::io::BufWriter::with_capacity(1 << 18, file);
        write_rows(context, &layout, &Csv(b','), &mut out)?;
        out.flush().map_err(|e| Error::at(path, format_args!("cannot be written: {e}")))
    })
}
