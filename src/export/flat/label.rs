//! What people call a row.

use super::{Cell, stored};
use crate::cupti::operation;
use crate::export::Context;
use crate::trace::ordered::Piece;
use trace_format::schema::TableSpec;

/// The column that the label of a row depends on; `None`: all rows of the table have the same.
pub fn label_column(table: &TableSpec) -> Option<&'static str> {
    match table.name {
        "kernel" => Some("shape_id"),
        "memcpy" | "openmp" => Some("kind"),
        "memset" => None,
        "note" => Some("text_id"),
        "sample" => Some("metric_id"),
        _ => Some("name_id"),
    }
}

/// What people call row `i`; empty where there is no word for it.
pub fn label<'a>(context: &Context<'a>, piece: &Piece, i: usize) -> &'a str {
    let labels = context.labels;
    let column = label_column(piece.table()).and_then(|name| piece.table().column_index(name));
    let number = column.and_then(|column| match stored(piece, column, i) {
        Cell::Whole(value) => u32::try_from(value).ok(),
        _ => None,
    });
    match piece.table().name {
        "kernel" => labels.kernel(number.unwrap_or(u32::MAX)),
        "api" => labels.api(number.unwrap_or(0)),
        "memcpy" => operation::memcpy_name(number.unwrap_or(0)),
        "memset" => operation::MEMSET,
        "openmp" => operation::openmp_name(number.unwrap_or(0)),
        _ => labels.text(number.unwrap_or(0)),
    }
}
