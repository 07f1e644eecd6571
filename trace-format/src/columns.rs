//! Columns in memory: what builders fill, the writer encodes and importers hand over.

mod build;

use std::ops::Range;

use crate::schema::{AnyColumn, ColumnType, TableSpec, TypedColumn};

use crate::tables::column::any;

pub use build::*;

/// Byte strings laid end to end; value `i` is `data[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BytesColumn {
    /// One more offset than there are values; the first is 0.
    pub offsets: Vec<usize>,
    /// The values, concatenated. Not necessarily UTF-8.
    pub data: Vec<u8>,
}

impl Default for BytesColumn {
    fn default() -> Self {
        BytesColumn { offsets: vec![0], data: Vec::new() }
    }
}

impl BytesColumn {
    /// Number of values.
    pub fn len(&self) -> usize {
        // The fields are public: a column without its first offset is wrong, but no reason to panic.
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends one value.
    pub fn push(&mut self, value: &[u8]) {
        self.data.extend_from_slice(value);
        self.offsets.push(self.data.len());
    }

    /// Value `i`.
    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        &self.data[self.offsets[i]..self.offsets[i + 1]]
    }

    /// Whether the offsets start at 0, never decrease and stay inside the data: what [`BytesColumn::get`] relies on.
    fn is_consistent(&self) -> bool {
        self.offsets.first() == Some(&0)
            && self.offsets.is_sorted()
            && self.offsets.last().is_some_and(|&end| end <= self.data.len())
    }
}

/// The values of one column, in the one physical type the registry gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Ids and codes.
    U32(Vec<u32>),
    /// Correlation ids and graph node ids.
    U64(Vec<u64>),
    /// Times, durations, sizes, counts, dimensions.
    I64(Vec<i64>),
    /// Measurements that are not integers.
    F64(Vec<f64>),
    /// Flags.
    Bool(Vec<bool>),
    /// Names and other byte strings.
    Bytes(BytesColumn),
}

impl Values {
    /// Number of values, nulls included.
    pub fn len(&self) -> usize {
        match self {
            Values::U32(v) => v.len(),
            Values::U64(v) => v.len(),
            Values::I64(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::Bool(v) => v.len(),
            Values::Bytes(v) => v.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As many default values as there are rows: what a column that is not in a frame holds.
    pub fn defaults(ty: ColumnType, rows: usize) -> Values {
        match ty {
            ColumnType::U32 => Values::U32(vec![0; rows]),
            ColumnType::U64 => Values::U64(vec![0; rows]),
            ColumnType::I64 => Values::I64(vec![0; rows]),
            ColumnType::F64 => Values::F64(vec![0.0; rows]),
            ColumnType::Bool => Values::Bool(vec![false; rows]),
            ColumnType::Bytes => Values::Bytes(BytesColumn { offsets: vec![0; rows + 1], data: Vec::new() }),
        }
    }

    /// Appends some of `other`; returns false, and changes nothing, where the types differ.
    fn append(&mut self, other: &Values, rows: Range<usize>) -> bool {
        match (self, other) {
            (Values::U32(a), Values::U32(b)) => a.extend_from_slice(&b[rows]),
            (Values::U64(a), Values::U64(b)) => a.extend_from_slice(&b[rows]),
            (Values::I64(a), Values::I64(b)) => a.extend_from_slice(&b[rows]),
            (Values::F64(a), Values::F64(b)) => a.extend_from_slice(&b[rows]),
            (Values::Bool(a), Values::Bool(b)) => a.extend_from_slice(&b[rows]),
            (Values::Bytes(a), Values::Bytes(b)) => rows.for_each(|i| a.push(b.get(i))),
            _ => return false,
        }
        true
    }

    /// The registry type these values have.
    pub fn column_type(&self) -> ColumnType {
        match self {
            Values::U32(_) => ColumnType::U32,
            Values::U64(_) => ColumnType::U64,
            Values::I64(_) => ColumnType::I64,
            Values::F64(_) => ColumnType::F64,
            Values::Bool(_) => ColumnType::Bool,
            Values::Bytes(_) => ColumnType::Bytes,
        }
    }
}

/// Cells of fixed size, which a column holds in a slice.
pub trait Fixed: Copy {
    /// The values, if they are of this type.
    fn values(values: &Values) -> Option<&[Self]>;
}

macro_rules! fixed {
    ($ty:ty, $variant:ident) => {
        impl Fixed for $ty {
            fn values(values: &Values) -> Option<&[Self]> {
                match values {
                    Values::$variant(values) => Some(values),
                    _ => None,
                }
            }
        }
    };
}

fixed!(u32, U32);
fixed!(u64, U64);
fixed!(i64, I64);
fixed!(f64, F64);
fixed!(bool, Bool);

/// The cells of one column; all are null if the batch does not have it.
#[derive(Clone, Copy, Debug)]
pub struct Cells<'a, T> {
    values: &'a [T],
    valid: Option<&'a [bool]>,
}

impl<'a, T: Copy> Cells<'a, T> {
    /// The value of row `i`; `None` where it is null.
    #[inline]
    pub fn get(&self, i: usize) -> Option<T> {
        match self.valid {
            Some(valid) if !valid.get(i).copied().unwrap_or(false) => None,
            _ => self.values.get(i).copied(),
        }
    }

    /// A value for every row, a default one where it is null; none at all if the batch does not have the column.
    pub fn values(&self) -> &'a [T] {
        self.values
    }
}

/// One column of a [`Batch`]: as many values as the batch has rows; a null row holds a default value.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The values, null rows included.
    pub values: Values,
    /// `validity[i]` is false where row `i` is null; `None` means no row is.
    pub validity: Option<Vec<bool>>,
}

