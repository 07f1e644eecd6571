//! Work of the GPU.

use super::{Writer, correlation, schema};
use crate::error::Result;
use crate::exchange::nsys_sqlite::memory_kind;
use crate::export::database::Rows;
use trace_format::schema::Row;
use trace_format::tables::{self, GraphRow, KernelRow, MemcpyRow, MemsetRow, UvmRow};
use trace_format::vocabulary::memory_kind::MANAGED;
use trace_format::vocabulary::{memcpy_kind, uvm_kind};

pub(super) fn write(writer: &mut Writer) -> Result<()> {
    kernels(writer)?;
    copies(writer)?;
    fills(writer)?;
    graphs(writer)
}

/// The three names of a kernel, as ids of strings: mangled, demangled, base.
type KernelNames = (Option<i64>, i64, i64);

fn kernel_names(writer: &mut Writer, shape: u32) -> Result<KernelNames> {
    let labels = writer.context.labels;
    let mangled = labels.frames().kernel(shape).map(|kernel| kernel.name_id);
    Ok((
        writer.strings.name_if_any(mangled)?,
        writer.strings.text(labels.kernel_as_stored(shape))?,
        writer.strings.text(labels.kernel_base(shape))?,
    ))
}

fn kernels(writer: &mut Writer) -> Result<()> {
    let mut rows = Rows::new(
        writer.database,
        &schema::KERNEL,
        &[
            "start",
            "end",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "globalPid",
            "demangledName",
            "shortName",
            "mangledName",
            "registersPerThread",
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
            "graphNodeId",
            "graphId",
            "clusterX",
            "clusterY",
            "clusterZ",
        ],
    );
    let mut names: Vec<Option<KernelNames>> = vec![None; writer.context.frames.shape_count()];
    writer.each(|writer, process, kernel: KernelRow| {
        let slot = kernel.shape_id as usize;
        let (mangled, demangled, base) = match names.get(slot).copied().flatten() {
            Some(known) => known,
            None => {
                let found = kernel_names(writer, kernel.shape_id)?;
                if let Some(slot) = names.get_mut(slot) {
                    *slot = Some(found);
                }
                found
            }
        };
        let shape = writer.context.labels.shape(kernel.shape_id);
        let number = |get: fn(&tables::ShapeRow) -> Option<i64>| shape.as_ref().and_then(get).into();
        let (start, end) = writer.clock.span_of(kernel.start_ns, kernel.duration_ns);
        rows.add([
            start.into(),
            end.into(),
            kernel.device.into(),
            kernel.context.into(),
            kernel.stream.into(),
            correlation(kernel.correlation).into(),
            writer.ids.process(process).into(),
            demangled.into(),
            base.into(),
            mangled.into(),
            number(|s| s.registers),
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
            kernel.graph_node_id.into(),
            kernel.graph_id.into(),
            number(|s| s.cluster_x),
            number(|s| s.cluster_y),
            number(|s| s.cluster_z),
        ])
    })
}

/// Copies and, as with nsys, migrations of unified memory among them. Those have a virtual address, which copies have
/// not; page faults have tables of their own.
fn copies(writer: &mut Writer) -> Result<()> {
    let mut rows = Rows::new(
        writer.database,
        &schema::MEMCPY,
        &[
            "start",
            "end",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "globalPid",
            "bytes",
            "copyKind",
            "srcKind",
            "dstKind",
            "srcDeviceId",
            "srcContextId",
            "dstDeviceId",
            "dstContextId",
            "migrationCause",
            "graphNodeId",
            "virtualAddress",
            "graphId",
        ],
    );
    let mut faults = Faults::new(writer);
    writer.each_of(&[&tables::MEMCPY, &tables::UVM], |writer, process, batch, i| {
        let pid = writer.ids.process(process).into();
        if batch.table == &tables::UVM {
            let event = UvmRow::from_batch(batch, i);
            let Some(kind) = memcpy_kind::of_migration(event.kind) else {
                return faults.add(writer, process, &event);
            };
            let (start, end) = writer.clock.span_of(event.start_ns, event.duration_ns);
            return rows.add([
                start.into(),
                end.into(),
                event.dst_device.or(event.src_device).unwrap_or(0).into(),
                None::<u32>.into(),
                event.stream.into(),
                None::<u64>.into(),
                pid,
                event.value.into(),
                kind.into(),
                // From and to managed memory, wherever it is at the moment.
                memory_kind::to_nsys(MANAGED).into(),
                memory_kind::to_nsys(MANAGED).into(),
                event.src_device.into(),
                None::<u32>.into(),
                event.dst_device.into(),
                None::<u32>.into(),
                event.flags.into(),
                None::<u64>.into(),
                event.address.into(),
                None::<u32>.into(),
            ]);
        }
        let copy = MemcpyRow::from_batch(batch, i);
        let (start, end) = writer.clock.span_of(copy.start_ns, copy.duration_ns);
        rows.add([
            start.into(),
            end.into(),
            copy.device.into(),
            copy.context.into(),
            copy.stream.into(),
            correlation(copy.correlation).into(),
            pid,
            copy.bytes.into(),
            copy.kind.into(),
            memory_kind::to_nsys(copy.src_kind).into(),
            memory_kind::to_nsys(copy.dst_kind).into(),
            copy.src_device.into(),
            copy.src_context.into(),
            copy.dst_device.into(),
            copy.dst_context.into(),
            None::<u32>.into(),
            copy.graph_node_id.into(),
            None::<u64>.into(),
            copy.graph_id.into(),
        ])
    })
}

