//! Files of other versions.

use crate::common::*;
use serde_json::json;
use trace_format::columns::{Batch, Column, Values};
use trace_format::header::{FileHeader, MAJOR, MINOR};
use trace_format::read::{ReadErrorKind, TraceReader};
use trace_format::schema::{ColumnSpec, ColumnType, Encoding, Role, TableSpec, Unit};
use trace_format::tables::*;
use trace_format::write::TraceWriter;

fn write(header: &FileHeader, batches: &[Batch]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = TraceWriter::create(&mut file, header, short_intervals()).unwrap();
    batches.iter().for_each(|b| writer.write_batch(b).unwrap());
    writer.finish(&json!({})).unwrap();
    file
}

#[test]
fn a_newer_major_version_is_refused_naming_three_versions() {
    let file = write(&FileHeader { major: MAJOR + 1, minor: 3, ..header(40) }, &[kernels(0, 5)]);
    let error = TraceReader::new(file).err().unwrap();
    assert!(matches!(error.what, ReadErrorKind::Version { file: (2, 3), .. }));
    assert_eq!(
        error.to_string(),
        format!(
            "format version 2.3, written by test 1.2.3, cannot be read: this build reads up to {MAJOR}.{MINOR}; \
             update gpuprof"
        )
    );
}

const fn column(name: &'static str, ty: ColumnType, nullable: bool) -> ColumnSpec {
    ColumnSpec {
        name,
        ty,
        nullable,
        encoding: Encoding::Plain,
        unit: Unit::Other,
        words_name: "",
        text_doc: "",
        doc: "from the future",
    }
}

static FUTURE: TableSpec = TableSpec {
    id: 9_000,
    name: "future",
    role: Role::Activity,
    columns: &[column("x", ColumnType::I64, false)],
    doc: "A table of a newer version.",
};

static FUTURE_THREAD: TableSpec = TableSpec {
    id: 7,
    name: "thread",
    role: Role::Defining,
    columns: &[
        column("tid", ColumnType::U32, false),
        column("colour", ColumnType::F64, true),
        column("name_id", ColumnType::U32, false),
    ],
    doc: "A table of a newer version with one more column.",
};

#[test]
fn a_newer_minor_version_with_unknown_tables_columns_and_flags_opens() {
    let required = |values| Column { values, validity: None };
    let unknown = Batch { table: &FUTURE, rows: 2, columns: vec![required(Values::I64(vec![1, 2]))] };
    let threads = Batch {
        table: &FUTURE_THREAD,
        rows: 1,
        columns: vec![
            required(Values::U32(vec![5])),
            required(Values::F64(vec![0.5])),
            required(Values::U32(vec![9])),
        ],
    };
    let other = [("mood".to_owned(), json!("good"))].into_iter().collect();
    let newer = FileHeader { minor: MINOR + 1, other, ..header(41) };
    let mut file = write(&newer, &[unknown, threads, kernels(0, 5)]);
    for closed in [true, false] {
        if !closed {
            file.pop();
        }
        let reader = TraceReader::new(&file).unwrap();
        assert_eq!(reader.verify().unwrap(), []);
        assert_eq!((reader.header().minor, &reader.header().other["mood"]), (MINOR + 1, &json!("good")));
        let unknown = &reader.frames()[0];
        assert_eq!((unknown.table, unknown.spec(), unknown.rows), (9_000, None, 2));
        assert_eq!(reader.definitions::<ThreadRow>().rows, [ThreadRow { tid: 5, name_id: 9 }]);
        assert_eq!(reader.definitions::<KernelRow>().rows.len(), 5);
    }
}

static PAST_KERNEL: TableSpec = TableSpec {
    id: 16,
    name: "kernel",
    role: Role::Activity,
    columns: &[column("start_ns", ColumnType::I64, false)],
    doc: "A table of an older version.",
};

#[test]
fn columns_that_an_older_version_did_not_have_are_null() {
    let values = Values::I64(vec![1, 2, 3]);
    let old = Batch { table: &PAST_KERNEL, rows: 3, columns: vec![Column { values, validity: None }] };
    let file = write(&header(42), &[old]);
    let reader = TraceReader::new(&file).unwrap();
    let batch = reader.read_batch(&reader.frames()[0], None).unwrap();
    assert!(batch.column("duration_ns").unwrap().is_all_null());
    assert_eq!(batch.column("start_ns").unwrap().values, Values::I64(vec![1, 2, 3]));
}

#[test]
fn a_column_that_changed_its_type_is_an_error_and_no_panic() {
    static WRONG: TableSpec = TableSpec {
        id: 16,
        name: "kernel",
        role: Role::Activity,
        columns: &[column("start_ns", ColumnType::F64, false)],
        doc: "A type that changed, which must never happen.",
    };
    let wrong =
        Batch { table: &WRONG, rows: 1, columns: vec![Column { values: Values::F64(vec![1.0]), validity: None }] };
    let file = write(&header(43), &[wrong]);
    let reader = TraceReader::new(&file).unwrap();
    let error = reader.read_batch(&reader.frames()[0], None).unwrap_err();
    assert!(error.to_string().contains("column start_ns has another type"), "{error}");
}
