//! `--print-gpu-trace`, `--print-api-trace`, and both: every activity in order of its start.

use std::io;
use std::iter::Peekable;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::analysis::activity::{ActivityKind, ApiCall, GpuActivity};
use crate::analysis::markers::{Marker, MarkerKind};
use crate::cupti::operation;
use crate::cupti::unified::is_of_cpu;

use super::fmt;
use super::listing::{Cell, Column, Listing, Name, Row};
use super::{Labels, Options, messages};
use trace_format::vocabulary::uvm_kind::{
    BYTES_DTOH, BYTES_HTOD, CPU_PAGE_FAULTS, GPU_PAGE_FAULTS, THRASHING, THROTTLING,
};

/// Which kernel each API call launched.
#[derive(Clone, Debug, Default)]
pub struct Launches {
    by_correlation: HashMap<(u32, u64), Option<u32>, foldhash::fast::RandomState>,
}

impl Launches {
    /// Finds out from the kernels that ran. One call may launch several (a graph, a cooperative launch on several
    /// devices): their name is shown if they share it, and none is if they do not, since any would be misleading.
    pub fn new<'a>(rows: impl IntoIterator<Item = &'a GpuActivity>, labels: &dyn Labels) -> Launches {
        let mut launches = Launches::default();
        for row in rows {
            let ActivityKind::Kernel { shape } = row.what else { continue };
            if row.correlation == 0 {
                continue;
            }
            match launches.by_correlation.entry((row.process, row.correlation)) {
                Entry::Vacant(entry) => {
                    entry.insert(Some(shape));
                }
                Entry::Occupied(mut entry) => {
                    let same = |&other: &u32| other == shape || labels.kernel(other) == labels.kernel(shape);
                    *entry.get_mut() = entry.get().filter(same);
                }
            }
        }
        launches
    }

    fn kernel(&self, call: &ApiCall) -> Option<u32> {
        self.by_correlation.get(&(call.process, call.correlation)).copied().flatten()
    }
}

/// What one listing shows.
#[derive(Clone, Copy, Default)]
pub struct Rows<'a> {
    /// Work of the GPU and events of unified memory, by start. `None`: the GPU was not asked for.
    pub gpu: Option<&'a [GpuActivity]>,
    /// API calls by start. `None`: they were not asked for.
    pub calls: Option<&'a [ApiCall]>,
    /// Events of unified memory where the GPU was not asked for, by start.
    pub unified: &'a [GpuActivity],
    /// Begins and ends of NVTX ranges, and marks, in order of time. They stand among API calls.
    pub markers: &'a [Marker],
}

impl<'a> Rows<'a> {
    /// All rows in order of their start. Of those that start together a call comes first, since it is the cause; then,
    /// as nvprof has them, work of the GPU, markers and unified memory.
    fn in_order(&self) -> impl Iterator<Item = Listed<'a>> + use<'a> {
        let gpu = self.gpu.unwrap_or_default();
        let unified = gpu.iter().filter(|row| is_unified(row)).chain(self.unified);
        let mut sources: [Peekable<Box<dyn Iterator<Item = Listed<'a>> + 'a>>; 4] = [
            boxed(self.calls.unwrap_or_default().iter().map(Listed::Call)),
            boxed(gpu.iter().filter(|row| !is_unified(row)).map(Listed::Gpu)),
            boxed(self.markers.iter().map(Listed::Marker)),
            boxed(unified.map(Listed::Unified)),
        ];
        std::iter::from_fn(move || {
            let starts = sources.iter_mut().enumerate().filter_map(|(i, rows)| Some((rows.peek()?.start_ns(), i)));
            let (_, first) = starts.min()?;
            sources[first].next()
        })
    }

    fn is_empty(&self) -> bool {
        self.in_order().next().is_none()
    }

    /// The start of the first row with valid times.
    fn first_start(&self) -> i64 {
        let activities = self.gpu.unwrap_or_default().iter().chain(self.unified);
        let gpu = activities.filter(|r| has_times(r)).map(|r| r.start_ns);
        let calls = self.calls.unwrap_or_default().iter().filter(|c| c.duration_ns.is_some()).map(|c| c.start_ns);
        gpu.chain(calls).chain(self.markers.iter().map(|m| m.at_ns)).min().unwrap_or(0)
    }

