//! Python stacks, read by py-spy's library.
//!
//! Read while the program runs on (its `nonblocking`): stopping all threads for as long as the reading takes, 0.2 to
//! several milliseconds, would cost the program most of what the sampling costs together. A stack that changed while
//! it was read is found out as a rule (a pointer leads nowhere) and counted as missed; else it is one whose upper part
//! is older than its lower part by microseconds.

use super::merge::PythonFrame;
use super::{ACTIVE, Frame, HOLDS_GIL, Options, PYTHON, threads};
use crate::os::memory;
use py_spy::config::LockingStrategy;
use py_spy::{Config, PythonSpy};
use std::time::{Duration, Instant};

/// Between two attempts to find an interpreter that is just starting.
const EARLY: Duration = Duration::from_millis(20);
/// Attempts at that pace; afterwards once in a while.
const EARLY_ATTEMPTS: u32 = 100;
/// Between two looks at whether a process has become a Python program, by `exec` or by loading the library.
const LATER: Duration = Duration::from_secs(1);
/// So many samples in a row that could not be read mean that the interpreter is gone, or another one.
const MOST_FAILURES: u32 = 50;
/// Place of the thread's number in the C library's record of it (glibc's `struct pthread`).
const TID_OFFSET: u64 = if cfg!(target_arch = "aarch64") { 208 } else { 720 };

/// One thread's Python stack.
pub struct Stack {
    /// Thread id; 0: could not be told.
    pub tid: u32,
    /// Python's name of the thread.
    pub name: Option<String>,
    /// Outermost frame first.
    pub frames: Vec<PythonFrame>,
    /// [`ACTIVE`], [`HOLDS_GIL`].
    pub flags: u32,
}

enum State {
    /// To be looked at at this time; `attempts` were made since it looked like Python.
    Looking { at: Instant, attempts: u32 },
    /// An interpreter runs in it.
    Reading { spy: Box<PythonSpy>, failures: u32 },
}

/// A process that may have a Python interpreter in it.
pub struct PythonProcess {
    pid: u32,
    config: Config,
    state: State,
    program: Option<String>,
    /// It ran Python when it was last looked at, as far as its files tell.
    is_python: bool,
}

/// What became of one sample.
pub enum Outcome {
    /// The stacks of its threads.
    Stacks(Vec<Stack>),
    /// No interpreter runs in it, as far as is known.
    NoPython,
    /// An interpreter is there and could not be read this time.
    Missed,
}

impl PythonProcess {
    /// Nothing is looked at yet.
    pub fn new(pid: u32, options: &Options) -> PythonProcess {
        let config = Config {
            blocking: LockingStrategy::NonBlocking,
            gil_only: options.gil,
            full_filenames: true,
            ..Config::default()
        };
        PythonProcess {
            pid,
            config,
            state: State::Looking { at: Instant::now(), attempts: 0 },
            program: None,
            is_python: false,
        }
    }

    /// Whether an interpreter was found.
    pub fn has_interpreter(&self) -> bool {
        matches!(self.state, State::Reading { .. })
    }

    /// Whether the process runs Python, as far as its files tell, whether it can be read or not.
    pub fn looks_like_python(&self) -> bool {
        self.is_python
    }

    /// The stacks of all threads, or of the one that holds the lock.
    pub fn sample(&mut self) -> Outcome {
        if let State::Looking { at, attempts } = self.state {
            let now = Instant::now();
            if now < at {
                return if attempts == 0 { Outcome::NoPython } else { Outcome::Missed };
            }
            if !self.look(now, attempts) {
                return if attempts == 0 { Outcome::NoPython } else { Outcome::Missed };
            }
        }
        let State::Reading { spy, failures } = &mut self.state else { return Outcome::Missed };
        match spy.get_stack_traces() {
            Ok(traces) => {
                *failures = 0;
                let pid = self.pid;
                Outcome::Stacks(traces.into_iter().map(|trace| stack(pid, trace)).collect())
            }
            Err(_) => {
                *failures += 1;
                if *failures >= MOST_FAILURES || threads::program(self.pid) != self.program {
                    self.state = State::Looking { at: Instant::now(), attempts: 0 };
                }
                Outcome::Missed
            }
        }
    }

    /// Looks for an interpreter; whether there is one.
    fn look(&mut self, now: Instant, attempts: u32) -> bool {
        self.program = threads::program(self.pid);
        let pid = self.pid.cast_signed();
        self.is_python = runs_python(self.pid, self.program.as_deref());
        let found = match (&self.program, self.is_python) {
            // Nobody may know what it runs; whoever asks for permission finds out why.
            (None, _) => Some(None),
            (_, true) => Some(PythonSpy::new(pid, &self.config).ok()),
            (_, false) => None,
        };
        self.state = match found {
            Some(Some(spy)) => State::Reading { spy: Box::new(spy), failures: 0 },
            Some(None) => {
                let pause = if attempts < EARLY_ATTEMPTS { EARLY } else { LATER };
                State::Looking { at: now + pause, attempts: attempts.saturating_add(1) }
            }
            None => State::Looking { at: now + if attempts == 0 { EARLY } else { LATER }, attempts: 0 },
        };
        self.has_interpreter()
    }
}

/// Whether the process runs a Python interpreter, or a program with one inside, by the names of its files.
fn runs_python(pid: u32, program: Option<&str>) -> bool {
    let named = |path: &str| path.rsplit('/').next().is_some_and(|file| file.starts_with("python"));
    program.is_some_and(named)
        || super::native::maps::executable(pid)
            .is_ok_and(|maps| maps.iter().any(|map| map.path.contains("/libpython")))
}

fn stack(pid: u32, trace: py_spy::StackTrace) -> Stack {
    let known = trace.os_thread_id.and_then(|id| u32::try_from(id).ok());
    // Before 3.11 Python does not say, and py-spy does not know without stopping the thread.
    let tid = known.or_else(|| tid_of(pid, trace.thread_id)).unwrap_or(0);
    let mut active = trace.active;
    if known.is_none() && tid != 0 {
        active &= threads::state(pid, tid).is_none_or(|state| state == b'R');
    }
    let flags = if active { ACTIVE } else { 0 } | if trace.owns_gil { HOLDS_GIL } else { 0 };
    let frames = trace.frames.into_iter().rev().map(|frame| PythonFrame {
        is_entry: frame.is_entry || frame.is_shim_entry,
        frame: Frame {
            kind: PYTHON,
            name: frame.name,
            file: frame.filename,
            line: u32::try_from(frame.line).unwrap_or(0),
        },
    });
    Stack { tid, name: trace.thread_name, frames: frames.collect(), flags }
}

/// The system's number of a thread, from the C library's record of it; only what proves to be a thread of the process.
fn tid_of(pid: u32, pthread: u64) -> Option<u32> {
    let tid = memory::word(pid, pthread.checked_add(TID_OFFSET)?)?;
    (tid != 0 && threads::exists(pid, tid)).then_some(tid)
}
