//! Single activities in the one total order: start, end, process, device, stream, correlation, graph node, name.

use super::activity::{ActivityKind, ApiCall, GpuActivity, OpenaccRegion, WORK_TABLES};
use crate::cupti::unified::devices_of_mask;
use crate::error::Result;
use crate::trace::batch::Batch;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashSet;
use trace_format::schema::{AnyColumn, TableSpec, TypedColumn};
use trace_format::tables;
use trace_format::tables::column::{any, api, graph, kernel, memcpy, memset, openacc, uvm};
use trace_format::vocabulary::uvm_kind::THRASHING;

fn collect<T: Send>(
    frames: &Frames,
    table: &'static TableSpec,
    columns: &[&dyn AnyColumn],
    filter: &Filter,
    rows: impl Fn(&Batch, &mut Vec<T>) + Sync,
) -> Result<Vec<T>> {
    frames.fold(table, columns, filter, Vec::new, |out, batch| rows(batch, out), join)
}

/// Both lists in one.
fn join<T>(all: &mut Vec<T>, mut more: Vec<T>) {
    if all.is_empty() {
        *all = more;
    } else {
        all.append(&mut more);
    }
}

/// When the rows of a batch begin, and how long they take.
fn times(batch: &Batch) -> impl Fn(usize) -> (i64, Option<i64>) {
    let (start, duration) = (batch.get(any::START_NS), batch.get(any::DURATION_NS));
    move |i| (start.get(i).unwrap_or(0).saturating_add(batch.offset_ns), duration.get(i))
}

/// Columns that every kind of GPU work has, but for the node that graphs traced whole do not have.
const PLACE: [&dyn AnyColumn; 7] =
    [any::START_NS, any::DURATION_NS, any::DEVICE, any::CONTEXT, any::STREAM, any::CORRELATION, any::GRAPH_NODE_ID];

/// Calls `each` with the selected rows of a batch, which has the columns of [`PLACE`]; `what` gives what a row has beside them.
fn gpu_rows(batch: &Batch, mut each: impl FnMut(GpuActivity), what: impl Fn(usize) -> ActivityKind) {
    let times = times(batch);
    let (device, context, stream) = (batch.get(any::DEVICE), batch.get(any::CONTEXT), batch.get(any::STREAM));
    let (correlation, graph_node) = (batch.get(any::CORRELATION), batch.get(any::GRAPH_NODE_ID));
    batch.for_each_row(|i| {
        let (start_ns, duration_ns) = times(i);
        each(GpuActivity {
            start_ns,
            duration_ns,
            process: batch.process,
            device: device.get(i).unwrap_or(0),
            context: context.get(i).unwrap_or(0),
            stream: stream.get(i).unwrap_or(0),
            correlation: correlation.get(i).unwrap_or(0),
            graph_node: graph_node.get(i),
            what: what(i),
        });
    });
}

/// Devices and contexts of a peer copy.
const PEERS: [&TypedColumn<u32>; 4] =
    [memcpy::SRC_DEVICE, memcpy::SRC_CONTEXT, memcpy::DST_DEVICE, memcpy::DST_CONTEXT];

/// The columns of `table` that [`work_of`] reads.
fn work_columns(table: &TableSpec) -> Vec<&'static dyn AnyColumn> {
    let mut columns = PLACE.to_vec();
    if table == &tables::KERNEL {
        columns.push(kernel::SHAPE_ID);
    } else if table == &tables::MEMCPY {
        columns.extend([memcpy::KIND as &dyn AnyColumn, memcpy::SRC_KIND, memcpy::DST_KIND, memcpy::BYTES]);
        columns.extend(PEERS.map(|peer| peer as &dyn AnyColumn));
    } else {
        columns.extend([memset::MEM_KIND as &dyn AnyColumn, memset::BYTES]);
    }
    columns
}

/// Calls `each` with the selected kernels, copies or fills of a batch.
fn work_of(batch: &Batch, each: impl FnMut(GpuActivity)) {
    if batch.table == &tables::KERNEL {
        let shape = batch.get(kernel::SHAPE_ID);
        gpu_rows(batch, each, |i| ActivityKind::Kernel { shape: shape.get(i).unwrap_or(u32::MAX) });
    } else if batch.table == &tables::MEMCPY {
        let (kind, src, dst, bytes) =
            (batch.get(any::KIND), batch.get(memcpy::SRC_KIND), batch.get(memcpy::DST_KIND), batch.get(any::BYTES));
        let peers = PEERS.map(|column| batch.get(column));
        gpu_rows(batch, each, |i| ActivityKind::Memcpy {
            kind: kind.get(i).unwrap_or(0),
            src_kind: src.get(i).unwrap_or(0),
            dst_kind: dst.get(i).unwrap_or(0),
            bytes: bytes.get(i).unwrap_or(0),
            peer: (peers[0].get(i).is_some() || peers[2].get(i).is_some())
                .then(|| peers.map(|column| column.get(i).unwrap_or(0))),
        });
    } else {
        let (mem_kind, bytes) = (batch.get(memset::MEM_KIND), batch.get(any::BYTES));
        gpu_rows(batch, each, |i| ActivityKind::Memset {
            mem_kind: mem_kind.get(i).unwrap_or(0),
            bytes: bytes.get(i).unwrap_or(0),
        });
    }
}

