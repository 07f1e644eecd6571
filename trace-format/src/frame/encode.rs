//! Rows to payload: a complete little Parquet file, so that any reader of Parquet opens a frame cut out of a trace.

mod chunk;

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding as ParquetEncoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnDescPtr, ColumnPath, Type, TypePtr};

use crate::columns::{Batch, Column, Values};
use crate::pages::Number;
use crate::schema::{ColumnSpec, ColumnType, Encoding, TableSpec};
use chunk::{Chunk, Way};

/// Why a batch could not become a payload.
#[derive(Debug)]
pub enum EncodeError {
    /// The batch does not fit its table's registry entry.
    Batch {
        /// Table name.
        table: &'static str,
        /// Column name.
        column: &'static str,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The Parquet library refused; not known to happen with a checked batch.
    Parquet {
        /// Table name.
        table: &'static str,
        /// The library's own words.
        source: ParquetError,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::Batch { table, column, what } => {
                write!(f, "a batch of table {table} cannot be written: column {column}: {what}")
            }
            EncodeError::Parquet { table, source } => {
                write!(f, "a batch of table {table} cannot be encoded: {source}")
            }
        }
    }
}

impl std::error::Error for EncodeError {}

/// How one column of one batch is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Layout {
    /// Every row is null: not in the payload at all.
    Absent,
    /// Values may be null, so that definition levels say which are there.
    Optional,
    /// Without nulls.
    Required,
    /// Without nulls and one value in all rows.
    Constant,
}

/// Most combinations of layouts whose Parquet schema is kept. A run settles on one or two per table.
const MAX_PLANS: usize = 256;

/// Encodes batches, keeping schemas and scratch memory from one to the next.
#[derive(Default)]
pub struct Encoder {
    plans: HashMap<(u16, Vec<Layout>), Plan>,
    scratch: Scratch,
}

#[derive(Clone)]
struct Plan {
    schema: TypePtr,
    properties: WriterPropertiesPtr,
}

#[derive(Default)]
struct Scratch {
    chunk: Chunk,
    levels: Vec<i16>,
    u32s: Vec<u32>,
    u64s: Vec<u64>,
    i64s: Vec<i64>,
    f64s: Vec<f64>,
    bools: Vec<bool>,
    bytes: Vec<ByteArray>,
}

/// Appends the payload for `batch` to `out`.
///
/// Errors: the batch does not fit the registry; `out` is then as it was.
pub fn encode(batch: &Batch, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    Encoder::default().encode(batch, 0..batch.rows, out)
}

impl Encoder {
    /// Appends the payload for some rows of `batch` to `out`.
    ///
    /// Errors: the batch does not fit the registry, or the range its rows; `out` is then as it was.
    pub fn encode(&mut self, batch: &Batch, rows: Range<usize>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let table = batch.table;
        batch.check().map_err(|(column, what)| EncodeError::Batch { table: table.name, column, what })?;
        if table.columns.is_empty() || rows.start > rows.end || rows.end > batch.rows {
            let what = "there are no such rows";
            return Err(EncodeError::Batch { table: table.name, column: "(all)", what });
        }
        let start = out.len();
        let written = self.write(batch, rows, out);
        if written.is_err() {
            out.truncate(start);
        }
        written.map_err(|source| EncodeError::Parquet { table: table.name, source })
    }

