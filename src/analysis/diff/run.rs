//! What is kept of a trace for comparisons: sums by name, and what tells whether it can be compared at all.

use super::stacks::{self, StackTimes};
use crate::analysis::grouping::{self, ByName, Grouping};
use crate::analysis::labels::Labels;
use crate::analysis::partial;
use crate::analysis::ranges;
use crate::analysis::stats::{Stats, Wanted};
use crate::analysis::steps::names::{is_step, without_numbers};
use crate::analysis::summary::Summary;
use crate::analysis::totals::Split;
use crate::analysis::work_class::is_communication;
use crate::cupti::operation;
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::sink::Need;
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::schema::TableSpec;
use trace_format::tables;
use trace_format::tables::column::any;
use trace_format::vocabulary::{loss_cause, range_style};

/// What makes a row.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The name of kernels, copies and fills.
    #[default]
    Kernel,
    /// The same without namespaces and template arguments.
    BaseName,
    /// Kernels, kernels of communication, and each direction of copies.
    Class,
    /// The stream.
    Stream,
    /// The name of API calls.
    Api,
    /// The name of NVTX ranges and annotations.
    Range,
    /// Steps of the program, by name without numbers.
    Step,
}

impl By {
    /// All of them.
    pub const ALL: [By; 7] = [By::Kernel, By::BaseName, By::Class, By::Stream, By::Api, By::Range, By::Step];

    /// What is compared, as users read it.
    pub fn what(self) -> &'static str {
        match self {
            By::Kernel | By::BaseName | By::Class | By::Stream => "GPU work",
            By::Api => "API calls",
            By::Range => "ranges",
            By::Step => "steps",
        }
    }
}

/// Sums of what shares a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    /// The name.
    pub name: String,
    /// How many.
    pub count: u64,
    /// Durations added up.
    pub total_ns: u64,
    /// The median duration.
    pub median_ns: Option<f64>,
}

/// One run of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The trace, as it was named.
    pub source: String,
    /// Names of the GPUs that did something, one for each, in order.
    pub gpus: Vec<String>,
    /// Processes with GPU work.
    pub processes: u32,
    /// Steps that each process made; 0: unknown.
    pub steps: u64,
    /// From the first start to the last end of GPU work.
    pub span_ns: i64,
    /// Sums by what makes a row.
    pub(super) sums: BTreeMap<By, Vec<Sum>>,
    /// GPU time by stack, if that was asked for. Baselines do not keep it.
    #[serde(skip)]
    pub(super) stacks: StackTimes,
    /// Why the run can be compared with no other.
    pub obstacle: Option<String>,
    /// What of the trace is partial.
    pub notes: Vec<String>,
}

/// How runs are read.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The name of the ranges that are steps; `None`: what is usually called so.
    pub steps: Option<Regex>,
    /// Whether stacks are wanted.
    pub stacks: bool,
}

const WORK: [&TableSpec; 4] = [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH];

/// Of all records, those that may be lost before sums are worth nothing, in percent.
const MOST_LOST_PERCENT: i128 = 1;

impl Run {
    /// What has to be read of traces.
    pub fn need() -> Need {
        let mut need = Need::full(&WORK);
        need.add(&Need::full(&[&tables::API, &tables::RANGE, &tables::LOSS]));
        // Annotations of PyTorch come with its operators.
        Need { operators: true, ..need }
    }

    /// Reads the selected records. `source` is what the run is called in messages.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn of(source: &str, labels: &Labels, filter: &Filter, bys: &[By], options: &RunOptions) -> Result<Run> {
        let frames = labels.frames();
        let mut run = Run {
            source: source.to_owned(),
            gpus: Vec::new(),
            processes: WORK
                .iter()
                .flat_map(|table| frames.processes_with_rows(table))
                .collect::<BTreeSet<_>>()
                .len() as u32,
            steps: 0,
            span_ns: 0,
            sums: BTreeMap::new(),
            stacks: StackTimes::new(),
            obstacle: obstacle(frames)?,
            notes: Vec::new(),
        };
        run.span_ns = span_ns(frames, filter)?;
        let by_device = Grouping { name: ByName::No, split: Split { device: true, ..Split::default() } };
        for (place, _) in grouping::gpu_by_place(labels, by_device, Wanted::default(), filter)?.0 {
            let name = labels.device(place.process, place.device);
            run.gpus.extend((!name.is_empty()).then(|| name.to_owned()));
        }
        run.gpus.sort();
        let (ranges, steps, count) = range_sums(labels, filter, options)?;
        run.steps = count;
        for &by in bys {
            let sums = match by {
                By::Kernel => gpu(labels, ByName::Name, filter)?,
                By::BaseName => gpu(labels, ByName::BaseName, filter)?,
                By::Class => merged(gpu_summary(labels, ByName::Name, filter)?, |name| class(name).to_owned()),
                By::Stream => by_stream(labels, filter)?,
                By::Api => sums(grouping::api_summary(labels, false, QUANTILES, filter)?),
                By::Range => ranges.clone(),
                By::Step => steps.clone(),
            };
            run.sums.insert(by, sums);
        }
        if options.stacks {
            run.stacks = stacks::of_run(labels, filter, options.steps.as_ref())?;
        }
        Ok(run)
    }

    /// Sums by what makes a row; none of what was not asked for.
    pub fn sums_by(&self, by: By) -> &[Sum] {
        self.sums.get(&by).map_or(&[], Vec::as_slice)
    }
}

const QUANTILES: Wanted = Wanted { quantiles: true };

fn gpu_summary(labels: &Labels, name: ByName, filter: &Filter) -> Result<Summary> {
    grouping::gpu_summary(labels, Grouping { name, ..Grouping::default() }, QUANTILES, filter)
}

