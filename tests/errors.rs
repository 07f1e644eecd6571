//! What can be wrong with a trace: each has a message that says where, why and what to do, a status, and never a panic
//! or half an answer on the standard output.

mod common;

use common::build::*;
use common::{Answer, TempFolder, gpuprof, gpuprof_in, refused};
use gpuprof::analysis::grouping::{Grouping, gpu_summary};
use gpuprof::analysis::labels::Labels;
use gpuprof::analysis::stats::Wanted;
use gpuprof::demangle::Demangling;
use gpuprof::trace::frames::Frames;
use gpuprof::trace::select::Filter;
use gpuprof::trace::sink::{Need, Note};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// A file that must be refused with its path, all of `words` and, behind a semicolon, what to do about it.
fn refuse(folder: &TempFolder, name: &str, bytes: &[u8], words: &[&str]) {
    let path = folder.argument(name, bytes);
    for command in ["report", "info"] {
        let message = refused(&[command, &path], &[&[path.as_str()], words].concat());
        let (_, rest) = message.split_once(&format!("{path}: ")).expect("the path comes first");
        let (reason, remedy) = rest.split_once("; ").unwrap_or_else(|| panic!("no remedy: {message}"));
        assert!(!reason.is_empty() && remedy.trim().len() > 5, "{message}");
        assert_eq!(message.lines().count(), 1, "one line: {message}");
        assert!(!message.trim_end().ends_with('.'), "no full stop: {message}");
    }
}

/// Runs `report` on bytes that can be used: status and what was printed.
fn report(folder: &TempFolder, name: &str, bytes: &[u8], options: &[&str]) -> Answer {
    let path = folder.argument(name, bytes);
    gpuprof_in(Path::new("."), &[&["report"], options, &[&path]].concat())
}

/// Count and total of GPU work, and all notes; or why the file cannot be used.
fn totals(path: &Path) -> Result<((u64, u128), Vec<Note>), String> {
    let paths = [path.to_owned()];
    let frames = Frames::open(&paths, &Need::all()).map_err(|e| e.to_string())?;
    let labels = Labels::new(&frames, Demangling::On);
    let all = Filter::everything();
    let summary = gpu_summary(&labels, Grouping::default(), Wanted::default(), &all).map_err(|e| e.to_string())?;
    let mut notes = gpuprof::analysis::partial::notes(&frames, &all, &Need::all()).map_err(|e| e.to_string())?;
    notes.extend(frames.all_notes());
    Ok(((summary.rows.iter().map(|row| row.stats.count).sum(), summary.total_ns()), notes))
}

// ------------------------------------------------------------------------------------------------ whole files

#[test]
fn an_empty_file_is_refused_whatever_its_name() {
    let folder = TempFolder::new("err-empty");
    for name in ["a.gpuprof", "a.nvvp", "a.sqlite", "a.json", "a.json.gz", "a"] {
        refuse(&folder, name, b"", &["empty"]);
    }
}

#[test]
fn zeros_are_no_trace() {
    let folder = TempFolder::new("err-zeros");
    for name in ["a.gpuprof", "a.nvvp", "a.sqlite", "a.json", "a.json.gz"] {
        refuse(&folder, name, &[0; 5_000], &["not a database: zeros", "copy or export it again"]);
    }
}

#[test]
fn files_of_other_kinds_are_refused_by_name() {
    let folder = TempFolder::new("err-kinds");
    let lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:4cea4b\nsize 2686976\n";
    refuse(&folder, "a.sqlite", lfs, &["Git LFS pointer", "git lfs pull"]);
    let legacy = [0u8, 4, 0, 0, 4, 0, 0, 0, 1, 4, 0, 0, 9, 9];
    refuse(&folder, "a.nvprof", &legacy, &["nvprof of CUDA 5", "record it again"]);
    refuse(&folder, "a.nsys-rep", b"\x01\x02opaque", &["Nsight Systems report", "nsys export --type sqlite"]);
    refuse(&folder, "b.qdrep", b"\x01\x02opaque", &["Nsight Systems report", "nsys export --type sqlite"]);
    refuse(&folder, "c.qdstrm", b"\x01\x02opaque", &["raw stream", "QdstrmImporter"]);
    let session = nvvp_session(b"never unpacked", 1);
    refuse(&folder, "d.nvvp", &session, &["Visual Profiler session of CUDA 5", "record it again"]);
    refuse(
        &folder,
        "e.txt",
        b"==531== NVPROF is profiling process 531\n",
        &["printed output of nvprof without a table", "print it again"],
    );
    refuse(
        &folder,
        "e.csv",
        b"Time (%),Total Time (ns),Instances,Avg (ns),Min (ns),Max (ns),Name\n",
        &["nsys stats without rows", "nsys export"],
    );
    refuse(&folder, "f.zip", b"PK\x03\x04rest", &["zip archive", "unpack it"]);
    refuse(&folder, "g.zst", &[0x28, 0xb5, 0x2f, 0xfd, 1], &["zstd", "unpack it"]);
    refuse(&folder, "h.gz", &[0x1f, 0x8b, 8, 0, 1, 2, 3], &["gzip", "cut off or damaged"]);
    refuse(&folder, "i.ncu-rep", b"NVR\0rest", &["Nsight Compute", "ncu --import"]);
}

