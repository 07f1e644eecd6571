//! Answers as Arrow files, for programs that take them into memory as they lie there: no compression, numbers as they are
//! stored, text as a number for each row and every distinct text once.

use super::convert;
use super::engine::column::{Column, SqlType, Values};
use super::engine::problem::{Problem, Result};
use super::engine::relation::Relation;
use super::source::{Numbered, Source, Trace};
use crate::error::{self, Error};
use polars::prelude::{CompatLevel, DataFrame, PlSmallStr, PolarsResult, StringChunked};
use polars_arrow::array::{Array, BooleanArray, DictionaryArray, PrimitiveArray, Utf8Array};
use polars_arrow::bitmap::Bitmap;
use polars_arrow::datatypes::{ArrowDataType, ArrowSchema, Field};
use polars_arrow::io::ipc::write::{FileWriter, WriteOptions};
use polars_arrow::record_batch::RecordBatchT;
use polars_arrow::types::NativeType;
use polars_buffer::Buffer;
use rayon::prelude::*;
use std::io::Write;
use std::sync::Arc;

/// Rows of a batch: readers look at all texts of a column once for each batch, so batches are large.
const BATCH_ROWS: usize = 1 << 20;

/// Where an answer is written.
pub type Out<'o> = dyn Write + Send + 'o;

/// Writes the answer of the engine, and counts its rows.
///
/// # Errors
/// Fails if a part of a file cannot be read, or if `out` cannot be written to.
pub fn write(answer: &Relation, out: &mut Out) -> Result<usize> {
    let rows = answer.rows;
    let fields: Vec<_> = answer.fields.iter().filter(|field| !field.hidden).collect();
    let read = fields.iter().map(|field| field.data.get()).collect::<Result<Vec<_>>>()?;
    let columns: PolarsResult<Vec<_>> = read.par_iter().map(|column| array(&column.full(rows), rows)).collect();
    let columns = columns.map_err(|e| Problem::Read(Box::new(failed(e))))?;
    let names = fields.iter().map(|field| &*field.name).collect::<Vec<&str>>();
    let mut file = ArrowFile { out: Some(out), ..ArrowFile::default() };
    let written = file.add(&names, columns).and_then(|()| file.finish());
    written.map_err(|e| Problem::Read(Box::new(failed(e))))
}

/// Writes columns of a source as they come out of the files, and counts their rows; `None`: the source has no pieces, and
/// nothing was written.
///
/// # Errors
/// Fails if a part of a file cannot be read, or if `out` cannot be written to.
pub fn write_pieces(
    source: &dyn Source,
    trace: &Trace,
    names: &[&str],
    out: &mut Out,
) -> error::Result<Option<usize>> {
    let mut file = ArrowFile { out: Some(out), ..ArrowFile::default() };
    // All pieces have the same texts.
    let mut texts: Vec<Option<Box<dyn Array>>> = Vec::new();
    let has_pieces = source.read_pieces(trace, names, &mut |frame, numbered| {
        if texts.is_empty() {
            texts = names.iter().map(|name| texts_of(name, &numbered)).collect();
        }
        let columns = piece(frame, names, &texts).map_err(failed)?;
        file.add(names, columns).map_err(failed)
    })?;
    has_pieces.then(|| file.finish().map_err(failed)).transpose()
}

fn failed(error: polars::prelude::PolarsError) -> Error {
    Error::new(format!("the answer cannot be written as Arrow: {error}"))
}

/// A file that is being written; what its columns are the first batch says.
#[derive(Default)]
struct ArrowFile<'o, 'w> {
    out: Option<&'o mut Out<'w>>,
    file: Option<(FileWriter<&'o mut Out<'w>>, Arc<ArrowSchema>)>,
    rows: usize,
}

impl ArrowFile<'_, '_> {
    fn add(&mut self, names: &[&str], columns: Vec<Box<dyn Array>>) -> PolarsResult<()> {
        if let Some(out) = self.out.take() {
            let fields = names.iter().zip(&columns).map(|(name, column)| {
                let name = PlSmallStr::from_str(name);
                (name.clone(), Field::new(name, column.dtype().clone(), true))
            });
            let schema = Arc::new(fields.collect::<ArrowSchema>());
            let options = WriteOptions { compression: None };
            self.file = Some((FileWriter::try_new(out, Arc::clone(&schema), None, options)?, schema));
        }
        let Some((file, schema)) = &mut self.file else { return Ok(()) };
        let rows = columns.first().map_or(0, |column| column.len());
        for from in (0..rows).step_by(BATCH_ROWS) {
            let rows = BATCH_ROWS.min(rows - from);
            let columns = columns.iter().map(|column| column.sliced(from, rows)).collect();
            file.write(&RecordBatchT::try_new(rows, Arc::clone(schema), columns)?, None)?;
        }
        self.rows += rows;
        Ok(())
    }