    fn write(&mut self, batch: &Batch, rows: Range<usize>, out: &mut Vec<u8>) -> Result<(), ParquetError> {
        let mut layouts: Vec<Layout> = batch.columns.iter().map(|c| layout(c, rows.clone())).collect();
        if layouts.iter().all(|&l| l == Layout::Absent) {
            // A file without columns would not say how many rows it has.
            layouts[0] = Layout::Optional;
        }
        let Plan { schema, properties } = self.plan(batch.table, &layouts)?;
        let mut file = SerializedFileWriter::new(out, schema, properties)?;
        let descriptors = file.schema_descr().columns().to_vec();
        let mut group = file.next_row_group()?;
        let specs = batch.table.columns.iter().zip(&batch.columns).zip(&layouts);
        let present = specs.filter(|(_, layout)| **layout != Layout::Absent);
        for (((spec, column), &layout), descriptor) in present.zip(descriptors) {
            let validity = column.validity.as_deref().filter(|_| layout == Layout::Optional);
            let validity = validity.map(|v| &v[rows.clone()]);
            let way = match spec.encoding {
                Encoding::Plain => Way::Plain,
                // Differences of zero are as small as a dictionary of one value.
                _ if layout == Layout::Constant => Way::Constant,
                Encoding::Dictionary => Way::Dictionary,
                Encoding::Delta => Way::Delta,
            };
            self.scratch.write(&mut group, &column.values, validity, rows.clone(), way, descriptor)?;
        }
        group.close()?;
        file.close().map(|_| ())
    }

    fn plan(&mut self, table: &'static TableSpec, layouts: &[Layout]) -> Result<Plan, ParquetError> {
        let key = (table.id, layouts.to_vec());
        if let Some(plan) = self.plans.get(&key) {
            return Ok(plan.clone());
        }
        let plan = Plan::new(table, layouts)?;
        if self.plans.len() >= MAX_PLANS {
            self.plans.clear();
        }
        self.plans.insert(key, plan.clone());
        Ok(plan)
    }
}

fn layout(column: &Column, rows: Range<usize>) -> Layout {
    if let Some(validity) = &column.validity {
        let validity = &validity[rows.clone()];
        let valid = validity.iter().filter(|&&v| v).count();
        if valid == 0 && !rows.is_empty() {
            return Layout::Absent;
        }
        if valid < validity.len() {
            return Layout::Optional;
        }
    }
    let constant = match &column.values {
        Values::U32(v) => all_equal(&v[rows]),
        Values::U64(v) => all_equal(&v[rows]),
        Values::I64(v) => all_equal(&v[rows]),
        Values::F64(_) | Values::Bool(_) | Values::Bytes(_) => false,
    };
    if constant { Layout::Constant } else { Layout::Required }
}

fn all_equal<T: PartialEq>(values: &[T]) -> bool {
    values.first().is_none_or(|first| values.iter().all(|v| v == first))
}

impl Plan {
    fn new(table: &TableSpec, layouts: &[Layout]) -> Result<Plan, ParquetError> {
        let mut properties = WriterProperties::builder()
            // Pages of version 1 because every reader has them; version 2 gains nothing without a codec.
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_created_by("gpuprof".into())
            .set_compression(Compression::UNCOMPRESSED)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true)
            // One page per column: a frame is read whole or not at all.
            .set_data_page_row_count_limit(usize::MAX)
            .set_data_page_size_limit(super::MAX_PAYLOAD_BYTES)
            .set_dictionary_enabled(false);
        let mut fields = Vec::with_capacity(layouts.len());
        for (spec, &layout) in table.columns.iter().zip(layouts) {
            if layout == Layout::Absent {
                continue;
            }
            fields.push(Arc::new(field(spec, layout)?));
            let encoding = match spec.ty {
                ColumnType::Bytes => ParquetEncoding::DELTA_LENGTH_BYTE_ARRAY,
                ColumnType::F64 | ColumnType::Bool => ParquetEncoding::PLAIN,
                // The library does not write columns of this type.
                ColumnType::U32 | ColumnType::U64 | ColumnType::I64 => continue,
            };
            properties = properties.set_column_encoding(ColumnPath::from(spec.name), encoding);
        }
        let schema = Type::group_type_builder(table.name).with_fields(fields).build()?;
        Ok(Plan { schema: Arc::new(schema), properties: Arc::new(properties.build()) })
    }
}

