//! What rules judge: sums by device, made in one pass.

use super::{Confidence, Found, LEAST_OBSERVED_NS, LEAST_RECORDS, Longest, Verdict};
use crate::analysis::call_class::{CallClass, STAGED_BYTES};
use crate::analysis::coverage::Coverage;
use crate::analysis::gap_causes::{Cause, Gap, GapFinder, as_option};
use crate::analysis::in_time::{self, Call, InTime, Work, WorkKind};
use crate::analysis::labels::Labels;
use crate::analysis::partial;
use crate::analysis::per_process::{processes_with, several_at_once, sharing_devices};
use crate::analysis::work_class::CommunicationKernels;
use crate::error::Result;
use crate::numbers::{BINARY, counted, grouped, items, short_time, size};
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use std::borrow::Cow;
use std::cmp::Ordering;
use trace_format::vocabulary::{loss_cause, memcpy_kind, memory_kind};

/// Kernels but those of communication, and graphs traced whole.
pub const COMPUTE: usize = 0;
/// Kernels of NCCL and RCCL.
pub const COMMUNICATION: usize = 1;
/// Copies between host and device through calls that block.
pub const BLOCKING_COPY: usize = 2;
/// Asynchronous copies from or to pageable memory of the host.
pub const PAGEABLE_COPY: usize = 3;
/// Other copies between host and device or between devices.
pub const OTHER_COPY: usize = 4;
/// Fills, and copies inside a device.
const INSIDE: usize = 5;

/// Of the whole time, the first part in which allocations are no trouble: one in so many.
const WARM_UP: i64 = 10;

/// Sums of gaps of one cause.
#[derive(Clone, Default)]
pub struct GapSum {
    /// How many.
    pub count: u64,
    /// How long together.
    pub total_ns: i64,
    /// The longest; of equal ones the first.
    pub longest: Option<Gap>,
}

impl GapSum {
    fn add(&mut self, gap: &Gap) {
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(gap.duration_ns());
        let order = |gap: &Gap| (std::cmp::Reverse(gap.duration_ns()), gap.start_ns, gap.place);
        if self.longest.is_none_or(|longest| order(gap) < order(&longest)) {
            self.longest = Some(*gap);
        }
    }

    fn merge(&mut self, other: &GapSum) {
        let count = self.count + other.count;
        let total_ns = self.total_ns.saturating_add(other.total_ns);
        if let Some(longest) = &other.longest {
            self.add(longest);
        }
        (self.count, self.total_ns) = (count, total_ns);
    }
}

/// Sums of work of one class.
#[derive(Clone, Default)]
pub struct WorkSum {
    /// How many.
    pub count: u64,
    /// Durations added up.
    pub total_ns: i64,
    /// Bytes copied.
    pub bytes: i64,
    /// The longest; of equal ones the first.
    pub longest: Option<Work>,
}

impl WorkSum {
    fn add(&mut self, work: &Work) {
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(work.duration_ns());
        self.bytes = self.bytes.saturating_add(work.bytes);
        let is_longer = |longest: Work| match work.duration_ns().cmp(&longest.duration_ns()) {
            Ordering::Equal => *work < longest,
            order => order.is_gt(),
        };
        if self.longest.is_none_or(is_longer) {
            self.longest = Some(*work);
        }
    }

    fn merge(&mut self, other: &WorkSum) {
        let sums = (
            self.count + other.count,
            self.total_ns.saturating_add(other.total_ns),
            self.bytes.saturating_add(other.bytes),
        );
        if let Some(longest) = &other.longest {
            self.add(longest);
        }
        (self.count, self.total_ns, self.bytes) = sums;
    }
}

/// Sums of one device.
#[derive(Clone, Default)]
pub struct DeviceFacts {
    /// The process that knows it first, and its index there.
    pub place: (u32, u32),
    /// What ran, alone and at once.
    pub coverage: Coverage,
    /// By cause, in the order of [`Cause::ALL`].
    pub gaps: [GapSum; Cause::ALL.len()],
    /// Those for allocations behind the warm-up.
    pub late_allocations: GapSum,
    /// By class.
    pub work: [WorkSum; crate::analysis::coverage::CLASSES],
}

impl DeviceFacts {
    /// From its first to its last work, without stretches in which the recording was off.
    pub fn observed_ns(&self) -> i64 {
        self.coverage.span_ns().saturating_sub(self.gaps[Cause::NotRecorded as usize].total_ns)
    }
}

