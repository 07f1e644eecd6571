//! From rows to the values of one column.

use super::buffer::{Buffer, Pool};
use super::chunk::{self, Laid};
use super::schema;
use crate::export::Context;
use crate::export::flat::{self, Cell, FlatColumn, FlatType, ShapeField, Source};
use crate::trace::ordered::{Chunk, Piece};
use hashbrown::HashMap;
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescPtr;
use std::ops::Range;
use trace_format::columns::{Column, Values};
use trace_format::schema::{AnyColumn as _, Encoding, TableSpec};

/// Rows that follow each other both in the order and in their piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Index of the piece in its chunk.
    piece: u32,
    /// The first row.
    first: u32,
    rows: u32,
}

impl Run {
    /// The runs of an order.
    pub fn of(order: &[(u32, u32)]) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for &(piece, row) in order {
            match runs.last_mut() {
                Some(run) if run.piece == piece && run.first + run.rows == row => run.rows += 1,
                _ => runs.push(Run { piece, first: row, rows: 1 }),
            }
        }
        runs
    }
}

/// One column of a file.
pub struct ColumnWriter {
    source: Source,
    is_optional: bool,
    /// Whether few different values are expected.
    is_dictionary: bool,
    values: ColumnValues,
}

enum ColumnValues {
    Signed(Buffer<i64>, OfShapes),
    Unsigned(Buffer<u64>),
    Real(Buffer<f64>),
    Bool(Buffer<bool>),
    /// Texts and bytes: their numbers in a pool that outlives row groups.
    Text(Buffer<u32>, Texts),
}

impl ColumnValues {
    fn extend_null(&mut self, rows: usize) {
        match self {
            ColumnValues::Signed(into, _) => into.extend_null(rows),
            ColumnValues::Unsigned(into) => into.extend_null(rows),
            ColumnValues::Real(into) => into.extend_null(rows),
            ColumnValues::Bool(into) => into.extend_null(rows),
            ColumnValues::Text(into, _) => into.extend_null(rows),
        }
    }
}

impl ColumnWriter {
    /// The column of this layout for rows of `table`.
    pub fn new(column: &FlatColumn, table: &TableSpec) -> ColumnWriter {
        let source = column.source(0);
        let values = match column.ty {
            FlatType::Text | FlatType::Bytes => ColumnValues::Text(Buffer::default(), Texts::new(source, table)),
            FlatType::Whole { unsigned: false } => ColumnValues::Signed(Buffer::default(), OfShapes::default()),
            FlatType::Whole { unsigned: true } => ColumnValues::Unsigned(Buffer::default()),
            FlatType::Real => ColumnValues::Real(Buffer::default()),
            FlatType::Bool => ColumnValues::Bool(Buffer::default()),
        };
        let is_dictionary = match source {
            Source::Cell(index) => table.columns[index].encoding == Encoding::Dictionary,
            // Times hardly ever repeat.
            Source::Span(_) => false,
            _ => true,
        };
        ColumnWriter { source, is_optional: schema::is_optional(column, table), is_dictionary, values }
    }

    /// Bytes of the different texts seen.
    pub fn text_bytes(&self) -> usize {
        match &self.values {
            ColumnValues::Text(_, texts) => texts.pool.bytes(),
            _ => 0,
        }
    }

