//! The end of the program, as far as it lets us know: handlers that wait, not for long, for the last flush and the
//! closing of the file. Programs that end without exit handlers lose at most what came since the last flush.
//!
//! Handlers run last-registered-first. Ours is registered in `InitializeInjection`, again when `cuInit` is over, and
//! again with the first context: the latest runs before the driver takes itself down and hands over everything; the
//! earliest runs after the program's own handlers, which may still use the GPU, and closes the file. All of them
//! together may take one deadline; what the program's handlers take between them does not count.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};

use shim_config::{Capture, Cause};

use crate::gate::{GATE, Summary};
use crate::messages::{self, Loss, Message};
use crate::session::{self, Session};
use crate::writer::Phase;
use crate::{control, cupti, driver, failure, guard, load, log, sys, writer};

/// What the writer may take on top of the deadline when CUPTI used all of it up.
const CLOSE_NS: i64 = 150_000_000;

/// Handlers that have not run yet.
static HANDLERS: AtomicU32 = AtomicU32::new(0);
/// The first handler has begun.
static BEGUN: AtomicBool = AtomicBool::new(false);
/// What handlers that are over took.
static SPENT_NS: AtomicI64 = AtomicI64::new(0);
/// Requests made to the flush thread; the last one has [`LAST`] set.
static REQUESTED: AtomicU32 = AtomicU32::new(0);
/// Requests answered by the flush thread.
static ANSWERED: AtomicU32 = AtomicU32::new(0);
/// Marks the request of the last handler.
const LAST: u32 = 1 << 31;
/// There is no flush thread to wait for.
static NO_THREAD: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    // Not `atexit`, which older C libraries only have as a part of the program.
    fn __cxa_atexit(f: unsafe extern "C" fn(*mut c_void), argument: *mut c_void, dso: *mut c_void) -> c_int;
}

/// Registers a handler, see above.
pub fn register() {
    HANDLERS.fetch_add(1, Ordering::AcqRel);
    // SAFETY: the function lives as long as the process.
    unsafe { __cxa_atexit(at_exit, std::ptr::null_mut(), std::ptr::null_mut()) };
}

/// See [`crate::fork`]. The handlers of the parent stay registered in a child, and count for it too.
pub fn forget() {
    BEGUN.store(false, Ordering::Release);
    SPENT_NS.store(0, Ordering::Release);
    REQUESTED.store(0, Ordering::Release);
    ANSWERED.store(0, Ordering::Release);
    NO_THREAD.store(false, Ordering::Release);
}

/// Whether the end of the program has begun.
pub fn has_begun() -> bool {
    BEGUN.load(Ordering::Acquire)
}

/// What the flush thread is asked for.
#[derive(Clone, Copy)]
pub struct Request {
    number: u32,
    /// No other will come.
    pub is_last: bool,
}

/// The request that waits, if one does.
pub fn requested() -> Option<Request> {
    let requested = REQUESTED.load(Ordering::Acquire);
    let number = requested & !LAST;
    (number != ANSWERED.load(Ordering::Acquire)).then_some(Request { number, is_last: requested & LAST != 0 })
}

/// The flush thread has done what was asked.
pub fn answer(request: Request) {
    ANSWERED.store(request.number, Ordering::Release);
    sys::futex_wake(&ANSWERED, true);
}

/// The flush thread could not be started.
pub fn flush_thread_is_gone() {
    NO_THREAD.store(true, Ordering::Release);
}

unsafe extern "C" fn at_exit(_: *mut c_void) {
    let left = HANDLERS.fetch_sub(1, Ordering::AcqRel) - 1;
    // A child shares the handlers of its parent, and must not wait for threads that it does not have.
    if sys::is_owner() {
        guard("an exit handler", || end(left == 0));
    }
}

fn end(is_last: bool) {
    BEGUN.store(true, Ordering::Release);
    let begin_ns = sys::monotonic_ns();
    match session::current() {
        Some(session) if session.is_started() => flush_and_write(session, is_last),
        Some(_) => {}
        None if is_last => leave_reason(),
        None => {}
    }
    SPENT_NS.fetch_add(sys::monotonic_ns() - begin_ns, Ordering::AcqRel);
}

/// When this handler must be over, monotonic.
fn deadline_ns(session: &Session) -> i64 {
    let allowed_ms = i64::try_from(session.settings.exit_deadline_ms).unwrap_or(i64::MAX).min(600_000);
    sys::monotonic_ns() + (allowed_ms * 1_000_000 - SPENT_NS.load(Ordering::Acquire)).max(0)
}