    fn has_unified_memory(&self) -> bool {
        self.gpu.unwrap_or_default().iter().chain(self.unified).any(is_unified)
    }
}

/// One row of a listing, not yet laid out.
#[derive(Clone, Copy)]
enum Listed<'a> {
    Call(&'a ApiCall),
    Gpu(&'a GpuActivity),
    Marker(&'a Marker),
    Unified(&'a GpuActivity),
}

impl Listed<'_> {
    fn start_ns(&self) -> i64 {
        match self {
            Listed::Call(call) => call.start_ns,
            Listed::Gpu(row) | Listed::Unified(row) => row.start_ns,
            Listed::Marker(marker) => marker.at_ns,
        }
    }
}

fn boxed<'a>(rows: impl Iterator<Item = Listed<'a>> + 'a) -> Peekable<Box<dyn Iterator<Item = Listed<'a>> + 'a>> {
    let rows: Box<dyn Iterator<Item = Listed<'a>> + 'a> = Box::new(rows);
    rows.peekable()
}

fn is_unified(row: &GpuActivity) -> bool {
    matches!(row.what, ActivityKind::Uvm { .. })
}

/// Writes a listing: `--print-gpu-trace`, `--print-api-trace`, or both in one list.
pub fn write(
    out: &mut dyn io::Write,
    rows: &Rows,
    launches: &Launches,
    labels: &dyn Labels,
    options: &Options,
) -> io::Result<()> {
    if rows.is_empty() {
        // Whatever was asked for, nvprof had one sentence for a listing of nothing.
        let said = [
            (rows.gpu.is_some() || labels.as_nvprof()).then_some(messages::NO_KERNELS),
            (rows.calls.is_some() && !labels.as_nvprof()).then_some(messages::NO_API),
        ];
        return said.into_iter().flatten().try_for_each(|sentence| writeln!(out, "{sentence}"));
    }
    let origin = options.origin_ns.unwrap_or_else(|| rows.first_start());
    let columns = match rows.gpu {
        Some(gpu) => columns(gpu),
        None => {
            let unified = rows.has_unified_memory().then_some(Column::UnifiedMemory);
            [Column::Start, Column::Duration].into_iter().chain(unified).collect()
        }
    };
    let listed = || {
        rows.in_order().map(|row| match row {
            Listed::Gpu(row) | Listed::Unified(row) => gpu_row(row, labels, origin),
            Listed::Call(call) => api_row(call, launches, labels, origin),
            Listed::Marker(marker) => marker_row(marker, labels, origin),
        })
    };
    // Where calls alone were asked for, the units of columns suit the calls.
    let suited_to_calls = rows.gpu.is_none() && rows.calls.is_some_and(|calls| !calls.is_empty());
    let decide_units = listed().filter(|row| !suited_to_calls || !row.is_unified());
    let mut listing = Listing::new(&columns, decide_units, labels, options);
    listing.head(out)?;
    listed().try_for_each(|row| listing.row(out, &row))?;
    // The notes are about columns that only a listing of the GPU has.
    listing.notes(out)
}

/// The columns that `rows` need. Those of kernels are always there.
fn columns(rows: &[GpuActivity]) -> Vec<Column> {
    use Column::*;
    let any = |test: fn(&ActivityKind) -> bool| rows.iter().any(|r| test(&r.what));
    let mut columns = vec![Start, Duration, Grid, Block, Registers, StaticSmem, DynamicSmem];
    if any(|w| matches!(w, ActivityKind::Memcpy { .. } | ActivityKind::Memset { .. })) {
        columns.extend([Size, Throughput, SrcMemType, DstMemType]);
    }
    columns.extend([Device, Context, Stream]);
    if any(|w| matches!(w, ActivityKind::Memcpy { peer: Some(_), .. })) {
        columns.extend([SrcDevice, SrcContext, DstDevice, DstContext]);
    }
    if any(|w| matches!(w, ActivityKind::Uvm { .. })) {
        columns.extend([UnifiedMemory, VirtualAddress]);
    }
    columns
}

/// Events of unified memory may be moments; all else without a duration lost its times.
fn has_times(row: &GpuActivity) -> bool {
    row.duration_ns.is_some() || matches!(row.what, ActivityKind::Uvm { .. })
}

fn api_row<'a>(call: &ApiCall, launches: &Launches, labels: &'a dyn Labels, origin_ns: i64) -> Row<'a> {
    let name = labels.api(call.name);
    let name = match launches.kernel(call) {
        Some(shape) => Name::Launch(name, labels.kernel(shape), call.correlation),
        None => Name::Plain(name),
    };
    let mut row = Row::new(name);
    row.set_times(call.start_ns, call.duration_ns, origin_ns);
    row.correlation = correlation(call.correlation);
    row
}

