//! Which call launched which GPU work, and from where in the program.

use super::activity::{ActivityKind, GpuActivity};
use super::by_correlation::ByCorrelation;
use super::labels::Labels;
use super::ranges::{Range, Span, credit, ranges};
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use trace_format::tables;
use trace_format::tables::column::{any, api, context, thread};

/// A call that may have launched work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchCall {
    /// Start: Unix nanoseconds where the trace has an epoch, else relative.
    pub start_ns: i64,
    /// Duration.
    pub duration_ns: i64,
    /// Correlation id in its process.
    pub correlation: u64,
    /// Ordinal of the process.
    pub process: u32,
    /// Thread id.
    pub tid: u32,
    /// Name id, version suffix included.
    pub name: u32,
    /// 0 runtime, 1 driver.
    domain: u32,
}

impl LaunchCall {
    /// When it returned.
    pub fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add(self.duration_ns)
    }

    /// The order of calls with one correlation id.
    fn order(&self) -> (i64, i64, u32, u32, u32) {
        (self.start_ns, self.duration_ns, self.tid, self.domain, self.name)
    }
}

/// All calls of the traces that have valid times, found by what they launched.
pub struct Launches {
    /// In no order.
    calls: Vec<LaunchCall>,
    by_correlation: ByCorrelation,
}

impl Launches {
    /// Reads all calls of the selected processes, not the selected ones alone: a filter chooses GPU work, its call may lie outside.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn read(frames: &Frames, filter: &Filter) -> Result<Launches> {
        let calls = frames.fold(
            &tables::API,
            &[api::START_NS, api::DURATION_NS, api::TID, api::CORRELATION, api::NAME_ID, api::DOMAIN],
            &filter.whole_processes(),
            Vec::new,
            |calls: &mut Vec<LaunchCall>, batch| {
                let (start, duration) = (batch.get(any::START_NS), batch.get(any::DURATION_NS));
                let (tid, name, domain) = (batch.get(any::TID), batch.get(any::NAME_ID), batch.get(api::DOMAIN));
                let correlation = batch.get(any::CORRELATION);
                batch.for_each_row(|i| {
                    let id = correlation.get(i).filter(|&id| id != 0);
                    let (Some(correlation), Some(duration_ns)) = (id, duration.get(i)) else { return };
                    calls.push(LaunchCall {
                        start_ns: start.get(i).unwrap_or(0).saturating_add(batch.offset_ns),
                        duration_ns,
                        correlation,
                        process: batch.process,
                        tid: tid.get(i).unwrap_or(0),
                        name: name.get(i).unwrap_or(0),
                        domain: domain.get(i).unwrap_or(0),
                    });
                });
            },
            |a, mut b| a.append(&mut b),
        )?;
        // Of several calls with one id the first is the one the program made; the others were made by it.
        let precedes = |a: u32, b: u32| calls[a as usize].order() < calls[b as usize].order();
        let keys = calls.iter().map(|call| (call.process, call.correlation));
        let by_correlation = ByCorrelation::new(keys, precedes);
        Ok(Launches { calls, by_correlation })
    }

    /// The call that launched `work`; `None` if it was not recorded. Ids are unique within a process only.
    pub fn call(&self, work: &GpuActivity) -> Option<&LaunchCall> {
        self.call_of(work.process, work.correlation)
    }

    /// The call with this correlation id.
    pub fn call_of(&self, process: u32, correlation: u64) -> Option<&LaunchCall> {
        Some(&self.calls[self.by_correlation.get(process, correlation)? as usize])
    }
}

/// How long the phases of a launch took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchTimes {
    /// The work's duration.
    pub work_ns: i64,
    /// The call's duration.
    pub call_ns: i64,
    /// From the end of the call to the start of the work; negative where the work began before the call returned.
    pub delay_ns: i64,
    /// From the start of the call to the start of the work; negative only where the clocks of host and device disagree.
    pub latency_ns: i64,
    /// From the start of the call to the end of the later of the two: phases overlap, so this is no sum of them.
    pub total_ns: i64,
}

impl LaunchTimes {
    /// Of `work` that `call` launched; `None` if the work has no valid times.
    pub fn of(call: &LaunchCall, work: &GpuActivity) -> Option<LaunchTimes> {
        let (work_ns, call_ns) = (work.duration_ns?, call.duration_ns);
        let call_end = call.end_ns();
        let work_end = work.start_ns.saturating_add(work_ns);
        Some(LaunchTimes {
            work_ns,
            call_ns,
            delay_ns: work.start_ns.saturating_sub(call_end),
            latency_ns: work.start_ns.saturating_sub(call.start_ns),
            total_ns: call_end.max(work_end).saturating_sub(call.start_ns),
        })
    }

