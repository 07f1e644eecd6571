//! Rows as flat records: every id resolved, every launch shape spelled out. What all tabular formats share.
//!
//! The columns follow from the registry: `X_id` that names something becomes text `X`, a shape id becomes the columns
//! of table `shape`, all others keep their names. Before them stand what identifies a row everywhere: table, name,
//! process, pid, rank, device name.

mod label;
mod spans;

use crate::error::{Error, Result};
use crate::exchange::flat::{IS_LAST, ORIGIN, ROW, name_column};
use crate::export::Context;
use crate::trace::ordered::Piece;
pub use label::{label, label_column};
pub use spans::Span;
use trace_format::columns::Values;
use trace_format::schema::{ColumnSpec, ColumnType, TableSpec, Unit};
use trace_format::tables;
use trace_format::vocabulary::Vocabulary;

/// Where a flat column of one table gets its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The table has none.
    None,
    /// The table's name.
    Table,
    /// The name for people: a kernel's demangled, a copy's in nvprof's words.
    Label,
    /// The process's ordinal, and what is known of it.
    Process,
    /// Its process id.
    Pid,
    /// Its rank.
    Rank,
    /// `unix` or `relative`: what times count from.
    Clock,
    /// Where the trace itself began to count.
    Origin,
    /// The name of the device in the column with this index.
    DeviceName(usize),
    /// The name of the thread in the column with this index.
    ThreadName(usize),
    /// The column with this index, as it is.
    Cell(usize),
    /// The name that the id in the column with this index stands for.
    Name(usize),
    /// The word for the code in the column with this index.
    Word(usize, &'static Vocabulary),
    /// Whichever of start, duration and end the table itself has not.
    Span(Span),
    /// This field of the shape that the column with this index refers to.
    Shape(usize, ShapeField),
}

impl Source {
    /// Whether the column is the same in all rows of a table and process: [`of_process`] knows it, or the table's name.
    pub fn is_of_process(self) -> bool {
        use Source::{Clock, None, Origin, Pid, Process, Rank, Table};
        matches!(self, None | Table | Process | Pid | Rank | Clock | Origin)
    }
}

/// A field of table `shape` but its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeField {
    /// A number, by index into the columns of [`tables::SHAPE`].
    Number(usize),
    /// A name, likewise.
    Name(usize),
}

/// The type of a flat column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlatType {
    /// Text.
    Text,
    /// A whole number; 64-bit unsigned ids do not fit into the signed type that all else has.
    Whole {
        /// Whether it is one of those.
        unsigned: bool,
    },
    /// A floating-point number.
    Real,
    /// Yes or no.
    Bool,
    /// Bytes that are no text, e.g. a UUID: written as hexadecimal digits by text formats.
    Bytes,
}

/// One column of the output.
#[derive(Clone, Debug)]
pub struct FlatColumn {
    /// Its name, the unit in it.
    pub name: String,
    /// Its type.
    pub ty: FlatType,
    /// Its unit, for metadata: `ns`, `bytes`, `count`; empty otherwise.
    pub unit: &'static str,
    /// One line of documentation.
    pub doc: &'static str,
    /// For each of the tables, where it comes from.
    sources: Vec<Source>,
}

impl FlatColumn {
    /// Where values of the table at this position of the layout come from.
    pub fn source(&self, table: usize) -> Source {
        self.sources[table]
    }
}

/// The columns of some tables written as one.
#[derive(Clone)]
pub struct Layout {
    /// The tables, in the order given.
    pub tables: Vec<&'static TableSpec>,
    /// The columns, in order.
    pub columns: Vec<FlatColumn>,
}

/// Columns of table `shape`, under the names they have in flat records.
const SHAPE_NAMES: [(&str, &str); 3] =
    [("name_id", "mangled_name"), ("demangled_id", "demangled_name"), ("base_id", "base_name")];

