//! Columns of a piece by name, for looking at single cells of many rows.

use trace_format::columns::{Batch, Fixed};
use trace_format::schema::TypedColumn;

pub use trace_format::columns::Cells as Col;

/// The column called `name`.
pub fn column<'a, T: Fixed>(rows: &'a Batch, name: &'static str) -> Col<'a, T> {
    rows.get(&TypedColumn::of_any(name))
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
