//! The named tables over small made-up recordings whose answers are known by hand: overlapping and open ranges, work
//! without calls, processes that share ids, nothing at all, and numbers that do not fit 32 bits.

#![allow(clippy::panic)] // A test may fail in its helpers too.

use crate::common;
use gpuprof::analysis::labels::Labels;
use gpuprof::demangle::Demangling;
use gpuprof::render::table::Format;
use gpuprof::report::{Context, VIEWS, find_view, views};
use gpuprof::trace::frames::Frames;
use gpuprof::trace::select::{Filter, Selection};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// An nsys-like database in a temporary file, which goes when this does.
struct Recording {
    path: PathBuf,
    db: Connection,
}

const SCHEMA: &str = "
    CREATE TABLE StringIds (id INTEGER, value TEXT);
    INSERT INTO StringIds VALUES (1, 'long_kernel'), (2, 'cudaLaunchKernel_v7000'), (3, 'cudaGraphLaunch_v10000'),
        (4, 'other_kernel'), (5, 'cudaMemcpy_v3020'), (6, 'nbody.cpp'), (7, 'x[:n]');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
        streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, gridX INTEGER,
        gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
        streamId INTEGER, correlationId INTEGER, globalPid INTEGER, copyKind INTEGER, srcKind INTEGER,
        dstKind INTEGER, bytes INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
        streamId INTEGER, correlationId INTEGER, globalPid INTEGER, memKind INTEGER, bytes INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
        correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
    CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER,
        domainId INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_OPENACC_DATA (start INTEGER, end INTEGER, globalTid INTEGER, eventKind INTEGER,
        lineNo INTEGER, srcFile INTEGER, varName INTEGER);
    CREATE TABLE OPENMP_EVENT_KIND_PARALLEL (start INTEGER, end INTEGER, globalTid INTEGER);
    CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER);
    CREATE TABLE MPI_P2P_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER);
    CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INTEGER, globalPid INTEGER, address INTEGER,
        originalFaultPc INTEGER);
    CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INTEGER, end INTEGER, globalPid INTEGER, deviceId INTEGER,
        address INTEGER, numberOfPageFaults INTEGER);";

const LONG_KERNEL: i64 = 1;
const LAUNCH: i64 = 2;
const GRAPH_LAUNCH: i64 = 3;
const OTHER_KERNEL: i64 = 4;

/// A thread of a process as such files write it.
fn thread(pid: i64, tid: i64) -> i64 {
    pid << 24 | tid
}

