//! A trace exported as Chrome JSON and read again is the trace it was: the same reports, and the same rows in every
//! column.

use crate::common::build::*;
use crate::common::{self, TempFolder, answer, command, gpuprof, shared};
use gpuprof::trace::frames::Frames;
use gpuprof::trace::sink::Need;
use serde_json::Value;
use std::path::{Path, PathBuf};
use trace_format::tables::*;

const REPORTS: &[&[&str]] = &[
    // The insights name the file.
    &["--no-insights"],
    &["--print-gpu-trace", "--csv"],
    &["--print-api-trace"],
    &["--view", "cuda_kern_exec_sum", "--view", "nvtx_sum", "--format", "csv"],
    &["--view", "cuda_gpu_trace", "--view", "cuda_api_trace", "--format", "csv"],
];

fn text(path: &Path) -> &str {
    path.to_str().expect("a path")
}

fn report(path: &Path, options: &[&str]) -> (String, i32) {
    let answer = answer(&mut command(&[&["report", text(path)], options].concat()));
    (answer.stdout, answer.status)
}

/// Every row with every column, as text.
fn rows(path: &Path) -> String {
    gpuprof(&["export", "-q", "-F", "jsonl", "--option", "untimed=yes", text(path), "-o", "-"]).stdout
}

/// Without the first line, which has columns of all tables in a file, whatever is selected of them.
fn all_but_first(rows: &str) -> &str {
    rows.split_once('\n').map_or("", |(_, rest)| rest)
}

fn assert_same(before: &str, after: &str, what: &str) {
    if before != after {
        let line = before.lines().zip(after.lines()).find(|(a, b)| a != b);
        panic!("{what} differs ({} and {} lines): {line:#?}", before.lines().count(), after.lines().count());
    }
}

/// Exports with these options, and compares what comes back.
fn round_trip(original: &Path, copy: &Path, options: &[&str]) {
    gpuprof(&[&["export", "-q", "-F", "chrome", text(original), "-o", text(copy)], options].concat());
    let what = format!("{} through {}", original.display(), copy.display());
    assert_same(&rows(original), &rows(copy), &what);
    for options in REPORTS {
        let (before, after) = (report(original, options), report(copy, options));
        assert_eq!(before.1, after.1, "{what}, {options:?}");
        assert_same(&before.0, &after.0, &format!("{what}, {options:?}"));
    }
    std::fs::remove_file(copy).expect("the copy is there");
}

#[test]
fn shared_traces_come_back_whole() {
    let Some(shared) = shared("round_trip_chrome::shared_traces_come_back_whole") else { return };
    let folder = TempFolder::new("chrome-shared");
    let manifest = std::fs::read_to_string(shared.join("data/MANIFEST.tsv")).expect("the manifest");
    let mut tried = 0;
    for file in manifest.lines().skip(1).filter_map(|line| line.split('\t').next()) {
        let is_trace = [".sqlite", ".nvvp", ".json", ".json.gz"].iter().any(|end| file.ends_with(end));
        let is_known = ["nvprof/", "nsys/", "torch/"].iter().any(|start| file.starts_with(start));
        if is_trace && is_known {
            // Every other one packed, with arrows.
            let (name, options): (_, &[&str]) = match tried % 2 {
                0 => ("copy.json", &[]),
                _ => ("copy.json.gz", &["--option", "flows=yes"]),
            };
            round_trip(&shared.join("data").join(file), &folder.path().join(name), options);
            tried += 1;
        }
    }
    assert!(tried >= 15, "{tried} files of the manifest are traces");
}

#[test]
fn traces_of_every_kind_come_back_whole() {
    let folder = TempFolder::new("chrome-kinds");
    let story = Story { rank: Some((3, 8)), ..Story::sample(300).with_ranges() };
    for (kind, bytes) in every_kind(&story) {
        let original = folder.file(&format!("original {kind}"), &bytes);
        round_trip(&original, &folder.path().join("copy.json"), &[]);
    }
}

const NAMES: [&[u8]; 8] = [
    b"</script><script>alert(1)</script>",
    b"quotes \" \\ and\nlines\r\tand\0\x01\x1f\x7f controls",
    b"=cmd|' /C calc'!A0",
    b"not \xff\xfe UTF-8",
    b"lone \xed\xa0\xbd surrogate",
    "\u{1f600} é \u{2028} \u{fffd} \u{feff}".as_bytes(),
    b"_ZN1aI",
    b"{\"hex\":\"00\"}, [",
];

