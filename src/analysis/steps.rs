//! Steps of a program: which there are, how long each took, and what the GPU did meanwhile.
//!
//! **Steps are found** for each process by its ranges ([`ranges`]), else by the sequence of kernels that the busiest stream repeats
//! ([`sequence`]). A step of the first kind lasts as long as its range, on the host. One of the second kind lasts from the
//! start of its first kernel to the start of the first kernel of the next step, or, if no step follows or the recording was off in between,
//! to the end of its last kernel.
//!
//! **Busy and idle time** is that between the start and the end of the step, whoever launched the work: on one GPU both add up to the
//! length of the step. Of several GPUs the times are added up. **Counted** is the work that the step launched, or, where the call is not
//! known and for steps by sequence, the work that began in it.
//!
//! **Warm-up** are the first steps for as long as they take more than 1.25 times the median of the second half of all steps, at most
//! the first half; of fewer than four steps none. Statistics are of the steps behind them.

use super::gap_causes::{GapFinder, Windows};
use super::in_time::{self, Call, InTime, Work, WorkKind};
use super::labels::Labels;
use super::per_process::several_at_once;
use super::recent_calls::Remembered;
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::schema::TableSpec;
use trace_format::tables;
use trace_format::tables::column::{any, kernel};

/// What has to be read to find steps and to say what happened in them.
pub static TABLES: [&TableSpec; 7] = [
    &tables::KERNEL,
    &tables::MEMCPY,
    &tables::MEMSET,
    &tables::GRAPH,
    &tables::API,
    &tables::RANGE,
    &tables::CAPTURE,
];

pub mod names;
pub mod ranges;
pub mod sequence;
pub mod slow;

/// How the steps of a process were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Ranges of this name, with `*` for numbers.
    Ranges(String),
    /// The kernels of a stream repeat a sequence.
    Sequence {
        /// The device.
        device: u32,
        /// The stream.
        stream: u32,
        /// Kernels of a regular step.
        period: usize,
    },
    /// Not at all.
    None,
    /// Nobody has looked for a sequence, and no ranges are called like steps.
    OnlyRangesAreLookedFor,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name id of the range; `None` of steps by sequence.
    pub name: Option<u32>,
    /// Start.
    pub from_ns: i64,
    /// End.
    pub to_ns: i64,
    /// Whether it is left out of statistics.
    pub is_warm_up: bool,
    /// Time in which the process had work on a GPU, of its GPUs together.
    pub busy_ns: i64,
    /// Durations of its kernels, added up: of those that run at once, more than the busy time.
    pub kernel_ns: i64,
    /// Kernels, copies, fills and graphs traced whole.
    pub counts: [u64; 4],
}

impl Step {
    /// A step in which nothing happened yet.
    pub fn new(name: Option<u32>, from_ns: i64, to_ns: i64) -> Step {
        Step { name, from_ns, to_ns, is_warm_up: false, busy_ns: 0, kernel_ns: 0, counts: [0; 4] }
    }

    /// How long it took.
    pub fn wall_ns(&self) -> i64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

/// The steps of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessSteps {
    /// The process.
    pub process: u32,
    /// How they were found.
    pub source: Source,
    /// GPUs that it used.
    pub gpus: u32,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Up to this length a step is no warm-up; `None`: too few steps to tell.
    pub warm_up_limit_ns: Option<i64>,
    /// Kernels that no step launched.
    pub kernels_outside: u64,
}

impl ProcessSteps {
    /// Forgets what was measured.
    fn forget(&mut self) {
        (self.gpus, self.kernels_outside) = (0, 0);
        self.steps.iter_mut().for_each(|step| (step.busy_ns, step.counts) = (0, [0; 4]));
    }

    /// The number of steps that are left out of statistics.
    pub fn warm_up(&self) -> usize {
        self.steps.iter().take_while(|step| step.is_warm_up).count()
    }

    /// Time in which no work of the process ran on its GPUs, of all of them together.
    pub fn idle_ns(&self, step: &Step) -> i64 {
        step.wall_ns().saturating_mul(self.gpus.into()).saturating_sub(step.busy_ns)
    }

