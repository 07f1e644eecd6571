//! The same records give the same answer, whoever stored them, in whatever order, in however many pieces, with however
//! many threads.

use crate::common::build::*;
use crate::common::{TempFolder, gpuprof, gpuprof_with};
use gpuprof::analysis::grouping::{Grouping, api_summary, gpu_summary};
use gpuprof::analysis::labels::Labels;
use gpuprof::analysis::stats::Wanted;
use gpuprof::analysis::summary::Summary;
use gpuprof::demangle::Demangling;
use gpuprof::trace::frames::Frames;
use gpuprof::trace::select::Filter;
use gpuprof::trace::sink::Need;
use std::path::PathBuf;
use trace_format::write::WriteOptions;

/// GPU and API summary of some files, durations included.
fn summaries(paths: &[PathBuf]) -> [Summary; 2] {
    let frames = Frames::open(paths, &Need::all()).unwrap_or_else(|e| panic!("{e}"));
    let labels = Labels::new(&frames, Demangling::On);
    let (all, wanted) = (Filter::everything(), Wanted { quantiles: true });
    let mut both = [
        gpu_summary(&labels, Grouping::default(), wanted, &all).unwrap_or_else(|e| panic!("{e}")),
        api_summary(&labels, false, wanted, &all).unwrap_or_else(|e| panic!("{e}")),
    ];
    // Durations are kept in no order; what is asked of them is not.
    for row in both.iter_mut().flat_map(|summary| &mut summary.rows) {
        let durations = &mut row.stats.durations;
        let sorted: Vec<i64> = (0..durations.len()).map(|k| durations.nth_smallest(k).unwrap()).collect();
        *durations = Default::default();
        sorted.into_iter().for_each(|ns| durations.push(ns));
    }
    both
}

/// Everything that `report` can print about some files.
const REPORTS: &[&[&str]] = &[
    &[],
    &["--csv", "-u", "ns"],
    &["--print-summary-per-gpu"],
    &["--print-gpu-trace", "--csv"],
    &["--print-api-trace", "--csv"],
    &["--print-gpu-trace", "--print-api-trace"],
    &["--percentiles", "--format", "csv", "--group-by", "name,stream"],
];

fn reports(path: &str, variables: &[(&str, &str)]) -> Vec<String> {
    let one = |options: &&[&str]| {
        let answer = gpuprof_with(variables, &[&["report"], *options, &[path]].concat());
        assert_eq!(answer.status, 0, "{options:?} {path}: {}", answer.stderr);
        answer.stdout
    };
    REPORTS.iter().map(one).collect()
}

#[test]
fn every_format_gives_the_same_summary() {
    let story = Story::sample(60);
    let folder = TempFolder::new("same-format");
    let mut expected = None;
    for (kind, bytes) in every_kind(&story) {
        let path = folder.argument(&format!("{kind}.trace"), &bytes);
        let printed = ["--print-summary-per-gpu", "--print-summary", "--percentiles"]
            .map(|option| gpuprof(&["report", option, &path]).stdout);
        let [gpu, _] = summaries(&[PathBuf::from(&path)]);
        let totals = gpu.rows.iter().map(|row| (row.name.clone(), (row.stats.count, row.stats.total_ns))).collect();
        assert_eq!(story.gpu_totals(), totals, "{kind}");
        match &expected {
            // What the first one printed is known to be right from the totals above.
            None => expected = Some(printed),
            Some(expected) if kind == "kineto 2020" => {
                // Without a header there are no names of devices.
                assert_eq!(printed[1..], expected[1..], "{kind}");
            }
            Some(expected) => assert_eq!(printed, *expected, "{kind}"),
        }
    }
}

