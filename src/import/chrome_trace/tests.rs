//! Traces of tools that are not PyTorch's profiler, made up in the shape that each of them writes.

use crate::import::testing::{Imported, TempFile, import};
use crate::trace::sink::Need;

fn imported(text: &str) -> Imported {
    let found = import(&TempFile::new("t.json", text.as_bytes()), &Need::all()).unwrap();
    assert_eq!(found.origin, "Chrome trace");
    found
}

/// Names, devices, streams and durations of kernels.
fn kernels(found: &Imported) -> Vec<(String, [i64; 3])> {
    let columns = ["device", "stream", "duration_ns"].map(|column| found.integers("kernel", column));
    let shapes = found.integers("kernel", "shape_id").into_iter().enumerate();
    let name =
        |id: Option<i64>| found.names.text(found.shapes.get(id.unwrap() as u32).unwrap().name_id).into_owned();
    shapes.map(|(i, shape)| (name(shape), [0, 1, 2].map(|c| columns[c][i].unwrap_or(-1)))).collect()
}

fn ranges(found: &Imported) -> Vec<(String, i64, Option<i64>)> {
    let (starts, ends) = (found.integers("range", "start_ns"), found.integers("range", "end_ns"));
    let names = found.texts("range", "name_id").into_iter().enumerate();
    let mut ranges: Vec<_> = names.map(|(i, name)| (name, starts[i].unwrap(), ends[i])).collect();
    ranges.sort();
    ranges
}

#[test]
fn rocprof_has_exact_times_and_the_process_among_the_arguments() {
    let found = imported(
        r#"{"traceEvents":[{}
        ,{"args":{"name":"CPU HIP API"},"ph":"M","pid":2,"name":"process_name"}
        ,{"args":{"name":"COPY"},"ph":"M","pid":1,"name":"process_name"}
        ,{"args":{"name":"GPU1"},"ph":"M","pid":7,"name":"process_name"}
        ,{"ph":"X","name":"hipMemcpy","pid":"2","tid":"900","ts":"5000000","dur":"410",
          "args":{"BeginNs":"5000000100","EndNs":"5000410900","pid":"900","tid":"900"}}
        ,{"ph":"X","name":"CopyHostToDevice","pid":"1","tid":"0","ts":"5000050","dur":"350",
          "args":{"BeginNs":"5000050000","EndNs":"5000400250","dev-id":"1","stream-id":"3","pid":"900"}}
        ,{"ph":"X","name":"axpy(float*)","pid":"7","tid":"0","ts":"5000600","dur":"334",
          "args":{"BeginNs":"5000600000","EndNs":"5000934567","dev-id":"1","stream-id":"0","pid":"900"}}
        ,{"ts":5000500,"ph":"s","cat":"DataFlow","id":1,"pid":2,"tid":900,"name":"dep"}]}"#,
    );
    assert_eq!(kernels(&found), [("axpy(float*)".to_owned(), [1, 0, 334_567])]);
    let copy = ["duration_ns", "kind", "device", "stream"].map(|column| found.integers("memcpy", column)[0]);
    assert_eq!(copy, [350_250, 1, 1, 3].map(Some));
    assert_eq!(found.texts("api", "name_id"), ["hipMemcpy"]);
    assert_eq!(found.integers("api", "duration_ns"), [Some(410_800)]);
    assert_eq!((found.processes.len(), found.processes[0].0.pid), (1, Some(900)));
    assert_eq!(found.note_codes(), ["gpu-by-lanes", "unread-rows"]);
}

