//! Work of the GPU and what CUPTI records around it, one table at a time.

use super::Reader;
use crate::import::rows::{ABSENT, Col, Fields, Scan};
use crate::trace::sink::valid_duration;
use hashbrown::HashMap;
use trace_format::tables::{
    EventRow, GraphRow, KernelRow, MemcpyRow, MemoryRow, MemsetRow, OverheadRow, ShapeRow, SyncRow, UvmRow,
};

/// What every row about GPU work has.
struct GpuColumns {
    start: Col,
    end: Col,
    device: Col,
    context: Col,
    stream: Col,
    process: Col,
    correlation: Col,
    graph_node: Col,
    graph: Col,
}

impl GpuColumns {
    fn of(scan: &mut Scan, full: bool) -> GpuColumns {
        GpuColumns {
            start: scan.col("start"),
            end: scan.col("end"),
            device: scan.col("deviceId"),
            context: scan.col("contextId"),
            stream: scan.col("streamId"),
            process: scan.col("globalPid"),
            correlation: scan.col_if(full, "correlationId"),
            graph_node: scan.col_if(full, "graphNodeId"),
            graph: scan.col_if(full, "graphId"),
        }
    }

    fn graph_node(&self, row: &Fields) -> Option<u64> {
        row.int(self.graph_node).map(|node| node as u64).filter(|&node| node != 0)
    }

    fn graph(&self, row: &Fields) -> Option<u32> {
        row.id(self.graph).filter(|&graph| graph != 0)
    }
}

/// End minus start if the row has both and they can be right.
pub(super) fn duration(start: i64, end: Option<i64>) -> Option<i64> {
    valid_duration(start, end?)
}

fn correlation(row: &Fields, col: Col) -> u64 {
    row.int(col).unwrap_or(0) as u64
}

/// `CUpti_ActivityMemoryKind` for nsys's numbers, which leave out "unknown" at the front and have it at the back.
fn memory_kind(nsys: Option<u32>) -> u32 {
    match nsys {
        Some(kind @ 0..=6) => kind + 1,
        _ => 0,
    }
}

/// The numbers of a launch shape.
const NUMBERS: [&str; 14] = [
    "gridX",
    "gridY",
    "gridZ",
    "blockX",
    "blockY",
    "blockZ",
    "clusterX",
    "clusterY",
    "clusterZ",
    "registersPerThread",
    "staticSharedMemory",
    "dynamicSharedMemory",
    "localMemoryPerThread",
    "localMemoryTotal",
];

/// Names of a launch shape: mangled, demangled, base.
const NAMES: [&str; 3] = ["mangledName", "demangledName", "shortName"];

/// Reads kernels.
pub(super) fn kernels(r: &mut Reader) {
    const NAMES_AND_NUMBERS: usize = NAMES.len() + NUMBERS.len();
    let Some(scan) = r.scan("CUPTI_ACTIVITY_KIND_KERNEL") else { return };
    if r.full() {
        kernels_with::<NAMES_AND_NUMBERS>(r, scan);
    } else {
        kernels_with::<{ NAMES.len() }>(r, scan);
    }
}

/// Reads kernels whose shapes are told apart by the first `PARTS` of names and numbers.
fn kernels_with<const PARTS: usize>(r: &mut Reader, mut scan: Scan) {
    let gpu = GpuColumns::of(&mut scan, r.full());
    let mut names = NAMES.iter().chain(&NUMBERS);
    let parts: [Col; PARTS] = std::array::from_fn(|_| names.next().map_or(ABSENT, |name| scan.col(name)));
    let mut shapes = ShapeCache::<PARTS>::new();
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let shape_id = shapes.get(parts.map(|col| row.int(col).unwrap_or(UNKNOWN)), |parts| shape(r, parts));
        let process = r.process(row.int(gpu.process));
        let kernel = KernelRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            shape_id,
            device: row.id_or_0(gpu.device),
            context: row.id_or_0(gpu.context),
            stream: row.id_or_0(gpu.stream),
            correlation: correlation(row, gpu.correlation),
            graph_id: gpu.graph(row),
            graph_node_id: gpu.graph_node(row),
            ..Default::default()
        };
        r.sink.push(process, kernel);
        true
    });
    r.close(tally);
}

