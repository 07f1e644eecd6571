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

use super::activity::{ActivityKind, GpuActivity};
use super::call_class::{CallClass, CallClasses};
use super::labels::Labels;
use super::launches::{LaunchTimes, Launches};
use super::listing;
use super::stats::{Signed, Stats, Wanted};
use crate::cupti::operation;
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use rayon::prelude::*;
use trace_format::tables;
use trace_format::tables::column::any;

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

/// The statistics of each name, the one with the most launches first, then by kind and name. `kernel_name` is what the kernel of a
/// launch shape is called.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn launch_stats<'l>(
    labels: &'l Labels,
    filter: &Filter,
    kernel_name: impl Fn(u32) -> &'l str,
) -> Result<Vec<(What, &'l str, LaunchStats)>> {
    let frames = labels.frames();
    let launches = Launches::read(frames)?;
    let busy = Streams::read(frames)?;
    let mut classes = CallClasses::new(frames);
    let mut groups: Vec<(What, &str, LaunchStats)> = Vec::new();
    let mut by_name: HashMap<(What, &str), usize> = HashMap::new();
    // Texts are looked at once for each shape, not for each record.
    let mut by_id: HashMap<(What, u32), usize> = HashMap::new();
    for work in &listing::gpu_activities(frames, filter, false)? {
        let Some((what, id)) = kind(&work.what) else { continue };
        let call = launches.call(work);
        let is_launch = call.is_none_or(|call| match classes.of(call.name) {
            CallClass::BlockingCopy => !matches!(what, What::Memcpy | What::Memset),
            _ => true,
        });
        if !is_launch {
            continue;
        }
        let group = *by_id.entry((what, id)).or_insert_with(|| {
            let name = match what {
                What::Kernel => kernel_name(id),
                What::Graph => labels.graph(id),
                What::Memcpy => operation::memcpy_name(id),
                What::Memset => operation::MEMSET,
            };
            *by_name.entry((what, name)).or_insert_with(|| {
                groups.push((what, name, LaunchStats::default()));
                groups.len() - 1
            })
        });
        let stats = &mut groups[group].2;
        let Some(call) = call else {
            *(if work.duration_ns.is_some() { &mut stats.without_call } else { &mut stats.without_times }) += 1;
            continue;
        };
        match LaunchTimes::of(call, work) {
            Some(times) => stats.add(&times, call.start_ns, busy.free_before(work)),
            None => stats.without_times += 1,
        }
    }
    groups.sort_by(|(what, name, a), (other, other_name, b)| {
        b.launches().cmp(&a.launches()).then_with(|| (what, name).cmp(&(other, other_name)))
    });
    Ok(groups)
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
struct Streams(HashMap<Stream, Vec<(i64, i64)>>);

impl Streams {
    /// Of all work with valid times.
    fn read(frames: &Frames) -> Result<Streams> {
        let everything = Filter::everything();
        let mut streams: HashMap<Stream, Vec<(i64, i64)>> = HashMap::new();
        for table in [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET] {
            let of_table = frames.fold(
                table,
                &[any::START_NS, any::DURATION_NS, any::DEVICE, any::CONTEXT, any::STREAM],
                &everything,
                HashMap::new,
                |streams: &mut HashMap<Stream, Vec<(i64, i64)>>, batch| {
                    let (start, duration) = (batch.get(any::START_NS), batch.get(any::DURATION_NS));
                    let place = [any::DEVICE, any::CONTEXT, any::STREAM].map(|column| batch.get(column));
                    batch.for_each_row(|i| {
                        let (Some(start), Some(ns)) = (start.get(i), duration.get(i)) else { return };
                        let [device, context, stream] = place.map(|column| column.get(i).unwrap_or(0));
                        let start_ns = start.saturating_add(batch.offset_ns);
                        let times = (start_ns, start_ns.saturating_add(ns));
                        streams.entry((batch.process, device, context, stream)).or_default().push(times);
                    });
                },
                |a, b| {
                    b.into_iter().for_each(|(stream, mut times)| a.entry(stream).or_default().append(&mut times))
                },
            )?;
            for (stream, mut times) in of_table {
                streams.entry(stream).or_default().append(&mut times);
            }
        }
        for graph in listing::whole_graphs(frames, &everything)? {
            if let Some(ns) = graph.duration_ns {
                let times = (graph.start_ns, graph.start_ns.saturating_add(ns));
                streams.entry(stream(&graph)).or_default().push(times);
            }
        }
        streams.par_iter_mut().for_each(|(_, times)| {
            times.sort_unstable();
            let mut latest_ns = i64::MIN;
            for (_, end_ns) in times {
                latest_ns = latest_ns.max(*end_ns);
                *end_ns = latest_ns;
            }
        });
        Ok(Streams(streams))
    }

    /// When all work had ended that began before `work` in its stream; `None` if there was none.
    fn free_before(&self, work: &GpuActivity) -> Option<i64> {
        let times = self.0.get(&stream(work))?;
        let earlier = times.partition_point(|&(start_ns, _)| start_ns < work.start_ns);
        Some(times[earlier.checked_sub(1)?].1)
    }
}

fn stream(work: &GpuActivity) -> Stream {
    (work.process, work.device, work.context, work.stream)
}
