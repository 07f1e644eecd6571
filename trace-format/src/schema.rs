//! What a table is: its number, its columns, their types, units, encodings and meanings.
//!
//! The [`table!`](crate::table) macro writes a row struct, a column builder and the [`TableSpec`] from one list, so
//! the three cannot disagree. Numbers are never reused; a column's type and unit never change, a new meaning is a
//! new column at the end.

use std::fmt;
use std::marker::PhantomData;

use crate::columns::Batch;
use crate::tables;
use crate::vocabulary::Vocabulary;

/// The physical type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Ids and codes; Parquet INT32, UINT_32.
    U32,
    /// 64-bit ids; Parquet INT64, UINT_64.
    U64,
    /// Times, durations, sizes, counts, dimensions; Parquet INT64.
    I64,
    /// Parquet DOUBLE.
    F64,
    /// Parquet BOOLEAN.
    Bool,
    /// Byte strings, not necessarily UTF-8; Parquet BYTE_ARRAY without a logical type.
    Bytes,
}

/// How a column is laid out inside a frame, chosen by measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Differences to the row before: times and ids that mostly grow.
    Delta,
    /// A dictionary and run lengths: few different values.
    Dictionary,
    /// Values are written as they are.
    Plain,
}

/// What a column's numbers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A point in time, in nanoseconds: it moves with the clock.
    Time,
    /// A length of time, in nanoseconds.
    Length,
    /// Bytes.
    Bytes,
    /// A plain number of things.
    Count,
    /// Refers to rows of a table: equal to the column of unit [`Unit::Key`] there.
    Id(&'static TableSpec),
    /// What the row itself is called by: columns of unit [`Unit::Id`] with its table refer to it.
    Key,
    /// Tells apart what no table has rows of: graphs, events, channels, ids of other tools.
    Object,
    /// A value of an enumeration, or bits, for which this format has no words: callback ids, results, flags.
    Code,
    /// A value of an enumeration with a word for each; unknown numbers are legal.
    Coded(&'static Vocabulary),
    /// Something else, said by the column's name or documentation.
    Other,
}

/// One column of a table.
#[derive(Debug)]
pub struct ColumnSpec {
    /// The name, with the unit in it; the same in the file, in SQL and in CSV headers.
    pub name: &'static str,
    /// The physical type.
    pub ty: ColumnType,
    /// Whether a row may be null; null means absent or unknown, never 0.
    pub nullable: bool,
    /// The encoding inside a frame.
    pub encoding: Encoding,
    /// The unit.
    pub unit: Unit,
    /// Name of the column of words that exports and SQL have beside a coded one.
    pub words_name: &'static str,
    /// Documentation of the column of text that SQL has beside an id of a name.
    pub text_doc: &'static str,
    /// One line of documentation.
    pub doc: &'static str,
}

impl Unit {
    /// Whether the numbers are ids of rows of `table`.
    pub fn is_id_of(self, table: &TableSpec) -> bool {
        matches!(self, Unit::Id(own) if own == table)
    }

    /// Whether the numbers are ids of names, which are rows of table `string`.
    pub fn is_name(self) -> bool {
        self.is_id_of(&tables::STRING)
    }

    /// Whether the numbers are ids of launch shapes, which are rows of table `shape`.
    pub fn is_shape(self) -> bool {
        self.is_id_of(&tables::SHAPE)
    }

    /// Whether the numbers only tell things apart: they are never added up and never negative.
    pub fn is_label(self) -> bool {
        matches!(self, Unit::Id(_) | Unit::Key | Unit::Object | Unit::Code | Unit::Coded(_))
    }

    /// Documentation of a column of this unit: what it says, and the words for its numbers.
    pub fn meaning(self, doc: &str) -> String {
        match self {
            Unit::Coded(vocabulary) => format!("{} Numbers: {}.", doc.trim(), vocabulary.listing()),
            _ => doc.trim().to_owned(),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Unit::Time | Unit::Length => "ns",
            Unit::Bytes => "bytes",
            Unit::Count => "count",
            Unit::Id(table) => return write!(f, "{} id", table.name),
            Unit::Key => "key",
            Unit::Object => "id",
            Unit::Code | Unit::Coded(_) => "code",
            Unit::Other => "",
        })
    }
}

