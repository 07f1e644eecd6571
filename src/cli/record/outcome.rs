//! What a run left behind: which processes were seen, what their traces hold, and why the rest is empty.

use super::rings;
use super::run_folder::RunFolder;
use crate::launch::program::{self, Obstacle};
use crate::launch::supervise::Ended;
use crate::trace::ring;
use shim_config::Cause;
use shim_config::seen::{self, SeenLine};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use trace_format::read::TraceReader;
use trace_format::schema::{AnyColumn as _, Role, TableSpec};
use trace_format::tables::column::loss;
use trace_format::tables::{self, ROLE, ROLE_LAUNCHER};

/// What is known about the program that ran.
pub struct Ran {
    /// Its process id.
    pub pid: u32,
    /// How it ended.
    pub ended: Ended,
    /// Its file.
    pub program: Option<PathBuf>,
    /// The program as it was called.
    pub command: OsString,
    /// Whether every process had the collector preloaded.
    pub preloaded: bool,
    /// Whether the collector was told to do nothing.
    pub disabled: bool,
    /// Whether `--processes` wants a program of this file name.
    pub is_chosen: bool,
    /// The other tool that has CUDA's place.
    pub foreign: Option<PathBuf>,
    /// The launcher's own trace, and how many rows it has.
    pub launcher: Option<(PathBuf, u64)>,
}

/// Records by kind, summed over all traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Kernels.
    pub kernels: u64,
    /// Copies.
    pub copies: u64,
    /// Fills.
    pub fills: u64,
    /// API calls.
    pub calls: u64,
    /// NVTX ranges and marks.
    pub ranges: u64,
    /// All other records of activities.
    pub others: u64,
    /// Records known to be lost.
    pub lost: u64,
}

impl Counts {
    /// Whether there is anything to report on.
    pub fn is_empty(&self) -> bool {
        self.kernels + self.copies + self.fills + self.calls + self.ranges + self.others == 0
    }

    fn add(&mut self, other: &Counts) {
        self.kernels += other.kernels;
        self.copies += other.copies;
        self.fills += other.fills;
        self.calls += other.calls;
        self.ranges += other.ranges;
        self.others += other.others;
        self.lost += other.lost;
    }
}

/// Why there is nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// Whom it is about.
    pub whom: String,
    /// The cause, as a sentence about it.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

/// What a run left behind.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Records of all traces.
    pub counts: Counts,
    /// Size of all traces.
    pub bytes: u64,
    /// The traces.
    pub traces: Vec<PathBuf>,
    /// Processes that have records.
    pub recorded: usize,
    /// Processes whose trace was not closed in order.
    pub unclosed: usize,
    /// Files that should be traces and cannot be read, with the reason.
    pub unreadable: Vec<String>,
    /// Records that went with the oldest part of rings.
    pub dropped: u64,
    /// What flight recorders kept, in the order of their names.
    pub dumps: Vec<PathBuf>,
    /// Processes that were seen, or at least have a trace.
    pub processes: usize,
    /// Causes of those without records, with how many share each.
    pub empty: Vec<(Cause, usize)>,
    /// If nothing at all was recorded: why.
    pub why: Option<Why>,
    /// The launcher's own trace, and how many rows it has. It is no process of the program.
    pub launcher: Option<(PathBuf, u64)>,
}

