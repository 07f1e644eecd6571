//! Answers as Arrow files: the same values as in JSON, each of its type, read by Polars' own reader.

use super::{gpuprof, gpuprof_in, refused, sample};
use polars_arrow::array::{Array, BooleanArray, DictionaryArray, PrimitiveArray, Utf8Array};
use polars_arrow::io::ipc::read::{FileReader, read_file_metadata};
use serde_json::{Map, Value, json};
use std::fs::File;
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
fn read(path: &Path) -> (Vec<String>, Vec<Value>) {
    let mut file = File::open(path).expect("the answer");
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

#[test]
fn arrow_has_the_values_of_json_each_of_its_type() {
    let (folder, path, story) = sample("query-arrow", 700);
    let output = folder.path().join("answer.arrow");
    let text = output.to_str().expect("a path");
    let sql = "SELECT start_ns, name, bytes, stream, correlation, duration_ns / 2 AS half, bytes > 64 AS large, \
               NULL AS nothing, 'same' AS same, 18446744073709551615 AS wide FROM gpu";
    gpuprof(&["query", &path, sql, "-o", text]);
    let (types, rows) = read(&output);
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
    let (types, rows) = read(&output);
    assert_eq!((types.len(), rows.len()), (2, 0));
    gpuprof(&["query", &path, "SHOW TABLES", "-o", text]);
    assert_eq!(read(&output).1[0], json!({ "name": "gpu" }));
    std::fs::remove_file(&output).expect("the answer");
    refused(&["query", &path, "SELECT 1; SELECT 2", "-o", text], &["an Arrow file holds one answer"]);
    assert!(!output.exists());
}