fn field(spec: &ColumnSpec, layout: Layout) -> Result<Type, ParquetError> {
    let (physical, logical) = match spec.ty {
        ColumnType::U32 => (Physical::INT32, Some(LogicalType::integer(32, false))),
        ColumnType::U64 => (Physical::INT64, Some(LogicalType::integer(64, false))),
        ColumnType::I64 => (Physical::INT64, None),
        ColumnType::F64 => (Physical::DOUBLE, None),
        ColumnType::Bool => (Physical::BOOLEAN, None),
        ColumnType::Bytes => (Physical::BYTE_ARRAY, None),
    };
    let repetition = if layout == Layout::Optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    Type::primitive_type_builder(spec.name, physical).with_repetition(repetition).with_logical_type(logical).build()
}

impl Scratch {
    /// Writes some rows of one column; `validity` is given, of these rows, where the column is OPTIONAL in this payload.
    fn write(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
        values: &Values,
        validity: Option<&[bool]>,
        rows: Range<usize>,
        way: Way,
        descriptor: ColumnDescPtr,
    ) -> Result<(), ParquetError> {
        let Scratch { chunk, u32s, u64s, i64s, .. } = self;
        let closed = match values {
            Values::U32(v) => chunk.fill(present(&v[rows], validity, u32s), validity, way, descriptor)?,
            Values::U64(v) => chunk.fill(present(&v[rows], validity, u64s), validity, way, descriptor)?,
            Values::I64(v) => chunk.fill(present(&v[rows], validity, i64s), validity, way, descriptor)?,
            Values::F64(_) | Values::Bool(_) | Values::Bytes(_) => {
                return self.write_others(group, values, validity, rows);
            }
        };
        group.append_column(&chunk.reader(), closed)
    }

    /// Writes what has no encoding of ours.
    fn write_others(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
        values: &Values,
        validity: Option<&[bool]>,
        rows: Range<usize>,
    ) -> Result<(), ParquetError> {
        let Some(mut writer) = group.next_column()? else {
            return Err(ParquetError::General("schema and batch disagree".into()));
        };
        let levels = validity.map(|v| {
            gather(&mut self.levels, v, None, |&valid| i16::from(valid));
            self.levels.as_slice()
        });
        match values {
            Values::U32(_) | Values::U64(_) | Values::I64(_) => {}
            Values::F64(v) => {
                gather(&mut self.f64s, &v[rows], validity, |&v| v);
                writer.typed::<DoubleType>().write_batch(&self.f64s, levels, None)?;
            }
            Values::Bool(v) => {
                gather(&mut self.bools, &v[rows], validity, |&v| v);
                writer.typed::<BoolType>().write_batch(&self.bools, levels, None)?;
            }
            Values::Bytes(v) => {
                // One copy of all the bytes, then one handle per value: the library wants its values owned.
                let base = v.offsets[rows.start];
                let data = Bytes::copy_from_slice(&v.data[base..v.offsets[rows.end]]);
                let ends = &v.offsets[rows.start + 1..=rows.end];
                let starts = v.offsets[rows].iter();
                let spans: Vec<Range<usize>> = starts.zip(ends).map(|(s, e)| s - base..e - base).collect();
                gather(&mut self.bytes, &spans, validity, |span| ByteArray::from(data.slice(span.clone())));
                writer.typed::<ByteArrayType>().write_batch(&self.bytes, levels, None)?;
                // The handles keep `data` alive.
                self.bytes.clear();
            }
        }
        writer.close()
    }
}

/// The values of rows that are not null.
fn present<'a, N: Number>(values: &'a [N], validity: Option<&[bool]>, scratch: &'a mut Vec<N>) -> &'a [N] {
    if validity.is_none() {
        return values;
    }
    gather(scratch, values, validity, |&value| value);
    scratch
}

/// Fills `scratch` with the values of rows that are not null, as the library wants them.
fn gather<T, U>(scratch: &mut Vec<U>, values: &[T], validity: Option<&[bool]>, convert: impl Fn(&T) -> U) {
    scratch.clear();
    match validity {
        None => scratch.extend(values.iter().map(convert)),
        Some(valid) => {
            scratch.extend(values.iter().zip(valid).filter(|(_, valid)| **valid).map(|(v, _)| convert(v)))
        }
    }
}