impl Recording {
    fn new() -> Recording {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("gpuprof-views-{}-{number}.sqlite", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let db = Connection::open(&path).expect("a database");
        db.execute_batch(SCHEMA).expect("tables");
        Recording { path, db }
    }

    fn row(&self, table: &str, values: &[i64]) -> &Self {
        let values: Vec<String> = values.iter().map(i64::to_string).collect();
        self.db.execute(&format!("INSERT INTO {table} VALUES ({})", values.join(",")), []).expect("a row");
        self
    }

    fn kernel(&self, pid: i64, correlation: i64, name: i64, start: i64, end: i64) -> &Self {
        let values = [start, end, 0, 1, 7, correlation, thread(pid, 0), name, 64, 1, 1, 256, 1, 1];
        self.row("CUPTI_ACTIVITY_KIND_KERNEL", &values)
    }

    fn copy(&self, pid: i64, correlation: i64, kind: i64, start: i64, end: i64, bytes: i64) -> &Self {
        let values = [start, end, 0, 1, 7, correlation, thread(pid, 0), kind, 0, 2, bytes];
        self.row("CUPTI_ACTIVITY_KIND_MEMCPY", &values)
    }

    fn fill(&self, pid: i64, correlation: i64, start: i64, end: i64, bytes: i64) -> &Self {
        self.row("CUPTI_ACTIVITY_KIND_MEMSET", &[start, end, 0, 1, 7, correlation, thread(pid, 0), 2, bytes])
    }

    fn call(&self, thread: i64, correlation: i64, name: i64, start: i64, end: i64) -> &Self {
        self.row("CUPTI_ACTIVITY_KIND_RUNTIME", &[start, end, 0, thread, correlation, name, 0])
    }

    fn range(&self, thread: i64, style: i64, text: &str, start: i64, end: Option<i64>) -> &Self {
        let values = rusqlite::params![start, end, style, text, thread];
        self.db.execute("INSERT INTO NVTX_EVENTS VALUES (?1, ?2, ?3, ?4, ?5, 0)", values).expect("a row");
        self
    }

    fn table(&self, view: &str) -> Vec<BTreeMap<String, String>> {
        self.selected(view, Selection::default())
    }

    fn selected(&self, view: &str, selection: Selection) -> Vec<BTreeMap<String, String>> {
        table(std::slice::from_ref(&self.path), view, selection)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

const PUSH_POP: i64 = 59;
const START_END: i64 = 60;

/// Rows of a view as text by column.
fn table(paths: &[PathBuf], view: &str, selection: Selection) -> Vec<BTreeMap<String, String>> {
    let (view, arguments) = find_view(view).expect("a known view");
    let mut need = views::need(view, &arguments);
    if selection.needs_correlation() {
        need = gpuprof::trace::sink::Need::all();
    }
    let frames = Frames::open(paths, &need).expect("a recording");
    let labels = Labels::new(&frames, Demangling::On);
    let filter = Filter::resolve(selection, &frames, |kernel| labels.name_of(kernel).to_owned()).expect("a filter");
    let context = Context { frames: &frames, labels: &labels, filter: &filter, arguments };
    let table = view.table(&context).expect("a table");
    let mut out = Vec::new();
    table.write(&mut out, Format::Tsv).expect("memory");
    let text = String::from_utf8(out).expect("text");
    let mut lines = text.lines().map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
    let columns = lines.next().expect("headings");
    let unique: std::collections::BTreeSet<&String> = columns.iter().collect();
    assert_eq!(unique.len(), columns.len(), "two columns of one name");
    lines.map(|cells| columns.iter().cloned().zip(cells).collect()).collect()
}

/// Some columns of all rows, one text each.
fn cells(rows: &[BTreeMap<String, String>], columns: &[&str]) -> Vec<String> {
    let row = |row: &BTreeMap<String, String>| {
        columns
            .iter()
            .map(|&c| row.get(c).unwrap_or_else(|| panic!("no {c}")).as_str())
            .collect::<Vec<_>>()
            .join(" ")
    };
    rows.iter().map(row).collect()
}

/// Ranges that overlap in part, one that never closed, and one that need not nest.
fn ranges() -> Recording {
    let r = Recording::new();
    let (main, other) = (thread(10, 11), thread(10, 12));
    r.range(main, PUSH_POP, "a", 1000, Some(1100))
        .range(main, PUSH_POP, "b", 1050, Some(1150))
        .range(main, START_END, "whole", 900, Some(5000))
        .range(main, PUSH_POP, "open", 1200, None)
        .range(main, PUSH_POP, "inner", 1210, Some(1260))
        .range(other, PUSH_POP, "elsewhere", 0, Some(9000))
        .range(main, 34, "a mark", 1010, None);
    // In a and b; only in b, beyond the end of a; across the end of a; in open and inner; outside; on no thread.
    r.call(main, 1, LAUNCH, 1060, 1070).kernel(10, 1, LONG_KERNEL, 2000, 2100);
    r.call(main, 2, LAUNCH, 1110, 1120).kernel(10, 2, LONG_KERNEL, 2100, 2200);
    r.call(main, 3, LAUNCH, 1090, 1105).kernel(10, 3, OTHER_KERNEL, 2200, 2300);
    r.call(main, 4, GRAPH_LAUNCH, 1220, 1230).kernel(10, 4, LONG_KERNEL, 2400, 2500).kernel(
        10,
        4,
        OTHER_KERNEL,
        2600,
        2700,
    );
    r.call(main, 5, LAUNCH, 6000, 6010).copy(10, 5, 1, 6020, 6030, 4096);
    r.kernel(10, 99, LONG_KERNEL, 7000, 7500);
    r
}

#[test]
fn ranges_are_summed_unless_they_are_open() {
    let r = ranges();
    let expected = [
        "9000 1 PushPop :elsewhere",
        "4100 1 StartEnd :whole",
        "100 1 PushPop :a",
        "100 1 PushPop :b",
        "50 1 PushPop :inner",
    ];
    let rows = r.table("nvtx_sum");
    assert_eq!(cells(&rows, &["Total Time (ns)", "Instances", "Style", "Range"]), expected);
    assert_eq!(cells(&rows, &["Time (%)"]), ["67.4", "30.7", "0.7", "0.7", "0.4"]);
    assert_eq!(cells(&r.table("nvtx_startend_sum"), &["Total Time (ns)", "Range"]), ["4100 :whole"]);
    assert_eq!(r.table("nvtx_pushpop_sum").len(), 4);
}

#[test]
fn ranges_that_overlap_in_part_are_no_children_and_open_ones_have_no_end() {
    let rows = ranges().table("nvtx_pushpop_trace");
    let columns = ["Name", "Duration (ns)", "DurChild (ns)", "DurNonChild (ns)", "Lvl", "NumChild", "ParentId"];
    let expected = [
        "elsewhere 9000 0 9000 0 0 ",
        "a 100 0 100 0 0 ",
        "b 100 0 100 0 0 ",
        "open  50  0 1 ",
        "inner 50 0 50 1 0 4",
    ];
    assert_eq!(cells(&rows, &columns), expected);
    assert_eq!(cells(&rows, &["RangeStack", "NameTree"])[3..], [":4 open", ":4:5 --inner"]);
    // What is not listed still encloses what is.
    let late = Selection { from_ns: Some(1205), ..Selection::default() };
    let rows = ranges().selected("nvtx_pushpop_trace", late);
    assert_eq!(cells(&rows, &["Name", "Lvl", "RangeStack"]), ["inner 1 :4:5"]);
}

#[test]
fn work_belongs_to_every_range_that_holds_its_call_whole() {
    let r = ranges();
    let columns = ["Name", "Projected Start (ns)", "Projected Duration (ns)", "Orig Duration (ns)", "NumGPUOps"];
    let expected = [
        "whole 2000 700 4100 5",
        "a 2000 100 100 1",
        "b 2000 300 100 3",
        "open 2400 3630  3",
        "inner 2400 300 50 2",
    ];
    // The open range reaches to the end, so the copy of a later call is its work too.
    assert_eq!(cells(&r.table("nvtx_gpu_proj_trace"), &columns), expected);
    let columns = [
        "Range",
        "Style",
        "Total Proj Time (ns)",
        "Total Range Time (ns)",
        "Range Instances",
        "Avg GPU Ops",
        "Avg Range Lvl",
        "Avg Num Child",
    ];
    let expected = [
        ":open PushPop 3630 0 1 3.0 0.0 1.0",
        ":whole StartEnd 700 4100 1 5.0 0.0 0.0",
        ":b PushPop 300 100 1 3.0 0.0 0.0",
        ":inner PushPop 300 50 1 2.0 1.0 0.0",
        ":a PushPop 100 100 1 1.0 0.0 0.0",
    ];
    assert_eq!(cells(&r.table("nvtx_gpu_proj_sum"), &columns), expected);
    let rows = r.table("nvtx_kern_sum");
    let of_b: Vec<_> = rows.into_iter().filter(|row| row["NVTX Range"] == ":b").collect();
    let columns = ["PID", "TID", "NVTX Inst", "Kern Inst", "Total Time (ns)", "Kernel Name"];
    assert_eq!(cells(&of_b, &columns), ["10 11 1 2 200 long_kernel", "10 11 1 1 100 other_kernel"]);
}

#[test]
fn a_kernel_without_its_call_is_summed_but_has_no_launch() {
    let r = ranges();
    assert_eq!(
        cells(&r.table("cuda_gpu_kern_sum"), &["Name", "Instances", "Total Time (ns)"]),
        ["long_kernel 4 800", "other_kernel 2 200"]
    );
    let columns = ["Kernel Name", "API Name", "Count", "QCount", "TAvg (ns)", "QAvg (ns)"];
    assert_eq!(
        cells(&r.table("cuda_kern_exec_sum"), &columns),
        [
            "other_kernel cudaGraphLaunch 1 1 1480.0 1370.0",
            "long_kernel cudaGraphLaunch 1 1 1280.0 1170.0",
            "other_kernel cudaLaunchKernel 1 1 1210.0 1095.0",
            "long_kernel cudaLaunchKernel 2 2 1065.0 955.0",
        ]
    );
    assert_eq!(r.table("cuda_kern_exec_trace").len(), 5);
    assert_eq!(r.table("cuda_gpu_trace").len(), 7);
}

#[test]
fn kernels_can_be_told_apart_by_their_innermost_range() {
    let rows = ranges().table("cuda_gpu_kern_sum:nvtx-name");
    // Kernel 1 was launched in a and b, which overlap: the one that began last is the innermost.
    let expected = [
        "500 long_kernel",
        "200 b/long_kernel",
        "100 b/other_kernel",
        "100 inner/long_kernel",
        "100 inner/other_kernel",
    ];
    assert_eq!(cells(&rows, &["Total Time (ns)", "Name"]), expected);
}

#[test]
fn a_kernel_that_did_not_wait_has_no_queue_time() {
    let r = Recording::new();
    let main = thread(10, 11);
    r.call(main, 1, LAUNCH, 100, 200).kernel(10, 1, LONG_KERNEL, 150, 180);
    r.call(main, 2, LAUNCH, 300, 400).kernel(10, 2, LONG_KERNEL, 400, 430);
    let columns = ["Count", "QCount", "TMin (ns)", "TMax (ns)", "QAvg (ns)", "QMin (ns)", "QStdDev (ns)"];
    assert_eq!(cells(&r.table("cuda_kern_exec_sum"), &columns), ["2 0 100 130   0.0"]);
    let columns = ["API Start (ns)", "Queue Start (ns)", "Queue Dur (ns)", "Total Dur (ns)"];
    assert_eq!(cells(&r.table("cuda_kern_exec_trace"), &columns), ["100   100", "300   130"]);
}

#[test]
fn processes_that_share_correlation_ids_keep_their_own_calls() {
    let r = Recording::new();
    let (one, two) = (thread(10, 11), thread(20, 21));
    r.call(one, 7, LAUNCH, 100, 110).kernel(10, 7, LONG_KERNEL, 200, 300);
    r.call(two, 7, GRAPH_LAUNCH, 150, 160).kernel(20, 7, LONG_KERNEL, 400, 600);
    r.range(one, PUSH_POP, "mine", 50, Some(120)).range(two, PUSH_POP, "yours", 120, Some(900));
    let columns = ["PID", "TID", "API Name", "TAvg (ns)", "KAvg (ns)"];
    assert_eq!(
        cells(&r.table("cuda_kern_exec_sum"), &columns),
        ["20 21 cudaGraphLaunch 450.0 200.0", "10 11 cudaLaunchKernel 200.0 100.0"]
    );
    let columns = ["NVTX Range", "PID", "Total Time (ns)"];
    assert_eq!(cells(&r.table("nvtx_kern_sum"), &columns), [":yours 20 200", ":mine 10 100"]);
    let only = Selection { pids: vec![10], ..Selection::default() };
    assert_eq!(cells(&r.selected("nvtx_kern_sum", only), &columns), [":mine 10 100"]);
    assert_eq!(cells(&r.table("cuda_gpu_kern_sum"), &["Instances", "Total Time (ns)"]), ["2 300"]);
}

#[test]
fn several_files_are_one_table() {
    let (a, b) = (Recording::new(), Recording::new());
    a.call(thread(10, 11), 1, LAUNCH, 100, 110).kernel(10, 1, LONG_KERNEL, 200, 300);
    b.call(thread(10, 11), 1, GRAPH_LAUNCH, 100, 140).kernel(10, 1, LONG_KERNEL, 200, 600);
    let both = [a.path.clone(), b.path.clone()];
    let rows = table(&both, "cuda_gpu_kern_sum", Selection::default());
    assert_eq!(cells(&rows, &["Instances", "Total Time (ns)", "Med (ns)", "StdDev (ns)"]), ["2 500 250.0 212.1"]);
    let rows = table(&both, "cuda_kern_exec_sum", Selection::default());
    assert_eq!(cells(&rows, &["API Name", "AAvg (ns)"]), ["cudaGraphLaunch 40.0", "cudaLaunchKernel 10.0"]);
}

#[test]
fn a_filter_on_kernels_keeps_their_calls_and_leaves_other_work_out() {
    let only = || Selection { kernel_name: Some("other".parse().expect("a pattern")), ..Selection::default() };
    let r = ranges();
    assert_eq!(cells(&r.selected("cuda_gpu_trace", only()), &["Name"]), ["other_kernel", "other_kernel"]);
    assert_eq!(r.selected("cuda_gpu_mem_time_sum", only()).len(), 0);
    assert_eq!(r.selected("cuda_kern_exec_trace", only()).len(), 2);
    let late = Selection { from_ns: Some(2600), ..Selection::default() };
    // The call of this kernel began before the chosen time; it is found nevertheless.
    assert_eq!(cells(&r.selected("cuda_kern_exec_trace", late), &["API Start (ns)"]), ["1220"]);
}

#[test]
fn records_with_impossible_times_are_in_no_sum() {
    let r = Recording::new();
    let main = thread(10, 11);
    r.kernel(10, 1, LONG_KERNEL, 500, 400).kernel(10, 2, LONG_KERNEL, 0, 0).kernel(10, 3, LONG_KERNEL, 100, 200);
    r.call(main, 3, LAUNCH, 50, 60).call(main, 1, LAUNCH, 90, 80);
    r.range(main, PUSH_POP, "backwards", 500, Some(400)).copy(10, 4, 1, 300, 200, 1 << 40);
    assert_eq!(cells(&r.table("cuda_gpu_kern_sum"), &["Instances", "Total Time (ns)"]), ["1 100"]);
    assert_eq!(cells(&r.table("cuda_api_sum"), &["Num Calls", "Total Time (ns)"]), ["1 10"]);
    assert_eq!(r.table("nvtx_sum").len(), 0);
    assert_eq!(r.table("cuda_gpu_mem_size_sum").len(), 0);
    assert_eq!(r.table("cuda_kern_exec_sum").len(), 1);
    // Listings show them, without a duration.
    assert_eq!(cells(&r.table("cuda_gpu_trace"), &["Duration (ns)"]), ["", "100", "", ""]);
}

#[test]
fn nothing_recorded_is_an_empty_table() {
    let r = Recording::new();
    for view in VIEWS {
        assert_eq!(r.table(view.name()).len(), 0, "{}", view.name());
    }
    // Not even the tables.
    let bare = Recording::new();
    bare.db.execute_batch("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE NVTX_EVENTS;").expect("gone");
    for view in VIEWS {
        assert_eq!(bare.table(view.name()).len(), 0, "{}", view.name());
    }
}

/// Sums beyond 32 bits in every view: column, sum of its cells.
const LARGE: &[(&str, &str, f64)] = &[
    ("cuda_gpu_kern_sum", "Total Time (ns)", 15e9),
    ("cuda_gpu_kern_gb_sum", "Total Time (ns)", 15e9),
    ("cuda_gpu_mem_time_sum", "Total Time (ns)", 20e9),
    ("cuda_gpu_mem_size_sum", "Total (MB)", 25_000.0),
    ("cuda_gpu_sum", "Total Time (ns)", 35e9),
    ("cuda_gpu_trace", "Bytes (MB)", 25_000.0),
    ("cuda_api_sum", "Total Time (ns)", 15e9),
    ("cuda_api_trace", "Duration (ns)", 15e9),
    ("cuda_api_gpu_sum", "Total Time (ns)", 50e9),
    ("cuda_kern_exec_sum", "KMax (ns)", 5e9),
    ("cuda_kern_exec_trace", "Kernel Dur (ns)", 15e9),
    ("nvtx_sum", "Total Time (ns)", 200e9),
    ("nvtx_pushpop_sum", "Total Time (ns)", 100e9),
    ("nvtx_startend_sum", "Total Time (ns)", 100e9),
    ("nvtx_pushpop_trace", "DurNonChild (ns)", 100e9),
    ("nvtx_gpu_proj_sum", "Total Proj Time (ns)", 44e9),
    ("nvtx_gpu_proj_trace", "Projected Duration (ns)", 44e9),
    ("nvtx_kern_sum", "Total Time (ns)", 30e9),
    // Needs a log: functions.rs.
    ("functions", "Total Time (ns)", 0.0),
    ("osrt_sum", "Total Time (ns)", 12e9),
    ("mpi_event_sum", "Total Time (ns)", 14e9),
    ("openacc_sum", "Total Time (ns)", 10e9),
    ("openmp_sum", "Total Time (ns)", 10e9),
    ("um_sum", "GPU Page Faults", 6e9),
    ("um_total_sum", "Total HtoD Migration Size (MB)", 10_000.0),
    ("um_cpu_page_faults_sum", "CPU Page Faults", 3.0),
    // This recording has no stacks; `tests/record/stacks.rs` has large ones.
    ("cprofile", "tottime (ns)", 0.0),
    ("cpu_lines", "Own Time (ns)", 0.0),
    ("python_lines", "Own Time (ns)", 35e9),
    // This recording has none; `tests/record/sample.rs` has large ones.
    ("system", "Samples", 0.0),
    // Eight pieces of work are too few to judge.
    ("insights", "Observed (ns)", 40e9),
    ("cuda_api_sync", "Duration (ns)", 0.0),
    ("cuda_memcpy_async", "Duration (ns)", 0.0),
    ("cuda_memcpy_sync", "Duration (ns)", 10e9),
    ("cuda_memset_sync", "Duration (ns)", 0.0),
    ("gpu_gaps", "Duration (ns)", 15e9),
    ("gpu_time_util", "Duration (ns)", 13333333320.0),
    ("cuda_gpu_time_util_map", "Busy (ns)", 25e9),
    ("gpu_gap_causes", "Total Time (ns)", 15e9),
    ("gpu_time_breakdown", "Span (ns)", 40e9),
    // In the rows of everything, of all kernels, of the kernel, and of the copies that have its call.
    ("cuda_launch_stats", "KMax (ns)", 20e9),
    // The two ranges are no steps, and one kernel three times is no sequence; `tests/cli/oracles.rs` has large ones.
    ("steps", "Wall (ns)", 0.0),
    ("steps_sum", "Kernels Outside", 3.0),
    ("steps_slow", "Difference (ns)", 0.0),
    ("gpu_class_overlap", "Time (ns)", 25e9),
    ("gpu_class_sum", "Total Time (ns)", 35e9),
    ("hta_temporal_breakdown", "Kernel Time (ns)", 40e9),
    ("gpu_tensor_core_guess", "Kernel Time (ns)", 15e9),
    ("gpu_idle_breakdown", "Idle (ns)", 15e9),
    ("gpu_hidden_copies", "Exposed (ns)", 20e9),
    // Each piece of work takes too long.
    ("gpu_coalescable", "Work Time (ns)", 0.0),
    // From the first call, at 1 s, to the copies at 117 s.
    ("gpu_queue_length", "Span (ns)", 116e9),
    ("gpu_copy_bandwidth", "Bytes", 20e9),
    ("gpu_occupancy", "Total Time (ns)", 15e9),
    // This recording has no graph; `whole_graphs.rs` has.
    ("cuda_graph_replays", "Total Time (ns)", 0.0),
    // This recording has no allocations; `tests/cli/oracles.rs` has.
    ("cuda_mem_alloc_sum", "Total (bytes)", 0.0),
    // From the first call, at 1 s, to the fill at 140 s.
    ("critical_path", "Critical (ns)", 139e9),
    ("critical_path_sum", "Critical (ns)", 139e9),
];

#[test]
fn no_sum_wraps_at_32_bits() {
    let r = Recording::new();
    let main = thread(10, 11);
    const S: i64 = 1_000_000_000;
    for i in 0..3 {
        let at = 100 * S + i * 6 * S;
        r.call(main, i + 1, LAUNCH, S + i * 6 * S, 6 * S + i * 6 * S).kernel(
            10,
            i + 1,
            LONG_KERNEL,
            at,
            at + 5 * S,
        );
    }
    r.copy(10, 1, 1, 117 * S, 122 * S, 5 * S).copy(10, 1, 1, 117 * S, 122 * S, 5 * S);
    r.copy(10, 90, 11, 130 * S, 135 * S, 5 * S).copy(10, 91, 11, 130 * S, 135 * S, 5 * S);
    r.fill(10, 92, 140 * S, 140 * S, 5 * S);
    r.range(main, PUSH_POP, "r", 0, Some(100 * S)).range(main, START_END, "s", 0, Some(100 * S));
    for _ in 0..2 {
        r.row("CUPTI_ACTIVITY_KIND_OPENACC_DATA", &[S, 6 * S, main, 5, 85, 6, 7]);
        r.row("OPENMP_EVENT_KIND_PARALLEL", &[S, 6 * S, main]);
        r.row("OSRT_API", &[S, 7 * S, 27, main, 6]);
        r.row("MPI_P2P_EVENTS", &[S, 8 * S, main, 7]);
        r.row("CUDA_UM_GPU_PAGE_FAULT_EVENTS", &[S, 2 * S, thread(10, 0), 0, 0x7f00_0000_0000, 3 * S]);
    }
    for pc in [0x40_1000, 0x40_1000, 0x40_2000] {
        r.row("CUDA_UM_CPU_PAGE_FAULT_EVENTS", &[S, thread(10, 0), 0x7f00_0000_1000, pc]);
    }
    let listed: Vec<&str> = LARGE.iter().map(|(view, ..)| *view).collect();
    let known: Vec<&str> = VIEWS.iter().map(|view| view.name()).collect();
    assert_eq!(listed, known, "a view without a line in this test");
    for (view, column, expected) in LARGE {
        let rows = r.table(view);
        let sum: f64 = cells(&rows, &[column]).iter().filter_map(|cell| cell.parse::<f64>().ok()).sum();
        assert_eq!(sum, *expected, "{view}: {column}");
    }
    assert_eq!(cells(&r.table("openacc_sum"), &["Name"]), ["acc_enqueue_upload@nbody.cpp:85 (x[:n])"]);
    assert_eq!(cells(&r.table("openmp_sum"), &["Name", "Count"]), ["omp_parallel 2"]);
    let columns = [
        "Virtual Address",
        "HtoD Migration Size (MB)",
        "CPU Page Faults",
        "GPU Page Faults",
        "Migration Throughput (MB/s)",
    ];
    assert_eq!(
        cells(&r.table("um_sum"), &columns),
        [" 10000.000 0 0 1000.000", "0x7f0000000000 0.000 0 6000000000 ", "0x7f0000001000 0.000 3 0 "]
    );
    assert_eq!(r.table("um_sum:rows=1").len(), 1);
    let rows = r.table("um_cpu_page_faults_sum");
    assert_eq!(cells(&rows, &["CPU Page Faults", "CPU Instruction Address"]), ["2 0x401000", "1 0x402000"]);
    let rows = r.table("um_total_sum");
    assert_eq!(
        cells(&rows, &["Minimum Virtual Address", "Maximum Virtual Address"]),
        ["0x7f0000000000 0x7f0000001000"]
    );
}

#[test]
fn old_names_and_arguments_lead_to_views_and_unknown_ones_are_refused() {
    for (old, name) in [
        ("gpukernsum", "cuda_gpu_kern_sum"),
        ("cudaapisum", "cuda_api_sum"),
        ("gpumemtimesum", "cuda_gpu_mem_time_sum"),
        ("gpumemsizesum", "cuda_gpu_mem_size_sum"),
        ("nvtxsum", "nvtx_sum"),
        ("kernexecsum", "cuda_kern_exec_sum"),
        ("gputrace", "cuda_gpu_trace"),
        ("cudaapitrace", "cuda_api_trace"),
        ("nvtxppsum", "nvtx_pushpop_sum"),
        ("nvtxgpuproj", "nvtx_gpu_proj_trace"),
        ("nvtxkernsum", "nvtx_kern_sum"),
        ("apigpusum", "cuda_api_gpu_sum"),
        ("gpusum", "cuda_gpu_sum"),
        ("unifiedmemory", "um_sum"),
        ("unifiedmemorytotals", "um_total_sum"),
        ("umcpupagefaults", "um_cpu_page_faults_sum"),
        ("cuda_gpu_kern_sum:nvtx-name:base", "cuda_gpu_kern_sum"),
        ("um_sum:rows=3", "um_sum"),
    ] {
        assert_eq!(find_view(old).map(|(view, _)| view.name()), Ok(name));
    }
    for wrong in ["vulkan_api_sum", "cuda_gpu_kern_sum:bass", "cuda_api_sum:base"] {
        let error = find_view(wrong).err().unwrap_or_else(|| panic!("{wrong} is taken")).to_string();
        assert!(error.contains("known are") || error.contains("it takes none"), "{error}");
    }
    let mut names: Vec<&str> =
        VIEWS.iter().flat_map(|view| view.aliases().iter().copied().chain([view.name()])).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "two views of one name");
}

/// Headings of later versions of nsys, as far as the collection has printed tables of theirs.
#[test]
fn headings_are_those_of_a_newer_nsys() {
    let Some(shared) = common::shared("headings_are_those_of_a_newer_nsys") else { return };
    let shared = shared.join("data/nsys");
    let r = Recording::new();
    for (file, view) in [
        ("minivllm_cuda_api_sum.csv", "cuda_api_sum"),
        ("minivllm_cuda_gpu_kern_sum.csv", "cuda_gpu_kern_sum"),
        ("phobos_cuda_gpu_trace_excerpt.csv", "cuda_gpu_trace"),
        ("nbody_nvtx_pushpop_trace.csv", "nvtx_pushpop_trace"),
    ] {
        let text = std::fs::read_to_string(shared.join(file)).expect("a table of nsys");
        let (view, arguments) = find_view(view).expect("a known view");
        let frames = Frames::open(std::slice::from_ref(&r.path), &view.need()).expect("a recording");
        let labels = Labels::new(&frames, Demangling::On);
        let context = Context { frames: &frames, labels: &labels, filter: &Filter::everything(), arguments };
        let table = view.table(&context).expect("a table");
        let headings: Vec<&str> = table.headings.iter().map(|h| h.name).collect();
        assert_eq!(text.lines().next(), Some(headings.join(",").as_str()), "{file}");
    }
}
