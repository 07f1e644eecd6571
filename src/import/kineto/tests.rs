//! Whole imports, from text to rows.

use super::*;
use crate::trace::names::{Names, Shapes};
use crate::trace::sink::ProcessInfo;
use trace_format::columns::{Batch, Values};
use trace_format::tables;

/// What an import made.
#[derive(Default, Debug)]
struct Imported {
    info: ProcessInfo,
    batches: Vec<Batch>,
    names: Vec<String>,
    notes: Vec<(&'static str, String)>,
    origin: String,
}

impl Imported {
    /// The values of a column, as numbers; `None` where null.
    fn column(&self, table: &str, column: &str) -> Vec<Option<i64>> {
        let batches = self.batches.iter().filter(|b| b.table.name == table);
        let cells = batches.flat_map(|batch| {
            let column = batch.column(column).expect("a column");
            let value = |i: usize| match &column.values {
                Values::U32(v) => i64::from(v[i]),
                Values::U64(v) => v[i] as i64,
                Values::I64(v) => v[i],
                _ => panic!("no numbers"),
            };
            (0..batch.rows).map(|i| (!column.is_null(i)).then(|| value(i))).collect::<Vec<_>>()
        });
        cells.collect()
    }

    fn rows(&self) -> usize {
        self.batches.iter().map(|b| b.rows).sum()
    }

    fn codes(&self) -> Vec<&str> {
        self.notes.iter().map(|(code, _)| *code).collect()
    }
}

fn import_pieces(text: &[u8], need: &Need, piece: usize) -> Result<Imported> {
    let (mut names, mut shapes) = (Names::default(), Shapes::default());
    let mut sink = Sink::new(&mut names, &mut shapes);
    let mut pieces = text.chunks(piece);
    let mut source = |into: &mut Vec<u8>| {
        let next = pieces.next();
        into.extend_from_slice(next.unwrap_or_default());
        next.is_some()
    };
    let walked = walk(&mut source, need, &mut sink, false);
    conclude(Path::new("t.json"), walked, None, &mut sink)?;
    assert_eq!(sink.processes.len(), 1);
    let process = sink.processes.remove(0);
    let (notes, origin) = (sink.notes.iter().map(|n| (n.code, n.text.clone())).collect(), sink.origin.clone());
    let names = (0..names.len() as u32).map(|id| names.text(id).into_owned()).collect();
    Ok(Imported { info: process.info.clone(), batches: process.into_batches(), names, notes, origin })
}

fn import(text: &str) -> Imported {
    import_pieces(text.as_bytes(), &Need::all(), 100).unwrap_or_else(|e| panic!("{e}"))
}

/// A trace with one of everything.
const TRACE: &str = r#"{
  "metadata": {"env": {"HF_TOKEN": "hf_secret", "HOSTNAME": "node17"}, "traceEvents": []},
  "schemaVersion": 1,
  "deviceProperties": [
    {"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85018279936, "computeMajor": 9, "computeMinor": 0,
     "maxThreadsPerMultiprocessor": 2048, "warpSize": 32, "numSms": 132}
  ],
  "cupti_version": 28, "traceName": "/home/alice_q/trace.json",
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"ranks": [0, 1]}]},
  "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 4242, "tid": 4243, "ts": 90.000, "dur": 30.5,
   "args": {"External id": 5, "Input Dims": [[2, 3], [3, 4]]}},
  {"ph": "X", "cat": "user_annotation", "name": "step \"1\" \u2713", "pid": 4242, "tid": 4243, "ts": 80, "dur": 100,
   "args": {"External id": 4}},
  {"ph": "X", "cat": "gpu_user_annotation", "name": "step 1", "pid": 0, "tid": 7, "ts": 80, "dur": 100},
  {"ph": "X", "cat": "python_function", "name": "train.py(1): main", "pid": 0, "tid": 0, "ts": 70, "dur": 200},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4242, "tid": 4243, "ts": 100.001, "dur": 5.25,
   "args": {"External id": 5, "cbid": 211, "correlation": 11}},
  {"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernelEx", "pid": 4242, "tid": 4243, "ts": 110, "dur": 2,
   "args": {"cbid": 652, "correlation": "12"}},
  {"ph": "X", "cat": "kernel", "name": "gemm<float, 4>", "pid": 0, "tid": 7, "ts": 120.125, "dur": 64.032,
   "args": {"External id": 5, "device": 0, "context": 1, "stream": 7, "correlation": 11, "registers per thread": 90,
   "shared memory": 16384, "grid": [2322, 2, 1], "block": [384, 1, 1], "blocks per SM": 17.59,
   "est. achieved occupancy %": 31}},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "ts": 200, "dur": 1.6,
   "args": {"device": 0, "context": 1, "stream": 7, "correlation": 16, "bytes": 2048}},
  {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 7, "ts": 210, "dur": 0.8,
   "args": {"device": 0, "context": 1, "stream": 7, "correlation": 28, "bytes": 4}},
  {"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 7, "ts": 220, "dur": 9,
   "args": {"stream": 7, "correlation": 15, "device": 0, "context": 1, "wait_on_cuda_event_id": 3}},
  {"ph": "X", "cat": "overhead", "name": "Lazy Function Loading", "pid": -1, "tid": 0, "ts": 230, "dur": 1},
  {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 1, "dur": 2},
  {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 11, "pid": 4242, "tid": 4243, "ts": 100.001},
  {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 4242, "tid": 4243, "ts": 101, "s": "t"},
  {"ph": "M", "name": "thread_name", "pid": 4242, "tid": 4243, "ts": 0, "args": {"name": "thread 4243 (python)"}},
  {"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "ts": 0, "args": {"name": "stream 7"}}
  ],
  "displayTimeUnit": "ms", "baseTimeNanoseconds": 1751410836000000000
}"#;

