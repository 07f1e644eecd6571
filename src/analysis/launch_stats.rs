//! How GPU work was launched, by name: how long the phases of launches took, how late work began after its call, and how
//! often the host was too late for its stream.
//!
//! A launch is a piece of work whose call returns before the work is done: a kernel, a graph traced whole, and a copy or fill
//! through an asynchronous call or inside a graph. Copies and fills through calls that wait are none. Nothing is cut off at zero: work
//! may begin before its call returns, and where the clocks of host and device disagree even before it began.
//!
//! **Host-bound** is a launch whose call began after all earlier work of the same stream had ended: the stream was empty and waited
//! for the host. The first work of a stream has no earlier work and is left out of the share. Earlier is what began before, whether it is
//! selected or not.
//!
//! **Outliers** are those of Holistic Trace Analysis (`get_cuda_kernel_launch_stats`), which looks at `cudaLaunchKernel`,
//! `cudaLaunchKernelExC`, `cudaMemcpyAsync` and `cudaMemsetAsync` alone.

use super::activity::{ActivityKind, GpuActivity, WORK_TABLES};
use super::call_class::{CallClass, CallClasses};
use super::labels::Labels;
use super::launches::{LaunchTimes, Launches};
use super::listing;
use super::per_process::{each_process, processes_with};
use super::stats::{Signed, Stats, Wanted};
use crate::cupti::operation;
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use rayon::prelude::*;

/// A kernel is short if its call took no longer than this, and longer than the kernel.
pub const SHORT_CALL_NS: i64 = 50_000;

/// A call that takes longer is an outlier.
pub const LONG_CALL_NS: i64 = 50_000;

/// Work that begins later after the end of its call is an outlier.
pub const LONG_DELAY_NS: i64 = 100_000;

/// What was launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// A kernel.
    Kernel,
    /// A graph traced whole.
    Graph,
    /// A copy.
    Memcpy,
    /// A fill.
    Memset,
}

impl What {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            What::Kernel => "kernel",
            What::Graph => "graph",
            What::Memcpy => "memcpy",
            What::Memset => "memset",
        }
    }
}

/// Statistics of launches.
#[derive(Clone, Debug, Default)]
pub struct LaunchStats {
    /// From the start of the call to the end of the later of call and work.
    pub total: Stats,
    /// The calls.
    pub call: Stats,
    /// From the end of the call to the start of the work, where the work waited.
    pub queue: Stats,
    /// The work.
    pub work: Stats,
    /// From the end of the call to the start of the work.
    pub delay: Signed,
    /// From the start of the call to the start of the work.
    pub latency: Signed,
    /// Launches with earlier work in their stream.
    pub followers: u64,
    /// Of these, those whose call began after all of it had ended.
    pub host_bound: u64,
    /// Work that was shorter than its call, which took no longer than [`SHORT_CALL_NS`].
    pub short: u64,
    /// Calls longer than [`LONG_CALL_NS`].
    pub long_calls: u64,
    /// Delays longer than [`LONG_DELAY_NS`].
    pub long_delays: u64,
    /// Work whose call was not recorded, in no other number.
    pub without_call: u64,
    /// Work without valid times, in no other number.
    pub without_times: u64,
}

const QUANTILES: Wanted = Wanted { quantiles: true };

impl LaunchStats {
    /// How many launches.
    pub fn launches(&self) -> u64 {
        self.total.count
    }

    fn add(&mut self, times: &LaunchTimes, call_start_ns: i64, free_ns: Option<i64>) {
        self.total.add(times.total_ns, QUANTILES);
        self.call.add(times.call_ns, QUANTILES);
        if let Some(ns) = times.queue_ns() {
            self.queue.add(ns, QUANTILES);
        }
        self.work.add(times.work_ns, QUANTILES);
        self.delay.add(times.delay_ns);
        self.latency.add(times.latency_ns);
        self.followers += u64::from(free_ns.is_some());
        self.host_bound += u64::from(free_ns.is_some_and(|free_ns| call_start_ns > free_ns));
        self.short += u64::from(times.call_ns <= SHORT_CALL_NS && times.work_ns < times.call_ns);
        self.long_calls += u64::from(times.call_ns > LONG_CALL_NS);
        self.long_delays += u64::from(times.delay_ns > LONG_DELAY_NS);
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: LaunchStats) {
        self.total.merge(other.total);
        self.call.merge(other.call);
        self.queue.merge(other.queue);
        self.work.merge(other.work);
        self.delay.merge(other.delay);
        self.latency.merge(other.latency);
        self.followers += other.followers;
        self.host_bound += other.host_bound;
        self.short += other.short;
        self.long_calls += other.long_calls;
        self.long_delays += other.long_delays;
        self.without_call += other.without_call;
        self.without_times += other.without_times;
    }
}

