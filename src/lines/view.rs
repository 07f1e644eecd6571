//! Columns of a piece by name, for looking at single cells of many rows.

use trace_format::columns::{Batch, Values};

/// One column; every row of a column that the table does not have is null.
#[derive(Clone, Copy, Debug)]
pub struct Col<'a, T> {
    values: &'a [T],
    valid: Option<&'a [bool]>,
}

impl<T: Copy> Col<'_, T> {
    /// The value of row `i`; `None` where it is null.
    #[inline]
    pub fn get(&self, i: usize) -> Option<T> {
        match self.valid {
            Some(valid) if !valid.get(i).copied().unwrap_or(false) => None,
            _ => self.values.get(i).copied(),
        }
    }
}

/// A type that cells are of.
pub trait CellType: Sized {
    /// The values, if they are of this type.
    fn values(values: &Values) -> Option<&[Self]>;
}

macro_rules! cell_type {
    ($ty:ty, $variant:ident) => {
        impl CellType for $ty {
            fn values(values: &Values) -> Option<&[Self]> {
                match values {
                    Values::$variant(values) => Some(values),
                    _ => None,
                }
            }
        }
    };
}

cell_type!(u32, U32);
cell_type!(u64, U64);
cell_type!(i64, I64);
cell_type!(f64, F64);

/// The column called `name`.
pub fn column<'a, T: CellType>(rows: &'a Batch, name: &str) -> Col<'a, T> {
    let column = rows.column(name);
    let values = column.and_then(|c| T::values(&c.values)).unwrap_or_default();
    Col { values, valid: column.and_then(|c| c.validity.as_deref()) }
}

/// Declares a struct whose fields are columns of the same names.
macro_rules! view {
    ($(#[doc = $doc:literal])+ $name:ident { $($field:ident : $ty:ty,)+ }) => {
        $(#[doc = $doc])+
        pub struct $name<'a> {
            $(#[allow(missing_docs, reason = "the registry documents the column")] pub $field: $crate::lines::view::Col<'a, $ty>,)+
        }

        impl<'a> $name<'a> {
            /// The columns of `rows`.
            pub fn of(rows: &'a trace_format::columns::Batch) -> Self {
                $name { $($field: $crate::lines::view::column(rows, stringify!($field)),)+ }
            }
        }
    };
}
pub(crate) use view;

#[cfg(test)]
mod tests {
    use trace_format::schema::RowBuilder;
    use trace_format::tables::{SyncRow, sync::SyncBuilder};

    view! {
        /// Some columns.
        Some_ {
            start_ns: i64,
            stream: u32,
            device: u32,
        }
    }

    #[test]
    fn nulls_and_columns_that_are_not_there_have_no_value() {
        let mut builder = SyncBuilder::default();
        builder.push(SyncRow { start_ns: 5, stream: Some(7), ..SyncRow::default() });
        builder.push(SyncRow { start_ns: 6, stream: None, ..SyncRow::default() });
        let batch = builder.take();
        let view = Some_::of(&batch);
        assert_eq!([0, 1, 2].map(|i| view.start_ns.get(i)), [Some(5), Some(6), None]);
        assert_eq!([0, 1].map(|i| view.stream.get(i)), [Some(7), None]);
        assert_eq!([0, 1].map(|i| view.device.get(i)), [None, None]);
    }
}
