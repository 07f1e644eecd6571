//! GPU work and API calls side by side in order of time, in bounded memory.
//!
//! A call is handed out before work that begins with it. Records without valid times are handed out to nobody; how many
//! there were is said.

use super::activity::{ActivityKind, GpuActivity};
use super::labels::Labels;
use super::listing;
use super::merged_runs::{MergedRuns, Starts};
use crate::cupti::operation;
use crate::error::Result;
use crate::trace::batch::Batch;
use crate::trace::by_start::WantedTable;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use std::cmp::{Ordering, Reverse};
use trace_format::schema::{AnyColumn, TableSpec};
use trace_format::tables;
use trace_format::tables::column::{any, api, kernel, memcpy, memset};

/// What a piece of work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkKind {
    /// A kernel, by the id of its launch shape.
    Kernel(u32),
    /// A copy, and the kinds of memory at its ends. Codes as in table `memcpy`.
    Memcpy {
        /// `CUpti_ActivityMemcpyKind`.
        kind: u8,
        /// `CUpti_ActivityMemoryKind` of the source.
        src: u8,
        /// `CUpti_ActivityMemoryKind` of the destination.
        dst: u8,
    },
    /// A fill.
    Memset,
    /// A graph traced whole.
    Graph(u32),
}

/// A stream: process, device and stream id.
pub type Stream = (u32, u32, u32);

/// A device: the process that knows it, and its index there.
pub type Place = (u32, u32);

/// A kernel, copy, fill or graph traced whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Work {
    /// Start: Unix nanoseconds where the trace has an epoch.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
    /// Ordinal of the process.
    pub process: u32,
    /// CUDA device index in that process.
    pub device: u32,
    /// Stream id.
    pub stream: u32,
    /// Joins with [`Call::correlation`] of the same process; 0: none.
    pub correlation: u64,
    /// What it is.
    pub kind: WorkKind,
    /// Bytes copied or filled.
    pub bytes: i64,
}

impl WorkKind {
    /// Its name in summaries.
    pub fn name<'l>(&self, labels: &'l Labels) -> &'l str {
        match *self {
            WorkKind::Kernel(shape) => labels.kernel(shape),
            WorkKind::Memcpy { kind, .. } => operation::memcpy_name(kind.into()),
            WorkKind::Memset => operation::MEMSET,
            WorkKind::Graph(graph) => labels.graph(graph),
        }
    }
}

impl Work {
    /// How long it took.
    #[inline]
    pub fn duration_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// A call of the CUDA API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Start, as of [`Work`].
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
    /// Ordinal of the process.
    pub process: u32,
    /// Thread id.
    pub tid: u32,
    /// Correlation id in that process; 0: none.
    pub correlation: u64,
    /// Name id.
    pub name: u32,
}

/// The order in which calls are handed out: of two that begin together the outer one comes first.
impl Ord for Call {
    fn cmp(&self, other: &Self) -> Ordering {
        let rest = |call: &Call| (Reverse(call.end_ns), call.process, call.tid, call.correlation, call.name);
        self.start_ns.cmp(&other.start_ns).then_with(|| rest(self).cmp(&rest(other)))
    }
}

impl PartialOrd for Call {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Starts for Call {
    #[inline]
    fn start_ns(&self) -> i64 {
        self.start_ns
    }
}

impl Starts for Work {
    #[inline]
    fn start_ns(&self) -> i64 {
        self.start_ns
    }
}

/// What sees everything in order of time.
pub trait InTime: Send {
    /// Sees a call; what asks for work alone has nothing to do here.
    fn call(&mut self, _call: &Call) {}
    /// Sees a piece of work.
    fn work(&mut self, work: &Work);
}

/// The tables that [`visit`] reads.
pub const TABLES: [&TableSpec; 5] =
    [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH, &tables::API];

const KERNELS: [&dyn AnyColumn; 6] =
    [any::START_NS, any::DURATION_NS, any::DEVICE, any::STREAM, any::CORRELATION, kernel::SHAPE_ID];
const COPIES: [&dyn AnyColumn; 9] = [
    any::START_NS,
    any::DURATION_NS,
    any::DEVICE,
    any::STREAM,
    any::CORRELATION,
    memcpy::KIND,
    memcpy::SRC_KIND,
    memcpy::DST_KIND,
    memcpy::BYTES,
];
const FILLS: [&dyn AnyColumn; 6] =
    [any::START_NS, any::DURATION_NS, any::DEVICE, any::STREAM, any::CORRELATION, memset::BYTES];
const CALLS: [&dyn AnyColumn; 5] = [any::START_NS, any::DURATION_NS, any::TID, any::CORRELATION, api::NAME_ID];

/// What one batch gives.
enum Rows {
    Work(Vec<Work>),
    Calls(Vec<Call>),
}

/// Shows `visitor` all selected calls and work. Gives the number of records of work without valid times.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn visit(frames: &Frames, filter: &Filter, visitor: &mut dyn InTime) -> Result<u64> {
    visit_tables(frames, filter, &WANTED, visitor)
}

/// As [`visit`], of [`super::activity::WORK_TABLES`]: without the calls, which are most of many traces.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn visit_work(frames: &Frames, filter: &Filter, visitor: &mut dyn InTime) -> Result<u64> {
    visit_tables(frames, filter, &WANTED[..WANTED.len() - 1], visitor)
}

/// What is read; the calls come last.
const WANTED: [WantedTable; 4] = [
    WantedTable { table: &tables::KERNEL, columns: &KERNELS },
    WantedTable { table: &tables::MEMCPY, columns: &COPIES },
    WantedTable { table: &tables::MEMSET, columns: &FILLS },
    WantedTable { table: &tables::API, columns: &CALLS },
];

