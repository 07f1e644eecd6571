//! The law that nothing is dropped in silence: in every file of the shared collection, rows read and rows noted as not
//! read are together the rows in the file, as another reader of the file counts them.
//!
//! The collection lies outside the repository: `GPUPROF_SHARED`, else `../shared`. Generated files are held to the same
//! law beside each reader.

use crate::common::foreign::{
    FOLDED, NVPROF_GPU_CSV, NVPROF_SUMMARY_CSV, NVPROF_SUMMARY_OLD, cprofile, foreign_kinds,
};
use crate::common::{self, TempFolder};
use gpuprof::trace::frames::Frames;
use gpuprof::trace::sink::Need;
use gpuprof::trace::summaries::Content;
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

/// Rows of sums, calls and samples that a file holds beside records.
fn rows_of_sums(frames: &Frames) -> u64 {
    let rows = frames.summaries.iter().map(|summary| match &summary.summary.content {
        Content::Samples(profile) => profile.samples,
        content => content.rows() as u64,
    });
    rows.sum()
}

/// What notes say is left out, in whatever words, each note beginning with the number.
fn left_out(frames: &Frames) -> u64 {
    let texts = frames.notes.iter().filter(|note| note.code == "left-out").map(|note| note.text.split_once(": "));
    let digits = texts.filter_map(|text| text?.1.split(' ').next()?.replace(',', "").parse::<u64>().ok());
    digits.sum()
}

/// What is told of a text file: rows, sums, and what is left out.
fn told(folder: &TempFolder, bytes: &[u8]) -> Option<u64> {
    let path = folder.file("file", bytes);
    let frames = Frames::open(&[path], &Need::all()).ok()?;
    Some(rows_read(&frames) + rows_of_sums(&frames) + left_out(&frames))
}

#[test]
fn a_line_that_is_no_row_is_counted_wherever_it_stands_in_a_printed_table() {
    let folder = TempFolder::new("unread-printed");
    let mut tables = 0;
    for (kind, bytes) in foreign_kinds() {
        if !["nvprof", "nsys", "rocprof"].iter().any(|tool| kind.starts_with(tool)) {
            continue;
        }
        let text = String::from_utf8(bytes).expect("text");
        let lines: Vec<&str> = text.lines().collect();
        let with = |lines: &[&str]| told(&folder, format!("{}\n", lines.join("\n")).as_bytes());
        let all = with(&lines).unwrap_or_else(|| panic!("{kind} is read"));
        let mut rows = 0;
        for i in 0..lines.len() {
            if !lines[i].trim_start().starts_with(|begin: char| begin.is_ascii_digit() || begin == '"') {
                continue;
            }
            let without: Vec<&str> =
                lines.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, line)| *line).collect();
            // A line is a row if the file has one less without it.
            if with(&without) != Some(all - 1) {
                continue;
            }
            rows += 1;
            let mut more = lines.clone();
            more.insert(i + 1, "this is no row");
            assert_eq!(with(&more), Some(all + 1), "{kind}: behind line {}", i + 1);
        }
        tables += u32::from(rows > 0);
    }
    assert!(tables >= 10, "{tables}");
    for (text, stray, first) in [
        (NVPROF_GPU_CSV, "1.2,3", 9),
        (NVPROF_SUMMARY_CSV, "what,is,this", 5),
        (NVPROF_SUMMARY_OLD, "what is this", 5),
    ] {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.insert(first, stray);
        lines.insert(first, stray);
        let path = folder.file("two", lines.join("\n").as_bytes());
        let frames = open(&path);
        let said = format!("2 lines among the rows are not rows and are left out; the first is line {}", first + 1);
        assert!(frames.notes.iter().any(|note| note.text.ends_with(&said)), "{:?}", frames.notes);
    }
}

