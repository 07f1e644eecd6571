//! Work of the GPU, and what unified memory did.

use super::{Writer, correlation, id_or_none, schema};
use crate::error::Result;
use crate::export::database::{Rows, Value};
use trace_format::schema::Row;
use trace_format::tables::{self, GraphRow, KernelRow, MemcpyRow, MemsetRow, ShapeRow, UvmRow};
use trace_format::vocabulary::{memcpy_kind, uvm_kind};

pub(super) fn write(writer: &mut Writer) -> Result<()> {
    kernels(writer)?;
    copies(writer)?;
    fills(writer)?;
    graphs(writer)
}

/// `CUpti_FuncCache` none, as nvprof stores it.
const CACHE_CONFIG: Value = Value::Blob(b"0");

/// No window.
const ACCESS_POLICY: Value = Value::Blob(&[0; 8]);

/// Bit of `kernel.flags`: launched by the device.
const FROM_DEVICE: u32 = 1;

const KERNEL: &[&str] = &[
    "cacheConfig",
    "registersPerThread",
    "start",
    "end",
    "completed",
    "deviceId",
    "contextId",
    "streamId",
    "gridX",
    "gridY",
    "gridZ",
    "blockX",
    "blockY",
    "blockZ",
    "staticSharedMemory",
    "dynamicSharedMemory",
    "localMemoryPerThread",
    "localMemoryTotal",
    "correlationId",
    "name",
    "queued",
    "submitted",
    "gridId",
    "graphNodeId",
    "graphId",
    "pAccessPolicyWindow",
    "clusterX",
    "clusterY",
    "clusterZ",
    "localMemoryTotal_v2",
];

/// Kernels launched by the device have a table of their own, which ends where later versions of the other go on.
const DEVICE_KERNEL: &[&str] = KERNEL.split_at(23).0;

fn kernels(writer: &mut Writer) -> Result<()> {
    let mut hosts = Rows::of_existing(writer.database, &schema::CONCURRENT_KERNEL, KERNEL);
    let mut devices = Rows::of_existing(writer.database, &schema::CDP_KERNEL, DEVICE_KERNEL);
    // CUPTI numbers launches.
    let mut grid_id = 0i64;
    writer.each(|writer, kernel: KernelRow| {
        let shape = writer.context.labels.shape(kernel.shape_id);
        let number = |get: fn(&ShapeRow) -> Option<i64>| shape.as_ref().and_then(get).into();
        let stored = |shape: &ShapeRow| if shape.name_id != 0 { Some(shape.name_id) } else { shape.demangled_id };
        let name = writer.name(shape.as_ref().and_then(stored))?;
        let (start, end) = writer.span_of(kernel.start_ns, kernel.duration_ns);
        let time = |time: Option<i64>| time.map_or(0, |time| writer.at(time));
        grid_id += 1;
        let common = [
            CACHE_CONFIG,
            number(|s| s.registers),
            start.into(),
            end.into(),
            end.into(),
            kernel.device.into(),
            kernel.context.into(),
            kernel.stream.into(),
            number(|s| s.grid_x),
            number(|s| s.grid_y),
            number(|s| s.grid_z),
            number(|s| s.block_x),
            number(|s| s.block_y),
            number(|s| s.block_z),
            number(|s| s.static_smem_bytes),
            number(|s| s.dynamic_smem_bytes),
            number(|s| s.local_mem_per_thread_bytes),
            number(|s| s.local_mem_total_bytes),
            correlation(kernel.correlation).into(),
            name.into(),
            time(kernel.queued_ns).into(),
            time(kernel.submitted_ns).into(),
            grid_id.into(),
        ];
        if kernel.flags.unwrap_or(0) & FROM_DEVICE != 0 {
            return devices.add(common);
        }
        let more = [
            kernel.graph_node_id.unwrap_or(0).into(),
            kernel.graph_id.unwrap_or(0).into(),
            ACCESS_POLICY,
            number(|s| s.cluster_x),
            number(|s| s.cluster_y),
            number(|s| s.cluster_z),
            number(|s| s.local_mem_total_bytes),
        ];
        let mut all = [Value::Null; KERNEL.len()];
        all[..common.len()].copy_from_slice(&common);
        all[common.len()..].copy_from_slice(&more);
        hosts.add(all)
    })
}