    /// The step that was open at a moment.
    fn at(&self, ns: i64) -> Option<usize> {
        let at = self.steps.partition_point(|step| step.from_ns <= ns).checked_sub(1)?;
        (ns < self.steps[at].to_ns).then_some(at)
    }

    /// The step that a piece of work counts for.
    fn of_work(&self, work: &Work, launch: Option<Remembered>) -> Option<usize> {
        match (&self.source, launch) {
            (Source::Ranges(_), Some(launch)) => self.at(launch.start_ns),
            _ => self.at(work.start_ns),
        }
    }

    /// Calls `each(step, ns)` for what of a stretch of time lies in which step.
    fn spread(&self, from_ns: i64, to_ns: i64, mut each: impl FnMut(usize, i64)) {
        let first = self.steps.partition_point(|step| step.to_ns <= from_ns);
        for (at, step) in self.steps.iter().enumerate().skip(first) {
            let ns = to_ns.min(step.to_ns).saturating_sub(from_ns.max(step.from_ns));
            if step.from_ns >= to_ns {
                break;
            }
            if ns > 0 {
                each(at, ns);
            }
        }
    }
}

/// Steps of every process that has work on a GPU or steps, in order of processes.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn steps(labels: &Labels, filter: &Filter) -> Result<Vec<ProcessSteps>> {
    let frames = labels.frames();
    let (mut found, unnamed) = by_ranges(labels, filter)?;
    by_sequence(frames, filter, &mut found)?;
    let mut found = measured(frames, filter, found)?;
    // Ranges that are not called like steps are none if most kernels are launched outside of them.
    let before = found.len();
    found.retain(|process, steps| {
        let inside: u64 = steps.steps.iter().map(|step| step.counts[0]).sum();
        !unnamed.contains(process) || inside > steps.kernels_outside
    });
    if found.len() < before {
        by_sequence(frames, filter, &mut found)?;
        found.values_mut().for_each(ProcessSteps::forget);
        found = measured(frames, filter, found)?;
    }
    let mut all: Vec<ProcessSteps> = found.into_values().collect();
    all.iter_mut().for_each(mark_warm_up);
    Ok(all)
}

/// What the GPUs did in the steps of each process.
fn measured(
    frames: &Frames,
    filter: &Filter,
    found: BTreeMap<u32, ProcessSteps>,
) -> Result<BTreeMap<u32, ProcessSteps>> {
    let measured = several_at_once(found.into_iter().collect(), |(process, steps)| {
        let filter = filter.within_process(process);
        let mut pass = Pass { finder: GapFinder::new(frames, &filter)?, steps, busy: BTreeMap::new() };
        in_time::visit(frames, &filter, &mut pass)?;
        let Pass { mut steps, busy, .. } = pass;
        for (from_ns, to_ns) in busy.into_values() {
            steps.gpus += 1;
            add_busy(&mut steps, from_ns, to_ns);
        }
        Ok((process, steps))
    })?;
    Ok(measured.into_iter().collect())
}

impl ProcessSteps {
    /// Steps that nothing was measured of yet.
    pub fn new(process: u32, source: Source, steps: Vec<Step>) -> ProcessSteps {
        ProcessSteps { process, source, gpus: 0, steps, warm_up_limit_ns: None, kernels_outside: 0 }
    }
}

/// Steps by ranges, and the processes whose ranges are not called like steps.
fn by_ranges(labels: &Labels, filter: &Filter) -> Result<(BTreeMap<u32, ProcessSteps>, BTreeSet<u32>)> {
    let all = super::ranges::ranges(labels.frames(), filter)?;
    let (mut found, mut unnamed) = (BTreeMap::new(), BTreeSet::new());
    for (process, ranges) in ranges::step_ranges(|name| labels.text(name), &all) {
        let of_range = |&at: &usize| Some(Step::new(Some(all[at].name), all[at].start_ns, all[at].end_ns?));
        let steps = ranges.ranges.iter().filter_map(of_range).collect();
        if !ranges.is_named {
            unnamed.insert(process);
        }
        found.insert(process, ProcessSteps::new(process, Source::Ranges(ranges.name), steps));
    }
    Ok((found, unnamed))
}

