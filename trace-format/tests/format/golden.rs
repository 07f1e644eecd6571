//! Traces of every released version stay readable, with the rows they had.
//!
//! `golden/VERSION.trace` is a trace as that version wrote it, `VERSION.trace.txt` its rows. `GPUPROF_BLESS=1`
//! writes those of the current version where they are missing; those of a released version are never written again.

use std::fmt::Write as _;
use std::path::Path;

use crate::common::*;
use serde_json::json;
use trace_format::header::{MAJOR, MINOR};
use trace_format::read::{Source, TraceReader};
use trace_format::schema::Role;
use trace_format::tables::{ALL, PROCESS};
use trace_format::write::TraceWriter;

/// Every table once with few rows, closed.
fn write() -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = TraceWriter::create(&mut file, &header(50), short_intervals()).unwrap();
    writer.write_json(&PROCESS, &json!({"pid": 1, "host": "golden"})).unwrap();
    let mut random = Random(50);
    for table in ALL.iter().filter(|t| t.role != Role::Json) {
        writer.write_batch(&random_batch(table, 7, &mut random)).unwrap();
    }
    writer.finish(&json!({})).unwrap();
    file
}

/// The rows as text, columns without values left out: a column that came later changes nothing.
fn dump<S: Source>(reader: &TraceReader<S>) -> String {
    let mut text = format!("process {}\n", reader.process().unwrap());
    for frame in content(reader) {
        let batch = reader.read_batch(&frame, None).unwrap();
        for (spec, column) in batch.table.columns.iter().zip(&batch.columns).filter(|(_, c)| !c.is_all_null()) {
            let cells: Vec<_> =
                (0..batch.rows).map(|row| cell(column, row).unwrap_or_else(|| "-".into())).collect();
            let _ = writeln!(text, "{}.{} {}", batch.table.name, spec.name, cells.join(" "));
        }
    }
    text
}

#[test]
fn every_golden_trace_opens_with_its_rows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format/golden");
    let current = folder.join(format!("{MAJOR}.{MINOR}.trace"));
    if std::env::var_os("GPUPROF_BLESS").is_some() && !current.exists() {
        std::fs::create_dir_all(&folder).unwrap();
        let file = write();
        std::fs::write(current.with_extension("trace.txt"), dump(&TraceReader::new(&file).unwrap())).unwrap();
        std::fs::write(&current, file).unwrap();
    }
    assert!(current.exists(), "no golden trace of the current version: run GPUPROF_BLESS=1 cargo test");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "trace") {
            continue;
        }
        let reader = TraceReader::open(&path).unwrap();
        assert!(reader.is_closed());
        assert_eq!(reader.verify().unwrap(), [], "{}", path.display());
        let expected = std::fs::read_to_string(path.with_extension("trace.txt")).unwrap();
        assert!(dump(&reader) == expected, "{}: rows differ", path.display());
    }
}
