//! The writer thread: takes the blocks that CUPTI has filled, makes rows of their records, and appends frames to the
//! trace.
//!
//! ```text
//! callbacks ─ Shared::complete ─▶ blocks ─┐
//! NVTX calls ───────────────────▶ events ─┼─▶ Recorder::turn ─▶ builders ─▶ frames ─▶ file
//! gate, flush, exit ─ send ─▶ messages ───┘        └─▶ blocks back to the pool, cleared
//! ```
//!
//! Nothing that the program waits for is done here, with one exception: closing the file at exit, within a deadline.
//! When the disk stalls, this thread stalls with it; blocks run out, records are dropped and counted, and the program
//! does not notice.

mod dumps;
mod launches;
mod losses;
mod obstacle;
mod pace;
mod recorder;
mod shared;
mod sources;
mod strings;
mod summing;
mod totals;
mod trace;
mod writing;

#[cfg(test)]
pub(crate) mod counting;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use shim_config::template::{self, TemplateFacts};
use shim_config::{Cause, Settings, SizePolicy};
use trace_format::header::FileHeader;
use trace_format::write::{WriteError, WriteOptions};

use crate::clock::Triple;
use crate::load::{self, Loaded};
use crate::messages::Message;
use crate::output::{CreateError, TraceFile, TraceFiles};
use crate::session::Session;
use crate::{cupti, flight, gate, log, nvtx, own_cost, process, session, sys};
use dumps::Flight;
use recorder::{Limits, Recorder, Turn};
use sources::Sources;
use trace::Trace;

pub use shared::{Phase, Progress, Shared, forget, shared};

/// Frames are built here; the deepest path through the Parquet library takes less than half of this.
const STACK_BYTES: usize = 256 << 10;
/// Of the file size that the program's own limit allows, this much is left for the rows that say what is missing (which
/// may pass the limit of the records by 1 MiB) and for the end of the file.
const RESERVE_BYTES: u64 = (1 << 20) + (256 << 10);
/// Memory for definitions that are repeated; with the names themselves the largest part of what we keep.
const DEFINITIONS_BYTES: usize = 16 << 20;

/// The same with a ring, whose segments define what they need only. Seven eighths of it hold all that can be referred
/// to again: the names in memory (98,000 in 16 MiB at most, 48 bytes more each here) and launch shapes (22,000).
const RING_DEFINITIONS_BYTES: usize = 32 << 20;

/// Why there is no writer.
#[derive(Debug)]
pub enum StartError {
    /// The name of the output cannot be made.
    Name(String),
    /// The file cannot be made.
    Create(CreateError),
    /// The file cannot be begun.
    Write(PathBuf, WriteError),
    /// There is no thread to be had.
    Thread,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Name(error) => write!(f, "GPUPROF_OUTPUT cannot be used: {error}"),
            StartError::Create(error) => error.fmt(f),
            StartError::Write(path, error) => write!(f, "cannot begin {}: {error}", path.display()),
            StartError::Thread => {
                write!(f, "the writer thread could not be started; allow more threads (ulimit -u)")
            }
        }
    }
}

impl std::error::Error for StartError {}

/// Starts the writer thread, which creates the file. Called once, at the first context.
///
/// Errors: no thread. What the thread itself runs into ends in [`session::fail`].
pub fn start(session: &'static Session) -> Result<(), StartError> {
    nvtx::on_pressure(|| shared().nudge());
    // Here and not on the thread: on a busy machine it begins when others have worked for a while.
    let began_ns = sys::monotonic_ns();
    if sys::spawn(c"gpuprof-writer", STACK_BYTES, move || run(session, began_ns)) {
        return Ok(());
    }
    session.shared.set_phase(Phase::Ended);
    Err(StartError::Thread)
}

/// Writes everything that came so far and closes the file. False: it took longer than `timeout_ns`. A writer that had
/// ended before has said so itself.
pub fn close(session: &Session, reason: &'static str, timeout_ns: i64) -> bool {
    let ticket = session.shared.ask(|ticket| Message::Close { ticket, reason });
    ticket.is_some_and(|ticket| session.shared.wait(ticket, timeout_ns)) || session.shared.phase() == Phase::Ended
}

/// Leaves a trace without records that says why there are none.
///
/// Errors: it could not be written either.
pub fn write_empty(loaded: &Loaded, cause: &Cause, detail: &str) -> Result<PathBuf, StartError> {
    let path = output_path(loaded)?;
    let output = TraceFile::create(&path).map_err(StartError::Create)?;
    let error = |e| StartError::Write(path.clone(), e);
    let mut trace = Trace::<TraceFiles>::whole(output, &header(), WriteOptions::default()).map_err(error)?;
    let process = process::describe(loaded, None, Some((cause, detail)), None, None);
    trace.write_json(&trace_format::tables::PROCESS, &process).map_err(error)?;
    trace.finish(&totals::Totals::default().to_json()).map_err(error)?;
    Ok(trace.output().path())
}

/// Ends the phase however the thread ends: nobody may wait for a writer that is gone.
struct Ending(&'static Shared);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.set_phase(Phase::Ended);
        if std::thread::panicking() {
            log::line(1, format_args!("the writer failed: recording ends, what was written is kept"));
        }
    }
}

