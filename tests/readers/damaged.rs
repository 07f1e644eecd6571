//! Files that are damaged, half-written or written by Windows: what is right in them is shown, and the rest is said.

use crate::common::build::{Native, Story, native_with};
use crate::common::{self, TempFolder, gpuprof, shared};
use gpuprof::trace::frames::Frames;
use gpuprof::trace::sink::Need;
use serde_json::Value;
use std::path::Path;
use trace_format::read::TraceReader;
use trace_format::tables::{CLOCK, PROCESS};

/// What a file shows; `Err`: why it is refused.
fn open(path: &Path) -> Result<Frames, String> {
    Frames::open(&[path.to_owned()], &Need::all()).map_err(|error| error.to_string())
}

fn said(frames: &Frames, code: &str) -> Vec<String> {
    frames.notes.iter().filter(|note| note.code == code).map(|note| note.text.clone()).collect()
}

/// The file with one bit of every whole frame of a table turned, in its header or behind it.
fn damage(file: &[u8], table: u16, in_header: bool) -> Vec<u8> {
    let bytes = file.to_vec();
    let frames = TraceReader::new(&bytes).expect("a trace").frames().to_vec();
    let mut damaged = bytes;
    for frame in frames.iter().filter(|frame| frame.table == table) {
        damaged[frame.offset as usize + if in_header { 20 } else { 66 }] ^= 4;
    }
    damaged
}

#[test]
fn a_damaged_process_or_clock_is_said_with_what_is_lost() {
    let folder = TempFolder::new("damaged-process");
    let story = Story { rank: Some((3, 8)), ..Story::sample(20) };
    // The index of a closed file holds what a damaged header says, so headers are damaged where there is none.
    for (close, in_header) in [(true, false), (false, false), (false, true)] {
        let file = native_with(&story, Native { close, ..Native::default() });
        let whole = open(&folder.file("whole.gpuprof", &file)).expect("a trace");
        let info = &whole.processes[0].info;
        assert!(info.pid.is_some() && info.rank == Some(3) && info.unix_offset_ns.is_some());
        assert!(whole.notes.iter().all(|note| note.code == "not-closed"), "{:?}", whole.notes);

        let frames =
            open(&folder.file("process.gpuprof", &damage(&file, PROCESS.id, in_header))).expect("the rest");
        assert_eq!((frames.processes[0].info.pid, frames.processes[0].info.rank), (None, None));
        assert_eq!(said(&frames, "unknown-process").len(), 1, "{:?}", frames.notes);
        assert_eq!(said(&frames, "unreadable-frame").len(), 1, "{:?}", frames.notes);

        let frames = open(&folder.file("clock.gpuprof", &damage(&file, CLOCK.id, in_header))).expect("the rest");
        assert_eq!((frames.processes[0].info.pid, frames.processes[0].info.unix_offset_ns), (info.pid, None));
        assert_eq!(said(&frames, "unknown-epoch").len(), 1, "{:?}", frames.notes);
        assert_eq!(said(&frames, "unreadable-frame").len(), 1, "{:?}", frames.notes);
    }
}

/// The report of a file of the shared collection as JSON, and its notes.
fn report(path: &Path) -> (Value, String) {
    let answer = gpuprof(&["report", "--format", "json", path.to_str().expect("a path")]);
    let document: Value = serde_json::from_str(&answer.stdout)
        .unwrap_or_else(|e| panic!("{}: {e}: {}{}", path.display(), answer.stdout, answer.stderr));
    let notes = document["notes"].to_string();
    (document, notes)
}

/// Calls and total time of a name, wherever the report has it.
fn sum_of(document: &Value, name: &str) -> Option<(i64, i64)> {
    let tables = document["tables"].as_array().expect("tables").iter();
    let mut rows = tables.flat_map(|table| table["rows"].as_array().expect("rows"));
    rows.find_map(|row| {
        let is = row["Name"] == name;
        is.then(|| Some((row["Calls"].as_i64()?, row["Total Time (ns)"].as_i64()?))).flatten()
    })
}

