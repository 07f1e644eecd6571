//! Everything the GPU did, one row each.

use super::NVTX_NAME;
use super::named::{Clock, Named, megabytes, throughput};
use super::nsys_names::{KernelName, memcpy_name, migration_name};
use crate::analysis::activity::{ActivityKind, GpuActivity};
use crate::analysis::{launches, listing};
use crate::cupti::operation::MEMSET;
use crate::cupti::operation::memory_kind;
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;
use trace_format::tables;

/// `cuda_gpu_trace`.
///
/// "Throughput" is bytes by duration. nsys multiplies the bytes by `1e9 / duration` rounded down to an integer, which
/// is up to 3 % off for a copy of 40 ms and makes 0 of one of more than a second; that is not copied here.
///
/// Migrations of unified memory are listed as copies, as nsys has them; of CUPTI's own records of them nobody knows
/// the context.
pub(super) static CUDA_GPU_TRACE: Named = Named {
    name: "cuda_gpu_trace",
    aliases: &["gputrace"],
    title: "CUDA GPU Trace",
    tables: &[&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH, &tables::UVM],
    detail: Detail::Full,
    arguments: &[NVTX_NAME, "base", "mangled"],
    key: &[],
    make: trace,
};

const COLUMNS: [&str; 21] = [
    "Start (ns)",
    "Duration (ns)",
    "CorrId",
    "GrdX",
    "GrdY",
    "GrdZ",
    "BlkX",
    "BlkY",
    "BlkZ",
    "Reg/Trd",
    "StcSMem (MB)",
    "DymSMem (MB)",
    "Bytes (MB)",
    "Throughput (MB/s)",
    "SrcMemKd",
    "DstMemKd",
    "Device",
    "Ctx",
    "GreenCtx",
    "Strm",
    "Name",
];

fn trace(view: &Named, context: &Context) -> Result<Table> {
    let mut table = view.mixed(&COLUMNS, &["SrcMemKd", "DstMemKd", "Device", "Name"]);
    let labels = context.labels;
    let clock = Clock::new(context.frames);
    let green = launches::green_contexts(context.frames)?;
    let style = KernelName::of(context);
    let work = listing::gpu_activities(context.frames, context.filter, true)?;
    let ranges = if context.arguments.iter().any(|argument| argument == NVTX_NAME) {
        launches::innermost_ranges(labels, &work)?
    } else {
        vec![None; work.len()]
    };
    for (activity, range) in work.iter().zip(ranges) {
        let name = match activity.what {
            ActivityKind::Kernel { shape } => style.text(labels, shape),
            ActivityKind::Memcpy { kind, .. } => memcpy_name(kind),
            ActivityKind::Memset { .. } => MEMSET,
            ActivityKind::Graph { graph } => labels.graph(graph),
            ActivityKind::Uvm { kind, .. } => match migration_name(kind) {
                Some(name) => name,
                None => continue,
            },
        };
        let mut row = vec![
            clock.cell(context.frames, activity.process, activity.start_ns),
            Cell::opt(activity.duration_ns),
            Cell::opt_id(Some(activity.correlation).filter(|&id| id != 0)),
        ];
        row.extend(match activity.what {
            ActivityKind::Kernel { shape } => launch_cells(context, shape),
            _ => std::array::from_fn(|_| Cell::Null),
        });
        row.extend(memory_cells(activity));
        let device = match labels.device(activity.process, activity.device) {
            "" => format!("GPU ({})", activity.device),
            name => format!("{name} ({})", activity.device),
        };
        row.push(Cell::Text(device));
        row.extend(match green.get(&(activity.process, activity.context)) {
            Some(&parent) => [Cell::id(parent), Cell::id(activity.context)],
            None if matches!(activity.what, ActivityKind::Uvm { .. }) => [Cell::Null, Cell::Null],
            None => [Cell::id(activity.context), Cell::Null],
        });
        row.push(Cell::id(activity.stream));
        row.push(Cell::Text(range.map_or_else(|| name.to_owned(), |range| format!("{range}/{name}"))));
        table.rows.push(row);
    }
    Ok(table)
}

/// Grid, block, registers and shared memory.
fn launch_cells(context: &Context, shape: u32) -> [Cell; 9] {
    let Some(row) = context.labels.shape(shape) else { return std::array::from_fn(|_| Cell::Null) };
    let bytes = |bytes: Option<i64>| bytes.map_or(Cell::Null, megabytes);
    [
        Cell::opt(row.grid_x),
        Cell::opt(row.grid_y),
        Cell::opt(row.grid_z),
        Cell::opt(row.block_x),
        Cell::opt(row.block_y),
        Cell::opt(row.block_z),
        Cell::opt(row.registers),
        bytes(row.static_smem_bytes),
        bytes(row.dynamic_smem_bytes),
    ]
}

/// Bytes, throughput, source and destination.
fn memory_cells(activity: &GpuActivity) -> [Cell; 4] {
    let (bytes, from, to) = match activity.what {
        ActivityKind::Memcpy { bytes, src_kind, dst_kind, .. } => {
            (bytes, memory_kind(src_kind).into(), memory_kind(dst_kind).into())
        }
        ActivityKind::Memset { bytes, mem_kind } => (bytes, memory_kind(mem_kind).into(), Cell::Null),
        ActivityKind::Uvm { value, .. } => (value, Cell::Null, Cell::Null),
        _ => return std::array::from_fn(|_| Cell::Null),
    };
    let per_second = throughput(bytes.max(0) as u128, activity.duration_ns.unwrap_or(0).max(0) as u128);
    [megabytes(bytes), per_second, from, to]
}