impl Column {
    /// Whether every row is null: such a column is left out of a frame.
    #[inline]
    pub fn is_all_null(&self) -> bool {
        self.validity.as_ref().is_some_and(|v| v.iter().all(|valid| !valid))
    }

    /// Whether row `i` is null.
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        self.validity.as_ref().is_some_and(|v| !v[i])
    }

    /// A column in which every row is null.
    pub fn nulls(ty: ColumnType, rows: usize) -> Column {
        Column { values: Values::defaults(ty, rows), validity: Some(vec![false; rows]) }
    }

    fn append(&mut self, other: &Column, rows: Range<usize>) {
        let before = self.values.len();
        if !self.values.append(&other.values, rows.clone()) || (self.validity.is_none() && other.validity.is_none())
        {
            return;
        }
        let validity = self.validity.get_or_insert_with(|| vec![true; before]);
        match &other.validity {
            Some(valid) => validity.extend_from_slice(&valid[rows]),
            None => validity.resize(before + rows.len(), true),
        }
    }
}

/// Some rows of one table, column by column, in the registry's column order.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Which table.
    pub table: &'static TableSpec,
    /// Number of rows.
    pub rows: usize,
    /// One column per [`TableSpec::columns`] entry, in that order.
    pub columns: Vec<Column>,
}

impl Batch {
    /// No rows of `table`.
    pub fn empty(table: &'static TableSpec) -> Batch {
        let column = |ty| Column { values: Values::defaults(ty, 0), validity: None };
        Batch { table, rows: 0, columns: table.columns.iter().map(|c| column(c.ty)).collect() }
    }