/// Stands for null among the parts of a shape.
const UNKNOWN: i64 = i64::MIN;

/// Shape ids of launches seen lately, one per slot, by the file's own ids and numbers. Programs repeat a few hundred
/// shapes; comparing with one slot is several times cheaper than finding the shape among all, and shapes that never
/// repeat cost no memory here.
struct ShapeCache<const PARTS: usize> {
    slots: Vec<([i64; PARTS], u32)>,
}

impl<const PARTS: usize> ShapeCache<PARTS> {
    const SLOT_BITS: u32 = 11;

    fn new() -> Self {
        // No file has a shape like this: ids of names are positive.
        ShapeCache { slots: vec![([-1; PARTS], 0); 1 << Self::SLOT_BITS] }
    }

    #[inline]
    fn get(&mut self, parts: [i64; PARTS], make: impl FnOnce(&[i64]) -> u32) -> u32 {
        let hash = parts.iter().fold(0u64, |hash, &part| (hash ^ part as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let slot = &mut self.slots[(hash >> (u64::BITS - Self::SLOT_BITS)) as usize];
        if slot.0 != parts {
            *slot = (parts, make(&parts));
        }
        slot.1
    }
}

fn shape(r: &mut Reader, parts: &[i64]) -> u32 {
    let part = |i: usize| parts.get(i).copied().filter(|&part| part != UNKNOWN);
    let number = |i: usize| part(NAMES.len() + i);
    // nsys writes 0 for a launch without clusters.
    let cluster = |i: usize| number(i).filter(|&size| size > 0);
    let demangled_id = r.name_if_any(part(1));
    let row = ShapeRow {
        id: 0,
        // Exports before 2022 have no mangled names.
        name_id: r.name_if_any(part(0)).or(demangled_id).unwrap_or(0),
        grid_x: number(0),
        grid_y: number(1),
        grid_z: number(2),
        block_x: number(3),
        block_y: number(4),
        block_z: number(5),
        cluster_x: cluster(6),
        cluster_y: cluster(7),
        cluster_z: cluster(8),
        registers: number(9),
        static_smem_bytes: number(10),
        dynamic_smem_bytes: number(11),
        local_mem_per_thread_bytes: number(12),
        local_mem_total_bytes: number(13),
        demangled_id,
        base_id: r.name_if_any(part(2)),
    };
    r.sink.shape(row)
}

/// Reads copies; migrations of unified memory (kinds 11 to 13) are copies here as they are in nsys.
pub(super) fn copies(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_MEMCPY") else { return };
    let full = r.full();
    let gpu = GpuColumns::of(&mut scan, full);
    let [kind, bytes] = ["copyKind", "bytes"].map(|name| scan.col(name));
    let [src_kind, dst_kind] = ["srcKind", "dstKind"].map(|name| scan.col(name));
    let peers = ["srcDeviceId", "dstDeviceId", "srcContextId", "dstContextId"].map(|name| scan.col_if(full, name));
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let [src_device, dst_device, src_context, dst_context] = peers.map(|col| row.id(col));
        let process = r.process(row.int(gpu.process));
        let copy = MemcpyRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            kind: row.id_or_0(kind),
            src_kind: memory_kind(row.id(src_kind)),
            dst_kind: memory_kind(row.id(dst_kind)),
            bytes: row.int(bytes).unwrap_or(0),
            device: row.id_or_0(gpu.device),
            context: row.id_or_0(gpu.context),
            stream: row.id_or_0(gpu.stream),
            src_device,
            dst_device,
            src_context,
            dst_context,
            correlation: correlation(row, gpu.correlation),
            graph_id: gpu.graph(row),
            graph_node_id: gpu.graph_node(row),
            ..Default::default()
        };
        r.sink.push(process, copy);
        true
    });
    r.close(tally);
}

