//! Work of the GPU and what CUPTI records around it, one table at a time.

use super::target::{Object, THREAD};
use super::{Reader, applicable, duration};
use crate::import::rows::{Col, Fields, Scan};
use trace_format::tables::{
    EventRow, ExternalRow, GraphRow, JitRow, KernelRow, MemcpyRow, MemoryRow, MemsetRow, OverheadRow, ShapeRow,
    SyncRow, UvmRow,
};

/// What every row about GPU work has.
struct GpuColumns {
    start: Col,
    end: Col,
    device: Col,
    context: Col,
    stream: Col,
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
            correlation: scan.col_if(full, "correlationId"),
            graph_node: scan.col_if(full, "graphNodeId"),
            graph: scan.col_if(full, "graphId"),
        }
    }

    fn correlation(&self, row: &Fields) -> u64 {
        u64::from(row.id_or_0(self.correlation))
    }

    fn graph_node(&self, row: &Fields) -> Option<u64> {
        row.int(self.graph_node).map(|node| node as u64).filter(|&node| node != 0)
    }

    fn graph(&self, row: &Fields) -> Option<u32> {
        row.id(self.graph).filter(|&graph| graph != 0)
    }
}

/// A time that CUPTI sets to 0 where it knows none.
fn known_time(time: Option<i64>) -> Option<i64> {
    time.filter(|&time| time != 0)
}

/// Reads kernels of all three tables: with concurrency, serialised, and launched by the device.
pub(super) fn kernels(r: &mut Reader) {
    for (table, flags) in [
        ("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", None),
        ("CUPTI_ACTIVITY_KIND_KERNEL", None),
        ("CUPTI_ACTIVITY_KIND_CDP_KERNEL", Some(1)),
    ] {
        kernels_of(r, table, flags);
    }
}

fn kernels_of(r: &mut Reader, table: &'static str, flags: Option<u32>) {
    let Some(mut scan) = r.scan(table) else { return };
    let full = r.full();
    let gpu = GpuColumns::of(&mut scan, full);
    let name = scan.col("name");
    let grid = ["gridX", "gridY", "gridZ"].map(|name| scan.col_if(full, name));
    let block = ["blockX", "blockY", "blockZ"].map(|name| scan.col_if(full, name));
    let cluster = ["clusterX", "clusterY", "clusterZ"].map(|name| scan.col_if(full, name));
    let registers = scan.col_if(full, "registersPerThread");
    let [static_smem, dynamic_smem] =
        ["staticSharedMemory", "dynamicSharedMemory"].map(|name| scan.col_if(full, name));
    let [per_thread, total] = ["localMemoryPerThread", "localMemoryTotal"].map(|name| scan.col_if(full, name));
    let [queued, submitted] = ["queued", "submitted"].map(|name| scan.col_if(full, name));
    let process = r.process(None);
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let [grid_x, grid_y, grid_z] = grid.map(|col| row.int(col));
        let [block_x, block_y, block_z] = block.map(|col| row.int(col));
        let [cluster_x, cluster_y, cluster_z] = cluster.map(|col| row.int(col).filter(|&size| size > 0));
        let shape = ShapeRow {
            id: 0,
            name_id: r.name(row.int(name)),
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            cluster_x,
            cluster_y,
            cluster_z,
            registers: row.int(registers),
            static_smem_bytes: row.int(static_smem),
            dynamic_smem_bytes: row.int(dynamic_smem),
            local_mem_per_thread_bytes: row.int(per_thread),
            local_mem_total_bytes: row.int(total),
            demangled_id: None,
            base_id: None,
        };
        let kernel = KernelRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            shape_id: r.sink.shape(shape),
            device: row.id_or_0(gpu.device),
            context: row.id_or_0(gpu.context),
            stream: row.id_or_0(gpu.stream),
            correlation: gpu.correlation(row),
            graph_id: gpu.graph(row),
            graph_node_id: gpu.graph_node(row),
            queued_ns: known_time(row.int(queued)),
            submitted_ns: known_time(row.int(submitted)),
            channel: None,
            priority: None,
            flags,
        };
        r.sink.push(process, kernel);
        true
    });
    r.close(tally);
}

