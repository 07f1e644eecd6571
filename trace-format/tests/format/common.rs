//! Small traces made from a seed, and what is asked of them again and again.
#![allow(unreachable_pub)]

use serde_json::json;
use trace_format::columns::{Batch, BytesColumn, Column, Values};
use trace_format::frame::FrameInfo;
use trace_format::header::FileHeader;
use trace_format::read::{Source, TraceReader};
use trace_format::schema::{ColumnType, Role, RowBuilder, TableSpec};
use trace_format::tables::{self, *};
use trace_format::write::{TraceWriter, WriteOptions};

/// Splitmix64: the same numbers on every machine, for ever.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
}

/// Rows of any table, nulls where they are allowed.
pub fn random_batch(table: &'static TableSpec, rows: usize, random: &mut Random) -> Batch {
    let columns = table.columns.iter().map(|spec| {
        let values = match spec.ty {
            ColumnType::U32 => Values::U32((0..rows).map(|_| random.below(50) as u32).collect()),
            ColumnType::U64 => Values::U64((0..rows).map(|_| random.next()).collect()),
            ColumnType::I64 => {
                Values::I64((0..rows).map(|i| 1_000 * i as i64 + random.below(999) as i64).collect())
            }
            ColumnType::F64 => Values::F64((0..rows).map(|_| random.below(1 << 40) as f64 / 7.0).collect()),
            ColumnType::Bool => Values::Bool((0..rows).map(|_| random.below(2) == 1).collect()),
            ColumnType::Bytes => {
                let mut bytes = BytesColumn::default();
                (0..rows).for_each(|_| bytes.push(&random.next().to_le_bytes()[..random.below(9) as usize]));
                Values::Bytes(bytes)
            }
        };
        let validity = match random.below(3) {
            _ if !spec.nullable => None,
            0 => None,
            1 => Some(vec![false; rows]),
            _ => Some((0..rows).map(|_| random.below(2) == 1).collect()),
        };
        Column { values, validity }
    });
    Batch { table, rows, columns: columns.collect() }
}

/// Strings with the ids that follow `first`.
pub fn strings(first: u32, rows: u32) -> Batch {
    let mut builder = tables::string::StringBuilder::default();
    for id in first..first + rows {
        builder.push(StringRow { id, bytes: format!("kernel number {id}\u{e9}").into_bytes() });
    }
    builder.take()
}

/// Kernels in order of their start.
pub fn kernels(first: i64, rows: i64) -> Batch {
    let mut builder = tables::kernel::KernelBuilder::default();
    for i in first..first + rows {
        builder.push(KernelRow {
            start_ns: 1_000_000 + 1_000 * i,
            duration_ns: Some(700),
            shape_id: 1 + i as u32 % 3,
            correlation: i as u64,
            stream: 7,
            ..Default::default()
        });
    }
    builder.take()
}

pub fn header(id: u8) -> FileHeader {
    FileHeader {
        file_id: std::array::from_fn(|i| id ^ (i * 29 % 251) as u8),
        ..FileHeader::new("test 1.2.3", 1_700_000_000)
    }
}

/// Intervals so short that a small file has several indices and repetitions.
pub fn short_intervals() -> WriteOptions {
    WriteOptions { index_every_bytes: 4_000, repeat_every_bytes: 3_000, ..Default::default() }
}

/// Writes a trace with a bit of everything; `finish` decides whether it is closed.
pub fn sample(id: u8, finish: bool) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = TraceWriter::create(&mut file, &header(id), short_intervals()).unwrap();
    writer.write_json(&PROCESS, &json!({"pid": 4711, "argv": ["train.py"]})).unwrap();
    let mut random = Random(u64::from(id));
    for round in 0..6 {
        writer.write_batch(&strings(1 + round * 4, 4)).unwrap();
        writer.write_batch(&kernels(i64::from(round) * 20, 20)).unwrap();
        writer.write_batch(&random_batch(&API, 15, &mut random)).unwrap();
        writer.write_batch(&random_batch(&SHAPE, 2, &mut random)).unwrap();
    }
    if finish {
        writer.finish(&json!({"delivered": 21})).unwrap();
    }
    file
}

/// Frames that hold what the program did, repetitions and bookkeeping left out.
pub fn content<S: Source>(reader: &TraceReader<S>) -> Vec<FrameInfo> {
    let is_content = |f: &&FrameInfo| !f.is_repeat() && f.spec().is_some_and(|t| t.role != Role::Json);
    reader.frames().iter().filter(is_content).cloned().collect()
}

/// Whether two batches hold the same rows; what a null row holds besides does not count.
pub fn assert_same_rows(a: &Batch, b: &Batch) {
    assert_eq!((a.table.name, a.rows, a.columns.len()), (b.table.name, b.rows, b.columns.len()));
    for (spec, (left, right)) in a.table.columns.iter().zip(a.columns.iter().zip(&b.columns)) {
        for row in 0..a.rows {
            assert_eq!(cell(left, row), cell(right, row), "{}.{} row {row}", a.table.name, spec.name);
        }
    }
}

pub fn cell(column: &Column, row: usize) -> Option<String> {
    (!column.is_null(row)).then(|| match &column.values {
        Values::U32(v) => v[row].to_string(),
        Values::U64(v) => v[row].to_string(),
        Values::I64(v) => v[row].to_string(),
        // Bits, because NaN is a value like any other here.
        Values::F64(v) => format!("{:x}", v[row].to_bits()),
        Values::Bool(v) => v[row].to_string(),
        Values::Bytes(v) => format!("{:x?}", v.get(row)),
    })
}