/// Folds over the selected rows of some tables of [`WORK_TABLES`], as [`Frames::fold`] does: on all threads, in no particular order. Rows with
/// impossible times are included, their duration null.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn fold_work<A: Send>(
    frames: &Frames,
    wanted: &[&'static TableSpec],
    filter: &Filter,
    make: impl Fn() -> A + Sync,
    each: impl Fn(&mut A, GpuActivity) + Sync,
    merge: impl Fn(&mut A, A) + Sync,
) -> Result<A> {
    let mut all = make();
    for &table in wanted.iter().filter(|table| frames.rows(table) > 0) {
        if table == &tables::GRAPH {
            // Which graphs count is known only when all nodes have been looked at.
            whole_graphs(frames, filter)?.into_iter().for_each(|graph| each(&mut all, graph));
            continue;
        }
        let step = |out: &mut A, batch: &Batch| work_of(batch, |work| each(out, work));
        merge(&mut all, frames.fold(table, &work_columns(table), filter, &make, step, &merge)?);
    }
    Ok(all)
}

/// The selected rows of some tables of [`WORK_TABLES`] in order. Rows with impossible times are included, their duration null.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn work(frames: &Frames, wanted: &[&'static TableSpec], filter: &Filter) -> Result<Vec<GpuActivity>> {
    let mut all = fold_work(frames, wanted, filter, Vec::new, Vec::push, join)?;
    sort_gpu(&mut all);
    Ok(all)
}

/// Kernels, copies, fills, graphs traced whole and, if wanted, unified memory events, in order. Rows with impossible times are included,
/// their duration null.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn gpu_activities(frames: &Frames, filter: &Filter, with_uvm: bool) -> Result<Vec<GpuActivity>> {
    let mut all = fold_work(frames, &WORK_TABLES, filter, Vec::new, Vec::push, join)?;
    if with_uvm {
        all.extend(uvm_events(frames, filter)?);
    }
    sort_gpu(&mut all);
    Ok(all)
}

/// Executions of whole graphs, in no order. One whose nodes have rows of their own is left out: its time is theirs.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn whole_graphs(frames: &Frames, filter: &Filter) -> Result<Vec<GpuActivity>> {
    if frames.rows(&tables::GRAPH) == 0 {
        return Ok(Vec::new());
    }
    let columns = [&PLACE[..], &[graph::GRAPH_ID]].concat();
    let mut graphs = collect(frames, &tables::GRAPH, &columns, filter, |batch, out| {
        let graph = batch.get(any::GRAPH_ID);
        gpu_rows(batch, |row| out.push(row), |i| ActivityKind::Graph { graph: graph.get(i).unwrap_or(0) });
    })?;
    let mut nodes: HashSet<(u32, u64)> = HashSet::new();
    let of_processes = filter.whole_processes();
    for table in [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET] {
        let columns: [&dyn AnyColumn; 3] = [any::CORRELATION, any::GRAPH_ID, any::GRAPH_NODE_ID];
        nodes.extend(collect(frames, table, &columns, &of_processes, |batch, out| {
            let (correlation, node) = (batch.get(any::CORRELATION), batch.get(any::GRAPH_NODE_ID));
            let graph = batch.get(any::GRAPH_ID);
            batch.for_each_row(|i| {
                if graph.get(i).is_some() || node.get(i).is_some() {
                    out.push((batch.process, correlation.get(i).unwrap_or(0)));
                }
            });
        })?);
    }
    graphs.retain(|graph| graph.correlation == 0 || !nodes.contains(&(graph.process, graph.correlation)));
    Ok(graphs)
}

/// Unified memory events, in no order.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn uvm_events(frames: &Frames, filter: &Filter) -> Result<Vec<GpuActivity>> {
    let columns: [&dyn AnyColumn; 10] = [
        uvm::START_NS,
        uvm::DURATION_NS,
        uvm::KIND,
        uvm::VALUE,
        uvm::ADDRESS,
        uvm::SRC_DEVICE,
        uvm::DST_DEVICE,
        uvm::STREAM,
        uvm::PC,
        uvm::FLAGS,
    ];
    collect(frames, &tables::UVM, &columns, filter, |batch, out| {
        let (times, value) = (times(batch), batch.get(uvm::VALUE));
        let (kind, src, dst, stream) =
            (batch.get(any::KIND), batch.get(any::SRC_DEVICE), batch.get(any::DST_DEVICE), batch.get(any::STREAM));
        let (address, pc, flags) = (batch.get(uvm::ADDRESS), batch.get(uvm::PC), batch.get(uvm::FLAGS));
        batch.for_each_row(|i| {
            let thrashing = kind.get(i) == Some(THRASHING);
            let first = if thrashing { devices_of_mask(src.get(i)).next() } else { dst.get(i).or(src.get(i)) };
            let (start_ns, duration_ns) = times(i);
            out.push(GpuActivity {
                start_ns,
                duration_ns,
                process: batch.process,
                device: first.unwrap_or(0),
                context: 0,
                stream: stream.get(i).unwrap_or(0),
                correlation: 0,
                graph_node: None,
                what: ActivityKind::Uvm {
                    kind: kind.get(i).unwrap_or(0),
                    value: value.get(i).unwrap_or(0),
                    address: address.get(i).unwrap_or(0),
                    src_device: src.get(i),
                    dst_device: dst.get(i),
                    pc: pc.get(i),
                    flags: flags.get(i).unwrap_or(0),
                },
            });
        });
    })
}

