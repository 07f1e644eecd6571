//! When a device had nothing to do, and why.
//!
//! **A gap** lies between the latest end of any work so far and the start of the next piece of work: work that overlaps or lies
//! in other work makes none. Time before the first and after the last piece of work is no gap. One GPU that several processes
//! use is one device.
//!
//! **The cause** is read from the call that launched the work behind the gap. If the call began before the gap, the work was
//! there in time and something on the device held it back. If not, the device waited for the host, and the cause is what the
//! thread of the call did meanwhile: whatever took the most of the time. Two things are told apart from plain lateness:
//! a thread that waited for the device ([`Cause::Synchronization`]) could not launch ahead, and what it does in the moment
//! after that ([`AFTER_SYNCHRONIZATION_NS`]) would otherwise have overlapped with work; and a thread that launches one piece of
//! work after the other with no more than moments between ([`BETWEEN_LAUNCHES_NS`]) is as quick as launching can be.

use super::call_class::{CallClass, CallClasses};
use super::in_time::{self, Call, InTime, Work};
use super::recent_calls::{RecentCalls, Remembered, Spent};
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use trace_format::tables;
use trace_format::tables::column::capture;

/// Why a device had nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The host was busy outside of CUDA and launched late.
    Host,
    /// The host had waited for the device, so that nothing was launched ahead.
    Synchronization,
    /// The host launched one piece of work after the other, and the device was quicker.
    Launch,
    /// The host was in a copy or fill that blocks.
    BlockingCopy,
    /// The host was in an asynchronous copy or fill, which takes long for pageable memory.
    AsyncCopy,
    /// The host allocated or released memory.
    Allocation,
    /// The host loaded code.
    Module,
    /// The host was in some other call of CUDA.
    OtherCall,
    /// The work had been launched in time and was held back on the device.
    Device,
    /// Nothing was recorded for a part of the gap.
    NotRecorded,
    /// The call that launched the work, or what its thread did, is not known.
    Unknown,
}

impl Cause {
    /// All causes.
    pub const ALL: [Cause; 11] = [
        Cause::Host,
        Cause::Synchronization,
        Cause::Launch,
        Cause::BlockingCopy,
        Cause::AsyncCopy,
        Cause::Allocation,
        Cause::Module,
        Cause::OtherCall,
        Cause::Device,
        Cause::NotRecorded,
        Cause::Unknown,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Host => "host",
            Cause::Synchronization => "synchronization",
            Cause::Launch => "launch",
            Cause::BlockingCopy => "blocking copy",
            Cause::AsyncCopy => "asynchronous copy",
            Cause::Allocation => "allocation",
            Cause::Module => "module loading",
            Cause::OtherCall => "other call",
            Cause::Device => "device",
            Cause::NotRecorded => "not recorded",
            Cause::Unknown => "unknown",
        }
    }
}

/// What a thread does outside of calls this long after it waited for the device is put down to the waiting.
pub const AFTER_SYNCHRONIZATION_NS: i64 = 500_000;

/// A thread that is outside of calls no longer than this before a launch is one that launches as fast as it can.
pub const BETWEEN_LAUNCHES_NS: i64 = 50_000;

/// Time in which a device had nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The device: the process that knows it first, and its index there.
    pub place: (u32, u32),
    /// End of the work before.
    pub start_ns: i64,
    /// Start of the work behind.
    pub end_ns: i64,
    /// Why.
    pub cause: Cause,
    /// The last work to end before it.
    pub before: Work,
    /// The first work to start behind it.
    pub after: Work,
}

impl Gap {
    /// How long it was.
    pub fn duration_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// When the recording was on, by process. A process without windows was recorded throughout.
#[derive(Debug, Default)]
pub(super) struct Windows(HashMap<u32, Vec<(i64, i64)>>);

impl Windows {
    /// Reads those of the processes that a filter looks into.
    pub(super) fn read(frames: &Frames, filter: &Filter) -> Result<Windows> {
        let mut all: Vec<(u32, i64, i64)> = frames.fold(
            &tables::CAPTURE,
            &[capture::START_NS, capture::END_NS],
            &filter.whole_processes(),
            Vec::new,
            |all: &mut Vec<(u32, i64, i64)>, batch| {
                let (start, end) = (batch.get(capture::START_NS), batch.get(capture::END_NS));
                let offset_ns = batch.offset_ns;
                batch.for_each_row(|i| {
                    let Some(start) = start.get(i) else { return };
                    let end = end.get(i).map_or(i64::MAX, |end| end.saturating_add(offset_ns));
                    all.push((batch.process, start.saturating_add(offset_ns), end));
                });
            },
            |a, mut b| a.append(&mut b),
        )?;
        all.sort_unstable();
        let mut windows = Windows::default();
        for (process, start_ns, end_ns) in all {
            windows.0.entry(process).or_default().push((start_ns, end_ns));
        }
        Ok(windows)
    }

