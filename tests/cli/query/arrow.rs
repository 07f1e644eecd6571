//! Answers as Arrow files: the same values as in JSON, each of its type, read by Polars' own reader.

use super::{gpuprof, gpuprof_in, refused, sample};
use crate::common::TempFolder;
use crate::common::build::{NsysEra, Story, native, nsys};
use gpuprof::query::session::{self, Session};
use gpuprof::query::source;
use polars_arrow::array::{Array, BooleanArray, DictionaryArray, PrimitiveArray, Utf8Array};
use polars_arrow::io::ipc::read::{FileReader, read_file_metadata};
use serde_json::{Map, Value, json};
use std::io::Cursor;
use std::path::Path;

fn cell(array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    let any = array.as_any();
    if let Some(values) = any.downcast_ref::<PrimitiveArray<i64>>() {
        json!(values.value(row))
    } else if let Some(values) = any.downcast_ref::<PrimitiveArray<u64>>() {
        json!(values.value(row))
    } else if let Some(values) = any.downcast_ref::<PrimitiveArray<u32>>() {
        json!(values.value(row))
    } else if let Some(values) = any.downcast_ref::<PrimitiveArray<f64>>() {
        json!(values.value(row))
    } else if let Some(values) = any.downcast_ref::<BooleanArray>() {
        json!(values.value(row))
    } else if let Some(codes) = any.downcast_ref::<DictionaryArray<i32>>() {
        let texts = codes.values().as_any().downcast_ref::<Utf8Array<i64>>().expect("texts");
        json!(texts.value(codes.key_value(row)))
    } else {
        panic!("a column of {:?}", array.dtype())
    }
}

/// The types of an Arrow file's columns, and its rows as objects.
fn read(file: &[u8]) -> (Vec<String>, Vec<Value>) {
    let mut file = Cursor::new(file);
    let metadata = read_file_metadata(&mut file).expect("an Arrow file");
    let types = metadata.schema.iter_values().map(|field| format!("{:?}", field.dtype)).collect();
    let names: Vec<String> = metadata.schema.iter_names().map(ToString::to_string).collect();
    let mut rows = Vec::new();
    for batch in FileReader::new(file, metadata, None, None) {
        let batch = batch.expect("a batch");
        for row in 0..batch.len() {
            let cells = names.iter().zip(batch.arrays()).map(|(name, array)| (name.clone(), cell(&**array, row)));
            rows.push(Value::Object(cells.collect::<Map<_, _>>()));
        }
    }
    (types, rows)
}

fn read_file(path: &Path) -> (Vec<String>, Vec<Value>) {
    read(&std::fs::read(path).expect("the answer"))
}

#[test]
fn arrow_has_the_values_of_json_each_of_its_type() {
    let (folder, path, story) = sample("query-arrow", 700);
    let output = folder.path().join("answer.arrow");
    let text = output.to_str().expect("a path");
    let sql = "SELECT start_ns, name, bytes, stream, correlation, duration_ns / 2 AS half, bytes > 64 AS large, \
               NULL AS nothing, 'same' AS same, 18446744073709551615 AS wide FROM gpu";
    gpuprof(&["query", &path, sql, "-o", text]);
    let (types, rows) = read_file(&output);
    let name = "Dictionary(Int32, LargeUtf8, false)";
    let expected = ["Int64", name, "Int64", "UInt32", "UInt64", "Float64", "Boolean", "Int64", name, "UInt64"];
    assert_eq!(types, expected);
    let lines = gpuprof(&["query", &path, sql, "--format", "jsonl"]).stdout;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(rows.len(), story.kernels.len() + story.copies.len() + story.fills.len());
    assert!(rows == lines, "the first row is {} in Arrow and {} in JSON", rows[0], lines[0]);
}

#[test]
fn an_answer_without_rows_has_its_columns_and_several_answers_are_refused() {
    let (folder, path, _) = sample("query-arrow-edges", 20);
    let output = folder.path().join("answer.arrow");
    let text = output.to_str().expect("a path");
    let sql = "SELECT name, start_ns FROM kernel WHERE start_ns < 0";
    let answer = gpuprof_in(folder.path(), &["query", &path, sql, "--format", "arrow", "-o", text]);
    assert_eq!(answer.status, 1, "{}", answer.stderr);
    let (types, rows) = read_file(&output);
    assert_eq!((types.len(), rows.len()), (2, 0));
    gpuprof(&["query", &path, "SHOW TABLES", "-o", text]);
    assert_eq!(read_file(&output).1[0], json!({ "name": "gpu" }));
    std::fs::remove_file(&output).expect("the answer");
    refused(&["query", &path, "SELECT 1; SELECT 2", "-o", text], &["an Arrow file holds one answer"]);
    assert!(!output.exists());
}

#[test]
fn columns_of_one_table_are_the_same_piece_by_piece_as_from_the_engine() {
    let story = Story::sample(400).with_ranges();
    let folder = TempFolder::new("query-arrow-pieces");
    // Two processes of two kinds, which are read in different ways.
    let paths = [
        folder.file("a.gpuprof", &native(&story)),
        folder.file("b.sqlite", &nsys(&Story { pid: 2, ..story }, NsysEra::Of2026)),
    ];
    let mut with_rows = 0;
    for source in source::all() {
        let columns: Vec<String> = source.columns().iter().map(|column| format!("\"{}\"", column.name)).collect();
        let need = session::need(&[&format!("SELECT * FROM {}", source.name())]).expect("tables");
        let session = Session::open(&paths, &need).expect("traces");
        let ask = |sql: &str| {
            let mut file = Vec::new();
            let rows = session.write_arrow(sql, &mut file).unwrap_or_else(|e| panic!("{sql}: {e}"));
            let read = read(&file);
            assert_eq!(rows, read.1.len(), "{sql}");
            read
        };
        // Each column alone too: whether a table goes piece by piece depends on what is asked for.
        for columns in columns.iter().cloned().chain([columns.join(", ")]) {
            let sql = format!("SELECT {columns} FROM {}", source.name());
            let (one, other) = (ask(&sql), ask(&format!("{sql} LIMIT 1000000000")));
            assert!(one == other, "{sql}: {:?} and {:?}", one.0, other.0);
            with_rows += usize::from(!one.1.is_empty());
        }
    }
    assert!(with_rows > 60, "{with_rows} questions had an answer");
}