#[test]
fn xla_names_streams_after_the_events_and_lays_modules_over_kernels() {
    let found = imported(
        r#"{"traceEvents":[
        {"ph":"X","pid":1,"tid":14,"ts":100.125,"dur":20.5,"name":"fusion","args":{"correlation_id":"11",
         "kernel_details":"regs:16 static_shared:0 grid:64,1,1 block:128,1,1 occ_pct:100"}},
        {"ph":"X","pid":2,"tid":14,"ts":170,"dur":90,"name":"ncclAllGather","args":{"correlation_id":"14"}},
        {"ph":"X","pid":1,"tid":15,"ts":90,"dur":5.25,"name":"MemcpyH2D",
         "args":{"correlation_id":"10","memcpy_details":"kind_src:pageable kind_dst:device size:4096 dest:0"}},
        {"ph":"X","pid":1,"tid":1001,"ts":100,"dur":470,"name":"jit_step(1234)","args":{"run_id":"3"}},
        {"ph":"X","pid":701,"tid":55,"ts":50,"dur":60,"name":"PjitFunction(step)"},
        {"ph":"X","pid":701,"tid":55,"ts":60,"dur":3,"name":"cuLaunchKernelEx","args":{"correlation_id":"11"}},
        {"args":{"name":"/device:GPU:0"},"name":"process_name","ph":"M","pid":1},
        {"args":{"name":"/device:GPU:1"},"name":"process_name","ph":"M","pid":2},
        {"args":{"name":"/host:CPU"},"name":"process_name","ph":"M","pid":701},
        {"args":{"name":"Stream #14(Compute)"},"name":"thread_name","ph":"M","pid":1,"tid":14},
        {"args":{"name":"Stream #15(MemcpyH2D)"},"name":"thread_name","ph":"M","pid":1,"tid":15},
        {"args":{"name":"Stream #14(Compute)"},"name":"thread_name","ph":"M","pid":2,"tid":14},
        {"args":{"name":"XLA Modules"},"name":"thread_name","ph":"M","pid":1,"tid":1001},
        {"args":{"name":"python"},"name":"thread_name","ph":"M","pid":701,"tid":55},{}]}"#,
    );
    let expected = [("fusion", [0, 14, 20_500]), ("ncclAllGather", [1, 14, 90_000])];
    assert_eq!(kernels(&found), expected.map(|(name, numbers)| (name.to_owned(), numbers)));
    let shape = found.shapes.get(found.integers("kernel", "shape_id")[0].unwrap() as u32).unwrap();
    assert_eq!((shape.registers, shape.grid_x, shape.block_x), (Some(16), Some(64), Some(128)));
    let copy = ["bytes", "src_kind", "dst_kind", "stream"].map(|column| found.integers("memcpy", column)[0]);
    assert_eq!(copy, [4096, 1, 3, 15].map(Some));
    assert_eq!(found.texts("range", "name_id"), ["PjitFunction(step)", "jit_step(1234)"]);
    assert_eq!(
        (found.texts("api", "name_id"), found.integers("api", "domain")),
        (vec!["cuLaunchKernelEx".to_owned()], vec![Some(1)])
    );
    // Call and work meet in the one process there is.
    assert_eq!((found.processes.len(), found.processes[0].0.pid), (1, Some(701)));
    assert!(found.texts("thread", "name_id").contains(&"python".to_owned()));
}

#[test]
fn pytorch_before_kineto_has_a_process_for_each_side() {
    let found = imported(
        r#"[{"name":"add","ph":"X","ts":101.5,"dur":34.25,"tid":1,"pid":"CPU functions","args":{}},
            {"name":"add","ph":"X","ts":110,"dur":20.5,"tid":0,"pid":"CUDA functions","args":{}}]"#,
    );
    assert_eq!(kernels(&found), [("add".to_owned(), [0, 0, 20_500])]);
    assert_eq!(ranges(&found), [("add".to_owned(), 101_500, Some(135_750))]);
    assert_eq!(found.texts("thread", "name_id"), ["CPU functions 1"], "names that stand for ids are kept");
    assert_eq!(found.note_codes(), ["gpu-by-lanes"]);
}

#[test]
fn proton_counts_from_a_base_in_nanoseconds() {
    let found = imported(
        r#"{"baseTimeNanoseconds":1784332800000000000,"traceEvents":[{"name":"matmul","cat":"triton","ph":"X",
            "pid":"Device 0 stream 7","tid":"matmul","ts":0.5,"dur":12.25,"args":{"call_stack":["ROOT"]}}]}"#,
    );
    assert_eq!(kernels(&found), [("matmul".to_owned(), [0, 7, 12_250])]);
    assert_eq!(found.integers("kernel", "start_ns"), [Some(500)]);
    assert_eq!(found.processes[0].0.unix_offset_ns, Some(1_784_332_800_000_000_000));
}