fn run(session: &'static Session, began_ns: i64) {
    let shared = session.shared;
    let _ending = Ending(shared);
    shared.set_phase(Phase::Running);
    let trace = match open(session) {
        Ok(trace) => trace,
        Err(error) => return session::fail(session.loaded, Cause::Disk, error.to_string()),
    };
    let settings = session.settings;
    let path = trace.output().path();
    // The segments of a flight recorder come and go; their folder stays.
    session.note_trace(path.parent().filter(|_| settings.ring.is_some()).unwrap_or(&path));
    let limits = Limits {
        flush_ns: i64::try_from(settings.flush_ms).unwrap_or(500).saturating_mul(1_000_000),
        min_free_percent: settings.min_free_percent,
        fsync: settings.fsync,
    };
    let call_name = Box::new(|domain, id| {
        // CUPTI answers without locks, but once it is another's, or did not come back, it is not asked at all.
        let name = if cupti::may_call() { session.cupti.callback_name(domain, id) } else { None };
        name.map(|n| n.to_bytes().to_vec())
    });
    let filter = gate::Filter::new(settings.membership);
    let strides = session.strides.clone();
    let mut recorder = Recorder::new(shared, trace, limits, strides, filter, Sources::OF_PROCESS, call_name);
    let clock = || session.cupti.timestamp_ns().and_then(|ns| u64::try_from(ns).ok());
    if let Some(ring) = settings.ring {
        let wake = || {
            if let Some(session) = session::current() {
                session.wake_flush_thread();
            }
        };
        recorder.fly(Flight::new(settings, ring, flight::requests(), wake));
    }
    recorder.begin(session.describe(None, None, None), Triple::read(clock, true), began_ns);
    serve(shared, |now_ns| {
        let turn = recorder.turn(now_ns);
        own_cost::WRITER.rests();
        turn
    });
}

/// Turns until the file is closed; sleeps in between.
fn serve(shared: &Shared, mut turn: impl FnMut(i64) -> Turn) {
    loop {
        let seen = shared.wake_count();
        match turn(sys::monotonic_ns()) {
            Turn::Busy => {}
            Turn::Idle(ns) => shared.sleep(seen, Some(ns)),
            Turn::Closed => return,
        }
    }
}

fn header() -> FileHeader {
    FileHeader::new(concat!("gpuprof ", env!("CARGO_PKG_VERSION")), sys::realtime_ns())
}

/// Where the trace goes: the template filled in, and absolute, for a program may change its folder while segments of
/// a ring come and go.
fn output_path(loaded: &Loaded) -> Result<PathBuf, StartError> {
    let (host, name) = (process::host(), load::program_name());
    let facts = TemplateFacts {
        pid: sys::getpid(),
        host: &host,
        start_unix_s: loaded.start_unix_ns / 1_000_000_000,
        name: &name,
        lookup: &|variable| loaded.var(variable),
    };
    let path = template::expand(&loaded.settings.output, &facts).map_err(|e| StartError::Name(e.to_string()))?;
    let path = PathBuf::from(OsString::from_vec(path));
    Ok(std::path::absolute(&path).unwrap_or(path))
}

fn open(session: &Session) -> Result<Trace<TraceFiles>, StartError> {
    let path = output_path(session.loaded)?;
    open_at(&path, session.settings)
}

fn open_at(path: &Path, settings: &Settings) -> Result<Trace<TraceFiles>, StartError> {
    let limit = Some(settings.size_limit_bytes).filter(|&bytes| bytes > 0);
    let options = WriteOptions { definitions_limit_bytes: DEFINITIONS_BYTES, ..Default::default() };
    let error = |e| StartError::Write(path.to_owned(), e);
    if let Some(ring) = settings.ring {
        let options = WriteOptions { definitions_limit_bytes: RING_DEFINITIONS_BYTES, ..options };
        let files = TraceFiles::in_folder(path).map_err(StartError::Create)?;
        let now_ns = sys::monotonic_ns();
        return Trace::flight(files, &header(), options, ring, limit, file_size_limit(), now_ns).map_err(error);
    }
    if let (SizePolicy::Ring, Some(budget_bytes)) = (settings.size_policy, limit) {
        return Trace::ring(TraceFiles::new(path), &header(), options, budget_bytes).map_err(error);
    }
    let output = TraceFile::create(path).map_err(StartError::Create)?;
    let options = WriteOptions { limit_bytes: limit_bytes(settings), ..options };
    Trace::whole(output, &header(), options).map_err(error)
}

/// The size at which a trace that is one file takes no more records; none: no limit.
pub fn limit_bytes(settings: &Settings) -> Option<u64> {
    let limit = Some(settings.size_limit_bytes).filter(|&bytes| bytes > 0);
    // A write beyond the program's own limit would fail; a little below it the recording ends in order.
    let allowed = file_size_limit().map(|bytes| bytes.saturating_sub(RESERVE_BYTES).max(bytes / 2));
    [limit, allowed].into_iter().flatten().min()
}

/// The largest file that this process may write (`ulimit -f`), if there is a limit.
fn file_size_limit() -> Option<u64> {
    let mut limit = std::mem::MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: `limit` is writable; all zeros is a valid value of it.
    let (rc, limit) = unsafe { (libc::getrlimit(libc::RLIMIT_FSIZE, limit.as_mut_ptr()), limit.assume_init()) };
    (rc == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}
