//! One decoded piece of a table, as a Polars frame with typed, null-aware access to its columns.

use polars::prelude::*;
use polars_arrow::array::PrimitiveArray;
use polars_arrow::bitmap::Bitmap;
use polars_arrow::types::NativeType;
use std::sync::Arc;
use trace_format::columns::{self, Values};
use trace_format::schema::{AnyColumn, ColumnSpec, ColumnType, TableSpec, TypedColumn};

/// Some rows of one table of one process.
///
/// Columns that are null in every row are absent from `frame`; the accessors return an empty column for them, whose
/// every row is null.
pub struct Batch {
    /// The table the rows belong to.
    pub table: &'static TableSpec,
    /// Ordinal of the process the rows belong to.
    pub process: u32,
    /// What to add to times to get Unix nanoseconds (or 0 for a trace without an epoch).
    pub offset_ns: i64,
    /// Number of rows.
    pub rows: usize,
    /// The columns that were asked for and are not all null.
    pub frame: DataFrame,
    /// Which rows are selected; `None`: all.
    pub selected: Option<Vec<u32>>,
    /// The columns that whoever folds over the rows said that it reads; `None`: all.
    pub asked: Option<Arc<[&'static str]>>,
}

/// Cells of fixed size, which a column holds in a slice.
pub trait Fixed: NativeType {
    /// The values of `series`, in one piece, if it is of this type.
    fn array(series: &Series) -> Option<&PrimitiveArray<Self>>;
}

macro_rules! fixed {
    ($($ty:ident),+) => {$(
        impl Fixed for $ty {
            fn array(series: &Series) -> Option<&PrimitiveArray<$ty>> {
                series.$ty().ok().and_then(|chunks| chunks.downcast_iter().next())
            }
        }
    )+};
}

fixed!(u32, u64, i64, f64);

/// A column of fixed-size values of a [`Batch`].
#[derive(Clone, Copy)]
pub struct Col<'a, T> {
    values: &'a [T],
    validity: Option<&'a Bitmap>,
}

impl<'a, T: Copy> Col<'a, T> {
    const ABSENT: Self = Col { values: &[], validity: None };

    /// The value of row `i`; `None` where it is null.
    #[inline]
    pub fn get(&self, i: usize) -> Option<T> {
        let value = *self.values.get(i)?;
        match self.validity {
            Some(bits) if !bits.get_bit(i) => None,
            _ => Some(value),
        }
    }

    /// All values as a slice if no row is null: what fast paths loop over.
    #[inline]
    pub fn all_valid(&self) -> Option<&'a [T]> {
        (self.validity.is_none() && !self.values.is_empty()).then_some(self.values)
    }
}

impl Batch {
    /// All rows of a frame, with their times as they are.
    pub(super) fn of_kept(process: u32, table: &'static TableSpec, frame: DataFrame, rows: usize) -> Batch {
        Batch { table, process, offset_ns: 0, rows, frame, selected: None, asked: None }
    }

    /// A column of the rows' table.
    pub fn get<T: Fixed>(&self, column: &TypedColumn<T>) -> Col<'_, T> {
        let Some(column) = self.column(column) else { return Col::ABSENT };
        // A column of one row is a scalar to Polars until it is materialised.
        let Some(array) = T::array(column.as_materialized_series()) else { return Col::ABSENT };
        Col { values: array.values().as_slice(), validity: array.validity().filter(|v| v.unset_bits() > 0) }
    }

    /// A column that is not null in every row.
    fn column(&self, column: &dyn AnyColumn) -> Option<&Column> {
        // Mistakes of ours, which tests find: to a user they would be nulls.
        debug_assert!(column.is_of(self.table), "{} is not a column of {}", column.name(), self.table.name);
        debug_assert!(
            self.asked.as_ref().is_none_or(|asked| asked.contains(&column.name()))
                || self.table.column_index(column.name()).is_none(),
            "{} of {} is read and was not asked for",
            column.name(),
            self.table.name
        );
        self.frame.column(column.name()).ok()
    }

    /// Row `i` of a column of byte strings; `None` where it is null. For defining tables: it is slow.
    pub fn bytes(&self, column: &TypedColumn<Vec<u8>>, i: usize) -> Option<Vec<u8>> {
        let column = self.column(column)?;
        column.as_materialized_series().binary().ok()?.get(i).map(<[u8]>::to_vec)
    }

    /// Calls `each` with every selected row.
    #[inline]
    pub fn for_each_row(&self, mut each: impl FnMut(usize)) {
        match &self.selected {
            None => (0..self.rows).for_each(each),
            Some(rows) => rows.iter().for_each(|&i| each(i as usize)),
        }
    }

    /// Number of selected rows that are null in `column`.
    pub fn null_rows(&self, column: &TypedColumn<i64>) -> u64 {
        let column = self.get(column);
        if column.all_valid().is_some() {
            return 0;
        }
        let mut nulls = 0;
        self.for_each_row(|i| nulls += u64::from(column.get(i).is_none()));
        nulls
    }
}