#[test]
fn every_format_that_has_ranges_gives_the_same_nvtx_section() {
    let story = Story::sample(20).with_ranges();
    let folder = TempFolder::new("same-ranges");
    let print = |bytes: Vec<u8>| {
        let text = gpuprof(&["report", &folder.argument("t", &bytes)]).stdout;
        text[text.find("======== NVTX result:").expect("a section")..].to_owned()
    };
    let expected = print(native(&story));
    assert_eq!(expected.matches(" Range \"").count(), 3, "{expected}");
    assert_eq!(print(nvprof(&story, 16)), expected);
    assert_eq!(print(nvvp_session(&nvprof(&story, 16), 2)), expected);
    assert_eq!(print(nsys(&story, NsysEra::Of2020)), expected);
    assert_eq!(print(nsys(&story, NsysEra::Of2026)), expected);
}

#[test]
fn hundred_shuffles_of_the_rows_change_nothing() {
    let story = Story::sample(50).with_ranges();
    let folder = TempFolder::new("same-shuffle");
    let options = Native { rows_per_frame: 16, ..Native::default() };
    let path = folder.file("t.gpuprof", &native_with(&story, options));
    let expected = summaries(std::slice::from_ref(&path));
    let printed = reports(path.to_str().unwrap(), &[]);
    let mut random = Random(7);
    for round in 0..100 {
        let mut shuffled = story.clone();
        random.shuffle(&mut shuffled.kernels);
        random.shuffle(&mut shuffled.copies);
        random.shuffle(&mut shuffled.fills);
        random.shuffle(&mut shuffled.calls);
        random.shuffle(&mut shuffled.ranges);
        std::fs::write(&path, native_with(&shuffled, options)).unwrap();
        assert_eq!(summaries(std::slice::from_ref(&path)), expected, "shuffle {round}");
        if round % 25 == 0 {
            assert_eq!(reports(path.to_str().unwrap(), &[]), printed, "shuffle {round}");
        }
    }
}

#[test]
fn shuffled_rows_of_foreign_files_change_nothing() {
    let story = Story::sample(40);
    let folder = TempFolder::new("same-foreign");
    let mut shuffled = story.clone();
    let mut random = Random(11);
    random.shuffle(&mut shuffled.kernels);
    random.shuffle(&mut shuffled.copies);
    random.shuffle(&mut shuffled.calls);
    for ((kind, bytes), (_, other)) in every_kind(&story).into_iter().zip(every_kind(&shuffled)) {
        let [a, b] = [folder.file("a", &bytes), folder.file("b", &other)];
        assert_eq!(summaries(std::slice::from_ref(&a)), summaries(std::slice::from_ref(&b)), "{kind}");
        for option in ["--print-gpu-trace", "--print-api-trace"] {
            let [a, b] = [&a, &b].map(|path| gpuprof(&["report", option, path.to_str().unwrap()]).stdout);
            assert_eq!(a, b, "{kind} {option}");
        }
    }
}

