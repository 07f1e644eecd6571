//! Payload to rows, for the reader of defining tables, for tools and for tests; reports use Polars instead.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;

use super::MAX_ROWS;
use crate::columns::{Batch, BytesColumn, Column, Values};
use crate::schema::{ColumnType, TableSpec};

/// Why a payload could not become rows.
#[derive(Debug)]
pub enum DecodeError {
    /// It is not the Parquet file that this format writes.
    Parquet(ParquetError),
    /// It is, but not one that fits the table.
    Layout(String),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Parquet(source) => write!(f, "the payload is not readable as Parquet: {source}"),
            DecodeError::Layout(what) => write!(f, "the payload does not fit its table: {what}"),
        }
    }
}

impl std::error::Error for DecodeError {}

impl From<ParquetError> for DecodeError {
    fn from(source: ParquetError) -> Self {
        DecodeError::Parquet(source)
    }
}

/// Reads a payload of `table`, all columns or the `wanted` ones.
///
/// Columns that the payload or the wish list lacks come back all null; columns that the registry does not know,
/// written by a newer minor version, are skipped.
///
/// Errors: the payload is no such Parquet file.
pub fn decode(table: &'static TableSpec, payload: Bytes, wanted: Option<&[&str]>) -> Result<Batch, DecodeError> {
    // Version 60 of the library slices with lengths it has just read and panics where they lie (found by mutating
    // payloads). Checksums keep accidents away from here, not files made to harm.
    let read = AssertUnwindSafe(|| decode_trusting(table, payload, wanted));
    let panicked = |_| Err(DecodeError::Layout("the Parquet library gave up on it".into()));
    catch_unwind(read).unwrap_or_else(panicked)
}

fn decode_trusting(
    table: &'static TableSpec,
    payload: Bytes,
    wanted: Option<&[&str]>,
) -> Result<Batch, DecodeError> {
    let file = SerializedFileReader::new(payload)?;
    let metadata = file.metadata();
    let rows = usize::try_from(metadata.file_metadata().num_rows()).unwrap_or(usize::MAX);
    if metadata.num_row_groups() != 1 || rows > MAX_ROWS {
        return Err(DecodeError::Layout(format!("{} row groups, {rows} rows", metadata.num_row_groups())));
    }
    let group = file.get_row_group(0)?;
    let schema = metadata.file_metadata().schema_descr();
    let mut columns = Vec::with_capacity(table.columns.len());
    for spec in table.columns {
        let position = schema.columns().iter().position(|c| c.name() == spec.name);
        let column = match position {
            Some(i) if wanted.is_none_or(|w| w.contains(&spec.name)) => {
                read_column(spec.ty, group.get_column_reader(i)?, rows)
                    .map_err(|e| e.unwrap_or_else(|| layout_error(spec.name)))?
            }
            _ => Column::nulls(spec.ty, rows),
        };
        columns.push(column);
    }
    Ok(Batch { table, rows, columns })
}

fn layout_error(column: &str) -> DecodeError {
    DecodeError::Layout(format!("column {column} has another type or another number of rows"))
}

/// Errors: none stands for a type or length that is not the registry's.
fn read_column(ty: ColumnType, reader: ColumnReader, rows: usize) -> Result<Column, Option<DecodeError>> {
    match (ty, reader) {
        (ColumnType::U32, ColumnReader::Int32ColumnReader(r)) => {
            read_values(r, rows, 0, |v| Values::U32(v.iter().map(|&v| v as u32).collect()))
        }
        (ColumnType::U64, ColumnReader::Int64ColumnReader(r)) => {
            read_values(r, rows, 0, |v| Values::U64(v.iter().map(|&v| v as u64).collect()))
        }
        (ColumnType::I64, ColumnReader::Int64ColumnReader(r)) => read_values(r, rows, 0, Values::I64),
        (ColumnType::F64, ColumnReader::DoubleColumnReader(r)) => read_values(r, rows, 0.0, Values::F64),
        (ColumnType::Bool, ColumnReader::BoolColumnReader(r)) => read_values(r, rows, false, Values::Bool),
        // Not `ByteArray::default()`: that one panics when it is asked for its bytes.
        (ColumnType::Bytes, ColumnReader::ByteArrayColumnReader(r)) => {
            read_values(r, rows, Bytes::new().into(), |v| {
                let mut bytes = BytesColumn::default();
                v.iter().for_each(|v| bytes.push(v.data()));
                Values::Bytes(bytes)
            })
        }
        _ => Err(None),
    }
}

fn read_values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    null: T::T,
    wrap: impl FnOnce(Vec<T::T>) -> Values,
) -> Result<Column, Option<DecodeError>> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let (read, present, _) = reader
        .read_records(rows, Some(&mut levels), None, &mut values)
        .map_err(|e| Some(DecodeError::Parquet(e)))?;
    if read != rows || values.len() != present {
        return Err(None);
    }
    if present == rows {
        return Ok(Column { values: wrap(values), validity: None });
    }
    if levels.len() != rows || levels.iter().filter(|&&l| l == 1).count() != present {
        return Err(None);
    }
    let mut present = values.into_iter();
    let mut cell = |level: i16| if level == 1 { present.next() } else { None }.unwrap_or_else(|| null.clone());
    let spread = levels.iter().map(|&level| cell(level));
    Ok(Column { values: wrap(spread.collect()), validity: Some(levels.iter().map(|&l| l == 1).collect()) })
}
