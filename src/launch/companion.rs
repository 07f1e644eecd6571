//! The launcher's own trace: what is measured from outside the program, in a file of its own beside the traces of the
//! processes.
//!
//! [`Companion::prepare`] makes the file before the program starts, so that a place which takes none is an error in
//! time; no thread runs until [`Companion::start`] is told the program's process id, for the launcher must have one
//! thread while it forks. From then on every [`Sampler`] has a thread of its own, with absolute deadlines: a period
//! that was missed is counted and not made up. One more thread writes what they pushed, so that a launcher that is
//! killed leaves a trace which lacks half a second at most. [`Companion::end`] stops them all and closes the file.
//!
//! Times are Unix nanoseconds that never jump ([`clock`]); rows of [`trace_format::tables::CLOCK`] tie them to the
//! clock of the day as those of the collector do, so a reader puts launcher and processes on one axis.

pub(crate) mod clock;
mod facts;
pub(crate) mod processes;
pub(crate) mod recorder;
mod threads;

use crate::error::{Error, Result};
pub use facts::Facts;
pub use processes::{Member, Processes};
pub use recorder::{Limits, Recorder};
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use threads::{Stop, Threads};

/// How often what was pushed is written: the most that a killed launcher loses.
const FLUSH: Duration = Duration::from_millis(400);
/// How long the end of the run may wait for samplers that are in the middle of something.
const PATIENCE: Duration = Duration::from_secs(2);

/// Something that measures from outside the program, again and again, on a thread of its own.
pub trait Sampler: Send {
    /// A short word: the thread is called `gpuprof:NAME`, of which the system keeps 15 bytes.
    fn name(&self) -> &'static str;
    /// The time from one sample to the next.
    fn period(&self) -> Duration;
    /// Called once on the sampler's thread before the first sample. May take long; no period counts as missed. False:
    /// there is nothing to sample, and the thread ends.
    fn begin(&mut self, _processes: &Processes, _into: &Recorder) -> bool {
        true
    }
    /// Takes one sample. Times are [`Recorder::now_ns`].
    fn sample(&mut self, processes: &Processes, into: &Recorder);
    /// Called once at the end of the program, after the last sample. `missed`: periods that passed without a sample.
    fn closing(&mut self, _processes: &Processes, _into: &Recorder, _missed: u64) {}
}

/// What one sampler did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// Its name.
    pub name: &'static str,
    /// Its period.
    pub period: Duration,
    /// Samples taken.
    pub samples: u64,
    /// Periods that passed without a sample.
    pub missed: u64,
}

/// What the launcher's trace has come to.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// Rows that were measured: samples and the like, not what they refer to.
    pub rows: u64,
    /// What samplers had to say, each once.
    pub remarks: Vec<String>,
    /// What each sampler did.
    pub samplers: Vec<Sampled>,
}

/// The launcher's trace and the threads that fill it.
pub struct Companion {
    path: PathBuf,
    recorder: Arc<Recorder>,
    samplers: Vec<Box<dyn Sampler>>,
    mark: Vec<u8>,
    threads: Option<Threads>,
}

impl Companion {
    /// Makes the trace at `path`, which must be an empty file. Starts nothing yet.
    ///
    /// `mark` is a variable, `NAME=VALUE`, that only the program of this run and its descendants have in their
    /// environment: by it processes are known whose parents have ended before they were seen.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn prepare(
        path: PathBuf,
        command: &[OsString],
        mark: OsString,
        limits: Limits,
        samplers: Vec<Box<dyn Sampler>>,
    ) -> Result<Companion> {
        let recorder = Recorder::create(&path, limits)?;
        let periods = samplers.iter().map(|s| (s.name(), s.period())).collect();
        let facts = Facts { command, samplers: periods, start_unix_ns: recorder.now_ns() };
        recorder.describe(&facts.to_json());
        Ok(Companion {
            path,
            recorder: Arc::new(recorder),
            samplers,
            mark: mark.as_bytes().to_vec(),
            threads: None,
        })
    }

    /// Where the trace is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The program runs, as process `pid`: begins to sample. Samplers whose threads the system refuses are left out,
    /// with a remark: the program comes first.
    pub fn start(&mut self, pid: u32) {
        let processes = Arc::new(Processes::of(pid, std::mem::take(&mut self.mark)));
        let stop = Arc::new(Stop::default());
        let mut threads = Threads::new(stop, self.recorder.clone(), FLUSH);
        for sampler in self.samplers.drain(..) {
            threads.add(sampler, processes.clone());
        }
        self.threads = Some(threads);
    }

    /// The program could not be started: takes the trace away.
    pub fn abandon(self) {
        // It holds nothing but who wrote it.
        let _ = fs::remove_file(&self.path);
    }

    /// The program has ended: stops all samplers and closes the trace.
    pub fn end(self) -> Ended {
        let samplers = self.threads.map(|threads| threads.end(PATIENCE)).unwrap_or_default();
        let totals = samplers.iter().map(|s| {
            let period_ns = u64::try_from(s.period.as_nanos()).unwrap_or(u64::MAX);
            json!({"name": s.name, "period_ns": period_ns, "samples": s.samples, "missed": s.missed})
        });
        let totals = json!({"samplers": totals.collect::<Vec<_>>()});
        self.recorder.finish(&totals);
        Ended { rows: self.recorder.rows(), remarks: self.recorder.remarks(), samplers }
    }
}

/// The error for a place where the launcher's trace cannot be.
fn unusable(path: &Path, why: impl std::fmt::Display) -> Error {
    Error::at(path, format_args!("the launcher's trace cannot be written: {why}"))
        .remedy("choose another place with -o, or record without samples")
}

#[cfg(test)]
mod tests;