#[test]
fn nsys2json_has_calls_ranges_and_kernels() {
    let found = imported(
        r#"[{"name":"k","ph":"X","cat":"cuda","ts":100.5,"dur":20.25,"tid":"Stream 7","pid":"Device 0","args":{"grid":[4,1,1]}},
            {"name":"step","ph":"X","cat":"nvtx","ts":90,"dur":50,"tid":"NVTX Thread 100","pid":"Host 0"},
            {"name":"cudaLaunchKernel","ph":"X","cat":"cuda_api","ts":95,"dur":4,"tid":"CUDA API 100","pid":"Host 0",
             "args":{"correlationId":9}}]"#,
    );
    assert_eq!(kernels(&found), [("k".to_owned(), [0, 7, 20_250])]);
    assert_eq!(found.shapes.get(0).unwrap().grid_x, Some(4));
    assert_eq!(ranges(&found), [("step".to_owned(), 90_000, Some(140_000))]);
    assert_eq!(found.integers("api", "correlation"), [Some(9)]);
    assert_eq!(found.texts("thread", "name_id"), ["NVTX Thread 100", "CUDA API 100"]);
}

#[test]
fn a_kernel_may_begin_and_end_in_events_of_its_own() {
    let found = imported(
        r#"{"traceEvents":[{"ph":"B","cat":"kernel","name":"k","pid":"Device 0","tid":"Stream 7","ts":100,
            "args":{"device":0,"stream":7,"correlation":1}},
            {"ph":"E","cat":"kernel","name":"k","pid":"Device 0","tid":"Stream 7","ts":120}]}"#,
    );
    assert_eq!(kernels(&found), [("k".to_owned(), [0, 7, 20_000])]);
    assert!(found.integers("range", "start_ns").is_empty());
}

#[test]
fn a_trace_of_the_cpu_is_called_one_and_what_it_has_besides_is_counted() {
    let found = imported(
        r#"[{"name":"late","ph":"E","ts":50,"pid":1,"tid":1},{"name":"inner","ph":"E","ts":30,"pid":1,"tid":1},
            {"name":"inner","ph":"B","ts":20,"pid":1,"tid":1},{"name":"late","ph":"B","ts":10,"pid":1,"tid":1},
            {"name":"x","ph":"b","id":1,"ts":1,"pid":1},{"name":"x","ph":"e","id":1,"ts":9,"pid":1},
            {"ph":"s","ts":1},{"ph":"C","name":"load","ts":3,"args":{"user":1.5}},{"ph":"P","ts":1},{"ph":"?","ts":1}]"#,
    );
    let expected = [("inner", 20_000, 30_000), ("late", 10_000, 50_000), ("x", 1000, 9000)];
    assert_eq!(ranges(&found), expected.map(|(name, start, end)| (name.to_owned(), start, Some(end))));
    assert_eq!(found.note_codes(), ["no-gpu-records", "unread-rows"]);
    assert!(found.notes[1].text.ends_with("1 event of arrows, 1 of other phases and 1 of samples are not read"));
}

#[test]
fn an_end_that_names_another_range_is_told() {
    let found = imported(
        r#"[{"pid":0,"tid":0,"ph":"B","name":"A","ts":0},{"pid":0,"tid":0,"ph":"B","name":"B","ts":1},
            {"pid":0,"tid":0,"ph":"E","name":"A","ts":10}]"#,
    );
    assert_eq!(ranges(&found), [("A".to_owned(), 0, None), ("B".to_owned(), 1000, Some(10_000))]);
    assert_eq!(found.note_codes(), ["no-gpu-records", "left-open", "misnamed-ends"]);
}

#[test]
fn threads_whose_ids_were_shortened_are_counted() {
    let found = imported(
        r#"[{"name":"a","ph":"X","ts":1,"dur":1,"pid":1,"tid":139960515115904},
            {"name":"b","ph":"X","ts":1,"dur":1,"pid":2,"tid":139960515115904},
            {"name":"c","ph":"X","ts":1,"dur":1,"pid":1,"tid":3}]"#,
    );
    assert_eq!(found.note_codes(), ["shortened-thread-ids", "no-gpu-records"]);
    let text = &found.notes[0].text;
    assert!(text.contains(": 1 thread has an id of more than 32 bits, such as 139960515115904: "), "{text}");
}
