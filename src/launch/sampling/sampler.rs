//! Samples of all threads of all processes of a run, into the launcher's trace.

use super::merge::{merge, runs_python};
use super::native::stop::{self, Refused};
use super::native::{self, Images, NativeProcess, Snapshot};
use super::python::{Outcome, PythonProcess, Stack};
use super::table::{Definitions, Table};
use super::{ACTIVE, Frame, HOLDS_GIL, Options, ThreadSample, permission, threads};
use crate::launch::companion::{Member, Processes, Recorder, Sampler};
use hashbrown::{HashMap, HashSet};
use std::time::{Duration, Instant};
use trace_format::tables::{CpuSampleRow, FrameRow, StackRow, ThreadRow};

/// Between two attempts on a process that may not be looked into.
const REFUSED: Duration = Duration::from_secs(1);
/// Threads of our own inside the program: the collector's.
const OWN_THREADS: &str = "gpuprof-";
/// How long a name in Python is waited for.
const NAMING: Duration = Duration::from_secs(2);
/// A share of missed samples that is worth a line.
const WORTH_SAYING_PERCENT: u64 = 2;

/// The sampler of host stacks.
pub struct CpuSampler {
    options: Options,
    table: Table,
    targets: HashMap<(u32, u64), Target>,
    images: Images,
    counts: Counts,
}

/// What was done, for the note at the end.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Stacks written.
    taken: u64,
    /// Stacks that could not be read, or not in one piece.
    failed: u64,
    /// Python programs seen.
    pythons: u64,
}

/// One process of the run.
struct Target {
    pid: u32,
    name: String,
    python: PythonProcess,
    counted: bool,
    native: Option<NativeProcess>,
    /// The process is not looked at again before this moment.
    refused_until: Option<Instant>,
    /// Nobody may stop its threads.
    unstoppable: bool,
    named: HashMap<u32, Naming>,
}

/// How far a thread's name has come. Python gives its names after a thread has begun, and they tell more than the
/// system's.
enum Naming {
    /// The name in Python is waited for since then; this is the system's.
    Waiting(Instant, String),
    /// It is written.
    Done,
}

impl CpuSampler {
    /// Nothing is looked at before the first sample.
    pub fn new(options: Options) -> CpuSampler {
        CpuSampler {
            options,
            table: Table::default(),
            targets: HashMap::new(),
            images: Images::default(),
            counts: Counts::default(),
        }
    }

    fn write(&mut self, pid: u32, samples: Vec<ThreadSample>, named: &mut HashMap<u32, Naming>, into: &Recorder) {
        let start_ns = into.now_ns();
        let weight_ns = self.options.interval_ns();
        let mut rows = Vec::with_capacity(samples.len());
        for sample in samples {
            if sample.tid != 0 {
                let naming = named.entry(sample.tid).or_insert_with(|| {
                    Naming::Waiting(Instant::now(), threads::name(pid, sample.tid).unwrap_or_default())
                });
                naming.learn(sample.tid, sample.name, into);
            }
            let Some(stack_id) = self.table.stack(&sample.frames, &mut Rows(into)) else {
                self.counts.failed += 1;
                continue;
            };
            let (tid, flags) = (sample.tid, sample.flags);
            rows.push(CpuSampleRow { start_ns, of_pid: pid, tid, stack_id, weight_ns, flags });
        }
        self.counts.taken += rows.len() as u64;
        into.push_all(rows);
    }
}

/// New frames and stacks become rows.
struct Rows<'a>(&'a Recorder);

impl Definitions for Rows<'_> {
    fn frame(&mut self, id: u32, frame: &Frame) {
        let name_id = self.0.name(frame.name.as_bytes());
        let file_id = (!frame.file.is_empty()).then(|| self.0.name(frame.file.as_bytes()));
        let line = (frame.line != 0).then_some(i64::from(frame.line));
        self.0.push(FrameRow { id, name_id, file_id, line, kind: frame.kind });
    }
    fn stack(&mut self, id: u32, parent: u32, frame: u32) {
        self.0.push(StackRow { id, parent_id: (parent != 0).then_some(parent), frame_id: frame });
    }
}

