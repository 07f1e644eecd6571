//! The nvprof-style report put together: which sections, of which rows, for which process.
//!
//! [`super::nvprof`] knows how a table looks; this knows what belongs into it.

use super::imported;
use super::nvprof::messages::{Message, Prefix};
use super::nvprof::nvtx::Tables;
use super::nvprof::summary::Section;
use super::nvprof::system::DeviceSamples;
use super::nvprof::{self, Options, per_gpu, trace};
use crate::analysis::activity::{self, OpenaccRegion};
use crate::analysis::grouping::{self, Grouping};
use crate::analysis::labels::Labels;
use crate::analysis::nvtx_sections;
use crate::analysis::stats::Wanted;
use crate::analysis::summary::{Order, Summary};
use crate::analysis::totals::{RanOn, Split};
use crate::analysis::uvm::UvmProfile;
use crate::analysis::{listing, markers};
use crate::error::{Error, Result};
use crate::numbers::items;
use crate::trace::select::Filter;
use crate::trace::sink::{Need, Note};
use std::io::Write;
use trace_format::tables;

/// What to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// The summary table.
    Summary {
        /// Kernels, copies and fills.
        gpu: bool,
        /// API calls.
        api: bool,
        /// OpenACC regions.
        openacc: bool,
        /// OpenMP regions.
        openmp: bool,
    },
    /// One summary of GPU activities per device.
    PerGpu,
    /// Every activity in order.
    Trace {
        /// Kernels, copies, fills and unified memory events.
        gpu: bool,
        /// API calls.
        api: bool,
    },
    /// Every OpenACC region in order.
    OpenaccTrace,
}

impl ReportKind {
    /// What has to be read for it.
    pub fn need(self) -> Need {
        let gpu = [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH];
        match self {
            ReportKind::Summary { gpu: g, api, openacc, openmp } => {
                let mut tables = Vec::new();
                tables.extend(g.then_some(gpu).into_iter().flatten());
                tables.extend(api.then_some(&tables::API));
                tables.extend(openacc.then_some(&tables::OPENACC));
                tables.extend(openmp.then_some(&tables::OPENMP));
                tables.extend(g.then_some(&tables::UVM));
                tables.push(&tables::RANGE);
                Need::totals(&tables)
            }
            ReportKind::PerGpu => Need::totals(&[&gpu[..], &[&tables::OPENACC, &tables::UVM]].concat()),
            ReportKind::Trace { api, .. } => {
                let mut tables = gpu.to_vec();
                tables.push(&tables::UVM);
                if api {
                    tables.extend([&tables::API, &tables::RANGE]);
                }
                Need::full(&tables)
            }
            ReportKind::OpenaccTrace => Need::full(&[&tables::OPENACC, &tables::UVM]),
        }
    }

    /// Whether tables of NVTX ranges stand below: they need to know which call launched which kernel, which a summary
    /// alone does not.
    pub fn has_ranges(self) -> bool {
        matches!(self, ReportKind::Summary { .. })
    }
}

/// Everything the command line says about the report.
pub struct Request {
    /// What to print.
    pub what: ReportKind,
    /// The layout.
    pub options: Options,
    /// What makes separate rows.
    pub grouping: Grouping,
    /// Order and number of rows.
    pub order: Order,
    /// One result per process instead of one for all.
    pub per_process: bool,
    /// Whether to print tables for NVTX ranges however many there are.
    pub all_ranges: bool,
    /// Whether the time of nested OpenACC regions counts for those around them too.
    pub openacc_inclusive: bool,
    /// What lines of the one result for all begin with.
    pub prefix: Prefix,
    /// System samples that stand below the tables of a summary.
    pub system: Vec<DeviceSamples>,
}

/// NVTX ranges whose tables are printed unasked. Programs that number their ranges (PyTorch's `emit_nvtx`) have
/// thousands of names, and the table that people came for would be out of sight.
const RANGES_UNASKED: usize = 50;