/// All that rules judge.
#[derive(Clone, Default)]
pub struct Facts {
    /// Sums by device, in order.
    pub devices: Vec<DeviceFacts>,
    /// Records of GPU work with valid times.
    pub work: u64,
    /// Those whose launching call is known.
    pub with_call: u64,
    /// Calls.
    pub calls: u64,
    /// Copies between host and device.
    host_copies: u64,
    /// Those of which the trace says the kind of memory on the host.
    with_memory: u64,
    /// Records of GPU work without valid times, in no sum.
    pub without_times: u64,
    /// Whether records are known to be missing.
    has_losses: bool,
    /// When the traces begin.
    pub first_ns: i64,
}

impl Facts {
    /// Reads the selected records: those of processes that share no GPU apart, several processes at once.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn read(labels: &Labels, filter: &Filter) -> Result<Facts> {
        let frames = labels.frames();
        let (first_ns, last_ns) = frames.time_span()?.unwrap_or((0, 0));
        let warm_until_ns = first_ns.saturating_add(last_ns.saturating_sub(first_ns) / WARM_UP);
        let processes = processes_with(frames, &in_time::TABLES, filter);
        let parts = several_at_once(sharing_devices(frames, processes), |processes| {
            let filter = filter.within_processes(&processes);
            let mut pass = Pass {
                finder: GapFinder::new(frames, &filter)?,
                communication: CommunicationKernels::new(labels),
                warm_until_ns,
                facts: Facts::default(),
            };
            let without_times = in_time::visit(frames, &filter, &mut pass)?;
            let places = pass.finder.places();
            let mut facts = pass.facts;
            facts.without_times = without_times;
            for (device, place) in facts.devices.iter_mut().zip(places) {
                device.place = place;
                device.coverage.finish();
            }
            Ok(facts)
        })?;
        let mut facts = Facts { first_ns, has_losses: lost_records(frames)?, ..Facts::default() };
        parts.into_iter().for_each(|part| facts.add(part));
        facts.devices.sort_by_key(|device| device.place);
        Ok(facts)
    }

    /// Adds what was read of other processes.
    fn add(&mut self, mut other: Facts) {
        self.devices.append(&mut other.devices);
        self.work += other.work;
        self.with_call += other.with_call;
        self.calls += other.calls;
        self.host_copies += other.host_copies;
        self.with_memory += other.with_memory;
        self.without_times += other.without_times;
    }

    /// Why nothing can be said at all; `None`: something can.
    pub fn too_little(&self, sampled: bool) -> Option<String> {
        if sampled {
            return Some(
                "only a part of the program's time was recorded (some steps, or what a budget allowed), so what lies between is unknown".into(),
            );
        }
        if self.work == 0 {
            return Some("the trace holds no GPU work with valid times".into());
        }
        if self.work < LEAST_RECORDS || self.observed_ns() < LEAST_OBSERVED_NS {
            return Some(format!(
                "the trace is too short to say: {} of GPU work in {}; at least {LEAST_RECORDS} in {} are needed",
                counted(self.work, "record"),
                short_time(self.observed_ns()),
                short_time(LEAST_OBSERVED_NS)
            ));
        }
        None
    }

    /// The time that was observed, of all devices together.
    pub fn observed_ns(&self) -> i64 {
        self.devices.iter().map(DeviceFacts::observed_ns).fold(0, i64::saturating_add)
    }

    /// The time in which a device had something to do, of all devices together.
    pub fn busy_ns(&self) -> i64 {
        self.devices.iter().map(|device| device.coverage.busy_ns()).fold(0, i64::saturating_add)
    }

    /// How sure causes are: of how many records of GPU work the call is known.
    pub fn confidence(&self) -> Confidence {
        match u128::from(self.with_call) * 100 / u128::from(self.work.max(1)) {
            _ if self.has_losses => Confidence::Low,
            99.. => Confidence::High,
            90.. => Confidence::Medium,
            _ => Confidence::Low,
        }
    }

    /// Why causes of idle time are not known; `None`: they are.
    pub fn causes_unknown(&self) -> Option<String> {
        if self.calls == 0 {
            return Some("no API calls were recorded".into());
        }
        if self.with_call * 2 < self.work {
            let text = format!(
                "of only {} of {} of GPU work the API call is known",
                grouped(self.with_call),
                counted(self.work, "record")
            );
            return Some(text);
        }
        self.has_losses.then(|| "records were lost, so idle time may be work that was not recorded".into())
    }

    /// Why it is not known which call made copies.
    pub fn copies_unknown(&self) -> Option<String> {
        if self.host_copies == 0 {
            return None;
        }
        if self.calls == 0 { Some("no API calls were recorded".into()) } else { None }
    }

    /// Why it is not known which memory copies used.
    pub fn memory_unknown(&self) -> Option<String> {
        let unknown = self.with_memory * 2 < self.host_copies;
        unknown.then(|| "the trace does not say what kind of memory copies used".into())
    }

    /// Gaps of one cause on all devices.
    pub fn gaps(&self, cause: Cause) -> GapSum {
        self.gap_sum(|device| &device.gaps[cause as usize])
    }

    /// Gaps of all devices.
    pub fn gap_sum(&self, of: impl Fn(&DeviceFacts) -> &GapSum) -> GapSum {
        let mut sum = GapSum::default();
        self.devices.iter().for_each(|device| sum.merge(of(device)));
        sum
    }

    /// Work of one class on all devices.
    pub fn work_of(&self, class: usize) -> WorkSum {
        let mut sum = WorkSum::default();
        self.devices.iter().for_each(|device| sum.merge(&device.work[class]));
        sum
    }

    /// Time in which a class of work ran and none of `behind`, of all devices together.
    pub fn exposed_ns(&self, class: usize, behind: &[usize]) -> i64 {
        let behind = behind.iter().fold(0, |set, class| set | 1 << class);
        self.devices.iter().map(|device| device.coverage.of(1 << class, behind)).fold(0, i64::saturating_add)
    }

    /// As [`Facts::exposed_ns`], but no more on any device than there are kernels without copies, which it could hide behind.
    pub fn hideable_ns(&self, class: usize) -> i64 {
        let copies = 1 << BLOCKING_COPY | 1 << PAGEABLE_COPY | 1 << OTHER_COPY;
        let of = |device: &DeviceFacts| {
            let exposed = device.coverage.of(1 << class, 1 << COMPUTE | 1 << COMMUNICATION);
            exposed.min(device.coverage.of(1 << COMPUTE, copies))
        };
        self.devices.iter().map(of).fold(0, i64::saturating_add)
    }

    /// Time in which communication ran without any other kernel, on each device no more than there are other kernels without it,
    /// which it could hide behind.
    pub fn hideable_communication_ns(&self) -> i64 {
        let of = |device: &DeviceFacts| {
            let exposed = device.coverage.of(1 << COMMUNICATION, 1 << COMPUTE);
            exposed.min(device.coverage.of(1 << COMPUTE, 1 << COMMUNICATION))
        };
        self.devices.iter().map(of).fold(0, i64::saturating_add)
    }

    /// A finding about copies of one class, and about gaps for which calls of copies are the cause.
    pub fn found_copies(&self, class: usize, cause: Option<Cause>) -> Verdict {
        let sum = self.work_of(class);
        let gaps = match cause {
            Some(cause) if self.causes_unknown().is_none() => self.gaps(cause),
            _ => GapSum::default(),
        };
        let gain_ns = self.hideable_ns(class).saturating_add(gaps.total_ns);
        let Some(longest) = sum.longest.filter(|_| gain_ns > 0) else { return Verdict::Nothing };
        let mut evidence = format!(
            "{} of {}, {} in all, {} of it without kernels",
            items(sum.count, "copy", "copies"),
            size(sum.bytes.max(0) as u64, &BINARY),
            short_time(sum.total_ns),
            short_time(self.exposed_ns(class, &[COMPUTE, COMMUNICATION]))
        );
        if gaps.count > 0 {
            evidence += &format!(", and {} of {} in all", counted(gaps.count, "gap"), short_time(gaps.total_ns));
        }
        Verdict::Found(Found {
            gain_ns,
            records: sum.count + gaps.count,
            longest: Some(longest_work(&longest)),
            evidence,
        })
    }

    /// A finding about gaps.
    pub fn found_gaps(&self, sum: &GapSum) -> Verdict {
        if sum.count == 0 {
            return Verdict::Nothing;
        }
        Verdict::Found(Found {
            gain_ns: sum.total_ns,
            records: sum.count,
            longest: sum.longest.as_ref().map(longest_gap),
            evidence: format!("{}, {} in all", counted(sum.count, "gap"), short_time(sum.total_ns)),
        })
    }
}