fn visit_tables(frames: &Frames, filter: &Filter, wanted: &[WantedTable], visitor: &mut dyn InTime) -> Result<u64> {
    let mut timeless = 0;
    // Graphs traced whole are few, and which of them count is known only when all nodes have been looked at.
    let graphs = listing::whole_graphs(frames, filter)?;
    let mut of_graphs: Vec<Work> = graphs.iter().filter_map(of_graph).collect();
    timeless += (graphs.len() - of_graphs.len()) as u64;
    of_graphs.sort();
    let mut held = Held::default();
    held.work.add(of_graphs);
    frames.by_start(wanted, filter, rows, |turn, horizon_ns| {
        for (rows, without_times) in turn {
            match rows {
                Rows::Work(rows) => {
                    timeless += without_times;
                    held.work.add(rows);
                }
                Rows::Calls(rows) => held.calls.add(rows),
            }
        }
        held.show(Some(horizon_ns), visitor);
        Ok(())
    })?;
    held.show(None, visitor);
    Ok(timeless)
}

fn of_graph(activity: &GpuActivity) -> Option<Work> {
    let ActivityKind::Graph { graph } = activity.what else { return None };
    Some(Work {
        start_ns: activity.start_ns,
        end_ns: activity.start_ns.saturating_add(activity.duration_ns?),
        process: activity.process,
        device: activity.device,
        stream: activity.stream,
        correlation: activity.correlation,
        kind: WorkKind::Graph(graph),
        bytes: 0,
    })
}

/// What is not yet shown.
#[derive(Default)]
struct Held {
    work: MergedRuns<Work>,
    calls: MergedRuns<Call>,
}

impl Held {
    /// Shows what begins before a moment; `None`: everything.
    fn show(&mut self, before_ns: Option<i64>, visitor: &mut dyn InTime) {
        while let Some(work) = self.work.next_before(before_ns) {
            while let Some(call) = self.calls.next_if(|call| call.start_ns <= work.start_ns) {
                visitor.call(&call);
            }
            visitor.work(&work);
        }
        while let Some(call) = self.calls.next_before(before_ns) {
            visitor.call(&call);
        }
    }
}

/// The rows of a batch in order, and how many are left out because they have no valid times.
fn rows(batch: &Batch) -> (Rows, u64) {
    let rows = if batch.table == &tables::API { Rows::Calls(calls(batch)) } else { Rows::Work(work(batch)) };
    let found = match &rows {
        Rows::Work(rows) => rows.len(),
        Rows::Calls(rows) => rows.len(),
    };
    let selected = batch.selected.as_ref().map_or(batch.rows, Vec::len);
    (rows, selected.saturating_sub(found) as u64)
}

fn calls(batch: &Batch) -> Vec<Call> {
    let (start, duration) = (batch.get(any::START_NS), batch.get(any::DURATION_NS));
    let (tid, correlation, name) = (batch.get(any::TID), batch.get(any::CORRELATION), batch.get(any::NAME_ID));
    let mut calls = Vec::with_capacity(batch.rows);
    batch.for_each_row(|i| {
        let (Some(start), Some(ns)) = (start.get(i), duration.get(i)) else { return };
        let start_ns = start.saturating_add(batch.offset_ns);
        calls.push(Call {
            start_ns,
            end_ns: start_ns.saturating_add(ns),
            process: batch.process,
            tid: tid.get(i).unwrap_or(0),
            correlation: correlation.get(i).unwrap_or(0),
            name: name.get(i).unwrap_or(0),
        });
    });
    calls.sort();
    calls
}

fn work(batch: &Batch) -> Vec<Work> {
    let (start, duration) = (batch.get(any::START_NS), batch.get(any::DURATION_NS));
    let (device, stream) = (batch.get(any::DEVICE), batch.get(any::STREAM));
    let correlation = batch.get(any::CORRELATION);
    let mut all = Vec::with_capacity(batch.rows);
    let mut add = |i: usize, kind: WorkKind, bytes: i64| {
        let (Some(start), Some(ns)) = (start.get(i), duration.get(i)) else { return };
        let start_ns = start.saturating_add(batch.offset_ns);
        all.push(Work {
            start_ns,
            end_ns: start_ns.saturating_add(ns),
            process: batch.process,
            device: device.get(i).unwrap_or(0),
            stream: stream.get(i).unwrap_or(0),
            correlation: correlation.get(i).unwrap_or(0),
            kind,
            bytes,
        });
    };
    let code = |code: Option<u32>| code.and_then(|code| u8::try_from(code).ok()).unwrap_or(0);
    if batch.table == &tables::KERNEL {
        let shape = batch.get(kernel::SHAPE_ID);
        batch.for_each_row(|i| add(i, WorkKind::Kernel(shape.get(i).unwrap_or(u32::MAX)), 0));
    } else if batch.table == &tables::MEMCPY {
        let [kind, src, dst] = [memcpy::KIND, memcpy::SRC_KIND, memcpy::DST_KIND].map(|column| batch.get(column));
        let bytes = batch.get(memcpy::BYTES);
        batch.for_each_row(|i| {
            let kind = WorkKind::Memcpy { kind: code(kind.get(i)), src: code(src.get(i)), dst: code(dst.get(i)) };
            add(i, kind, bytes.get(i).unwrap_or(0));
        });
    } else {
        let bytes = batch.get(memset::BYTES);
        batch.for_each_row(|i| add(i, WorkKind::Memset, bytes.get(i).unwrap_or(0)));
    }
    all.sort();
    all
}