/// Writes the report; says whether there was anything to show. What is left out on purpose goes to `hidden`.
///
/// # Errors
/// Fails if a part of a file cannot be read, or if the output cannot be written.
pub fn write(
    out: &mut dyn Write,
    labels: &Labels,
    filter: &Filter,
    request: &Request,
    hidden: &mut Vec<Note>,
) -> Result<bool> {
    if imported::is_all(labels, filter, request)? {
        return imported::write(out, labels, filter, request);
    }
    let processes = labels.frames().processes.len() as u32;
    if !request.per_process {
        let any = one_result(out, labels, filter, request, request.prefix, hidden)?;
        return Ok(any | imported::write(out, labels, filter, request)?);
    }
    let mut any = imported::write(out, labels, filter, request)?;
    // What a launcher measured from outside is of no one process.
    let is_recorded = |p: &u32| !labels.frames().processes[*p as usize].info.is_launcher;
    for process in (0..processes).filter(is_recorded).filter(|&p| filter.takes_process(p)) {
        let pid = labels.frames().processes[process as usize].info.pid;
        any |= one_result(out, labels, &filter.within_process(process), request, Prefix(pid), hidden)?;
    }
    Ok(any)
}

fn one_result(
    out: &mut dyn Write,
    labels: &Labels,
    filter: &Filter,
    request: &Request,
    prefix: Prefix,
    hidden: &mut Vec<Note>,
) -> Result<bool> {
    match request.what {
        ReportKind::Summary { gpu, api, openacc, openmp } => {
            summary(out, labels, filter, request, prefix, [gpu, api, openacc, openmp], hidden)
        }
        ReportKind::PerGpu => per_device(out, labels, filter, request, prefix, hidden),
        ReportKind::Trace { gpu, api } => listing_of(out, labels, filter, request, prefix, [gpu, api], hidden),
        ReportKind::OpenaccTrace => {
            let regions = listing::openacc_regions(labels.frames(), filter)?;
            let unified = listing::uvm_in_order(labels.frames(), filter)?;
            Message::Result.write(out, prefix).map_err(failed)?;
            nvprof::openacc::trace(out, &regions, &unified, labels, &request.options).map_err(failed)?;
            Ok(!regions.is_empty() || !unified.is_empty())
        }
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::output(&error)
}

fn summary(
    out: &mut dyn Write,
    labels: &Labels,
    filter: &Filter,
    request: &Request,
    prefix: Prefix,
    [gpu, api, openacc, openmp]: [bool; 4],
    hidden: &mut Vec<Note>,
) -> Result<bool> {
    let none = Wanted::default();
    let gpu_summary = |filter: &Filter| grouping::gpu_summary(labels, request.grouping, none, filter);
    let mut gpu_rows = if gpu { gpu_summary(filter)? } else { Summary::default() };
    if labels.as_nvprof() && without_length(&gpu_rows) {
        let all = records(&gpu_rows);
        gpu_rows = gpu_summary(&filter.clone().without_instants())?;
        hidden.push(invalid_records(all - records(&gpu_rows)));
    }
    let by_process = request.grouping.split.process;
    let api_rows = if api { grouping::api_summary(labels, by_process, none, filter)? } else { Summary::default() };
    let regions = if openacc { listing::openacc_regions(labels.frames(), filter)? } else { Vec::new() };
    let inclusive = request.openacc_inclusive;
    let openacc_rows = nvprof::openacc::summary(&regions, labels, inclusive);
    let totals = [gpu_rows.total_ns(), api_rows.total_ns(), openacc_rows.total_ns()];
    let [shown_gpu, shown_api, shown_openacc] =
        [gpu_rows, api_rows, openacc_rows].map(|rows| request.order.rows_of(rows));
    let mut sections = Vec::new();
    if gpu {
        sections.push(Section::gpu(&shown_gpu).of(totals[0]));
    }
    if api {
        sections.push(Section::api(&shown_api).of(totals[1]));
    }
    if openacc {
        // Beside both others it is left out when there is nothing in it.
        let section = if gpu && api {
            Section::openacc(&shown_openacc, inclusive)
        } else {
            Section::openacc_only(&shown_openacc, inclusive)
        };
        sections.push(section.of(totals[2]));
    }
    let openmp_rows = if openmp { grouping::openmp_summary(labels, filter)? } else { Summary::default() };
    let shown_openmp = request.order.apply(&openmp_rows);
    if !shown_openmp.is_empty() {
        sections.push(Section::openmp(&shown_openmp, true).of(openmp_rows.total_ns()));
    }
    let unified = gpu && labels.frames().rows(&tables::UVM) > 0;
    let most = if request.all_ranges { usize::MAX } else { RANGES_UNASKED };
    let ranges = nvtx_sections::sections(labels, filter, most)?;
    let any = sections.iter().any(|s| !s.rows.is_empty()) || unified || ranges.found > 0;
    if !any && ranges.unclosed == 0 && gpu && api {
        Message::NoData.write(out, prefix).map_err(failed)?;
        return Ok(false);
    }
    Message::Result.write(out, prefix).map_err(failed)?;
    nvprof::summary::write(out, &sections, &request.options).map_err(failed)?;
    nvprof::system::write(out, &request.system, labels, prefix, &request.options).map_err(failed)?;
    if unified {
        let events = listing::uvm_events(labels.frames(), filter)?;
        nvprof::uvm::write(out, &UvmProfile::new(&events), labels, prefix, &request.options).map_err(failed)?;
    }
    if ranges.found <= most {
        let tables = Tables { gpu, api, openacc: openacc && !(gpu && api) };
        super::nvtx_text::write(out, &ranges, tables, prefix, &request.options).map_err(failed)?;
    } else {
        hidden.push(Note {
            code: "ranges-left-out",
            text: format!(
                "{} NVTX ranges of different names: their tables are left out; --nvtx prints them, --view nvtx_sum \
                 sums them",
                ranges.found
            ),
        });
    }
    // A million rows take a third of a second to give back, and nobody waits for it.
    rayon::spawn(move || drop([shown_gpu, shown_api, shown_openacc]));
    Ok(any)
}

fn per_device(
    out: &mut dyn Write,
    labels: &Labels,
    filter: &Filter,
    request: &Request,
    prefix: Prefix,
    hidden: &mut Vec<Note>,
) -> Result<bool> {
    let grouping = Grouping { split: Split { device: true, ..Split::default() }, ..request.grouping };
    let by_device = |filter: &Filter| grouping::gpu_by_place(labels, grouping, Wanted::default(), filter);
    let (mut parts, _) = by_device(filter)?;
    if labels.as_nvprof() && parts.iter().any(|(_, summary)| without_length(summary)) {
        let all: u64 = parts.iter().map(|(_, summary)| records(summary)).sum();
        parts = by_device(&filter.clone().without_instants())?.0;
        hidden.push(invalid_records(all - parts.iter().map(|(_, summary)| records(summary)).sum::<u64>()));
    }
    // Devices that did nothing are listed too, as nvprof does.
    let frames = labels.frames();
    let known = frames.devices.iter().map(|(process, row)| frames.device_identity(*process, row.device));
    let mut places: Vec<(u32, u32)> = known.collect();
    places.extend(parts.iter().map(|(place, _)| (place.process, place.device)));
    places.retain(|(process, device)| filter.takes_process(*process) && *device != RanOn::ANY);
    places.sort_unstable();
    places.dedup();
    let empty = Summary::default();
    let of = |&(process, device): &(u32, u32)| {
        let found = parts.iter().find(|(place, _)| (place.process, place.device) == (process, device));
        found.map_or(&empty, |(_, summary)| summary)
    };
    // OpenACC regions stand with the device they ran on, and for nvprof itself with every device; API calls with none.
    let regions = listing::openacc_regions(labels.frames(), filter)?;
    let openacc_of = |&(process, device): &(u32, u32)| {
        let everywhere = labels.as_nvprof();
        let is_there = |r: &OpenaccRegion| everywhere || r.place.is_some_and(|(d, ..)| d == device);
        let here = |r: &&OpenaccRegion| r.process == process && is_there(r);
        let own: Vec<OpenaccRegion> = regions.iter().filter(here).cloned().collect();
        nvprof::openacc::summary(&own, labels, request.openacc_inclusive)
    };
    let shown: Vec<[(Vec<_>, u128); 2]> = places
        .iter()
        .map(|place| {
            let (gpu, openacc) = (of(place), openacc_of(place));
            [(request.order.apply(gpu), gpu.total_ns()), (request.order.apply(&openacc), openacc.total_ns())]
        })
        .collect();
    let sections: Vec<[Section; 2]> = shown
        .iter()
        .map(|[gpu, openacc]| {
            [Section::gpu(&gpu.0).of(gpu.1), Section::openacc(&openacc.0, request.openacc_inclusive).of(openacc.1)]
        })
        .collect();
    let unified = UvmProfile::new(&listing::uvm_events(frames, filter)?);
    let devices: Vec<per_gpu::Device> = places
        .iter()
        .zip(&sections)
        .map(|(&(process, device), sections)| {
            let unified = unified.of_device(process, device);
            per_gpu::Device { process, device, sections, unified }
        })
        .collect();
    Message::Result.write(out, prefix).map_err(failed)?;
    per_gpu::write(out, &devices, labels, prefix, &request.options).map_err(failed)?;
    Ok(!parts.is_empty() || !unified.is_empty())
}

fn listing_of(
    out: &mut dyn Write,
    labels: &Labels,
    filter: &Filter,
    request: &Request,
    prefix: Prefix,
    [gpu, api]: [bool; 2],
    hidden: &mut Vec<Note>,
) -> Result<bool> {
    let frames = labels.frames();
    // The API listing names the kernel that each launch started, so it needs the GPU rows too.
    let mut activities = listing::gpu_activities(frames, filter, true)?;
    let mut calls = if api { listing::api_calls(frames, filter)? } else { Vec::new() };
    let mut markers = if api { markers::markers(frames, filter)? } else { Vec::new() };
    if labels.as_nvprof() {
        let all = activities.len();
        activities.retain(|row| row.duration_ns != Some(0));
        if activities.len() < all {
            hidden.push(invalid_records((all - activities.len()) as u64));
        }
    }
    let launches = if api { trace::Launches::new(&activities, labels) } else { trace::Launches::default() };
    if !gpu {
        activities.retain(|row| matches!(row.what, activity::ActivityKind::Uvm { .. }));
    }
    let limit = request.order.top.unwrap_or(usize::MAX);
    activities.truncate(limit);
    calls.truncate(limit);
    markers.truncate(limit);
    let (gpu_rows, unified) = if gpu { (Some(&activities[..]), &[][..]) } else { (None, &activities[..]) };
    let rows = trace::Rows { gpu: gpu_rows, calls: api.then_some(&calls[..]), unified, markers: &markers };
    Message::Result.write(out, prefix).map_err(failed)?;
    trace::write(out, &rows, &launches, labels, &request.options).map_err(failed)?;
    Ok(!activities.is_empty() || !calls.is_empty() || !markers.is_empty())
}

/// Whether any record of `summary` took no time.
fn without_length(summary: &Summary) -> bool {
    summary.rows.iter().any(|row| row.stats.count > 0 && row.stats.min_ns == 0)
}

fn records(summary: &Summary) -> u64 {
    summary.rows.iter().map(|row| row.stats.count).sum()
}

/// nvprof shows no work of the GPU that took no time, and says so.
fn invalid_records(count: u64) -> Note {
    Note {
        code: INVALID_RECORDS,
        text: format!(
            "{} left out, as nvprof left such out; --demangling on shows everything",
            items(count, "record of GPU work that took 0 ns is", "records of GPU work that took 0 ns are")
        ),
    }
}

/// Code of the note about GPU work of no length.
pub const INVALID_RECORDS: &str = "invalid-records";
