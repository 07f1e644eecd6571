//! What writing a row takes, worked out once per table: separators of columns that the table has not, text that is the
//! same for many rows, numbers straight from their columns.

use super::format::{Format, put};
use crate::export::Context;
use crate::export::flat::{self, Cell, FlatColumn, Layout, ShapeField, Source, Span};
use crate::render::digits::{signed, unsigned};
use crate::trace::ordered::Piece;
use crate::trace::slots::Slots;
use hashbrown::HashMap;
use std::collections::BTreeSet;
use trace_format::columns::Values;
use trace_format::schema::{AnyColumn as _, ColumnType, TableSpec};
use trace_format::tables;
use trace_format::tables::column::{any, kernel};

/// Shapes up to which their text is kept. Of more, few come again, and all of them would take memory to the end.
const MOST_SHAPES: usize = 100_000;

/// One step of writing a row of one table.
enum Step {
    /// Consecutive columns that are the same in all rows of a process, by its ordinal, with what stands between them.
    /// Columns in which the table has nothing are among them: their separators.
    OfProcess(Vec<Box<[u8]>>),
    /// A stored number, the commonest case.
    Number(usize),
    /// A time that follows from others.
    Span(Span),
    /// What depends on the process and the number in this column.
    OfPlace(usize, HashMap<(u32, u32), Vec<u8>>),
    /// A name whose id is in this column, made for each that is met.
    OfId(usize, Named, Slots<Box<[u8]>>),
    /// Anything else.
    Value(Source),
    /// Consecutive fields of the shape that this column refers to, formatted once for each shape that is met. Slots are
    /// none where there are so many shapes that few of them come again.
    Shape(usize, Vec<ShapeField>, Option<Slots<Box<[u8]>>>),
}

/// What an id stands for.
#[derive(Clone, Copy)]
enum Named {
    /// A launch shape: the name of its kernel.
    Kernel,
    /// The name of an API call, as people know it.
    Call,
    /// A name as it is stored.
    Stored,
}

/// The steps for every table of a layout.
pub(super) struct Plan<'a, F> {
    format: &'a F,
    names: Vec<&'a str>,
    /// By position of the table: position of the first column of a step, and the step.
    steps: Vec<Vec<(usize, Step)>>,
    /// The position of a table in the layout, by its id in the registry.
    positions: Vec<usize>,
}