/// The frame for a batch that an importer built; columns that are all null are left out.
pub fn to_frame(batch: columns::Batch) -> PolarsResult<DataFrame> {
    let rows = batch.rows;
    let mut out = Vec::new();
    for (spec, column) in batch.table.columns.iter().zip(batch.columns) {
        if rows > 0 && column.is_all_null() {
            continue;
        }
        let validity = column.validity.map(|v| v.into_iter().collect::<Bitmap>());
        let name = PlSmallStr::from_static(spec.name);
        macro_rules! primitive {
            ($values:expr, $ty:ty) => {
                ChunkedArray::<$ty>::from_vec_validity(name, $values, validity).into_series()
            };
        }
        let series = match column.values {
            Values::U32(v) => primitive!(v, UInt32Type),
            Values::U64(v) => primitive!(v, UInt64Type),
            Values::I64(v) => primitive!(v, Int64Type),
            Values::F64(v) => primitive!(v, Float64Type),
            Values::Bool(v) => {
                let masked = v.into_iter().enumerate();
                let cells = masked.map(|(i, b)| validity.as_ref().is_none_or(|bits| bits.get_bit(i)).then_some(b));
                cells.collect::<BooleanChunked>().with_name(name).into_series()
            }
            Values::Bytes(v) => {
                let valid = |i: usize| validity.as_ref().is_none_or(|bits| bits.get_bit(i));
                let cells = (0..v.len()).map(|i| valid(i).then(|| v.get(i)));
                cells.collect::<BinaryChunked>().with_name(name).into_series()
            }
        };
        out.push(Column::from(series));
    }
    DataFrame::new(rows, out)
}

/// A column of `frame` as values of the registry's type; all null if the frame has none.
pub fn to_column(frame: &DataFrame, spec: &ColumnSpec, rows: usize) -> PolarsResult<columns::Column> {
    let Ok(column) = frame.column(spec.name) else { return Ok(columns::Column::nulls(spec.ty, rows)) };
    let series = column.as_materialized_series();
    macro_rules! primitive {
        ($get:ident, $variant:ident) => {{
            let chunked = series.$get()?;
            let mut values = Vec::with_capacity(rows);
            match chunked.null_count() {
                0 => chunked.downcast_iter().for_each(|array| values.extend_from_slice(array.values())),
                _ => values.extend(chunked.iter().map(Option::unwrap_or_default)),
            }
            Values::$variant(values)
        }};
    }
    let values = match spec.ty {
        ColumnType::U32 => primitive!(u32, U32),
        ColumnType::U64 => primitive!(u64, U64),
        ColumnType::I64 => primitive!(i64, I64),
        ColumnType::F64 => primitive!(f64, F64),
        ColumnType::Bool => Values::Bool(series.bool()?.iter().map(|v| v.unwrap_or(false)).collect()),
        ColumnType::Bytes => {
            let mut bytes = columns::BytesColumn::default();
            series.binary()?.iter().for_each(|v| bytes.push(v.unwrap_or_default()));
            Values::Bytes(bytes)
        }
    };
    polars_ensure!(values.len() == rows, ComputeError: "column {} has {} of {rows} rows", spec.name, values.len());
    let validity =
        (series.null_count() > 0).then(|| series.is_not_null().iter().map(|v| v == Some(true)).collect());
    Ok(columns::Column { values, validity })
}

/// Replaces the ids in column `name`, if it is there, by what the function that `map` makes says of them.
pub fn remap_ids<M: Fn(u32) -> u32 + Copy>(
    frame: &mut DataFrame,
    name: &str,
    map: impl FnOnce() -> M,
) -> PolarsResult<()> {
    let Ok(column) = frame.column(name) else { return Ok(()) };
    let mapped = column.u32()?.apply_values(map());
    frame.with_column(mapped.into_column())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::schema::RowBuilder as _;
    use trace_format::tables::column::{any, kernel, memcpy};
    use trace_format::tables::{KERNEL, KernelRow, kernel::KernelBuilder};

    fn batch(asked: &[&'static str]) -> Batch {
        let mut rows = KernelBuilder::default();
        rows.push(KernelRow { start_ns: 5, stream: 7, ..KernelRow::default() });
        let frame = to_frame(rows.take()).expect("a frame");
        let asked = Some(asked.into());
        Batch { table: &KERNEL, process: 0, offset_ns: 0, rows: 1, frame, selected: None, asked }
    }

    #[test]
    fn what_was_asked_for_is_there_and_what_a_table_does_not_have_is_null() {
        let batch = batch(&["start_ns", "duration_ns"]);
        assert_eq!(batch.get(kernel::START_NS).get(0), Some(5));
        assert_eq!(batch.get(any::DURATION_NS).get(0), None);
        assert_eq!(batch.get(any::BYTES).get(0), None, "kernels have no bytes");
    }

    #[test]
    #[should_panic(expected = "stream of kernel is read and was not asked for")]
    fn what_was_not_asked_for_is_not_read() {
        batch(&["start_ns"]).get(kernel::STREAM);
    }

    #[test]
    #[should_panic(expected = "start_ns is not a column of kernel")]
    fn columns_of_another_table_are_not_read() {
        batch(&["start_ns"]).get(memcpy::START_NS);
    }
}