/// Reads fills.
pub(super) fn fills(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_MEMSET") else { return };
    let gpu = GpuColumns::of(&mut scan, r.full());
    let [value, bytes, kind] = ["value", "bytes", "memKind"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let process = r.process(row.int(gpu.process));
        let fill = MemsetRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            value: row.id_or_0(value),
            bytes: row.int(bytes).unwrap_or(0),
            mem_kind: memory_kind(row.id(kind)),
            device: row.id_or_0(gpu.device),
            context: row.id_or_0(gpu.context),
            stream: row.id_or_0(gpu.stream),
            correlation: correlation(row, gpu.correlation),
            graph_id: gpu.graph(row),
            graph_node_id: gpu.graph_node(row),
            flags: None,
        };
        r.sink.push(process, fill);
        true
    });
    r.close(tally);
}

/// Reads executions of whole graphs, which stand for their kernels unless nsys traced nodes.
pub(super) fn graphs(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_GRAPH_TRACE") else { return };
    let gpu = GpuColumns::of(&mut scan, true);
    let executable = scan.col("graphExecId");
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let process = r.process(row.int(gpu.process));
        let graph = GraphRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            graph_id: row.id(gpu.graph).or(row.id(executable)).unwrap_or(0),
            device: row.id_or_0(gpu.device),
            context: row.id_or_0(gpu.context),
            stream: row.id_or_0(gpu.stream),
            correlation: correlation(row, gpu.correlation),
        };
        r.sink.push(process, graph);
        true
    });
    r.close(tally);
}

/// The id, unless it is CUPTI's "does not apply".
fn applicable(id: Option<u32>) -> Option<u32> {
    id.filter(|&id| id != u32::MAX)
}

/// Reads synchronisations.
pub(super) fn syncs(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION") else { return };
    let gpu = GpuColumns::of(&mut scan, true);
    let [kind, event] = ["syncType", "eventId"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let process = r.process(row.int(gpu.process));
        let sync = SyncRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            kind: row.id_or_0(kind),
            context: applicable(row.id(gpu.context)),
            stream: applicable(row.id(gpu.stream)),
            event: applicable(row.id(event)),
            correlation: correlation(row, gpu.correlation),
            result: None,
        };
        r.sink.push(process, sync);
        true
    });
    r.close(tally);
}

/// Reads overhead of the CUDA driver and of CUPTI; nsys's own start-up is no overhead of the program.
pub(super) fn overheads(r: &mut Reader) {
    for table in ["CUPTI_ACTIVITY_KIND_OVERHEAD", "PROFILER_OVERHEAD"] {
        let Some(mut scan) = r.scan(table) else { continue };
        let [start, end, thread, kind] = ["start", "end", "globalTid", "overheadType"].map(|name| scan.col(name));
        let [name, call] = ["nameId", "correlationId"].map(|name| scan.col(name));
        let mut by_name: HashMap<Option<i64>, Option<u32>> = HashMap::new();
        let tally = scan.run(|row| {
            let Some(start_ns) = row.int(start) else { return false };
            let kind = match row.id(kind) {
                Some(kind) => overhead_kind(kind),
                None => *by_name.entry(row.int(name)).or_insert_with_key(|id| {
                    id.and_then(|id| r.strings.bytes(id)).and_then(|name| overhead_kind_by_name(&name))
                }),
            };
            let Some(kind) = kind else { return true };
            let thread = row.int(thread);
            let process = r.process(thread);
            let overhead = OverheadRow {
                start_ns,
                duration_ns: duration(start_ns, row.int(end)),
                kind,
                tid: thread.map(|thread| r.thread(Some(thread))),
                correlation: row.int(call).map(|id| id as u64).filter(|&id| id != 0),
            };
            r.sink.push(process, overhead);
            true
        });
        r.close(tally);
    }
}