#[test]
fn everything_becomes_a_row() {
    let trace = import(TRACE);
    assert!(trace.notes.is_empty(), "{:?}", trace.notes);
    assert_eq!(trace.column("foreign", "form"), [0, 1].map(Some), "a copy of an annotation, and a mark");
    assert_eq!(trace.column("foreign", "stream"), [Some(7), None]);
    assert_eq!(trace.column("foreign", "tid"), [None, Some(4243)]);
    // What the operator and the kernel say that their tables have no columns for.
    assert_eq!(
        trace.column("details", "of_table"),
        [tables::RANGE.id, tables::KERNEL.id].map(|id| Some(id.into()))
    );
    assert_eq!(trace.column("details", "of_id"), [5, 11].map(Some));
    for arguments in ["\"Input Dims\":[[2, 3], [3, 4]]", "\"blocks per SM\":17.59,\"est. achieved occupancy %\":31"]
    {
        assert!(trace.names.iter().any(|name| name == arguments), "{arguments}");
    }
    assert_eq!(trace.origin, "PyTorch profiler trace (Kineto, schema 1, CUPTI 28)");
    let info = ProcessInfo {
        pid: Some(4242),
        rank: Some(3),
        world_size: Some(8),
        host: None,
        name: None,
        unix_offset_ns: Some(1_751_410_836_000_000_000),
        is_launcher: false,
        aligned_ns: None,
        steps: None,
        budget: None,
    };
    assert_eq!(trace.info, info);
    let one = |table: &str, column: &str| {
        let values = trace.column(table, column);
        assert_eq!(values.len(), 1, "{table}");
        values[0]
    };
    let name = |id: Option<i64>| trace.names[id.expect("a name") as usize].as_str();

    assert_eq!((one("kernel", "start_ns"), one("kernel", "duration_ns")), (Some(120_125), Some(64_032)));
    assert_eq!(["device", "context", "stream", "correlation"].map(|c| one("kernel", c)), [0, 1, 7, 11].map(Some));
    let copy = ["kind", "src_kind", "dst_kind", "bytes", "duration_ns"].map(|c| one("memcpy", c));
    assert_eq!(copy, [1, 2, 3, 2048, 1600].map(Some));
    assert_eq!(["mem_kind", "bytes", "duration_ns"].map(|c| one("memset", c)), [3, 4, 800].map(Some));
    assert_eq!(["kind", "stream", "event"].map(|c| one("sync", c)), [2, 7, 3].map(Some));
    assert_eq!(["kind", "tid"].map(|c| one("overhead", c)), [Some(327_680), None]);
    let device = ["multiprocessors", "max_warps_per_multiprocessor", "compute_major"].map(|c| one("device", c));
    assert_eq!(device, [132, 64, 9].map(Some));
    assert_eq!(name(one("device", "name_id")), "NVIDIA H100 80GB HBM3");
    assert_eq!(["context", "device"].map(|c| one("context", c)), [1, 0].map(Some));
    assert_eq!((one("thread", "tid"), name(one("thread", "name_id"))), (Some(4243), "thread 4243 (python)"));
    assert_eq!(["correlation", "external_kind", "external_id"].map(|c| one("external", c)), [11, 3, 5].map(Some));

    assert_eq!(trace.column("api", "domain"), [0, 1].map(Some));
    assert_eq!(trace.column("api", "cbid"), [211, 652].map(Some));
    assert_eq!(trace.column("api", "correlation"), [11, 12].map(Some));
    assert_eq!(trace.column("api", "start_ns"), [100_001, 110_000].map(Some));
    assert_eq!(trace.column("range", "style"), [3, 4, 5].map(Some));
    assert_eq!(trace.column("range", "range_id"), [5, 4, 0].map(Some));
    assert_eq!(trace.column("range", "end_ns"), [120_500, 180_000, 270_000].map(Some));
    let names: Vec<_> = trace.column("range", "name_id").into_iter().map(name).collect();
    assert_eq!(names, ["aten::mm", "step \"1\" \u{2713}", "train.py(1): main"]);
}