#[test]
fn every_line_of_folded_stacks_is_read_or_noted() {
    let folder = TempFolder::new("unread-folded");
    let mut texts = vec![FOLDED.to_owned(), format!("{FOLDED}# a comment 5\nno number\nmain;f 3\n")];
    if let Some(shared) = common::shared("every_line_of_folded_stacks_is_read_or_noted") {
        for file in ["python/pyspy.collapsed.txt", "reports/75_folded_comments_invalid.txt"] {
            texts.push(std::fs::read_to_string(shared.join("data").join(file)).expect("text"));
        }
    }
    for text in texts {
        let mut expected = (0, 0);
        for line in text.lines().filter(|line| !line.is_empty()) {
            let number = line.rsplit_once(' ').and_then(|(_, number)| number.parse::<u64>().ok());
            match number.filter(|_| !line.starts_with('#')) {
                Some(samples) => expected.0 += samples,
                None => expected.1 += 1,
            }
        }
        let frames = open(&folder.file("folded.txt", text.as_bytes()));
        assert_eq!((rows_of_sums(&frames), left_out(&frames)), expected, "{:?}", frames.notes);
    }
}

#[test]
fn every_sample_and_range_of_a_speedscope_profile_is_read_or_noted() {
    let folder = TempFolder::new("unread-speedscope");
    // A frame that there is none of, an end that nothing began, a beginning without a time.
    let odd = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"}]},
        "profiles":[{"type":"sampled","name":"s","unit":"none","startValue":0,"endValue":3,"samples":[[0],[9],[0]],
        "weights":[1,1,1]},{"type":"evented","name":"e","unit":"none","startValue":0,"endValue":9,"events":[
        {"type":"O","frame":0,"at":1},{"type":"C","frame":0,"at":2},{"type":"O","frame":7,"at":3}]}]}"#;
    let mut files = vec![folder.file("odd.json", odd.as_bytes())];
    if let Some(shared) = common::shared("every_sample_and_range_of_a_speedscope_profile_is_read_or_noted") {
        let names = ["pyspy", "simple_evented", "two_sampled"];
        files.extend(names.map(|name| shared.join(format!("data/python/{name}.speedscope.json"))));
        files.push(shared.join("data/reports/33_speedscope_weights_not_split.json"));
        files.push(shared.join("data/reports/34_pyspy_old_endvalue.json"));
    }
    for path in files {
        let document: Value = serde_json::from_slice(&std::fs::read(&path).expect("a file")).expect("JSON");
        let profiles = document["profiles"].as_array().expect("profiles").iter();
        let expected = profiles.map(|profile| match profile["events"].as_array() {
            Some(events) => events.iter().filter(|event| event["type"] == "O").count(),
            None => profile["samples"].as_array().expect("samples").len(),
        });
        let frames = open(&path);
        let told = rows_read(&frames) + rows_of_sums(&frames) + left_out(&frames);
        assert_eq!(told, expected.sum::<usize>() as u64, "{}: {:?}", path.display(), frames.notes);
    }
}

#[test]
fn every_entry_of_a_cprofile_dump_is_read_or_noted() {
    let folder = TempFolder::new("unread-cprofile");
    let whole = cprofile();
    assert_eq!(told(&folder, &whole), Some(2));
    // Two calls of the last function become none at all.
    let calls = b"i\x02\0\0\0i\x02\0\0\0";
    let at = whole.windows(calls.len()).rposition(|bytes| bytes == calls).expect("calls");
    let odd = [&whole[..at], b"NN", &whole[at + calls.len()..]].concat();
    let frames = open(&folder.file("odd.prof", &odd));
    assert_eq!((rows_of_sums(&frames), left_out(&frames)), (1, 1), "{:?}", frames.notes);
    let Some(shared) = common::shared("every_entry_of_a_cprofile_dump_is_read_or_noted") else { return };
    let path = shared.join("data/python/cprofile_py311.prof");
    let truth = std::fs::read(path.with_extension("prof.truth.json")).expect("a truth");
    let truth: Value = serde_json::from_slice(&truth).expect("JSON");
    let functions = truth["functions"].as_u64().expect("a number");
    let frames = open(&path);
    assert_eq!(rows_of_sums(&frames) + left_out(&frames), functions, "{:?}", frames.notes);
}