/// Page faults on their way.
struct Faults<'a> {
    cpu: Rows<'a>,
    gpu: Rows<'a>,
}

impl<'a> Faults<'a> {
    fn new(writer: &Writer<'a>) -> Faults<'a> {
        let cpu = &["start", "globalPid", "address", "originalFaultPc", "CpuInstruction", "module"];
        let gpu = &["start", "end", "globalPid", "deviceId", "address", "numberOfPageFaults", "faultAccessType"];
        Faults {
            cpu: Rows::new(writer.database, &schema::CPU_FAULTS, cpu),
            gpu: Rows::new(writer.database, &schema::GPU_FAULTS, gpu),
        }
    }

    fn add(&mut self, writer: &mut Writer, process: u32, event: &UvmRow) -> Result<()> {
        let pid = writer.ids.process(process).into();
        match event.kind {
            uvm_kind::CPU_PAGE_FAULTS => {
                let unknown = writer.strings.text("[Unknown]")?;
                let start = writer.clock.at(event.start_ns);
                self.cpu.add([
                    start.into(),
                    pid,
                    event.address.into(),
                    event.pc.into(),
                    unknown.into(),
                    unknown.into(),
                ])
            }
            uvm_kind::GPU_PAGE_FAULTS => {
                let (start, end) = writer.clock.span_of(event.start_ns, event.duration_ns);
                let device = event.src_device.or(event.dst_device);
                self.gpu.add([
                    start.into(),
                    end.into(),
                    pid,
                    device.into(),
                    event.address.into(),
                    event.value.into(),
                    event.flags.into(),
                ])
            }
            // nsys has no place for thrashing, throttling and remote mappings.
            _ => Ok(()),
        }
    }
}

fn fills(writer: &mut Writer) -> Result<()> {
    let mut rows = Rows::new(
        writer.database,
        &schema::MEMSET,
        &[
            "start",
            "end",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "globalPid",
            "value",
            "bytes",
            "graphNodeId",
            "memKind",
            "graphId",
        ],
    );
    writer.each(|writer, process, fill: MemsetRow| {
        let (start, end) = writer.clock.span_of(fill.start_ns, fill.duration_ns);
        rows.add([
            start.into(),
            end.into(),
            fill.device.into(),
            fill.context.into(),
            fill.stream.into(),
            correlation(fill.correlation).into(),
            writer.ids.process(process).into(),
            fill.value.into(),
            fill.bytes.into(),
            fill.graph_node_id.into(),
            memory_kind::to_nsys(fill.mem_kind).into(),
            fill.graph_id.into(),
        ])
    })
}

fn graphs(writer: &mut Writer) -> Result<()> {
    let mut rows = Rows::new(
        writer.database,
        &schema::GRAPH,
        &[
            "start",
            "end",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "globalPid",
            "graphId",
            "graphExecId",
        ],
    );
    writer.each(|writer, process, graph: GraphRow| {
        let (start, end) = writer.clock.span_of(graph.start_ns, graph.duration_ns);
        rows.add([
            start.into(),
            end.into(),
            graph.device.into(),
            graph.context.into(),
            graph.stream.into(),
            correlation(graph.correlation).into(),
            writer.ids.process(process).into(),
            // CUPTI numbers what was instantiated, which is what was launched.
            graph.graph_id.into(),
            graph.graph_id.into(),
        ])
    })
}