/// A native trace with a row of every table and a value in every column, names that hurt, slices that overlap, times
/// that cannot be.
fn everything(pid: u32, rank: u32) -> Vec<u8> {
    let story = Story { pid, rank: Some((rank, 2)), ..Story::sample(20).with_ranges() };
    let mut file = Vec::new();
    let mut writer = NativeWriter::begin(&mut file, &story, Native::default());
    writer.kernels(&story.kernels);
    writer.rest(&story);
    let long = vec![b'x'; 64 * 1024];
    let names = NAMES.iter().copied().chain([&long[..]]);
    let ids: Vec<u32> = (10_000..).take(NAMES.len() + 1).collect();
    writer.rows(ids.iter().zip(names).map(|(&id, name)| StringRow { id, bytes: name.to_vec() }).collect());
    let arguments_id = 20_000;
    let arguments = br#""Input Dims":[[2,3],[]],"dtype":"a\"},{","blocks per launch":0.5"#;
    writer.rows(vec![StringRow { id: arguments_id, bytes: arguments.to_vec() }]);
    let shapes = ids.iter().map(|&id| ShapeRow {
        id,
        name_id: id,
        grid_x: Some(i64::MAX),
        grid_y: Some(2),
        grid_z: None,
        block_x: Some(32),
        block_y: Some(1),
        block_z: Some(1),
        cluster_x: Some(2),
        cluster_y: Some(1),
        cluster_z: Some(1),
        registers: Some(255),
        static_smem_bytes: Some(1),
        dynamic_smem_bytes: Some(2),
        local_mem_per_thread_bytes: Some(3),
        local_mem_total_bytes: Some(4),
        demangled_id: Some(ids[0]),
        base_id: Some(ids[1]),
    });
    writer.rows(shapes.collect());
    writer.rows(vec![StreamRow {
        context: 1,
        stream: 7,
        priority: Some(-5),
        flag: Some(2),
        name_id: Some(ids[0]),
    }]);
    let context =
        ContextRow { context: 9, device: 0, api_kind: Some(1), null_stream: Some(7), parent_context: Some(1) };
    writer.rows(vec![context]);
    // Overlapping, of no length, without times, before everything else.
    let times =
        [(5_000, Some(900)), (5_100, Some(0)), (5_100, Some(1)), (5_200, Some(5_000)), (0, None), (-70, Some(3))];
    let kernels = times.iter().zip(ids.iter().cycle()).map(|(&(start_ns, duration_ns), &shape_id)| KernelRow {
        start_ns,
        duration_ns,
        shape_id,
        device: 0,
        context: 9,
        stream: 7,
        correlation: u64::MAX,
        graph_id: Some(u32::MAX),
        graph_node_id: Some(u64::MAX - 1),
        queued_ns: Some(1),
        submitted_ns: Some(2),
        channel: Some(3),
        priority: Some(-4),
        flags: Some(1),
    });
    writer.rows(kernels.collect());
    let copies = [(1, 3, 3), (13, 5, 3), (99, 8, 0), (0, 0, u32::MAX)];
    let copies = copies.iter().map(|&(kind, src_kind, dst_kind)| MemcpyRow {
        start_ns: 6_000 + i64::from(kind),
        duration_ns: Some(10),
        kind,
        src_kind,
        dst_kind,
        bytes: i64::MAX,
        device: 1,
        context: 2,
        stream: 7,
        src_device: Some(0),
        dst_device: Some(1),
        src_context: Some(9),
        dst_context: Some(2),
        correlation: 1 << 40,
        graph_id: None,
        graph_node_id: None,
        flags: Some(1),
        channel: Some(5),
    });
    writer.rows(copies.collect());
    let fills = [3, 77].iter().map(|&mem_kind| MemsetRow {
        start_ns: 6_500 + i64::from(mem_kind),
        duration_ns: Some(0),
        value: u32::MAX,
        bytes: 0,
        mem_kind,
        flags: Some(0),
        ..MemsetRow::default()
    });
    writer.rows(fills.collect());
    let calls = ids.iter().enumerate().map(|(i, &name_id)| ApiRow {
        start_ns: 7_000 + i as i64,
        duration_ns: Some(5),
        domain: i as u32 % 4,
        cbid: i as u32,
        name_id,
        tid: u32::MAX - i as u32 % 2,
        correlation: i as u64,
        result: (i % 2 == 0).then_some(700),
    });
    writer.rows(calls.collect());
    let syncs = [(4, None, None), (2, Some(u32::MAX), Some(u32::MAX)), (55, Some(9), Some(7))];
    let syncs = syncs.iter().map(|&(kind, context, stream)| SyncRow {
        start_ns: 7_500,
        duration_ns: Some(100),
        kind,
        context,
        stream,
        event: stream,
        correlation: 3,
        result: Some(0),
    });
    writer.rows(syncs.collect());
    let overheads = [(65_536, None), (4_242, Some(pid))];
    let overheads = overheads.iter().map(|&(kind, tid)| OverheadRow {
        start_ns: 7_600,
        duration_ns: Some(30),
        kind,
        tid,
        correlation: Some(u64::MAX),
    });
    writer.rows(overheads.collect());
    let ranges = (0..7u32).map(|style| RangeRow {
        start_ns: 8_000 + i64::from(style),
        end_ns: (style != 2).then_some(8_100 - i64::from(style % 3)),
        style,
        range_id: u64::MAX - u64::from(style),
        domain_id: (style % 2 == 0).then_some(ids[3]),
        name_id: ids[style as usize],
        category: Some(1),
        color: Some(0xff00_ff00),
        payload_i64: Some(i64::MIN + 1),
        payload_f64: Some(if style == 0 { f64::INFINITY } else { 0.1 }),
        tid: style,
    });
    writer.rows(ranges.collect());
    let open =
        RangeRow { start_ns: 8_200, end_ns: None, range_id: 77, name_id: ids[8], tid: 5, ..RangeRow::default() };
    let backwards = RangeRow { start_ns: 8_300, end_ns: Some(8_250), range_id: 78, ..open.clone() };
    writer.rows(vec![open, backwards]);
    writer.rows(vec![GraphRow {
        start_ns: 8_400,
        duration_ns: Some(9),
        graph_id: 4,
        correlation: 6,
        ..GraphRow::default()
    }]);
    let memory = [(1, 4096), (2, 4096), (19, 1)].iter().map(|&(operation, bytes)| MemoryRow {
        start_ns: 8_500 + i64::from(operation),
        operation,
        mem_kind: 3,
        address: u64::MAX,
        bytes,
        device: 0,
        context: Some(9),
        stream: None,
        correlation: 12,
        name_id: Some(ids[4]),
    });
    writer.rows(memory.collect());
    let migrations = [Some(50), None].iter().map(|&duration_ns| UvmRow {
        start_ns: 8_600,
        duration_ns,
        kind: 3,
        value: -1,
        address: u64::MAX,
        src_device: None,
        dst_device: duration_ns.map(|_| 0),
        stream: Some(7),
        flags: Some(2),
        pc: Some(u64::MAX),
    });
    writer.rows(migrations.collect());
    let events = [Some(8_700), None].iter().map(|&start_ns| EventRow {
        start_ns,
        event: 3,
        context: 9,
        ..EventRow::default()
    });
    writer.rows(events.collect());
    writer.rows(vec![ExternalRow { correlation: u64::MAX, external_kind: 3, external_id: u64::MAX }]);
    writer.rows(vec![JitRow {
        start_ns: 8_800,
        duration_ns: Some(4),
        kind: 1,
        operation: 3,
        cache_bytes: Some(-1),
        ..JitRow::default()
    }]);
    let region = OpenaccRow {
        start_ns: 8_900,
        duration_ns: Some(70),
        kind: 4,
        file_id: Some(ids[3]),
        variable_id: Some(ids[5]),
        implicit: Some(true),
        tid: pid,
        ..OpenaccRow::default()
    };
    writer.rows(vec![region]);
    writer.rows(vec![OpenmpRow { start_ns: 8_950, duration_ns: Some(1), kind: 1, tid: pid }]);
    let entries = (0..5u32).map(|form| ForeignRow {
        start_ns: 5_000 + i64::from(form),
        duration_ns: if form == 0 { None } else { Some(0) },
        form,
        category_name_id: ids[0],
        name_id: ids[3],
        device: (form % 2 == 0).then_some(1),
        stream: (form % 2 == 0).then_some(7),
        tid: (form % 2 == 1).then_some(u32::MAX),
        arrow: if form > 1 { u64::MAX - 3 } else { 0 },
        arguments_id: Some(arguments_id),
    });
    writer.rows(entries.collect());
    // Of ranges with the styles of PyTorch, and of a kernel.
    let details = (3..6u32).map(|style| DetailsRow {
        start_ns: 8_000 + i64::from(style),
        duration_ns: Some(100 - i64::from(style + style % 3)),
        of_table: RANGE.id.into(),
        of_id: u64::MAX - u64::from(style),
        tid: Some(style),
        name_id: Some(ids[style as usize]),
        event_index: Some(i64::MIN),
        sequence: Some(-1),
        torch_id: Some(i64::MAX),
        parent_id: (style != 5).then_some(3),
        arguments_id: (style != 4).then_some(arguments_id),
    });
    writer.rows(details.collect());
    writer.rows(vec![DetailsRow {
        start_ns: 5_100,
        duration_ns: Some(1),
        of_table: KERNEL.id.into(),
        of_id: u64::MAX,
        arguments_id: Some(arguments_id),
        ..DetailsRow::default()
    }]);
    let samples = [f64::NAN, 1e300, 0.5].iter().map(|&value| SampleRow {
        start_ns: 9_000,
        metric_id: ids[2],
        device: Some(0),
        value,
        of_pid: Some(pid),
    });
    writer.rows(samples.collect());
    writer.close();
    drop(writer);
    file
}

