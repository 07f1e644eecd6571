//! Host stacks: what the program's threads are doing, looked at from the launcher at a fixed rate.
//!
//! Nothing runs inside the program. Python stacks are read from its memory by py-spy's library while the program runs
//! on ([`python`]); with `--native`, each running thread is stopped for some tens of microseconds, its registers and the
//! top of its stack are copied, and it runs on before anything is looked up ([`native`]). [`merge`] makes one stack of
//! the two, [`table`] gives frames and stacks their ids, [`sampler`] takes a sample of all processes.
//!
//! The rules that keep the program unharmed:
//! - a thread that sleeps is never stopped (some system calls do not restart), nor one that is stopped already, nor a
//!   program that has a debugger;
//! - it is attached to by `PTRACE_SEIZE`, which sends no signal, and which ends with this process: if the launcher is
//!   killed, the kernel lets the thread run on;
//! - a signal that arrives in between is handed on as it came;
//! - what cannot be read is a sample missed, and counted; without permission one line says what is missing.

pub mod merge;
pub mod native;
pub mod permission;
pub mod python;
pub mod sampler;
pub mod table;
pub mod threads;

/// What to sample, as the user asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Samples per second of each thread.
    pub rate_hz: u32,
    /// Threads that sleep or wait, too.
    pub idle: bool,
    /// Of Python programs only the thread that holds the global interpreter lock.
    pub gil: bool,
    /// Native frames, too; and programs without Python.
    pub native: bool,
}

impl Options {
    /// The time that one sample stands for.
    pub fn interval_ns(&self) -> i64 {
        1_000_000_000 / i64::from(self.rate_hz.max(1))
    }
}

/// `flags` of a sample: the thread was running, or ready to.
pub const ACTIVE: u32 = 1;
/// `flags` of a sample: the thread held Python's global interpreter lock.
pub const HOLDS_GIL: u32 = 2;

pub use trace_format::vocabulary::frame_kind::{NATIVE, PYTHON};

/// One step of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// [`PYTHON`] or [`NATIVE`].
    pub kind: u32,
    /// The function; native ones as in the symbol table.
    pub name: String,
    /// Source file (Python), or file that the function was loaded from (native); empty: not known.
    pub file: String,
    /// The line that was running; 0: not known.
    pub line: u32,
}

/// What one thread was doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadSample {
    /// Thread id; 0: could not be told.
    pub tid: u32,
    /// Its name in Python; the system's names are read when a thread is first met.
    pub name: Option<String>,
    /// The stack, outermost frame first.
    pub frames: Vec<Frame>,
    /// [`ACTIVE`], [`HOLDS_GIL`].
    pub flags: u32,
}
