//! A native trace with rows in every table, values in every column, and names of the kind that break things.

use super::build::{Native, NativeWriter, Story};
use trace_format::tables::*;

/// Names that are hard on whoever writes them somewhere.
pub fn hostile_names() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        "</script><script>alert(1)</script>",
        "quote\" apostrophe' backslash\\ semicolon; -- '); DROP TABLE StringIds; --",
        "line\nbreak\r\nand\ttab",
        "=cmd|' /C calc'!A0",
        "\u{1}\u{7f}\u{0}control",
        "Grüße, 名前 🚀",
        "[CUDA memcpy HtoD]",
        "comma,semicolon;pipe|",
    ]
    .iter()
    .map(|name| name.as_bytes().to_vec())
    .collect();
    names.push(b"not \xff\xfe UTF-8 \x80".to_vec());
    names.push(vec![b'x'; 65_536]);
    names
}

/// Names of measurements: those of one GPU, and one of a process.
const MEASURED: [&str; 10] = [
    "sm_clock_mhz",
    "memory_clock_mhz",
    "pcie_link_gen",
    "pcie_link_width_lanes",
    "clocks_throttle_reasons_mask",
    "gpu_temperature_celsius",
    "power_mw",
    "power_limit_mw",
    "fan_speed_percent",
    "process_cpu_percent",
];

/// Rows per table.
const ROWS: i64 = 40;