    /// Takes these rows in.
    pub fn take(&mut self, context: &Context, chunk: &Chunk, runs: &[Run]) {
        let source = self.source;
        // Runs are short where streams take turns, so what is true of a whole piece is found out once.
        let mut all_null: Vec<Option<bool>> = vec![None; chunk.pieces.len()];
        for run in runs {
            let piece = &chunk.pieces[run.piece as usize];
            let rows = run.first as usize..(run.first + run.rows) as usize;
            let column = match source {
                Source::Cell(index) => Some(&piece.rows.columns[index]),
                _ => None,
            };
            match (&mut self.values, column.map(|column| (column, &column.values))) {
                (into, Some((column, _)))
                    if column.validity.is_some()
                        && *all_null[run.piece as usize].get_or_insert_with(|| column.is_all_null()) =>
                {
                    into.extend_null(rows.len());
                }
                (ColumnValues::Signed(into, _), Some((c, Values::I64(v)))) => copy(into, c, v, rows, |v| v),
                (ColumnValues::Signed(into, _), Some((c, Values::U32(v)))) => copy(into, c, v, rows, i64::from),
                (ColumnValues::Unsigned(into), Some((c, Values::U64(v)))) => copy(into, c, v, rows, |v| v),
                (ColumnValues::Real(into), Some((c, Values::F64(v)))) => copy(into, c, v, rows, |v| v),
                (ColumnValues::Bool(into), Some((c, Values::Bool(v)))) => copy(into, c, v, rows, |v| v),
                (ColumnValues::Text(into, texts), _) => texts.take(context, piece, rows, source, into),
                (ColumnValues::Signed(into, known), _) => match source {
                    Source::Shape(column, field) => known.take(context, piece, rows, (column, field), into),
                    Source::Span(span) => rows.for_each(|row| into.push(span.value(piece, row))),
                    _ => into.extend_same(whole(&flat::of_process(context, piece.process, source)), rows.len()),
                },
                // Types that only stored columns have; another one than this stands in the file nowhere.
                (ColumnValues::Unsigned(into), _) => into.extend_same(None, rows.len()),
                (ColumnValues::Real(into), _) => into.extend_same(None, rows.len()),
                (ColumnValues::Bool(into), _) => into.extend_same(None, rows.len()),
            }
        }
    }

    /// Makes pages of what was taken in, and forgets it.
    ///
    /// Errors: the Parquet library's.
    pub fn lay_out(&mut self, descriptor: ColumnDescPtr) -> Result<Laid, ParquetError> {
        let (is_optional, is_dictionary) = (self.is_optional, self.is_dictionary);
        match &mut self.values {
            ColumnValues::Signed(buffer, _) => {
                let laid = chunk::signed(buffer, is_optional, is_dictionary, descriptor);
                buffer.clear();
                laid
            }
            ColumnValues::Unsigned(buffer) => {
                let laid = chunk::unsigned(buffer, is_optional, is_dictionary, descriptor);
                buffer.clear();
                laid
            }
            ColumnValues::Real(buffer) => {
                let laid = chunk::real(buffer, is_optional, descriptor);
                buffer.clear();
                laid
            }
            ColumnValues::Bool(buffer) => {
                let laid = chunk::bool(buffer, is_optional, descriptor);
                buffer.clear();
                laid
            }
            ColumnValues::Text(buffer, texts) => {
                let laid = chunk::text(buffer, texts.pool.texts(), is_optional, descriptor);
                buffer.clear();
                texts.forget_if_large();
                laid
            }
        }
    }
}

fn copy<T: Copy, U>(
    into: &mut Buffer<U>,
    column: &Column,
    values: &[T],
    rows: Range<usize>,
    convert: impl Fn(T) -> U,
) {
    if column.validity.is_none() {
        into.extend(values[rows].iter().map(|&value| convert(value)));
    } else {
        rows.for_each(|row| into.push((!column.is_null(row)).then(|| convert(values[row]))));
    }
}

fn whole(cell: &Cell) -> Option<i64> {
    match cell {
        Cell::Whole(value) => i64::try_from(*value).ok(),
        _ => None,
    }
}

/// One number of launch shapes, that of the last one kept: neighbours often share theirs.
#[derive(Default)]
struct OfShapes(Option<(u32, Option<i64>)>);

impl OfShapes {
    fn take(
        &mut self,
        context: &Context,
        piece: &Piece,
        rows: Range<usize>,
        (column, field): (usize, ShapeField),
        into: &mut Buffer<i64>,
    ) {
        let column = &piece.rows.columns[column];
        let Values::U32(shapes) = &column.values else { return into.extend_same(None, rows.len()) };
        for row in rows {
            let shape = if column.is_null(row) { u32::MAX } else { shapes[row] };
            let value = match self.0 {
                Some((last, value)) if last == shape => value,
                _ => whole(&flat::shape_cell(context, shape, field)),
            };
            self.0 = Some((shape, value));
            into.push(value);
        }
    }
}

/// What a text depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    /// On nothing but the process, or on nothing at all.
    Process,
    /// On the number in this column.
    Id(usize),
    /// On the process and the number in this column.
    IdOfProcess(usize),
    /// On the bytes in this column.
    Bytes(usize),
}