impl ColumnSpec {
    /// Whether its numbers are points in time, which move with the clock; lengths of time do not.
    pub fn is_time(&self) -> bool {
        self.unit == Unit::Time
    }

    /// What its numbers mean, if they are those of a vocabulary.
    pub fn vocabulary(&self) -> Option<&'static Vocabulary> {
        match self.unit {
            Unit::Coded(vocabulary) => Some(vocabulary),
            _ => None,
        }
    }
}

/// What a table's frames hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Metadata: the payload is JSON.
    Json,
    /// Rows that later rows refer to by id; repeated in full at intervals.
    Defining,
    /// Records of activity.
    Activity,
    /// Rows about the recording itself.
    Meta,
}

/// One table of the format.
pub struct TableSpec {
    /// The number in frame headers; never reused.
    pub id: u16,
    /// The name in SQL, exports and `info`.
    pub name: &'static str,
    /// What its frames hold.
    pub role: Role,
    /// The columns, oldest first; empty for JSON tables.
    pub columns: &'static [ColumnSpec],
    /// What a row is, where it comes from.
    pub doc: &'static str,
}

impl TableSpec {
    /// The position of the column called `name`.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }
}

// By name alone: columns refer to tables, and a table may refer to itself.
impl fmt::Debug for TableSpec {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "TableSpec({})", self.name)
    }
}

impl PartialEq for TableSpec {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for TableSpec {}

/// A row of one table.
pub trait Row: Sized {
    /// The table it belongs to.
    const TABLE: &'static TableSpec;
    /// The builder that collects such rows.
    type Builder: RowBuilder<Row = Self>;
    /// Row `i` of `batch`; default values where the batch is of another table or shorter.
    fn from_batch(batch: &Batch, i: usize) -> Self;
}

/// Collects rows of one table, column by column.
pub trait RowBuilder: Default {
    /// The row type.
    type Row;
    /// Appends one row.
    fn push(&mut self, row: Self::Row);
    /// Rows collected and not yet taken.
    fn len(&self) -> usize;
    /// Whether nothing has been collected.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Takes what was collected as a [`Batch`], leaving the builder empty.
    fn take(&mut self) -> Batch;
}

/// A column of a table, with the type of its cells: `column::kernel::START_NS`.
///
/// Readers name columns by these and not by strings, so that a name that does not exist, or a wrong type, does not
/// compile.
#[derive(Debug)]
pub struct TypedColumn<T> {
    name: &'static str,
    /// None: of whichever table has a column of this name.
    table: Option<&'static TableSpec>,
    cells: PhantomData<fn() -> T>,
}

impl<T> TypedColumn<T> {
    /// Column `name` of `table`: what [`table!`](crate::table) declares.
    pub const fn of(table: &'static TableSpec, name: &'static str) -> TypedColumn<T> {
        TypedColumn { name, table: Some(table), cells: PhantomData }
    }

    /// The column called `name` in whichever table has one.
    pub const fn of_any(name: &'static str) -> TypedColumn<T> {
        TypedColumn { name, table: None, cells: PhantomData }
    }
}

/// A column of a table, whatever the type of its cells.
pub trait AnyColumn: Sync {
    /// Its name, the same in the file, in SQL and in CSV headers.
    fn name(&self) -> &'static str;
    /// Whether `table` may be asked for it. One of whichever table has it may be asked of all; where there is none, every
    /// row is null.
    fn is_of(&self, table: &TableSpec) -> bool;
}

impl<T> AnyColumn for TypedColumn<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is_of(&self, table: &TableSpec) -> bool {
        self.table.is_none_or(|own| own == table)
    }
}

