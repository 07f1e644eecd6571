//! What goes in comes out.

use crate::common::*;
use bytes::Bytes;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use proptest::collection::vec;
use proptest::prelude::*;
use trace_format::columns::{Batch, BytesColumn, Column, Values};
use trace_format::frame::{decode, encode};
use trace_format::read::TraceReader;
use trace_format::schema::{ColumnSpec, ColumnType, RowBuilder, TableSpec};
use trace_format::tables::{ALL, *};
use trace_format::write::TraceWriter;

fn column(spec: &'static ColumnSpec, rows: usize) -> BoxedStrategy<Column> {
    // Whole ranges, edges, few values, equal values: what the encodings treat differently.
    let i64s = || prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX), 0..4i64];
    let values = match spec.ty {
        ColumnType::U32 => prop_oneof![
            vec(prop_oneof![any::<u32>(), Just(u32::MAX), 0..4u32], rows),
            any::<u32>().prop_map(move |v| vec![v; rows])
        ]
        .prop_map(Values::U32)
        .boxed(),
        ColumnType::U64 => prop_oneof![
            vec(prop_oneof![any::<u64>(), Just(u64::MAX), 0..4u64], rows),
            any::<u64>().prop_map(move |v| vec![v; rows])
        ]
        .prop_map(Values::U64)
        .boxed(),
        ColumnType::I64 => {
            prop_oneof![vec(i64s(), rows), i64s().prop_map(move |v| vec![v; rows])].prop_map(Values::I64).boxed()
        }
        ColumnType::F64 => vec(proptest::num::f64::ANY, rows).prop_map(Values::F64).boxed(),
        ColumnType::Bool => vec(any::<bool>(), rows).prop_map(Values::Bool).boxed(),
        ColumnType::Bytes => vec(vec(any::<u8>(), 0..20), rows)
            .prop_map(|v| {
                let mut bytes = BytesColumn::default();
                v.iter().for_each(|v| bytes.push(v));
                Values::Bytes(bytes)
            })
            .boxed(),
    };
    let validity = if spec.nullable {
        prop_oneof![
            Just(None),
            Just(Some(vec![false; rows])),
            Just(Some(vec![true; rows])),
            vec(any::<bool>(), rows).prop_map(Some)
        ]
        .boxed()
    } else {
        Just(None).boxed()
    };
    (values, validity).prop_map(|(values, validity)| Column { values, validity }).boxed()
}

fn batch(table: &'static TableSpec) -> impl Strategy<Value = Batch> {
    // 200 rows are more than one block of the delta encoding.
    prop_oneof![1..6usize, Just(200usize)].prop_flat_map(move |rows| {
        let columns: Vec<_> = table.columns.iter().map(|spec| column(spec, rows)).collect();
        columns.prop_map(move |columns| Batch { table, rows, columns })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]
    #[test]
    fn every_table_reads_back_as_it_was_written(
        batches in ALL.iter().filter(|t| !t.columns.is_empty()).map(|t| batch(t)).collect::<Vec<_>>()
    ) {
        for batch in batches {
            let mut payload = Vec::new();
            encode(&batch, &mut payload).unwrap();
            assert_same_rows(&decode(batch.table, payload.into(), None).unwrap(), &batch);
        }
    }
}

#[test]
fn only_wanted_columns_are_decoded() {
    let mut payload = Vec::new();
    encode(&kernels(0, 10), &mut payload).unwrap();
    let batch = decode(&KERNEL, payload.into(), Some(&["start_ns"])).unwrap();
    assert!(!batch.column("start_ns").unwrap().is_null(3));
    assert!(batch.column("stream").unwrap().is_all_null());
}

#[test]
fn a_payload_cut_out_of_a_file_is_a_parquet_file() {
    let file = sample(20, true);
    let reader = TraceReader::new(&file).unwrap();
    for frame in content(&reader) {
        let mut payload = Vec::new();
        reader.read_payload(&frame, &mut payload).unwrap();
        assert!(payload.starts_with(b"PAR1") && payload.ends_with(b"PAR1"));
        let parquet = SerializedFileReader::new(Bytes::from(payload)).unwrap();
        let rows = parquet.get_row_iter(None).unwrap().map(Result::unwrap).count();
        assert_eq!(rows as u32, frame.rows);
        let schema = parquet.metadata().file_metadata().schema_descr();
        let batch = reader.read_batch(&frame, None).unwrap();
        for (spec, column) in batch.table.columns.iter().zip(&batch.columns) {
            let found = schema.columns().iter().find(|c| c.name() == spec.name);
            assert_eq!(found.is_none(), column.is_all_null(), "{}: all null and left out", spec.name);
            // Nullable only where this very frame has nulls.
            let optional = found.is_some_and(|c| c.self_type().is_optional());
            assert_eq!(optional, !column.is_all_null() && column.validity.is_some(), "{}", spec.name);
        }
    }
}

#[test]
fn writing_what_was_read_gives_the_same_bytes() {
    let first = sample(21, true);
    let reader = TraceReader::new(&first).unwrap();
    let mut second = Vec::new();
    let mut writer = TraceWriter::create(&mut second, reader.header(), short_intervals()).unwrap();
    writer.write_json(&PROCESS, &reader.process().unwrap()).unwrap();
    for frame in content(&reader) {
        writer.write_batch(&reader.read_batch(&frame, None).unwrap()).unwrap();
    }
    writer.finish(&reader.closed_totals().unwrap()["writer_totals"]).unwrap();
    assert!(first == second);
}

#[test]
fn headers_say_order_and_times_of_their_rows() {
    let mut file = Vec::new();
    let mut writer = TraceWriter::create(&mut file, &header(22), Default::default()).unwrap();
    writer.write_batch(&kernels(0, 10)).unwrap();
    let mut unsorted = kernels(0, 3);
    let Values::I64(starts) = &mut unsorted.columns[0].values else { panic!() };
    starts.swap(0, 2);
    unsorted.columns[1].validity = Some(vec![true, true, false]);
    writer.write_batch(&unsorted).unwrap();
    writer.write_batch(&strings(1, 1)).unwrap();
    let reader = TraceReader::new(&file).unwrap();
    let [sorted, unsorted, strings] = reader.frames() else { panic!() };
    assert_eq!((sorted.min_start_ns, sorted.max_end_ns), (Some(1_000_000), Some(1_009_700)));
    assert!(sorted.is_sorted() && !unsorted.is_sorted());
    // The row with impossible times does not count.
    assert_eq!((unsorted.min_start_ns, unsorted.max_end_ns), (Some(1_001_000), Some(1_002_700)));
    assert_eq!((strings.min_start_ns, strings.max_end_ns), (None, None));
    assert_eq!((unsorted.first_row, unsorted.seq), (10, 1));
}

#[test]
fn an_open_range_counts_with_its_start_and_a_row_without_times_not_at_all() {
    let mut builder = trace_format::tables::range::RangeBuilder::default();
    for (start_ns, end_ns) in [(50, Some(60)), (90, None), (70, Some(75))] {
        builder.push(RangeRow { start_ns, end_ns, ..Default::default() });
    }
    assert_eq!(builder.take().time_bounds(), Some((50, 90)));
    let mut impossible = kernels(0, 2);
    impossible.columns[1].validity = Some(vec![false, false]);
    assert_eq!(impossible.time_bounds(), None);
    assert_eq!(strings(1, 2).time_bounds(), None);
}