/// Raw names of all kernels, byte by byte.
fn kernel_names(path: &Path) -> Vec<Vec<u8>> {
    let frames = Frames::open(&[path.to_owned()], &Need::all()).unwrap_or_else(|e| panic!("{e}"));
    let mut names: Vec<Vec<u8>> =
        frames.kernels().iter().map(|kernel| frames.names.get(kernel.name_id).to_vec()).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn every_value_of_every_table_comes_back() {
    let folder = TempFolder::new("chrome-everything");
    let original = folder.file("original.gpuprof", &everything(4242, 0));
    let copy = folder.path().join("copy.json");
    round_trip(&original, &copy, &[]);
    round_trip(&original, &folder.path().join("copy.json.gz"), &["--option", "flows=yes"]);
    gpuprof(&["export", "-q", "-F", "chrome", text(&original), "-o", text(&copy)]);
    let names = kernel_names(&copy);
    for name in &NAMES[..6] {
        assert!(names.iter().any(|n| n == name), "{} is lost", String::from_utf8_lossy(name));
    }
}

/// What one file says of several processes, two of them with one pid.
#[test]
fn several_processes_come_back_from_one_file() {
    let folder = TempFolder::new("chrome-processes");
    for (rank, pid) in [4242, 4242, 17].into_iter().enumerate() {
        folder.file(&format!("in/{rank}.gpuprof"), &everything(pid, rank as u32));
    }
    let (original, copy): (PathBuf, PathBuf) = (folder.path().join("in"), folder.path().join("copy.json"));
    round_trip(&original, &copy, &[]);
    gpuprof(&["export", "-q", "-F", "chrome", text(&original), "-o", text(&copy)]);
    let json: Value = serde_json::from_slice(&std::fs::read(&copy).expect("the copy")).expect("JSON");
    let processes = json["gpuprof"]["processes"].as_array().expect("processes");
    let mut pids: Vec<_> = processes.iter().map(|process| process["json_pid"].as_u64()).collect();
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), 3, "every process has a number of its own");
}

