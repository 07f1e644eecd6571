//! Polars' columns as the engine's, and answers as Polars' frames.

use super::engine::column::{Column, SqlType, Values};
use super::engine::dictionary::Interner;
use super::engine::problem::{Problem, Result};
use super::engine::relation::Relation;
use hashbrown::HashMap;
use polars::prelude::{self as pl, ChunkedArray, DataFrame, DataType, IntoColumn as _, PolarsNumericType};
use polars_arrow::array::Array as _;
use std::sync::Arc;

/// A column that a source has read.
///
/// # Errors
/// Fails if the column has a type that no source has.
pub fn from_polars(column: &pl::Column) -> Result<Column> {
    let series = column.as_materialized_series();
    let failed = |e: pl::PolarsError| Problem::Wrong(e.to_string());
    let made = match series.dtype() {
        DataType::Int64 => {
            let (values, valid) = numbers(series.i64().map_err(failed)?, |value| value);
            Column::new(SqlType::Int, Values::ints(values)).with_valid(valid)
        }
        DataType::UInt32 => {
            let (values, valid) = numbers(series.u32().map_err(failed)?, i64::from);
            Column::new(SqlType::Id, Values::ints(values)).with_valid(valid)
        }
        DataType::UInt64 => {
            let (values, valid) = numbers(series.u64().map_err(failed)?, |value| value);
            Column::ids64(values, None).with_valid(valid)
        }
        DataType::Float64 => {
            let (values, valid) = numbers(series.f64().map_err(failed)?, |value| value);
            Column::floats(values, None).with_valid(valid)
        }
        DataType::Boolean => {
            let rows: Vec<Option<bool>> = series.bool().map_err(failed)?.iter().collect();
            let valid = rows.iter().map(Option::is_some).collect();
            Column::bools(rows.into_iter().map(Option::unwrap_or_default).collect(), None).with_valid(Some(valid))
        }
        DataType::String => text(series.str().map_err(failed)?),
        other => {
            return Problem::wrong(format!(
                "column {} has the type {other}, which queries do not know",
                column.name()
            ));
        }
    };
    Ok(made)
}

/// A text column that a source has read as the numbers of its texts, which are distinct.
///
/// # Errors
/// Fails if the column does not hold numbers of 32 bits.
pub fn from_numbers(column: &pl::Column, texts: &pl::StringChunked) -> Result<Column> {
    let (codes, valid) = numbers(column.u32().map_err(|e| Problem::Wrong(e.to_string()))?, |code| code);
    let mut interner = Interner::default();
    texts.iter().flatten().for_each(|text| {
        interner.code(text);
    });
    Ok(Column::new(SqlType::Text, Values::codes(codes, Arc::new(interner.dictionary()))).with_valid(valid))
}

/// Values, each made into what the engine has, and which rows have one.
pub fn numbers<T: PolarsNumericType, V>(
    column: &ChunkedArray<T>,
    made: impl Fn(T::Native) -> V,
) -> (Vec<V>, Option<Vec<bool>>) {
    let mut values = Vec::with_capacity(column.len());
    let mut valid = column.has_nulls().then(Vec::new);
    for chunk in column.downcast_iter() {
        values.extend(chunk.values().iter().map(|&value| made(value)));
        if let Some(valid) = &mut valid {
            match chunk.validity() {
                Some(bits) => valid.extend(bits.iter()),
                None => valid.resize(valid.len() + chunk.len(), true),
            }
        }
    }
    (values, valid)
}

/// Text by code. Rows with one name share its bytes, so that nearly all rows are recognised without a look at them.
fn text(column: &pl::StringChunked) -> Column {
    let mut interner = Interner::default();
    let mut codes = Vec::with_capacity(column.len());
    let mut valid = column.has_nulls().then(Vec::new);
    for chunk in column.downcast_iter() {
        let mut known: HashMap<u128, u32> = HashMap::new();
        // Rows of one name often stand together.
        let mut last = (u128::MAX, 0);
        for (row, view) in chunk.views().iter().enumerate() {
            let is_valid = chunk.validity().is_none_or(|bits| bits.get_bit(row));
            if let Some(valid) = &mut valid {
                valid.push(is_valid);
            }
            if !is_valid {
                codes.push(0);
                continue;
            }
            let view = view.as_u128();
            if last.0 != view {
                last = (view, *known.entry(view).or_insert_with(|| interner.code(chunk.value(row))));
            }
            codes.push(last.1);
        }
    }
    Column::new(SqlType::Text, Values::codes(codes, Arc::new(interner.dictionary()))).with_valid(valid)
}

/// An answer as a frame.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn to_frame(answer: &Relation) -> Result<DataFrame> {
    let fields = answer.fields.iter().filter(|field| !field.hidden);
    let columns = fields.map(|field| Ok(to_polars(&field.name, &*field.data.get()?, answer.rows)));
    let columns = columns.collect::<Result<Vec<pl::Column>>>()?;
    DataFrame::new(answer.rows, columns).map_err(|e| Problem::Wrong(e.to_string()))
}

fn to_polars(name: &str, column: &Column, rows: usize) -> pl::Column {
    let column = column.full(rows);
    let is_valid = |row: &usize| column.is_valid(*row);
    macro_rules! some {
        ($of:expr) => {
            (0..rows).map(|row| is_valid(&row).then(|| $of(row)))
        };
    }
    // Ids keep the width that they are stored with; nothing that is computed has their kind.
    let made = match (&column.values, column.kind) {
        (_, SqlType::Null) => pl::Int64Chunked::from_iter((0..rows).map(|_| None::<i64>)).into_column(),
        (Values::Bool(values), _) => pl::BooleanChunked::from_iter(some!(|row: usize| values[row])).into_column(),
        (Values::Float(values), _) => pl::Float64Chunked::from_iter(some!(|row: usize| values[row])).into_column(),
        (Values::Wide(values), _) => pl::UInt64Chunked::from_iter(some!(|row: usize| values[row])).into_column(),
        (Values::Int(values), SqlType::Id) => {
            pl::UInt32Chunked::from_iter(some!(|row: usize| values[row] as u32)).into_column()
        }
        (Values::Int(values), SqlType::Id64) => {
            pl::UInt64Chunked::from_iter(some!(|row: usize| values[row] as u64)).into_column()
        }
        (Values::Int(values), _) => pl::Int64Chunked::from_iter(some!(|row: usize| values[row])).into_column(),
        (Values::Text(codes, dictionary), _) => {
            pl::StringChunked::from_iter(some!(|row: usize| dictionary.text(codes[row]))).into_column()
        }
    };
    made.with_name(pl::PlSmallStr::from(name))
}