/// A file of the collection, and calls and nanoseconds by name.
type Case = (&'static str, &'static [(&'static str, i64, i64)]);

const SUMMARY: &[(&str, i64, i64)] =
    &[("scale(float*, int)", 3, 3_000_000), ("[CUDA memcpy HtoD]", 2, 1_000_000), ("cudaMalloc", 1, 8_000_000)];
const TRACE: &[(&str, i64, i64)] = &[("scale(float*, int)", 2, 2_000_000), ("[CUDA memcpy HtoD]", 1, 400_000)];
const STATS: &[(&str, i64, i64)] = &[("scale(float *, int)", 3, 3_000_000), ("shift(float *, int)", 2, 1_000_000)];
const KERNELS: &[(&str, i64, i64)] = &[("k0", 1, 10_000), ("k2", 1, 10_000), ("k3", 1, 10_000), ("k4", 1, 10_000)];

#[test]
fn reports_of_the_collection_give_the_values_beside_them() {
    let Some(shared) = shared("reports_of_the_collection_give_the_values_beside_them") else { return };
    let cases: &[Case] = &[
        ("01_nvprof_summary_utf16le_bom.txt", SUMMARY),
        ("02_nvprof_summary_utf16be_bom.txt", SUMMARY),
        ("03_nvprof_summary_utf8_bom.txt", SUMMARY),
        ("04_nvprof_gpu_trace_csv_utf16le_bom_crlf.csv", TRACE),
        ("04b_nvprof_gpu_trace_csv_utf8_bom_crlf.csv", TRACE),
        ("04c_nvprof_gpu_trace_csv_bom_header_first.csv", TRACE),
        ("05_nsys_kern_sum_utf8_bom.csv", STATS),
        ("05b_nsys_kern_sum_utf16le.csv", STATS),
        (
            "06_nvprof_gpu_trace_semicolons.csv",
            &[("scale(float*, int)", 1, 900_000), ("[CUDA memcpy HtoD]", 1, 400_000)],
        ),
        ("81a_kineto_odd_quote_in_name.json", KERNELS),
        ("81b_kineto_two_quotes_in_name.json", KERNELS),
        ("81c_kineto_trailing_backslash_in_name.json", KERNELS),
        ("72_nsys_2021_gpu_deviceid.sqlite", &[("fill_42_gpu", 1, 2_000)]),
        ("44_green_contexts.sqlite", &[("axpy(float*, int)", 1, 1_000)]),
        ("44b_green_contexts_in_contextid.sqlite", &[("axpy(float*, int)", 1, 1_000)]),
        ("15_rocprof_hip_stats.csv", &[("hipMemcpy", 3, 900_000_000), ("hipMalloc", 3, 60_000_000)]),
        ("53_nsys_stats_printed_2020.txt", &[("scale(float*, int)", 2, 900_000), ("cudaMalloc", 3, 3_000_000)]),
        ("54_nsys_stats_printed_2024.txt", &[("scale(float *, int)", 2, 900_000)]),
    ];
    for (name, expected) in cases {
        let (document, notes) = report(&shared.join("data/reports").join(name));
        for (of, calls, ns) in *expected {
            assert_eq!(sum_of(&document, of), Some((*calls, *ns)), "{name}: {of}: {document}");
        }
        let is_damaged = name.starts_with("81");
        assert_eq!(notes.contains("1 item that is no JSON event is left out"), is_damaged, "{name}: {notes}");
        assert!(!notes.contains("cut off"), "{name}: {notes}");
    }
}

#[test]
fn damage_of_the_collection_is_said() {
    let Some(shared) = shared("damage_of_the_collection_is_said") else { return };
    for (file, says) in [
        ("reports/22_torch_autograd_pre_kineto_broken_key.json", "1 item that is no JSON event is left out"),
        ("reports/31_kineto_dur_overruns_next.json", "1 kernel ends behind the next kernel"),
        ("reports/75_folded_comments_invalid.txt", "2 lines are comments or do not end in a number"),
        ("reports/33_speedscope_weights_not_split.json", "has 6 weights for 4 samples"),
        ("hostile/csv_cut_in_duration.csv", "the last, has no line end"),
    ] {
        let (_, notes) = report(&shared.join("data").join(file));
        assert!(notes.contains(says), "{file}: {notes}");
    }
    let (document, notes) = report(&shared.join("data/reports/35_folded_utf16le.txt"));
    assert!(document.to_string().contains("gemm") && !notes.contains("left out"), "{document}");
    for (file, says) in [
        ("reports/35c_folded_floats.txt", "fractions of samples"),
        ("reports/28b_json_lines_of_events.json", "make a list of them"),
        ("hostile/pq_rle_bomb", "200,000,000 rows are promised in 1,297,242 bytes"),
        ("hostile/hot_journal/hot.sqlite", "-journal holds what has to be put back first"),
    ] {
        let error = open(&shared.join("data").join(file)).err().unwrap_or_else(|| panic!("{file} is refused"));
        assert!(error.contains(says), "{file}: {error}");
    }
}

#[test]
fn what_was_made_to_take_for_ever_is_answered_at_once() {
    let Some(shared) = shared("what_was_made_to_take_for_ever_is_answered_at_once") else { return };
    let folder = TempFolder::new("hostile");
    // The others take a program without optimization its time.
    let names = [
        "arrow_abort",
        "generated_column.sqlite",
        "hot_journal",
        "parquet_dictionary_panic_text",
        "parquet_struct_panic",
        "pq_rle_bomb",
        "reps3k.gpuprof",
        "timeline_abort.json",
        "timeline_div0.json",
        "timeline_one_far.json",
    ];
    let traces = names.map(|name| shared.join("data/hostile").join(name));
    for trace in &traces {
        let path = trace.to_str().expect("a path");
        let page = folder.path().join("page.html");
        let page = page.to_str().expect("a path");
        let png = folder.path().join("picture.png");
        let png = png.to_str().expect("a path");
        for args in [
            &["report", path][..],
            &["info", path],
            &["timeline", path, "-o", page],
            &["timeline", path, "--format", "text"],
            &["timeline", path, "-o", png],
        ] {
            // Threads reserve more than is used, which is less than a hundred megabytes.
            let mut limited = std::process::Command::new("sh");
            limited
                .args(["-c", "ulimit -v 12000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_gpuprof")])
                .args(args);
            let before = std::time::Instant::now();
            let answer = common::answer(&mut limited);
            assert!((0..=2).contains(&answer.status), "{args:?}: {}", answer.stderr);
            assert!(before.elapsed().as_secs() < 30, "{args:?}: {:?}", before.elapsed());
        }
    }
}

#[test]
fn a_range_says_which_launches_of_its_time_it_does_not_hold() {
    let Some(shared) = shared("a_range_says_which_launches_of_its_time_it_does_not_hold") else { return };
    let path = shared.join("data/reports/80_kineto_step_with_autograd_thread.json");
    let said = gpuprof(&["report", "--range", "ProfilerStep#2", path.to_str().expect("a path")]).stderr;
    assert!(said.contains("2 launches were made by other threads while the range was open"), "{said}");
    // A range that belongs to no thread holds them all.
    let path = shared.join("data/reports/40_nvtx_start_end_across_threads.sqlite");
    let said = gpuprof(&["report", "--range", "train_step", path.to_str().expect("a path")]).stderr;
    assert!(!said.contains("other thread"), "{said}");
}

#[test]
fn our_own_exports_that_are_not_read_back_are_called_by_their_names() {
    let folder = TempFolder::new("not-read-back");
    let trace = folder.argument("trace.gpuprof", &native_with(&Story::sample(5), Native::default()));
    for format in ["jsonl", "tsv"] {
        let out = folder.path().join(format!("out.{format}"));
        let out = out.to_str().expect("a path");
        gpuprof(&["export", "-q", "-F", format, &trace, "-o", out]);
        common::refused(
            &["report", out],
            &[&format!("`gpuprof export --format {format}` wrote"), "export it as csv"],
        );
    }
}