/// Statistics by name.
struct ByName<'l> {
    groups: Vec<(What, &'l str, LaunchStats)>,
    by_name: HashMap<(What, &'l str), usize>,
    /// Texts are looked at once for each shape, not for each record.
    by_id: HashMap<(What, u32), usize>,
    classes: CallClasses<'l>,
    cursors: Cursors,
}

impl<'l> ByName<'l> {
    fn new(frames: &'l Frames) -> ByName<'l> {
        ByName {
            groups: Vec::new(),
            by_name: HashMap::new(),
            by_id: HashMap::new(),
            classes: CallClasses::new(frames),
            cursors: Cursors::default(),
        }
    }

    fn group(&mut self, what: What, name: &'l str) -> usize {
        *self.by_name.entry((what, name)).or_insert_with(|| {
            self.groups.push((what, name, LaunchStats::default()));
            self.groups.len() - 1
        })
    }

    fn merge(&mut self, other: ByName<'l>) {
        for (what, name, stats) in other.groups {
            let group = self.group(what, name);
            self.groups[group].2.merge(stats);
        }
    }
}

/// The statistics of each name, the one with the most launches first, then by kind and name. `kernel_name` is what the kernel of a
/// launch shape is called.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn launch_stats<'l>(
    labels: &'l Labels,
    filter: &Filter,
    kernel_name: impl Fn(u32) -> &'l str + Sync,
) -> Result<Vec<(What, &'l str, LaunchStats)>> {
    let frames = labels.frames();
    // Ids and streams are of a process, so that calls and work of one are in memory at a time.
    let of_processes = each_process(&processes_with(frames, &WORK_TABLES, filter), |process| {
        of_process(labels, &filter.within_process(process), &kernel_name)
    })?;
    let mut all = ByName::new(frames);
    of_processes.into_iter().for_each(|of| all.merge(of));
    let mut groups = all.groups;
    groups.sort_by(|(what, name, a), (other, other_name, b)| {
        b.launches().cmp(&a.launches()).then_with(|| (what, name).cmp(&(other, other_name)))
    });
    Ok(groups)
}

/// The statistics of the process that `filter` takes.
fn of_process<'l>(
    labels: &'l Labels,
    filter: &Filter,
    kernel_name: impl Fn(u32) -> &'l str + Sync,
) -> Result<ByName<'l>> {
    let frames = labels.frames();
    let launches = Launches::read(frames, filter)?;
    let busy = Streams::read(frames, &filter.whole_processes())?;
    let add = |all: &mut ByName<'l>, work: GpuActivity| {
        let Some((what, id)) = kind(&work.what) else { return };
        let call = launches.call(&work);
        let is_launch = call.is_none_or(|call| match all.classes.of(call.name) {
            CallClass::BlockingCopy => !matches!(what, What::Memcpy | What::Memset),
            _ => true,
        });
        if !is_launch {
            return;
        }
        let group = match all.by_id.get(&(what, id)) {
            Some(&group) => group,
            None => {
                let name = match what {
                    What::Kernel => kernel_name(id),
                    What::Graph => labels.graph(id),
                    What::Memcpy => operation::memcpy_name(id),
                    What::Memset => operation::MEMSET,
                };
                let group = all.group(what, name);
                all.by_id.insert((what, id), group);
                group
            }
        };
        let stats = &mut all.groups[group].2;
        let Some(call) = call else {
            *(if work.duration_ns.is_some() { &mut stats.without_call } else { &mut stats.without_times }) += 1;
            return;
        };
        match LaunchTimes::of(call, &work) {
            Some(times) => stats.add(&times, call.start_ns, busy.free_before(&work, &mut all.cursors)),
            None => stats.without_times += 1,
        }
    };
    let make = || ByName::new(frames);
    listing::fold_work(frames, &WORK_TABLES, filter, make, add, ByName::merge)
}