    /// Whether the recording of the process was off at some time between two moments. Work that was launched in a window may
    /// run behind it, so what counts is whether a window ends and another one begins.
    pub(super) fn was_off(&self, process: u32, from_ns: i64, to_ns: i64) -> bool {
        let Some(windows) = self.0.get(&process) else { return false };
        let begun = windows.partition_point(|&(start_ns, _)| start_ns <= to_ns);
        begun > 0 && {
            let (start_ns, _) = windows[begun - 1];
            // The window of the work behind the gap began after the work before it ended, and another one came before.
            begun > 1 && start_ns > from_ns
        }
    }
}

/// A device, when its work began, and what ended last on it.
struct Device {
    place: (u32, u32),
    first_ns: i64,
    last: Option<Work>,
}

/// By device: from the first start to the last end of work.
pub type Spans = Vec<((u32, u32), i64)>;

/// Finds gaps while it sees calls and work in order of time.
pub struct GapFinder<'a> {
    frames: &'a Frames,
    classes: CallClasses<'a>,
    calls: RecentCalls,
    windows: Windows,
    devices: Vec<Device>,
    places: HashMap<(u32, u32), usize>,
    last_place: Option<((u32, u32), usize)>,
}

/// What the finder knows of a piece of work.
pub struct Seen {
    /// Position of its device among [`GapFinder::places`].
    pub device: usize,
    /// The call that launched it.
    pub launch: Option<Remembered>,
    /// The gap that ends with it.
    pub gap: Option<Gap>,
}

impl<'a> GapFinder<'a> {
    /// Has seen nothing yet. `filter` selects what it will see.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn new(frames: &'a Frames, filter: &Filter) -> Result<Self> {
        Ok(GapFinder {
            frames,
            classes: CallClasses::new(frames),
            calls: RecentCalls::default(),
            windows: Windows::read(frames, filter)?,
            devices: Vec::new(),
            places: HashMap::new(),
            last_place: None,
        })
    }

    /// The devices that did something, by position.
    pub fn places(&self) -> Vec<(u32, u32)> {
        self.devices.iter().map(|device| device.place).collect()
    }

    /// Sees a call. Gives its class.
    #[inline]
    pub fn call(&mut self, call: &Call) -> CallClass {
        let class = self.classes.of(call.name);
        self.calls.add(call, class);
        class
    }

    /// Sees a piece of work.
    #[inline]
    pub fn work(&mut self, work: &Work) -> Seen {
        let index = self.device((work.process, work.device));
        let launch = self.calls.launch_of(work);
        let device = &self.devices[index];
        let gap = device.last.filter(|last| work.start_ns > last.end_ns).map(|before| {
            let (start_ns, end_ns) = (before.end_ns, work.start_ns);
            let cause = if self.windows.was_off(work.process, start_ns, end_ns) {
                Cause::NotRecorded
            } else {
                self.cause(start_ns, end_ns, launch)
            };
            Gap { place: device.place, start_ns, end_ns, cause, before, after: *work }
        });
        let device = &mut self.devices[index];
        if device.last.is_none() {
            device.first_ns = work.start_ns;
        }
        if device.last.is_none_or(|last| work.end_ns >= last.end_ns) {
            device.last = Some(*work);
        }
        Seen { device: index, launch, gap }
    }

    #[inline]
    fn device(&mut self, of_process: (u32, u32)) -> usize {
        if let Some((known, index)) = self.last_place
            && known == of_process
        {
            return index;
        }
        let (frames, devices) = (self.frames, &mut self.devices);
        let index = *self.places.entry(of_process).or_insert_with(|| {
            let place = frames.device_identity(of_process.0, of_process.1);
            devices.iter().position(|device| device.place == place).unwrap_or_else(|| {
                devices.push(Device { place, first_ns: 0, last: None });
                devices.len() - 1
            })
        });
        self.last_place = Some((of_process, index));
        index
    }

    fn cause(&self, start_ns: i64, end_ns: i64, launch: Option<Remembered>) -> Cause {
        let Some(launch) = launch else { return Cause::Unknown };
        if launch.start_ns <= start_ns {
            return match launch.class {
                // The call was still on its way when the device ran dry: it stages what it copies, piece by piece.
                CallClass::BlockingCopy if launch.end_ns > start_ns => Cause::BlockingCopy,
                CallClass::AsyncCopy if launch.end_ns > start_ns => Cause::AsyncCopy,
                _ => Cause::Device,
            };
        }
        match self.calls.spent(&launch, start_ns, launch.start_ns) {
            Some(spent) => longest(&spent, &launch, end_ns),
            None => Cause::Unknown,
        }
    }
}

