//! `--print-gpu-trace`, `--print-api-trace`, and both: every activity in order of its start.

use std::io;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::analysis::activity::{ApiCall, GpuActivity, What};
use crate::cupti::operation;

use super::fmt;
use super::listing::{Cell, Column, Listing, Name, Row};
use super::{Labels, Options, messages};

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
            let What::Kernel { shape } = row.what else { continue };
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

/// Writes `--print-gpu-trace`. `rows` by start.
pub fn gpu(
    out: &mut dyn io::Write,
    rows: &[GpuActivity],
    labels: &dyn Labels,
    options: &Options,
) -> io::Result<()> {
    merged(out, rows, None, &Launches::default(), labels, options)
}

/// Writes `--print-api-trace`. `calls` by start.
pub fn api(
    out: &mut dyn io::Write,
    calls: &[ApiCall],
    launches: &Launches,
    labels: &dyn Labels,
    options: &Options,
) -> io::Result<()> {
    if calls.is_empty() {
        return writeln!(out, "{}", messages::NO_API);
    }
    let origin = options.origin_ns.unwrap_or_else(|| first_start(&[], calls));
    let rows = || calls.iter().map(|call| api_row(call, launches, labels, origin));
    let mut listing = Listing::new(&[Column::Start, Column::Duration], rows(), labels, options);
    listing.head(out)?;
    rows().try_for_each(|row| listing.row(out, &row))
}

/// Writes both in one list. `calls` is `None` where only the GPU was asked for.
pub fn merged(
    out: &mut dyn io::Write,
    rows: &[GpuActivity],
    calls: Option<&[ApiCall]>,
    launches: &Launches,
    labels: &dyn Labels,
    options: &Options,
) -> io::Result<()> {
    if rows.is_empty() {
        writeln!(out, "{}", messages::NO_KERNELS)?;
    }
    if calls.is_some_and(<[ApiCall]>::is_empty) {
        writeln!(out, "{}", messages::NO_API)?;
    }
    let calls = calls.unwrap_or_default();
    if rows.is_empty() && calls.is_empty() {
        return Ok(());
    }
    let origin = options.origin_ns.unwrap_or_else(|| first_start(rows, calls));
    let listed = || {
        Merge { rows, calls }.map(|either| match either {
            Either::Gpu(row) => gpu_row(row, labels, origin),
            Either::Api(call) => api_row(call, launches, labels, origin),
        })
    };
    let mut listing = Listing::new(&columns(rows), listed(), labels, options);
    listing.head(out)?;
    listed().try_for_each(|row| listing.row(out, &row))?;
    listing.notes(out)
}

/// The columns that `rows` need. Those of kernels are always there.
fn columns(rows: &[GpuActivity]) -> Vec<Column> {
    use Column::*;
    let any = |test: fn(&What) -> bool| rows.iter().any(|r| test(&r.what));
    let mut columns = vec![Start, Duration, Grid, Block, Registers, StaticSmem, DynamicSmem];
    if any(|w| matches!(w, What::Memcpy { .. } | What::Memset { .. })) {
        columns.extend([Size, Throughput, SrcMemType, DstMemType]);
    }
    columns.extend([Device, Context, Stream]);
    if any(|w| matches!(w, What::Memcpy { peer: Some(_), .. })) {
        columns.extend([SrcDevice, SrcContext, DstDevice, DstContext]);
    }
    if any(|w| matches!(w, What::Uvm { .. })) {
        columns.extend([UnifiedMemory, VirtualAddress]);
    }
    columns
}

/// The start of the first row with valid times.
fn first_start(rows: &[GpuActivity], calls: &[ApiCall]) -> i64 {
    let gpu = rows.iter().filter(|r| has_times(r)).map(|r| r.start_ns).min();
    let api = calls.iter().filter(|c| c.duration_ns.is_some()).map(|c| c.start_ns).min();
    [gpu, api].into_iter().flatten().min().unwrap_or(0)
}

/// Events of unified memory may be moments; all else without a duration lost its times.
fn has_times(row: &GpuActivity) -> bool {
    row.duration_ns.is_some() || matches!(row.what, What::Uvm { .. })
}

fn api_row<'a>(call: &ApiCall, launches: &Launches, labels: &'a dyn Labels, origin_ns: i64) -> Row<'a> {
    let name = labels.api(call.name);
    let name = match launches.kernel(call) {
        Some(shape) => Name::Launch(name, labels.kernel(shape), call.correlation),
        None => Name::Plain(name),
    };
    let row = Row::new(name).at(call.start_ns, call.duration_ns, origin_ns);
    Row { correlation: correlation(call.correlation), ..row }
}

fn correlation(id: u64) -> Option<u64> {
    (id != 0).then_some(id)
}

