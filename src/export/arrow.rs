//! Arrow IPC, one file per table, written by Polars.

use super::flat::{self, Cell, FlatColumn, FlatType, Layout, Source};
use super::parquet::PARQUET;
use super::{Context, Exporter, folder};
use crate::error::{Error, Result};
use crate::trace::ordered::{Chunk, Piece};
use polars::prelude::*;
use polars_arrow::io::ipc::write::{Compression, FileWriter, WriteOptions};
use rayon::prelude::*;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use trace_format::columns::Values;
use trace_format::schema::{AnyColumn as _, ColumnType, TableSpec};
use trace_format::tables;
use trace_format::tables::column::{any, kernel};

/// The format.
pub static ARROW: Exporter = Exporter {
    name: "arrow",
    extension: "arrow",
    other_endings: &["ipc", "feather"],
    doc: "a folder with one Arrow IPC file per table: zstd, sorted by start",
    write: |context, destination| folder::write(context, destination, "arrow", write_table),
    ..PARQUET
};

/// Text as offsets and bytes: older readers do not know the newer layout.
const LEVEL: CompatLevel = CompatLevel::oldest();

type Writer = FileWriter<BufWriter<File>>;

/// Rows of a batch of records: many, so that readers can skip; few enough to hold.
const BATCH_ROWS: usize = 1 << 18;

fn write_table(context: &Context, path: &Path, table: &'static TableSpec) -> Result<()> {
    let layout = folder::layout(context, table);
    let file = File::create(path).map_err(|e| Error::at(path, format_args!("cannot be created: {e}")))?;
    let failed = |e: PolarsError| Error::at(path, format_args!("cannot be written: {e}"));
    let prepared = Prepared::new(context, &layout);
    let empty = to_frame(context, &layout, &prepared, &[]).map_err(failed)?;
    let mut writer = open(file, &empty, folder::metadata(context, &layout, table)).map_err(failed)?;
    let mut group = empty.clone();
    context.rows_in_order(&[table], |chunk: &Chunk| {
        let rows: Vec<(&Piece, usize)> = chunk.iter().collect();
        let frame = to_frame(context, &layout, &prepared, &rows).map_err(failed)?;
        group.vstack_mut(&frame).map_err(failed)?;
        if group.height() >= BATCH_ROWS {
            write_batch(&mut writer, std::mem::replace(&mut group, empty.clone())).map_err(failed)?;
        }
        Ok(())
    })?;
    if group.height() > 0 {
        write_batch(&mut writer, group).map_err(failed)?;
    }
    writer.finish().map_err(failed)
}

/// Begins a file with the columns of a frame and these pairs of metadata.
fn open(file: File, empty: &DataFrame, metadata: Vec<(String, String)>) -> PolarsResult<Writer> {
    let schema = Arc::new(empty.schema().to_arrow(LEVEL));
    let options = WriteOptions { compression: Some(Compression::ZSTD(Default::default())) };
    let mut writer = FileWriter::new(BufWriter::new(file), schema, None, options);
    let pairs = metadata.into_iter().map(|(key, value)| (key.into(), value.into()));
    writer.set_custom_schema_metadata(Arc::new(pairs.collect()));
    writer.start()?;
    Ok(writer)
}

fn write_batch(writer: &mut Writer, mut batch: DataFrame) -> PolarsResult<()> {
    batch.align_chunks_par();
    batch.iter_chunks(LEVEL, true).try_for_each(|batch| writer.write(&batch, None))
}

/// For columns that depend on one id alone: which column of the table holds it, and the values by id. Rows are then
/// gathered, which copies no text.
struct Prepared(Vec<Option<ById>>);

struct ById {
    column: usize,
    /// Whether the values are by the numbers of the kernels that shapes are of.
    of_kernels: bool,
    values: Series,
}

/// Shapes up to which their numbers are prepared. Of more, few come again.
const MOST_SHAPES: usize = 100_000;

impl Prepared {
    fn new(context: &Context, layout: &Layout) -> Prepared {
        let table = layout.tables[0];
        let (frames, labels) = (context.frames, context.labels);
        let text = |count: usize, of: &dyn Fn(u32) -> String| {
            let values = (0..count as u32).map(|id| Some(of(id)).filter(|text| !text.is_empty()));
            StringChunked::from_iter_options(PlSmallStr::EMPTY, values).into_series()
        };
        let of_ids = |column, values| Some(ById { column, of_kernels: false, values });
        let of = |column: &FlatColumn| match column.source(0) {
            Source::Shape(ids, field) if frames.shape_count() <= MOST_SHAPES => {
                let shapes = 0..frames.shape_count() as u32;
                let cells = shapes.map(|shape| flat::shape_cell(context, shape, field));
                of_ids(ids, computed(PlSmallStr::EMPTY, column.ty, cells))
            }
            Source::Label if table == &tables::KERNEL => {
                let kernels = frames.kernels();
                let values = text(kernels.len(), &|kernel| labels.name_of(kernels[kernel as usize]).to_owned());
                Some(ById { column: table.column_index(kernel::SHAPE_ID.name())?, of_kernels: true, values })
            }
            Source::Label if table == &tables::API => {
                let ids = table.column_index(any::NAME_ID.name())?;
                of_ids(ids, text(frames.names.len(), &|name| labels.api(name).to_owned()))
            }
            Source::Name(ids) => of_ids(ids, text(frames.names.len(), &|name| labels.text(name).to_owned())),
            _ => None,
        };
        Prepared(layout.columns.iter().map(of).collect())
    }
}