/// Finds the texts of rows, each different one made only once.
struct Texts {
    key: Key,
    pool: Pool,
    /// For small numbers of [`Key::Id`]: the text's number plus one, [`NULL`], or 0 while not known.
    dense: Vec<u32>,
    sparse: HashMap<(u32, u32), u32, foldhash::fast::RandomState>,
}

const NULL: u32 = u32::MAX;
/// Numbers below this one are looked up in a list.
const DENSE: usize = 1 << 22;

impl Texts {
    fn new(source: Source, table: &TableSpec) -> Texts {
        let key = match source {
            Source::Name(column) | Source::Shape(column, _) | Source::Word(column, _) => Key::Id(column),
            Source::DeviceName(column) | Source::ThreadName(column) => Key::IdOfProcess(column),
            Source::Cell(column) => Key::Bytes(column),
            Source::Label => {
                let column = flat::label_column(table).and_then(|column| table.column_index(column.name()));
                column.map_or(Key::Process, Key::Id)
            }
            Source::None
            | Source::Table
            | Source::Process
            | Source::Pid
            | Source::Rank
            | Source::Clock
            | Source::Origin
            | Source::Span(_) => Key::Process,
        };
        Texts { key, pool: Pool::default(), dense: Vec::new(), sparse: HashMap::default() }
    }

    fn take(
        &mut self,
        context: &Context,
        piece: &Piece,
        rows: Range<usize>,
        source: Source,
        into: &mut Buffer<u32>,
    ) {
        let column = match self.key {
            Key::Process => {
                let number = self.make(context, piece, rows.start, source);
                return into.extend_same(number, rows.len());
            }
            Key::Id(column) | Key::IdOfProcess(column) | Key::Bytes(column) => &piece.rows.columns[column],
        };
        let Values::U32(ids) = &column.values else {
            rows.for_each(|row| into.push(self.make(context, piece, row, source)));
            return;
        };
        let process = if matches!(self.key, Key::IdOfProcess(_)) { piece.process } else { 0 };
        let is_dense = process == 0 && matches!(self.key, Key::Id(_));
        let mut last = None;
        for row in rows {
            let id = if column.is_null(row) { NULL } else { ids[row] };
            let number = match last {
                Some((last, number)) if last == id => number,
                _ if is_dense && (id as usize) < DENSE => self.by_id(context, piece, row, source, id as usize),
                _ => match self.sparse.get(&(process, id)) {
                    Some(&number) => number,
                    None => {
                        let number = self.make(context, piece, row, source).unwrap_or(NULL);
                        self.sparse.insert((process, id), number);
                        number
                    }
                },
            };
            last = Some((id, number));
            into.push(Some(number).filter(|number| *number != NULL));
        }
    }

    fn by_id(&mut self, context: &Context, piece: &Piece, row: usize, source: Source, id: usize) -> u32 {
        if id >= self.dense.len() {
            self.dense.resize((id + 1).next_power_of_two(), 0);
        }
        if self.dense[id] == 0 {
            let number = self.make(context, piece, row, source);
            self.dense[id] = number.map_or(NULL, |number| number + 1);
        }
        match self.dense[id] {
            NULL => NULL,
            number => number - 1,
        }
    }

    fn make(&mut self, context: &Context, piece: &Piece, row: usize, source: Source) -> Option<u32> {
        match flat::cell(context, piece, row, source) {
            Cell::Text(text) => Some(self.pool.number(text.as_bytes())),
            Cell::Bytes(bytes) => Some(self.pool.number(bytes)),
            _ => None,
        }
    }

    /// Texts are kept from one row group to the next, because most come again; not without limit.
    fn forget_if_large(&mut self) {
        if self.pool.bytes() >= super::GROUP_TEXT_BYTES {
            self.pool = Pool::default();
            self.dense.clear();
            self.sparse.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_what_lies_together() {
        let run = |piece, first, rows| Run { piece, first, rows };
        assert_eq!(Run::of(&[]), []);
        let order = [(0, 4), (0, 5), (1, 6), (1, 7), (0, 6), (0, 5)];
        assert_eq!(Run::of(&order), [run(0, 4, 2), run(1, 6, 2), run(0, 6, 1), run(0, 5, 1)]);
    }
}
