//! Idle time of streams by what was waited for, in two ways: as Holistic Trace Analysis counts it, and counted right.
//!
//! Both look at each stream by itself, and at the time between a piece of work and the next one:
//!
//! - **host wait**: the call that launched the next one began after the work before it had ended;
//! - **kernel wait**: the gap is shorter than [`KERNEL_WAIT_NS`], which is what the GPU takes from one kernel to the next;
//! - **other**: the next one was launched in time and did not start, for example because it waited for another stream. So is work whose
//!   call is not known.
//!
//! HTA (`get_idle_time_breakdown`, 0.5.0) counts from the end of the piece of work that began before, so that work that overlaps makes gaps
//! below zero, which lower the sum of kernel waits, and a long piece of work beside short ones makes gaps in which the stream was busy. Its limit
//! for kernel waits is documented as 30 ns, but it compares it with microseconds. Here a gap counts from the latest end of all earlier
//! work, there is none below zero, and the limit is what is documented.

use super::call_class::CallClasses;
use super::in_time::{self, Call, InTime, Stream, Work};
use super::recent_calls::RecentCalls;
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;

/// HTA's `consecutive_kernel_delay`, as it is documented.
pub const KERNEL_WAIT_NS: i64 = 30;

/// The same as HTA compares it: its times are microseconds.
const HTA_KERNEL_WAIT_NS: i64 = 30_000;

/// What was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// The host, which launched late.
    Host,
    /// The GPU's own pause between kernels.
    Kernel,
    /// Something else.
    Other,
}

impl Wait {
    /// All of them.
    pub const ALL: [Wait; 3] = [Wait::Host, Wait::Kernel, Wait::Other];

    /// HTA's name.
    pub fn name(self) -> &'static str {
        match self {
            Wait::Host => "host_wait",
            Wait::Kernel => "kernel_wait",
            Wait::Other => "other",
        }
    }

    fn of(launch_ns: Option<i64>, before_ns: i64, start_ns: i64, kernel_wait_ns: i64) -> Wait {
        if launch_ns.is_some_and(|launch_ns| launch_ns > before_ns) {
            Wait::Host
        } else if start_ns.saturating_sub(before_ns) < kernel_wait_ns {
            Wait::Kernel
        } else {
            Wait::Other
        }
    }
}

/// Gaps of one sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// How many.
    pub count: u64,
    /// How long together; of HTA's it can be below zero.
    pub ns: i64,
}

impl Gaps {
    fn add(&mut self, ns: i64) {
        self.count += 1;
        self.ns = self.ns.saturating_add(ns);
    }
}

/// One stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamIdle {
    /// By what was waited for, in the order of [`Wait::ALL`].
    pub gaps: [Gaps; 3],
    /// As HTA counts.
    pub hta: [Gaps; 3],
    /// When its first work began.
    pub first_ns: i64,
    /// When all its work had ended.
    pub last_ns: i64,
    before_ns: i64,
}

/// The idle time of each stream, in order.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn idle_breakdown(frames: &Frames, filter: &Filter) -> Result<Vec<(Stream, StreamIdle)>> {
    struct Pass<'a> {
        classes: CallClasses<'a>,
        calls: RecentCalls,
        streams: HashMap<Stream, StreamIdle>,
    }
    impl InTime for Pass<'_> {
        fn call(&mut self, call: &Call) {
            self.calls.add(call, self.classes.of(call.name));
        }
        fn work(&mut self, work: &Work) {
            let launch_ns = self.calls.launch_of(work).map(|call| call.start_ns);
            let key = (work.process, work.device, work.stream);
            let Some(stream) = self.streams.get_mut(&key) else {
                let (first_ns, last_ns) = (work.start_ns, work.end_ns);
                let none = [Gaps::default(); 3];
                let first = StreamIdle { gaps: none, hta: none, first_ns, last_ns, before_ns: last_ns };
                self.streams.insert(key, first);
                return;
            };
            let hta = Wait::of(launch_ns, stream.before_ns, work.start_ns, HTA_KERNEL_WAIT_NS);
            stream.hta[hta as usize].add(work.start_ns.saturating_sub(stream.before_ns));
            if work.start_ns > stream.last_ns {
                let wait = Wait::of(launch_ns, stream.last_ns, work.start_ns, KERNEL_WAIT_NS);
                stream.gaps[wait as usize].add(work.start_ns.saturating_sub(stream.last_ns));
            }
            stream.before_ns = work.end_ns;
            stream.last_ns = stream.last_ns.max(work.end_ns);
        }
    }
    let mut pass =
        Pass { classes: CallClasses::new(frames), calls: RecentCalls::default(), streams: HashMap::new() };
    in_time::visit(frames, filter, &mut pass)?;
    let mut all: Vec<_> = pass.streams.into_iter().collect();
    all.sort_unstable_by_key(|(key, _)| *key);
    Ok(all)
}