/// Rows of one table as a frame with the layout's columns, made by all threads.
fn to_frame(
    context: &Context,
    layout: &Layout,
    prepared: &Prepared,
    rows: &[(&Piece, usize)],
) -> PolarsResult<DataFrame> {
    let columns: Vec<Column> = layout
        .columns
        .par_iter()
        .zip(&prepared.0)
        .map(|(column, prepared)| {
            let source = column.source(0);
            let name = PlSmallStr::from_str(&column.name);
            if let Some(ById { column, of_kernels, values }) = prepared {
                let known = values.len() as u32;
                let ids = rows.iter().map(|(piece, i)| {
                    let column = &piece.rows.columns[*column];
                    let id = match &column.values {
                        Values::U32(ids) if !column.is_null(*i) => ids[*i],
                        _ => return None,
                    };
                    let id = if *of_kernels { context.frames.kernel_number(id)? } else { id };
                    (id < known).then_some(id)
                });
                return Ok(values.take(&ids.collect::<IdxCa>())?.with_name(name).into_column());
            }
            if let Source::Cell(index) = source
                && let Some(series) = stored(&name, layout.tables[0], index, rows)
            {
                return Ok(series.into_column());
            }
            let cells = rows.iter().map(|(piece, i)| flat::cell(context, piece, *i, source));
            Ok(computed(name, column.ty, cells).into_column())
        })
        .collect::<PolarsResult<_>>()?;
    DataFrame::new(rows.len(), columns)
}

/// A stored column of numbers, gathered without a detour; `None` for other types.
fn stored(name: &PlSmallStr, table: &TableSpec, index: usize, rows: &[(&Piece, usize)]) -> Option<Series> {
    macro_rules! gather {
        ($variant:ident, $ty:ty, $as:ty) => {{
            let cells = rows.iter().map(|(piece, i)| {
                let column = &piece.rows.columns[index];
                match &column.values {
                    Values::$variant(values) if !column.is_null(*i) => Some(values[*i] as $as),
                    _ => None,
                }
            });
            if table.columns[index].nullable {
                cells.collect::<ChunkedArray<$ty>>()
            } else {
                ChunkedArray::<$ty>::from_vec(PlSmallStr::EMPTY, cells.map(Option::unwrap_or_default).collect())
            }
        }};
    }
    let series = match table.columns[index].ty {
        ColumnType::U32 => gather!(U32, Int64Type, i64).into_series(),
        ColumnType::I64 => gather!(I64, Int64Type, i64).into_series(),
        ColumnType::U64 => gather!(U64, UInt64Type, u64).into_series(),
        ColumnType::F64 => gather!(F64, Float64Type, f64).into_series(),
        ColumnType::Bool | ColumnType::Bytes => return None,
    };
    Some(series.with_name(name.clone()))
}

fn computed<'a>(name: PlSmallStr, ty: FlatType, cells: impl Iterator<Item = Cell<'a>>) -> Series {
    match ty {
        FlatType::Text => {
            let texts: Vec<Option<std::borrow::Cow<'a, str>>> = cells
                .map(|cell| match cell {
                    Cell::Text(text) => Some(text),
                    _ => None,
                })
                .collect();
            StringChunked::from_iter_options(name, texts.into_iter()).into_series()
        }
        FlatType::Whole { unsigned: false } => {
            let values = cells.map(|cell| match cell {
                Cell::Whole(value) => i64::try_from(value).ok(),
                _ => None,
            });
            values.collect::<Int64Chunked>().with_name(name).into_series()
        }
        FlatType::Whole { unsigned: true } => {
            let values = cells.map(|cell| match cell {
                Cell::Whole(value) => u64::try_from(value).ok(),
                _ => None,
            });
            values.collect::<UInt64Chunked>().with_name(name).into_series()
        }
        FlatType::Real => {
            let values = cells.map(|cell| match cell {
                Cell::Real(value) => Some(value),
                Cell::Whole(value) => Some(value as f64),
                _ => None,
            });
            values.collect::<Float64Chunked>().with_name(name).into_series()
        }
        FlatType::Bool => {
            let values = cells.map(|cell| match cell {
                Cell::Bool(value) => Some(value),
                _ => None,
            });
            values.collect::<BooleanChunked>().with_name(name).into_series()
        }
        FlatType::Bytes => {
            let values = cells.map(|cell| match cell {
                Cell::Bytes(bytes) => Some(bytes),
                _ => None,
            });
            values.collect::<BinaryChunked>().with_name(name).into_series()
        }
    }
}