    /// Whether the columns are those of the registry and hold as many rows as they say.
    ///
    /// Every field of a batch is public and importers fill them by hand, while the writer runs inside other
    /// people's programs: what is checked here cannot panic there.
    ///
    /// Errors: the name of the first column that is wrong, and how.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        if self.columns.len() != self.table.columns.len() {
            return Err(("(all)", "their number differs from the registry's"));
        }
        for (column, spec) in self.columns.iter().zip(self.table.columns) {
            let error = if column.values.column_type() != spec.ty {
                "its type differs from the registry's"
            } else if matches!(&column.values, Values::Bytes(b) if !b.is_consistent()) {
                "its offsets do not fit its bytes"
            } else if column.values.len() != self.rows {
                "its length differs from the number of rows"
            } else if column.validity.as_ref().is_some_and(|v| v.len() != self.rows) {
                "its validity differs in length from the number of rows"
            } else {
                continue;
            };
            return Err((spec.name, error));
        }
        Ok(())
    }

    /// Appends some rows of `other`, a batch of the same table. Both must pass [`Batch::check`].
    pub fn append(&mut self, other: &Batch, rows: Range<usize>) {
        debug_assert_eq!(self.table, other.table);
        for (column, more) in self.columns.iter_mut().zip(&other.columns) {
            column.append(more, rows.clone());
        }
        self.rows += rows.len();
    }

    /// Memory that the values take, about.
    pub fn size_bytes(&self) -> usize {
        let column = |c: &Column| {
            let values = match &c.values {
                Values::U32(v) => 4 * v.len(),
                Values::U64(v) => 8 * v.len(),
                Values::I64(v) => 8 * v.len(),
                Values::F64(v) => 8 * v.len(),
                Values::Bool(v) => v.len(),
                Values::Bytes(v) => 8 * v.offsets.len() + v.data.len(),
            };
            values + c.validity.as_ref().map_or(0, Vec::len)
        };
        self.columns.iter().map(column).sum()
    }

    /// A column of the table, to look at single cells of. Every row is null where the table has no such column.
    pub fn get<T: Fixed>(&self, column: &TypedColumn<T>) -> Cells<'_, T> {
        // A mistake of ours, which tests find: to a user it would be nulls.
        debug_assert!(column.is_of(self.table), "{} is not a column of {}", column.name(), self.table.name);
        let column = self.column(column.name());
        let values = column.and_then(|c| T::values(&c.values)).unwrap_or_default();
        Cells { values, valid: column.and_then(|c| c.validity.as_deref()) }
    }

    /// A column of whichever table has it, for what is done alike with rows of different tables. Every row of another
    /// table is null.
    pub fn get_if_any<T: Fixed>(&self, column: &TypedColumn<T>) -> Cells<'_, T> {
        if column.is_of(self.table) {
            return self.get(column);
        }
        // Then it is the column of `column::any` that is meant.
        debug_assert!(
            self.column(column.name()).is_none_or(|own| T::values(&own.values).is_none()),
            "{} has a {} of its own",
            self.table.name,
            column.name()
        );
        Cells { values: &[], valid: None }
    }

    /// A column of byte strings, if the batch has it.
    pub fn bytes(&self, column: &TypedColumn<Vec<u8>>) -> Option<&BytesColumn> {
        debug_assert!(column.is_of(self.table), "{} is not a column of {}", column.name(), self.table.name);
        match &self.column(column.name())?.values {
            Values::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The column called `name`, if the table has it.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.table.column_index(name).map(|i| &self.columns[i])
    }

    /// The smallest `start_ns` and the largest end over rows whose times are valid, if the table has times.
    ///
    /// A null duration marks impossible times, so the row does not count; a null end means "still open" or "a
    /// moment" and the row counts with its start.
    pub fn time_bounds(&self) -> Option<(i64, i64)> {
        self.time_bounds_of(0..self.rows)
    }

    /// As [`Batch::time_bounds`], over some of the rows.
    pub fn time_bounds_of(&self, rows: Range<usize>) -> Option<(i64, i64)> {
        let start = self.column(any::START_NS.name())?;
        let Values::I64(starts) = &start.values else { return None };
        let (other, is_end) = match (self.column(any::DURATION_NS.name()), self.column(any::END_NS.name())) {
            (Some(duration), _) => (Some(duration), false),
            (None, Some(end)) => (Some(end), true),
            (None, None) => (None, false),
        };
        let mut bounds: Option<(i64, i64)> = None;
        for (i, &s) in starts.iter().enumerate().take(rows.end).skip(rows.start) {
            let no_end = other.is_some_and(|o| o.is_null(i));
            if start.is_null(i) || (no_end && !is_end) {
                continue;
            }
            let e = match other.map(|o| &o.values) {
                Some(Values::I64(v)) if is_end && !no_end => v[i].max(s),
                Some(Values::I64(v)) if !no_end => s.saturating_add(v[i]),
                _ => s,
            };
            bounds = Some(bounds.map_or((s, e), |(lo, hi)| (lo.min(s), hi.max(e))));
        }
        bounds
    }
}
