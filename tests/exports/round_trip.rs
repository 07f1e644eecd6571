//! report(import(export(x))) = report(x): every format of ours that can hold a trace, over every shared file and
//! over traces made here.

use crate::common::build::*;
use crate::common::{TempFolder, answer, command, gpuprof, shared};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The answers that have to be the same, to the character.
const REPORTS: &[&[&str]] = &[
    &[],
    &["--csv"],
    &["--print-gpu-trace"],
    &["--print-api-trace", "--csv"],
    &["--print-summary-per-gpu"],
    &["--format", "json", "--percentiles", "--no-insights"],
    &["--view", "cuda_kern_exec_sum", "--view", "nvtx_sum", "--format", "csv"],
    // Times as the trace counted them.
    &["--view", "cuda_gpu_trace", "--view", "cuda_api_trace", "--format", "csv"],
];

/// Formats that are read back, and what their output is called.
const FORMATS: &[(&str, &str)] = &[
    ("csv", "timeline.csv"),
    ("csv-tables", "csv-tables"),
    ("parquet", "parquet"),
    ("arrow", "arrow"),
    // Without the ending of a file: of several processes it is a folder.
    ("gpuprof", "gpuprof"),
];

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
        if format == "csv" && options == &["--print-summary-per-gpu"] {
            // A CSV timeline names the devices that did something; this report lists idle ones too (docs/lossy.md).
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

fn round_trips(original: &Path, folder: &TempFolder, name: &str) {
    let before: Vec<_> = REPORTS.iter().map(|options| report(original, options)).collect();
    for (format, output) in FORMATS {
        let output: PathBuf = folder.path().join(format!("{name}-{output}"));
        let argument = output.to_str().expect("a path");
        let export = ["export", "--quiet", "--format", format, original.to_str().expect("a path"), "-o", argument];
        // Rows without a start do not come by themselves.
        let whole: &[&str] = if *format == "csv" { &["--option", "untimed=yes"] } else { &[] };
        gpuprof(&[&export[..], whole].concat());
        same_answers(&before, &output, format, &format!("{} through {format}", original.display()));
        let removed =
            if output.is_dir() { std::fs::remove_dir_all(&output) } else { std::fs::remove_file(&output) };
        removed.expect("the copy is there");
    }
}

#[test]
fn traces_made_here_answer_as_before_from_every_format() {
    let folder = TempFolder::new("round-trip");
    let story = Story { rank: Some((3, 8)), ..Story::sample(300).with_ranges() };
    for (kind, bytes) in every_kind(&story) {
        let original = folder.file(&format!("original-{kind}"), &bytes);
        round_trips(&original, &folder, kind);
    }
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
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    round_trips(&shared.join("data").join(file), &folder, &file.replace('/', "_"));
                }
            });
        }
    });
}
