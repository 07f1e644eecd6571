//! The columns of a file as Parquet declares them.

use crate::export::flat::{FlatColumn, FlatType, Layout, Source};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::Type;
use std::sync::Arc;
use trace_format::schema::TableSpec;

/// The schema for rows of `table`.
pub fn of(layout: &Layout, table: &TableSpec) -> Result<Type, ParquetError> {
    let fields = layout.columns.iter().map(|column| {
        let is_optional = is_optional(column, table);
        field(&column.name, column.ty, is_optional).map(Arc::new)
    });
    Type::group_type_builder(table.name).with_fields(fields.collect::<Result<_, ParquetError>>()?).build()
}

/// Whether a row of `table` may have no value in this column.
pub fn is_optional(column: &FlatColumn, table: &TableSpec) -> bool {
    match column.source(0) {
        Source::Table | Source::Process | Source::Clock | Source::Origin => false,
        Source::Cell(index) => table.columns[index].nullable,
        _ => true,
    }
}

/// A column of this name.
pub fn field(name: &str, ty: FlatType, is_optional: bool) -> Result<Type, ParquetError> {
    let (physical, logical) = match ty {
        FlatType::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        FlatType::Whole { unsigned: false } => (Physical::INT64, None),
        FlatType::Whole { unsigned: true } => (Physical::INT64, Some(LogicalType::integer(64, false))),
        FlatType::Real => (Physical::DOUBLE, None),
        FlatType::Bool => (Physical::BOOLEAN, None),
        FlatType::Bytes => (Physical::BYTE_ARRAY, None),
    };
    let repetition = if is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    Type::primitive_type_builder(name, physical).with_repetition(repetition).with_logical_type(logical).build()
}