/// Reads copies, those between devices included.
pub(super) fn copies(r: &mut Reader) {
    for table in ["CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMCPY2"] {
        let Some(mut scan) = r.scan(table) else { continue };
        let full = r.full();
        let gpu = GpuColumns::of(&mut scan, full);
        let [kind, bytes, src_kind, dst_kind] =
            ["copyKind", "bytes", "srcKind", "dstKind"].map(|name| scan.col(name));
        let flags = scan.col_if(full, "flags");
        let peers =
            ["srcDeviceId", "dstDeviceId", "srcContextId", "dstContextId"].map(|name| scan.col_if(full, name));
        let process = r.process(None);
        let tally = scan.run(|row| {
            let Some(start_ns) = row.int(gpu.start) else { return false };
            let [src_device, dst_device, src_context, dst_context] = peers.map(|col| row.id(col));
            let copy = MemcpyRow {
                start_ns,
                duration_ns: duration(start_ns, row.int(gpu.end)),
                kind: row.id_or_0(kind),
                src_kind: row.id_or_0(src_kind),
                dst_kind: row.id_or_0(dst_kind),
                bytes: row.int(bytes).unwrap_or(0),
                device: row.id_or_0(gpu.device),
                context: row.id_or_0(gpu.context),
                stream: row.id_or_0(gpu.stream),
                src_device,
                dst_device,
                src_context,
                dst_context,
                correlation: gpu.correlation(row),
                graph_id: gpu.graph(row),
                graph_node_id: gpu.graph_node(row),
                flags: row.id(flags),
                channel: None,
            };
            r.sink.push(process, copy);
            true
        });
        r.close(tally);
    }
}

/// Reads fills.
pub(super) fn fills(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_MEMSET") else { return };
    let full = r.full();
    let gpu = GpuColumns::of(&mut scan, full);
    let [value, bytes, kind] = ["value", "bytes", "memoryKind"].map(|name| scan.col(name));
    let flags = scan.col_if(full, "flags");
    let process = r.process(None);
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let fill = MemsetRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            value: row.id_or_0(value),
            bytes: row.int(bytes).unwrap_or(0),
            mem_kind: row.id_or_0(kind),
            device: row.id_or_0(gpu.device),
            context: row.id_or_0(gpu.context),
            stream: row.id_or_0(gpu.stream),
            correlation: gpu.correlation(row),
            graph_id: gpu.graph(row),
            graph_node_id: gpu.graph_node(row),
            flags: row.id(flags),
        };
        r.sink.push(process, fill);
        true
    });
    r.close(tally);
}

/// Reads executions of whole graphs (schemas of CUDA 11.7 and later).
pub(super) fn graphs(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_GRAPH_TRACE") else { return };
    let gpu = GpuColumns::of(&mut scan, true);
    let process = r.process(None);
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let graph = GraphRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            graph_id: row.id_or_0(gpu.graph),
            device: row.id_or_0(gpu.device),
            context: row.id_or_0(gpu.context),
            stream: row.id_or_0(gpu.stream),
            correlation: gpu.correlation(row),
        };
        r.sink.push(process, graph);
        true
    });
    r.close(tally);
}

/// Reads synchronisations.
pub(super) fn syncs(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION") else { return };
    let gpu = GpuColumns::of(&mut scan, true);
    let [kind, event] = ["type", "cudaEventId"].map(|name| scan.col(name));
    let process = r.process(None);
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let sync = SyncRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            kind: row.id_or_0(kind),
            context: applicable(row.id(gpu.context)),
            stream: applicable(row.id(gpu.stream)),
            event: applicable(row.id(event)),
            correlation: gpu.correlation(row),
            result: None,
        };
        r.sink.push(process, sync);
        true
    });
    r.close(tally);
}

/// Reads overhead of the CUDA driver and of CUPTI.
pub(super) fn overheads(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_OVERHEAD") else { return };
    let [start, end, kind] = ["start", "end", "overheadKind"].map(|name| scan.col(name));
    let [object_kind, object] = ["objectKind", "objectId"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(start) else { return false };
        let thread = Object::of(row, object).filter(|_| row.id(object_kind) == Some(THREAD));
        let process = r.process(None);
        let overhead = OverheadRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(end)),
            kind: row.id_or_0(kind),
            tid: thread.map(|thread| thread.tid()),
            correlation: None,
        };
        r.sink.push(process, overhead);
        true
    });
    r.close(tally);
}

