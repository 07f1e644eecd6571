//! `gpuprof info`: what a file is, who wrote it and what is in it, without reading what is in it.

use crate::common::build::*;
use crate::common::{TempFolder, gpuprof, gpuprof_in};
use gpuprof::trace::frames::Frames;
use gpuprof::trace::sink::Need;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use trace_format::frame::HEADER_BYTES;
use trace_format::read::TraceReader;
use trace_format::schema::Role;
use trace_format::tables::{self, KernelRow, LossRow};

fn info(args: &[&str]) -> Value {
    let answer = gpuprof(&[&["info", "--format", "json"], args].concat());
    serde_json::from_str(&answer.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {}", answer.stdout))
}

fn rows<'d>(document: &'d Value, table: &str) -> &'d [Value] {
    let mut tables = document["tables"].as_array().expect("tables").iter();
    let table = tables.find(|t| t["name"] == table).unwrap_or_else(|| panic!("no table {table}"));
    table["rows"].as_array().expect("rows")
}

/// Rows by table.
fn counts(document: &Value) -> BTreeMap<&str, u64> {
    let count = |row: &'_ Value| row["Rows"].as_u64().expect("a number");
    rows(document, "tables").iter().map(|row| (row["Table"].as_str().expect("a name"), count(row))).collect()
}

#[test]
fn every_kind_says_what_it_is_and_holds() {
    let folder = TempFolder::new("info-kinds");
    let story = Story { rank: Some((2, 4)), ..Story::sample(30) };
    for (kind, bytes) in every_kind(&story) {
        let path = folder.argument("t", &bytes);
        let document = info(&[&path]);
        let [file] = rows(&document, "files") else { panic!("{kind}: one file") };
        let expected = match kind {
            _ if kind.starts_with("native") => "gpuprof trace 1.0, written by gpuprof 0.1.0",
            "nvprof 8" => "nvprof database, schema 8",
            "nvprof 16" => "nvprof database, schema 16",
            "nvvp session" => "Visual Profiler session, nvprof database, schema 8",
            "nsys 2020" => "nsys SQLite export of 2020 or 2021 (it states no version)",
            "nsys 2026" => "nsys SQLite export, schema 3.25.0 (nsys 2026.2.1.210)",
            "kineto 2020" => "PyTorch profiler trace (Kineto, no schema version)",
            _ => "PyTorch profiler trace (Kineto, schema 1)",
        };
        assert_eq!(file["Kind"], expected, "{kind}");
        assert_eq!((&file["Path"], &file["Bytes"]), (&json!(path), &json!(bytes.len())), "{kind}");
        let closed = match kind {
            "native not closed" => "no",
            _ if kind.starts_with("native") => "yes",
            _ => "",
        };
        assert_eq!(file["Closed"], closed, "{kind}");
        // The first call begins before, the last one ends behind everything else.
        let epoch = if kind == "nsys 2020" { 0 } else { EPOCH };
        let (first, last) = (&story.calls[0], story.calls.last().expect("a call"));
        assert_eq!(file["Start (ns)"].as_i64(), Some(first.start + epoch), "{kind}");
        assert_eq!(file["End (ns)"].as_i64(), Some(last.end + epoch), "{kind}");
        let [process] = rows(&document, "processes") else { panic!("{kind}: one process") };
        assert_eq!((&process["Process"], &process["Pid"]), (&json!(0), &json!(4242)), "{kind}");
        assert_eq!(process["Epoch"], if kind == "nsys 2020" { "relative" } else { "Unix" }, "{kind}");
        let has_rank = kind.starts_with("native") || (kind.starts_with("kineto") && kind != "kineto 2020");
        let (rank, world) = if has_rank { (json!(2), json!(4)) } else { (Value::Null, Value::Null) };
        assert_eq!((&process["Rank"], &process["World Size"]), (&rank, &world), "{kind}");
        if kind != "kineto 2020" {
            let devices = rows(&document, "devices");
            assert_eq!(devices.len(), 2, "{kind}");
            assert_eq!(devices[1]["Device"], 1, "{kind}");
            let device = ["Name", "Compute", "SMs", "Memory (bytes)"].map(|column| devices[1][column].clone());
            assert_eq!(device, [json!("Tesla V100"), json!("7.0"), json!(80), json!(34_000_000_000_i64)], "{kind}");
        }
        let counts = counts(&document);
        for (table, expected) in [
            ("kernel", story.kernels.len()),
            ("memcpy", story.copies.len()),
            ("memset", story.fills.len()),
            ("api", story.calls.len()),
        ] {
            assert_eq!(counts.get(table).copied(), Some(expected as u64), "{kind}: {table}");
        }
        let notes = document["notes"].as_array().expect("notes");
        let codes: Vec<&Value> = notes.iter().map(|note| &note["code"]).collect();
        let expected = if kind == "native not closed" { vec!["not-closed"] } else { vec![] };
        assert_eq!(codes, expected, "{kind}");
    }
}

