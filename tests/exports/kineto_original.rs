//! A trace of the PyTorch profiler exported as Chrome JSON, compared with the original event by event: whoever reads the
//! export instead finds every slice, mark and arrow with the arguments that it had.

use crate::common::{TempFolder, gpuprof, shared};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::io::Read as _;
use std::path::Path;

fn load(path: &Path) -> Value {
    let bytes = std::fs::read(path).expect("a trace");
    let mut text = Vec::new();
    match bytes.starts_with(b"\x1f\x8b") {
        true => flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).map(drop).expect("gzip"),
        false => text = bytes,
    }
    serde_json::from_slice(&text).expect("JSON")
}

/// Traces of 2020 are the list of events alone.
fn events(trace: &Value) -> &[Value] {
    trace["traceEvents"].as_array().or(trace.as_array()).expect("events")
}

/// What says nothing that the export does not: names of lanes, arrows from calls to their work (`--option flows=yes`),
/// the span of the whole trace and the marks on it.
fn is_repeated(event: &Value) -> bool {
    let category = event["cat"].as_str().unwrap_or_default();
    event["ph"] == "M" || ["ac2g", "async", "Trace", ""].contains(&category)
}

/// What tells an event apart: phase, category without regard to the names of 2020, name, start and duration in ns.
type Key = (String, String, String, i128, i64);

fn key(event: &Value, base_ns: i128) -> Key {
    // What is too large for a double times a thousand is not for a double.
    let exact = |us: f64| us.trunc() as i128 * 1000 + (us.fract() * 1000.0).round() as i128;
    let ns = |key: &str| event[key].as_f64().map_or(0, exact);
    // What viewers would lose is drawn 1 ns long, and beside it stands how long it was.
    let duration = event["args"]["gpuprof"]["duration_ns"].as_i64().map_or_else(|| ns("dur"), i128::from);
    let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let category = match text("cat").to_ascii_lowercase().as_str() {
        "operator" => "cpu_op".to_owned(),
        "runtime" | "hip_runtime" => "cuda_runtime".to_owned(),
        "memcpy" => "gpu_memcpy".to_owned(),
        "memset" => "gpu_memset".to_owned(),
        other => other.to_owned(),
    };
    let name = match category.as_str() {
        // Their names come from what they are, and words for that have changed over the years.
        "gpu_memcpy" | "gpu_memset" | "cuda_sync" | "overhead" => String::new(),
        _ => text("name"),
    };
    (text("ph"), category, name, ns("ts") + base_ns, duration as i64)
}

fn base_ns(trace: &Value) -> i128 {
    trace["baseTimeNanoseconds"].as_i64().unwrap_or(0).into()
}

/// Whether two values say the same: numbers as numbers.
fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        // Kineto cuts most of its fractions to so many digits.
        (Some(a), Some(b)) => (a - b).abs() <= 1e-5 * a.abs().max(1.0),
        // Some wrote numbers as texts.
        _ => a == b || a.as_str() == Some(b.to_string().as_str()),
    }
}

/// Arguments that are written under another key or not at all, as `docs/lossy.md` says.
fn is_known_to_differ(event: &Value, key: &str) -> bool {
    match event["cat"].as_str().unwrap_or_default() {
        // Written as `External id`; what is there for our own reader.
        _ if key == "external id" || key == "gpuprof" => true,
        // One row per call says whose operator it is; of work without a call, nothing does.
        "kernel" | "gpu_memcpy" | "gpu_memset" | "cuda_runtime" | "cuda_driver" => key == "External id",
        // 0 is none.
        "cpu_op" | "user_annotation" => key == "External id" && event["args"][key] == 0,
        _ => false,
    }
}

/// Waiting and overhead have lanes of their own, and work that overlaps has several.
fn has_own_lane(event: &Value) -> bool {
    let category = event["cat"].as_str().unwrap_or_default().to_ascii_lowercase();
    let elsewhere =
        ["python_function", "cuda_sync", "overhead", "kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"];
    elsewhere.contains(&category.as_str())
}

