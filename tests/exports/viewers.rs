//! What viewers and analyses of our exports rely on: one base for all ranks, places of GPUs, measured bandwidths, what
//! work waited for.

use crate::common::build::*;
use crate::common::{TempFolder, gpuprof};
use serde_json::Value;
use trace_format::tables::*;

/// Exports a trace as Chrome JSON.
fn chrome(trace: &str, folder: &TempFolder) -> Value {
    let out = folder.path().join("export.json");
    gpuprof(&["export", "-q", trace, "-o", out.to_str().expect("a path")]);
    let text = std::fs::read(&out).expect("the export");
    std::fs::remove_file(&out).expect("the export");
    serde_json::from_slice(&text).expect("JSON")
}

fn events<'v>(trace: &'v Value, category: &str) -> Vec<&'v Value> {
    trace["traceEvents"].as_array().expect("events").iter().filter(|event| event["cat"] == category).collect()
}

#[test]
fn ranks_count_from_the_same_time() {
    let folder = TempFolder::new("viewers-ranks");
    // The second begins three seconds and a bit later.
    let exports = [0, 3_000_123_457].map(|late| {
        let story = Story { epoch: Some(EPOCH + late), ..Story::sample(10) };
        chrome(&folder.argument(&format!("{late}.gpuprof"), &native(&story)), &folder)
    });
    let bases = [0, 1].map(|rank| exports[rank]["baseTimeNanoseconds"].as_i64().expect("a base"));
    assert_eq!(bases[0], bases[1]);
    assert_eq!(bases[0] % (7_889_238 * 1_000_000_000), 0, "Kineto's raster");
    let first = [0, 1].map(|rank| {
        let kernels = events(&exports[rank], "kernel");
        (kernels[0]["ts"].as_f64().expect("a number") * 1000.0).round() as i64
    });
    assert_eq!(first[1] - first[0], 3_000_123_457, "to the nanosecond, read as a double");
    // Without an epoch nothing is added or taken away.
    let relative = Story { epoch: None, ..Story::sample(10) };
    let begins = relative.kernels.iter().map(|kernel| kernel.start).min().expect("a kernel");
    let export = chrome(&folder.argument("relative.gpuprof", &native(&relative)), &folder);
    let kernels = events(&export, "kernel");
    let found = kernels.iter().map(|k| (k["ts"].as_f64().expect("a number") * 1000.0).round() as i64).min();
    assert_eq!(found, Some(begins));
}

/// A process with work on two GPUs in contexts that no record defines.
fn undefined_contexts() -> Vec<u8> {
    let mut file = Vec::new();
    let story = Story { devices: vec!["A".to_owned(), "B".to_owned()], ..Story::empty() };
    let mut w = NativeWriter::begin(&mut file, &story, Native::default());
    let name = w.string(b"k");
    w.define();
    w.rows(vec![ShapeRow { id: 1, name_id: name, ..ShapeRow::default() }]);
    let kernel = |i: i64, device: u32, context: u32| KernelRow {
        start_ns: 10_000 + i,
        duration_ns: Some(100),
        shape_id: 1,
        device,
        context,
        stream: 7,
        ..KernelRow::default()
    };
    w.rows(vec![kernel(0, 0, 1), kernel(1, 1, 9)]);
    let sync = |i: i64, context: u32| SyncRow {
        start_ns: 11_000 + i,
        duration_ns: Some(10),
        kind: 3,
        context: Some(context),
        stream: Some(7),
        ..SyncRow::default()
    };
    w.rows(vec![sync(0, 1), sync(1_000, 9)]);
    w.close();
    drop(w);
    file
}

#[test]
fn a_context_that_nothing_defines_is_on_the_device_of_its_kernels() {
    let folder = TempFolder::new("viewers-contexts");
    let trace = folder.argument("trace.gpuprof", &undefined_contexts());
    let export = chrome(&trace, &folder);
    let mut syncs = events(&export, "cuda_sync");
    syncs.sort_by(|a, b| a["ts"].as_f64().expect("a number").total_cmp(&b["ts"].as_f64().expect("a number")));
    let devices: Vec<i64> = syncs.iter().map(|sync| sync["args"]["device"].as_i64().expect("a device")).collect();
    assert_eq!(devices, [0, 1], "{syncs:#?}");
}

#[test]
fn bandwidths_are_bytes_by_nanoseconds_to_the_last_digit() {
    let folder = TempFolder::new("viewers-bandwidth");
    let export = chrome(&folder.argument("trace.gpuprof", &native(&Story::sample(300))), &folder);
    let copies = events(&export, "gpu_memcpy");
    assert!(!copies.is_empty());
    for copy in copies {
        let bytes = copy["args"]["bytes"].as_f64().expect("bytes");
        let duration = (copy["dur"].as_f64().expect("a duration") * 1000.0).round();
        let bandwidth = copy["args"]["memory bandwidth (GB/s)"].as_f64().expect("a number");
        // The reader of this test is not exact in the last digit.
        assert!((bandwidth / (bytes / duration) - 1.0).abs() < 1e-14, "{copy}");
    }
}

/// The numbers of a message of protocol buffers, by field; messages and texts as they are.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn number(bytes: &mut &[u8]) -> u64 {
        let length = 1 + bytes.iter().position(|byte| byte & 0x80 == 0).expect("the end of a number");
        let (number, rest) = bytes.split_at(length);
        *bytes = rest;
        number.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f))
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = number(&mut bytes);
        let (value, length) = match tag & 7 {
            0 => (number(&mut bytes), 0),
            1 => (0, 8),
            2 => (0, number(&mut bytes) as usize),
            wire => panic!("wire type {wire}"),
        };
        let (content, rest) = bytes.split_at(length);
        bytes = rest;
        found.push((tag >> 3, value, content));
    }
    found
}

#[test]
fn stages_of_perfetto_say_what_they_waited_for() {
    let folder = TempFolder::new("viewers-waits");
    let trace = folder.argument("trace.gpuprof", &waiting_streams());
    let out = folder.path().join("out.pftrace");
    gpuprof(&["export", "-q", "--option", "gpu-stages=yes", &trace, "-o", out.to_str().expect("a path")]);
    let bytes = std::fs::read(&out).expect("the export");
    let mut waits = Vec::new();
    let mut ids = Vec::new();
    for (_, _, packet) in fields(&bytes) {
        // `gpu_render_stage_event`, and in it `event_id` and `event_wait_ids`.
        for (_, _, stage) in fields(packet).into_iter().filter(|(field, ..)| *field == 53) {
            let stage = fields(stage);
            let id = stage.iter().find(|(field, ..)| *field == 1).expect("an id").1;
            ids.push(id);
            waits.extend(stage.iter().filter(|(field, ..)| *field == 18).map(|(_, awaited, _)| (id, *awaited)));
        }
    }
    assert_eq!(ids, [5, 10, 12, 14, 19, 22, 25]);
    assert_eq!(waits, WAITS);
}