/// A gap as evidence.
pub fn longest_gap(gap: &Gap) -> Longest {
    Longest { start_ns: gap.start_ns, end_ns: gap.end_ns, work: gap.after, is_gap: true }
}

/// Work as evidence.
pub fn longest_work(work: &Work) -> Longest {
    Longest { start_ns: work.start_ns, end_ns: work.end_ns, work: *work, is_gap: false }
}

/// Where the longest piece of evidence lies, and what it is.
pub fn longest_text(longest: &Longest, facts: &Facts, labels: &Labels) -> String {
    let at = |ns: i64| as_option(ns.saturating_sub(facts.first_ns));
    format!(
        "{} from {} to {}, {}{}",
        short_time(longest.end_ns.saturating_sub(longest.start_ns)),
        at(longest.start_ns),
        at(longest.end_ns),
        if longest.is_gap { "before " } else { "" },
        cut(longest.work.kind.name(labels))
    )
}

/// The beginning of a name, as much of it as tells kernels apart: names of templates may be thousands of characters long, and
/// the query that is shown gives them whole.
fn cut(name: &str) -> Cow<'_, str> {
    const CHARACTERS: usize = 80;
    match name.char_indices().nth(CHARACTERS) {
        Some((at, _)) => Cow::Owned(format!("{}…", &name[..at])),
        None => Cow::Borrowed(name),
    }
}

