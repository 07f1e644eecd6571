//! Answers as Arrow files, for programs that take them into memory as they lie there: no compression, numbers as the
//! engine holds them, text as a number for each row and every distinct text once.

use super::engine::column::{Column, SqlType, Values};
use super::engine::problem::{Problem, Result};
use super::engine::relation::Relation;
use crate::error::{self, Error};
use polars::prelude::{PlSmallStr, PolarsResult};
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

/// Rows of a batch: few enough to be copied while they are in the processor's memory, many enough to be few batches.
const BATCH_ROWS: usize = 1 << 18;

/// An answer, ready to be written.
pub struct ArrowAnswer {
    schema: ArrowSchema,
    columns: Vec<Box<dyn Array>>,
    rows: usize,
}

impl ArrowAnswer {
    /// Takes the columns of an answer over.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub(super) fn new(answer: &Relation) -> Result<ArrowAnswer> {
        let rows = answer.rows;
        let fields: Vec<_> = answer.fields.iter().filter(|field| !field.hidden).collect();
        let read = fields.iter().map(|field| field.data.get()).collect::<Result<Vec<_>>>()?;
        let columns: Vec<Box<dyn Array>> = read
            .par_iter()
            .map(|column| array(&column.full(rows), rows))
            .collect::<PolarsResult<_>>()
            .map_err(|e| Problem::Wrong(e.to_string()))?;
        let schema = fields.iter().zip(&columns).map(|(field, column)| {
            let name: PlSmallStr = (&*field.name).into();
            (name.clone(), Field::new(name, column.dtype().clone(), true))
        });
        Ok(ArrowAnswer { schema: schema.collect(), columns, rows })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Writes an Arrow IPC file.
    ///
    /// # Errors
    /// Fails if `out` cannot be written to.
    pub fn write(&self, out: &mut dyn Write) -> error::Result<()> {
        self.write_batches(out).map_err(|e| Error::new(format!("the answer cannot be written as Arrow: {e}")))
    }

    fn write_batches(&self, out: &mut dyn Write) -> PolarsResult<()> {
        let schema = Arc::new(self.schema.clone());
        let mut file = FileWriter::try_new(out, Arc::clone(&schema), None, WriteOptions { compression: None })?;
        for from in (0..self.rows).step_by(BATCH_ROWS) {
            let rows = BATCH_ROWS.min(self.rows - from);
            let columns = self.columns.iter().map(|column| column.sliced(from, rows)).collect();
            file.write(&RecordBatchT::try_new(rows, Arc::clone(&schema), columns)?, None)?;
        }
        file.finish()
    }
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
        (Values::Text(codes, dictionary), _) => {
            // Signed: pandas has no others. Text with 64-bit offsets, which every reader knows.
            let codes = codes.iter().map(|&code| code as i32).collect::<Buffer<i32>>();
            let keys = PrimitiveArray::try_new(i32::PRIMITIVE.into(), codes, valid)?;
            let texts: Utf8Array<i64> = dictionary.iter().map(Some).collect();
            DictionaryArray::try_from_keys(keys, texts.boxed(), false)?.boxed()
        }
    })
}

fn shared<T: Send + Sync + 'static>(values: &Arc<Vec<T>>) -> Buffer<T> {
    Buffer::from_owner(Shared(Arc::clone(values)))
}

fn numbers<T: NativeType>(values: Buffer<T>, valid: Option<Bitmap>) -> PolarsResult<Box<dyn Array>> {
    Ok(PrimitiveArray::try_new(T::PRIMITIVE.into(), values, valid)?.boxed())
}