#[test]
fn what_nobody_knows_is_refused_with_the_way_to_find_out() {
    let folder = TempFolder::new("err-unknown");
    for (name, bytes) in [
        ("a.png", &b"\x89PNG\r\n\x1a\n\0\0"[..]),
        ("a.elf", b"\x7fELF\x02\x01\x01"),
        ("a.txt", b"epoch 1 loss 0.3\n"),
        ("a.html", b"<!doctype html><html></html>"),
        ("a.xml", b"<?xml version=\"1.0\"?><session name=\"x\"></session>"),
        ("package.json", b"{\"name\": \"x\"}"),
        ("a.yaml", b"\xff\xfe\xfd"),
        ("one.byte", b"x"),
        ("gpuprof.txt", b"GPUPROF is great"),
    ] {
        refuse(&folder, name, bytes, &[]);
    }
}

#[test]
fn json_that_is_no_trace_says_what_it_is() {
    let folder = TempFolder::new("err-json");
    // Large enough that only reading it all tells.
    let long = format!("{{\"a\": [{}]}}", vec!["1234567"; 20_000].join(","));
    refuse(&folder, "a.json", long.as_bytes(), &["without `traceEvents`"]);
}

#[test]
fn databases_of_other_programs_are_refused() {
    let folder = TempFolder::new("err-db");
    let other = Database::new("CREATE TABLE bookmarks (url TEXT);").bytes();
    refuse(&folder, "a.sqlite", &other, &["SQLite database", "neither nvprof", "nsys"]);
    refuse(&folder, "b.sqlite", &Database::new("").bytes(), &["SQLite"]);
    refuse(&folder, "c.sqlite", b"SQLite format 3\0and then nothing", &["SQLite", "copy or export it again"]);
}

#[test]
fn a_file_of_a_newer_major_version_names_all_three_versions() {
    let folder = TempFolder::new("err-version");
    let header = trace_format::header::FileHeader {
        major: 2,
        minor: 5,
        ..trace_format::header::FileHeader::new("gpuprof 9.8.7", EPOCH)
    };
    refuse(&folder, "a.gpuprof", &header.to_bytes(), &["2.5", "1.0", "9.8.7"]);
}

#[test]
fn a_session_without_a_timeline_says_so() {
    let folder = TempFolder::new("err-session");
    let empty = b"<?xml version=\"1.0\"?><session version=\"2\"><timelinepdm></timelinepdm></session>";
    refuse(&folder, "a.nvvp", empty, &["holds no timeline"]);
    for broken in ["<split>!!!!</split>", "<split></split>", "<split>SGVsbG8=</split>"] {
        let text = format!(
            "<?xml version=\"1.0\"?><session version=\"2\"><timelinepdm><pdm>{broken}</pdm></timelinepdm></session>"
        );
        refuse(&folder, "b.nvvp", text.as_bytes(), &[]);
    }
}

// ------------------------------------------------------------------------------------------------ paths

#[test]
fn paths_that_lead_nowhere_are_named() {
    let folder = TempFolder::new("err-paths");
    let here = folder.path().to_str().unwrap();
    let missing = format!("{here}/missing.gpuprof");
    for command in ["report", "info"] {
        refused(&[command, &missing], &[&missing, "no such file or folder", "; check the path"]);
        let pattern = format!("{here}/*.gpuprof");
        refused(&[command, &pattern], &[&pattern, "no file matches this pattern"]);
        let pattern = format!("{here}/[");
        refused(&[command, &pattern], &[&pattern, "not a valid pattern"]);
    }
    #[cfg(unix)]
    {
        let link = folder.path().join("dangling");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        refused(&["report", link.to_str().unwrap()], &["dangling", "cannot be opened"]);
    }
}

#[test]
fn a_folder_without_traces_is_nothing_to_show() {
    let folder = TempFolder::new("err-folder");
    let here = folder.path().to_str().unwrap().to_owned();
    for command in ["report", "info"] {
        let answer = gpuprof_in(folder.path(), &[command, &here]);
        assert_eq!((answer.status, answer.stdout.as_str()), (1, ""), "{}", answer.stderr);
        assert!(answer.stderr.contains(&here) && answer.stderr.contains("no trace found among 0 files"));
    }
    folder.file("train.log", b"epoch 1\n");
    folder.file("model/weights.bin", &[7; 100]);
    let answer = gpuprof_in(folder.path(), &["report", &here]);
    assert_eq!((answer.status, answer.stdout.as_str()), (1, ""), "{}", answer.stderr);
    assert!(answer.stderr.contains("no trace found among 2 files"), "{}", answer.stderr);
    assert!(answer.stderr.contains("the first that was passed over: "), "{}", answer.stderr);
}

#[cfg(unix)]
#[test]
fn an_unreadable_file_says_why() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = TempFolder::new("err-permission");
    let path = folder.file("t.gpuprof", &native(&Story::sample(3)));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o0)).unwrap();
    if std::fs::File::open(&path).is_ok() {
        common::skip("an_unreadable_file_says_why", "this user may read everything (root)");
        return;
    }
    let path = path.to_str().unwrap();
    refused(&["report", path], &[path, "cannot be opened", "ermission denied"]);
}

