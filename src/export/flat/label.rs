//! What people call a row.

use super::{Cell, stored};
use crate::cupti::operation;
use crate::export::Context;
use crate::trace::ordered::Piece;
use trace_format::schema::{AnyColumn as _, TableSpec, TypedColumn};
use trace_format::tables;
use trace_format::tables::column::{any, kernel, note, sample};

/// The column that the label of a row depends on; `None`: all rows of the table have the same.
pub fn label_column(table: &TableSpec) -> Option<&'static TypedColumn<u32>> {
    match table {
        table if table == &tables::KERNEL => Some(kernel::SHAPE_ID),
        table if table == &tables::MEMCPY || table == &tables::OPENMP => Some(any::KIND),
        table if table == &tables::MEMSET => None,
        table if table == &tables::NOTE => Some(note::TEXT_ID),
        table if table == &tables::SAMPLE => Some(sample::METRIC_ID),
        _ => Some(any::NAME_ID),
    }
}

/// What people call row `i`; empty where there is no word for it.
pub fn label<'a>(context: &Context<'a>, piece: &Piece, i: usize) -> &'a str {
    let labels = context.labels;
    let column = label_column(piece.table()).and_then(|column| piece.table().column_index(column.name()));
    let number = column.and_then(|column| match stored(piece, column, i) {
        Cell::Whole(value) => u32::try_from(value).ok(),
        _ => None,
    });
    match piece.table() {
        table if table == &tables::KERNEL => labels.kernel(number.unwrap_or(u32::MAX)),
        table if table == &tables::API => labels.api(number.unwrap_or(0)),
        table if table == &tables::MEMCPY => operation::memcpy_name(number.unwrap_or(0)),
        table if table == &tables::MEMSET => operation::MEMSET,
        table if table == &tables::OPENMP => operation::openmp_name(number.unwrap_or(0)),
        _ => labels.text(number.unwrap_or(0)),
    }
}