#[test]
fn launch_shapes_are_kept_where_all_is_asked_for() {
    let (mut names, mut shapes) = (Names::default(), Shapes::default());
    for detail in [crate::trace::sink::Detail::Totals, crate::trace::sink::Detail::Full] {
        let mut sink = Sink::new(&mut names, &mut shapes);
        let mut text = Some(TRACE.as_bytes());
        let mut source = |into: &mut Vec<u8>| text.take().map(|t| into.extend_from_slice(t)).is_some();
        walk(&mut source, &Need { detail, ..Need::all() }, &mut sink, false);
    }
    let [plain, full] = &shapes.all().collect::<Vec<_>>()[..] else { panic!("two shapes") };
    assert_eq!((plain.name_id, plain.grid_x, plain.registers), (full.name_id, None, None));
    assert_eq!([full.grid_x, full.grid_y, full.block_x], [2322, 2, 384].map(Some));
    assert_eq!((full.registers, full.dynamic_smem_bytes, full.static_smem_bytes), (Some(90), Some(16_384), None));
}

#[test]
fn nothing_personal_is_copied() {
    let trace = import(TRACE);
    let everything = format!("{trace:?}");
    for secret in ["hf_secret", "node17", "alice_q", "HF_TOKEN"] {
        assert!(!everything.contains(secret), "{secret}");
    }
}

#[test]
fn only_what_is_asked_for_is_made() {
    let need = Need { tables: vec![&tables::KERNEL], ..Need::all() };
    let trace = import_pieces(TRACE.as_bytes(), &need, 64).expect("imports");
    let mut made: Vec<_> = trace.batches.iter().map(|b| b.table.name).collect();
    made.sort_unstable();
    assert_eq!(made, ["context", "device", "kernel", "thread"]);
    assert_eq!(trace.info.pid, Some(4242), "known from calls that make no rows");

    let need = Need { tables: vec![&tables::RANGE], operators: false, ..Need::all() };
    let trace = import_pieces(TRACE.as_bytes(), &need, 64).expect("imports");
    assert_eq!(trace.column("range", "style"), [], "all ranges here are operators and the like");
}