fn unit_text(unit: Unit) -> &'static str {
    match unit {
        Unit::Time | Unit::Length => "ns",
        Unit::Bytes => "bytes",
        Unit::Count => "count",
        Unit::Id(_) | Unit::Key | Unit::Object | Unit::Code | Unit::Coded(_) | Unit::Other => "",
    }
}

fn type_of(column: &ColumnSpec) -> FlatType {
    match column.ty {
        ColumnType::U32 | ColumnType::I64 => FlatType::Whole { unsigned: false },
        ColumnType::U64 => FlatType::Whole { unsigned: true },
        ColumnType::F64 => FlatType::Real,
        ColumnType::Bool => FlatType::Bool,
        ColumnType::Bytes => FlatType::Bytes,
    }
}

impl Layout {
    /// The layout of `tables` as one table.
    pub fn of(tables: &[&'static TableSpec]) -> Layout {
        let mut layout = Layout { tables: tables.to_vec(), columns: Vec::new() };
        let text = FlatType::Text;
        let id = FlatType::Whole { unsigned: false };
        layout.add("table", text, "", "The table of the registry the row belongs to.", |_| Source::Table);
        layout.add("name", text, "", "Its name for people; kernels demangled.", |_| Source::Label);
        layout.add_registry("start_ns");
        // In one table a column of zeros would say nothing; among others a moment is a row like all.
        let with_moments = tables.len() > 1;
        for (name, doc) in spans::COLUMNS {
            layout.add(name, id, "ns", doc, |table| spans::source(name, table, with_moments));
        }
        layout.add("process", id, "", "Ordinal of the process among the traces exported together.", |_| {
            Source::Process
        });
        layout.add("pid", id, "", "Process id.", |_| Source::Pid);
        layout.add("rank", id, "", "Rank in a distributed job.", |_| Source::Rank);
        layout.add("clock", text, "", "unix: times count from 1970; relative: from some start.", |_| Source::Clock);
        // Files of one table have a manifest that says so.
        if tables.len() > 1 {
            let doc = "Where the trace began to count, since 1970; 0 where times are relative.";
            layout.add(ORIGIN, id, "ns", doc, |_| Source::Origin);
        }
        for place in ["device", "context", "stream", "tid", "correlation"] {
            layout.add_registry(place);
        }
        layout.add("device_name", text, "", "Name of the device.", |table| {
            table.column_index("device").map_or(Source::None, Source::DeviceName)
        });
        layout.add("thread_name", text, "", "Name of the thread.", |table| {
            table.column_index("tid").map_or(Source::None, Source::ThreadName)
        });
        let columns = tables.iter().flat_map(|table| table.columns);
        for name in columns.map(|column| column.name) {
            layout.add_registry(name);
        }
        layout.columns.retain(|column| column.sources.iter().any(|source| *source != Source::None));
        layout
    }

    fn add(
        &mut self,
        name: &str,
        ty: FlatType,
        unit: &'static str,
        doc: &'static str,
        source: impl Fn(&TableSpec) -> Source,
    ) {
        if self.columns.iter().all(|column| column.name != name) {
            let sources = self.tables.iter().map(|table| source(table)).collect();
            self.columns.push(FlatColumn { name: name.to_owned(), ty, unit, doc, sources });
        }
    }

    /// Adds what the registry's column `name` becomes, unless it is there already.
    fn add_registry(&mut self, name: &str) {
        let index = |table: &TableSpec| table.column_index(name);
        let spec = self.tables.iter().find_map(|table| Some(&table.columns[index(table)?]));
        let Some(spec) = spec else { return };
        match spec.unit {
            unit if unit.is_shape() => {
                for (field, column) in tables::SHAPE.columns.iter().enumerate().skip(1) {
                    let renamed = SHAPE_NAMES.iter().find(|(from, _)| *from == column.name);
                    let (name, ty, field) = match renamed {
                        Some((_, to)) => (*to, FlatType::Text, ShapeField::Name(field)),
                        None => (column.name, type_of(column), ShapeField::Number(field)),
                    };
                    self.add(name, ty, unit_text(column.unit), column.doc, |table| {
                        index(table).map_or(Source::None, |i| Source::Shape(i, field))
                    });
                }
            }
            unit if unit.is_name() => {
                let name = name_column(name);
                self.add(name, FlatType::Text, "", spec.doc, |table| {
                    index(table).map_or(Source::None, Source::Name)
                });
            }
            _ => {
                let mut ty = type_of(spec);
                // One column for all tables has to hold the widest of them.
                if self.tables.iter().any(|t| index(t).is_some_and(|i| t.columns[i].ty == ColumnType::F64)) {
                    ty = FlatType::Real;
                }
                self.add(name, ty, unit_text(spec.unit), spec.doc, |table| {
                    index(table).map_or(Source::None, Source::Cell)
                });
                self.add_words(name);
            }
        }
    }

    /// Adds the words for a column of kinds. Other codes have columns enough to make them out by.
    fn add_words(&mut self, column: &str) {
        if !column.ends_with("kind") {
            return;
        }
        let of = |table: &TableSpec| {
            let index = table.column_index(column)?;
            let column = &table.columns[index];
            Some((index, column.words_name, column.vocabulary()?))
        };
        if let Some((_, name, vocabulary)) = self.tables.iter().find_map(|table| of(table)) {
            self.add(name, FlatType::Text, "", vocabulary.doc, |table| {
                of(table).map_or(Source::None, |(index, _, vocabulary)| Source::Word(index, vocabulary))
            });
        }
    }

    /// Keeps the named columns, in this order.
    ///
    /// # Errors
    /// Fails if no column has one of the names. The error lists the names that exist.
    pub fn choose(&mut self, names: &[String]) -> Result<()> {
        let mut chosen = Vec::new();
        for name in names {
            let found = self.columns.iter().find(|column| column.name == *name).ok_or_else(|| {
                let known: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
                Error::new(format!("--columns: no column is called \"{name}\""))
                    .remedy(&format!("known are {}", known.join(", ")))
            })?;
            chosen.push(found.clone());
        }
        self.columns = chosen;
        Ok(())
    }

    /// Keeps those of the named columns that there are, in this order.
    pub fn choose_present(&mut self, names: &[String]) {
        let find = |name: &String| self.columns.iter().find(|column| column.name == *name).cloned();
        self.columns = names.iter().filter_map(find).collect();
    }

    /// This layout with [`ROW`] and [`IS_LAST`] behind all other columns, which whoever writes rows in their order fills.
    pub fn with_counting(&self) -> Layout {
        let mut layout = self.clone();
        let ty = FlatType::Whole { unsigned: false };
        let columns = [
            (ROW, "count", "Number of the row in this file, from 1."),
            (IS_LAST, "", "1 in the last row, 0 in all others: a file whose last row has a 0 was cut off."),
        ];
        for (name, unit, doc) in columns {
            let sources = vec![Source::None; self.tables.len()];
            layout.columns.push(FlatColumn { name: name.to_owned(), ty, unit, doc, sources });
        }
        layout
    }

    /// The position of a table in this layout.
    pub fn table(&self, table: &TableSpec) -> usize {
        self.tables.iter().position(|t| *t == table).unwrap_or(0)
    }
}

/// The value of a cell.
pub enum Cell<'a> {
    /// Null.
    Null,
    /// Text.
    Text(std::borrow::Cow<'a, str>),
    /// A whole number.
    Whole(i128),
    /// A floating-point number.
    Real(f64),
    /// Yes or no.
    Bool(bool),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl<'a> Cell<'a> {
    fn text(text: &'a str) -> Cell<'a> {
        if text.is_empty() { Cell::Null } else { Cell::Text(text.into()) }
    }

    fn whole(value: Option<impl Into<i128>>) -> Cell<'a> {
        value.map_or(Cell::Null, |v| Cell::Whole(v.into()))
    }
}

/// The value at row `i`.
pub fn cell<'a>(context: &Context<'a>, piece: &'a Piece, i: usize, source: Source) -> Cell<'a> {
    match source {
        Source::None => Cell::Null,
        Source::Table => Cell::text(piece.table().name),
        Source::Label => Cell::text(label(context, piece, i)),
        Source::Process | Source::Pid | Source::Rank | Source::Clock | Source::Origin => {
            of_process(context, piece.process, source)
        }
        Source::DeviceName(column) => match stored(piece, column, i) {
            Cell::Whole(device) => Cell::text(context.labels.device(piece.process, device as u32)),
            _ => Cell::Null,
        },
        Source::ThreadName(column) => match stored(piece, column, i) {
            Cell::Whole(tid) => Cell::text(context.labels.thread(piece.process, tid as u32)),
            _ => Cell::Null,
        },
        Source::Cell(column) => stored(piece, column, i),
        Source::Span(span) => Cell::whole(span.value(piece, i)),
        Source::Word(column, vocabulary) => match stored(piece, column, i) {
            Cell::Whole(code) => Cell::text(vocabulary.word(code as u32).unwrap_or_default()),
            _ => Cell::Null,
        },
        Source::Name(column) => match stored(piece, column, i) {
            Cell::Whole(id) => Cell::text(context.labels.text(id as u32)),
            _ => Cell::Null,
        },
        Source::Shape(column, field) => match stored(piece, column, i) {
            Cell::Whole(id) => shape_cell(context, id as u32, field),
            _ => Cell::Null,
        },
    }
}

/// What is the same in all rows of a process; null for sources that are not.
pub fn of_process<'a>(context: &Context<'a>, process: u32, source: Source) -> Cell<'a> {
    let known = context.frames.processes.get(process as usize);
    match source {
        Source::Process => Cell::Whole(i128::from(process)),
        Source::Pid => Cell::whole(known.and_then(|p| p.info.pid)),
        Source::Rank => Cell::whole(known.and_then(|p| p.info.rank)),
        Source::Clock => Cell::text(match known.and_then(|p| p.info.epoch_ns()) {
            Some(_) => "unix",
            None => "relative",
        }),
        Source::Origin => Cell::Whole(known.and_then(|p| p.info.epoch_ns()).unwrap_or(0).into()),
        _ => Cell::Null,
    }
}