#[test]
fn only_what_was_selected_is_written() {
    let folder = TempFolder::new("chrome-filter");
    let original = folder.file("original.gpuprof", &native(&Story::sample(100).with_ranges()));
    let copy = folder.path().join("copy.json");
    for filter in [&["--filter", "device=0"][..], &["--filter", "saxpy"], &["--min-duration", "1us"]] {
        gpuprof(&[&["export", "-q", "-F", "chrome", text(&original), "-o", text(&copy)], filter].concat());
        let selected =
            gpuprof(&[&["export", "-q", "-F", "jsonl", text(&original), "-o", "-"], filter].concat()).stdout;
        let copied = rows(&copy);
        assert_eq!(selected.lines().count(), copied.lines().count(), "{filter:?}");
        assert_same(all_but_first(&selected), all_but_first(&copied), &format!("{filter:?}"));
    }
}

#[test]
fn another_tools_file_with_our_arguments_is_read_as_kineto() {
    // A script that keeps events and drops the header leaves what Kineto's fields say.
    let folder = TempFolder::new("chrome-stripped");
    let original = folder.file("original.gpuprof", &native(&Story::sample(30)));
    let copy = folder.path().join("copy.json");
    gpuprof(&["export", "-q", "-F", "chrome", text(&original), "-o", text(&copy)]);
    let mut json: Value = serde_json::from_slice(&std::fs::read(&copy).expect("the copy")).expect("JSON");
    json.as_object_mut().expect("an object").remove("gpuprof");
    std::fs::write(&copy, json.to_string()).expect("the copy");
    let count = |path: &Path| {
        let frames = Frames::open(&[path.to_owned()], &Need::all()).unwrap_or_else(|e| panic!("{e}"));
        [&KERNEL, &MEMCPY, &MEMSET, &API].map(|table| frames.rows(table))
    };
    assert_eq!(count(&original), count(&copy));
}

