//! report(import(export(x))) = report(x): every exporter, over traces made here, and those that write our own formats over
//! every shared file too. An exporter that is new is walked without a line here, and what does not come back has a reason.

use crate::common::build::*;
use crate::common::{TempFolder, answer, command, gpuprof, refused, shared};
use gpuprof::export::{EXPORTERS, Exporter};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The answers that have to be the same, to the character.
const REPORTS: &[&[&str]] = &[
    // The insights name the file.
    &["--no-insights"],
    &["--csv"],
    &["--print-gpu-trace", "--print-api-trace"],
    &["--print-summary-per-gpu"],
    &["--format", "json", "--percentiles", "--no-insights"],
    // Times as the trace counted them. All in one: starting the program is most of what this test takes.
    &[
        "--view",
        "cuda_kern_exec_sum",
        "--view",
        "nvtx_sum",
        "--view",
        "cuda_gpu_trace",
        "--view",
        "cuda_api_trace",
        "--format",
        "csv",
    ],
];

/// Formats that gpuprof does not read, and why.
const NOT_READ: &[(&str, &str)] = &[
    ("tsv", "the CSV timeline for other programs, which gpuprof reads as CSV"),
    ("jsonl", "the CSV timeline for other programs, which gpuprof reads as CSV"),
    ("perfetto", "for a viewer; it has what viewers draw"),
    ("flamegraph", "a picture"),
];

/// Formats that hold sums of GPU work alone, which come back as a profile.
const SUMS: &[&str] = &["folded", "speedscope"];

/// Reports that a format cannot answer as before, by its name, and why.
const DIFFERENT: &[(&str, &[&str], &str)] = &[
    // docs/lossy.md
    (
        "csv",
        &["--print-summary-per-gpu"],
        "it names the devices that did something; this report lists idle ones too",
    ),
];

/// Formats of other tools that come back whole. `round_trip_chrome.rs` and `round_trip_sqlite.rs` try them with all files.
const OTHERS: &[&str] = &["chrome", "sqlite", "nvprof"];

/// The standard output of a report, and its status; in JSON, without the notes, which name files.
fn report(path: &Path, options: &[&str]) -> (String, i32) {
    let answer = answer(&mut command(&[&["report", path.to_str().expect("a path")], options].concat()));
    if let Ok(mut json) = serde_json::from_str::<serde_json::Value>(&answer.stdout) {
        json["notes"].take();
        return (json.to_string(), answer.status);
    }
    (answer.stdout, answer.status)
}

fn same_answers(before: &[(String, i32)], copy: &Path, format: &str, what: &str) {
    for (options, before) in REPORTS.iter().zip(before) {
        if DIFFERENT.iter().any(|(name, report, _)| *name == format && report == options) {
            continue;
        }
        let after = report(copy, options);
        if *before != after {
            let line = before.0.lines().zip(after.0.lines()).find(|(a, b)| a != b);
            panic!(
                "{what}: report {options:?} differs, status {} and {}; first line: {line:#?}",
                before.1, after.1
            );
        }
    }
}

/// Nanoseconds by name, of one column of a table; without what has none, such as the callers in a profile.
fn sums(path: &Path, table: &str, name: &str, column: &str) -> BTreeMap<String, i64> {
    let document: Value = serde_json::from_str(&report(path, &["--format", "json"]).0).expect("JSON");
    let tables = document["tables"].as_array().expect("tables").iter().filter(|found| found["name"] == table);
    let mut sums = BTreeMap::new();
    for row in tables.flat_map(|table| table["rows"].as_array().expect("rows")) {
        let name = row[name].as_str().expect("a name").to_owned();
        *sums.entry(name).or_default() += row[column].as_i64().expect("a number");
    }
    sums.retain(|_, ns| *ns != 0);
    sums
}

