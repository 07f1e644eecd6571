//! Polars reads what Apache's Parquet writer wrote: every table, every type, nulls and extremes included.

use crate::common;
use gpuprof::trace::frames::Frames;
use gpuprof::trace::sink::Need;
use polars::prelude::*;
use std::fs::File;
use trace_format::columns::{Batch, BytesColumn, Column as Col, Values};
use trace_format::header::FileHeader;
use trace_format::schema::{ColumnSpec, ColumnType, RowBuilder, TableSpec};
use trace_format::tables::{self, ShapeRow, StringRow};
use trace_format::write::{TraceWriter, WriteOptions};

/// Names and shapes that the file defines, by the same ids that a reader gives them.
const NAMES: u32 = 100;
const SHAPES: u32 = 50;

/// A small generator of its own, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn extreme(&mut self) -> u64 {
        match self.next() % 8 {
            0 => 0,
            1 => u64::MAX,
            2 => i64::MAX as u64,
            3 => i64::MIN as u64,
            _ => self.next() >> (self.next() % 64),
        }
    }
}

fn values(spec: &ColumnSpec, rows: usize, random: &mut Random) -> Values {
    let mut each = |_| random.extreme();
    match (spec.ty, spec.unit) {
        (ColumnType::U32, unit) if unit.is_name() => {
            Values::U32((0..rows).map(|i| 1 + i as u32 * 7 % NAMES).collect())
        }
        (ColumnType::U32, unit) if unit.is_shape() => {
            Values::U32((0..rows).map(|i| i as u32 * 11 % SHAPES).collect())
        }
        (ColumnType::U32, _) => Values::U32((0..rows).map(|i| each(i) as u32).collect()),
        (ColumnType::U64, _) => Values::U64((0..rows).map(each).collect()),
        (ColumnType::I64, _) => Values::I64((0..rows).map(|i| each(i) as i64).collect()),
        (ColumnType::F64, _) => Values::F64((0..rows).map(|i| each(i) as f64 / 3.0).collect()),
        (ColumnType::Bool, _) => Values::Bool((0..rows).map(|i| each(i) % 2 == 1).collect()),
        (ColumnType::Bytes, _) => {
            let mut bytes = BytesColumn::default();
            // 0xff never occurs in UTF-8.
            (0..rows).for_each(|i| bytes.push(&[&[0xff, 0x00][..], &each(i).to_le_bytes()[..i % 9]].concat()));
            Values::Bytes(bytes)
        }
    }
}

/// Rows of any table; nullable columns are all null, never null or sometimes null, in turn.
fn batch(table: &'static TableSpec, rows: usize, random: &mut Random) -> Batch {
    let columns = table.columns.iter().enumerate().map(|(c, spec)| {
        let validity = match (spec.nullable, c % 3) {
            (false, _) | (true, 0) => None,
            (true, 1) => Some(vec![false; rows]),
            (true, _) => Some((0..rows).map(|i| i % 5 != c % 5).collect()),
        };
        Col { values: values(spec, rows, random), validity }
    });
    let mut batch = Batch { table, rows, columns: columns.collect() };
    if table == &tables::CLOCK {
        // The reader shifts times by what this table says; here it says nothing.
        batch.columns[1] = batch.columns[0].clone();
    }
    batch
}

fn expected(column: &Col, i: usize) -> Option<String> {
    if column.is_null(i) {
        return None;
    }
    Some(match &column.values {
        Values::U32(v) => v[i].to_string(),
        Values::U64(v) => v[i].to_string(),
        Values::I64(v) => v[i].to_string(),
        Values::F64(v) => format!("{:?}", v[i].to_bits()),
        Values::Bool(v) => v[i].to_string(),
        Values::Bytes(v) => format!("{:?}", v.get(i)),
    })
}

fn found(column: &Column, i: usize) -> Option<String> {
    match column.get(i).expect("a row") {
        AnyValue::Null => None,
        AnyValue::UInt32(v) => Some(v.to_string()),
        AnyValue::UInt64(v) => Some(v.to_string()),
        AnyValue::Int64(v) => Some(v.to_string()),
        AnyValue::Float64(v) => Some(format!("{:?}", v.to_bits())),
        AnyValue::Boolean(v) => Some(v.to_string()),
        AnyValue::Binary(v) => Some(format!("{v:?}")),
        AnyValue::BinaryOwned(v) => Some(format!("{v:?}")),
        other => panic!("an unexpected type: {other:?}"),
    }
}

#[test]
fn every_column_of_every_table_comes_back_as_it_was_written() {
    let folder = common::TempFolder::new("format-polars");
    let mut random = Random(11);
    for table in tables::ALL.iter().filter(|t| !t.columns.is_empty()) {
        let path = folder.path().join(format!("{}.gpuprof", table.name));
        let file = File::create(&path).expect("a file");
        let header = FileHeader::new("test", 0);
        let mut writer = TraceWriter::create(file, &header, WriteOptions::default()).expect("a header");
        if *table != &tables::STRING {
            let mut strings = tables::string::StringBuilder::default();
            (1..=NAMES).for_each(|id| strings.push(StringRow { id, bytes: format!("name {id}").into_bytes() }));
            writer.write_batch(&strings.take()).expect("names");
        }
        if *table != &tables::SHAPE {
            let mut shapes = tables::shape::ShapeBuilder::default();
            (0..SHAPES).for_each(|id| shapes.push(ShapeRow { id, name_id: 1 + id, ..ShapeRow::default() }));
            writer.write_batch(&shapes.take()).expect("shapes");
        }
        // Two frames whose columns differ: what is all null in one need not be in the other.
        let parts = [batch(table, 701, &mut random), batch(table, 1, &mut random)];
        parts.iter().for_each(|part| writer.write_batch(part).expect("rows"));
        writer.finish(&serde_json::json!({})).expect("an end");

        let frames = Frames::open(std::slice::from_ref(&path), &Need::all()).expect("a trace");
        assert_eq!(frames.all_notes(), [], "{}", table.name);
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let read = frames.read(table, &columns).expect("rows");
        assert_eq!(read.height(), 702, "{}", table.name);
        // Batches come in no particular order; the lone row tells which is which.
        let lone_first = (0..table.columns.len()).any(|c| {
            let column = read.column(table.columns[c].name).expect("a column");
            found(column, 0) != expected(&parts[0].columns[c], 0)
        });
        for (c, spec) in table.columns.iter().enumerate() {
            let column = read.column(spec.name).expect("a column");
            let (first, lone) = if lone_first { (1, 0) } else { (0, 701) };
            for i in 0..701 {
                let wanted = expected(&parts[0].columns[c], i);
                assert_eq!(found(column, first + i), wanted, "{}.{} row {i}", table.name, spec.name);
            }
            assert_eq!(found(column, lone), expected(&parts[1].columns[c], 0), "{}.{}", table.name, spec.name);
        }
        assert_eq!(frames.all_notes(), [], "{}", table.name);
    }
}
