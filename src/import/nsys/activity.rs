//! Work of the GPU and what CUPTI records around it, one table at a time.

use super::Reader;
use crate::import::rows::{Col, Fields, Scan};
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

/// Reads kernels.
pub(super) fn kernels(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_KERNEL") else { return };
    let full = r.full();
    let gpu = GpuColumns::of(&mut scan, full);
    let demangled = scan.col("demangledName");
    let mangled = scan.col("mangledName");
    let base = scan.col("shortName");
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
    let numbers = NUMBERS.map(|name| scan.col_if(full, name));
    let mut shapes = ShapeCache::default();
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let names = [row.int(mangled), row.int(demangled), row.int(base)];
        let numbers = if full { numbers.map(|col| row.int(col)) } else { [None; 14] };
        let shape_id = shapes.get((names, numbers), || shape(r, names, numbers));
        let process = r.process(row.int(gpu.process));
        let kernel = KernelRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            shape_id,
            device: row.id_or_0(gpu.device),
            context: row.id_or_0(gpu.context),
            stream: row.id_or_0(gpu.stream),
            correlation: correlation(row, gpu.correlation),
            graph_id: row.id(gpu.graph).filter(|&graph| graph != 0),
            graph_node_id: gpu.graph_node(row),
            ..Default::default()
        };
        r.sink.push(process, kernel);
        true
    });
    r.close(tally);
}

/// What tells launch shapes apart, in the file's own ids.
type ShapeKey = ([Option<i64>; 3], [Option<i64>; 14]);

/// Shape ids of launches seen lately. Programs repeat a few hundred shapes; comparing one key with one slot is
/// several times cheaper than hashing it into the table of all shapes.
#[derive(Default)]
struct ShapeCache {
    slots: HashMap<u64, (ShapeKey, u32)>,
}

impl ShapeCache {
    fn get(&mut self, key: ShapeKey, make: impl FnOnce() -> u32) -> u32 {
        let (names, numbers) = &key;
        let mut slot = names[1].unwrap_or(0) as u64;
        for number in numbers {
            slot = slot.rotate_left(7) ^ number.unwrap_or(0) as u64;
        }
        match self.slots.get(&slot) {
            Some((known, id)) if *known == key => *id,
            _ => {
                let id = make();
                self.slots.insert(slot, (key, id));
                id
            }
        }
    }
}

fn shape(r: &mut Reader, names: [Option<i64>; 3], numbers: [Option<i64>; 14]) -> u32 {
    let [mangled, demangled, base] = names;
    let demangled_id = r.name_if_any(demangled);
    // Exports before 2022 have no mangled names.
    let name_id = r.name_if_any(mangled).or(demangled_id).unwrap_or(0);
    let [grid_x, grid_y, grid_z, block_x, block_y, block_z, cluster_x, cluster_y, cluster_z, ..] = numbers;
    let [.., registers, static_smem, dynamic_smem, local_per_thread, local_total] = numbers;
    // nsys writes 0 for a launch without clusters.
    let cluster = |size: Option<i64>| size.filter(|&size| size > 0);
    let row = ShapeRow {
        id: 0,
        name_id,
        grid_x,
        grid_y,
        grid_z,
        block_x,
        block_y,
        block_z,
        cluster_x: cluster(cluster_x),
        cluster_y: cluster(cluster_y),
        cluster_z: cluster(cluster_z),
        registers,
        static_smem_bytes: static_smem,
        dynamic_smem_bytes: dynamic_smem,
        local_mem_per_thread_bytes: local_per_thread,
        local_mem_total_bytes: local_total,
        demangled_id,
        base_id: r.name_if_any(base),
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
    let peers =
        ["srcDeviceId", "dstDeviceId", "srcContextId", "dstContextId"].map(|name| scan.col_if(full, name));
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
            graph_id: row.id(gpu.graph).filter(|&graph| graph != 0),
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
            graph_id: row.id(gpu.graph).filter(|&graph| graph != 0),
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
        1 => Some(0),
        2 => Some(1),
        3..=10 => Some((nsys - 2) << 16),
        _ => None,
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
