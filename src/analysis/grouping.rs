//! Summaries by name, and by whatever else the user groups by.

use super::activity::{ActivityKind, GpuActivity};
use super::estimate;
use super::labels::Labels;
use super::listing;
use super::merged::Merged;
use super::stats::{Stats, Wanted};
use super::summary::{Summary, SummaryRow};
use super::totals::{Group, RanOn, Split, Totals, kernel_totals, totals};
use crate::cupti::operation;
use crate::error::{Error, Result};
use crate::trace::select::Filter;
use hashbrown::HashMap;
use std::borrow::Cow;
use trace_format::tables;
use trace_format::tables::column::{api, kernel, memcpy, openmp};

/// What of a kernel's identity makes separate groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByName {
    /// Nothing: all kernels of a place together.
    No,
    /// The full name.
    #[default]
    Name,
    /// The name without namespaces and arguments.
    BaseName,
    /// The full name and the launch's grid and block.
    Grid,
}

/// What makes separate groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grouping {
    /// Which part of the name makes a group.
    pub name: ByName,
    /// Which part of the place makes a group.
    pub split: Split,
}

impl std::str::FromStr for Grouping {
    type Err = Error;

    /// Reads `name`, `base-name`, `grid`, `stream`, `device`, `process`, or several with commas.
    fn from_str(text: &str) -> Result<Grouping> {
        let mut grouping = Grouping { name: ByName::No, split: Split::default() };
        for part in text.split(',') {
            match part.trim() {
                "name" => grouping.name = ByName::Name,
                "base-name" => grouping.name = ByName::BaseName,
                "grid" => grouping.name = ByName::Grid,
                "stream" => grouping.split.stream = true,
                "device" => grouping.split.device = true,
                "process" => grouping.split.process = true,
                other => {
                    return Err(Error::new(format!("--group-by: unknown key \"{other}\""))
                        .remedy("known are name, base-name, grid, stream, device, process"));
                }
            }
        }
        Ok(grouping)
    }
}

/// Groups whose printed names are equal become one row of their place.
#[derive(Default)]
struct ByText<'l> {
    rows: Merged<(RanOn, Cow<'l, str>)>,
    invalid: u64,
}

impl<'l> ByText<'l> {
    fn add(
        &mut self,
        totals: Totals,
        place: impl Fn(RanOn) -> RanOn + Sync,
        text: impl Fn(u32) -> Cow<'l, str> + Sync,
    ) {
        self.invalid += totals.invalid;
        self.rows.add(totals.groups, |group| (place(group.place), text(group.key)));
    }

    fn into_parts(self) -> Vec<(RanOn, Summary)> {
        let rows = self.rows.into_rows();
        sorted_parts(rows.into_iter().map(|((place, name), stats)| (place, SummaryRow::new(name, stats))))
    }
}

/// Kernels, copies, fills and graphs traced whole, summed by name within each place that `grouping` keeps apart. Records with impossible
/// times are in no row; the second value counts them.
///
/// # Errors
/// A part of a file that cannot be read.
pub fn gpu_by_place(
    labels: &Labels,
    grouping: Grouping,
    wanted: Wanted,
    filter: &Filter,
) -> Result<(Vec<(RanOn, Summary)>, u64)> {
    let frames = labels.frames();
    let split = grouping.split;
    // Grouped by device alone, the same GPU seen from two processes is one.
    let by_device = split.device && !split.stream && !split.process;
    let place = |place: RanOn| {
        let (process, device) = frames.device_identity(place.process, place.device);
        if by_device { RanOn { process, device, ..place } } else { place }
    };
    let mut all = ByText::default();
    let kernels = if grouping.name == ByName::Grid {
        totals(frames, &tables::KERNEL, Some(kernel::SHAPE_ID), split, wanted, filter)?
    } else {
        kernel_totals(frames, split, wanted, filter)?
    };
    all.add(kernels, place, |shape| kernel_text(labels, grouping.name, shape));
    let copies = totals(frames, &tables::MEMCPY, Some(memcpy::KIND), split, wanted, filter)?;
    let named = |name: &'static str| Cow::Borrowed(if grouping.name == ByName::No { "" } else { name });
    all.add(copies, place, |kind| named(operation::memcpy_name(kind)));
    let fills = totals(frames, &tables::MEMSET, None, split, wanted, filter)?;
    all.add(fills, place, |_| named(operation::MEMSET));
    let mut graphs: HashMap<(RanOn, u32), Stats> = HashMap::new();
    for graph in listing::whole_graphs(frames, filter)? {
        let Some(ns) = graph.duration_ns else {
            all.invalid += 1;
            continue;
        };
        let ActivityKind::Graph { graph: id } = graph.what else { continue };
        let stats = graphs.entry((place_of(&graph, split), id)).or_default();
        match filter.sampling() {
            None => stats.add(ns, wanted),
            Some(sampling) => estimate::add(
                sampling,
                (graph.process, Some(graph.correlation), Some(graph.start_ns)),
                ns,
                stats,
                wanted,
            ),
        }
    }
    let groups = graphs.into_iter().map(|((place, key), stats)| Group { place, key, stats }).collect();
    let named = |id: u32| if grouping.name == ByName::No { "" } else { labels.graph(id) };
    all.add(Totals { groups, invalid: 0 }, place, |id| Cow::Borrowed(named(id)));
    let invalid = all.invalid;
    Ok((all.into_parts(), invalid))
}