#[test]
fn functions_of_cpu_samples_are_slices_on_the_same_timeline() {
    let folder = TempFolder::new("chrome-functions");
    let (samples, expected) = seen();
    let launcher = folder.argument("launcher.gpuprof", &launcher(&samples));
    let app = folder.argument("app.gpuprof", &native(&Story::sample(50)));
    let out = folder.path().join("both.json");
    gpuprof(&["export", "-q", "-F", "chrome", &app, &launcher, "-o", text(&out)]);
    let trace: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let ns = |event: &Value| (event["ts"].as_f64().unwrap() * 1000.0).round() as i64;
    let name_of = |pid: &Value, tid: &Value, what: &str| {
        let named =
            |e: &&Value| e["name"] == what && &e["pid"] == pid && (what == "process_name" || &e["tid"] == tid);
        events.iter().find(named).expect("a name")["args"]["name"].as_str().unwrap().to_owned()
    };
    // Samples and calls are on one clock.
    let zero = trace["baseTimeNanoseconds"].as_i64().unwrap() - EPOCH;
    let first_call = events.iter().filter(|e| e["cat"] == "cuda_runtime").map(ns).min().unwrap();
    let mut open: Vec<&Value> = Vec::new();
    let mut found = Vec::new();
    for event in events.iter().filter(|event| event["cat"] == "cpu_stack") {
        if event["ph"] == "B" {
            assert_eq!(event["args"]["file"], "/srv/train.py");
            open.push(event);
            continue;
        }
        assert_eq!(event["ph"], "E");
        let begun = open.iter().rposition(|b| b["pid"] == event["pid"] && b["tid"] == event["tid"]).unwrap();
        let begun = open.remove(begun);
        assert_eq!(begun["name"], event["name"]);
        let (pid, tid) = match name_of(&event["pid"], &event["tid"], "thread_name").as_str() {
            "thread 5001 of process 5000 (CPU samples)" => (5000, 5001),
            "python (CPU samples)" => {
                assert!(name_of(&event["pid"], &event["tid"], "process_name").contains("4242"));
                (4242, common::build::THREAD)
            }
            name => panic!("{name}"),
        };
        found.push(Seen {
            pid,
            tid,
            start: ns(begun) + zero,
            duration: ns(event) - ns(begun),
            name: event["name"].as_str().unwrap().to_owned(),
            samples: event["args"]["samples"].as_u64().unwrap(),
        });
    }
    assert!(open.is_empty(), "{open:?}");
    found.sort();
    assert_eq!(found, expected);
    assert_eq!(first_call + zero, Story::sample(50).calls.iter().map(|c| c.start).min().unwrap());
    // Our reader has the samples themselves.
    let views = ["cprofile", "cpu_lines"].map(|view| {
        let of = |inputs: &[&str]| {
            gpuprof(&[&["report"], inputs, &["--view", view, "--format", "csv", "-q"]].concat()).stdout
        };
        (of(&[&app, &launcher]), of(&[text(&out)]))
    });
    for (before, after) in views {
        assert!(before.contains("train"), "{before}");
        assert_same(&before, &after, "a view of CPU time");
    }
}