#[test]
fn any_number_of_frames_gives_the_same_answer() {
    let story = Story::sample(60).with_ranges();
    let folder = TempFolder::new("same-frames");
    let path = folder.file("t.gpuprof", &native(&story));
    let text = path.to_str().unwrap();
    let (expected, printed) = (summaries(std::slice::from_ref(&path)), reports(text, &[]));
    // Indices and repeated definitions between the rows, too.
    let dense = WriteOptions { index_every_bytes: 4_000, repeat_every_bytes: 6_000, ..WriteOptions::default() };
    for rows_per_frame in [1, 2, 3, 7, 59, 60] {
        for write in [WriteOptions::default(), dense] {
            for close in [true, false] {
                let options = Native { rows_per_frame, close, write, ..Native::default() };
                std::fs::write(&path, native_with(&story, options)).unwrap();
                assert_eq!(summaries(std::slice::from_ref(&path)), expected, "{options:?}");
            }
        }
        assert_eq!(reports(text, &[]), printed, "{rows_per_frame} rows per frame");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_answer() {
    let story = Story::sample(80).with_ranges();
    let folder = TempFolder::new("same-threads");
    let files = [
        folder.argument("t.gpuprof", &native_with(&story, Native { rows_per_frame: 5, ..Native::default() })),
        folder.argument("t.sqlite", &nsys(&story, NsysEra::Of2026)),
        folder.argument("t.json.gz", &gzip(&kineto(&story, KinetoEra::Base2024))),
    ];
    for path in &files {
        let expected = reports(path, &[("RAYON_NUM_THREADS", "1")]);
        for threads in ["2", "7"] {
            assert_eq!(reports(path, &[("RAYON_NUM_THREADS", threads)]), expected, "{threads} threads, {path}");
        }
    }
}

/// Four processes of one job: two per format.
fn job() -> Vec<(String, Vec<u8>)> {
    (0..4)
        .map(|rank| {
            let mut story = Story { pid: 100 + rank, rank: Some((rank, 4)), ..Story::sample(12 + u64::from(rank)) };
            for kernel in &mut story.kernels {
                kernel.end += i64::from(rank) * 1_000;
            }
            let bytes = if rank % 2 == 0 { native(&story) } else { kineto(&story, KinetoEra::Base2024) };
            (format!("rank-{rank}.trace"), bytes)
        })
        .collect()
}

#[test]
fn the_order_in_which_files_are_named_changes_nothing() {
    let folder = TempFolder::new("same-files");
    let mut paths: Vec<String> = job().iter().map(|(name, bytes)| folder.argument(name, bytes)).collect();
    let run = |paths: &[String], option: &str| {
        let mut args = vec!["report", option];
        args.extend(paths.iter().map(String::as_str));
        gpuprof(&args).stdout
    };
    let options = ["--print-summary", "--per-process", "--print-gpu-trace"];
    let expected = options.map(|option| run(&paths, option));
    let mut random = Random(3);
    for _ in 0..5 {
        random.shuffle(&mut paths);
        assert_eq!(options.map(|option| run(&paths, option)), expected, "{paths:?}");
    }
    // A file named twice counts once.
    paths.push(paths[0].clone());
    assert_eq!(options.map(|option| run(&paths, option)), expected, "{paths:?}");
    // So do all of them as a folder and by a pattern.
    let all = folder.path().to_str().unwrap().to_owned();
    let pattern = format!("{all}/rank-?.trace");
    assert_eq!(options.map(|option| run(std::slice::from_ref(&all), option)), expected);
    assert_eq!(options.map(|option| run(std::slice::from_ref(&pattern), option)), expected);
    assert_eq!(options.map(|option| run(&[pattern.clone(), all.clone()], option)), expected);
}

#[test]
fn a_ring_of_segments_reads_as_one_trace() {
    use trace_format::header::FileHeader;
    use trace_format::write::{SegmentFiles, SegmentedWriter};
    let story = Story::sample(300);
    let folder = TempFolder::new("same-segments");
    let whole = folder.file("whole.gpuprof", &native(&story));
    let expected = summaries(&[whole]);
    // Written through the ring of the collector itself: every segment repeats what defines names and shapes.
    let ring = folder.path().join("ring");
    std::fs::create_dir_all(&ring).unwrap();
    let batches = native_batches(&story, 20);
    let segments = SegmentFiles { trace: ring.join("run.gpuprof") };
    let header = FileHeader::new("gpuprof 0.1.0", EPOCH);
    let mut writer =
        SegmentedWriter::create(segments, &header, WriteOptions::default(), 8_000, u64::MAX).expect("a ring");
    writer.write_json(&trace_format::tables::PROCESS, &serde_json::json!({"pid": story.pid})).unwrap();
    batches.iter().for_each(|batch| writer.write_batch(batch).unwrap());
    writer.finish(&serde_json::json!({})).unwrap();
    let files = ring.read_dir().unwrap().count();
    assert!(files >= 3, "only {files} segments");
    assert_eq!(summaries(&[ring]), expected);
}
