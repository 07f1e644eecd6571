//! Growing columns: what the `table!` macro's builders are made of.

use super::{BytesColumn, Column, Values};
use crate::schema::ColumnType;

/// A growing column of one cell type; the `table!` macro gives each field one of these.
pub trait ColumnBuilder: Default {
    /// What one row holds.
    type Cell;
    /// Appends one row.
    fn push(&mut self, cell: Self::Cell);
    /// Takes the rows collected so far, leaving the builder empty.
    fn take(&mut self) -> Column;
}

/// A Rust type that can be a column's cell: the six value types, and `Option` of each.
pub trait Cell: Sized {
    /// What a cell that is not null holds.
    type Value;
    /// The builder that collects such cells.
    type Builder: ColumnBuilder<Cell = Self>;
    /// The registry type.
    const TYPE: ColumnType;
    /// Whether a row may be null.
    const NULLABLE: bool;
    /// Row `i` of `column`; the default value where the type or the row does not exist.
    fn get(column: &Column, i: usize) -> Self;
}

/// Takes the rows and makes room for as many: the next frame will have about as many, and a column that grows by
/// doubling copies every value once more.
fn take<T>(rows: &mut Vec<T>) -> Vec<T> {
    let room = Vec::with_capacity(rows.len());
    std::mem::replace(rows, room)
}

macro_rules! cell {
    ($ty:ty, $variant:ident, $plain:ident, $nullable:ident) => {
        #[doc = concat!("Collects `", stringify!($ty), "` cells.")]
        #[derive(Default)]
        pub struct $plain(Vec<$ty>);
        #[doc = concat!("Collects `Option<", stringify!($ty), ">` cells.")]
        ///
        /// Most nullable columns are all null or never null in a given trace, so neither the values nor the
        /// validity take memory before the first row that needs them.
        #[derive(Default)]
        pub struct $nullable {
            len: usize,
            /// Empty while every row so far is null.
            values: Vec<$ty>,
            /// Empty while no row, or every row, so far is null.
            validity: Vec<bool>,
        }
        impl ColumnBuilder for $plain {
            type Cell = $ty;
            #[inline(always)]
            fn push(&mut self, cell: $ty) {
                self.0.push(cell);
            }
            fn take(&mut self) -> Column {
                Column { values: Values::$variant(take(&mut self.0)), validity: None }
            }
        }
        impl ColumnBuilder for $nullable {
            type Cell = Option<$ty>;
            #[inline(always)]
            fn push(&mut self, cell: Option<$ty>) {
                match cell {
                    Some(value) => {
                        if self.values.is_empty() && self.len > 0 {
                            self.values.resize(self.len, <$ty>::default());
                            self.validity.resize(self.len, false);
                        }
                        self.values.push(value);
                        if !self.validity.is_empty() {
                            self.validity.push(true);
                        }
                    }
                    None if self.values.is_empty() => {}
                    None => {
                        if self.validity.is_empty() {
                            self.validity.resize(self.len, true);
                        }
                        self.values.push(<$ty>::default());
                        self.validity.push(false);
                    }
                }
                self.len += 1;
            }
            fn take(&mut self) -> Column {
                let (len, values, validity) = (self.len, take(&mut self.values), take(&mut self.validity));
                self.len = 0;
                let mut taken = $nullable { len, values, validity };
                if taken.values.is_empty() && taken.len > 0 {
                    taken.values.resize(taken.len, <$ty>::default());
                    taken.validity.resize(taken.len, false);
                }
                Column {
                    values: Values::$variant(taken.values),
                    validity: (!taken.validity.is_empty()).then_some(taken.validity),
                }
            }
        }
        impl Cell for $ty {
            type Value = $ty;
            type Builder = $plain;
            const TYPE: ColumnType = ColumnType::$variant;
            const NULLABLE: bool = false;
            fn get(column: &Column, i: usize) -> Self {
                match &column.values {
                    Values::$variant(v) => v.get(i).copied().unwrap_or_default(),
                    _ => <$ty>::default(),
                }
            }
        }
        impl Cell for Option<$ty> {
            type Value = $ty;
            type Builder = $nullable;
            const TYPE: ColumnType = ColumnType::$variant;
            const NULLABLE: bool = true;
            fn get(column: &Column, i: usize) -> Self {
                match &column.values {
                    Values::$variant(v) if !column.is_null(i) => v.get(i).copied(),
                    _ => None,
                }
            }
        }
    };
}

cell!(u32, U32, U32Builder, OptU32Builder);
cell!(u64, U64, U64Builder, OptU64Builder);
cell!(i64, I64, I64Builder, OptI64Builder);
cell!(f64, F64, F64Builder, OptF64Builder);
cell!(bool, Bool, BoolBuilder, OptBoolBuilder);

/// Collects byte strings.
#[derive(Default)]
pub struct BytesBuilder(BytesColumn);

/// Collects byte strings that may be absent.
#[derive(Default)]
pub struct OptBytesBuilder {
    values: BytesColumn,
    validity: Vec<bool>,
}

impl ColumnBuilder for BytesBuilder {
    type Cell = Vec<u8>;
    fn push(&mut self, cell: Vec<u8>) {
        self.0.push(&cell);
    }
    fn take(&mut self) -> Column {
        Column { values: Values::Bytes(std::mem::take(&mut self.0)), validity: None }
    }
}

impl ColumnBuilder for OptBytesBuilder {
    type Cell = Option<Vec<u8>>;
    fn push(&mut self, cell: Option<Vec<u8>>) {
        self.validity.push(cell.is_some());
        self.values.push(cell.as_deref().unwrap_or_default());
    }
    fn take(&mut self) -> Column {
        let validity = std::mem::take(&mut self.validity);
        let any_null = validity.contains(&false);
        Column { values: Values::Bytes(std::mem::take(&mut self.values)), validity: any_null.then_some(validity) }
    }
}

impl Cell for Vec<u8> {
    type Value = Vec<u8>;
    type Builder = BytesBuilder;
    const TYPE: ColumnType = ColumnType::Bytes;
    const NULLABLE: bool = false;
    fn get(column: &Column, i: usize) -> Self {
        match &column.values {
            Values::Bytes(v) if i < v.len() => v.get(i).to_vec(),
            _ => Vec::new(),
        }
    }
}

impl Cell for Option<Vec<u8>> {
    type Value = Vec<u8>;
    type Builder = OptBytesBuilder;
    const TYPE: ColumnType = ColumnType::Bytes;
    const NULLABLE: bool = true;
    fn get(column: &Column, i: usize) -> Self {
        match &column.values {
            Values::Bytes(v) if i < v.len() && !column.is_null(i) => Some(v.get(i).to_vec()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(cells: &[Option<i64>]) -> Column {
        let mut builder = OptI64Builder::default();
        cells.iter().for_each(|&c| builder.push(c));
        builder.take()
    }

    #[test]
    fn a_nullable_column_keeps_every_row_whatever_comes_first() {
        for cells in [&[None, None][..], &[None, Some(3)], &[Some(3), None], &[Some(1), Some(2)], &[]] {
            let column = collect(cells);
            let Values::I64(values) = &column.values else { panic!("type changed") };
            let back: Vec<Option<i64>> =
                values.iter().enumerate().map(|(i, &v)| (!column.is_null(i)).then_some(v)).collect();
            assert_eq!(back, cells);
            assert_eq!(column.validity.is_none(), cells.iter().all(Option::is_some));
        }
    }
}