impl Sampler for CpuSampler {
    fn name(&self) -> &'static str {
        "stacks"
    }

    fn period(&self) -> Duration {
        Duration::from_nanos(self.options.interval_ns().cast_unsigned())
    }

    fn sample(&mut self, processes: &Processes, into: &Recorder) {
        stop::settle();
        let members = processes.members();
        let living: HashSet<(u32, u64)> = members.iter().map(|m| (m.pid, m.start_ticks)).collect();
        self.targets.retain(|key, target| {
            let lives = living.contains(key);
            if !lives {
                target.name_all(into);
            }
            lives
        });
        for member in members {
            let key = (member.pid, member.start_ticks);
            let mut target = self.targets.remove(&key).unwrap_or_else(|| Target::new(&member, &self.options));
            let samples = target.sample(&self.options, &mut self.images, &mut self.counts, into);
            let mut named = std::mem::take(&mut target.named);
            self.write(member.pid, samples, &mut named, into);
            target.named = named;
            self.targets.insert(key, target);
        }
    }

    fn closing(&mut self, _processes: &Processes, into: &Recorder, missed: u64) {
        // Threads that were asked to stop and did not in time are let go before this thread ends, if they have stopped;
        // if not, its end does it.
        stop::settle();
        self.targets.values_mut().for_each(|target| target.name_all(into));
        let Counts { taken, failed, pythons } = self.counts;
        let rate = self.options.rate_hz;
        into.note(
            None,
            &format!(
                "CPU sampling at {rate} Hz: {taken} stacks taken, {failed} could not be read, {missed} times no \
                 sample was taken in time"
            ),
        );
        if pythons == 0 && !self.options.native {
            into.remark("--cpu-sampling saw no Python program; --native samples others, too");
        }
        if failed * 100 > (taken + failed) * WORTH_SAYING_PERCENT {
            into.remark(&format!(
                "{failed} of {} stacks could not be read: the program went on while they were, and they changed",
                taken + failed
            ));
        }
    }
}

impl Naming {
    /// Takes note of the name in Python, if it is known now.
    fn learn(&mut self, tid: u32, python: Option<String>, into: &Recorder) {
        let Naming::Waiting(since, system) = self else { return };
        match python {
            Some(name) => write_name(tid, &name, into),
            None if since.elapsed() >= NAMING => write_name(tid, system, into),
            None => return,
        }
        *self = Naming::Done;
    }
}

fn write_name(tid: u32, name: &str, into: &Recorder) {
    let name_id = into.name(name.as_bytes());
    if name_id != 0 {
        into.push(ThreadRow { tid, name_id });
    }
}

impl Target {
    /// Writes the names that are still waited for: nothing more will come.
    fn name_all(&mut self, into: &Recorder) {
        for (tid, naming) in std::mem::take(&mut self.named) {
            if let Naming::Waiting(_, system) = naming {
                write_name(tid, &system, into);
            }
        }
    }

    fn new(member: &Member, options: &Options) -> Target {
        Target {
            pid: member.pid,
            name: String::from_utf8_lossy(&member.name).into_owned(),
            python: PythonProcess::new(member.pid, options),
            counted: false,
            native: options.native.then(|| NativeProcess::new(member.pid)),
            refused_until: None,
            unstoppable: false,
            named: HashMap::new(),
        }
    }

    fn sample(
        &mut self,
        options: &Options,
        images: &mut Images,
        counts: &mut Counts,
        into: &Recorder,
    ) -> Vec<ThreadSample> {
        if self.refused_until.is_some_and(|until| Instant::now() < until) {
            return Vec::new();
        }
        // First the native stacks: each thread stands still for as long as its own copy takes.
        let mut snapshots = self.snapshots(options, into);
        let outcome = self.python.sample();
        if self.python.looks_like_python() && !std::mem::replace(&mut self.counted, true) {
            counts.pythons += 1;
        }
        let was_missed = matches!(outcome, Outcome::Missed) && self.python.has_interpreter();
        let stacks = match outcome {
            Outcome::Stacks(stacks) => stacks,
            Outcome::NoPython => Vec::new(),
            Outcome::Missed => {
                self.missed(counts, into);
                Vec::new()
            }
        };
        let mut samples = Vec::new();
        for stack in stacks {
            let snapshot = snapshots.remove(&stack.tid);
            samples.extend(self.python_sample(stack, snapshot, options, images));
        }
        if let Some(native) = self.native.as_mut().filter(|_| !options.gil) {
            let mut rest: Vec<(u32, (Snapshot, bool))> = snapshots.into_iter().collect();
            rest.sort_unstable_by_key(|(tid, _)| *tid);
            for (tid, (snapshot, active)) in rest {
                let frames = native.stack(&snapshot, images);
                // It was counted as missed: without Python's frames it would look like another program.
                if was_missed && runs_python(&frames) {
                    continue;
                }
                let frames = merge(Vec::new(), frames);
                let flags = if active { ACTIVE } else { 0 };
                samples.push(ThreadSample { tid, name: None, frames, flags });
            }
        }
        samples.retain(|sample| !sample.frames.is_empty());
        samples
    }