fn marker_row<'a>(marker: &Marker, labels: &'a dyn Labels, origin_ns: i64) -> Row<'a> {
    let what = match marker.kind {
        MarkerKind::Start => "[Range start]",
        MarkerKind::End => "[Range end]",
        MarkerKind::Mark => "[Marker]",
    };
    let domain = Some(labels.text(marker.domain)).filter(|_| marker.domain != 0).unwrap_or("<unnamed>");
    let mut row = Row::new(Name::Marker(what, labels.text(marker.name), domain));
    row.set(Column::Start, Cell::Value(marker.at_ns.saturating_sub(origin_ns) as f64));
    row
}

fn correlation(id: u64) -> Option<u64> {
    (id != 0).then_some(id)
}

fn gpu_row<'a>(row: &GpuActivity, labels: &'a dyn Labels, origin_ns: i64) -> Row<'a> {
    let name = match &row.what {
        ActivityKind::Kernel { shape } => match row.correlation {
            0 => Name::Plain(labels.kernel(*shape)),
            id => Name::Kernel(labels.kernel(*shape), id),
        },
        ActivityKind::Memcpy { kind, .. } => Name::Plain(operation::memcpy_name(*kind)),
        ActivityKind::Memset { .. } => Name::Plain("[CUDA memset]"),
        ActivityKind::Graph { graph } => Name::Plain(labels.graph(*graph)),
        ActivityKind::Uvm { kind, .. } => Name::Plain(operation::uvm_name(*kind)),
    };
    let mut listed = Row::new(name);
    listed.set_times(row.start_ns, row.duration_ns, origin_ns);
    match &row.what {
        ActivityKind::Kernel { shape } => set_launch(&mut listed, *shape, labels),
        ActivityKind::Memcpy { src_kind, dst_kind, bytes, peer, .. } => {
            set_moved(&mut listed, *bytes, row.duration_ns);
            listed.set(Column::SrcMemType, memory(*src_kind, labels));
            listed.set(Column::DstMemType, memory(*dst_kind, labels));
            if let Some([src_device, src_context, dst_device, dst_context]) = *peer {
                listed
                    .set(Column::SrcDevice, Cell::Device(row.process, src_device))
                    .set(Column::SrcContext, Cell::Id(src_context))
                    .set(Column::DstDevice, Cell::Device(row.process, dst_device))
                    .set(Column::DstContext, Cell::Id(dst_context));
            }
        }
        ActivityKind::Memset { mem_kind, bytes } => {
            set_moved(&mut listed, *bytes, row.duration_ns);
            listed.set(Column::SrcMemType, memory(*mem_kind, labels));
        }
        ActivityKind::Graph { .. } => {}
        ActivityKind::Uvm { .. } => {
            set_unified(&mut listed, row, origin_ns);
            return listed;
        }
    }
    listed
        .set(Column::Device, Cell::Device(row.process, row.device))
        .set(Column::Context, Cell::Id(row.context))
        .set(Column::Stream, Cell::Id(row.stream));
    // nvprof prints an id for every row of the GPU, 0 where there is none.
    listed.correlation = if labels.as_nvprof() { Some(row.correlation) } else { correlation(row.correlation) };
    listed
}