#[cfg(unix)]
#[test]
fn what_can_be_read_only_once_is_refused_and_not_waited_for() {
    let folder = TempFolder::new("err-pipe");
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        common::skip("what_can_be_read_only_once_is_refused_and_not_waited_for", "no mkfifo here");
        return;
    }
    // Nobody will ever write to it: a program that opens it hangs.
    let pipe = pipe.to_str().unwrap();
    refused(&["report", pipe], &[pipe, "not a regular file", "; "]);
    refused(&["report", "/dev/null"], &["/dev/null", "not a regular file", "; "]);
}

#[test]
fn one_bad_file_that_was_named_fails_and_one_that_lies_about_is_passed_over_with_a_remark() {
    let folder = TempFolder::new("err-among");
    let good = folder.argument("a.gpuprof", &native(&Story::sample(6)));
    let bad =
        folder.argument("b.gpuprof", b"GPUPROF\nthen nothing that makes sense, for long enough to be a header");
    folder.file("train.log", b"epoch 1\n");
    refused(&["report", &good, &bad], &[&bad]);
    let expected = gpuprof(&["report", &good]);
    let answer = gpuprof(&["report", folder.path().to_str().unwrap()]);
    assert_eq!(answer.stdout, expected.stdout);
    assert!(answer.stderr.contains(&bad), "the broken trace is remarked on: {}", answer.stderr);
    assert!(!answer.stderr.contains("train.log"), "a log is nobody's business: {}", answer.stderr);
}

// ------------------------------------------------------------------------------------------------ partial files

#[test]
fn a_file_cut_anywhere_is_read_as_far_as_it_goes_and_says_so() {
    let folder = TempFolder::new("err-cut");
    let story = Story::sample(40);
    for (kind, bytes) in every_kind(&story) {
        let path = folder.file("t", &bytes);
        let (whole, _) = totals(&path).unwrap_or_else(|e| panic!("{kind}: {e}"));
        let mut random = Random(bytes.len() as u64);
        let lengths = (0..60).map(|i| match i {
            0..16 => i,
            16..40 => bytes.len() as u64 * (i - 16) / 24,
            _ => random.below(bytes.len() as u64),
        });
        let mut used = 0;
        for length in lengths {
            std::fs::write(&path, &bytes[..length as usize]).unwrap();
            match totals(&path) {
                Ok((part, notes)) => {
                    used += 1;
                    assert!(
                        part.0 <= whole.0 && part.1 <= whole.1,
                        "{kind}, {length} bytes: {part:?} of {whole:?}"
                    );
                    let silent = notes.is_empty() && part != whole;
                    assert!(!silent, "{kind}, {length} of {} bytes: {part:?} of {whole:?}, unsaid", bytes.len());
                }
                Err(message) => assert!(message.contains(path.to_str().unwrap()), "{kind}: {message}"),
            }
        }
        // What was on the disk must not be lost because the end was not; a session is packed as one piece.
        assert!(used > 0 || kind == "nvvp session", "{kind}: no prefix could be used");
    }
}

#[test]
fn every_prefix_of_a_native_file_keeps_its_whole_frames() {
    let folder = TempFolder::new("err-prefix");
    let story = Story::sample(24);
    let bytes = native_with(&story, Native { rows_per_frame: 4, ..Native::default() });
    let path = folder.file("t.gpuprof", &bytes);
    let mut most = 0;
    for length in (200..bytes.len()).step_by(97) {
        std::fs::write(&path, &bytes[..length]).unwrap();
        if let Ok(((count, _), notes)) = totals(&path) {
            assert!(count >= most, "{length} bytes have fewer rows than a shorter prefix");
            assert!(notes.iter().any(|note| note.code == "not-closed"), "{length}: {notes:?}");
            most = count;
        }
    }
    assert!(most >= 20, "{most}");
}

#[test]
fn zeroed_parts_of_checked_files_are_missed_by_name() {
    let folder = TempFolder::new("err-holes");
    let story = Story::sample(60);
    let small_frames = Native { rows_per_frame: 8, ..Native::default() };
    for (kind, bytes) in [
        ("native", native_with(&story, small_frames)),
        ("kineto gzip", gzip(&kineto(&story, KinetoEra::Base2024))),
        ("nvvp session", nvvp_session(&nvprof(&story, 16), 2)),
    ] {
        let path = folder.file("t", &bytes);
        let (whole, _) = totals(&path).unwrap();
        for hole in 1..20 {
            let mut damaged = bytes.clone();
            let from = bytes.len() * hole / 20;
            let to = (from + 300).min(bytes.len() - 16);
            damaged[from.min(to)..to].fill(0);
            std::fs::write(&path, &damaged).unwrap();
            match totals(&path) {
                Ok((part, notes)) if part != whole => {
                    assert!(!notes.is_empty(), "{kind}, hole at {from}: {part:?} of {whole:?}, unsaid");
                    assert!(notes.iter().any(|n| n.text.contains(path.to_str().unwrap())), "{notes:?}");
                }
                Ok(_) => {}
                Err(message) => assert!(message.contains(path.to_str().unwrap()), "{kind}: {message}"),
            }
        }
    }
}

