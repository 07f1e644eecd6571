//! Function logs beside traces, and the Python helper that writes ranges, marks and gates.

use crate::common::build::{NvtxRange, Story, native};
use crate::common::{self, TempFolder, gpuprof, gpuprof_in, refused};
use crate::sim;
use serde_json::Value;
use std::path::Path;
use trace_format::read::TraceReader;
use trace_format::tables::{RangeRow, StringRow};

const S: i64 = 1_000_000_000;
/// New year 2022, UTC: the time in users' own logs.
const NEW_YEAR: i64 = 1_640_995_200 * S;

fn view(arguments: &[&str], name: &str) -> Vec<Value> {
    document(arguments)["tables"]
        .as_array()
        .and_then(|tables| tables.iter().find(|table| table["name"] == name))
        .map_or(Vec::new(), |table| table["rows"].as_array().expect("rows").clone())
}

fn document(arguments: &[&str]) -> Value {
    let answer = gpuprof(&[&["report", "--format", "json"], arguments].concat());
    serde_json::from_str(&answer.stdout).unwrap_or_else(|e| panic!("{e}: {}", answer.stdout))
}

fn notes(arguments: &[&str]) -> String {
    document(arguments)["notes"].to_string()
}

/// Ten calls of `optimize_schedule`, with 0, 1, 1, 2, 2, 3, 3, 4, 4, 5 calls of `adjust_rc_plan` inside: the numbers of
/// a user's own report.
fn users_log(prefix: &str, begin_ns: i64) -> String {
    let mut log = String::from("loading\n");
    let mut at = begin_ns;
    let entry = |function: &str, start: i64, end: i64| {
        let decimal = |ns: i64| format!("{}.{:09}", ns / S, ns % S);
        let (seconds, stamp) = (decimal(end - start), decimal(end));
        format!(
            "{prefix}{{\"function\": \"{function}\", \"execution_time\": {seconds}, \"timestamp\": {stamp}, \"n\": 4}}\n"
        )
    };
    for inner in [0, 1, 1, 2, 2, 3, 3, 4, 4, 5] {
        for i in 0..inner {
            let start = at + (2 * i + 1) * S / 100;
            log += &entry("adjust_rc_plan", start, start + S / 128);
        }
        log += &entry("optimize_schedule", at, at + S / 4);
        at += S / 2;
    }
    log
}

/// A trace of one process whose first call began at this time of day.
fn story(begin_ns: i64) -> Story {
    let mut story = Story::sample(20);
    story.ranges.clear();
    let first = story.calls.iter().map(|call| call.start).min().expect("calls");
    story.epoch = Some(begin_ns - first);
    story
}

#[test]
fn a_log_alone_gives_the_users_own_numbers() {
    let folder = TempFolder::new("functions-alone");
    for (name, prefix) in [("plain.log", ""), ("prefixed.log", "[2022-01-01 00:00:01,000] EXECUTION_TIME: ")] {
        let log = folder.argument(name, users_log(prefix, NEW_YEAR).as_bytes());
        for arguments in [vec!["--view", "functions", &log], vec!["--view", "functions", "--events", &log]] {
            let rows = view(&arguments, "functions");
            assert_eq!(rows.len(), 2, "{rows:?}");
            let (outer, inner) = (&rows[0], &rows[1]);
            assert_eq!((&outer["Function"], &outer["Calls"]), (&"optimize_schedule".into(), &10.into()));
            assert_eq!(outer["Total Time (ns)"], 10 * S / 4);
            assert_eq!(outer["Self Time (ns)"], 10 * S / 4 - 25 * S / 128);
            assert_eq!(outer["Calls Inside Each Call"], "adjust_rc_plan 2.50 (0 to 5)");
            assert_eq!((&inner["Function"], &inner["Calls"]), (&"adjust_rc_plan".into(), &25.into()));
            assert_eq!(inner["Total Time (ns)"], 25 * S / 128);
            assert_eq!((&inner["Min (ns)"], &inner["Max (ns)"]), (&(S / 128).into(), &(S / 128).into()));
        }
        let rows = view(&["--view", "functions:nested", &log], "functions");
        assert_eq!(rows.len(), 1);
        assert_eq!((&rows[0]["Outer"], &rows[0]["Inner"]), (&"optimize_schedule".into(), &"adjust_rc_plan".into()));
        assert_eq!((&rows[0]["Calls Of Inner"], &rows[0]["Per Call"]), (&25.into(), &2.5.into()));
        assert_eq!((&rows[0]["Min Per Call"], &rows[0]["Max Per Call"]), (&0.into(), &5.into()));
    }
}

