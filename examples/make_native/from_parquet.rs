//! The benchmark's Parquet traces, row by row.
//!
//! This build of the Parquet library has no codecs, and asking for them here would put them into every program of the
//! workspace (features unite). `benches/uncompressed.py` therefore rewrites such a file first.

use crate::Result;
use crate::recording::{CALLS, PID, Recording};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use trace_format::tables::{ApiRow, KernelRow, MemcpyRow, MemsetRow, ShapeRow};

/// Launch sizes kept apart per kernel. The generator rolls a new grid for every launch; programs repeat theirs.
const GRIDS: i64 = 4;

/// All values of one column of a row group, in row order.
fn column<T: DataType>(group: &dyn RowGroupReader, name: &str) -> Result<Vec<Option<T::T>>> {
    let schema = group.metadata().schema_descr();
    let found = (0..schema.num_columns()).find(|&i| schema.column(i).name() == name);
    let Some(i) = found else { return Err(format!("there is no column {name}").into()) };
    let rows = group.metadata().num_rows() as usize;
    let nullable = schema.column(i).max_def_level() > 0;
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(i)?);
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut read = 0;
    while read < rows {
        let levels = if nullable { Some(&mut levels) } else { None };
        let (records, ..) = reader.read_records(rows - read, levels, None, &mut values)?;
        if records == 0 {
            return Err(format!("column {name} ends after {read} of {rows} rows").into());
        }
        read += records;
    }
    let mut values = values.into_iter();
    Ok(if nullable {
        levels.iter().map(|&level| if level > 0 { values.next() } else { None }).collect()
    } else {
        values.map(Some).collect()
    })
}

/// What is known of one name once it has been met.
#[derive(Clone, Copy)]
struct Known {
    id: u32,
    line: usize,
    domain: u32,
    cbid: u32,
}

/// Copies all rows of the file at `path` into `to`.
pub fn convert(path: &Path, to: &mut Recording) -> Result {
    let file = SerializedFileReader::new(File::open(path)?)?;
    let mut known: HashMap<Vec<u8>, Known> = HashMap::new();
    let mut key = Vec::new();
    for g in 0..file.num_row_groups() {
        let group = file.get_row_group(g)?;
        let group = group.as_ref();
        let (kinds, names) = (column::<ByteArrayType>(group, "kind")?, column::<ByteArrayType>(group, "name")?);
        let (starts, ends) = (column::<Int64Type>(group, "start")?, column::<Int64Type>(group, "end")?);
        let correlations = column::<Int64Type>(group, "correlation")?;
        let (devices, streams) = (column::<Int32Type>(group, "device")?, column::<Int32Type>(group, "stream")?);
        let sizes = column::<Int64Type>(group, "bytes")?;
        let (grids, blocks) = (column::<Int32Type>(group, "grid_x")?, column::<Int32Type>(group, "block_x")?);
        for i in 0..starts.len() {
            let (Some(kind), Some(name)) = (&kinds[i], &names[i]) else { continue };
            let (start_ns, end_ns) = (starts[i].unwrap_or(0), ends[i].unwrap_or(0));
            let (duration, duration_ns) = (end_ns - start_ns, Some(end_ns - start_ns));
            let correlation = correlations[i].unwrap_or(0) as u64;
            let device = devices[i].unwrap_or(0) as u32;
            let (context, stream) = (device + 1, streams[i].unwrap_or(0) as u32);
            let bytes = sizes[i].unwrap_or(0);
            key.clear();
            key.extend_from_slice(kind.data());
            key.extend_from_slice(name.data());
            let at = match known.get(&key) {
                Some(at) => *at,
                None => {
                    let at = meet(to, kind.data(), name.data());
                    known.insert(key.clone(), at);
                    at
                }
            };
            match kind.data() {
                b"api" => {
                    let (tid, result) = (PID + device, Some(0));
                    let Known { id: name_id, domain, cbid, .. } = at;
                    to.call(ApiRow { start_ns, duration_ns, domain, cbid, name_id, tid, correlation, result })?;
                }
                b"kernel" => {
                    let (grid, block) = (i64::from(grids[i].unwrap_or(0)), i64::from(blocks[i].unwrap_or(0)));
                    let shape_id = to.shape(ShapeRow {
                        name_id: at.id,
                        grid_x: Some(1 + grid % GRIDS * 132),
                        grid_y: Some(1),
                        grid_z: Some(1),
                        block_x: Some(if block > 128 { 256 } else { 128 }),
                        block_y: Some(1),
                        block_z: Some(1),
                        ..Default::default()
                    });
                    to.kernel(KernelRow {
                        start_ns,
                        duration_ns,
                        shape_id,
                        device,
                        context,
                        stream,
                        correlation,
                        ..Default::default()
                    })?;
                }
                b"memset" => {
                    to.fill(MemsetRow {
                        start_ns,
                        duration_ns,
                        bytes,
                        mem_kind: 3,
                        device,
                        context,
                        stream,
                        correlation,
                        ..Default::default()
                    })?;
                }
                _ => {
                    let (kind, src_kind, dst_kind) = match name.data() {
                        n if n.ends_with(b"HtoD]") => (1, 1, 3),
                        n if n.ends_with(b"DtoH]") => (2, 3, 1),
                        _ => (8, 3, 3),
                    };
                    to.copy(MemcpyRow {
                        start_ns,
                        duration_ns,
                        kind,
                        src_kind,
                        dst_kind,
                        bytes,
                        device,
                        context,
                        stream,
                        correlation,
                        ..Default::default()
                    })?;
                }
            }
            if let (Some(lines), true) = (&mut to.lines, at.line != usize::MAX) {
                lines.add(at.line, duration);
            }
        }
    }
    Ok(())
}

fn meet(to: &mut Recording, kind: &[u8], name: &[u8]) -> Known {
    let text = String::from_utf8_lossy(name);
    let mut line = |kind| to.lines.as_mut().map_or(usize::MAX, |lines| lines.id(kind, &text));
    match kind {
        b"api" => {
            let line = line("api");
            // The trace gives names as programs write them; recordings have the callback's.
            let call = CALLS.iter().find(|call| call.plain_name() == text);
            let (domain, cbid) = call.map_or((0, 0), |call| (call.domain, call.cbid));
            Known { id: to.name(call.map_or(name, |call| call.name.as_bytes())), line, domain, cbid }
        }
        b"kernel" => Known { line: line("kernel"), id: to.name(name), domain: 0, cbid: 0 },
        _ => Known { id: 0, line: usize::MAX, domain: 0, cbid: 0 },
    }
}