impl Outcome {
    /// Looks at what is there now.
    pub fn of(place: &RunFolder, ran: &Ran) -> Outcome {
        let list = fs::read(&place.seen).unwrap_or_default();
        let (mut seen, _) = seen::processes(&list);
        let mut outcome = Outcome::default();
        let paths = traces(place, &seen);
        let mut described = Vec::new();
        // Segments of a ring are one process; the last one says how it ended.
        let mut by_process: BTreeMap<String, (bool, bool)> = BTreeMap::new();
        // The first one says how much is gone.
        let mut before: BTreeMap<String, (u32, u64)> = BTreeMap::new();
        for path in &paths {
            match look_at(path) {
                Ok(trace) if trace.is_launchers => {}
                Ok(trace) => {
                    outcome.bytes += trace.bytes;
                    outcome.counts.add(&trace.counts);
                    let whose = trace.process.clone().unwrap_or_else(|| path.display().to_string());
                    if let Some((number, dropped)) = trace.before {
                        let first = before.entry(whose.clone()).or_insert((number, dropped));
                        *first = (*first).min((number, dropped));
                    }
                    let (has_records, is_closed) = by_process.entry(whose).or_default();
                    *has_records |= !trace.counts.is_empty();
                    *is_closed = trace.is_closed;
                    outcome.traces.push(path.clone());
                    described.push((path.clone(), trace));
                }
                Err(why) => outcome.unreadable.push(why),
            }
        }
        outcome.dropped = before.values().map(|(_, dropped)| dropped).sum();
        outcome.dumps = rings::rings(place, &seen).iter().flat_map(|ring| rings::dumps(ring)).collect();
        outcome.recorded = by_process.values().filter(|(has_records, _)| *has_records).count();
        outcome.unclosed = by_process.values().filter(|(_, is_closed)| !is_closed).count();
        // What a trace says about its own emptiness is later and better than the line.
        for line in &mut seen {
            let own = line.trace.as_deref().map(|t| Path::new(OsStr::from_bytes(t)));
            // The newest segment of a ring knows best, and any has records.
            let is_own = |path: &Path| own.is_some_and(|own| path == own || path.parent() == Some(own));
            let mut own_traces = described.iter().rev().filter(|(path, _)| is_own(path));
            let has_records = |trace: &Trace| !trace.counts.is_empty();
            let newest = own_traces.next();
            let trace =
                newest.filter(|(_, t)| has_records(t)).or(own_traces.find(|(_, t)| has_records(t))).or(newest);
            match trace {
                Some((_, trace)) if !trace.counts.is_empty() => line.cause = None,
                Some((_, trace)) => {
                    line.cause = trace.cause.clone().or(line.cause.take());
                    line.detail = trace.detail.clone().map(String::into_bytes).or(line.detail.take());
                }
                None => {}
            }
        }
        outcome.processes = seen.len().max(by_process.len());
        outcome.count_causes(&seen);
        outcome.launcher = ran.launcher.clone();
        let own = outcome.launcher.as_ref().and_then(|(path, _)| path.metadata().ok());
        outcome.bytes += own.map_or(0, |own| own.len());
        if outcome.counts.is_empty() {
            let trace = described.into_iter().find_map(|(path, trace)| Some((path, trace.cause?, trace.detail)));
            outcome.why = Some(why(&seen, trace, ran));
        }
        outcome
    }

    fn count_causes(&mut self, seen: &[SeenLine]) {
        for line in seen {
            let cause = line.cause.clone().or_else(|| (!line.cuda).then_some(Cause::NoCuda));
            let Some(cause) = cause else { continue };
            match self.empty.iter_mut().find(|(known, _)| *known == cause) {
                Some((_, count)) => *count += 1,
                None => self.empty.push((cause, 1)),
            }
        }
    }
}

/// The traces of this run, in the order of their names.
fn traces(place: &RunFolder, seen: &[SeenLine]) -> Vec<PathBuf> {
    let mut paths: BTreeSet<PathBuf> = BTreeSet::new();
    for trace in seen.iter().filter_map(|line| line.trace.as_deref()) {
        let path = PathBuf::from(OsStr::from_bytes(trace));
        if path.is_file() {
            paths.insert(path);
        }
    }
    for ring in rings::rings(place, seen) {
        paths.extend(rings::segments(&ring));
    }
    // Processes that could not list themselves, and the segments of a ring.
    if let (true, Some(folder)) = (place.is_new, place.seen.parent()) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        paths.extend(entries.filter(|path| path.extension() == Some(OsStr::new("gpuprof"))));
    }
    paths.into_iter().collect()
}

struct Trace {
    /// Written by a launcher, not by a process with CUDA.
    is_launchers: bool,
    /// Tells processes apart, not segments of one.
    process: Option<String>,
    counts: Counts,
    bytes: u64,
    /// The number of a segment, and how many records came before it.
    before: Option<(u32, u64)>,
    is_closed: bool,
    cause: Option<Cause>,
    detail: Option<String>,
}

/// Counts by headers and indices; only rows about losses are read.
fn look_at(path: &Path) -> Result<Trace, String> {
    let reader = TraceReader::open(path).map_err(|e| e.to_string())?;
    let mut counts = Counts::default();
    for frame in reader.frames() {
        let rows = u64::from(frame.rows);
        let Some(table) = frame.spec() else { continue };
        match table.id {
            id if id == tables::KERNEL.id => counts.kernels += rows,
            id if id == tables::MEMCPY.id => counts.copies += rows,
            id if id == tables::MEMSET.id => counts.fills += rows,
            id if id == tables::API.id => counts.calls += rows,
            id if id == tables::RANGE.id => counts.ranges += rows,
            id if id == tables::LOSS.id => {
                let batch = reader.read_batch(frame, Some(&[loss::ROWS.name()]));
                if let Ok(batch) = &batch {
                    let lost = batch.get(loss::ROWS).values();
                    counts.lost += lost.iter().map(|rows| u64::try_from(*rows).unwrap_or(0)).sum::<u64>();
                }
            }
            _ if is_activity(table) => counts.others += rows,
            _ => {}
        }
    }
    let process = reader.process().unwrap_or_default();
    let text = |key: &str| process.get(key).and_then(|value| value.as_str());
    let code = process.get("cause_code").and_then(|code| code.as_u64()).and_then(|code| u32::try_from(code).ok());
    let who = process.get("pid").zip(process.get("start_unix_ns"));
    Ok(Trace {
        is_launchers: text(ROLE) == Some(ROLE_LAUNCHER),
        process: who.map(|(pid, start)| format!("{pid} {start}")),
        counts,
        bytes: reader.len_bytes(),
        before: reader.header().segment.map(|number| (number, ring::records_before(reader.header()).0)),
        is_closed: reader.is_closed(),
        cause: text("cause").map(|cause| Cause::of(cause, code, text("cause_function"))),
        detail: text("cause_detail").map(str::to_owned),
    })
}

