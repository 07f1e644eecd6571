//! Rows of imported files that are too many for memory go to a temporary file. No answer may show where they are.

use crate::common::build::{Story, every_kind};
use crate::common::everything::everything;
use crate::common::foreign::foreign_kinds;
use crate::common::{Answer, TempFolder, gpuprof, gpuprof_with, shared};
use std::path::Path;

const VARIABLE: &str = "GPUPROF_IMPORT_MEMORY";

/// What is asked of each file. All tables are read by one or the other, in pieces, in order of time and as a whole.
const QUESTIONS: &[&[&str]] = &[
    &["info"],
    &["report", "--print-summary-per-gpu", "--percentiles"],
    &["report", "--print-gpu-trace", "--print-api-trace", "--csv"],
    &[
        "report",
        "--view",
        "steps_sum,gpu_gaps,gpu_time_breakdown,insights,nvtx_sum,cuda_kern_exec_sum",
        "--format",
        "json",
    ],
    &["export", "-F", "csv", "-o", "-"],
    &["export", "-F", "chrome", "-o", "-"],
    &["export", "-F", "folded", "-o", "-"],
];

fn ask(question: &[&str], paths: &[&str], memory: &str) -> Answer {
    gpuprof_with(&[(VARIABLE, memory)], &[question, paths].concat())
}

/// Asks everything of some files twice. How many questions had an answer.
fn compare(what: &str, paths: &[&str]) -> usize {
    let mut answered = 0;
    for question in QUESTIONS {
        let [here, away] = ["1TiB", "1"].map(|memory| ask(question, paths, memory));
        assert_eq!(here.stdout, away.stdout, "{what}: {question:?}");
        assert_eq!((here.status, here.stderr), (away.status, away.stderr), "{what}: {question:?}");
        answered += usize::from(away.status == 0);
    }
    answered
}

#[test]
fn every_reader_answers_the_same_from_memory_and_from_a_temporary_file() {
    let story = Story::sample(60).with_ranges();
    let folder = TempFolder::new("rows-in-file");
    for (kind, bytes) in every_kind(&story) {
        let answered = compare(kind, &[&folder.argument(&format!("{kind}.trace"), &bytes)]);
        assert!(answered >= 5, "{kind}: {answered} answers");
    }
    for (kind, bytes) in foreign_kinds() {
        compare(kind, &[&folder.argument(&format!("{kind}.foreign"), &bytes)]);
    }
}

#[test]
fn exports_with_every_table_and_column_answer_the_same() {
    let folder = TempFolder::new("rows-in-file-exports");
    let traces = [(11, Some(1_700_000_000_000_000_000), 1_000), (12, None, 5_000)]
        .map(|(pid, epoch, first)| folder.argument(&format!("{pid}.gpuprof"), &everything(pid, epoch, first)));
    let [one, two] = &traces;
    for format in ["csv-tables", "parquet", "arrow"] {
        let out = folder.path().join(format);
        let out = out.to_str().expect("UTF-8");
        assert_eq!(gpuprof(&["export", "-q", "--align", "start", "-F", format, "-o", out, one, two]).status, 0);
        assert!(compare(format, &[out]) >= 6, "{format}");
        // All columns of all tables, the times of processes with and without an epoch among them.
        let [here, away] = ["1TiB", "1"].map(|memory| {
            let back = folder.path().join(format!("{format}-{memory}"));
            let exported =
                ask(&["export", "-q", "-F", "csv-tables", "-o", back.to_str().expect("UTF-8")], &[out], memory);
            assert_eq!(exported.status, 0, "{}", exported.stderr);
            files(&back)
        });
        assert!(here.len() > 10, "{format}: {} files", here.len());
        assert_eq!(here, away, "{format}");
        // With others beside it, which share the memory.
        compare(format, &[out, out]);
    }
}

/// Names and contents of the files of a folder.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|path| (path.file_name().expect("a name").display().to_string(), std::fs::read(path).expect("a file")))
        .collect();
    files.sort();
    files
}

#[test]
fn real_traces_answer_the_same() {
    let Some(data) = shared("rows_in_file::real_traces_answer_the_same") else { return };
    let traces = [
        "nvprof/tf_mnist_titanx_v8.nvvp",
        "nsys/mock_rtx3080_2026.1_s3.24.sqlite",
        "torch/nccl_2rank_2024.json.gz",
    ];
    for trace in traces {
        let path = data.join("data").join(trace);
        assert!(compare(trace, &[path.to_str().expect("UTF-8")]) >= 5, "{trace}");
    }
}

#[test]
fn without_room_for_a_temporary_file_all_rows_stay_in_memory_and_a_note_says_so() {
    let folder = TempFolder::new("rows-in-file-no-room");
    let (_, bytes) =
        every_kind(&Story::sample(30)).into_iter().find(|(kind, _)| *kind == "kineto 2024").expect("kineto");
    let path = folder.argument("t.json", &bytes);
    let expected = ask(&["report"], &[&path], "1TiB");
    let answer = gpuprof_with(&[(VARIABLE, "1"), ("TMPDIR", "/nowhere")], &["report", &path]);
    assert_eq!((answer.status, answer.stdout), (0, expected.stdout));
    let notes: Vec<&str> = answer.stderr.lines().filter(|line| !expected.stderr.contains(line)).collect();
    assert_eq!(notes.len(), 1, "{}", answer.stderr);
    for part in ["/nowhere", "a temporary file there failed", "set TMPDIR", "kept in memory"] {
        assert!(notes[0].contains(part), "{}", notes[0]);
    }
}

#[test]
fn a_value_that_is_no_size_is_refused() {
    let folder = TempFolder::new("rows-in-file-value");
    let path = folder.argument("t.json", &every_kind(&Story::sample(3)).swap_remove(0).1);
    let answer = ask(&["report"], &[&path], "much");
    assert_eq!(answer.status, 2);
    assert!(
        answer.stderr.contains("GPUPROF_IMPORT_MEMORY=much: is not a size such as 512KiB"),
        "{}",
        answer.stderr
    );
}
