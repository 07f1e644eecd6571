//! Tables of our Parquet and Arrow exports.

use super::{Declared, arrow_lengths, shape};
use crate::error::{Error, Result};
use crate::exchange::flat::name_column;
use crate::numbers::counted;
use crate::trace::batch;
use crate::trace::guard::decoded;
use crate::trace::parquet::{ParquetFile, Source};
use crate::trace::sink::{Detail, ProcessInfo, Sink};
use hashbrown::HashMap;
use polars::prelude::*;
use polars_arrow::io::ipc::read::{FileReader, read_file_metadata};
use rayon::prelude::*;
use std::fs::File;
use std::path::Path;
use trace_format::columns::{Batch, Column as Values_, Values};
use trace_format::schema::{ColumnSpec, ColumnType, Role, TableSpec};

/// Rows of a batch, as in a frame of the native format.
const BATCH_ROWS: usize = 65_536;

/// A table and those of its columns that are asked for.
#[derive(Clone, Copy)]
pub struct Wanted {
    table: &'static TableSpec,
    detail: Detail,
}

impl Wanted {
    /// What `detail` asks for of `table`.
    pub fn of(table: &'static TableSpec, detail: Detail) -> Wanted {
        Wanted { table, detail }
    }

    /// Whether a column of the table is asked for.
    fn takes(&self, spec: &ColumnSpec) -> bool {
        // When, and where: work of one stream does not overlap, which is looked at.
        let is_counted = spec.is_time() || matches!(spec.name, "duration_ns" | "device" | "context" | "stream");
        self.detail > Detail::Counts || self.table.role != Role::Activity || is_counted
    }

    /// The columns of a launch shape that are asked for.
    fn shape(&self) -> &'static [&'static str] {
        match self.detail {
            Detail::Counts => &[],
            Detail::Totals => &shape::COLUMNS[..shape::NAMES],
            Detail::Full => &shape::COLUMNS,
        }
    }

    /// The columns of a file that hold what is asked for. Beside them, exports have texts for people.
    fn columns(&self) -> Vec<&'static str> {
        let mut columns = vec!["process"];
        for spec in self.table.columns.iter().filter(|spec| self.takes(spec)) {
            match spec.unit {
                unit if unit.is_shape() => columns.extend(self.shape()),
                unit if unit.is_name() => columns.push(name_column(spec.name)),
                _ => columns.push(spec.name),
            }
        }
        columns
    }
}

/// Reads one table.
///
/// # Errors
/// Fails if a file cannot be opened or decoded.
pub fn read(path: &Path, wanted: Wanted, format: &str, sink: &mut Sink, declared: &mut Declared) -> Result<()> {
    let file = File::open(path).map_err(|e| Error::at(path, format_args!("cannot be opened: {e}")))?;
    let failed = |e: PolarsError| Error::at(path, format_args!("cannot be decoded: {e}")).remedy("export again");
    declared.has_table.push(wanted.table.id);
    // The decoders panic on some damaged files.
    decoded(|| {
        let mut each = |frame: DataFrame| take(&frame, wanted, sink, declared);
        let columns = wanted.columns();
        if format == "parquet" { parquet(file, &columns, &mut each) } else { arrow(file, &columns, &mut each) }
    })
    .map_err(failed)
}

/// Rows that a Parquet file may have however small it is, and rows for each of its bytes beyond. A few bytes can repeat a
/// value a billion times, but what was recorded differs: millions of regular launches take a byte for every few rows.
const MOST_ROWS: u64 = 20_000_000;
const MOST_ROWS_PER_BYTE: u64 = 64;

/// The rows that a file of so many bytes can have.
fn most_rows(bytes: u64) -> u64 {
    MOST_ROWS.saturating_add(bytes.saturating_mul(MOST_ROWS_PER_BYTE))
}

/// Hands every row group to `each`, its columns decoded on all threads. (While one is taken the next could be decoded: that was no faster.)
fn parquet(file: File, columns: &[&str], each: &mut dyn FnMut(DataFrame) -> PolarsResult<()>) -> PolarsResult<()> {
    let bytes = file.metadata()?.len();
    let file = ParquetFile::open(Source::File(file))?;
    let rows: u64 = file.group_rows().map(|rows| rows as u64).sum();
    polars_ensure!(
        rows <= most_rows(bytes),
        ComputeError: "{} are promised in {}, which no recording fits into", counted(rows, "row"), counted(bytes, "byte")
    );
    let names: Vec<&str> = file.columns().filter(|name| columns.contains(name)).collect();
    for (group, rows) in file.group_rows().enumerate() {
        let columns =
            names.par_iter().map(|name| decoded(|| file.decode(group, name))).collect::<PolarsResult<_>>()?;
        each(DataFrame::new(rows, columns)?)?;
    }
    Ok(())
}

/// Hands every batch of records to `each`.
fn arrow(
    mut file: File,
    columns: &[&str],
    each: &mut dyn FnMut(DataFrame) -> PolarsResult<()>,
) -> PolarsResult<()> {
    let metadata = read_file_metadata(&mut file)?;
    arrow_lengths::check(&file, &metadata, most_rows(file.metadata()?.len()))?;
    let places = metadata.schema.iter_names().enumerate().filter(|(_, name)| columns.contains(&name.as_str()));
    let places = places.map(|(place, _)| place).collect();
    FileReader::new(file, metadata, Some(places), None).try_for_each(|batch| each(DataFrame::from(batch?)))
}