#[test]
fn a_log_joins_the_trace_it_belongs_to() {
    let folder = TempFolder::new("functions-join");
    let trace = folder.argument("run.gpuprof", &native(&story(NEW_YEAR)));
    let log = folder.argument("f.log", users_log("", NEW_YEAR).as_bytes());
    // Everything is of one process, on one clock.
    let sql = "SELECT COUNT(*) AS n, MIN(start_ns) AS first, MIN(process) AS p, MAX(process) AS q FROM range";
    let answer = gpuprof(&["query", &trace, sql, "--events", &log, "--format", "csv"]);
    assert_eq!(answer.stdout.lines().nth(1), Some(format!("35,{NEW_YEAR},0,0").as_str()), "{}", answer.stdout);
    let rows = view(&["--view", "functions", &trace, "--events", &log], "functions");
    assert_eq!((rows.len(), &rows[0]["Calls"]), (2, &10.into()));
    // The trace keeps what it had.
    let sums = |arguments: &[&str]| {
        view(&[&["--view", "cuda_gpu_kern_sum", &trace], arguments].concat(), "cuda_gpu_kern_sum")
    };
    assert_eq!(sums(&[]), sums(&["--events", &log]));
    // As ranges they are in what is written from it.
    let out = folder.path().join("out.json");
    gpuprof(&["export", &trace, "--events", &log, "-q", "-o", out.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(&out).unwrap().matches("optimize_schedule").count(), 10);
    let page = folder.path().join("page.html");
    gpuprof(&["timeline", &trace, "--events", &log, "-q", "-o", page.to_str().unwrap()]);
    assert!(page.metadata().unwrap().len() > 10_000);
}

#[test]
fn a_log_of_another_time_says_so_with_both_spans() {
    let folder = TempFolder::new("functions-outside");
    let trace = folder.argument("run.gpuprof", &native(&story(NEW_YEAR)));
    let log = folder.argument("f.log", users_log("", NEW_YEAR + 3_600 * S).as_bytes());
    let notes = notes(&["--view", "functions", &trace, "--events", &log]);
    for word in ["events-outside", "2022-01-01 01:00:0", "2022-01-01 00:00:00 UTC", "--events-zone"] {
        assert!(notes.contains(word), "{word} in {notes}");
    }
}

#[test]
fn times_without_a_zone_are_local_unless_another_is_named() {
    let folder = TempFolder::new("functions-zone");
    let line = "{\"function\": \"f\", \"execution_time_ms\": 500, \"timestamp\": \"2022-01-01 01:00:00,500\"}\n";
    let log = folder.argument("f.log", line.as_bytes());
    let start = |zone: &[&str], local: &str| {
        let arguments = ["query", "SELECT start_ns, end_ns FROM range", "--format", "csv", "--events", &log];
        let answer = common::gpuprof_with(&[("TZ", local)], &[&arguments[..], zone].concat());
        assert_eq!(answer.status, 0, "{}", answer.stderr);
        answer.stdout.lines().nth(1).unwrap_or_default().to_owned()
    };
    let expected = |ahead: i64, shift: i64| {
        let end = NEW_YEAR + 3_600 * S + S / 2 - ahead * 3_600 * S + shift;
        format!("{},{end}", end - S / 2)
    };
    assert_eq!(start(&["--events-zone", "utc"], "UTC0"), expected(0, 0));
    assert_eq!(start(&["--events-zone", "+01:00"], "UTC0"), expected(1, 0));
    assert_eq!(start(&[], "XYZ-3"), expected(3, 0));
    assert_eq!(start(&["--events-zone", "utc", "--events-time", "start"], "UTC0"), expected(0, S / 2));
    let answer = gpuprof_in(folder.path(), &["report", "--events", &log, "--events-zone", "CET"]);
    assert_eq!(answer.status, 2);
    assert!(answer.stderr.contains("not a time zone") && answer.stderr.contains("+01:00"), "{}", answer.stderr);
}

#[test]
fn lines_that_cannot_be_read_are_counted_and_named() {
    let folder = TempFolder::new("functions-broken");
    let mut text = users_log("INFO ", NEW_YEAR);
    text += "INFO {\"function\": \"cut off\", \"execu\nINFO {\"function\": \"g\", \"execution_time\": 1}\n{\"other\": 1}\n";
    let log = folder.argument("f.log", text.as_bytes());
    let notes = notes(&["--view", "functions", &log]);
    assert!(
        notes.contains("1 line holds a JSON object that cannot be read") && notes.contains("(line 37)"),
        "{notes}"
    );
    assert!(notes.contains("1 line has no timestamp") && notes.contains("(line 38)"), "{notes}");
    assert!(!notes.contains("(line 39)"), "another object is no damage: {notes}");
}

#[test]
fn processes_and_threads_that_a_log_names_are_kept_apart() {
    let folder = TempFolder::new("functions-threads");
    let line = |pid: u32, thread: &str, name: &str, end: i64| {
        format!(
            "{{\"function\":\"{name}\",\"elapsed\":1,\"end_time\":{end},\"pid\":{pid},\"thread\":\"{thread}\"}}\n"
        )
    };
    // At the same time, on two threads: nothing is inside anything.
    let log =
        line(7, "a", "f", 1_640_995_201) + &line(7, "b", "g", 1_640_995_201) + &line(8, "a", "f", 1_640_995_201);
    let log = folder.argument("f.log", log.as_bytes());
    let nested = gpuprof_in(folder.path(), &["report", "--view", "functions:nested", &log]);
    assert_eq!(nested.status, 1, "{}{}", nested.stdout, nested.stderr);
    let answer = gpuprof(&["query", &log, "SELECT COUNT(DISTINCT process) AS n FROM range", "--format", "csv"]);
    assert_eq!(answer.stdout.lines().nth(1), Some("2"));
    // Beside a trace, each goes to the process of its pid; one that was not recorded stays apart and that is said.
    let mut story = story(NEW_YEAR);
    story.pid = 7;
    let trace = folder.argument("run.gpuprof", &native(&story));
    let answer = gpuprof(&[
        "query",
        &trace,
        "SELECT process, COUNT(*) AS n FROM range GROUP BY process ORDER BY process",
        "--events",
        &log,
        "--format",
        "csv",
    ]);
    assert_eq!(answer.stdout.lines().skip(1).collect::<Vec<_>>(), ["0,2", "1,1"], "{}", answer.stdout);
    assert!(answer.stderr.contains("process 8, which was not recorded"), "{}", answer.stderr);
}

#[test]
fn what_is_no_function_log_is_refused() {
    let folder = TempFolder::new("functions-refused");
    let text = folder.argument("notes.txt", b"words\n");
    refused(&["report", "--events", &text], &["notes.txt", "not a function log", "docs/function-logs.md"]);
    let undated = folder.argument("undated.log", b"{\"function\":\"f\",\"elapsed\":1,\"ts\":\"soon\"}\n");
    refused(&["report", "--events", &undated], &["undated.log", "not a function log"]);
    let answer = gpuprof_in(folder.path(), &["report", "--events-zone", "utc", &text]);
    assert!(answer.status == 2 && answer.stderr.contains("--events <FILE>"), "{}", answer.stderr);
    let trace = folder.argument("run.gpuprof", &native(&story(NEW_YEAR)));
    let answer = gpuprof_in(folder.path(), &["report", "--view", "functions", &trace]);
    assert_eq!(answer.status, 1, "no log, nothing to show: {}{}", answer.stdout, answer.stderr);
}

/// Ranges of a trace by name, with their domain.
fn ranges(trace: &Path) -> Vec<(String, String, RangeRow)> {
    let reader = TraceReader::open(trace).unwrap();
    let names = reader.definitions::<StringRow>().rows;
    let text = |id: u32| {
        let row = names.iter().find(|row| row.id == id);
        row.map_or(String::new(), |row| String::from_utf8_lossy(&row.bytes).into_owned())
    };
    let rows = reader.definitions::<RangeRow>().rows;
    rows.into_iter().map(|row| (text(row.domain_id.unwrap_or(0)), text(row.name_id), row)).collect()
}

const MARKS: &str = r##"
import ctypes, json, sys
sys.path.insert(0, sys.argv[1])
import gpuprof_marks as marks
from ctypes import byref, c_int, c_size_t, c_void_p

before = marks.start()  # no CUDA yet: nothing happens
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
device, context, buffer = c_int(), c_void_p(), c_void_p()
assert cuda.cuDeviceGet(byref(device), 0) == 0
assert cuda.cuDevicePrimaryCtxRetain(byref(context), device) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(byref(buffer), c_size_t(64)) == 0

def fill():
    assert cuda.cuMemsetD8_v2(buffer, 1, c_size_t(64)) == 0

@marks.span(color="red")
def forward(depth):
    fill()
    return forward(depth - 1) if depth else "bottom"

fill()
with marks.span("step", color="green", payload=7):
    assert forward(1) == "bottom"
marks.mark("done")
try:
    with marks.span("fails"):
        raise ValueError("mine")
except ValueError:
    pass
with marks.gate() as opened:
    fill()
    fill()
    loader = marks.Domain("loader")
    with loader.span("größe", payload=0.5):
        loader.mark("read", color="#102030")
    assert cuda.cuCtxSynchronize() == 0
fill()
print(json.dumps({"before": before, "opened": opened, "listening": marks.listening()}))
"##;

fn marks(sim: &sim::Sim) -> sim::Run<'_> {
    let script = sim.folder().join("marks.py");
    std::fs::write(&script, MARKS).unwrap();
    let helper = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/python");
    sim.program("python3").arg(script).arg(helper)
}