/// What a column's numbers count, as tables say it: the module of a vocabulary or of a table stands for what is in it.
#[doc(hidden)]
#[macro_export]
macro_rules! unit {
    (Coded($vocabulary:ident)) => {
        $crate::schema::Unit::Coded(&$crate::vocabulary::$vocabulary::VOCABULARY)
    };
    (Id($table:ident)) => {
        $crate::schema::Unit::Id(&$crate::tables::$table::TABLE)
    };
    ($unit:ident) => {
        $crate::schema::Unit::$unit
    };
}

/// Declares one table: its static spec, its typed columns, its row struct and its builder, from one list of columns.
#[macro_export]
macro_rules! table {
    (
        $(#[doc = $doc:literal])+
        $spec:ident = $id:literal, $name:literal, $role:ident, $row:ident, $builder:ident {
            $( $(#[doc = $col_doc:literal])+ $col:ident : $ty:ty = $enc:ident, $unit:ident $(($of:ident))?; )+
        }
    ) => {
        $(#[doc = $doc])+
        pub static $spec: $crate::schema::TableSpec = $crate::schema::TableSpec {
            id: $id,
            name: $name,
            role: $crate::schema::Role::$role,
            columns: &[$(
                $crate::schema::ColumnSpec {
                    name: stringify!($col),
                    ty: <$ty as $crate::columns::Cell>::TYPE,
                    nullable: <$ty as $crate::columns::Cell>::NULLABLE,
                    encoding: $crate::schema::Encoding::$enc,
                    unit: $crate::unit!($unit $(($of))?),
                    words_name: concat!(stringify!($col), "_name"),
                    text_doc: concat!("Text of `", stringify!($col), "`."),
                    doc: concat!($($col_doc),+),
                },
            )+],
            doc: concat!($($doc, "\n"),+),
        };

        // What other tables name by this module.
        pub use self::$spec as TABLE;

        #[doc = concat!("The columns of `", $name, "`, with the type of their cells.")]
        pub mod columns {
            $crate::pastey::paste! {
                $(
                    $(#[doc = $col_doc])+
                    pub const [<$col:upper>]: &$crate::schema::TypedColumn<
                        <$ty as $crate::columns::Cell>::Value,
                    > = &$crate::schema::TypedColumn::of(&super::$spec, stringify!($col));
                )+
            }
        }

        $(#[doc = $doc])+
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $row {
            $( $(#[doc = $col_doc])+ pub $col: $ty, )+
        }

        #[doc = concat!("Collects rows of `", $name, "`.")]
        #[derive(Default)]
        pub struct $builder {
            row_count__: usize,
            $( $col: <$ty as $crate::columns::Cell>::Builder, )+
        }

        impl $crate::schema::Row for $row {
            const TABLE: &'static $crate::schema::TableSpec = &$spec;
            type Builder = $builder;
            fn from_batch(batch: &$crate::columns::Batch, i: usize) -> Self {
                if batch.table != &$spec || batch.columns.len() != $spec.columns.len() {
                    return Self::default();
                }
                let mut columns = batch.columns.iter();
                $row { $( $col: columns.next().map_or_else(Default::default, |c| {
                    <$ty as $crate::columns::Cell>::get(c, i)
                }), )+ }
            }
        }

        impl $crate::schema::RowBuilder for $builder {
            type Row = $row;
            #[inline(always)]
            fn push(&mut self, row: $row) {
                use $crate::columns::ColumnBuilder as _;
                self.row_count__ += 1;
                $( self.$col.push(row.$col); )+
            }
            fn len(&self) -> usize {
                self.row_count__
            }
            fn take(&mut self) -> $crate::columns::Batch {
                use $crate::columns::ColumnBuilder as _;
                $crate::columns::Batch {
                    table: &$spec,
                    rows: std::mem::take(&mut self.row_count__),
                    columns: vec![$( self.$col.take(), )+],
                }
            }
        }
    };
}
