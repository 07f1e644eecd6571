//! The thread that asks CUPTI for its buffers at intervals, keeps the timers of the gate, and makes the last flush.
//!
//! It is the only one that flushes: two flushes at once can deadlock inside CUPTI, and one from within a callback is
//! forbidden or blocks the program (7 ms in a training step on an H100).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cupti_sys::{CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ERROR_NOT_INITIALIZED};

use crate::clock::{Settling, Triple};
use crate::cupti::{CuptiError, may_call, mute};
use crate::gate::GATE;
use crate::messages::{Cause, Loss, Message};
use crate::own_cost::FLUSHES;
use crate::session::{Session, holder};
use crate::{exit, flight, log, python, sys};

/// CUPTI runs on it, and on some versions our completed callback. Pages that nobody touches cost nothing.
const STACK_BYTES: usize = 1 << 20;
/// Intervals without a completed buffer after which it is asked whether CUPTI still knows us.
const SILENT_INTERVALS: u32 = 3;
/// The longest pause between two such questions.
const MAX_SILENT_INTERVALS: u32 = 96;
/// Calls of our own that must leave no trace before somebody else is blamed.
const UNHEARD: u32 = 2;
/// How long the end of the program waits for kernels that are still running.
const LAST_KERNELS_NS: i64 = 100_000_000;
/// How long CUPTI's thread gets to hand over what a flush released.
const HAND_OVER_NS: i64 = 5_000_000;
/// How long a dump waits for buffers that CUPTI holds back because something in them is not over.
const DUMP_NS: i64 = 200_000_000;
/// While a window drains, CUPTI is asked this often, at first.
const DRAIN_NS: i64 = 20_000_000;
/// A window that drains for longer has a kernel that runs for long: CUPTI is then asked as often as ever.
const SHORT_DRAIN_NS: i64 = 2_000_000_000;

/// Flushes asked for from outside, and the newest of them that is done.
static ASKED: AtomicU32 = AtomicU32::new(0);
static DONE: AtomicU32 = AtomicU32::new(0);
/// The interval that was set while the program ran, in ms; 0: that of the settings holds.
static INTERVAL_MS: AtomicU64 = AtomicU64::new(0);

/// What a forked child forgets ([`crate::fork`]): the flushes that its parent was asked for, and the interval that was
/// set while the parent ran.
pub fn forget() {
    ASKED.store(0, Ordering::Release);
    DONE.store(0, Ordering::Release);
    INTERVAL_MS.store(0, Ordering::Release);
}

/// Asks for a flush; [`is_done`] tells when everything that CUPTI would give has been handed over.
pub fn ask(session: &Session) -> u32 {
    let ticket = ASKED.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
    session.wake_flush_thread();
    ticket
}

/// Whether the flush of that number, or a later one, is done.
pub fn is_done(ticket: u32) -> bool {
    DONE.load(Ordering::Acquire).wrapping_sub(ticket) as i32 >= 0
}

/// From here on records are fetched every `ms`.
pub fn set_interval(session: &Session, ms: u64) {
    INTERVAL_MS.store(ms, Ordering::Release);
    session.wake_flush_thread();
}

/// Starts the thread.
pub fn start(session: &'static Session) {
    if !sys::spawn(c"gpuprof-flush", STACK_BYTES, move || Flush::new(session).run()) {
        log::line(
            1,
            format_args!("the flush thread could not be started: what the program did last may be missing"),
        );
        exit::flush_thread_is_gone();
    }
}

/// Reads the clocks.
fn read_clocks(session: &Session) -> Option<Triple> {
    let trace_ns = || session.cupti.timestamp_ns().and_then(|ns| u64::try_from(ns).ok());
    may_call().then(|| Triple::read(trace_ns, false)).flatten()
}

/// Half of what was asked for: a flush seals the buffers in use, and what is unfinished in them comes with the next one
/// (docs/hardware). So what a kill can cost is one interval and the depth of the GPU's queue.
fn interval_ns(session: &Session) -> i64 {
    let ms = match INTERVAL_MS.load(Ordering::Acquire) {
        0 => session.settings.flush_ms,
        changed => changed,
    };
    i64::try_from(ms).unwrap_or(500).max(2) * 1_000_000 / 2
}

/// A window that was closed and whose records have not all come.
#[derive(Clone, Copy)]
struct Drained {
    /// The gate's version when it was closed.
    version: u64,
    /// The newest buffer that can hold records of it.
    newest: u64,
    /// Since when it drains, monotonic.
    since_ns: i64,
}