/// The trace, of process `pid`; times count from `first_ns` on the trace clock.
pub fn everything(pid: u32, epoch_ns: Option<i64>, first_ns: i64) -> Vec<u8> {
    let mut file = Vec::new();
    let story = Story { pid, epoch: epoch_ns, ..Story::empty() };
    let mut w = NativeWriter::begin(&mut file, &story, Native { rows_per_frame: 7, ..Native::default() });
    let hostile: Vec<u32> = hostile_names().iter().map(|name| w.string(name)).collect();
    let name = |i: i64| hostile[i as usize % hostile.len()];
    let arguments = w.string(br#""Input Dims":[[2,3],[]],"dtype":"a\"},{""#);
    let measured = MEASURED.map(|metric| w.string(metric.as_bytes()));
    let [mangled, demangled, base] =
        ["_Z5saxpyifPfS_", "saxpy(int, float, float*, float*)", "saxpy"].map(|text| w.string(text.as_bytes()));
    let device_names = ["NVIDIA H100 80GB HBM3", "Tesla \"T4\""].map(|text| w.string(text.as_bytes()));
    let calls =
        ["cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "cuLaunchKernel"].map(|text| w.string(text.as_bytes()));
    w.define();
    let shapes = (0..12).map(|i| ShapeRow {
        id: i as u32 + 1,
        name_id: if i < 10 { name(i) } else { mangled },
        grid_x: Some(i + 1),
        grid_y: Some(2),
        grid_z: if i == 3 { None } else { Some(1) },
        block_x: Some(128),
        block_y: Some(1),
        block_z: Some(1),
        cluster_x: (i == 5).then_some(2),
        cluster_y: (i == 5).then_some(1),
        cluster_z: (i == 5).then_some(1),
        registers: (i != 4).then_some(32 + i),
        static_smem_bytes: Some(i * 16),
        dynamic_smem_bytes: Some(i * 1024),
        local_mem_per_thread_bytes: Some(i),
        local_mem_total_bytes: Some(i << 32),
        demangled_id: (i == 10).then_some(demangled),
        base_id: (i == 10).then_some(base),
    });
    w.rows(shapes.collect());
    let devices = (0..2).map(|i| DeviceRow {
        device: i,
        name_id: device_names[i as usize],
        compute_major: Some(9),
        compute_minor: Some(i),
        multiprocessors: Some(132),
        core_clock_khz: Some(1_980_000),
        memory_bytes: Some(80 << 30),
        memory_bandwidth_kb_per_s: Some(3_352_320_000),
        l2_cache_bytes: Some(52_428_800),
        max_warps_per_multiprocessor: Some(64),
        uuid: Some((0..16).map(|b| (b * 7 + i * 31 + 1) as u8).collect()),
        pci_bus_id: Some(format!("0000:{:02x}:00.0", i + 3).into_bytes()),
    });
    w.rows(devices.collect());
    let contexts = (0..3).map(|i| ContextRow {
        context: i + 1,
        device: i % 2,
        api_kind: Some(1),
        null_stream: Some(7 + i),
        parent_context: (i == 2).then_some(1),
    });
    w.rows(contexts.collect());
    let streams = (0..6).map(|i| StreamRow {
        context: i / 3 + 1,
        stream: 7 + i,
        priority: Some(i64::from(i) - 5),
        flag: Some(1 + i % 3),
        name_id: (i % 2 == 0).then(|| name(i64::from(i))),
    });
    w.rows(streams.collect());
    w.rows((0..5).map(|i| ThreadRow { tid: 100 + i, name_id: name(i64::from(i)) }).collect());
    // Every seventh row has no valid times.
    let start = |i: i64| first_ns + i * 1_000;
    let duration = |i: i64| (i % 7 != 6).then_some(100 + i * 37);
    let range = || 0..ROWS;
    let kernels = range().map(|i| KernelRow {
        start_ns: start(i),
        duration_ns: duration(i),
        shape_id: i as u32 % 12 + 1,
        device: i as u32 % 2,
        context: i as u32 % 2 + 1,
        stream: 7 + i as u32 % 6,
        correlation: i as u64,
        graph_id: (i % 4 == 0).then_some(9),
        graph_node_id: (i % 4 == 0).then_some(0xF000_0000_0000_0001 + i as u64),
        queued_ns: Some(start(i) - 500),
        submitted_ns: Some(start(i) - 300),
        channel: Some(3),
        priority: Some(-1),
        flags: (i % 5 == 1 && i % 4 != 0 && i as u32 % 12 != 5).then_some(1),
    });
    w.rows(kernels.collect());
    let copies = range().map(|i| MemcpyRow {
        start_ns: start(i) + 3,
        duration_ns: duration(i),
        kind: i as u32 % 11,
        src_kind: i as u32 % 8,
        dst_kind: (i as u32 + 3) % 8,
        bytes: i << 30,
        device: i as u32 % 2,
        context: i as u32 % 2 + 1,
        stream: 7,
        src_device: (i % 11 == 10).then_some(0),
        dst_device: (i % 11 == 10).then_some(1),
        src_context: (i % 11 == 10).then_some(1),
        dst_context: (i % 11 == 10).then_some(2),
        correlation: 1_000 + i as u64,
        graph_id: (i == 1).then_some(3),
        graph_node_id: (i == 1).then_some(4),
        flags: Some(i as u32 % 2),
        channel: Some(1),
    });
    w.rows(copies.collect());
    let fills = range().map(|i| MemsetRow {
        start_ns: start(i) + 5,
        duration_ns: duration(i),
        value: i as u32,
        bytes: i * 4096,
        mem_kind: i as u32 % 8,
        device: 0,
        context: 1,
        stream: 8,
        correlation: 2_000 + i as u64,
        graph_id: (i == 2).then_some(3),
        graph_node_id: (i == 2).then_some(4),
        flags: Some(i as u32 % 2),
    });
    w.rows(fills.collect());
    let api = range().map(|i| ApiRow {
        start_ns: start(i) - 700,
        duration_ns: duration(i),
        domain: (i % 3 == 2) as u32,
        cbid: [211, 41, 307][i as usize % 3],
        name_id: calls[i as usize % 3],
        tid: 100 + i as u32 % 5,
        correlation: i as u64,
        result: (i % 6 != 0).then_some(i as u32 % 3),
    });
    w.rows(api.collect());
    let syncs = range().map(|i| SyncRow {
        start_ns: start(i) + 7,
        duration_ns: duration(i),
        kind: i as u32 % 5,
        context: (i % 3 != 0).then_some(1 + i as u32 % 2),
        stream: (i % 3 != 0).then_some(7),
        event: (i % 2 == 0).then_some(i as u32),
        correlation: 3_000 + i as u64,
        result: Some(0),
    });
    w.rows(syncs.collect());
    let overheads = range().map(|i| OverheadRow {
        start_ns: start(i) + 9,
        duration_ns: duration(i),
        kind: [0, 1, 1 << 16, 2 << 16, 3 << 16, 4 << 16, 5 << 16, 6 << 16, 7 << 16, 8 << 16][i as usize % 10],
        tid: (i % 2 == 0).then_some(100),
        correlation: (i % 4 == 0).then_some(5),
    });
    w.rows(overheads.collect());
    let graphs = range().map(|i| GraphRow {
        start_ns: start(i) + 11,
        duration_ns: duration(i),
        graph_id: 1 + i as u32,
        device: 0,
        context: 1,
        stream: 9,
        correlation: 4_000 + i as u64,
    });
    w.rows(graphs.collect());
    let memory = range().map(|i| MemoryRow {
        start_ns: start(i) + 13,
        operation: [1, 2, 17, 18, 19][i as usize % 5],
        mem_kind: i as u32 % 8,
        address: 0xFFFF_8000_0000_0000 + i as u64,
        bytes: i * 512,
        device: i as u32 % 2,
        context: (i % 3 != 0).then_some(1),
        stream: (i % 4 == 0).then_some(7),
        correlation: 5_000 + i as u64,
        name_id: (i % 6 == 0).then(|| name(i)),
    });
    w.rows(memory.collect());
    let uvm = range().map(|i| {
        let kind = i as u32 % 8 + 1;
        let gpu_only = [4, 5, 6, 7, 8].contains(&kind);
        UvmRow {
            start_ns: start(i) + 15,
            duration_ns: if kind == 3 { None } else { Some(50 + i) },
            kind,
            value: if kind == 3 { 1 } else { i * 4096 },
            address: 0x7F00_0000_0000 + i as u64,
            src_device: (kind == 2 || gpu_only).then_some(0),
            dst_device: (kind == 1 || kind == 8).then_some(1),
            stream: (kind != 3 && kind != 4).then_some(7),
            flags: (kind != 3).then_some(2),
            pc: (kind == 3).then_some(0x40_34d6 + i as u64),
        }
    });
    w.rows(uvm.collect());
    let events = range().map(|i| EventRow {
        start_ns: (i % 2 == 0).then(|| start(i) + 17),
        event: i as u32,
        context: 1,
        stream: (i % 3 != 0).then_some(7),
        correlation: 6_000 + i as u64,
    });
    w.rows(events.collect());
    let external = range().map(|i| ExternalRow {
        correlation: i as u64,
        external_kind: 1 + i as u32 % 3,
        external_id: 0xFFFF_0000_0000_0000 + i as u64,
    });
    w.rows(external.collect());
    let jit = range().map(|i| JitRow {
        start_ns: start(i) + 19,
        duration_ns: duration(i),
        kind: 1 + i as u32 % 2,
        operation: 1 + i as u32 % 3,
        device: 0,
        correlation: 7_000 + i as u64,
        cache_bytes: (i % 2 == 0).then_some(i),
    });
    w.rows(jit.collect());
    let openacc = range().map(|i| {
        let kind = 1 + i as u32 % 16;
        let is_data = [5, 6, 13, 14, 15, 16].contains(&kind);
        OpenaccRow {
            start_ns: start(i) + 21,
            duration_ns: duration(i),
            kind,
            parent_construct: i as u32 % 4,
            tid: 100 + i as u32 % 5,
            line: (i % 5 != 0).then_some(i),
            file_id: (i % 4 != 0).then(|| name(i)),
            function_id: Some(name(i + 1)),
            variable_id: (is_data || kind == 4).then(|| name(i + 2)),
            bytes: is_data.then_some(i * 8),
            implicit: Some(i % 2 == 0),
            external_id: Some(i as u32),
            device: (i % 3 != 0).then_some(0),
            context: (i % 3 != 0).then_some(1),
            stream: (i % 3 != 0).then_some(7),
        }
    });
    w.rows(openacc.collect());
    let openmp = range().map(|i| OpenmpRow {
        start_ns: start(i) + 23,
        duration_ns: duration(i),
        kind: 1 + i as u32 % 6,
        tid: 100 + i as u32 % 5,
    });
    w.rows(openmp.collect());
    let host_calls = range().map(|i| HostCallRow {
        start_ns: start(i) + 24,
        duration_ns: duration(i),
        domain: 2 + (i % 3 != 0) as u32,
        kind: (i % 3 != 0).then_some(1 + i as u32 % 4),
        name_id: name(i),
        tid: 100 + i as u32 % 5,
        returned: (i % 3 == 0).then_some(i - 3),
    });
    w.rows(host_calls.collect());
    let ranges = range().map(|i| RangeRow {
        start_ns: start(i) + 25,
        end_ns: (i % 9 != 8 && i % 6 != 2).then_some(start(i) + 25 + i * 900),
        style: i as u32 % 6,
        range_id: 1 + i as u64,
        domain_id: (i % 4 == 0 && i % 6 < 3).then(|| name(i)),
        name_id: name(i),
        category: (i % 3 == 0).then_some(1 + i as u32),
        color: (i % 3 == 1).then_some(0xFF00_00FF),
        payload_i64: (i % 5 == 0).then_some(-i - 1),
        payload_f64: (i % 5 == 1).then_some(0.5 + i as f64),
        tid: 100 + i as u32 % 5,
    });
    w.rows(ranges.collect());
    // What CUPTI tells of GPUs comes together, in whole numbers; what the launcher tells of a process does not.
    let samples = (0..5 * 2 * 9).map(|i| SampleRow {
        start_ns: start(i / 18) + 26,
        metric_id: measured[i as usize % 9],
        device: Some((i / 9 % 2) as u32),
        value: (1_000 + i) as f64,
        of_pid: None,
    });
    let of_process = (0..5).map(|i| SampleRow {
        start_ns: start(i) + 28,
        metric_id: measured[9],
        device: None,
        value: 0.5 + i as f64,
        of_pid: Some(pid),
    });
    w.rows(samples.chain(of_process).collect());
    let frames = range().map(|i| FrameRow {
        id: i as u32 + 1,
        name_id: name(i),
        file_id: (i % 3 != 0).then(|| name(i + 1)),
        line: (i % 4 != 0).then_some(i),
        kind: i as u32 % 2,
    });
    w.rows(frames.collect());
    let stacks = range().map(|i| StackRow {
        id: i as u32 + 1,
        parent_id: (i % 5 != 0).then_some(i as u32),
        frame_id: i as u32 + 1,
    });
    w.rows(stacks.collect());
    let samples = range().map(|i| CpuSampleRow {
        start_ns: start(i) + 27,
        of_pid: pid + i as u32 % 2,
        tid: 100 + i as u32 % 3,
        stack_id: i as u32 + 1,
        weight_ns: 10_000_000,
        flags: i as u32 % 4,
    });
    w.rows(samples.collect());
    w.rows(range().map(|i| LaunchStackRow { correlation: i as u64, stack_id: i as u32 + 1 }).collect());
    let entries = range().map(|i| ForeignRow {
        start_ns: start(i) + 29,
        duration_ns: (i % 7 != 6).then_some(i * 30),
        form: i as u32 % 5,
        category_name_id: name(i + 2),
        name_id: name(i),
        device: (i % 2 == 0).then_some(i as u32 % 4 / 2),
        stream: (i % 2 == 0).then_some(7),
        tid: (i % 2 == 1).then_some(100 + i as u32 % 3),
        arrow: i as u64 / 2,
        arguments_id: (i % 3 == 0).then_some(arguments),
    });
    w.rows(entries.collect());
    let details = range().map(|i| DetailsRow {
        start_ns: start(i) + 25,
        duration_ns: (i % 9 != 8 && i % 6 != 2).then_some(i * 900),
        of_table: RANGE.id.into(),
        of_id: 1 + i as u64,
        tid: Some(100 + i as u32 % 5),
        name_id: Some(name(i)),
        event_index: (i % 2 == 0).then_some(i),
        sequence: (i % 3 == 0).then_some(-i),
        torch_id: Some(i << 33),
        parent_id: (i % 4 == 0).then_some(i),
        arguments_id: (i % 3 == 1).then_some(arguments),
    });
    w.rows(details.collect());
    w.close();
    drop(w);
    file
}