/// Tables of activity that tell how it was recorded, and not what the program did.
static OF_RECORDING: [&TableSpec; 4] =
    [&tables::OVERHEAD, &tables::EXTERNAL, &tables::CPU_SAMPLE, &tables::LAUNCH_STACK];

/// Whether the table tells of what the program did, and not of what it is made of or how it was recorded.
fn is_activity(table: &TableSpec) -> bool {
    table.role == Role::Activity && !OF_RECORDING.contains(&table)
}

/// Why nothing was recorded, by the best witness there is.
fn why(seen: &[SeenLine], trace: Option<(PathBuf, Cause, Option<String>)>, ran: &Ran) -> Why {
    let command = Path::new(&ran.command).file_name().unwrap_or(&ran.command).display().to_string();
    let about = |cause: &Cause, whom: String, detail: Option<&str>| {
        let detail = detail.filter(|detail| !detail.is_empty()).map(|detail| format!(" ({detail})"));
        Why { whom, what: format!("{cause}{}", detail.unwrap_or_default()), remedy: cause.remedy().to_owned() }
    };
    if ran.disabled {
        let what = "GPUPROF_DISABLE is set".to_owned();
        return Why { whom: command, what, remedy: "unset GPUPROF_DISABLE".to_owned() };
    }
    if let Some(other) = &ran.foreign {
        return about(&Cause::ForeignInjection, command, Some(&other.display().to_string()));
    }
    // Processes that used CUDA come first: theirs is the cause that matters.
    let with_cause = |line: &&SeenLine| line.cause.is_some();
    let best = seen.iter().filter(|l| l.cuda).find(with_cause).or_else(|| seen.iter().find(with_cause));
    if let Some((line, cause)) = best.and_then(|line| Some((line, line.cause.as_ref()?))) {
        let detail = line.detail.as_deref().map(String::from_utf8_lossy);
        return about(cause, name_of(line), detail.as_deref());
    }
    if let Some((path, cause, detail)) = trace {
        return about(&cause, path.display().to_string(), detail.as_deref());
    }
    if let Some(line) = seen.iter().find(|line| line.cuda) {
        // It began to record, and said nothing more.
        let cause = if ran.pid == line.pid && !matches!(ran.ended, Ended::Signalled(_)) {
            Cause::NothingLaunched
        } else {
            Cause::Killed
        };
        return about(&cause, name_of(line), None);
    }
    let obstacle = ran.program.as_deref().and_then(program::obstacle);
    if let Some(obstacle) = obstacle.filter(|_| !seen.iter().any(|line| line.pid == ran.pid)) {
        return Why {
            whom: command,
            what: format!("{}: it {obstacle}", Cause::ToolNotLoaded),
            remedy: remedy_for(obstacle).to_owned(),
        };
    }
    if !ran.is_chosen {
        return about(&Cause::NotChosen, command, None);
    }
    if ran.preloaded && !seen.iter().any(|line| line.pid == ran.pid) {
        return about(&Cause::ToolNotLoaded, command, None);
    }
    match seen {
        [] => about(&Cause::NoCuda, command, None),
        [one] => about(&Cause::NoCuda, name_of(one), None),
        several => Why {
            whom: format!("{command}, {} processes", several.len()),
            what: "none of them used CUDA".to_owned(),
            remedy: Cause::NoCuda.remedy().to_owned(),
        },
    }
}

fn remedy_for(obstacle: Obstacle) -> &'static str {
    match obstacle {
        Obstacle::Static => "link it dynamically (without -static); CUDA itself needs that",
        Obstacle::ThirtyTwoBit => "build it for 64 bits; CUDA has dropped 32-bit programs",
        Obstacle::OtherMachine => "use a gpuprof for that machine",
        Obstacle::Privileged => "run it with its owner's rights, or without the setuid bit and file capabilities",
    }
}

fn name_of(line: &SeenLine) -> String {
    let name = Path::new(OsStr::from_bytes(&line.exe)).file_name().map(|name| name.display().to_string());
    format!("{} (pid {})", name.unwrap_or_else(|| "a process".to_owned()), line.pid)
}
