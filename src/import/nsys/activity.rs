//! Work of the GPU, one table at a time.

use super::Reader;
use crate::exchange::nsys_sqlite::memory_kind;
use crate::import::rows::{ABSENT, Col, Fields, Scan};
use crate::trace::sink::{ProcessIx, valid_duration};
use trace_format::tables::{self, GraphRow, KernelRow, MemcpyRow, MemsetRow, ShapeRow, UvmRow};
use trace_format::vocabulary::memcpy_kind::migration;

/// What every row about GPU work has.
pub(super) struct GpuColumns {
    pub(super) start: Col,
    pub(super) end: Col,
    pub(super) device: Col,
    context: Col,
    /// The green context, beside its parent in `context` or in both columns; nsys's versions differ.
    green_context: Col,
    pub(super) stream: Col,
    pub(super) process: Col,
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
            green_context: scan.col("greenContextId"),
            stream: scan.col("streamId"),
            process: scan.col("globalPid"),
            correlation: scan.col_if(full, "correlationId"),
            graph_node: scan.col_if(full, "graphNodeId"),
            graph: scan.col_if(full, "graphId"),
        }
    }

    /// The context that the work ran in: the green one if there is one.
    pub(super) fn context(&self, row: &Fields) -> Option<u32> {
        self.green_context(row).or_else(|| row.id(self.context))
    }

    fn green_context(&self, row: &Fields) -> Option<u32> {
        row.id(self.green_context).filter(|&green| green != 0 && green != u32::MAX)
    }

    /// The process of a row, whose green context is remembered in case the table of contexts lacks it.
    fn process(&self, r: &mut Reader, row: &Fields) -> ProcessIx {
        let process = r.process(row.int(self.process));
        if let Some(green) = self.green_context(row) {
            let parent = row.id(self.context).filter(|&context| context != green);
            r.green_contexts.entry((process, green)).or_insert((row.id_or_0(self.device), parent));
        }
        process
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

/// The correlation id in `col`, or 0.
pub(super) fn correlation(row: &Fields, col: Col) -> u64 {
    row.int(col).unwrap_or(0) as u64
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
    let gpu = GpuColumns::of(&mut scan, r.wants_ids());
    let mut names = NAMES.iter().chain(&NUMBERS);
    let parts: [Col; PARTS] = std::array::from_fn(|_| names.next().map_or(ABSENT, |name| scan.col(name)));
    let mut shapes = ShapeCache::<PARTS>::new();
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let shape_id = shapes.get(parts.map(|col| row.int(col).unwrap_or(UNKNOWN)), |parts| shape(r, parts));
        let process = gpu.process(r, row);
        let kernel = KernelRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            shape_id,
            device: row.id_or_0(gpu.device),
            context: gpu.context(row).unwrap_or(0),
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

/// Reads copies; migrations of unified memory (kinds 11 to 13) are copies here as they are in nsys, unless gpuprof
/// wrote the file: it gives an address to those that were none.
pub(super) fn copies(r: &mut Reader) {
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_MEMCPY") else { return };
    let full = r.full();
    let gpu = GpuColumns::of(&mut scan, r.wants_ids());
    let [kind, bytes] = ["copyKind", "bytes"].map(|name| scan.col(name));
    let [src_kind, dst_kind] = ["srcKind", "dstKind"].map(|name| scan.col(name));
    let peers = ["srcDeviceId", "dstDeviceId", "srcContextId", "dstContextId"]
        .map(|name| scan.col_if(full || r.ours, name));
    let [address, cause] = ["virtualAddress", "migrationCause"].map(|name| scan.col_if(r.ours, name));
    let (wants_copies, wants_migrations) = (r.need.wants(&tables::MEMCPY), r.need.wants(&tables::UVM));
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let [src_device, dst_device, src_context, dst_context] = peers.map(|col| row.id(col));
        let process = gpu.process(r, row);
        if let (Some(kind), Some(address)) = (migration(row.id_or_0(kind)), row.int(address)) {
            let migration = UvmRow {
                start_ns,
                duration_ns: duration(start_ns, row.int(gpu.end)),
                kind,
                value: row.int(bytes).unwrap_or(0),
                address: address as u64,
                src_device,
                dst_device,
                stream: row.id(gpu.stream),
                flags: row.id(cause),
                pc: None,
            };
            if wants_migrations {
                r.sink.push(process, migration);
            }
            return true;
        }
        if !wants_copies {
            return true;
        }
        let copy = MemcpyRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            kind: row.id_or_0(kind),
            src_kind: memory_kind::from_nsys(row.id(src_kind)),
            dst_kind: memory_kind::from_nsys(row.id(dst_kind)),
            bytes: row.int(bytes).unwrap_or(0),
            device: row.id_or_0(gpu.device),
            context: gpu.context(row).unwrap_or(0),
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
    let gpu = GpuColumns::of(&mut scan, r.wants_ids());
    let [value, bytes, kind] = ["value", "bytes", "memKind"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(start_ns) = row.int(gpu.start) else { return false };
        let process = gpu.process(r, row);
        let fill = MemsetRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            value: row.id_or_0(value),
            bytes: row.int(bytes).unwrap_or(0),
            mem_kind: memory_kind::from_nsys(row.id(kind)),
            device: row.id_or_0(gpu.device),
            context: gpu.context(row).unwrap_or(0),
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
        let process = gpu.process(r, row);
        let graph = GraphRow {
            start_ns,
            duration_ns: duration(start_ns, row.int(gpu.end)),
            graph_id: row.id(gpu.graph).or(row.id(executable)).unwrap_or(0),
            device: row.id_or_0(gpu.device),
            context: gpu.context(row).unwrap_or(0),
            stream: row.id_or_0(gpu.stream),
            correlation: correlation(row, gpu.correlation),
        };
        r.sink.push(process, graph);
        true
    });
    r.close(tally);
}
