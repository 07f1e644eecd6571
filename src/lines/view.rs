//! Columns of a piece, for looking at single cells of many rows.

pub use trace_format::columns::Cells as Col;

/// Declares a struct whose fields are columns: those of one table by their names (`Kernels of kernel { stream: u32, }`), or
/// of several tables (`Columns { stream: u32 = any::STREAM, }`), where rows of a table without the column have none.
macro_rules! view {
    ($(#[doc = $doc:literal])+ $name:ident of $table:ident { $($field:ident : $ty:ty,)+ }) => {
        trace_format::pastey::paste! {
            $crate::lines::view::view! {
                @get $(#[doc = $doc])+ $name { $($field: $ty = $table::[<$field:upper>],)+ }
            }
        }
    };
    ($(#[doc = $doc:literal])+ $name:ident { $($field:ident : $ty:ty = $column:path,)+ }) => {
        $crate::lines::view::view! { @get_if_any $(#[doc = $doc])+ $name { $($field: $ty = $column,)+ } }
    };
    (@$get:ident $(#[doc = $doc:literal])+ $name:ident { $($field:ident : $ty:ty = $column:path,)+ }) => {
        $(#[doc = $doc])+
        pub struct $name<'a> {
            $(#[allow(missing_docs, reason = "the registry documents the column")] pub $field: $crate::lines::view::Col<'a, $ty>,)+
        }

        impl<'a> $name<'a> {
            /// The columns of `rows`.
            pub fn of(rows: &'a trace_format::columns::Batch) -> Self {
                $name { $($field: rows.$get($column),)+ }
            }
        }
    };
}
pub(crate) use view;

#[cfg(test)]
mod tests {
    use trace_format::schema::RowBuilder;
    use trace_format::tables::column::{any, kernel};
    use trace_format::tables::{SyncRow, sync::SyncBuilder};

    view! {
        /// Some columns.
        Some_ {
            start_ns: i64 = any::START_NS,
            stream: u32 = any::STREAM,
            device: u32 = any::DEVICE,
            shape_id: u32 = kernel::SHAPE_ID,
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
        assert_eq!([0, 1].map(|i| view.shape_id.get(i)), [None, None]);
    }
}