struct Flush {
    session: &'static Session,
    next_flush_ns: i64,
    /// Completed buffers at the last look, and intervals since it changed.
    completed: u64,
    requested: u64,
    silent: u32,
    /// When they last changed, CLOCK_REALTIME.
    heard_ns: i64,
    /// Calls of our own that CUPTI did not ask us for a buffer for.
    unheard: u32,
    /// Intervals of silence after which the next heartbeat is due.
    ask_after: u32,
    /// What CUPTI said to the last flush, if it refused.
    refused: Option<CuptiError>,
    /// A flush has succeeded.
    has_flushed: bool,
    /// Its refusal was told.
    has_told: bool,
    /// The window being drained.
    drained: Option<Drained>,
    /// Whether CUPTI's clock can be trusted yet.
    settling: Settling,
    /// When CUPTI was last asked for dropped records, on the trace clock.
    asked_dropped_ns: i64,
}

impl Flush {
    fn new(session: &'static Session) -> Flush {
        Flush {
            session,
            next_flush_ns: sys::monotonic_ns() + interval_ns(session),
            completed: 0,
            requested: 0,
            silent: 0,
            heard_ns: sys::realtime_ns(),
            unheard: 0,
            ask_after: SILENT_INTERVALS,
            refused: None,
            has_flushed: false,
            has_told: false,
            drained: None,
            settling: Settling::default(),
            asked_dropped_ns: sys::realtime_ns(),
        }
    }

    fn run(mut self) {
        FLUSHES.works();
        self.check_devices();
        self.send_clocks();
        loop {
            let word = self.session.flush_word.load(Ordering::Acquire);
            if let Some(request) = exit::requested() {
                self.last_flush();
                // This must happen before the answer: whoever waits for the answer then has the file closed, and the
                // file says how much time this thread used.
                FLUSHES.rests();
                exit::answer(request);
                if request.is_last {
                    return;
                }
                FLUSHES.works();
                continue;
            }
            flight::ask_for_signal();
            self.flush_for_dumps();
            if !may_call() {
                // Nothing is left to do but to answer the exit handler.
                self.rest(word, None);
                continue;
            }
            let now_ns = sys::monotonic_ns();
            let timer_ns = GATE.tick(self.session, self.session.attached_ns, now_ns);
            self.obey();
            let interval_ns = interval_ns(self.session);
            // A shorter one than before holds at once.
            self.next_flush_ns = self.next_flush_ns.min(now_ns + interval_ns);
            if now_ns >= self.next_flush_ns {
                self.next_flush_ns = now_ns + interval_ns;
                self.interval();
            }
            if GATE.is_draining() {
                self.drain();
            }
            if self.settling.wanted_ns().is_some_and(|wanted_ns| now_ns >= wanted_ns) {
                self.send_clocks();
            }
            let wake_ns = timer_ns.unwrap_or(i64::MAX).min(self.next_flush_ns);
            let wake_ns = wake_ns.min(self.settling.wanted_ns().unwrap_or(i64::MAX));
            let wake_ns = match self.drained.filter(|_| GATE.is_draining()) {
                Some(window) if now_ns - window.since_ns < SHORT_DRAIN_NS => wake_ns.min(now_ns + DRAIN_NS),
                _ => wake_ns,
            };
            let wait_ns = (wake_ns - sys::monotonic_ns()).max(0);
            if wait_ns > 0 {
                self.rest(word, Some(wait_ns));
            }
        }
    }

    /// Sleeps until somebody calls or the time is over.
    fn rest(&self, word: u32, wait_ns: Option<i64>) {
        FLUSHES.rests();
        sys::futex_wait(&self.session.flush_word, word, wait_ns);
        FLUSHES.works();
    }

    /// Says so if this libcupti is older than one of the GPUs: it then records nothing, or not everything, silently.
    fn check_devices(&self) {
        for (device, (major, minor)) in self.session.driver.compute_capabilities().into_iter().enumerate() {
            if self.session.cupti.supports(major, minor) == Some(false) {
                let path = self.session.cupti.path.display();
                log::line(
                    1,
                    format_args!(
                        "GPU {device} (compute capability {major}.{minor}) is newer than {path}: records may be \
                         missing; name a newer one with GPUPROF_CUPTI"
                    ),
                );
                let text =
                    format!("GPU {device} is newer than the libcupti that recorded it: records may be missing");
                self.session.shared.send(Message::Note { start_ns: None, text: text.into() });
            }
        }
    }