/// What took the most of a gap whose launch came late. `spent` is of the time up to the launch.
fn longest(spent: &Spent, launch: &Remembered, end_ns: i64) -> Cause {
    let waited = spent.of(CallClass::Synchronization) > 0;
    let from_launch_ns = end_ns.saturating_sub(launch.start_ns);
    let mut of = [
        (Cause::Host, spent.outside_ns),
        (Cause::Synchronization, spent.of(CallClass::Synchronization)),
        (Cause::Launch, spent.of(CallClass::Launch)),
        (Cause::BlockingCopy, spent.of(CallClass::BlockingCopy)),
        (Cause::AsyncCopy, spent.of(CallClass::AsyncCopy)),
        (Cause::Allocation, spent.of(CallClass::Allocation)),
        (Cause::Module, spent.of(CallClass::Module)),
        (Cause::OtherCall, spent.of(CallClass::Other)),
    ];
    let mut add = |cause: Cause, ns: i64| {
        if let Some((_, sum)) = of.iter_mut().find(|(known, _)| *known == cause) {
            *sum = sum.saturating_add(ns);
        }
    };
    // From the beginning of the launching call on it is the call that takes the time.
    let launching = match launch.class {
        CallClass::BlockingCopy => Cause::BlockingCopy,
        CallClass::AsyncCopy => Cause::AsyncCopy,
        _ => Cause::Launch,
    };
    if waited && spent.outside_ns <= AFTER_SYNCHRONIZATION_NS {
        add(Cause::Synchronization, spent.outside_ns.saturating_add(from_launch_ns));
        add(Cause::Host, spent.outside_ns.saturating_neg());
    } else {
        add(launching, from_launch_ns);
        if spent.outside_ns <= BETWEEN_LAUNCHES_NS {
            add(Cause::Launch, spent.outside_ns);
            add(Cause::Host, spent.outside_ns.saturating_neg());
        }
    }
    // Of equal ones the first: the order is that of the list.
    let most = of.iter().map(|(_, ns)| *ns).max().unwrap_or(0);
    of.iter().find(|(_, ns)| *ns == most).map_or(Cause::Unknown, |(cause, _)| *cause)
}

/// Calls `each` with every gap, in order of its end. Gives how long it was from the first start to the last end on each device.
/// Records without valid times make no gaps; notes about partial traces count them.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn each_gap(frames: &Frames, filter: &Filter, each: impl FnMut(Gap) + Send) -> Result<Spans> {
    struct Visitor<'a, F> {
        finder: GapFinder<'a>,
        each: F,
    }
    impl<F: FnMut(Gap) + Send> InTime for Visitor<'_, F> {
        fn call(&mut self, call: &Call) {
            self.finder.call(call);
        }
        fn work(&mut self, work: &Work) {
            if let Some(gap) = self.finder.work(work).gap {
                (self.each)(gap);
            }
        }
    }
    let mut visitor = Visitor { finder: GapFinder::new(frames, filter)?, each };
    in_time::visit(frames, filter, &mut visitor)?;
    let span = |device: &Device| {
        let last_ns = device.last.map_or(device.first_ns, |last| last.end_ns);
        (device.place, last_ns.saturating_sub(device.first_ns))
    };
    Ok(visitor.finder.devices.iter().map(span).collect())
}

/// Nanoseconds after the first record as `--from` and `--to` read them: `1.204857123s`.
pub fn as_option(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    format!("{sign}{}.{:09}s", ns / 1_000_000_000, ns % 1_000_000_000)
}

#[cfg(test)]
mod tests;