/// Reads allocations and releases: one row for each since CUDA 11, before that one row for both.
pub(super) fn memory(r: &mut Reader) {
    if let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_MEMORY2") {
        let gpu = GpuColumns::of(&mut scan, true);
        let [time, operation, kind] = ["timestamp", "memoryOperationType", "memoryKind"].map(|name| scan.col(name));
        let [address, bytes, process, name] = ["address", "bytes", "processId", "name"].map(|name| scan.col(name));
        let tally = scan.run(|row| {
            let Some(start_ns) = row.int(time) else { return false };
            let process = r.process(row.id(process));
            let operation = MemoryRow {
                start_ns,
                operation: row.id_or_0(operation),
                mem_kind: row.id_or_0(kind),
                address: row.int(address).unwrap_or(0) as u64,
                bytes: row.int(bytes).unwrap_or(0),
                device: row.id_or_0(gpu.device),
                context: applicable(row.id(gpu.context)),
                stream: applicable(row.id(gpu.stream)),
                correlation: gpu.correlation(row),
                name_id: r.name_if_any(row.int(name)),
            };
            r.sink.push(process, operation);
            true
        });
        r.close(tally);
    }
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_MEMORY") else { return };
    let gpu = GpuColumns::of(&mut scan, false);
    let [kind, address, bytes] = ["memoryKind", "address", "bytes"].map(|name| scan.col(name));
    let [process, name] = ["processId", "name"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(allocated) = row.int(gpu.start) else { return false };
        let process = r.process(row.id(process));
        let allocation = MemoryRow {
            start_ns: allocated,
            operation: 1,
            mem_kind: row.id_or_0(kind),
            address: row.int(address).unwrap_or(0) as u64,
            bytes: row.int(bytes).unwrap_or(0),
            device: row.id_or_0(gpu.device),
            context: applicable(row.id(gpu.context)),
            stream: None,
            correlation: 0,
            name_id: r.name_if_any(row.int(name)),
        };
        let released = known_time(row.int(gpu.end)).map(|time| MemoryRow {
            start_ns: time,
            operation: 2,
            ..allocation.clone()
        });
        r.sink.push(process, allocation);
        released.into_iter().for_each(|release| r.sink.push(process, release));
        true
    });
    r.close(tally);
}

/// Reads events of unified memory.
pub(super) fn counters(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER") else { return };
    let [start, end, kind, value] = ["start", "end", "counterKind", "value"].map(|name| scan.col(name));
    let [address, src, dst] = ["address", "srcId", "dstId"].map(|name| scan.col(name));
    let [stream, process, flags] = ["streamId", "processId", "flags"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(start) else { return false };
        let process = r.process(row.id(process));
        let counter = UvmRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(end)),
            kind: row.id_or_0(kind),
            value: row.int(value).unwrap_or(0),
            address: row.int(address).unwrap_or(0) as u64,
            src_device: applicable(row.id(src)),
            dst_device: applicable(row.id(dst)),
            stream: applicable(row.id(stream)),
            flags: row.id(flags),
            pc: None,
        };
        r.sink.push(process, counter);
        true
    });
    r.close(tally);
}

/// Reads records of CUDA events.
pub(super) fn events(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_CUDA_EVENT") else { return };
    let gpu = GpuColumns::of(&mut scan, true);
    let event = scan.col("eventId");
    let process = r.process(None);
    let tally = scan.run(|row| {
        let Some(event) = row.id(event) else { return false };
        let record = EventRow {
            start_ns: None,
            event,
            context: row.id_or_0(gpu.context),
            stream: applicable(row.id(gpu.stream)),
            correlation: gpu.correlation(row),
        };
        r.sink.push(process, record);
        true
    });
    r.close(tally);
}

/// Reads ids that tie calls to OpenACC regions and to the program's own.
pub(super) fn external(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION") else { return };
    let [kind, id, correlation] = ["externalKind", "externalId", "correlationId"].map(|name| scan.col(name));
    let process = r.process(None);
    let tally = scan.run(|row| {
        let (Some(id), Some(correlation)) = (row.int(id), row.id(correlation)) else { return false };
        let row = ExternalRow {
            correlation: u64::from(correlation),
            external_kind: row.id_or_0(kind),
            external_id: id as u64,
        };
        r.sink.push(process, row);
        true
    });
    r.close(tally);
}

/// Reads just-in-time compilations (schemas of CUDA 11.8 and later). Their cache paths stay in the file.
pub(super) fn compilations(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_JIT") else { return };
    let gpu = GpuColumns::of(&mut scan, true);
    let [kind, operation, cache] = ["jitEntryType", "jitOperationType", "cacheSize"].map(|name| scan.col(name));
    let process = r.process(None);
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let compilation = JitRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            kind: row.id_or_0(kind),
            operation: row.id_or_0(operation),
            device: row.id_or_0(gpu.device),
            correlation: gpu.correlation(row),
            cache_bytes: row.int(cache),
        };
        r.sink.push(process, compilation);
        true
    });
    r.close(tally);
}