/// Exports a trace; what came out.
fn exported(exporter: &Exporter, original: &Path, folder: &TempFolder, name: &str) -> PathBuf {
    // Without the ending of a file: of several processes it may be a folder.
    let output = folder.path().join(format!("{name}-{}", exporter.name));
    let [from, to] = [original, &output].map(|path| path.to_str().expect("a path"));
    let export = ["export", "--quiet", "--format", exporter.name, from, "-o", to];
    // Rows without a start do not come by themselves.
    let whole: &[&str] = if exporter.name == "csv" { &["--option", "untimed=yes"] } else { &[] };
    gpuprof(&[&export[..], whole].concat());
    output
}

fn round_trips(exporters: &[&Exporter], original: &Path, folder: &TempFolder, name: &str) {
    let before: Vec<_> = REPORTS.iter().map(|options| report(original, options)).collect();
    for exporter in exporters {
        let output = exported(exporter, original, folder, name);
        let what = format!("{} through {}", original.display(), exporter.name);
        if NOT_READ.iter().any(|(format, _)| *format == exporter.name) {
            refused(&["report", output.to_str().expect("a path")], &[]);
        } else if SUMS.contains(&exporter.name) {
            // Folded stacks are samples of nobody knows what, so they have no times.
            let column = if exporter.name == "folded" { "Self" } else { "Self Time (ns)" };
            let work = sums(original, "gpu_summary", "Name", "Total Time (ns)");
            assert!(!work.is_empty(), "{what}");
            assert_eq!(sums(&output, "cpu_samples", "Function", column), work, "{what}");
        } else {
            same_answers(&before, &output, exporter.name, &what);
        }
        let removed =
            if output.is_dir() { std::fs::remove_dir_all(&output) } else { std::fs::remove_file(&output) };
        removed.expect("the copy is there");
    }
}

/// The exporters of our own formats.
fn of_ours() -> Vec<&'static Exporter> {
    let is_ours = |exporter: &Exporter| {
        let is = |name: &str| name == exporter.name;
        !NOT_READ.iter().any(|(name, _)| is(name)) && !SUMS.iter().chain(OTHERS).any(|name| is(name))
    };
    EXPORTERS.iter().copied().filter(|exporter| is_ours(exporter)).collect()
}

/// Whether a name in one of the lists above is that of no exporter.
fn is_unknown(name: &str) -> bool {
    !EXPORTERS.iter().any(|exporter| exporter.name == name)
}

#[test]
fn traces_made_here_answer_as_before_from_every_format() {
    let folder = TempFolder::new("round-trip");
    let story = Story { rank: Some((3, 8)), ..Story::sample(300).with_ranges() };
    for (kind, bytes) in every_kind(&story) {
        let original = folder.file(&format!("original-{kind}"), &bytes);
        // What is read of any file is the same rows; other tools' formats are tried with ours alone, which takes a third
        // of the time.
        let exporters = if kind == "native" { EXPORTERS.to_vec() } else { of_ours() };
        round_trips(&exporters, &original, &folder, kind);
    }
    let listed = NOT_READ.iter().map(|(name, _)| *name).chain(DIFFERENT.iter().map(|(name, ..)| *name));
    let unknown: Vec<_> =
        listed.chain(SUMS.iter().chain(OTHERS).copied()).filter(|name| is_unknown(name)).collect();
    assert!(unknown.is_empty(), "no exporter is called {unknown:?}");
}

#[test]
fn shared_traces_answer_as_before_from_every_format() {
    let Some(shared) = shared("round_trip::shared_traces_answer_as_before_from_every_format") else { return };
    let folder = TempFolder::new("round-trip-shared");
    let text = std::fs::read_to_string(shared.join("data/MANIFEST.tsv")).expect("the manifest");
    let is_trace = |file: &&str| {
        let kinds = ["nvprof/", "nsys/", "torch/", "edge/"];
        let printed = [".csv", ".txt", ".csv.gz"].iter().any(|end| file.ends_with(end));
        kinds.iter().any(|kind| file.starts_with(kind)) && !printed
    };
    let files: Vec<&str> =
        text.lines().skip(1).filter_map(|line| line.split('\t').next()).filter(is_trace).collect();
    assert!(files.len() >= 10, "{} files of the manifest are traces", files.len());
    let exporters = of_ours();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    round_trips(&exporters, &shared.join("data").join(file), &folder, &file.replace('/', "_"));
                }
            });
        }
    });
}