#[test]
fn people_get_tables_and_notes_below_them() {
    let folder = TempFolder::new("info-text");
    let story = Story { losses: vec![(7, 2)], ..Story::sample(5) };
    let path = folder.argument("t.gpuprof", &native_with(&story, Native { close: false, ..Native::default() }));
    let answer = gpuprof(&["info", &path]);
    for part in ["Files", "Processes", "Devices", "Tables", "Tesla V100", "4242", "kernel", &path] {
        assert!(answer.stdout.contains(part), "{part}: {}", answer.stdout);
    }
    let notes: Vec<&str> = answer.stdout.lines().rev().take(2).collect();
    assert!(
        notes[1].contains("not closed") && notes[0].contains("7 records lost: CUPTI dropped them"),
        "{notes:?}"
    );
    for format in ["csv", "tsv", "markdown", "json"] {
        let answer = gpuprof(&["info", "--format", format, &path]);
        assert!(answer.stderr.contains("not closed") && answer.stderr.contains("7 records lost"), "{format}");
        assert!(answer.stdout.contains("Tesla V100"), "{format}");
    }
}

#[test]
fn several_files_are_listed_each() {
    let folder = TempFolder::new("info-several");
    folder.file("a.gpuprof", &native(&Story { pid: 1, ..Story::sample(3) }));
    folder.file("b.sqlite", &nsys(&Story { pid: 2, ..Story::sample(4) }, NsysEra::Of2026));
    folder.file("c.json.gz", &gzip(&kineto(&Story { pid: 3, ..Story::sample(5) }, KinetoEra::Base2024)));
    folder.file("train.log", b"epoch 1");
    let document = info(&[folder.path().to_str().expect("a path")]);
    let pids: Vec<&Value> = rows(&document, "processes").iter().map(|row| &row["Pid"]).collect();
    assert_eq!(pids, [1, 2, 3]);
    assert_eq!(rows(&document, "files").len(), 3);
    assert_eq!(counts(&document)["kernel"], 12);
}

#[test]
fn known_formats_are_listed() {
    let text = gpuprof(&["info", "--formats"]).stdout;
    assert!(text.contains("gpuprof's own traces"), "{text}");
    for importer in gpuprof::import::IMPORTERS {
        assert!(text.contains(importer.name()) && text.contains(importer.describes()), "{text}");
    }
    let answer = gpuprof_in(Path::new("."), &["info"]);
    assert_eq!((answer.status, answer.stdout.as_str()), (1, ""), "there is no trace here: {}", answer.stderr);
}

/// A trace of `frames` frames of 10,000 kernels, whose numbers take many bytes each.
fn large(frames: usize) -> Vec<u8> {
    let mut file = Vec::new();
    let mut random = Random(1);
    let mut writer = NativeWriter::begin(&mut file, &Story::sample(0), Native::default());
    writer.kernels(&Story::sample(1).kernels);
    for frame in 0..frames as i64 {
        let row = |i: i64| KernelRow {
            start_ns: 1_000_000_000 * frame + 1_000 * i + random.below(1 << 40) as i64,
            duration_ns: Some(random.below(1 << 30) as i64),
            shape_id: 1,
            correlation: random.next(),
            queued_ns: Some(random.next() as i64 >> 4),
            submitted_ns: Some(random.next() as i64 >> 4),
            ..KernelRow::default()
        };
        writer.rows((0..10_000).map(row).collect());
    }
    writer.rows(vec![LossRow { rows: 5, cause: 1, ..LossRow::default() }]);
    writer.rest(&Story::sample(0));
    writer.close();
    file
}