/// Exports a trace and compares; how many events were compared.
fn compare(original: &Path, copy: &Path) -> usize {
    let [from, to] = [original, copy].map(|path| path.to_str().expect("a path"));
    gpuprof(&["export", "-q", "-F", "chrome", "--demangling", "off", from, "-o", to]);
    let (before, after) = (load(original), load(copy));
    let mut written: HashMap<Key, Vec<&Value>> = HashMap::new();
    for event in events(&after) {
        written.entry(key(event, base_ns(&after))).or_default().push(event);
    }
    let empty = Map::new();
    let mut compared = 0;
    for event in events(&before).iter().filter(|event| !is_repeated(event)) {
        let wanted = key(event, base_ns(&before));
        let found = written.get(&wanted).unwrap_or_else(|| panic!("{}: {wanted:?} is lost", original.display()));
        let arguments = event["args"].as_object().unwrap_or(&empty);
        let lacks = |candidate: &Value| {
            let there = &candidate["args"];
            arguments
                .iter()
                .filter(|(key, _)| !is_known_to_differ(event, key))
                .find(|(key, value)| !there.get(key.as_str()).is_some_and(|found| same(value, found)))
                .map(|(key, value)| (key.clone(), value.clone()))
        };
        // Threads with wider ids or words for ids have got other numbers.
        let is_plain = event["tid"].as_u64().is_some_and(|tid| u32::try_from(tid).is_ok());
        // Of slices of a thread that overlap without nesting, one goes to another lane and says which thread it is of.
        let lanes = |a: &Value, b: &Value| {
            has_own_lane(event) || !is_plain || a["tid"] == b["tid"] || a["tid"] == b["args"]["gpuprof"]["tid"]
        };
        if !found.iter().any(|candidate| lacks(candidate).is_none() && lanes(event, candidate)) {
            panic!(
                "{}: of {wanted:?} {:?} is lost:\nwas {event}\nis  {}",
                original.display(),
                lacks(found[0]),
                found[0]
            );
        }
        compared += 1;
    }
    compared
}

const KINETO: &str = r###"{"schemaVersion": 1, "baseTimeNanoseconds": 1751410836000000000,
 "deviceProperties": [{"id": 0, "name": "H100", "numSms": 132, "warpSize": 32}], "traceEvents": [
 {"ph": "X", "cat": "gpu_user_annotation", "name": "step", "pid": 0, "tid": 7, "ts": 1000.5, "dur": 20.0, "args": {"External id": 9}},
 {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1000.5, "dur": 10.25,
  "args": {"External id": 5, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 10,
   "registers per thread": 32, "shared memory": 0, "blocks per SM": 0.484848, "warps per SM": 3.878788, "grid": [64, 1, 1], "block": [256, 1, 1],
   "est. achieved occupancy %": 6, "Collective name": "allreduce", "Process Group Ranks": "[0, 1]"}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 1900000017, "ts": 990, "dur": 12,
  "args": {"External id": 5, "cbid": 211, "correlation": 10}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 1900000017, "ts": 980, "dur": 30,
  "args": {"External id": 5, "Record function id": 3, "Sequence number": 17, "Fwd thread id": 0, "Ev Idx": 4,
   "Input Dims": [[2, 3], [3, 4], []], "Input type": ["float", "float", ""], "Concrete Inputs": ["", "", "a\"},{b"], "grid": [1, 2]}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 1900000017, "ts": 980, "dur": 30,
  "args": {"External id": 6, "Ev Idx": 5}},
 {"ph": "X", "cat": "user_annotation", "name": "step", "pid": 9, "tid": 1900000017, "ts": 970, "dur": 60, "args": {"External id": 9}},
 {"ph": "X", "cat": "python_function", "name": "train.py(3): step", "pid": 9, "tid": 1900000017, "ts": 975, "dur": 50,
  "args": {"Python parent id": null, "Python id": 1, "Python module id": 2, "Ev Idx": 6}},
 {"ph": "X", "cat": "cuda_sync", "name": "Context Sync", "pid": 0, "tid": 7, "ts": 1020, "dur": 1,
  "args": {"cuda_sync_kind": "Context Sync", "stream": 4294967295, "correlation": 11, "device": 0, "context": 1}},
 {"ph": "X", "cat": "cuda_profiler_range", "name": "range", "pid": 0, "tid": 0, "ts": 1000, "dur": 40, "args": {"smsp__inst.sum": 912}},
 {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 9, "tid": 1900000017, "ts": 985,
  "args": {"Total Reserved": 4096, "Total Allocated": 512, "Bytes": -512, "Addr": 140000000000, "Device Id": 0, "Device Type": 1, "Ev Idx": 7}},
 {"ph": "s", "cat": "fwdbwd", "name": "fwdbwd", "id": 3, "pid": 9, "tid": 1900000017, "ts": 980},
 {"ph": "f", "cat": "fwdbwd", "name": "fwdbwd", "id": 3, "pid": 9, "tid": 1900000017, "ts": 980, "bp": "e"}
]}
"###;