/// Copies, those between devices in a table of their own, and events of unified memory.
fn copies(writer: &mut Writer) -> Result<()> {
    let mut plain = Rows::of_existing(
        writer.database,
        &schema::MEMCPY,
        &[
            "copyKind",
            "srcKind",
            "dstKind",
            "flags",
            "bytes",
            "start",
            "end",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "graphNodeId",
            "graphId",
            "runtimeCorrelationId",
        ],
    );
    let mut peers = Rows::of_existing(
        writer.database,
        &schema::MEMCPY2,
        &[
            "copyKind",
            "srcKind",
            "dstKind",
            "flags",
            "bytes",
            "start",
            "end",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "graphNodeId",
            "graphId",
            "srcDeviceId",
            "srcContextId",
            "dstDeviceId",
            "dstContextId",
        ],
    );
    let mut unified = Unified::new(writer);
    writer.each_of(&[&tables::MEMCPY, &tables::UVM], |writer, batch, i| {
        if batch.table == &tables::UVM {
            return unified.add(writer, &UvmRow::from_batch(batch, i));
        }
        let copy = MemcpyRow::from_batch(batch, i);
        if let Some(event) = migration(&copy) {
            return unified.add(writer, &event);
        }
        let (start, end) = writer.span_of(copy.start_ns, copy.duration_ns);
        let [a, b, c, d, e, f, g, h, j, k, l, m, n] = [
            copy.kind.into(),
            copy.src_kind.into(),
            copy.dst_kind.into(),
            copy.flags.into(),
            copy.bytes.into(),
            start.into(),
            end.into(),
            copy.device.into(),
            copy.context.into(),
            copy.stream.into(),
            correlation(copy.correlation).into(),
            copy.graph_node_id.unwrap_or(0).into(),
            copy.graph_id.unwrap_or(0).into(),
        ];
        let ends = [copy.src_device, copy.src_context, copy.dst_device, copy.dst_context];
        if ends.iter().any(Option::is_some) {
            let [src, src_context, dst, dst_context] = ends.map(Value::from);
            peers.add([a, b, c, d, e, f, g, h, j, k, l, m, n, src, src_context, dst, dst_context])
        } else {
            plain.add([a, b, c, d, e, f, g, h, j, k, l, m, n, 0u32.into()])
        }
    })
}

/// The event of unified memory that a copy of nsys's is: CUPTI has no kinds of copies for them.
fn migration(copy: &MemcpyRow) -> Option<UvmRow> {
    let kind = memcpy_kind::migration(copy.kind)?;
    let device = Some(copy.device);
    let (src_device, dst_device) = (copy.src_device.or(device), copy.dst_device.or(device));
    let (src_device, dst_device) = match kind {
        uvm_kind::BYTES_HTOD => (None, dst_device),
        uvm_kind::BYTES_DTOH => (src_device, None),
        _ => (src_device, dst_device),
    };
    Some(UvmRow {
        start_ns: copy.start_ns,
        duration_ns: copy.duration_ns,
        kind,
        value: copy.bytes,
        src_device,
        dst_device,
        stream: Some(copy.stream),
        ..UvmRow::default()
    })
}

/// Events of unified memory on their way.
struct Unified<'a>(Rows<'a>);

impl<'a> Unified<'a> {
    fn new(writer: &Writer<'a>) -> Unified<'a> {
        let columns = &[
            "counterKind",
            "value",
            "start",
            "end",
            "address",
            "srcId",
            "dstId",
            "streamId",
            "processId",
            "flags",
        ];
        Unified(Rows::of_existing(writer.database, &schema::UNIFIED_MEMORY_COUNTER, columns))
    }

    fn add(&mut self, writer: &Writer, event: &UvmRow) -> Result<()> {
        let (start, end) = writer.span_of(event.start_ns, event.duration_ns);
        // For a page fault of the CPU the value is where it happened.
        let value = event.pc.map_or(event.value, |pc| pc as i64);
        self.0.add([
            event.kind.into(),
            value.into(),
            start.into(),
            end.into(),
            event.address.into(),
            id_or_none(event.src_device).into(),
            id_or_none(event.dst_device).into(),
            id_or_none(event.stream).into(),
            writer.pid.into(),
            event.flags.into(),
        ])
    }
}

fn fills(writer: &mut Writer) -> Result<()> {
    let columns = &[
        "value",
        "bytes",
        "start",
        "end",
        "deviceId",
        "contextId",
        "streamId",
        "correlationId",
        "flags",
        "memoryKind",
        "graphNodeId",
        "graphId",
    ];
    let mut rows = Rows::of_existing(writer.database, &schema::MEMSET, columns);
    writer.each(|writer, fill: MemsetRow| {
        let (start, end) = writer.span_of(fill.start_ns, fill.duration_ns);
        rows.add([
            fill.value.into(),
            fill.bytes.into(),
            start.into(),
            end.into(),
            fill.device.into(),
            fill.context.into(),
            fill.stream.into(),
            correlation(fill.correlation).into(),
            fill.flags.into(),
            fill.mem_kind.into(),
            fill.graph_node_id.unwrap_or(0).into(),
            fill.graph_id.unwrap_or(0).into(),
        ])
    })
}

fn graphs(writer: &mut Writer) -> Result<()> {
    let columns = &["correlationId", "start", "end", "deviceId", "graphId", "contextId", "streamId"];
    let mut rows = Rows::of_existing(writer.database, &schema::GRAPH_TRACE, columns);
    writer.each(|writer, graph: GraphRow| {
        let (start, end) = writer.span_of(graph.start_ns, graph.duration_ns);
        rows.add([
            correlation(graph.correlation).into(),
            start.into(),
            end.into(),
            graph.device.into(),
            graph.graph_id.into(),
            graph.context.into(),
            graph.stream.into(),
        ])
    })
}
