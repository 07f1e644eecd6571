//! Work of the GPU, one table at a time.

use super::{Reader, duration};
use crate::import::rows::{Col, Fields, Scan};
use trace_format::tables::{GraphRow, KernelRow, MemcpyRow, MemsetRow, ShapeRow};

/// What every row about GPU work has.
pub(super) struct GpuColumns {
    pub(super) start: Col,
    pub(super) end: Col,
    pub(super) device: Col,
    pub(super) context: Col,
    pub(super) stream: Col,
    pub(super) correlation: Col,
    pub(super) graph_node: Col,
    pub(super) graph: Col,
}

impl GpuColumns {
    /// The columns; ids that only full detail has are left out otherwise.
    pub(super) fn of(scan: &mut Scan, full: bool) -> GpuColumns {
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

    /// The correlation id, or 0.
    pub(super) fn correlation(&self, row: &Fields) -> u64 {
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
pub(super) fn known_time(time: Option<i64>) -> Option<i64> {
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
    let gpu = GpuColumns::of(&mut scan, r.wants_ids());
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
        let gpu = GpuColumns::of(&mut scan, r.wants_ids());
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
    let gpu = GpuColumns::of(&mut scan, r.wants_ids());
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