    /// Reads the clocks and sends them to the writer.
    fn send_clocks(&mut self) {
        match read_clocks(self.session) {
            Some(mut triple) => {
                triple.provisional = !self.settling.saw(&triple);
                self.session.shared.send(Message::Clock(triple));
            }
            None => self.settling.give_up(),
        }
    }

    /// What is done every interval.
    fn interval(&mut self) {
        python::look();
        let outstanding = self.outstanding();
        if outstanding > 0 {
            self.flush(false);
            self.send_clocks();
            self.announce();
        }
        self.ask_dropped();
        self.listen();
    }

    /// Flushes that were asked for from outside.
    fn obey(&mut self) {
        let asked = ASKED.load(Ordering::Acquire);
        if asked == DONE.load(Ordering::Acquire) {
            return;
        }
        if self.outstanding() > 0 {
            self.flush(false);
            self.send_clocks();
            self.announce();
        }
        DONE.store(asked, Ordering::Release);
    }

    /// Fetches all that is over, for dumps that wait for it.
    fn flush_for_dumps(&mut self) {
        let wanted = flight::requests().unflushed();
        if wanted.is_empty() {
            return;
        }
        let pool = &self.session.shared.pool;
        let newest = pool.requested();
        let until_ns = sys::monotonic_ns() + DUMP_NS;
        // The first flush seals the buffers in use. Those that hold a kernel which still runs do not come; what came
        // late for another reason does.
        while self.outstanding() > 0 && may_call() {
            self.flush(false);
            sys::pause(HAND_OVER_NS);
            let is_over = sys::monotonic_ns() >= until_ns || exit::requested().is_some();
            if is_over || !pool.is_out_since(newest) {
                break;
            }
        }
        self.send_clocks();
        flight::requests().flushed(&wanted);
        self.session.shared.nudge();
    }

    /// Blocks that CUPTI holds.
    fn outstanding(&self) -> u64 {
        let pool = &self.session.shared.pool;
        pool.requested().saturating_sub(pool.completed())
    }

    fn flush(&mut self, forced: bool) {
        if !may_call() {
            return;
        }
        match self.session.cupti.flush(forced) {
            Ok(()) => (self.has_flushed, self.refused) = (true, None),
            Err(error) => {
                log::line(2, format_args!("{error}"));
                self.refused = Some(error);
            }
        }
    }

    /// Tells the writer that CUPTI has delivered: a good moment to write. CUPTI hands buffers over on a thread of its
    /// own (docs/hardware): not yet when the flush returns, but within milliseconds.
    fn announce(&self) {
        sys::pause(HAND_OVER_NS);
        self.session.shared.send(Message::Flushed);
    }

    /// Looks whether all records of the window that closed last have come.
    fn drain(&mut self) {
        let pool = &self.session.shared.pool;
        let version = GATE.version();
        let window = match self.drained {
            Some(window) if window.version == version => window,
            _ => Drained { version, newest: pool.requested(), since_ns: sys::monotonic_ns() },
        };
        self.drained = Some(window);
        // The first flush of a window seals the buffers in use: its records lie in those, later launches in new ones.
        self.flush(false);
        self.announce();
        if !pool.is_out_since(window.newest) {
            GATE.all_came(self.session, version);
        }
    }

    /// Records that CUPTI had no buffer for.
    fn ask_dropped(&mut self) {
        // CUPTI must not be asked before it has requested a buffer, nor from a buffer callback, because the question
        // takes CUPTI's own lock.
        if self.session.shared.pool.requested() == 0 || !may_call() {
            return;
        }
        let now_ns = self.session.cupti.timestamp_ns().unwrap_or_else(sys::realtime_ns);
        let dropped = self.session.cupti.dropped_records();
        if dropped > 0 {
            let (start_ns, end_ns) = (Some(self.asked_dropped_ns), Some(now_ns));
            let loss = Loss { start_ns, end_ns, rows: dropped, cause: Cause::Cupti, detail: None };
            self.session.shared.send(Message::Loss(loss));
        }
        self.asked_dropped_ns = now_ns;
    }