/// Unified memory events in order.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn uvm_in_order(frames: &Frames, filter: &Filter) -> Result<Vec<GpuActivity>> {
    let mut events = uvm_events(frames, filter)?;
    sort_gpu(&mut events);
    Ok(events)
}

fn sort_gpu(rows: &mut [GpuActivity]) {
    let rank = |what: &ActivityKind| match what {
        ActivityKind::Kernel { shape } => (0, *shape),
        ActivityKind::Memcpy { kind, .. } => (1, *kind),
        ActivityKind::Memset { .. } => (2, 0),
        ActivityKind::Graph { graph } => (3, *graph),
        ActivityKind::Uvm { kind, .. } => (4, *kind),
    };
    rows.sort_unstable_by_key(|r| {
        let end = r.start_ns.saturating_add(r.duration_ns.unwrap_or(0));
        (r.start_ns, end, r.process, r.device, r.stream, r.correlation, r.graph_node, rank(&r.what))
    });
}

/// API calls in order.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn api_calls(frames: &Frames, filter: &Filter) -> Result<Vec<ApiCall>> {
    let columns: [&dyn AnyColumn; 7] =
        [api::START_NS, api::DURATION_NS, api::TID, api::CORRELATION, api::NAME_ID, api::DOMAIN, api::RESULT];
    let mut all = collect(frames, &tables::API, &columns, filter, |batch, out| {
        let times = times(batch);
        let (tid, name, domain, result) =
            (batch.get(any::TID), batch.get(any::NAME_ID), batch.get(api::DOMAIN), batch.get(any::RESULT));
        let correlation = batch.get(any::CORRELATION);
        batch.for_each_row(|i| {
            let (start_ns, duration_ns) = times(i);
            out.push(ApiCall {
                start_ns,
                duration_ns,
                process: batch.process,
                tid: tid.get(i).unwrap_or(0),
                correlation: correlation.get(i).unwrap_or(0),
                name: name.get(i).unwrap_or(0),
                domain: domain.get(i).unwrap_or(0),
                result: result.get(i),
            });
        });
    })?;
    // Pieces of it are in order already, which a stable sort makes use of.
    all.sort_by_key(|c: &ApiCall| (c.start_ns, c.duration_ns, c.process, c.tid, c.correlation, c.domain, c.name));
    Ok(all)
}

/// OpenACC regions in order.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn openacc_regions(frames: &Frames, filter: &Filter) -> Result<Vec<OpenaccRegion>> {
    let columns: [&dyn AnyColumn; 11] = [
        openacc::START_NS,
        openacc::DURATION_NS,
        openacc::KIND,
        openacc::TID,
        openacc::LINE,
        openacc::FILE_ID,
        openacc::VARIABLE_ID,
        openacc::BYTES,
        openacc::DEVICE,
        openacc::CONTEXT,
        openacc::STREAM,
    ];
    let mut all = collect(frames, &tables::OPENACC, &columns, filter, |batch, out| {
        let (times, line, bytes) = (times(batch), batch.get(openacc::LINE), batch.get(any::BYTES));
        let (kind, tid, file, variable) = (
            batch.get(any::KIND),
            batch.get(any::TID),
            batch.get(openacc::FILE_ID),
            batch.get(openacc::VARIABLE_ID),
        );
        let (device, context, stream) = (batch.get(any::DEVICE), batch.get(any::CONTEXT), batch.get(any::STREAM));
        batch.for_each_row(|i| {
            let (start_ns, duration_ns) = times(i);
            out.push(OpenaccRegion {
                start_ns,
                duration_ns,
                process: batch.process,
                tid: tid.get(i).unwrap_or(0),
                kind: kind.get(i).unwrap_or(0),
                line: line.get(i),
                file: file.get(i).unwrap_or(0),
                variable: variable.get(i).unwrap_or(0),
                bytes: bytes.get(i),
                place: device.get(i).map(|d| (d, context.get(i).unwrap_or(0), stream.get(i).unwrap_or(0))),
            });
        });
    })?;
    all.sort_unstable_by_key(|r: &OpenaccRegion| {
        (r.start_ns, std::cmp::Reverse(r.duration_ns), r.process, r.tid, r.kind, r.line, r.variable)
    });
    Ok(all)
}