#[test]
fn the_python_helper_writes_ranges_marks_and_domains() {
    let sim = sim::Sim::new("13.0");
    let ended = marks(&sim).inject().run();
    assert_eq!(ended.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.stdout.trim(), r#"{"before": false, "opened": true, "listening": true}"#);
    let ranges = ranges(&ended.trace());
    let one = |name: &str| {
        let found: Vec<_> = ranges.iter().filter(|(_, n, _)| n == name).collect();
        assert_eq!(found.len(), 1, "{name} in {ranges:?}");
        found[0].clone()
    };
    let (_, _, step) = one("step");
    assert_eq!((step.payload_i64, step.color.map(|c| c & 0xFF_FFFF)), (Some(7), Some(0x76_B900)));
    let forward: Vec<_> = ranges.iter().filter(|(_, name, _)| name == "forward").map(|(_, _, row)| row).collect();
    assert_eq!(forward.len(), 2);
    assert!(forward.iter().all(|f| step.start_ns <= f.start_ns && f.end_ns <= step.end_ns && f.end_ns.is_some()));
    let (domain, _, row) = one("größe");
    assert_eq!((domain.as_str(), row.payload_f64, row.style), ("loader", Some(0.5), 0));
    let (domain, _, row) = one("read");
    assert_eq!((domain.as_str(), row.style, row.color.map(|c| c & 0xFF_FFFF)), ("loader", 2, Some(0x10_2030)));
    assert_eq!((one("done").2.style, one("done").2.end_ns), (2, None));
    assert!(one("fails").2.end_ns.is_some(), "an exception ends a range");
}

#[test]
fn the_python_helper_gates_what_is_recorded() {
    for version in ["11.8", "13.0"] {
        let sim = sim::Sim::new(version);
        let ended = marks(&sim).env("GPUPROF_CAPTURE", "profiler-api").inject().run();
        assert_eq!(ended.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
        let answer = gpuprof(&["info", "--format", "json", ended.trace().to_str().unwrap()]);
        let document: Value = serde_json::from_str(&answer.stdout).unwrap();
        let tables = document["tables"].as_array().unwrap().iter().find(|t| t["name"] == "tables").unwrap();
        let rows = |table: &str| {
            tables["rows"].as_array().unwrap().iter().find(|r| r["Table"] == table).map(|r| r["Rows"].clone())
        };
        assert_eq!(rows("memset"), Some(2.into()), "{version}: {tables}");
        assert_eq!(rows("capture"), Some(1.into()), "{version}");
    }
}

#[test]
fn the_python_helper_harms_nobody_where_nobody_listens() {
    let sim = sim::Sim::new("13.0");
    let ended = marks(&sim).run();
    assert_eq!(ended.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.stdout.trim(), r#"{"before": false, "opened": true, "listening": false}"#);
    assert!(ended.traces().is_empty());
    let ended = marks(&sim).env("NVTX_INJECTION64_PATH", "/nowhere/tool.so").run();
    assert_eq!(ended.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
}

#[test]
fn no_sum_of_a_log_wraps_at_32_bits() {
    let folder = TempFolder::new("functions-large");
    let line = |end: i64| format!("{{\"function\":\"train\",\"elapsed\":100.5,\"ts\":{end}.25}}\n");
    let log = folder.argument("f.log", (line(1_640_995_300) + &line(1_640_995_500)).as_bytes());
    let rows = view(&["--view", "functions", &log], "functions");
    assert_eq!((&rows[0]["Total Time (ns)"], &rows[0]["Self Time (ns)"]), (&(201 * S).into(), &(201 * S).into()));
    assert_eq!(rows[0]["Max (ns)"], 100 * S + S / 2);
}

/// Ranges of NVTX are no function log.
#[test]
fn other_ranges_are_not_in_the_view() {
    let folder = TempFolder::new("functions-nvtx");
    let mut story = story(NEW_YEAR);
    story.ranges.push(NvtxRange {
        name: "step".to_owned(),
        domain: None,
        start: NEW_YEAR,
        end: Some(NEW_YEAR + S),
        style: 0,
        tid: 1,
    });
    let trace = folder.argument("run.gpuprof", &native(&story));
    let log = folder.argument("f.log", users_log("", NEW_YEAR).as_bytes());
    let rows = view(&["--view", "functions", &trace, "--events", &log], "functions");
    assert_eq!(rows.len(), 2, "{rows:?}");
}
