//! The law that nothing is dropped in silence: in every file of the shared collection, rows read and rows noted as not
//! read are together the rows in the file, as another reader of the file counts them.
//!
//! The collection lies outside the repository: `GPUPROF_SHARED`, else `../shared`. Generated files are held to the same
//! law beside each reader.

use crate::common;
use gpuprof::trace::frames::Frames;
use gpuprof::trace::sink::Need;
use serde_json::Value;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use trace_format::schema::Role;
use trace_format::tables;

/// All files below some folders of the collection whose names end so.
fn files(shared: &Path, folders: &[&str], endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(shared.join("data").join(folder)).expect("a folder of the collection") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_file() && endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{folders:?} have no {endings:?}");
    found
}

fn open(path: &Path) -> Frames {
    Frames::open(&[path.to_owned()], &Need::all()).unwrap_or_else(|e| panic!("{e}"))
}

/// Rows of all tables of records; arguments of a record are no record.
fn rows_read(frames: &Frames) -> u64 {
    let records = tables::ALL.iter().filter(|table| table.role != Role::Defining && **table != &tables::DETAILS);
    records.map(|table| frames.rows(table)).sum()
}

/// Rows that notes with this code speak of: `a.sqlite: 1,254 rows of X, 3 of Y and 1 of Z are not read`.
fn rows_noted(frames: &Frames) -> u64 {
    let unread = frames.notes.iter().filter(|note| note.code == "unread-rows").flat_map(|note| {
        let (_, text) = note.text.split_once(": ").expect("a path");
        let (text, _) = text.split_once(" not read").expect("not read");
        text.split(", ").flat_map(|part| part.split(" and ")).map(number).collect::<Vec<u64>>()
    });
    let others = frames.notes.iter().filter(|note| note.code != "unread-rows").map(|note| match note.code {
        // Rows about the machine are not counted here, whether they can be used or not.
        "unusable-rows" if describes(note.text.split("in table ").nth(1).unwrap_or_default()) => 0,
        "backtrace-rows" | "unusable-rows" => number(note.text.split_once(": ").expect("a path").1),
        "nsys-diagnostic" => 1,
        _ => 0,
    });
    unread.sum::<u64>() + others.sum::<u64>()
}

fn number(text: &str) -> u64 {
    let digits = text.split(' ').next().expect("a word").replace(',', "");
    digits.parse().unwrap_or_else(|_| panic!("no number begins {text:?}"))
}

/// Tables about the machine and the recording, and rows that others refer to.
fn describes(table: &str) -> bool {
    let families = ["ENUM_", "TARGET_INFO_", "META_DATA_", "ANALYSIS_", "NVTX_PAYLOAD_", "sqlite_"];
    let nsys = ["StringIds", "PROCESSES", "ThreadNames", "ProcessStreams", "UnwindMethodType", "EXPORT_META_DATA"];
    // Functions of stacks, which samples refer to.
    let nvprof = ["StringTable", "Version", "SAMPLING_CALLCHAINS"];
    let kinds = ["CONTEXT", "DEVICE", "DEVICE_ATTRIBUTE", "FUNCTION", "MODULE", "NAME", "NVLINK", "PCIE", "STREAM"];
    families.iter().any(|family| table.starts_with(family))
        || nsys.contains(&table)
        || nvprof.contains(&table)
        || table.strip_prefix("CUPTI_ACTIVITY_KIND_").is_some_and(|kind| kinds.contains(&kind))
}

#[test]
fn every_row_of_a_database_is_read_or_noted() {
    let Some(shared) = common::shared("every_row_of_a_database_is_read_or_noted") else { return };
    for path in files(&shared, &["nsys", "nvprof", "reports"], &[".sqlite", ".nvvp", ".nvprof"]) {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY | rusqlite::OpenFlags::SQLITE_OPEN_URI;
        let uri = format!("file:{}?immutable=1", path.display());
        let Ok(db) = rusqlite::Connection::open_with_flags(uri, flags) else { continue };
        let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0).map(|rows| rows as u64));
        // A session of the Visual Profiler is XML around databases.
        let Ok(mut list) = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'") else { continue };
        let names: Vec<String> =
            list.query_map([], |row| row.get(0)).expect("a list").map(|name| name.expect("a name")).collect();
        let records = names.iter().filter(|name| !describes(name));
        let rows: u64 =
            records.map(|name| count(&format!("SELECT count(*) FROM \"{name}\"")).expect("a count")).sum();
        // Rows that name the domains of others.
        let domains = count("SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 75").unwrap_or(0);
        let frames = open(&path);
        let told = rows_read(&frames) + rows_noted(&frames) + domains;
        assert_eq!(told, rows, "{}: {:?}", path.display(), frames.notes);
    }
}

#[test]
fn every_event_of_a_pytorch_trace_is_read_or_noted() {
    let Some(shared) = common::shared("every_event_of_a_pytorch_trace_is_read_or_noted") else { return };
    for path in files(&shared, &["torch"], &[".json", ".json.gz"]) {
        if path.to_string_lossy().ends_with(".truth.json") {
            continue;
        }
        let packed = std::fs::read(&path).expect("a file");
        let mut text = Vec::new();
        if packed.starts_with(&[0x1f, 0x8b]) {
            flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut text).expect("gzip");
        } else {
            text = packed;
        }
        let document: Value = serde_json::from_slice(&text).expect("JSON");
        let events = document["traceEvents"].as_array().or(document.as_array()).expect("events");
        let says_something = events.iter().filter(|event| {
            let text = |key: &str| event[key].as_str().unwrap_or_default();
            let arrow = matches!(text("ph"), "s" | "f") && matches!(text("cat"), "ac2g" | "async");
            let mark = text("ph") == "i" && event.get("cat").is_none();
            !(text("ph") == "M" || arrow || mark || text("cat") == "Trace")
        });
        let expected = says_something.count() as u64;
        let frames = open(&path);
        // A call's row says by the way which operator it belongs to.
        let told = rows_read(&frames) - frames.rows(&tables::EXTERNAL) + rows_noted(&frames);
        assert_eq!(told, expected, "{}: {:?}", path.display(), frames.notes);
    }
}