    /// Ends the file; the number of its rows.
    fn finish(&mut self) -> PolarsResult<usize> {
        if let Some((file, _)) = &mut self.file {
            file.finish()?;
        }
        Ok(self.rows)
    }
}

/// The texts of a column, if it has numbers for them.
fn texts_of(name: &str, numbered: &[Numbered]) -> Option<Box<dyn Array>> {
    let Numbered { texts, .. } = numbered.iter().find(|numbered| numbered.name == name)?;
    Some(large_texts(texts))
}

fn large_texts(texts: &StringChunked) -> Box<dyn Array> {
    // A column without names has no text; the number of what is NULL is 0 all the same.
    let texts: Utf8Array<i64> = match texts.is_empty() {
        true => [Some("")].into_iter().collect(),
        false => texts.iter().collect(),
    };
    texts.boxed()
}

/// The columns of a piece, each in one array.
fn piece(frame: DataFrame, names: &[&str], texts: &[Option<Box<dyn Array>>]) -> PolarsResult<Vec<Box<dyn Array>>> {
    let columns = names.iter().map(|name| frame.column(name).cloned()).collect::<PolarsResult<Vec<_>>>()?;
    let one = |(column, texts): (polars::prelude::Column, &Option<Box<dyn Array>>)| {
        if let Some(texts) = texts {
            let (codes, valid) = convert::numbers(column.u32()?, |code| code as i32);
            return dictionary(codes.into(), valid.map(Bitmap::from_iter), texts.clone());
        }
        let series = column.take_materialized_series().rechunk();
        Ok(series.chunks().first().map_or_else(
            || polars_arrow::array::new_empty_array(series.dtype().to_arrow(CompatLevel::oldest())),
            |array| array.clone(),
        ))
    };
    columns.into_par_iter().zip(texts).map(one).collect()
}

/// The values of a shared vector, without a copy.
struct Shared<T>(Arc<Vec<T>>);

impl<T> AsRef<[T]> for Shared<T> {
    fn as_ref(&self) -> &[T] {
        &self.0
    }
}

fn array(column: &Column, rows: usize) -> PolarsResult<Box<dyn Array>> {
    let valid = match (&column.valid, column.kind) {
        (_, SqlType::Null) => Some(Bitmap::new_zeroed(rows)),
        (Some(valid), _) => Some(Bitmap::from_iter(valid.iter().copied())),
        (None, _) => None,
    };
    // Ids keep the width that they are stored with; nothing that is computed has their kind.
    Ok(match (&column.values, column.kind) {
        (Values::Bool(values), _) => {
            let values = Bitmap::from_iter(values.iter().copied());
            BooleanArray::try_new(ArrowDataType::Boolean, values, valid)?.boxed()
        }
        (Values::Float(values), _) => numbers(shared(values), valid)?,
        (Values::Wide(values), _) => numbers(shared(values), valid)?,
        (Values::Int(values), SqlType::Id) => {
            numbers(values.iter().map(|&value| value as u32).collect::<Buffer<u32>>(), valid)?
        }
        (Values::Int(values), SqlType::Id64) => {
            numbers(values.iter().map(|&value| value as u64).collect::<Buffer<u64>>(), valid)?
        }
        (Values::Int(values), _) => numbers(shared(values), valid)?,
        (Values::Text(codes, words), _) => {
            let codes = codes.iter().map(|&code| code as i32).collect::<Buffer<i32>>();
            let texts: Utf8Array<i64> = words.iter().map(Some).collect();
            dictionary(codes, valid, texts.boxed())?
        }
    })
}

/// Codes are signed, because pandas has no others; texts have 64-bit offsets, which every reader knows.
fn dictionary(codes: Buffer<i32>, valid: Option<Bitmap>, texts: Box<dyn Array>) -> PolarsResult<Box<dyn Array>> {
    let keys = PrimitiveArray::try_new(i32::PRIMITIVE.into(), codes, valid)?;
    Ok(DictionaryArray::try_from_keys(keys, texts, false)?.boxed())
}

fn shared<T: Send + Sync + 'static>(values: &Arc<Vec<T>>) -> Buffer<T> {
    Buffer::from_owner(Shared(Arc::clone(values)))
}

fn numbers<T: NativeType>(values: Buffer<T>, valid: Option<Bitmap>) -> PolarsResult<Box<dyn Array>> {
    Ok(PrimitiveArray::try_new(T::PRIMITIVE.into(), values, valid)?.boxed())
}