/// A field of a launch shape.
pub fn shape_cell<'a>(context: &Context<'a>, shape: u32, field: ShapeField) -> Cell<'a> {
    let frames = context.frames;
    match field {
        ShapeField::Number(column) => Cell::whole(frames.shape_number(shape, column)),
        ShapeField::Name(column) => {
            let Some(kernel) = frames.kernel(shape) else { return Cell::Null };
            let id = match tables::SHAPE.columns[column].name {
                "name_id" => Some(kernel.name_id),
                "demangled_id" => kernel.demangled_id,
                _ => kernel.base_id,
            };
            id.map_or(Cell::Null, |id| Cell::text(context.labels.text(id)))
        }
    }
}

/// A stored value.
pub fn stored(piece: &Piece, column: usize, i: usize) -> Cell<'_> {
    let column = &piece.rows.columns[column];
    if column.is_null(i) {
        return Cell::Null;
    }
    match &column.values {
        Values::U32(v) => Cell::Whole(i128::from(v[i])),
        Values::U64(v) => Cell::Whole(i128::from(v[i])),
        Values::I64(v) => Cell::Whole(i128::from(v[i])),
        Values::F64(v) => Cell::Real(v[i]),
        Values::Bool(v) => Cell::Bool(v[i]),
        Values::Bytes(v) => Cell::Bytes(v.get(i)),
    }
}