    /// The delay as nsys has it: `None` where the work did not wait after the call.
    pub fn queue_ns(&self) -> Option<i64> {
        (self.delay_ns > 0).then_some(self.delay_ns)
    }
}

/// One kernel with its call.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelLaunch<'a> {
    /// The kernel.
    pub kernel: &'a GpuActivity,
    /// Its launch shape.
    pub shape: u32,
    /// The call.
    pub call: &'a LaunchCall,
    /// How long its phases took.
    pub times: LaunchTimes,
}

/// The launch of `work`, if it is a kernel with valid times and its call is known.
pub fn kernel_launch<'a>(launches: &'a Launches, work: &'a GpuActivity) -> Option<KernelLaunch<'a>> {
    let ActivityKind::Kernel { shape } = work.what else { return None };
    let call = launches.call(work)?;
    Some(KernelLaunch { kernel: work, shape, call, times: LaunchTimes::of(call, work)? })
}

/// Calls `each(range, work)`, with indices, for every range that was open on the thread of the call that launched
/// the work, from the outermost to the innermost. `key` gives the process and the correlation id of a piece of work.
pub fn credit_work<T>(
    launches: &Launches,
    ranges: &[Range],
    work: &[T],
    key: impl Fn(&T) -> (u32, u64),
    mut each: impl FnMut(usize, usize),
) {
    if ranges.is_empty() {
        return;
    }
    let mut owners = Vec::with_capacity(work.len());
    let mut spans = Vec::with_capacity(work.len());
    for (i, work) in work.iter().enumerate() {
        let (process, correlation) = key(work);
        let Some(call) = launches.call_of(process, correlation) else { continue };
        owners.push(i);
        spans.push(Span { process, tid: call.tid, start_ns: call.start_ns, end_ns: call.end_ns() });
    }
    credit(ranges, &spans, |range, span| each(range, owners[span]));
}

/// For each of `work` the text of the innermost range that its call was made in, `None` outside all ranges.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn innermost_ranges(labels: &Labels, work: &[GpuActivity]) -> Result<Vec<Option<String>>> {
    let frames = labels.frames();
    let launches = Launches::read(frames, &Filter::everything())?;
    let ranges = ranges(frames, &Filter::everything())?;
    let mut innermost = vec![None; work.len()];
    let key = |work: &GpuActivity| (work.process, work.correlation);
    credit_work(&launches, &ranges, work, key, |range, i| innermost[i] = Some(range));
    let text = |range: usize| {
        let Range { domain, name, .. } = ranges[range];
        match domain {
            0 => labels.text(name).to_owned(),
            _ => format!("{}:{}", labels.text(domain), labels.text(name)),
        }
    };
    Ok(innermost.into_iter().map(|range| range.map(text)).collect())
}

/// Name ids of threads, by process and thread id.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn thread_names(frames: &Frames) -> Result<HashMap<(u32, u32), u32>> {
    frames.fold(
        &tables::THREAD,
        &[thread::TID, thread::NAME_ID],
        &Filter::everything(),
        HashMap::new,
        |names: &mut HashMap<(u32, u32), u32>, batch| {
            let (tid, name) = (batch.get(thread::TID), batch.get(thread::NAME_ID));
            batch.for_each_row(|i| {
                if let (Some(tid), Some(name)) = (tid.get(i), name.get(i)) {
                    keep_larger(names, (batch.process, tid), name);
                }
            });
        },
        |a, b| b.into_iter().for_each(|(thread, name)| keep_larger(a, thread, name)),
    )
}

/// Of several names of one thread the one that was met last, so that the order of batches does not matter.
fn keep_larger(names: &mut HashMap<(u32, u32), u32>, thread: (u32, u32), name: u32) {
    let known = names.entry(thread).or_insert(name);
    *known = name.max(*known);
}

/// Parents of green contexts, by process and context.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn green_contexts(frames: &Frames) -> Result<HashMap<(u32, u32), u32>> {
    frames.fold(
        &tables::CONTEXT,
        &[context::CONTEXT, context::PARENT_CONTEXT],
        &Filter::everything(),
        HashMap::new,
        |parents: &mut HashMap<(u32, u32), u32>, batch| {
            let (context, parent) = (batch.get(context::CONTEXT), batch.get(context::PARENT_CONTEXT));
            batch.for_each_row(|i| {
                if let (Some(context), Some(parent)) = (context.get(i), parent.get(i)) {
                    keep_larger(parents, (batch.process, context), parent);
                }
            });
        },
        |a, b| b.into_iter().for_each(|(context, parent)| keep_larger(a, context, parent)),
    )
}