/// A stream: process, device, stream.
type Stream = (u32, u32, u32);

/// Finds steps by sequence for processes with work that have none by ranges.
fn by_sequence(frames: &Frames, filter: &Filter, found: &mut BTreeMap<u32, ProcessSteps>) -> Result<()> {
    let counts = frames.fold(
        &tables::KERNEL,
        &[any::DURATION_NS, any::DEVICE, any::STREAM],
        filter,
        HashMap::new,
        |counts: &mut HashMap<Stream, u64>, batch| {
            let duration = batch.get(any::DURATION_NS);
            let place = [any::DEVICE, any::STREAM].map(|column| batch.get(column));
            batch.for_each_row(|i| {
                if duration.get(i).is_some() {
                    let [device, stream] = place.map(|column| column.get(i).unwrap_or(0));
                    *counts.entry((batch.process, device, stream)).or_default() += 1;
                }
            });
        },
        |a, b| b.into_iter().for_each(|(stream, count)| *a.entry(stream).or_default() += count),
    )?;
    let mut busiest: BTreeMap<u32, (u64, Stream)> = BTreeMap::new();
    for (stream, count) in counts {
        let best = busiest.entry(stream.0).or_insert((count, stream));
        if (count, std::cmp::Reverse(stream)) > (best.0, std::cmp::Reverse(best.1)) {
            *best = (count, stream);
        }
    }
    busiest.retain(|process, _| !found.contains_key(process));
    let streams: BTreeSet<Stream> = busiest.values().map(|(_, stream)| *stream).collect();
    let windows = Windows::read(frames, filter)?;
    let of_stream = |((process, device, stream), mut chain): (Stream, Vec<sequence::Link>)| {
        chain.sort_unstable();
        let repeats = sequence::find(&chain);
        let source = match &repeats {
            Some(repeats) => Source::Sequence { device, stream, period: repeats.period },
            None => Source::None,
        };
        let steps = repeats.map_or_else(Vec::new, |repeats| {
            of_chain(&chain, &repeats.steps, |from_ns, to_ns| windows.was_off(process, from_ns, to_ns))
        });
        Ok((process, ProcessSteps::new(process, source, steps)))
    };
    let chains = chains(frames, filter, &streams)?.into_iter().collect();
    found.extend(several_at_once(chains, of_stream)?);
    // Processes that only copy have no steps, which has to be said too.
    for work in [&tables::MEMCPY, &tables::MEMSET, &tables::GRAPH] {
        for process in frames.processes_with_rows(work) {
            if filter.takes_process(process) {
                found.entry(process).or_insert_with(|| ProcessSteps::new(process, Source::None, Vec::new()));
            }
        }
    }
    Ok(())
}

/// The kernels with valid times of some streams, in no order.
fn chains(
    frames: &Frames,
    filter: &Filter,
    streams: &BTreeSet<Stream>,
) -> Result<BTreeMap<Stream, Vec<sequence::Link>>> {
    if streams.is_empty() {
        return Ok(BTreeMap::new());
    }
    let numbers = frames.kernel_numbers();
    frames.fold(
        &tables::KERNEL,
        &[any::START_NS, any::DURATION_NS, any::DEVICE, any::STREAM, kernel::SHAPE_ID],
        filter,
        BTreeMap::new,
        |chains: &mut BTreeMap<Stream, Vec<sequence::Link>>, batch| {
            let (start, duration) = (batch.get(any::START_NS), batch.get(any::DURATION_NS));
            let [device, stream, shape] =
                [any::DEVICE, any::STREAM, kernel::SHAPE_ID].map(|column| batch.get(column));
            batch.for_each_row(|i| {
                let (Some(start), Some(ns)) = (start.get(i), duration.get(i)) else { return };
                let stream = (batch.process, device.get(i).unwrap_or(0), stream.get(i).unwrap_or(0));
                if streams.contains(&stream) {
                    let start_ns = start.saturating_add(batch.offset_ns);
                    let kernel = shape.get(i).and_then(|shape| numbers.get(shape as usize).copied());
                    chains.entry(stream).or_default().push(sequence::Link {
                        start_ns,
                        end_ns: start_ns.saturating_add(ns),
                        kernel: kernel.unwrap_or(u32::MAX),
                    });
                }
            });
        },
        |a, b| b.into_iter().for_each(|(stream, mut chain)| a.entry(stream).or_default().append(&mut chain)),
    )
}