#[test]
fn a_damaged_frame_costs_its_rows_and_is_named_with_its_offset() {
    let folder = TempFolder::new("err-frame");
    let story = Story::sample(40);
    let run = |close: bool, at: usize| {
        let bytes = native_with(&story, Native { rows_per_frame: 10, close, ..Native::default() });
        let reader = trace_format::read::TraceReader::new(&bytes[..]).unwrap();
        let mut kernel_frames = reader.frames().iter().filter(|f| f.table == trace_format::tables::KERNEL.id);
        let offset = kernel_frames.nth(1).unwrap().offset;
        let mut damaged = bytes.clone();
        damaged[offset as usize + at] ^= 4;
        let answer = report(&folder, "t.gpuprof", &damaged, &["--print-gpu-summary", "--format", "json"]);
        assert_eq!(answer.status, 0, "{}", answer.stderr);
        let document: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
        let codes: Vec<String> = document["notes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|note| note["code"].as_str().unwrap().into())
            .collect();
        let rows = document["tables"][0]["rows"].as_array().unwrap();
        let kernels = rows.iter().filter(|row| !row["Name"].as_str().unwrap().starts_with('['));
        let kernels: u64 = kernels.map(|row| row["Calls"].as_u64().unwrap()).sum();
        if !codes.is_empty() {
            let place = format!("byte {offset}");
            let named = answer.stderr.contains(&place) && answer.stderr.contains("10 rows of kernel lost");
            assert!(named, "{}", answer.stderr);
        }
        (codes, kernels)
    };
    let (payload, header) = (100, 20);
    assert_eq!(run(true, payload), (vec!["unreadable-frame".to_owned()], 30));
    // The index of a closed file holds what the header says, too.
    assert_eq!(run(true, header), (Vec::new(), 40));
    let codes = ["unreadable-frame", "not-closed"].map(str::to_owned).to_vec();
    assert_eq!(run(false, header), (codes.clone(), 30));
    assert_eq!(run(false, payload), (codes.into_iter().rev().collect(), 30));
}

// ------------------------------------------------------------------------------------------------ nothing to show

#[test]
fn a_trace_without_gpu_work_says_so_and_shows_the_calls() {
    let folder = TempFolder::new("err-nogpu");
    let mut story = Story::sample(5);
    story.kernels.clear();
    story.copies.clear();
    story.fills.clear();
    for (kind, bytes) in every_kind(&story) {
        let answer = report(&folder, "t", &bytes, &[]);
        assert_eq!(answer.status, 0, "{kind}: {}", answer.stderr);
        assert!(answer.stdout.contains("No kernels were profiled."), "{kind}: {}", answer.stdout);
        assert!(answer.stdout.contains("cudaDeviceSynchronize"), "{kind}: {}", answer.stdout);
        let answer = report(&folder, "t", &bytes, &["--print-gpu-summary"]);
        assert_eq!(answer.status, 1, "{kind}: nothing to show");
        assert!(answer.stdout.contains("No kernels were profiled."), "{kind}: {}", answer.stdout);
        let path = folder.path().join("t");
        assert!(answer.stderr.contains(path.to_str().unwrap()), "{kind}: {}", answer.stderr);
        assert!(answer.stderr.contains("nothing to show"), "{kind}: {}", answer.stderr);
    }
}

#[test]
fn a_trace_without_api_calls_says_so_and_shows_the_kernels() {
    let folder = TempFolder::new("err-noapi");
    let mut story = Story::sample(5);
    story.calls.clear();
    for (kind, bytes) in every_kind(&story) {
        let answer = report(&folder, "t", &bytes, &[]);
        assert_eq!(answer.status, 0, "{kind}: {}", answer.stderr);
        assert!(answer.stdout.contains("No API activities were profiled."), "{kind}: {}", answer.stdout);
        assert!(answer.stdout.contains("reduce"), "{kind}: {}", answer.stdout);
        let answer = report(&folder, "t", &bytes, &["--print-api-summary"]);
        assert_eq!(answer.status, 1, "{kind}: nothing to show");
    }
}

#[test]
fn a_trace_without_records_is_nothing_to_show() {
    let folder = TempFolder::new("err-nothing");
    for (kind, bytes) in every_kind(&Story::empty()) {
        for options in [&[][..], &["--print-gpu-trace"], &["--print-api-trace"], &["--format", "json"]] {
            let answer = report(&folder, "t", &bytes, options);
            assert_eq!(answer.status, 1, "{kind} {options:?}: {}{}", answer.stdout, answer.stderr);
            assert!(answer.stderr.contains("nothing to show"), "{kind} {options:?}: {}", answer.stderr);
        }
        let answer = report(&folder, "t", &bytes, &[]);
        assert_eq!(answer.stdout, "======== Warning: No profile data collected.\n", "{kind}");
    }
}

#[test]
fn filters_that_nothing_passes_are_nothing_to_show() {
    let folder = TempFolder::new("err-filter");
    let path = folder.argument("t.gpuprof", &native(&Story::sample(5)));
    for filter in
        [&["--filter", "no_such_kernel"][..], &["--filter", "device=9"], &["--from", "10s"], &["--range", "x"]]
    {
        let answer = gpuprof_in(Path::new("."), &[&["report"], filter, &[&path]].concat());
        assert_eq!(answer.status, 1, "{filter:?}: {}{}", answer.stdout, answer.stderr);
        assert!(answer.stderr.contains("no record passes the filters"), "{filter:?}: {}", answer.stderr);
    }
}

// ------------------------------------------------------------------------------------------------ impossible times

#[test]
fn records_with_impossible_times_are_counted_and_enter_no_sum() {
    let folder = TempFolder::new("err-times");
    let good = Story::sample(30);
    let mut story = good.clone();
    let (saxpy, launch) = (good.kernels[0].clone(), good.calls[1].clone());
    // 0/0: CUPTI ran out of device buffers; the end before the start; times that no clock shows.
    let huge = i64::MAX - EPOCH - 1;
    for (start, end) in [(0, 0), (20_000_000, 19_999_000), (20_000_000, huge)] {
        story.kernels.push(Kernel { start, end, ..saxpy.clone() });
        story.copies.push(Copy { start, end, ..good.copies[0].clone() });
        story.fills.push(Fill { start, end, ..good.fills[0].clone() });
        story.calls.push(Call { start, end, ..launch.clone() });
    }
    for (kind, bytes) in every_kind(&story) {
        if kind.starts_with("kineto") {
            continue; // Its times are text and durations: see below.
        }
        let path = folder.argument("t", &bytes);
        let answer = gpuprof(&["report", &path]);
        let expected = folder.argument("good", &native(&good));
        assert_eq!(answer.stdout, gpuprof(&["report", &expected]).stdout, "{kind}");
        let said = &answer.stderr;
        assert!(said.contains("9 records have invalid timestamps"), "{kind}: {said}");
        assert!(said.contains("3 API records have invalid timestamps"), "{kind}: {said}");
        // Listings show them, without a duration.
        let trace = gpuprof(&["report", "--print-gpu-trace", "--csv", &path]).stdout;
        let rows = good.kernels.len() + good.copies.len() + good.fills.len() + 9;
        assert_eq!(trace.lines().filter(|line| line.contains("Tesla V100")).count(), rows, "{kind}: {trace}");
    }
}

/// A trace of one good kernel of 5 us, and one event with these `ts` and `dur` as they stand.
fn odd_times(ts: &str, dur: &str) -> String {
    let event = |name: &str, ts: &str, dur: &str| {
        format!(
            r#"{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":7,"ts":{ts},"dur":{dur},"args":{{"device":0,"stream":7}}}}"#
        )
    };
    format!(r#"{{"schemaVersion":1,"traceEvents":[{},{}]}}"#, event("good", "100", "5"), event("odd", ts, dur))
}

#[test]
fn impossible_json_times_are_noted_with_their_place_and_enter_no_sum() {
    let folder = TempFolder::new("err-json-times");
    for (ts, dur) in [
        ("NaN", "1"),
        ("1", "NaN"),
        ("Infinity", "1"),
        ("1", "-Infinity"),
        ("1", "-3"),
        ("1e30", "1"),
        ("1", "1e300"),
        ("1", "1e99999999999999999999"),
        ("9223372036854775808", "1"),
        ("1", "9223372036854775808"),
        ("18446744073709551616", "1"),
        ("4611686018427387.904", "1"),
        ("\"soon\"", "1"),
        ("1", "\"long\""),
        ("null", "1"),
        ("1", "null"),
        ("[1]", "1"),
        ("1", "{}"),
        ("1", "true"),
    ] {
        let answer =
            report(&folder, "t.json", odd_times(ts, dur).as_bytes(), &["--print-gpu-summary", "--csv", "-u", "ns"]);
        assert_eq!(answer.status, 0, "ts {ts}, dur {dur}: {}", answer.stderr);
        assert!(
            answer.stdout.contains("100.000000,5000.000000,1,5000.000000,5000.000000,5000.000000,\"good\""),
            "ts {ts}, dur {dur}: {}",
            answer.stdout
        );
        assert!(!answer.stdout.contains("odd"), "ts {ts}, dur {dur}: {}", answer.stdout);
        let place = answer.stderr.contains("at byte ") && answer.stderr.contains("t.json");
        assert!(place, "ts {ts}, dur {dur} must be said with path and place: {}", answer.stderr);
    }
}

#[test]
fn odd_but_possible_json_times_are_read_exactly() {
    let folder = TempFolder::new("err-json-odd");
    for (ts, dur, ns) in [
        ("-5", "1.5", 1_500),
        ("1", "0", 0),
        ("1e2", "2.5e0", 2_500),
        ("\"1\"", "\"2\"", 2_000),
        ("1.0000", "0.001", 1),
        ("1700000000000000.123", "0.7", 700),
        ("1", "4294967.296", 4_294_967_296_i64),
    ] {
        let answer =
            report(&folder, "t.json", odd_times(ts, dur).as_bytes(), &["--print-gpu-summary", "--format", "csv"]);
        assert_eq!(answer.status, 0, "ts {ts}, dur {dur}: {}", answer.stderr);
        let row = format!(",{ns},1,{ns}.0,{ns},{ns},odd\n");
        assert!(answer.stdout.contains(&row), "ts {ts}, dur {dur}: {}", answer.stdout);
    }
}

#[test]
fn of_equal_keys_the_last_counts() {
    let folder = TempFolder::new("err-keys");
    let text = r#"{"schemaVersion":1,"schemaVersion":2,"traceEvents":[],"traceEvents":[{"ph":"M","ph":"X","cat":"cpu_op","cat":"kernel","name":"a","name":"b","pid":0,"tid":1,"ts":1,"ts":2,"dur":3,"dur":4,"args":{"device":1},"args":{"device":0,"stream":1}}]}"#;
    let answer = report(&folder, "t.json", text.as_bytes(), &["--print-gpu-trace", "--csv", "-u", "us"]);
    assert_eq!(answer.status, 0, "{}", answer.stderr);
    assert!(answer.stdout.contains("\"b [") || answer.stdout.contains(",\"b\""), "{}", answer.stdout);
    assert!(answer.stdout.contains(",4.000000,") && !answer.stdout.contains(",3.000000,"), "{}", answer.stdout);
}

// ------------------------------------------------------------------------------------------------ odd databases

/// A database changed by hand, as bytes.
fn altered(folder: &TempFolder, database: &[u8], sql: &str) -> PathBuf {
    let path = folder.file("altered.sqlite", database);
    let db = Connection::open(&path).unwrap();
    db.execute_batch(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    path
}

#[test]
fn odd_values_in_databases_are_left_out_and_named_by_row() {
    let folder = TempFolder::new("err-values");
    let story = Story::sample(20);
    for (kind, database, table) in [
        ("nvprof", nvprof(&story, 16), "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"),
        ("nsys", nsys(&story, NsysEra::Of2026), "CUPTI_ACTIVITY_KIND_KERNEL"),
    ] {
        let kernels = |path: &Path| {
            let text =
                gpuprof(&["report", "--print-gpu-summary", "--filter", ".", "--csv", path.to_str().unwrap()]);
            let calls = text.stdout.lines().filter(|line| line.contains(",\"")).skip(1);
            let calls = calls.filter_map(|line| line.split(',').nth(3)?.parse::<u64>().ok()).sum::<u64>();
            (calls, text.stderr)
        };
        for (value, code) in [
            ("'soon'", "no usable time"),
            ("x'00ff'", "no usable time"),
            ("9223372036854775807", "invalid timestamps"),
            ("-9223372036854775808", "invalid timestamps"),
            ("9.3e18", "invalid timestamps"),
            ("-1e300", "invalid timestamps"),
        ] {
            let sql = format!("UPDATE {table} SET start = {value} WHERE rowid = 3");
            let (count, said) = kernels(&altered(&folder, &database, &sql));
            assert_eq!(count, 19, "{kind} start {value}: {said}");
            assert!(said.contains(code), "{kind} start {value}: {said}");
            if code == "no usable time" {
                assert!(said.contains("rowid 3") && said.contains(table), "{kind} start {value}: {said}");
            }
        }
        // Ids and sizes of any value do not matter to sums.
        for (column, value) in
            [("deviceId", "-1"), ("streamId", "1e300"), ("gridX", "'many'"), ("correlationId", "-7")]
        {
            let sql = format!("UPDATE {table} SET {column} = {value} WHERE rowid = 3");
            let (count, said) = kernels(&altered(&folder, &database, &sql));
            assert_eq!(count, 20, "{kind} {column} {value}: {said}");
        }
    }
}

#[test]
fn missing_tables_columns_and_names_cost_only_themselves() {
    let folder = TempFolder::new("err-columns");
    let story = Story::sample(20);
    for (kind, database, kernels, calls, names) in [
        (
            "nvprof",
            nvprof(&story, 16),
            "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            "StringTable",
        ),
        (
            "nsys",
            nsys(&story, NsysEra::Of2026),
            "CUPTI_ACTIVITY_KIND_KERNEL",
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            "StringIds",
        ),
    ] {
        let run = |sql: &str| {
            let path = altered(&folder, &database, sql);
            let answer = gpuprof_in(Path::new("."), &["report", path.to_str().unwrap()]);
            assert_eq!(answer.status, 0, "{kind} {sql}: {}", answer.stderr);
            answer
        };
        let answer = run(&format!("DROP TABLE {kernels}"));
        assert!(answer.stdout.contains("[CUDA memcpy HtoD]") && !answer.stdout.contains("saxpy"), "{kind}");
        let answer = run(&format!("DROP TABLE {calls}"));
        assert!(answer.stdout.contains("saxpy") && !answer.stdout.contains("cudaMalloc"), "{kind}");
        let answer = run(&format!("ALTER TABLE {kernels} DROP COLUMN gridX"));
        assert!(answer.stdout.contains("saxpy"), "{kind}");
        let answer = run(&format!("DELETE FROM {names} WHERE value LIKE '%saxpy%'"));
        assert!(answer.stderr.contains("have no string"), "{kind}: {}", answer.stderr);
        // Tables and columns that users add, and names in another case of letters.
        run(&format!(
            "ALTER TABLE {calls} ADD COLUMN name TEXT; CREATE TABLE mine (a); CREATE INDEX i ON {calls}(start)"
        ));
    }
}

#[test]
fn a_database_is_never_written_to() {
    let folder = TempFolder::new("err-readonly");
    for (name, bytes) in
        [("a.nvvp", nvprof(&Story::sample(9), 8)), ("a.sqlite", nsys(&Story::sample(9), NsysEra::Of2026))]
    {
        let path = folder.argument(name, &bytes);
        for option in ["--print-summary", "--print-gpu-trace"] {
            gpuprof(&["report", option, &path]);
        }
        gpuprof(&["info", &path]);
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{name}");
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 2, "no -wal, -shm or -journal beside them");
}

#[test]
fn secrets_of_foreign_files_appear_nowhere() {
    let folder = TempFolder::new("err-secrets");
    let story = Story::sample(6).with_ranges();
    for (kind, bytes) in every_kind(&story) {
        let path = folder.argument("t", &bytes);
        for args in [&["info"][..], &["info", "--format", "json"], &["report"], &["report", "--format", "json"]] {
            let answer = gpuprof(&[args, &[&path]].concat());
            let all = answer.stdout + &answer.stderr;
            for secret in ["hf_secret", "HF_TOKEN", "alice", "secret-host", "secret-of-the-command-line"] {
                assert!(!all.contains(secret), "{kind} {args:?} shows {secret}");
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------ odd names

/// The rows of RFC 4180 text.
fn csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quoted) {
            ('"', true) if chars.peek() == Some(&'"') => cell.push(chars.next().unwrap()),
            ('"', _) => quoted = !quoted,
            (',', false) => row.push(std::mem::take(&mut cell)),
            ('\n', false) => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            _ => cell.push(c),
        }
    }
    rows
}

/// Names that break tables, and what they are once they are text.
const ODD_NAMES: [(&[u8], &str); 8] = [
    (b"with \"quotes\"", "with \"quotes\""),
    (b"with, commas, in it", "with, commas, in it"),
    (b"two\nlines", "two\nlines"),
    (b"carriage\r\nreturn", "carriage\r\nreturn"),
    (b"a\ttab", "a\ttab"),
    (b"a|pipe", "a|pipe"),
    (b"not utf-8: \xff\xfe", "not utf-8: \u{fffd}\u{fffd}"),
    (b"\x1b[31mred\x07", "\u{1b}[31mred\u{7}"),
];

#[test]
fn odd_names_survive_every_machine_format() {
    let folder = TempFolder::new("err-names");
    let mut story = Story::empty();
    for (i, (name, _)) in ODD_NAMES.iter().enumerate() {
        story = story.with_kernel(Name::plain(name), 1_000_000 + i as i64, 1_000 * (100 - i as i64));
    }
    for (kind, bytes) in every_kind(&story) {
        let path = folder.argument("t", &bytes);
        let print = |format: &str| gpuprof(&["report", "--print-gpu-summary", "--format", format, &path]).stdout;
        let texts: Vec<&str> = ODD_NAMES.iter().map(|(_, text)| *text).collect();
        let json: serde_json::Value = serde_json::from_str(&print("json")).unwrap();
        let names: Vec<&str> =
            json["tables"][0]["rows"].as_array().unwrap().iter().map(|row| row["Name"].as_str().unwrap()).collect();
        assert_eq!(names, texts, "{kind} json");
        let rows = csv(&print("csv"));
        assert_eq!(
            rows[1..].iter().map(|row| row.last().unwrap().as_str()).collect::<Vec<_>>(),
            texts,
            "{kind} csv"
        );
        let tsv = print("tsv");
        let columns = rows[0].len();
        assert_eq!(tsv.lines().count(), 1 + ODD_NAMES.len(), "{kind} tsv");
        assert!(tsv.lines().all(|line| line.split('\t').count() == columns), "{kind} tsv: {tsv}");
        let markdown = print("markdown");
        assert_eq!(markdown.lines().count(), 2 + ODD_NAMES.len(), "{kind} markdown");
        let bars = |line: &str| line.replace("\\|", "").matches('|').count();
        assert!(markdown.lines().all(|line| bars(line) == columns + 1), "{kind} markdown: {markdown}");
    }
}

#[test]
fn odd_names_do_not_break_text_tables_or_the_terminal() {
    let folder = TempFolder::new("err-terminal");
    let mut story = Story::empty();
    for (i, (name, _)) in ODD_NAMES.iter().enumerate() {
        story = story.with_kernel(Name::plain(name), 1_000_000 + i as i64 * 200_000, 1_000 * (100 - i as i64));
        story.ranges.push(NvtxRange {
            name: String::from_utf8_lossy(name).into_owned(),
            domain: None,
            start: 1_000,
            end: Some(2_000 + i as i64),
            style: 0,
            tid: THREAD,
        });
    }
    let path = folder.argument("t.gpuprof", &native(&story));
    for options in [
        &["--print-gpu-summary"][..],
        &["--print-gpu-trace"],
        &["--print-summary"],
        &["--print-summary-per-gpu"],
        &["--print-gpu-summary", "--format", "table"],
        &["--print-gpu-summary", "--format", "markdown"],
        &["--view", "cuda_gpu_kern_sum"],
    ] {
        let text = gpuprof(&[&["report"], options, &[&path]].concat()).stdout;
        let kernels = text.lines().filter(|line| line.contains("with \"quotes\"") || line.contains("lines"));
        assert!(kernels.clone().count() >= 2, "{options:?}: {text}");
        let torn = text.lines().any(|line| line.starts_with("lines") || line.starts_with("return"));
        assert!(!torn, "{options:?}: a name tears its row apart: {text}");
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{options:?}: control characters: {text:?}");
    }
}

#[test]
fn odd_names_are_quoted_in_nvprofs_csv() {
    let folder = TempFolder::new("err-nvprof-csv");
    let mut story = Story::empty();
    for (i, (name, _)) in ODD_NAMES.iter().enumerate() {
        story = story.with_kernel(Name::plain(name), 1_000_000 + i as i64 * 200_000, 1_000 * (100 - i as i64));
    }
    let path = folder.argument("t.gpuprof", &native(&story));
    for (option, columns) in [("--print-gpu-summary", 8), ("--print-gpu-trace", 19)] {
        let text = gpuprof(&["report", option, "--csv", &path]).stdout;
        let rows = csv(&text);
        // The first line is `======== Profiling result:`, then header and units.
        assert_eq!(rows.len(), 3 + ODD_NAMES.len(), "{option}: {text}");
        assert!(rows[1..].iter().all(|row| row.len() == columns || row.len() == rows[1].len()), "{option}: {text}");
        for (row, (_, expected)) in rows[3..].iter().zip(&ODD_NAMES) {
            let name = row.iter().find(|cell| cell.contains(&expected[..3])).unwrap_or_else(|| panic!("{text}"));
            assert!(name.starts_with(expected), "{option}: {name:?} is not {expected:?}");
        }
    }
}

#[test]
fn names_of_64_kib_and_invalid_mangled_names_never_stop_a_report() {
    let folder = TempFolder::new("err-long");
    let long = "k".repeat(64 << 10);
    let deep = format!("_Z1f{}i", "P".repeat(60_000));
    let nested = format!("_ZN{}E", "1aI".repeat(20_000));
    let names = [
        long.as_str(),
        &deep,
        &nested,
        "_Z",
        "_ZN",
        "_Z999999999999999999999f",
        "_Z1fS_",
        "_Z1fS99999999999_",
        "_Z1fT_T_T_",
        "_ZN1aIXadL_Z1bEEE",
        "_ZNK3fooILi-5EE",
        "__Z3foov",
        "_Z3foov.cold.17",
        "_Z1fDpDpDpDp",
        "",
    ];
    let mut story = Story::empty();
    for (i, name) in names.iter().enumerate() {
        story = story.with_kernel(Name::plain(name), 1_000_000 + i as i64, 5_000);
    }
    for (kind, bytes) in [("native", native(&story)), ("nsys", nsys(&story, NsysEra::Of2026))] {
        let path = folder.argument("t", &bytes);
        for demangling in ["on", "nvprof", "off"] {
            let begun = std::time::Instant::now();
            for option in ["--print-gpu-summary", "--print-gpu-trace"] {
                let answer = gpuprof(&["report", option, "--demangling", demangling, &path]);
                assert!(answer.stdout.contains(&long), "{kind} {demangling} {option}");
            }
            let json =
                gpuprof(&["report", "--print-gpu-summary", "--demangling", demangling, "--format", "json", &path]);
            let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
            let rows = json["tables"][0]["rows"].as_array().unwrap();
            let calls: u64 = rows.iter().map(|row| row["Calls"].as_u64().unwrap()).sum();
            assert_eq!(calls, names.len() as u64, "{kind} {demangling}");
            assert!(begun.elapsed().as_secs() < 20, "{kind} {demangling}: {:?}", begun.elapsed());
        }
    }
}

// ------------------------------------------------------------------------------------------------ the command line

#[test]
fn options_that_make_no_sense_are_refused() {
    let folder = TempFolder::new("err-options");
    let path = folder.argument("t.gpuprof", &native(&Story::sample(3)));
    for (options, words) in [
        (&["--filter", "("][..], &["--filter", "not a regular expression"][..]),
        (&["--filter", "a", "--filter", "b"], &["--filter", "one expression only", "; join"]),
        (&["--filter", "device=x"], &["device=x", "not a number"]),
        (&["--filter", "stream=1,,2"], &["stream=1,,2", "not a number"]),
        (&["--view", "nope"], &["unknown view \"nope\"", "known are"]),
        (&["--view", "cuda_gpu_kern_sum:nope"], &["unknown argument \"nope\""]),
        (&["--view", "cuda_gpu_kern_sum", "--csv"], &["--view", "does not go with"]),
        (&["--view", "cuda_gpu_kern_sum", "--print-gpu-trace"], &["--view", "does not go with"]),
        (&["--print-gpu-trace", "--format", "json"], &["--format", "--csv"]),
        (&["--print-gpu-trace", "--percentiles"], &["--percentiles"]),
        (&["--log-file", "%q{GPUPROF_TEST_UNSET}.log"], &["%q{GPUPROF_TEST_UNSET}", "not set"]),
        (&["--log-file", "%x.log"], &["%x", "known are %p"]),
        (&["--log-file", "/no/such/folder/x.log"], &["/no/such/folder/x.log", "cannot be created"]),
    ] {
        refused(&[&["report"], options, &[&path]].concat(), words);
    }
    // What clap finds by itself has its own form, the same status and nothing on the standard output either.
    for options in [
        &["--from", "tomorrow"][..],
        &["--to", "1.5"],
        &["--group-by", "colour"],
        &["--sort", "colour"],
        &["--top", "-1"],
        &["-u", "h"],
        &["--demangling", "maybe"],
        &["--format", "xml"],
        &["--nope"],
    ] {
        let answer = gpuprof_in(Path::new("."), &[&["report"], options, &[&path]].concat());
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{options:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(options.last().unwrap()), "{options:?}: {}", answer.stderr);
    }
}

#[test]
fn summaries_and_traces_at_once_are_refused_in_nvprofs_words() {
    let folder = TempFolder::new("err-both");
    let path = folder.argument("t.gpuprof", &native(&Story::sample(3)));
    let answer = gpuprof_in(Path::new("."), &["report", "--print-gpu-trace", "--print-gpu-summary", &path]);
    assert_eq!((answer.status, answer.stdout.as_str()), (2, ""));
    assert_eq!(
        answer.stderr,
        "======== Error: Use either the print summary options or the print trace options.\n\
         ======== Use \"nvprof --help\" to get more information.\n"
    );
}