    fn python_sample(
        &mut self,
        stack: Stack,
        snapshot: Option<(Snapshot, bool)>,
        options: &Options,
        images: &mut Images,
    ) -> Option<ThreadSample> {
        let mut flags = stack.flags;
        if snapshot.as_ref().is_some_and(|(_, active)| *active) {
            flags |= ACTIVE;
        }
        let wanted = (options.idle || flags & ACTIVE != 0) && (!options.gil || flags & HOLDS_GIL != 0);
        if !wanted {
            return None;
        }
        let native = match (snapshot, &mut self.native) {
            (Some((snapshot, _)), Some(native)) => native.stack(&snapshot, images),
            // One that began to run after we looked.
            _ => Vec::new(),
        };
        let frames = merge(stack.frames, native);
        Some(ThreadSample { tid: stack.tid, name: stack.name, frames, flags })
    }

    /// Stops one running thread after the other. Those that sleep are looked at only if asked for, and not touched.
    fn snapshots(&mut self, options: &Options, into: &Recorder) -> HashMap<u32, (Snapshot, bool)> {
        let mut snapshots = HashMap::new();
        if !options.native {
            return snapshots;
        }
        for tid in threads::of(self.pid) {
            match threads::state(self.pid, tid) {
                Some(b'R') if !self.unstoppable => {
                    if threads::name(self.pid, tid).is_some_and(|name| name.starts_with(OWN_THREADS)) {
                        continue;
                    }
                    match native::snapshot(self.pid, tid) {
                        Ok(snapshot) => {
                            snapshots.insert(tid, (snapshot, true));
                        }
                        Err(Refused::NotPermitted) => self.not_permitted(into),
                        Err(Refused::Gone | Refused::TooSlow) => {}
                    }
                }
                Some(b'S' | b'D') if options.idle => {
                    if let Some(snapshot) = native::asleep(self.pid, tid) {
                        snapshots.insert(tid, (snapshot, false));
                    }
                }
                _ => {}
            }
        }
        snapshots
    }

    /// A thread could not be stopped. Whatever the reason is, it holds for all threads of the process.
    fn not_permitted(&mut self, into: &Recorder) {
        let whom = self.whom();
        if let Some(debugger) = threads::debugger(self.pid) {
            into.remark(&format!("{whom} is debugged by process {debugger}: its native stacks are left out"));
            self.unstoppable = true;
        } else if let Err(why) = permission::check(self.pid) {
            into.remark(&format!("{whom} cannot be sampled: {why}"));
            self.unstoppable = true;
            self.refused_until = Some(Instant::now() + REFUSED);
        }
        // Else it was ending: the kernel refuses that too.
    }

    /// Its Python stacks could not be read.
    fn missed(&mut self, counts: &mut Counts, into: &Recorder) {
        // One that has ended has no stacks; one that has just begun has no interpreter yet.
        if matches!(threads::state(self.pid, self.pid), None | Some(b'Z' | b'X')) {
            return;
        }
        if self.python.has_interpreter() {
            counts.failed += 1;
        }
        if let Err(why) = permission::check(self.pid) {
            into.remark(&format!("{} cannot be sampled: {why}", self.whom()));
            self.refused_until = Some(Instant::now() + REFUSED);
        }
    }

    fn whom(&self) -> String {
        format!("{} (process {})", self.name, self.pid)
    }
}