/// Steps in time, of steps as parts of a chain. `was_off` says whether the recording was off between two moments: a step does not last
/// over such a time, and what it had begun before is none.
fn of_chain(chain: &[sequence::Link], parts: &[(usize, usize)], was_off: impl Fn(i64, i64) -> bool) -> Vec<Step> {
    let next = parts.iter().skip(1).map(Some).chain([None]);
    let timed = parts.iter().zip(next).filter_map(|(&(from, to), next)| {
        let from_ns = chain[from].start_ns;
        let end_ns = chain[from..to].iter().map(|link| link.end_ns).max()?;
        let next_ns = next.filter(|next| next.0 == to).map(|_| chain[to].start_ns);
        let to_ns = next_ns.filter(|&next_ns| !was_off(end_ns, next_ns)).unwrap_or(end_ns);
        (!was_off(from_ns, end_ns)).then(|| Step::new(None, from_ns, to_ns))
    });
    timed.collect()
}

/// The second pass over everything of a process: what the GPUs did.
struct Pass<'a> {
    finder: GapFinder<'a>,
    steps: ProcessSteps,
    /// By device, the stretch of work without a gap that was seen last.
    busy: BTreeMap<u32, (i64, i64)>,
}

impl InTime for Pass<'_> {
    fn call(&mut self, call: &Call) {
        self.finder.call(call);
    }

    fn work(&mut self, work: &Work) {
        let launch = self.finder.work(work).launch;
        let process = &mut self.steps;
        let kind = match work.kind {
            WorkKind::Kernel(_) => 0,
            WorkKind::Memcpy { .. } => 1,
            WorkKind::Memset => 2,
            WorkKind::Graph(_) => 3,
        };
        match process.of_work(work, launch) {
            Some(step) => {
                let step = &mut process.steps[step];
                step.counts[kind] += 1;
                if kind == 0 {
                    step.kernel_ns = step.kernel_ns.saturating_add(work.duration_ns());
                }
            }
            None => process.kernels_outside += u64::from(kind == 0),
        }
        let now = (work.start_ns, work.end_ns);
        let busy = self.busy.entry(work.device).or_insert(now);
        if work.start_ns <= busy.1 {
            busy.1 = busy.1.max(work.end_ns);
        } else {
            let (from_ns, to_ns) = std::mem::replace(busy, now);
            add_busy(process, from_ns, to_ns);
        }
    }
}

fn add_busy(process: &mut ProcessSteps, from_ns: i64, to_ns: i64) {
    let mut parts = Vec::new();
    process.spread(from_ns, to_ns, |step, ns| parts.push((step, ns)));
    for (step, ns) in parts {
        let busy_ns = &mut process.steps[step].busy_ns;
        *busy_ns = busy_ns.saturating_add(ns);
    }
}

/// Fewer steps are too few to tell a warm-up.
const LEAST_FOR_WARM_UP: usize = 4;

/// Marks the steps that are left out of statistics.
pub fn mark_warm_up(process: &mut ProcessSteps) {
    let steps = &mut process.steps;
    if steps.len() < LEAST_FOR_WARM_UP {
        return;
    }
    let half = steps.len() / 2;
    let mut walls: Vec<i64> = steps[half..].iter().map(Step::wall_ns).collect();
    let middle = (walls.len() - 1) / 2;
    let median_ns = *walls.select_nth_unstable(middle).1;
    let limit_ns = median_ns.saturating_add(median_ns / 4);
    let slow = steps.iter().take_while(|step| step.wall_ns() > limit_ns).count();
    steps.iter_mut().take(slow.min(half)).for_each(|step| step.is_warm_up = true);
    process.warm_up_limit_ns = Some(limit_ns);
}
