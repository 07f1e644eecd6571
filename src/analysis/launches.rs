//! Which call launched which GPU work, and from where in the program.

use super::activity::{ActivityKind, ApiCall, GpuActivity};
use super::labels::Labels;
use super::listing;
use super::ranges::{Range, Span, credit, ranges};
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use trace_format::tables;
use trace_format::tables::column::{context, thread};

/// All calls of the traces, found by what they launched.
pub struct Launches {
    calls: Vec<ApiCall>,
    by_correlation: HashMap<(u32, u64), u32>,
}

impl Launches {
    /// Reads all calls, not the selected ones alone: a filter chooses GPU work, its call may lie outside.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn read(frames: &Frames) -> Result<Launches> {
        let calls = listing::api_calls(frames, &Filter::everything())?;
        let mut by_correlation = HashMap::with_capacity(calls.len());
        for (i, call) in calls.iter().enumerate() {
            if call.correlation != 0 && call.duration_ns.is_some() {
                // Of several calls with one id the first is the one the program made; the others were made by it.
                by_correlation.entry((call.process, call.correlation)).or_insert(i as u32);
            }
        }
        Ok(Launches { calls, by_correlation })
    }

    /// The call that launched `work`; `None` if it was not recorded. Ids are unique within a process only.
    pub fn call(&self, work: &GpuActivity) -> Option<&ApiCall> {
        let index = *self.by_correlation.get(&(work.process, work.correlation))?;
        Some(&self.calls[index as usize])
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
    /// Of `work` that `call` launched; `None` if one of them has no valid times.
    pub fn of(call: &ApiCall, work: &GpuActivity) -> Option<LaunchTimes> {
        let (work_ns, call_ns) = (work.duration_ns?, call.duration_ns?);
        let call_end = call.start_ns.saturating_add(call_ns);
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
    pub call: &'a ApiCall,
    /// How long its phases took.
    pub times: LaunchTimes,
}

/// Kernels of `work` whose call is known, in the order of `work`.
pub fn kernel_launches<'a>(launches: &'a Launches, work: &'a [GpuActivity]) -> Vec<KernelLaunch<'a>> {
    let launch = |kernel: &'a GpuActivity| {
        let ActivityKind::Kernel { shape } = kernel.what else { return None };
        let call = launches.call(kernel)?;
        Some(KernelLaunch { kernel, shape, call, times: LaunchTimes::of(call, kernel)? })
    };
    work.iter().filter_map(launch).collect()
}

/// Calls `each(range, work)`, with indices, for every range that was open on the thread of the call that launched
/// the work, from the outermost to the innermost.
pub fn credit_work(
    launches: &Launches,
    ranges: &[Range],
    work: &[GpuActivity],
    mut each: impl FnMut(usize, usize),
) {
    let mut owners = Vec::new();
    let mut spans = Vec::new();
    for (i, activity) in work.iter().enumerate() {
        let Some((call, ns)) = launches.call(activity).and_then(|call| Some((call, call.duration_ns?))) else {
            continue;
        };
        owners.push(i);
        let end_ns = call.start_ns.saturating_add(ns);
        spans.push(Span { process: call.process, tid: call.tid, start_ns: call.start_ns, end_ns });
    }
    credit(ranges, &spans, |range, span| each(range, owners[span]));
}

/// For each of `work` the text of the innermost range that its call was made in, `None` outside all ranges.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn innermost_ranges(labels: &Labels, work: &[GpuActivity]) -> Result<Vec<Option<String>>> {
    let frames = labels.frames();
    let launches = Launches::read(frames)?;
    let ranges = ranges(frames, &Filter::everything())?;
    let mut innermost = vec![None; work.len()];
    credit_work(&launches, &ranges, work, |range, i| innermost[i] = Some(range));
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
