//! A table of any columns as one Parquet file: what `gpuprof query --format parquet` writes.

use super::buffer::{Buffer, Pool};
use super::chunk::{self, Laid};
use super::{GROUP_ROWS, properties, schema, write_columns};
use crate::error::{Error, Result};
use crate::export::flat::FlatType;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnDescPtr, Type};
use polars::prelude::{Column, DataFrame, DataType, PolarsError, PolarsResult};
use rayon::prelude::*;
use std::io::Write;
use std::sync::Arc;

/// Writes an answer: numbers, text and yes or no; every column may hold NULL.
///
/// # Errors
/// Fails if a column has another type, or if `out` cannot be written to.
pub fn write(out: &mut (dyn Write + Send), answer: &DataFrame) -> Result<()> {
    let failed =
        |why: &dyn std::fmt::Display| Error::new(format!("the answer cannot be written as Parquet: {why}"));
    let types = answer.columns().iter().map(flat_type).collect::<PolarsResult<Vec<_>>>();
    let types = types.map_err(|e| failed(&e))?;
    write_groups(out, answer, &types).map_err(|e| failed(&e))
}

fn flat_type(column: &Column) -> PolarsResult<FlatType> {
    Ok(match column.dtype() {
        DataType::String => FlatType::Text,
        DataType::Int64 | DataType::UInt32 => FlatType::Whole { unsigned: false },
        DataType::UInt64 => FlatType::Whole { unsigned: true },
        DataType::Float64 => FlatType::Real,
        DataType::Boolean => FlatType::Bool,
        other => {
            let text = format!("column {} has the type {other}, which no query gives", column.name());
            return Err(PolarsError::ComputeError(text.into()));
        }
    })
}

fn write_groups(out: &mut (dyn Write + Send), answer: &DataFrame, types: &[FlatType]) -> ParquetResult<()> {
    let fields = answer.columns().iter().zip(types);
    let fields = fields.map(|(column, ty)| schema::field(column.name(), *ty, true).map(Arc::new));
    let schema = Type::group_type_builder("answer").with_fields(fields.collect::<ParquetResult<_>>()?).build()?;
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties(Vec::new())))?;
    let descriptors = file.schema_descr().columns().to_vec();
    for from in (0..answer.height()).step_by(GROUP_ROWS) {
        let group = answer.slice(from as i64, GROUP_ROWS);
        let columns = group.columns().par_iter().zip(&descriptors);
        let laid: Vec<Laid> = columns
            .map(|(column, descriptor)| lay_out(column, descriptor.clone()))
            .collect::<ParquetResult<_>>()?;
        write_columns(&mut file, laid)?;
    }
    file.close().map(drop)
}

/// The pages of one column.
fn lay_out(column: &Column, descriptor: ColumnDescPtr) -> ParquetResult<Laid> {
    let external = |e: PolarsError| ParquetError::External(Box::new(e));
    let series = column.as_materialized_series();
    macro_rules! numbers {
        ($get:ident, $lay:path, $into:ty $(, $is_dictionary:expr)?) => {{
            let mut buffer = Buffer::<$into>::default();
            series.$get().map_err(external)?.iter().for_each(|cell| buffer.push(cell.map(<$into>::from)));
            $lay(&buffer, true $(, $is_dictionary)?, descriptor)
        }};
    }
    match series.dtype() {
        DataType::Int64 => numbers!(i64, chunk::signed, i64, true),
        DataType::UInt32 => numbers!(u32, chunk::signed, i64, true),
        DataType::UInt64 => numbers!(u64, chunk::unsigned, u64, true),
        DataType::Float64 => numbers!(f64, chunk::real, f64),
        DataType::Boolean => numbers!(bool, chunk::bool, bool),
        _ => {
            let mut texts = Pool::default();
            let mut buffer = Buffer::default();
            let cells = series.str().map_err(external)?.iter();
            cells.for_each(|cell| buffer.push(cell.map(|text| texts.number(text.as_bytes()))));
            chunk::text(&buffer, texts.texts(), true, descriptor)
        }
    }
}