#[test]
fn every_prefix_gives_its_whole_events() {
    let whole = import(TRACE);
    let first_event = TRACE.find(r#"{"ph": "X""#).expect("an event");
    let mut most = 0;
    for length in 0..TRACE.len() {
        match import_pieces(&TRACE.as_bytes()[..length], &Need::all(), 97) {
            Ok(trace) => {
                assert!(trace.rows() >= most, "prefix of {length} loses rows");
                most = trace.rows();
                assert_eq!(trace.codes()[0], "cut-off", "prefix of {length}");
                let kernels = whole.column("kernel", "start_ns");
                assert!(kernels.starts_with(&trace.column("kernel", "start_ns")));
            }
            Err(error) => {
                assert!(length < first_event, "prefix of {length}: {error}");
                assert!(error.to_string().starts_with("t.json: "));
            }
        }
    }
    assert_eq!(most, whole.rows());
}

#[test]
fn damage_of_any_kind_never_panics() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as usize % below
    };
    let alphabet = b"\"\\{}[]:,0-9eE.+NaN \n\0\xff";
    for _ in 0..3000 {
        let mut text = TRACE.as_bytes().to_vec();
        for _ in 0..=random(6) {
            let at = random(text.len());
            match random(4) {
                0 => text[at] = alphabet[random(alphabet.len())],
                1 => text.insert(at, alphabet[random(alphabet.len())]),
                2 => drop(text.drain(at..(at + 1 + random(40)).min(text.len()))),
                _ => {
                    let piece = text[at..(at + 1 + random(300)).min(text.len())].to_vec();
                    let to = random(text.len());
                    text.splice(to..to, piece);
                }
            }
        }
        let piece = 1 + random(500);
        let by_pieces = import_pieces(&text, &Need::all(), piece);
        let at_once = import_pieces(&text, &Need::all(), usize::MAX);
        match (by_pieces, at_once) {
            (Ok(a), Ok(b)) => assert_eq!((a.rows(), a.notes), (b.rows(), b.notes)),
            (a, b) => assert_eq!(a.map(|_| ()), b.map(|_| ())),
        }
    }
}