#[test]
fn a_large_native_file_answers_from_its_index() {
    let folder = TempFolder::new("info-large");
    let bytes = large(20);
    assert!(bytes.len() > 6 << 20, "{} bytes are not large", bytes.len());
    let path = folder.file("large.gpuprof", &bytes);
    let frames = Frames::open(std::slice::from_ref(&path), &Need::all()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(frames.rows(&tables::KERNEL), 200_001);
    assert!(frames.time_span().unwrap_or_else(|e| panic!("{e}")).is_some());
    assert_eq!(frames.devices.len(), 2);
    let read = frames.natives()[0].reader().bytes_read();
    assert!(read < 64 << 10, "{read} bytes read of {}", bytes.len());
}

#[test]
fn rows_of_activity_are_not_read_at_all() {
    let folder = TempFolder::new("info-unread");
    let bytes = large(8);
    let path = folder.argument("t.gpuprof", &bytes);
    let expected = gpuprof(&["info", &path]);
    assert!(expected.stdout.contains("80,001"), "{}", expected.stdout);
    // Whoever reads one of these rows finds that its frame is damaged.
    let reader = TraceReader::new(&bytes[..]).expect("a trace");
    let mut damaged = bytes.clone();
    let is_activity =
        |frame: &&trace_format::frame::FrameInfo| frame.spec().is_some_and(|t| t.role == Role::Activity);
    for frame in reader.frames().iter().filter(is_activity) {
        damaged[frame.offset as usize + HEADER_BYTES + frame.payload_len as usize / 2] ^= 1;
    }
    std::fs::write(&path, damaged).expect("a file");
    let answer = gpuprof(&["info", &path]);
    assert_eq!((answer.stdout, answer.stderr), (expected.stdout, expected.stderr));
    // The damage is there.
    let report = gpuprof_in(Path::new("."), &["report", "--print-gpu-summary", &path]);
    assert!(report.stderr.contains("10,000 rows of kernel lost"), "{}", report.stderr);
}

#[test]
fn segments_of_a_ring_are_one_process_and_each_has_its_own_state() {
    use trace_format::header::FileHeader;
    use trace_format::write::{SegmentFiles, SegmentedWriter, WriteOptions};
    let folder = TempFolder::new("info-ring");
    let story = Story::sample(200);
    let segments = SegmentFiles { trace: folder.path().join("run.gpuprof") };
    let header = FileHeader::new("gpuprof 0.1.0", EPOCH);
    let mut writer =
        SegmentedWriter::create(segments, &header, WriteOptions::default(), 8_000, u64::MAX).expect("a ring");
    writer.write_json(&tables::PROCESS, &json!({"pid": 4242})).expect("a process");
    for batch in native_batches(&story, 20) {
        writer.write_batch(&batch).expect("a frame");
    }
    // The last segment is still being written.
    let document = info(&[folder.path().to_str().expect("a path")]);
    assert_eq!(rows(&document, "processes").len(), 1);
    let closed: Vec<&str> =
        rows(&document, "files").iter().map(|row| row["Closed"].as_str().expect("text")).collect();
    assert!(closed.len() >= 3, "{closed:?}");
    let (last, others) = closed.split_last().expect("segments");
    assert_eq!(*last, "no");
    assert!(others.iter().all(|closed| *closed == "yes"), "{closed:?}");
    assert_eq!(counts(&document)["kernel"], 200);
}

#[test]
fn a_file_of_ranges_alone_has_times_too() {
    let folder = TempFolder::new("info-ranges");
    let trace = br#"[{"ph":"C","name":"load","pid":4,"ts":1650000001000250,"args":{"sys":1}},
        {"name":"run","ph":"B","ts":1650000001200000,"pid":1,"tid":2},
        {"name":"run","ph":"E","ts":1650000001700000,"pid":1,"tid":2}]"#;
    let path = folder.argument("ranges.json", trace);
    let file = rows(&info(&[&path]), "files")[0].clone();
    assert_eq!(file["Start (ns)"], 1_650_000_001_200_000_000_i64, "{file}");
    assert_eq!(file["End (ns)"], 1_650_000_001_700_000_000_i64, "{file}");
    let said = gpuprof(&["info", &path]).stdout;
    assert!(said.contains(", begins at 2022-04-15 05:20:01 UTC, 500.0 ms long\n"), "{said}");
}

#[test]
fn info_says_in_words_what_is_inside_and_finds_the_newest_trace_by_itself() {
    let folder = TempFolder::new("info-words");
    let story = Story::sample(30);
    folder.file("run.gpuprof", &native(&story));
    let answer = gpuprof_in(folder.path(), &["info"]);
    assert_eq!(answer.status, 0, "{}", answer.stderr);
    let [file, inside] = [0, 1].map(|line| answer.stdout.lines().nth(line).unwrap_or_default());
    assert!(file.starts_with("run.gpuprof: gpuprof trace 1.0, written by gpuprof"), "{file}");
    assert!(file.contains(", begins at 20") && file.contains(" UTC, ") && file.ends_with(" long"), "{file}");
    let counted = format!("Inside: {} kernels, {} copies", story.kernels.len(), story.copies.len());
    assert!(inside.starts_with(&counted) && inside.contains(" of 1 process, on "), "{inside}");
}