/// Launch details. Traces of other tools may lack any of them.
fn set_launch(row: &mut Row, shape: u32, labels: &dyn Labels) {
    let Some(shape) = labels.shape(shape) else { return };
    let number = |value: Option<i64>| value.map_or(Cell::Empty, Cell::Number);
    let bytes = |value: Option<i64>| value.map_or(Cell::Empty, |v| Cell::Value(v as f64));
    let triple = |x: Option<i64>, y: Option<i64>, z: Option<i64>| match (x, y, z) {
        (Some(x), Some(y), Some(z)) => Cell::Triple([x, y, z]),
        _ => Cell::Empty,
    };
    row.set(Column::Grid, triple(shape.grid_x, shape.grid_y, shape.grid_z))
        .set(Column::Block, triple(shape.block_x, shape.block_y, shape.block_z))
        .set(Column::Registers, number(shape.registers))
        .set(Column::StaticSmem, bytes(shape.static_smem_bytes))
        .set(Column::DynamicSmem, bytes(shape.dynamic_smem_bytes));
}

/// A kind of memory. nvprof has no words for static memory.
fn memory(kind: u32, labels: &dyn Labels) -> Cell {
    match labels.as_nvprof() && kind > operation::LAST_NAMED_BY_NVPROF {
        true => Cell::Empty,
        false => Cell::Word(operation::memory_kind(kind)),
    }
}

fn set_moved(row: &mut Row, bytes: i64, duration_ns: Option<i64>) {
    let rate = duration_ns.and_then(|ns| fmt::rate(bytes, ns));
    row.set(Column::Size, Cell::Value(bytes as f64));
    row.set(Column::Throughput, rate.map_or(Cell::Empty, Cell::Value));
}

/// The cells of an event of unified memory that every listing has.
pub(super) fn unified_row<'a>(row: &GpuActivity, origin_ns: i64) -> Row<'a> {
    let ActivityKind::Uvm { kind, .. } = row.what else { return Row::new(Name::Plain("")) };
    let mut listed = Row::new(Name::Plain(operation::uvm_name(kind)));
    listed.set_times(row.start_ns, row.duration_ns, origin_ns);
    set_unified(&mut listed, row, origin_ns);
    listed
}

fn set_unified(listed: &mut Row, row: &GpuActivity, origin_ns: i64) {
    let ActivityKind::Uvm { kind, value, address, src_device, dst_device, pc, flags } = row.what else { return };
    let what = match (kind, pc) {
        (CPU_PAGE_FAULTS, Some(pc)) => Cell::Pc(pc),
        (CPU_PAGE_FAULTS | GPU_PAGE_FAULTS, _) => Cell::Faults(value),
        (THROTTLING, _) => Cell::Empty,
        _ => Cell::Value(value as f64),
    };
    let place = match (kind, src_device, dst_device) {
        // A fault on the CPU is no device's.
        (CPU_PAGE_FAULTS, ..) => Cell::Empty,
        (THRASHING, mask, _) => Cell::Fighters(row.process, is_of_cpu(flags), mask.unwrap_or(0)),
        (THROTTLING, ..) if is_of_cpu(flags) => Cell::Fighters(row.process, true, 0),
        (THROTTLING, Some(device), _) => Cell::Device(row.process, device),
        // Copies and faults belong to the GPU that has a part in them.
        (BYTES_HTOD | BYTES_DTOH | GPU_PAGE_FAULTS, Some(device), None)
        | (BYTES_HTOD | BYTES_DTOH | GPU_PAGE_FAULTS, None, Some(device)) => Cell::Device(row.process, device),
        (GPU_PAGE_FAULTS, Some(device), Some(other)) if device == other => Cell::Device(row.process, device),
        (BYTES_HTOD, _, Some(device)) | (BYTES_DTOH, Some(device), _) => Cell::Device(row.process, device),
        (_, None, None) => Cell::Device(row.process, row.device),
        (_, src, dst) => Cell::Pair(row.process, src, dst),
    };
    listed
        .set(Column::Start, Cell::Value(row.start_ns.saturating_sub(origin_ns) as f64))
        .set(Column::Device, place)
        .set(Column::UnifiedMemory, what)
        .set(Column::VirtualAddress, Cell::Address(address));
}

#[cfg(test)]
mod tests;