#[test]
fn every_event_of_a_pytorch_trace_is_in_its_export_with_its_arguments() {
    let folder = TempFolder::new("kineto-original");
    let original = folder.file("original.json", KINETO.as_bytes());
    let copy = folder.path().join("copy.json");
    assert_eq!(compare(&original, &copy), 12);
    let events = load(&copy)["traceEvents"].as_array().expect("events").clone();
    let of = |category: &str| events.iter().filter(|e| e["cat"] == category).cloned().collect::<Vec<_>>();
    let arrows = of("fwdbwd");
    assert!(arrows.iter().all(|arrow| arrow["id"] == 3), "{arrows:?}");
    let annotation = of("gpu_user_annotation").remove(0);
    assert_eq!((&annotation["pid"], &annotation["tid"]), (&Value::from(0), &Value::from(7)));
    // It contains the kernel, and viewers take the first of two that start together for the outer one.
    let at = |category: &str| events.iter().position(|e| e["cat"] == category);
    assert!(at("gpu_user_annotation") < at("kernel"));
    // An export of the export is the same.
    let again = folder.path().join("again.json");
    assert_eq!(compare(&copy, &again), 12);
}

#[test]
fn every_event_of_the_shared_pytorch_traces_is_in_their_exports_with_its_arguments() {
    let Some(shared) = shared("kineto_original::every_event_of_the_shared_pytorch_traces") else { return };
    let folder = TempFolder::new("kineto-original-shared");
    let mut compared = 0;
    for entry in std::fs::read_dir(shared.join("data/torch")).expect("the folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if name.ends_with(".json.gz") || (name.ends_with(".json") && !name.ends_with(".truth.json")) {
            compared += compare(&path, &folder.path().join(name));
        }
    }
    assert!(compared > 100_000, "{compared} events");
}

#[test]
fn formats_without_a_place_for_what_pytorch_says_beside_its_records_say_so() {
    let folder = TempFolder::new("kineto-notes");
    let original = folder.argument("original.json", KINETO.as_bytes());
    for (format, expected) in [
        ("sqlite", "5 arguments of rows (table details) and 5 entries that are no records (table foreign)"),
        ("perfetto", "5 entries"),
        ("csv", "arguments that the trace gives 5 of its rows are not written"),
    ] {
        let out = folder.path().join(format!("copy-{format}"));
        let said = gpuprof(&["export", "-F", format, &original, "-o", out.to_str().expect("a path")]).stderr;
        assert!(said.contains(expected), "{format}: {said}");
    }
    for format in ["parquet", "gpuprof", "chrome", "csv-tables"] {
        let out = folder.path().join(format!("copy-{format}"));
        let said = gpuprof(&["export", "-F", format, &original, "-o", out.to_str().expect("a path")]).stderr;
        assert!(!said.contains("arguments"), "{format}: {said}");
    }
}