impl<'a, F: Format> Plan<'a, F> {
    /// The steps for writing `layout` in `format`.
    pub(super) fn new(context: &Context, layout: &'a Layout, format: &'a F) -> Self {
        let names = layout.columns.iter().map(|column| column.name.as_str()).collect();
        let mut plan = Plan { format, names, steps: Vec::new(), positions: Vec::new() };
        let have_names = context.labels.named_threads().next().is_some();
        for (position, table) in layout.tables.iter().enumerate() {
            let id = usize::from(table.id);
            plan.positions.resize(plan.positions.len().max(id + 1), 0);
            plan.positions[id] = position;
            let source = |column: &FlatColumn| match column.source(position) {
                Source::ThreadName(_) if !have_names => Source::None,
                source => source,
            };
            let sources: Vec<Source> = layout.columns.iter().map(source).collect();
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
                source if source.is_of_process() => {
                    let run = sources[at..].iter().take_while(|source| source.is_of_process()).count();
                    at += run;
                    // One text at least, so that whatever a row says of its process, its columns stand in their places.
                    let processes = 0..context.frames.processes.len().max(1) as u32;
                    let of = |process| self.run(context, table, process, begun, &sources[begun..at]);
                    Step::OfProcess(processes.map(of).collect())
                }
                Source::Shape(column, _) => {
                    let mut fields = Vec::new();
                    while let Some(Source::Shape(same, field)) = sources.get(at)
                        && *same == column
                    {
                        fields.push(*field);
                        at += 1;
                    }
                    let count = context.frames.shape_count();
                    Step::Shape(column, fields, (count <= MOST_SHAPES).then(|| Slots::new(count)))
                }
                Source::Cell(column) if !matches!(table.columns[column].ty, ColumnType::Bytes) => {
                    at += 1;
                    Step::Number(column)
                }
                Source::Span(span) => {
                    at += 1;
                    Step::Span(span)
                }
                other => {
                    at += 1;
                    self.prepared(context, table, other)
                }
            };
            steps.push((begun, step));
        }
        steps
    }

    /// The text of consecutive columns that are the same in all rows of a process.
    fn run(
        &self,
        context: &Context,
        table: &TableSpec,
        process: u32,
        first: usize,
        sources: &[Source],
    ) -> Box<[u8]> {
        let mut text = Vec::new();
        for (at, source) in (first..).zip(sources) {
            let value = match source {
                Source::Table => Cell::Text(table.name.into()),
                source => flat::of_process(context, process, *source),
            };
            self.prepare(&mut text, at, &value);
        }
        text.into()
    }

    /// Appends what can be written as it is in any row: see [`Plan::ready`].
    fn prepare(&self, text: &mut Vec<u8>, at: usize, value: &Cell) {
        if !matches!(value, Cell::Null) || self.format.writes_nulls() {
            self.format.begin(text, self.format.writes_nulls() && at == 0, self.names[at]);
            put(self.format, text, value);
        }
    }

    /// A step with as much formatted before as there is little of.
    fn prepared(&self, context: &Context, table: &TableSpec, source: Source) -> Step {
        let text = |text: &str| {
            let mut out = Vec::new();
            if !text.is_empty() {
                self.format.text(&mut out, text);
            }
            out
        };
        let (frames, labels) = (context.frames, context.labels);
        match source {
            Source::Label if table == &tables::KERNEL => Step::OfId(
                table.column_index(kernel::SHAPE_ID.name()).unwrap_or(0),
                Named::Kernel,
                Slots::new(frames.kernels().len()),
            ),
            // Names of calls are few; those of ranges need not be.
            Source::Label if table == &tables::API => {
                let column = table.column_index(any::NAME_ID.name()).unwrap_or(0);
                Step::OfId(column, Named::Call, Slots::new(frames.names.len()))
            }
            Source::Name(column) if table == &tables::API => {
                Step::OfId(column, Named::Stored, Slots::new(frames.names.len()))
            }
            Source::DeviceName(column) => {
                // A process without devices of its own has those of its file.
                let devices: BTreeSet<u32> = frames.devices.iter().map(|(_, row)| row.device).collect();
                let processes = 0..frames.processes.len() as u32;
                let places = processes.flat_map(|process| devices.iter().map(move |device| (process, *device)));
                let names = places.map(|key| (key, text(labels.device(key.0, key.1))));
                Step::OfPlace(column, names.collect())
            }
            Source::ThreadName(column) if table.columns[column].ty == ColumnType::U32 => {
                let names = labels.named_threads().map(|(key, name)| (key, text(name)));
                Step::OfPlace(column, names.collect())
            }
            other => Step::Value(other),
        }
    }

    /// The text of some fields of a shape.
    fn shape(&self, context: &Context, first: usize, fields: &[ShapeField], shape: u32, text: &mut Vec<u8>) {
        for (at, field) in (first..).zip(fields) {
            self.prepare(text, at, &flat::shape_cell(context, shape, *field));
        }
    }

    /// The name that an id stands for.
    fn name(&self, context: &Context, named: Named, id: u32) -> Box<[u8]> {
        let text = match named {
            Named::Kernel => context.labels.kernel(id),
            Named::Call => context.labels.api(id),
            Named::Stored => context.labels.text(id),
        };
        let mut out = Vec::new();
        if !text.is_empty() {
            self.format.text(&mut out, text);
        }
        out.into()
    }

    /// Appends row `i` of `piece`.
    pub(super) fn row(&self, context: &Context, piece: &Piece, i: usize, out: &mut Vec<u8>) {
        let (open, close) = self.format.ends();
        out.extend_from_slice(open);
        let begun = out.len();
        for (at, step) in &self.steps[self.positions[usize::from(piece.table().id)]] {
            // Where nulls are left out, the first value that is written is the first.
            let first = if self.format.writes_nulls() { *at == 0 } else { out.len() == begun };
            match step {
                Step::OfProcess(texts) => {
                    let process = (piece.process as usize).min(texts.len() - 1);
                    self.ready(out, first, &texts[process]);
                }
                Step::Number(column) => {
                    let column = &piece.rows.columns[*column];
                    let null = column.is_null(i);
                    if null && !self.format.writes_nulls() {
                        continue;
                    }
                    self.format.begin(out, first, self.names[*at]);
                    match &column.values {
                        _ if null => {}
                        Values::I64(v) => signed(out, v[i]),
                        Values::U32(v) => unsigned(out, u64::from(v[i])),
                        Values::U64(v) => unsigned(out, v[i]),
                        Values::F64(v) => put(self.format, out, &Cell::Real(v[i])),
                        Values::Bool(v) => put(self.format, out, &Cell::Bool(v[i])),
                        Values::Bytes(v) => put(self.format, out, &Cell::Bytes(v.get(i))),
                    }
                }
                Step::Span(span) => {
                    let value = span.value(piece, i);
                    if value.is_some() || self.format.writes_nulls() {
                        self.format.begin(out, first, self.names[*at]);
                    }
                    if let Some(value) = value {
                        signed(out, value);
                    }
                }
                Step::OfPlace(column, texts) => {
                    let text = id_at(piece, *column, i).and_then(|id| texts.get(&(piece.process, id)));
                    self.value(out, first, *at, text.map(Vec::as_slice));
                }
                Step::OfId(column, named, texts) => {
                    let id = id_at(piece, *column, i);
                    let slot = match named {
                        Named::Kernel => id.and_then(|id| context.frames.kernel_number(id)),
                        Named::Call | Named::Stored => id,
                    };
                    let text = slot
                        .zip(id)
                        .and_then(|(slot, id)| texts.get_or_init(slot, || self.name(context, *named, id)));
                    self.value(out, first, *at, text.map(|text| &**text));
                }
                Step::Shape(column, fields, texts) => {
                    let id = id_at(piece, *column, i).unwrap_or(u32::MAX);
                    let make = |text: &mut Vec<u8>| self.shape(context, *at, fields, id, text);
                    let slot = texts.as_ref().and_then(|texts| {
                        texts.get_or_init(id, || {
                            let mut text = Vec::new();
                            make(&mut text);
                            text.into()
                        })
                    });
                    match slot {
                        Some(text) => self.ready(out, first, text),
                        None => {
                            let mut text = Vec::new();
                            make(&mut text);
                            self.ready(out, first, &text);
                        }
                    }
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

impl<F: Format> Plan<'_, F> {
    /// Appends row `i` of `piece` as the first record: with every column that some row may have, or as any other where a
    /// heading says that. Readers that guess the columns from the first records would leave out those that come
    /// later, and say nothing.
    pub(super) fn first_row(&self, context: &Context, layout: &Layout, piece: &Piece, i: usize, out: &mut Vec<u8>) {
        let Some(null) = self.format.null_of_first() else { return self.row(context, piece, i, out) };
        let occurs: Vec<bool> = layout.tables.iter().map(|table| context.frames.rows(table) > 0).collect();
        let own = layout.table(piece.table());
        let (open, close) = self.format.ends();
        out.extend_from_slice(open);
        let begun = out.len();
        for (column, name) in layout.columns.iter().zip(&self.names) {
            let has = |table: usize| column.source(table) != Source::None;
            if (0..occurs.len()).any(|table| occurs[table] && has(table)) {
                self.format.begin(out, out.len() == begun, name);
                match flat::cell(context, piece, i, column.source(own)) {
                    Cell::Null => out.extend_from_slice(null),
                    value => put(self.format, out, &value),
                }
            }
        }
        out.extend_from_slice(close);
    }

    /// Writes text that was made for any row. Where nulls are left out, what comes first differs from row to row, and has
    /// the comma in front of it taken away.
    fn ready(&self, out: &mut Vec<u8>, first: bool, text: &[u8]) {
        let comma = usize::from(first && !self.format.writes_nulls());
        out.extend_from_slice(text.get(comma..).unwrap_or_default());
    }

    /// Writes a value that is text already; none and empty are null.
    fn value(&self, out: &mut Vec<u8>, first: bool, at: usize, text: Option<&[u8]>) {
        let text = text.unwrap_or_default();
        if !text.is_empty() || self.format.writes_nulls() {
            self.format.begin(out, first, self.names[at]);
            out.extend_from_slice(text);
        }
    }
}

/// The id in a column of ids; `None` where null.
fn id_at(piece: &Piece, column: usize, i: usize) -> Option<u32> {
    let column = &piece.rows.columns[column];
    match &column.values {
        Values::U32(ids) if !column.is_null(i) => Some(ids[i]),
        _ => None,
    }
}