fn flush_and_write(session: &'static Session, is_last: bool) {
    let deadline_ns = deadline_ns(session);
    if cupti::may_call() && !NO_THREAD.load(Ordering::Acquire) && !flush_by(session, is_last, deadline_ns) {
        // It may never come back from there, and nobody may follow it.
        cupti::mute();
        let pool = &session.shared.pool;
        if pool.requested() > pool.completed() {
            log::line(
                1,
                format_args!("CUPTI did not hand over its last records in time; what was flushed is kept"),
            );
            let detail = Some("CUPTI did not flush before the exit deadline".into());
            let cause = messages::Cause::FlushDeadline;
            session.shared.send(Message::Loss(Loss { start_ns: None, end_ns: None, rows: 0, cause, detail }));
        } else {
            // Every block has come back, so nothing is missing.
            log::line(2, format_args!("CUPTI did not come back from its last call in time"));
        }
    }
    if !is_last {
        // On disk before the program's own handlers run: they may not come back.
        let left_ns = (deadline_ns - sys::monotonic_ns()).max(0);
        if let Some(ticket) = session.shared.ask(|ticket| Message::Flush { ticket }) {
            session.shared.wait(ticket, left_ns);
        }
        return;
    }
    control::finish();
    let summary = GATE.finish(session, deadline_ns.max(sys::monotonic_ns() + CLOSE_NS / 3));
    let cause = cause_of_emptiness(session, summary.as_ref()).or_else(|| {
        let left_ns = (deadline_ns - sys::monotonic_ns()).max(CLOSE_NS / 3);
        all_excluded(session, summary.as_ref()?, left_ns)
    });
    let described = cause.as_ref().map(|(cause, detail)| (cause, detail.as_str()));
    let steps = summary.as_ref().map(|summary| summary.steps);
    let account = summary.as_ref().and_then(|summary| summary.account.as_ref());
    session.shared.send(Message::Process(session.describe(described, steps, account)));
    let left_ns = (deadline_ns - sys::monotonic_ns()).max(0) + CLOSE_NS;
    if !writer::close(session, "exit", left_ns) && session.shared.phase() != Phase::Ended {
        log::line(1, format_args!("the trace could not be closed in time; what was written is kept"));
    }
    if let Some((cause, detail)) = cause {
        let colon = if detail.is_empty() { "" } else { ": " };
        // Under `gpuprof record` the launcher says it, once for all processes.
        let verbosity = if session.settings.seen.is_some() { 2 } else { 1 };
        log::line(verbosity, format_args!("nothing was recorded: {cause}{colon}{detail}; {}", cause.remedy()));
        load::note_seen(session.loaded, true, session.trace_path(), Some(cause), Some(detail.into_bytes()));
    }
}

fn flush_by(session: &Session, is_last: bool, deadline_ns: i64) -> bool {
    let number = (REQUESTED.load(Ordering::Acquire) & !LAST) + 1;
    REQUESTED.store(number | if is_last { LAST } else { 0 }, Ordering::Release);
    session.wake_flush_thread();
    loop {
        let answered = ANSWERED.load(Ordering::Acquire);
        if answered == number {
            return true;
        }
        let left_ns = deadline_ns - sys::monotonic_ns();
        if left_ns <= 0 {
            return false;
        }
        sys::futex_wait(&ANSWERED, answered, Some(left_ns));
    }
}

/// Why there are no records, if there are none and the gate is the reason.
fn cause_of_emptiness(session: &Session, summary: Option<&Summary>) -> Option<(Cause, String)> {
    let summary = summary?;
    if summary.opened > 0 {
        return None;
    }
    let detail = match &session.settings.capture {
        Capture::ProfilerApi => match summary.idle_stops {
            0 => "the program called neither cudaProfilerStart nor cudaProfilerStop".to_owned(),
            n => format!("the program called cudaProfilerStop {n} times and cudaProfilerStart never"),
        },
        Capture::Nvtx { cycle: Some(cycle), name, .. } if summary.steps > 0 => format!(
            "the program opened {} ranges {:?}, of which every:{},steps:{} records none",
            summary.steps,
            String::from_utf8_lossy(name),
            cycle.every,
            cycle.steps
        ),
        Capture::Nvtx { name, .. } if summary.steps > 0 && session.settings.budget.is_some() => format!(
            "the program opened {} ranges {:?}, and ended before the budget allowed to record one",
            summary.steps,
            String::from_utf8_lossy(name)
        ),
        Capture::Nvtx { name, .. } if summary.names.is_empty() => {
            format!("the program opened no NVTX range, {:?} was waited for", String::from_utf8_lossy(name))
        }
        Capture::Nvtx { name, .. } => {
            let seen: Vec<String> =
                summary.names.iter().map(|n| format!("{:?}", String::from_utf8_lossy(n))).collect();
            format!("no NVTX range {:?} was opened; seen: {}", String::from_utf8_lossy(name), seen.join(", "))
        }
        Capture::Delay { .. } => "the program ended before the delay was over".to_owned(),
        Capture::Manual => "nobody ran `gpuprof ctl start` while the program ran".to_owned(),
        Capture::All if session.settings.budget.is_some() => {
            "the program ended before the budget allowed to record anything".to_owned()
        }
        Capture::All => String::new(),
    };
    Some((Cause::GateNeverOpened, detail))
}

/// Says so if windows were opened and nothing that the program did lay in them.
fn all_excluded(session: &Session, summary: &Summary, left_ns: i64) -> Option<(Cause, String)> {
    let progress = &session.shared.progress;
    if summary.is_everything || progress.activity() > 0 {
        return None;
    }
    // What waits to be written may be all there is.
    let ticket = session.shared.ask(|ticket| Message::Flush { ticket })?;
    if !session.shared.wait(ticket, left_ns) || progress.activity() > 0 || progress.lost() > 0 {
        return None;
    }
    let counted = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let windows = counted(summary.opened.into(), "window");
    let detail = match progress.outside() {
        0 => format!("{windows} opened, and nothing was launched meanwhile"),
        outside => format!("{windows} opened, and {} outside", counted(outside, "record")),
    };
    if progress.ranges() > 0 {
        // The trace is not empty, so nobody else says it.
        let cause = Cause::AllExcluded;
        log::line(1, format_args!("only ranges were recorded: {cause}: {detail}; {}", cause.remedy()));
        return None;
    }
    Some((Cause::AllExcluded, detail))
}

/// A process that used a GPU and could not be recorded leaves a trace that says why.
fn leave_reason() {
    let Some((cause, detail)) = failure::take() else { return };
    if driver::Driver::mapped().has_context() == Some(false) {
        return;
    }
    if let Err(error) = writer::write_empty(load::loaded(), &cause, &detail) {
        log::line(2, format_args!("no trace that says so could be written: {error}"));
    }
}