/// What was launched, and the id that its name depends on.
fn kind(what: &ActivityKind) -> Option<(What, u32)> {
    Some(match what {
        ActivityKind::Kernel { shape } => (What::Kernel, *shape),
        ActivityKind::Graph { graph } => (What::Graph, *graph),
        ActivityKind::Memcpy { kind, .. } => (What::Memcpy, *kind),
        ActivityKind::Memset { .. } => (What::Memset, 0),
        ActivityKind::Uvm { .. } => return None,
    })
}

/// Process, device, context and stream.
type Stream = (u32, u32, u32, u32);

/// Up to when streams had something to do.
struct Streams {
    by_stream: HashMap<Stream, usize>,
    /// Of each stream the starts of its work in order, each with the last end up to there.
    times: Vec<Vec<(i64, i64)>>,
}

/// Where the last work of each stream was found: the next one most often lies right behind it.
#[derive(Default)]
struct Cursors {
    /// The stream that was asked for last, and its number.
    last: Option<(Stream, usize)>,
    /// By the number of the stream.
    at: Vec<usize>,
}

impl Streams {
    /// Of all work with valid times that is selected.
    fn read(frames: &Frames, filter: &Filter) -> Result<Streams> {
        type Times = HashMap<Stream, Vec<(i64, i64)>>;
        let add = |streams: &mut Times, work: GpuActivity| {
            if let Some(ns) = work.duration_ns {
                let times = (work.start_ns, work.start_ns.saturating_add(ns));
                streams.entry(stream(&work)).or_default().push(times);
            }
        };
        let merge = |a: &mut Times, b: Times| {
            b.into_iter().for_each(|(stream, mut times)| a.entry(stream).or_default().append(&mut times));
        };
        let streams = listing::fold_work(frames, &WORK_TABLES, filter, Times::default, add, merge)?;
        let mut by_stream = HashMap::with_capacity(streams.len());
        let mut times = Vec::with_capacity(streams.len());
        for (stream, of_stream) in streams {
            by_stream.insert(stream, times.len());
            times.push(of_stream);
        }
        times.par_iter_mut().for_each(|times| {
            // Pieces of it are in order already, which a stable sort makes use of.
            times.sort();
            let mut latest_ns = i64::MIN;
            for (_, end_ns) in times {
                latest_ns = latest_ns.max(*end_ns);
                *end_ns = latest_ns;
            }
        });
        Ok(Streams { by_stream, times })
    }

    /// When all work had ended that began before `work` in its stream; `None` if there was none.
    fn free_before(&self, work: &GpuActivity, cursors: &mut Cursors) -> Option<i64> {
        let stream = stream(work);
        let number = match cursors.last {
            Some((known, number)) if known == stream => number,
            _ => *self.by_stream.get(&stream)?,
        };
        cursors.last = Some((stream, number));
        cursors.at.resize(self.times.len(), 0);
        let cursor = &mut cursors.at[number];
        let times = &self.times[number];
        let is_before = |&(start_ns, _): &(i64, i64)| start_ns < work.start_ns;
        // From where the last one was found, in steps that double, then between the last two of them.
        let (mut from, mut step) = (if times.get(*cursor).is_some_and(is_before) { *cursor } else { 0 }, 1);
        while times.get(from + step).is_some_and(is_before) {
            from += step;
            step *= 2;
        }
        let to = (from + step).min(times.len());
        let earlier = from + times[from..to].partition_point(is_before);
        *cursor = earlier.saturating_sub(1);
        Some(times[earlier.checked_sub(1)?].1)
    }
}

fn stream(work: &GpuActivity) -> Stream {
    (work.process, work.device, work.context, work.stream)
}