/// Where an activity ran, as far as groups are kept apart.
fn place_of(work: &GpuActivity, split: Split) -> RanOn {
    let by_device = split.device || split.stream;
    let part = |wanted: bool, id: u32| if wanted { id } else { RanOn::ANY };
    RanOn {
        process: part(split.process || by_device, work.process),
        device: part(by_device, work.device),
        context: part(split.stream, work.context),
        stream: part(split.stream, work.stream),
    }
}

fn kernel_text<'l>(labels: &'l Labels, by: ByName, shape: u32) -> Cow<'l, str> {
    match by {
        ByName::No => Cow::Borrowed(""),
        ByName::Name => Cow::Borrowed(labels.kernel(shape)),
        ByName::BaseName => Cow::Borrowed(labels.kernel_base(shape)),
        ByName::Grid => Cow::Owned(format!("{} {}", labels.kernel(shape), labels.launch_size(shape))),
    }
}

/// Kernels, copies and fills as one summary; what the rows were split by is part of their names.
///
/// # Errors
/// A part of a file that cannot be read.
pub fn gpu_summary(labels: &Labels, grouping: Grouping, wanted: Wanted, filter: &Filter) -> Result<Summary> {
    let (parts, invalid) = gpu_by_place(labels, grouping, wanted, filter)?;
    Ok(joined(labels, parts, invalid))
}

/// API calls summed by name, runtime and driver together.
///
/// # Errors
/// A part of a file that cannot be read.
pub fn api_summary(labels: &Labels, by_process: bool, wanted: Wanted, filter: &Filter) -> Result<Summary> {
    let (parts, invalid) = api_by_process(labels, by_process, wanted, filter)?;
    Ok(joined(labels, parts, invalid))
}

/// API calls summed by name, for each process apart if `by_process`.
///
/// # Errors
/// A part of a file that cannot be read.
pub fn api_by_process(
    labels: &Labels,
    by_process: bool,
    wanted: Wanted,
    filter: &Filter,
) -> Result<(Vec<(RanOn, Summary)>, u64)> {
    let split = Split { process: by_process, ..Split::default() };
    let mut all = ByText::default();
    let calls = totals(labels.frames(), &tables::API, Some(api::NAME_ID), split, wanted, filter)?;
    if !labels.as_nvprof() {
        all.add(calls, |place| place, |name| Cow::Borrowed(labels.api(name)));
        let invalid = all.invalid;
        return Ok((all.into_parts(), invalid));
    }
    // nvprof has a row for each entry point: `cuLaunchKernel` and its per-thread variant are two of one name.
    let rows = calls.groups.into_iter();
    let parts = sorted_parts(rows.map(|group| (group.place, SummaryRow::new(labels.api(group.key), group.stats))));
    Ok((parts, calls.invalid))
}

/// The summary of each place.
fn sorted_parts(rows: impl ExactSizeIterator<Item = (RanOn, SummaryRow)>) -> Vec<(RanOn, Summary)> {
    let mut parts: Vec<(RanOn, Summary)> = Vec::new();
    let mut index: HashMap<RanOn, usize> = HashMap::new();
    let (mut last, count) = (None, rows.len());
    for (place, row) in rows {
        // Mostly there is one place, of which there can be a million rows.
        let at = match last {
            Some((known, at)) if known == place => at,
            _ => *index.entry(place).or_insert_with(|| {
                let rows = Vec::with_capacity(if parts.is_empty() { count } else { 0 });
                parts.push((place, Summary { rows, invalid: 0 }));
                parts.len() - 1
            }),
        };
        last = Some((place, at));
        parts[at].1.rows.push(row);
    }
    parts.sort_unstable_by_key(|(place, _)| *place);
    parts.iter_mut().for_each(|(_, summary)| summary.sort());
    parts
}

/// OpenMP regions summed by kind, nested ones included, as nvprof sums them.
///
/// # Errors
/// A part of a file that cannot be read.
pub fn openmp_summary(labels: &Labels, filter: &Filter) -> Result<Summary> {
    let mut all = ByText::default();
    let regions =
        totals(labels.frames(), &tables::OPENMP, Some(openmp::KIND), Split::default(), Wanted::default(), filter)?;
    all.add(regions, |place| place, |kind| Cow::Borrowed(operation::openmp_name(kind)));
    let invalid = all.invalid;
    Ok(joined(labels, all.into_parts(), invalid))
}

fn joined(labels: &Labels, mut parts: Vec<(RanOn, Summary)>, invalid: u64) -> Summary {
    if let [(place, summary)] = &mut parts[..]
        && labels.place(*place).is_empty()
    {
        return Summary { rows: std::mem::take(&mut summary.rows), invalid };
    }
    let mut all = Summary { rows: Vec::new(), invalid };
    for (place, summary) in parts {
        let prefix = labels.place(place);
        all.rows.extend(summary.rows.into_iter().map(|row| {
            let name = match (prefix.is_empty(), row.name.is_empty()) {
                (true, _) => row.name,
                (false, true) => prefix.clone(),
                (false, false) => format!("{prefix}: {}", row.name),
            };
            SummaryRow { name, ..row }
        }));
    }
    all.sort();
    all
}