fn gpu(labels: &Labels, name: ByName, filter: &Filter) -> Result<Vec<Sum>> {
    Ok(sums(gpu_summary(labels, name, filter)?))
}

fn sums(summary: Summary) -> Vec<Sum> {
    summary.rows.into_iter().map(|row| sum(row.name, row.stats)).collect()
}

fn sum(name: String, mut stats: Stats) -> Sum {
    Sum {
        name,
        count: stats.count,
        total_ns: u64::try_from(stats.total_ns).unwrap_or(u64::MAX),
        median_ns: stats.durations.median_times_2().map(|twice| twice as f64 / 2.0),
    }
}

/// Rows that get the same other name become one.
fn merged(summary: Summary, rename: impl Fn(&str) -> String) -> Vec<Sum> {
    let mut all: BTreeMap<String, Stats> = BTreeMap::new();
    for row in summary.rows {
        all.entry(rename(&row.name)).or_default().merge(row.stats);
    }
    all.into_iter().map(|(name, stats)| sum(name, stats)).collect()
}

fn class(name: &str) -> &str {
    if name == operation::MEMSET || name.starts_with("[CUDA memcpy") {
        name
    } else if is_communication(name) {
        "kernels of communication"
    } else {
        "kernels"
    }
}

/// By GPU and stream, and by rank in a run of several: numbers of processes and contexts differ from run to run.
fn by_stream(labels: &Labels, filter: &Filter) -> Result<Vec<Sum>> {
    let grouping = Grouping { name: ByName::No, split: Split { stream: true, ..Split::default() } };
    let (parts, _) = grouping::gpu_by_place(labels, grouping, QUANTILES, filter)?;
    let rank = |process: u32| labels.frames().processes.get(process as usize).and_then(|process| process.info.rank);
    let ranks: BTreeSet<Option<u32>> = parts.iter().map(|(place, _)| rank(place.process)).collect();
    let mut all: BTreeMap<(Option<u32>, u32, u32), Stats> = BTreeMap::new();
    for (place, summary) in parts {
        let rank = rank(place.process).filter(|_| ranks.len() > 1);
        for row in summary.rows {
            all.entry((rank, place.device, place.stream)).or_default().merge(row.stats);
        }
    }
    let named = |((rank, device, stream), stats): ((Option<u32>, u32, u32), Stats)| {
        let of_rank = rank.map_or(String::new(), |rank| format!("rank {rank}, "));
        sum(format!("{of_rank}GPU {device}, stream {stream}"), stats)
    };
    Ok(all.into_iter().map(named).collect())
}

/// From the first start to the last end of selected GPU work.
fn span_ns(frames: &Frames, filter: &Filter) -> Result<i64> {
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    for table in WORK {
        let (start, end) = frames.fold(
            table,
            &[any::START_NS, any::DURATION_NS],
            filter,
            || (i64::MAX, i64::MIN),
            |ends: &mut (i64, i64), batch| {
                let (start, duration) = (batch.get(any::START_NS), batch.get(any::DURATION_NS));
                batch.for_each_row(|i| {
                    let (Some(start), Some(ns)) = (start.get(i), duration.get(i)) else { return };
                    let start = start.saturating_add(batch.offset_ns);
                    *ends = (ends.0.min(start), ends.1.max(start.saturating_add(ns)));
                });
            },
            |a, b| *a = (a.0.min(b.0), a.1.max(b.1)),
        )?;
        (first, last) = (first.min(start), last.max(end));
    }
    Ok(if first <= last { last.saturating_sub(first) } else { 0 })
}

/// Sums of ranges by name and of steps by name without numbers, and how many steps each process made.
fn range_sums(labels: &Labels, filter: &Filter, options: &RunOptions) -> Result<(Vec<Sum>, Vec<Sum>, u64)> {
    let mut by_name: BTreeMap<String, Stats> = BTreeMap::new();
    let mut by_step: BTreeMap<String, Stats> = BTreeMap::new();
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for range in ranges::ranges(labels.frames(), filter)? {
        let Some(ns) = range.duration_ns() else { continue };
        if range.style == range_style::OPERATOR {
            continue;
        }
        let name = labels.text(range.name);
        by_name.entry(name.to_owned()).or_default().add(ns, QUANTILES);
        if is_step(name, options.steps.as_ref()) {
            by_step.entry(without_numbers(name)).or_default().add(ns, QUANTILES);
            *counts.entry(range.process).or_default() += 1;
        }
    }
    let sums = |all: BTreeMap<String, Stats>| all.into_iter().map(|(name, stats)| sum(name, stats)).collect();
    // Processes of one program make the same steps; one that was cut short must not count for all.
    Ok((sums(by_name), sums(by_step), counts.values().copied().max().unwrap_or(0)))
}

/// Why sums of these traces say nothing about another run.
fn obstacle(frames: &Frames) -> Result<Option<String>> {
    if frames.processes.iter().any(|process| process.info.is_sample()) {
        return Ok(Some("only some of its time was recorded (some steps, or what a budget allowed)".into()));
    }
    // Names that are missing are no records that are missing.
    let lost = partial::lost_rows(frames)?.into_iter().filter(|(_, cause, _)| *cause != loss_cause::NAMES_FULL);
    let lost: i128 = lost.map(|(_, _, rows)| i128::from(rows)).sum();
    let recorded: u64 = WORK.iter().chain([&&tables::API]).map(|table| frames.rows(table)).sum();
    let is_too_much = lost * 100 > MOST_LOST_PERCENT * (lost + i128::from(recorded));
    Ok(is_too_much.then(|| format!("{lost} of {} records were lost", lost + i128::from(recorded))))
}