fn gpu_row<'a>(row: &GpuActivity, labels: &'a dyn Labels, origin_ns: i64) -> Row<'a> {
    let name = match &row.what {
        What::Kernel { shape } => match row.correlation {
            0 => Name::Plain(labels.kernel(*shape)),
            id => Name::Kernel(labels.kernel(*shape), id),
        },
        What::Memcpy { kind, .. } => Name::Plain(operation::memcpy_name(*kind)),
        What::Memset { .. } => Name::Plain("[CUDA memset]"),
        What::Graph { graph } => Name::Plain(labels.graph(*graph)),
        What::Uvm { kind, .. } => Name::Plain(uvm_name(*kind)),
    };
    let listed = Row::new(name).at(row.start_ns, row.duration_ns, origin_ns);
    let listed = match &row.what {
        What::Kernel { shape } => kernel_cells(listed, *shape, labels),
        What::Memcpy { src_kind, dst_kind, bytes, peer, .. } => {
            let listed = moved(listed, *bytes, row.duration_ns)
                .with(Column::SrcMemType, Cell::Word(operation::memory_kind(*src_kind)))
                .with(Column::DstMemType, Cell::Word(operation::memory_kind(*dst_kind)));
            match *peer {
                None => listed,
                Some([src_device, src_context, dst_device, dst_context]) => listed
                    .with(Column::SrcDevice, Cell::Device(row.process, src_device))
                    .with(Column::SrcContext, Cell::Id(src_context))
                    .with(Column::DstDevice, Cell::Device(row.process, dst_device))
                    .with(Column::DstContext, Cell::Id(dst_context)),
            }
        }
        What::Memset { mem_kind, bytes } => moved(listed, *bytes, row.duration_ns)
            .with(Column::SrcMemType, Cell::Word(operation::memory_kind(*mem_kind))),
        What::Graph { .. } => listed,
        What::Uvm { .. } => return uvm_cells(listed, row, origin_ns),
    };
    let listed = listed
        .with(Column::Device, Cell::Device(row.process, row.device))
        .with(Column::Context, Cell::Id(row.context))
        .with(Column::Stream, Cell::Id(row.stream));
    Row { correlation: correlation(row.correlation), ..listed }
}

/// Launch details. Traces of other tools may lack any of them.
fn kernel_cells<'a>(row: Row<'a>, shape: u32, labels: &dyn Labels) -> Row<'a> {
    let Some(shape) = labels.shape(shape) else { return row };
    let number = |value: Option<i64>| value.map_or(Cell::Empty, Cell::Number);
    let bytes = |value: Option<i64>| value.map_or(Cell::Empty, |v| Cell::Value(v as f64));
    let triple = |x: Option<i64>, y: Option<i64>, z: Option<i64>| match (x, y, z) {
        (Some(x), Some(y), Some(z)) => Cell::Triple([x, y, z]),
        _ => Cell::Empty,
    };
    row.with(Column::Grid, triple(shape.grid_x, shape.grid_y, shape.grid_z))
        .with(Column::Block, triple(shape.block_x, shape.block_y, shape.block_z))
        .with(Column::Registers, number(shape.registers))
        .with(Column::StaticSmem, bytes(shape.static_smem_bytes))
        .with(Column::DynamicSmem, bytes(shape.dynamic_smem_bytes))
}

fn moved<'a>(row: Row<'a>, bytes: i64, duration_ns: Option<i64>) -> Row<'a> {
    let rate = duration_ns.and_then(|ns| fmt::rate(bytes, ns));
    row.with(Column::Size, Cell::Value(bytes as f64))
        .with(Column::Throughput, rate.map_or(Cell::Empty, Cell::Value))
}

fn uvm_cells<'a>(listed: Row<'a>, row: &GpuActivity, origin_ns: i64) -> Row<'a> {
    let What::Uvm { kind, value, address, src_device, dst_device, pc } = row.what else { return listed };
    let what = match (kind, pc) {
        (3, Some(pc)) => Cell::Pc(pc),
        (3 | 4, _) => Cell::Faults(value),
        (6, _) => Cell::Empty,
        _ => Cell::Bytes(value),
    };
    let place = match (kind, src_device, dst_device) {
        // A fault on the CPU is no device's.
        (3, ..) => Cell::Empty,
        // Copies and faults belong to the GPU that has a part in them.
        (1 | 2 | 4 | 6, Some(device), None) | (1 | 2 | 4 | 6, None, Some(device)) => {
            Cell::Device(row.process, device)
        }
        (4 | 6, Some(device), Some(other)) if device == other => Cell::Device(row.process, device),
        (1, _, Some(device)) | (2, Some(device), _) => Cell::Device(row.process, device),
        (_, None, None) => Cell::Device(row.process, row.device),
        (_, src, dst) => Cell::Pair(row.process, src, dst),
    };
    listed
        .with(Column::Start, Cell::Value(row.start_ns.saturating_sub(origin_ns) as f64))
        .with(Column::Device, place)
        .with(Column::UnifiedMemory, what)
        .with(Column::VirtualAddress, Cell::Address(address))
}

/// What nvprof calls an event of unified memory, by `CUpti_ActivityUnifiedMemoryCounterKind`. The last three names
/// were never seen in its output.
fn uvm_name(kind: u32) -> &'static str {
    match kind {
        1 => "[Unified Memory Memcpy HtoD]",
        2 => "[Unified Memory Memcpy DtoH]",
        3 => "[Unified Memory CPU page faults]",
        4 => "[Unified Memory GPU page faults]",
        5 => "[Unified Memory page thrash]",
        6 => "[Unified Memory throttle]",
        7 => "[Unified Memory remote map]",
        8 => "[Unified Memory Memcpy DtoD]",
        _ => "[Unified Memory]",
    }
}

enum Either<'a> {
    Gpu(&'a GpuActivity),
    Api(&'a ApiCall),
}

/// Two sorted lists as one. Of equal starts the call comes first: it is the cause.
#[derive(Clone, Copy)]
struct Merge<'a> {
    rows: &'a [GpuActivity],
    calls: &'a [ApiCall],
}

impl<'a> Iterator for Merge<'a> {
    type Item = Either<'a>;

    fn next(&mut self) -> Option<Either<'a>> {
        match (self.rows.split_first(), self.calls.split_first()) {
            (Some((row, _)), Some((call, calls))) if call.start_ns <= row.start_ns => {
                self.calls = calls;
                Some(Either::Api(call))
            }
            (Some((row, rows)), _) => {
                self.rows = rows;
                Some(Either::Gpu(row))
            }
            (None, Some((call, calls))) => {
                self.calls = calls;
                Some(Either::Api(call))
            }
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests;