    /// Notices that another tool registered its own buffer callbacks: ours are then never called again.
    ///
    /// After a flush every record begins in a new buffer. So a driver call of our own must make CUPTI ask us for one;
    /// if it does not, it asks somebody else.
    fn listen(&mut self) {
        let pool = &self.session.shared.pool;
        let (requested, completed) = (pool.requested(), pool.completed());
        if (requested, completed) != (self.requested, self.completed) {
            (self.requested, self.completed) = (requested, completed);
            (self.silent, self.unheard, self.ask_after) = (0, 0, SILENT_INTERVALS);
            self.heard_ns = sys::realtime_ns();
            return;
        }
        self.silent = self.silent.saturating_add(1);
        if self.silent < self.ask_after || requested == 0 || !self.session.records_driver_calls() || !may_call() {
            return;
        }
        self.flush(false);
        let (calls, is_sure) = match self.outstanding() {
            0 => (1, false),
            // An unfinished record keeps its buffer with CUPTI; so does another tool that was given it in our place.
            // Calls that fill it, however empty it was, tell the one from the other.
            _ => (pool.block_bytes() / self.session.strides.of(CUPTI_ACTIVITY_KIND_DRIVER).max(16) + 1, true),
        };
        let is_enough = || pool.requested() != requested || exit::requested().is_some();
        if is_enough() || GATE.call(self.session, calls, is_enough).is_none() || exit::requested().is_some() {
            return;
        }
        if pool.requested() != requested {
            // It is the program that is silent. Ask less and less often.
            self.ask_after = (self.silent * 2).min(MAX_SILENT_INTERVALS);
            (self.silent, self.unheard) = (0, 0);
            self.flush(false);
            (self.requested, self.completed) = (pool.requested(), pool.completed());
            self.heard_ns = sys::realtime_ns();
            return;
        }
        self.unheard += 1;
        if self.unheard < UNHEARD && !is_sure {
            return;
        }
        let by = holder().unwrap_or_else(|| "another tool in the process".to_owned());
        log::line(1, format_args!("{by} took CUPTI over: what follows is not recorded"));
        self.session.shared.send(Message::Loss(Loss {
            start_ns: Some(self.heard_ns),
            end_ns: None,
            rows: 0,
            cause: Cause::TakenOver,
            detail: Some(format!("CUPTI taken over by {by}").into()),
        }));
        mute();
    }

    /// What an exit handler waits for: everything that is complete, and then what is not.
    ///
    /// Every handler gets all of it: after the first the driver may be down.
    fn last_flush(&mut self) {
        // Never when no buffer was asked for: it hangs in processes that did nothing on a GPU.
        if self.session.shared.pool.requested() == 0 {
            return;
        }
        self.flush(false);
        // The last kernels are often a few milliseconds from their end, and a record with times is worth that.
        let until_ns = sys::monotonic_ns() + LAST_KERNELS_NS;
        while self.outstanding() > 0 && may_call() && sys::monotonic_ns() < until_ns {
            sys::pause(2_000_000);
            self.flush(false);
        }
        if self.outstanding() > 0 {
            // Unfinished kernels come without times; the rest of their buffers would be lost with them.
            self.flush(true);
            // CUPTI's own thread hands them over, soon after the flush returned.
            let until_ns = sys::monotonic_ns() + LAST_KERNELS_NS;
            while self.outstanding() > 0 && may_call() && sys::monotonic_ns() < until_ns {
                sys::pause(1_000_000);
            }
        }
        self.tell_refusal();
        self.ask_dropped();
        // A later reading of the clocks would be no better.
        if let Some(triple) = read_clocks(self.session) {
            self.session.shared.send(Message::Clock(triple));
        }
    }

    /// Says so if CUPTI keeps buffers because it refuses to flush. That it does once the driver is gone means nothing.
    fn tell_refusal(&mut self) {
        let is_gone = |e: &CuptiError| e.code == CUPTI_ERROR_NOT_INITIALIZED && self.has_flushed;
        let Some(error) = self.refused.filter(|e| !is_gone(e)).filter(|_| self.outstanding() > 0) else { return };
        if std::mem::replace(&mut self.has_told, true) {
            return;
        }
        log::line(
            1,
            format_args!("{error}: what CUPTI did not hand over is missing; `gpuprof doctor` tries others"),
        );
        self.session.shared.send(Message::Loss(Loss {
            start_ns: None,
            end_ns: None,
            rows: 0,
            cause: Cause::FlushDeadline,
            detail: Some(error.to_string().into()),
        }));
    }
}