/// Takes rows into the trace.
fn take(frame: &DataFrame, wanted: Wanted, sink: &mut Sink, declared: &mut Declared) -> PolarsResult<()> {
    for from in (0..frame.height()).step_by(BATCH_ROWS) {
        let block = frame.slice(from as i64, BATCH_ROWS.min(frame.height() - from));
        for (ordinal, rows) in by_process(&block)? {
            let process = declared.process(sink, ordinal, ProcessInfo::default);
            let batch = to_batch(wanted, &rows, sink)?;
            sink.keep(process, batch);
        }
    }
    Ok(())
}

/// The rows of each process, in their order. In an export of several processes their rows stand in the order of time, so
/// that a process changes from row to row.
fn by_process(block: &DataFrame) -> PolarsResult<Vec<(u32, DataFrame)>> {
    let mut places: Vec<(i64, Vec<IdxSize>)> = Vec::new();
    for (row, ordinal) in numbers(block, "process").into_iter().enumerate() {
        let ordinal = ordinal.unwrap_or(0);
        let known = places.iter_mut().rev().find(|(known, _)| *known == ordinal);
        match known {
            Some((_, rows)) => rows.push(row as IdxSize),
            None => places.push((ordinal, vec![row as IdxSize])),
        }
    }
    if let [(ordinal, _)] = places[..] {
        return Ok(vec![(ordinal as u32, block.clone())]);
    }
    let rows = |rows: Vec<IdxSize>| block.take(&IdxCa::from_vec("rows".into(), rows));
    places.into_iter().map(|(ordinal, places)| Ok((ordinal as u32, rows(places)?))).collect()
}

/// A column of whole numbers; all null if there is none.
fn numbers(frame: &DataFrame, name: &str) -> Vec<Option<i64>> {
    let column = frame.column(name).and_then(|column| column.cast(&DataType::Int64));
    match column.as_ref().map(Column::as_materialized_series) {
        Ok(series) => series.i64().map(|values| values.iter().collect()).unwrap_or_default(),
        Err(_) => vec![None; frame.height()],
    }
}

/// A column of names as ids; null and empty names are `None`.
fn names(frame: &DataFrame, name: &str, sink: &mut Sink) -> Vec<Option<u32>> {
    let Ok(column) = frame.column(name) else { return vec![None; frame.height()] };
    let Ok(texts) = column.as_materialized_series().str() else { return vec![None; frame.height()] };
    let mut known: HashMap<&str, u32> = HashMap::new();
    texts
        .iter()
        .map(|text| {
            let text = text.filter(|text| !text.is_empty())?;
            Some(*known.entry(text).or_insert_with(|| sink.name(text.as_bytes())))
        })
        .collect()
}

fn ids(cells: Vec<Option<u32>>, nullable: bool) -> Values_ {
    let validity =
        (nullable && cells.iter().any(Option::is_none)).then(|| cells.iter().map(Option::is_some).collect());
    Values_ { values: Values::U32(cells.into_iter().map(Option::unwrap_or_default).collect()), validity }
}

fn to_batch(wanted: Wanted, frame: &DataFrame, sink: &mut Sink) -> PolarsResult<Batch> {
    let table = wanted.table;
    let rows = frame.height();
    let mut columns = Vec::with_capacity(table.columns.len());
    for spec in table.columns {
        let column = match spec.unit {
            _ if !wanted.takes(spec) => Values_::nulls(spec.ty, rows),
            unit if unit.is_shape() => ids(shapes(frame, sink), false),
            unit if unit.is_name() => ids(names(frame, name_column(spec.name), sink), spec.nullable),
            _ => {
                let ty = match spec.ty {
                    ColumnType::U32 => DataType::UInt32,
                    ColumnType::U64 => DataType::UInt64,
                    ColumnType::I64 => DataType::Int64,
                    ColumnType::F64 => DataType::Float64,
                    ColumnType::Bool => DataType::Boolean,
                    ColumnType::Bytes => DataType::Binary,
                };
                let mut one = DataFrame::new(rows, Vec::new())?;
                if let Ok(column) = frame.column(spec.name) {
                    one.with_column(column.cast(&ty)?)?;
                    one.rechunk_mut();
                }
                batch::to_column(&one, spec, rows)?
            }
        };
        columns.push(if spec.nullable { column } else { Values_ { validity: None, ..column } });
    }
    let mut batch = Batch { table, rows, columns };
    super::forget_ends_of_marks(&mut batch);
    Ok(batch)
}

fn shapes(frame: &DataFrame, sink: &mut Sink) -> Vec<Option<u32>> {
    let (name_columns, number_columns) = shape::COLUMNS.split_at(shape::NAMES);
    let name_cells: Vec<_> = name_columns.iter().map(|name| names(frame, name, sink)).collect();
    let number_cells: Vec<_> = number_columns.iter().map(|name| numbers(frame, name)).collect();
    (0..frame.height())
        .map(|i| {
            let names = std::array::from_fn(|k| name_cells[k][i]);
            let numbers = std::array::from_fn(|k| number_cells[k][i]);
            Some(shape::intern(sink, names, numbers))
        })
        .collect()
}