/// `CUpti_ActivityOverheadKind` for nsys's number; 0 is nsys itself.
fn overhead_kind(nsys: u32) -> Option<u32> {
    match nsys {
        0 => None,
        2 => Some(1),
        3..=8 => Some((nsys - 2) << 16),
        _ => Some(0),
    }
}

/// The same for the name of the row: exports before 2026 have no numbers.
fn overhead_kind_by_name(name: &[u8]) -> Option<u32> {
    match name {
        b"CUPTI: Buffer flush" => Some(1 << 16),
        b"CUPTI: Instrumentation" => Some(2 << 16),
        b"CUPTI: Resource Management" => Some(3 << 16),
        _ => name.starts_with(b"CUPTI").then_some(0),
    }
}

/// Reads allocations and releases.
pub(super) fn memory(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUDA_GPU_MEMORY_USAGE_EVENTS") else { return };
    let gpu = GpuColumns::of(&mut scan, true);
    let [operation, kind, address, bytes, name] =
        ["memoryOperationType", "memKind", "address", "bytes", "name"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let process = r.process(row.int(gpu.process));
        let operation = MemoryRow {
            start_ns,
            // nsys counts from 0, CUPTI from 1.
            operation: row.id(operation).map_or(0, |operation| operation.wrapping_add(1)),
            mem_kind: memory_kind(row.id(kind)),
            address: row.int(address).unwrap_or(0) as u64,
            bytes: row.int(bytes).unwrap_or(0),
            device: row.id_or_0(gpu.device),
            context: row.id(gpu.context),
            stream: applicable(row.id(gpu.stream)),
            correlation: correlation(row, gpu.correlation),
            name_id: row.bytes(name).map(|name| r.sink.name(name)).filter(|&name| name != 0),
        };
        r.sink.push(process, operation);
        true
    });
    r.close(tally);
}

/// Reads page faults of unified memory.
pub(super) fn page_faults(r: &mut Reader) {
    if let Some(mut scan) = r.scan("CUDA_UM_CPU_PAGE_FAULT_EVENTS") {
        let [start, process, address, pc] =
            ["start", "globalPid", "address", "originalFaultPc"].map(|name| scan.col(name));
        let tally = scan.run(|row| {
            let Some(start_ns) = row.int(start) else { return false };
            let process = r.process(row.int(process));
            let address = row.int(address).unwrap_or(0) as u64;
            let pc = row.int(pc).map(|pc| pc as u64);
            r.sink.push(process, UvmRow { start_ns, kind: 3, value: 1, address, pc, ..Default::default() });
            true
        });
        r.close(tally);
    }
    if let Some(mut scan) = r.scan("CUDA_UM_GPU_PAGE_FAULT_EVENTS") {
        let gpu = GpuColumns::of(&mut scan, false);
        let [address, faults, access] =
            ["address", "numberOfPageFaults", "faultAccessType"].map(|name| scan.col(name));
        let tally = scan.run(|row| {
            let Some(start_ns) = row.int(gpu.start) else { return false };
            let process = r.process(row.int(gpu.process));
            let fault = UvmRow {
                start_ns,
                duration_ns: duration(start_ns, row.int(gpu.end)),
                kind: 4,
                value: row.int(faults).unwrap_or(0),
                address: row.int(address).unwrap_or(0) as u64,
                src_device: row.id(gpu.device),
                flags: row.id(access),
                ..Default::default()
            };
            r.sink.push(process, fault);
            true
        });
        r.close(tally);
    }
}

/// Reads records of CUDA events.
pub(super) fn events(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_CUDA_EVENT") else { return };
    let gpu = GpuColumns::of(&mut scan, true);
    let [time, event] = ["timestamp", "eventId"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(event) = row.id(event) else { return false };
        let process = r.process(row.int(gpu.process));
        let record = EventRow {
            start_ns: row.int(time).filter(|&time| time != 0),
            event,
            context: row.id_or_0(gpu.context),
            stream: applicable(row.id(gpu.stream)),
            correlation: correlation(row, gpu.correlation),
        };
        r.sink.push(process, record);
        true
    });
    r.close(tally);
}