/// The pass over everything.
struct Pass<'a> {
    finder: GapFinder<'a>,
    communication: CommunicationKernels<'a>,
    warm_until_ns: i64,
    facts: Facts,
}

impl InTime for Pass<'_> {
    fn call(&mut self, call: &Call) {
        self.facts.calls += 1;
        self.finder.call(call);
    }

    fn work(&mut self, work: &Work) {
        let seen = self.finder.work(work);
        let launch = seen.launch.map(|call| call.class);
        let class = self.class(work, launch);
        self.facts.work += 1;
        self.facts.with_call += u64::from(launch.is_some());
        if self.facts.devices.len() <= seen.device {
            self.facts.devices.resize_with(seen.device + 1, DeviceFacts::default);
        }
        let device = &mut self.facts.devices[seen.device];
        device.coverage.add(class, work.start_ns, work.end_ns);
        device.work[class].add(work);
        if let Some(gap) = &seen.gap {
            device.gaps[gap.cause as usize].add(gap);
            if gap.cause == Cause::Allocation && gap.start_ns >= self.warm_until_ns {
                device.late_allocations.add(gap);
            }
        }
    }
}

impl Pass<'_> {
    fn class(&mut self, work: &Work, launch: Option<CallClass>) -> usize {
        let (kind, src, dst) = match work.kind {
            WorkKind::Kernel(shape) => {
                return if self.communication.contains(shape) { COMMUNICATION } else { COMPUTE };
            }
            WorkKind::Graph(_) => return COMPUTE,
            WorkKind::Memset => return INSIDE,
            WorkKind::Memcpy { kind, src, dst } => (u32::from(kind), u32::from(src), u32::from(dst)),
        };
        let from_host = matches!(kind, memcpy_kind::HTOD | memcpy_kind::HTOA);
        let to_host = matches!(kind, memcpy_kind::DTOH | memcpy_kind::ATOH);
        if !from_host && !to_host {
            let inside = [memcpy_kind::DTOD, memcpy_kind::ATOA, memcpy_kind::ATOD, memcpy_kind::DTOA];
            return if inside.contains(&kind) { INSIDE } else { OTHER_COPY };
        }
        let on_host = if from_host { src } else { dst };
        self.facts.host_copies += 1;
        self.facts.with_memory += u64::from(on_host != memory_kind::UNKNOWN);
        match launch {
            Some(CallClass::BlockingCopy) if to_host || work.bytes > STAGED_BYTES => BLOCKING_COPY,
            Some(CallClass::AsyncCopy) if on_host == memory_kind::PAGEABLE => PAGEABLE_COPY,
            _ => OTHER_COPY,
        }
    }
}

/// Whether records are known to be missing. Names that are missing are no such loss.
fn lost_records(frames: &Frames) -> Result<bool> {
    Ok(partial::lost_rows(frames)?.iter().any(|(_, cause, _)| *cause != loss_cause::NAMES_FULL))
}

/// Whether only some of the programs' steps, or only what a budget allowed, was recorded.
pub fn sampled_steps(frames: &Frames) -> bool {
    frames.processes.iter().any(|process| process.info.is_sample())
}
