//! Parquet, one file per table: for pandas, DuckDB, Spark, Polars and whatever else reads columns.
//!
//! Rows arrive in order of time, a chunk at a time ([`crate::trace::ordered`]); every column copies its values out of
//! them (`column`). Once there are enough for a row group, every column becomes a chunk of pages (`chunk`), and the
//! Parquet library writes what stands around them. Both steps run on all threads, one column each. The encodings are
//! those of our own frames ([`trace_format::pages`]): a general writer hashes every text of every row, where we know
//! the few shapes and names that the texts come from.

pub mod answer;
mod buffer;
mod chunk;
mod column;
mod schema;

use super::{Context, Exporter, KeptTables, Shape, folder};
use crate::error::{Error, Result};
use crate::trace::ordered::Chunk;
use crate::trace::sink::Need;
use chunk::Laid;
use column::{ColumnWriter, Run};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use rayon::prelude::*;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use trace_format::pages;
use trace_format::schema::TableSpec;

const OPTIONS: &[(&str, &str)] =
    &[("partition", "one file per process in folders key=value: run, host, rank, pid, several with commas")];

/// The format.
pub static PARQUET: Exporter = Exporter {
    name: "parquet",
    extension: "parquet",
    other_endings: &["pq"],
    binary: true,
    doc: "a folder with one Parquet file per table: zstd, statistics, sorted by start",
    shape: Shape::Folder,
    need: Need::all,
    options: OPTIONS,
    keeps: KeptTables::EVERYTHING,
    write: |context, destination| folder::write(context, destination, "parquet", write_table),
};

/// Rows of a row group: many, so that readers can skip and pages are worth compressing; few enough to hold.
const GROUP_ROWS: usize = 1 << 18;
/// Text of a column that ends a row group early.
const GROUP_TEXT_BYTES: usize = 64 << 20;
/// Rows taken at once: names have 64 KiB at most, so a page stays below the 2 GiB that its header can say.
const STEP_ROWS: usize = 1 << 14;

fn write_table(context: &Context, path: &Path, table: &'static TableSpec) -> Result<()> {
    let layout = folder::layout(context, table);
    let file = File::create(path).map_err(|e| Error::at(path, format_args!("cannot be created: {e}")))?;
    let failed = |e: ParquetError| Error::at(path, format_args!("cannot be written: {e}"));
    let properties = properties(folder::metadata(context, &layout, table));
    let schema = Arc::new(schema::of(&layout, table).map_err(failed)?);
    let mut file = SerializedFileWriter::new(BufWriter::new(file), schema, Arc::new(properties)).map_err(failed)?;
    let mut columns: Vec<ColumnWriter> = layout.columns.iter().map(|c| ColumnWriter::new(c, table)).collect();
    let mut rows = 0;
    context.rows_in_order(&[table], |chunk: &Chunk| {
        for order in chunk.order.chunks(STEP_ROWS) {
            let runs = Run::of(order);
            columns.par_iter_mut().for_each(|column| column.take(context, chunk, &runs));
            rows += order.len();
            if rows >= GROUP_ROWS || columns.iter().any(|column| column.text_bytes() >= GROUP_TEXT_BYTES) {
                write_group(&mut file, &mut columns).map_err(failed)?;
                rows = 0;
            }
        }
        Ok(())
    })?;
    if rows > 0 {
        write_group(&mut file, &mut columns).map_err(failed)?;
    }
    file.close().map_err(failed)?;
    Ok(())
}

/// How our files are written, with these pairs of metadata.
fn properties(metadata: Vec<(String, String)>) -> WriterProperties {
    let pairs = metadata.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect::<Vec<_>>();
    WriterProperties::builder()
        // Pages of version 1: every reader has them.
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by(concat!("gpuprof ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(pairs).filter(|pairs| !pairs.is_empty()))
        .build()
}

/// Writes what the columns hold as one row group, and empties them.
fn write_group(
    file: &mut SerializedFileWriter<BufWriter<File>>,
    columns: &mut [ColumnWriter],
) -> ParquetResult<()> {
    let descriptors = file.schema_descr().columns().to_vec();
    let laid: Vec<Laid> = columns
        .par_iter_mut()
        .zip(descriptors)
        .map(|(column, descriptor)| column.lay_out(descriptor))
        .collect::<ParquetResult<_>>()?;
    write_columns(file, laid)
}

/// Writes one row group.
fn write_columns<W: Write + Send>(file: &mut SerializedFileWriter<W>, columns: Vec<Laid>) -> ParquetResult<()> {
    let mut group = file.next_row_group()?;
    for column in columns {
        group.append_column(&pages::Laid(&column.bytes), column.close)?;
    }
    group.close().map(drop)
}