/// A kernel event with these times, written as they are.
fn kernel(ts: &str, dur: &str) -> String {
    format!(r#"{{"ph":"X","cat":"kernel","name":"k","ts":{ts},{dur}"args":{{"device":0,"stream":7}}}}"#)
}

#[test]
fn impossible_times_are_counted_and_enter_no_sum() {
    let events = [
        kernel("1000", "\"dur\":5,"),
        kernel("NaN", "\"dur\":5,"),
        kernel("1001", "\"dur\":NaN,"),
        kernel("1002", "\"dur\":-3,"),
        kernel("1003", ""),
        kernel("\"1004\"", "\"dur\":\"7.5\","),
        kernel("1e300", "\"dur\":1,"),
        kernel("1005", "\"dur\":1e300,"),
        kernel("0", "\"dur\":0,"),
        kernel("null", "\"dur\":1,"),
        kernel("Infinity", "\"dur\":1,"),
        kernel("9", "\"dur\":1,\"ts\":1006,\"dur\":2,"),
    ];
    let trace = import(&format!("[{}]", events.join(",\n")));
    let durations = [Some(5000), None, None, None, Some(7500), None, None, None, Some(2000)];
    assert_eq!(trace.column("kernel", "duration_ns"), durations);
    let starts = [1000, 1001, 1002, 1003, 1004].map(|us| Some(us * 1000));
    assert_eq!(trace.column("kernel", "start_ns")[..5], starts);
    assert_eq!(trace.codes(), ["left-out", "invalid-times"]);
    assert_eq!(
        trace.notes[0].1,
        format!(
            "t.json: 3 records without a valid time are left out; the first at byte {} of the text",
            events[0].len() + 3
        )
    );
    assert!(trace.notes[1].1.starts_with("t.json: 6 records have no valid duration"), "{}", trace.notes[1].1);
    assert_eq!(trace.info.unix_offset_ns, None, "these are no Unix times");
}

#[test]
fn times_since_1970_are_known_without_a_base() {
    let trace = import(&format!("[{}]", kernel("1712195495519689.25", "\"dur\":0.75,")));
    assert_eq!(trace.column("kernel", "start_ns"), [Some(1_712_195_495_519_689_250)]);
    assert_eq!(trace.column("kernel", "duration_ns"), [Some(750)]);
    assert_eq!(trace.info.unix_offset_ns, Some(0));
    let trace = import(&format!(r#"{{"traceEvents":[{}],"baseTimeNanoseconds":0}}"#, kernel("5.5", "\"dur\":1,")));
    assert_eq!(trace.info.unix_offset_ns, None);
}

#[test]
fn device_and_stream_come_from_the_lane_where_arguments_lack() {
    let trace = import(
        r#"[{"ph":"X","cat":"Kernel","name":"k","pid":2,"tid":"stream 23","ts":1,"dur":1},
            {"ph":"X","cat":"Memset","name":"Memset (Device)","pid":3,"tid":9,"ts":1,"dur":1,"args":null}]"#,
    );
    assert_eq!(
        (trace.column("kernel", "device"), trace.column("kernel", "stream")),
        (vec![Some(2)], vec![Some(23)])
    );
    assert_eq!(
        (trace.column("memset", "device"), trace.column("memset", "stream")),
        (vec![Some(3)], vec![Some(9)])
    );
}

#[test]
fn names_need_not_be_utf8() {
    let trace = import_pieces(
        b"[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\xff\\ud800\",\"ts\":1,\"dur\":1}]",
        &Need::all(),
        9,
    );
    assert!(trace.expect("imports").names.contains(&r"k\xff\ud800".to_owned()));
}

#[test]
fn several_processes_in_one_file_are_said() {
    let call =
        |pid: u32| format!(r#"{{"ph":"X","cat":"cuda_runtime","name":"f","pid":{pid},"tid":1,"ts":1,"dur":1}}"#);
    let trace = import(&format!("[{},{},{}]", call(1), call(2), call(2)));
    assert_eq!((trace.info.pid, trace.codes()), (Some(2), vec!["several-processes"]));
}

#[test]
fn broken_events_are_counted_and_the_others_read() {
    let good = kernel("1", "\"dur\":1,");
    let trace = import(&format!(r#"[{good},{{"ph" "X"}},7,null,"x",[],{{}},{good}]"#));
    assert_eq!(trace.column("kernel", "start_ns").len(), 2);
    assert_eq!(trace.codes(), ["left-out", "unread-rows"], "an event without fields is one of no phase");
    assert!(
        trace.notes[0].1.contains(&format!(
            "3 items that are no JSON events are left out; the first at byte {} ",
            good.len() + 2
        ))
    );
}

#[test]
fn what_is_no_trace_is_refused_in_one_line() {
    let message = |text: &str| {
        let error = import_pieces(text.as_bytes(), &Need::all(), 10).expect_err("refused").to_string();
        assert!(error.starts_with("t.json: ") && !error.contains('\n'), "{error}");
        error
    };
    assert!(message("").contains("not JSON"));
    assert!(message("hello").contains("not JSON"));
    assert!(message(r#"{"a":{"traceEvents":[]}}"#).contains("without `traceEvents`"));
    assert!(message(r#"{"schemaVersion":1,"deviceProp"#).contains("cut off at byte 30, before any `traceEvents`"));
}

#[test]
fn traces_of_others_are_told_from_those_of_pytorch() {
    let reader = |text: &str| {
        let (mut names, mut shapes) = (Names::default(), Shapes::default());
        let mut sink = Sink::new(&mut names, &mut shapes);
        let mut given = false;
        let mut source = |into: &mut Vec<u8>| {
            into.extend_from_slice(if given { b"" } else { text.as_bytes() });
            !std::mem::replace(&mut given, true)
        };
        match walk(&mut source, &Need::all(), &mut sink, false).other_reader()? {
            Other::Chrome => Some("chrome-trace"),
            Other::Reader(reader) => Some(reader.name()),
        }
    };
    let lane = r#"{"ph":"M","name":"process_name","pid":1,"args":{"name":"/device:GPU:0/stream:all Compute"}}"#;
    assert_eq!(reader(&format!(r#"{{"traceEvents":[{lane}]}}"#)), Some("tensorflow"));
    assert_eq!(reader(r#"{"$schema":"https://www.speedscope.app/file-format-schema.json"}"#), Some("speedscope"));
    assert_eq!(
        reader(r#"[{"ph":"B","name":"a","ts":0},{"ph":"X","name":"b","ts":1,"dur":2}]"#),
        Some("chrome-trace")
    );
    assert_eq!(reader(&format!("[{}]", kernel("1", "\"dur\":1,"))), None);
    assert_eq!(reader("[]"), None);
}

#[test]
fn a_trace_of_something_else_has_no_rows_and_says_so() {
    let trace = import(r#"{"schemaVersion":1,"traceEvents":[{"ph":"X","name":"b","ts":1,"dur":2}]}"#);
    assert_eq!((trace.rows(), trace.column("range", "end_ns")), (1, vec![Some(3000)]));
    let trace = import(r#"{"schemaVersion":1,"traceEvents":[{"ph":"v","name":"b","ts":1}]}"#);
    assert_eq!((trace.rows(), trace.codes()), (0, vec!["no-gpu-records", "unread-rows"]));
    assert_eq!(import(r#"{"traceEvents":[]}"#).codes(), Vec::<&str>::new());
    assert_eq!(import("[").codes(), ["cut-off"]);
    assert_eq!(import("[] x").codes(), ["trailing-text"]);
}

/// Events that Kineto does not write itself, beside some that it does.
const STRANGERS: &str = r#"[
  {"ph":"X","cat":"cpu_op","name":"aten::add","pid":5,"tid":6,"ts":1,"dur":80},
  {"ph":"X","name":"AddV2","pid":9,"tid":2,"ts":"2.250","dur":12.34,"args":{"Task Type":"AI_VECTOR_CORE","Stream Id":2}},
  {"ph":"X","name":"copy","pid":9,"tid":2,"ts":20,"dur":1,"args":{"Task Type":"SDMA_SQE","Stream Id":2}},
  {"ph":"X","name":"wait","pid":9,"tid":2,"ts":21,"dur":1,"args":{"Task Type":"EVENT_WAIT","Stream Id":3}},
  {"ph":"X","cat":"xpu_runtime","name":"urEnqueue","pid":5,"tid":6,"ts":3,"dur":8,"args":{"correlation":71}},
  {"ph":"X","cat":"privateuse1_driver","name":"launch","pid":5,"tid":6,"ts":4,"dur":5},
  {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":31,"ts":5,"dur":40,"args":{"device":0,"sycl queue":30}},
  {"ph":"X","cat":"gpu_memcpy","name":"Memcpy M2D (Memory -> Device)","pid":0,"tid":30,"ts":6,"dur":4,"args":{"bytes":9}},
  {"ph":"C","name":"SM","pid":0,"tid":0,"ts":7,"args":{"active":40.5,"bad":"x"}},
  {"ph":"C","name":"SM","pid":0,"tid":0,"ts":7,"args":{}},
  {"ph":"B","cat":"mine","name":"outer","pid":5,"tid":6,"ts":1},
  {"ph":"E","cat":"mine","name":"inner","pid":5,"tid":6,"ts":30},
  {"ph":"B","cat":"mine","name":"inner","pid":5,"tid":6,"ts":20},
  {"ph":"E","cat":"mine","name":"outer","pid":5,"tid":6,"ts":50},
  {"ph":"B","cat":"kernel","name":"k","pid":0,"tid":7,"ts":20},
  {"ph":"X","cat":"mine","name":"other","pid":5,"tid":6,"ts":9,"dur":1},
  {"ph":"X","cat":"gpu_user_annotation","name":"step","pid":0,"tid":7,"ts":9,"dur":1},
  {"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","ts":1,"dur":2},
  {"ph":"s","cat":"fwdbwd","id":1,"pid":5,"tid":6,"ts":1},
  {"ph":"s","cat":"ac2g","id":1,"pid":5,"tid":6,"ts":1},
  {"ph":"i","name":"Record Window End","ts":1},
  {"ph":"i","name":"mine","ts":1},
  {"ph":"M","name":"process_name","pid":9,"args":{"name":"Ascend Hardware"}},
  {"ph":"X","cat":"mine","name":"no time","pid":5,"tid":6}
]"#;

#[test]
fn what_other_accelerators_write_becomes_rows() {
    let trace = import(STRANGERS);
    let names = |table: &str| -> Vec<&str> {
        let ids = trace.column(table, "name_id").into_iter();
        ids.map(|id| trace.names[id.unwrap() as usize].as_str()).collect()
    };
    assert_eq!(trace.column("kernel", "duration_ns"), [12_340, 40_000].map(Some));
    assert_eq!(trace.column("kernel", "stream"), [2, 30].map(Some));
    assert_eq!(trace.column("memcpy", "kind"), [0, 1].map(Some));
    assert_eq!(trace.column("sync", "stream"), [Some(3)], "waiting is no work");
    assert_eq!(
        (names("api"), trace.column("api", "domain")),
        (vec!["urEnqueue", "launch"], vec![Some(0), Some(1)])
    );
    assert_eq!(names("range"), ["aten::add", "other", "inner", "outer"]);
    assert_eq!(trace.column("range", "end_ns"), [81_000, 10_000, 30_000, 50_000].map(Some));
    assert_eq!(trace.column("sample", "start_ns"), [Some(7000)]);
    assert!(trace.names.contains(&"SM active".to_owned()));
    assert_eq!(
        trace.notes.last().unwrap().1,
        "t.json: 1 event of counters without a number and 1 of separate begin and end of kernel are not read"
    );
    assert_eq!(trace.column("foreign", "form"), [0, 2, 1].map(Some), "an annotation, an arrow and a mark");
    assert_eq!(trace.origin, "PyTorch profiler trace of Ascend devices (torch_npu)");
}

#[test]
fn every_event_is_read_or_repeats_or_is_counted() {
    for text in [TRACE, STRANGERS] {
        for need in [Need::all(), Need::totals(&[&tables::KERNEL])] {
            let (mut names, mut shapes) = (Names::default(), Shapes::default());
            let mut sink = Sink::new(&mut names, &mut shapes);
            let mut given = Some(text.as_bytes());
            let mut source = |into: &mut Vec<u8>| given.take().map(|t| into.extend_from_slice(t)).is_some();
            let tallies = walk(&mut source, &need, &mut sink, false).tallies;
            let told = tallies.read + tallies.repeats + tallies.unread.rows() + tallies.early;
            assert_eq!((told, tallies.early), (tallies.events, 0));
        }
    }
}

#[test]
fn a_profile_of_onnx_runtime_keeps_its_sessions_and_nodes() {
    use crate::import::testing::{TempFile, import as import_file};
    let text = r#"[{"cat":"Session","pid":311,"tid":311,"dur":20500,"ts":20,"ph":"X","name":"load","args":{}},
        {"cat":"Node","pid":311,"tid":311,"dur":1200,"ts":80100,"ph":"X","name":"conv1","args":{}},
        {"cat":"Kernel","pid":311,"tid":311,"dur":45,"ts":80150,"ph":"X","name":"sgemm",
         "args":{"stream":"19","block_x":"128","block_y":"1","block_z":"1","grid_x":"32","grid_y":"1","grid_z":"1"}}]"#;
    let found = import_file(&TempFile::new("onnx.json", text.as_bytes()), &Need::all()).unwrap();
    assert_eq!((found.origin.as_str(), found.note_codes()), ("ONNX Runtime profile", Vec::new()));
    assert_eq!(found.texts("range", "name_id"), ["load", "conv1"]);
    let kernel = ["duration_ns", "device", "stream"].map(|column| found.integers("kernel", column)[0]);
    assert_eq!(kernel, [45_000, 0, 19].map(Some));
    let shape = found.shapes.get(0).unwrap();
    assert_eq!((shape.grid_x, shape.block_x, shape.block_z), (Some(32), Some(128), Some(1)));
    assert_eq!((found.processes.len(), found.processes[0].0.pid), (1, Some(311)));
}

#[test]
fn threads_whose_ids_were_shortened_are_counted() {
    let call = |tid: &str| {
        format!(
            r#"{{"ph":"X","cat":"cuda_runtime","name":"cudaMalloc","pid":7,"tid":{tid},"ts":1,"dur":1,"args":{{"correlation":1}}}}"#
        )
    };
    let of = |tids: &[&str]| {
        let events: Vec<String> = tids.iter().map(|tid| call(tid)).collect();
        import(&format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, events.join(",")))
    };
    let two = of(&["139960515115904", "12", "\"139960515115904\"", "4294967296"]);
    assert_eq!(two.codes(), ["shortened-thread-ids"]);
    assert!(
        two.notes[0].1.contains(": 2 threads have ids of more than 32 bits, such as 4294967296: "),
        "{:?}",
        two.notes
    );
    // What fits, signed or not, is kept.
    assert_eq!(of(&["12", "4093687616", "-549452224"]).codes(), Vec::<&str>::new());
}
