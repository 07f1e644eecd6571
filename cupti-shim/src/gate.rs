//! When records are kept: the windows that a capture mode opens and closes.
//!
//! A window is a span of correlation ids: CUPTI counts every API call of the process in one counter, so "launched
//! inside the window" is a comparison of two numbers, covers the nodes of graphs, and needs no API record. The ids are
//! those of `cuProfilerStart` and `cuProfilerStop` themselves, or of a cheap driver call that we make at the moment the
//! window opens and closes. A window without ids (the driver did not answer) falls back to times.
//!
//! Opening and closing happen on the caller's thread and are complete when they return. Records of a window that
//! closed go on coming while its last kernels run: the gate is then *draining*, and the flush thread ends that.
//!
//! The lock of the gate may be held while kinds are switched, in which CUPTI can hang. It is taken by API callbacks, NVTX
//! calls, our own threads, and never by a buffer callback. What the writer judges records by has a lock of its own, which
//! is never held during a call of CUPTI, so that a CUPTI that hangs does not keep the writer.

mod bucket;
mod budget;
mod filter;
mod nvtx;
mod spans;
mod window;

use std::sync::{PoisonError, TryLockError};

use shim_config::{Capture, Settings};

use crate::correlation::Correlation;
use crate::messages::{Cause, Loss, Message};
use crate::session::Session;
use crate::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard};
use crate::{cupti, log, sys};

pub use budget::Account;
use budget::Budget;
pub use filter::{Filter, Seen};
pub use nvtx::{nvtx_begin, nvtx_end, nvtx_wants};
use spans::Spans;
pub use window::Window;

/// How long a call of the program waits for the gate. Switching takes milliseconds; some versions of CUPTI can hang in it.
const PATIENCE_NS: i64 = 2_000_000_000;
/// Windows that are remembered for filtering; records of older ones can no longer come.
const WINDOWS: usize = 4096;
/// Spans of calls of our own that are remembered, the newest half at least; their records come with a flush.
const OWN_CALLS: usize = 4096;
/// Names of NVTX ranges that are remembered while none matched, for the message that says so.
const NAMES: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Closed,
    Open,
    /// Closed, but what was launched before may still be running: until all of it has come, however long that takes. A
    /// record that is given up is lost, and nobody would know how many there were.
    Draining,
}

struct State {
    phase: Phase,
    /// Windows opened so far.
    opened: u32,
    /// Start requests that changed nothing since the gate last closed, and stop requests likewise.
    idle_starts: i64,
    idle_stops: i64,
    /// NVTX ranges that match and are open now.
    depth: u32,
    /// How many ranges that match have begun so far while no other of them was open.
    steps: u64,
    /// Whether the last of those is recorded: a cycle passes over some.
    is_chosen: bool,
    /// The timer has opened its window, and closed it: once each, whoever else switches the gate.
    timer_began: bool,
    timer_ended: bool,
    /// Names of NVTX ranges that did not match.
    names: Vec<Vec<u8>>,
    /// What opens and closes the windows where recording may cost only so much.
    budget: Option<Budget>,
}

/// What the writer judges records by. Changed only by who holds the lock of the gate too.
struct Bounds {
    /// The newest ones. Only the last of them can still change, and only while it is open.
    windows: Vec<Window>,
    /// How many came before these and are forgotten.
    forgotten: u64,
    /// Correlation ids of driver calls that we made ourselves.
    own_calls: Spans<u64>,
    /// How often these have changed.
    own_changes: u64,
}

impl Bounds {
    const fn none() -> Bounds {
        Bounds { windows: Vec::new(), forgotten: 0, own_calls: Spans::new(), own_changes: 0 }
    }
}

/// What the gate did in a whole run.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Windows opened.
    pub opened: u32,
    /// One of them was open from the beginning to the end, so that nothing lay outside.
    pub is_everything: bool,
    /// Stop requests that came and closed nothing.
    pub idle_stops: i64,
    /// NVTX ranges that matched, recorded or not.
    pub steps: u64,
    /// What came of the budget, where there is one.
    pub account: Option<Account>,
    /// Names of NVTX ranges seen that did not match, when one was waited for.
    pub names: Vec<Vec<u8>>,
}

/// What came of a request to open or close the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switched {
    /// It was not so before.
    pub changed: bool,
    /// It stayed closed because all windows that are allowed were opened.
    pub is_exhausted: bool,
    /// Windows opened so far.
    pub windows: u32,
}

/// Where a window begins or ends.
#[derive(Clone, Copy)]
enum Edge {
    /// The edge is a call, which has this number of CUPTI's.
    Call(u64),
    /// The edge is this moment.
    Now,
}

/// The gate of this process.
pub struct Gate {
    state: Mutex<State>,
    /// Locked after `state`, and for no longer than it takes to read or to change.
    bounds: Mutex<Bounds>,
    /// The phase, for who must not wait for the lock: one of the constants below.
    phase: AtomicU8,
    /// Changes with every window that opens or closes.
    version: AtomicU64,
    /// The newest correlation id seen, to widen CUPTI's 32-bit counter with.
    newest: AtomicU64,
    /// Windows opened so far, for who must not wait for the lock.
    windows: AtomicU32,
    /// How many may be opened; 0: no limit.
    max_ranges: AtomicU64,
    /// Whether NVTX ranges open this gate: asked on every range, so it costs one load.
    wants_nvtx: AtomicBool,
    /// Whether names of ranges that do not match are of no more interest.
    names_done: AtomicBool,
    /// CUPTI keeps somebody inside the lock: nobody waits for it any more.
    is_stuck: AtomicBool,
    /// When the counting of the budget began, on the trace clock; 0: nobody has asked.
    budget_began_ns: AtomicI64,
}

const CLOSED: u8 = 0;
const OPEN: u8 = 1;
const DRAINING: u8 = 2;

/// The gate of this process.
pub static GATE: Gate = Gate::new();

impl Gate {
    const fn new() -> Gate {
        let state = State {
            phase: Phase::Closed,
            opened: 0,
            idle_starts: 0,
            idle_stops: 0,
            depth: 0,
            steps: 0,
            is_chosen: false,
            timer_began: false,
            timer_ended: false,
            names: Vec::new(),
            budget: None,
        };
        Gate {
            state: Mutex::new(state),
            bounds: Mutex::new(Bounds::none()),
            phase: AtomicU8::new(CLOSED),
            version: AtomicU64::new(0),
            newest: AtomicU64::new(0),
            windows: AtomicU32::new(0),
            max_ranges: AtomicU64::new(0),
            wants_nvtx: AtomicBool::new(false),
            names_done: AtomicBool::new(false),
            is_stuck: AtomicBool::new(false),
            budget_began_ns: AtomicI64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while it was held left a valid state: every change is a whole assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock, unless CUPTI keeps somebody inside it for longer than `deadline_ns` (monotonic), or for ever.
    fn lock_until(&self, deadline_ns: i64) -> Option<MutexGuard<'_, State>> {
        loop {
            match self.state.try_lock() {
                Ok(state) => return Some(state),
                Err(TryLockError::Poisoned(state)) => return Some(state.into_inner()),
                // Nobody gives back a lock with which CUPTI hangs.
                Err(TryLockError::WouldBlock) if self.is_stuck.load(Ordering::Relaxed) => return None,
                Err(TryLockError::WouldBlock) if sys::monotonic_ns() >= deadline_ns => return None,
                Err(TryLockError::WouldBlock) => sys::pause(1_000_000),
            }
        }
    }

    /// What records are judged by.
    fn bounds(&self) -> MutexGuard<'_, Bounds> {
        self.bounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What records are judged by, once nobody is at changing it: a window that opens or closes is seen whole. Nobody
    /// waits for a change in which CUPTI hangs; what is known of the window by then has to do.
    fn settled_bounds(&self) -> MutexGuard<'_, Bounds> {
        let deadline_ns = sys::monotonic_ns().saturating_add(PATIENCE_NS);
        while cupti::may_call() && sys::monotonic_ns() < deadline_ns {
            match self.state.try_lock() {
                Err(TryLockError::WouldBlock) => sys::pause(100_000),
                // Held until its bounds are: nobody changes them in between.
                _changing => return self.bounds(),
            }
        }
        self.bounds()
    }

    /// The lock, for a call of the program. None: CUPTI keeps somebody inside, and the recording has ended.
    fn enter(&self, session: Option<&Session>) -> Option<MutexGuard<'_, State>> {
        let state = self.lock_until(sys::monotonic_ns().saturating_add(PATIENCE_NS));
        if state.is_none() && !self.is_stuck.swap(true, Ordering::Relaxed) {
            cupti::mute();
            log::line(1, format_args!("CUPTI hangs while it is switched: what follows is not recorded"));
            if let Some(session) = session {
                let detail = Some("CUPTI did not come back from being switched on or off".into());
                let (start_ns, cause) = (Some(sys::realtime_ns()), Cause::FlushDeadline);
                session.shared.send(Message::Loss(Loss { start_ns, end_ns: None, rows: 0, cause, detail }));
            }
        }
        state
    }

    fn set_phase(&self, state: &mut State, phase: Phase) {
        state.phase = phase;
        let code = match phase {
            Phase::Closed => CLOSED,
            Phase::Open => OPEN,
            Phase::Draining => DRAINING,
        };
        self.phase.store(code, Ordering::Release);
    }

    /// Says that NVTX ranges open this gate: from the first of them on, which may come long before CUDA.
    pub fn listen_to_nvtx(&self, settings: &Settings) {
        self.wants_nvtx.store(matches!(settings.capture, Capture::Nvtx { .. }), Ordering::Release);
    }

    /// Sets the gate up for `session`; opens it where its mode starts open, or a range that matches is open already.
    pub fn arm(&self, session: &Session) {
        self.listen_to_nvtx(session.settings);
        self.set_max_ranges(session.settings.max_ranges);
        let mut state = self.lock();
        state.budget = Budget::of(session);
        if state.budget.is_some() {
            // A range that began before CUDA was not asked about.
            state.is_chosen = false;
            return;
        }
        if session.settings.capture.starts_open() || (state.depth > 0 && state.is_chosen) {
            // Everything from the first call on: id 0 is never given to a call.
            self.open(&mut state, session, Edge::Call(0));
            state.timer_began = true;
        }
    }

    /// From here on so many windows may be opened; 0: no limit.
    pub fn set_max_ranges(&self, most: u64) {
        self.max_ranges.store(most, Ordering::Relaxed);
    }

    fn now_ns(session: &Session) -> i64 {
        cupti::may_call().then(|| session.cupti.timestamp_ns()).flatten().unwrap_or_else(sys::realtime_ns)
    }

    fn widen(&self, id: u32) -> u64 {
        let wide = Correlation::at(self.newest.load(Ordering::Relaxed)).widen(id);
        self.newest.fetch_max(wide, Ordering::Relaxed);
        wide
    }

    fn id_of(&self, session: &Session, edge: Edge) -> Option<u64> {
        match edge {
            Edge::Call(id) => Some(id),
            Edge::Now => session.current_correlation().map(|id| self.widen(id)),
        }
    }

    /// Opens a window, unless one is open or all allowed ones were.
    fn open(&self, state: &mut State, session: &Session, edge: Edge) {
        let most = self.max_ranges.load(Ordering::Relaxed);
        let exhausted = most != 0 && u64::from(state.opened) >= most;
        let is_open = state.phase == Phase::Open;
        if is_open || exhausted {
            match self.bounds().windows.last_mut() {
                Some(window) if is_open => window.starts += 1,
                _ => state.idle_starts += 1,
            }
            return;
        }
        let since_ns = if state.budget.is_some() { sys::monotonic_ns() } else { 0 };
        let tried = self.before_opening(state, session);
        let after = self.id_of(session, edge);
        if state.phase == Phase::Closed {
            session.switch_gpu_kinds(true);
        }
        if session.hears_calls() {
            // Records of calls reach the writer at once, not by a flush. From here on it waits until the gate is open, or it
            // would leave out what other threads call before the window is known.
            self.version.fetch_add(1, Ordering::Release);
        }
        session.switch_api_kinds(true);
        let (starts, stops) = (1 + state.idle_starts, state.idle_stops);
        (state.idle_starts, state.idle_stops) = (0, 0);
        let start_ns = if after == Some(0) { 0 } else { Gate::now_ns(session) };
        let mut bounds = self.bounds();
        if bounds.windows.len() >= WINDOWS {
            bounds.windows.drain(..WINDOWS / 2);
            bounds.forgotten += WINDOWS as u64 / 2;
        }
        bounds.windows.push(Window { after, before: None, start_ns, end_ns: None, starts, stops });
        drop(bounds);
        state.opened += 1;
        self.windows.store(state.opened, Ordering::Relaxed);
        self.names_done.store(true, Ordering::Relaxed);
        self.set_phase(state, Phase::Open);
        self.has_opened(state, session, after, since_ns, tried);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Closes the open window.
    fn close(&self, state: &mut State, session: &Session, edge: Edge) {
        if state.phase != Phase::Open {
            state.idle_stops += 1;
            return;
        }
        let since_ns = if state.budget.is_some() { sys::monotonic_ns() } else { 0 };
        if let Edge::Call(id) = edge {
            // Before the kinds are switched, which takes a while: other threads go on launching, and the writer must not
            // take what they launch now for the window's. From here on it waits until the gate is closed.
            if let Some(window) = self.bounds().windows.last_mut() {
                window.before = Some(id);
            }
            self.version.fetch_add(1, Ordering::Release);
        }
        session.switch_api_kinds(false);
        let before = self.id_of(session, edge);
        let end_ns = Gate::now_ns(session);
        if let Some(window) = self.bounds().windows.last_mut() {
            window.before = before;
            window.end_ns = Some(end_ns);
            window.stops += 1;
            session.shared.send(Message::Capture(window.row()));
        }
        // On 13.0 Update 1 nothing is lost when the kinds of the GPU go off at once (docs/hardware: 21 of 21, 2805 of
        // 2805); of other versions nobody knows, and with them the drain is over in milliseconds too.
        self.set_phase(state, Phase::Draining);
        self.has_closed(state, session, before, since_ns);
        self.version.fetch_add(1, Ordering::Release);
        session.wake_flush_thread();
    }

    /// `cuProfilerStart` returned; `id` is the correlation id of that call.
    pub fn profiler_start(&self, session: &Session, id: u32) {
        let after = self.widen(id);
        if self.obeys_profiler_api(session) {
            session.synchronize_if_asked();
            if let Some(mut state) = self.enter(Some(session)) {
                self.open(&mut state, session, Edge::Call(after));
            }
        } else if session.settings.budget.is_none()
            && let Some(mut state) = self.enter(Some(session))
        {
            state.idle_starts += 1;
        }
    }

    /// `cuProfilerStop` was called; `id` is the correlation id of that call.
    pub fn profiler_stop(&self, session: &Session, id: u32) {
        let before = self.widen(id);
        if self.obeys_profiler_api(session) {
            session.synchronize_if_asked();
            if let Some(mut state) = self.enter(Some(session)) {
                self.close(&mut state, session, Edge::Call(before));
            }
        } else if session.settings.budget.is_none()
            && let Some(mut state) = self.enter(Some(session))
        {
            state.idle_stops += 1;
        }
    }

    /// With capture from the start Stop closes too, as in nvprof. A budget obeys nobody: windows that somebody else opened
    /// and closed would stand for nothing but themselves.
    fn obeys_profiler_api(&self, session: &Session) -> bool {
        session.settings.budget.is_none() && matches!(session.settings.capture, Capture::All | Capture::ProfilerApi)
    }

    /// What a timer has to do at monotonic time `now_ns`, and when it is wanted next.
    ///
    /// `attached_ns`: when this process made its first CUDA call, on the same clock.
    pub fn tick(&self, session: &Session, attached_ns: i64, now_ns: i64) -> Option<i64> {
        if session.settings.budget.is_some() {
            return self.tick_budget(session, now_ns);
        }
        let Capture::Delay { delay_ns, duration_ns } = &session.settings.capture else { return None };
        let begin_ns = attached_ns.saturating_add_unsigned(*delay_ns);
        let end_ns = duration_ns.map(|d| begin_ns.saturating_add_unsigned(d));
        let mut state = self.lock();
        if !state.timer_began {
            if now_ns < begin_ns {
                return Some(begin_ns);
            }
            state.timer_began = true;
            self.open(&mut state, session, Edge::Now);
            return end_ns;
        }
        let end_ns = end_ns.filter(|_| !state.timer_ended)?;
        if now_ns < end_ns {
            return Some(end_ns);
        }
        state.timer_ended = true;
        self.close(&mut state, session, Edge::Now);
        None
    }

    /// Opens or closes the gate on request from outside, which every mode obeys: a switch beside its own.
    ///
    /// None: CUPTI held somebody inside the gate beyond `deadline_ns` (monotonic).
    pub fn switch(&self, session: &Session, on: bool, deadline_ns: i64) -> Option<Switched> {
        let mut state = self.lock_until(deadline_ns)?;
        let was_open = state.phase == Phase::Open;
        if on {
            self.open(&mut state, session, Edge::Now);
        } else {
            self.close(&mut state, session, Edge::Now);
        }
        let is_open = state.phase == Phase::Open;
        Some(Switched { changed: was_open != is_open, is_exhausted: on && !is_open, windows: state.opened })
    }

    /// Windows opened so far.
    pub fn windows(&self) -> u32 {
        self.windows.load(Ordering::Relaxed)
    }

    /// The phase as a word: `open`, `closed` or `draining`.
    pub fn state(&self) -> &'static str {
        match self.phase.load(Ordering::Acquire) {
            OPEN => "open",
            DRAINING => "draining",
            _ => "closed",
        }
    }

    /// Ends draining: everything of the window that was the last at `version` has come.
    pub fn all_came(&self, session: &Session, version: u64) {
        let mut state = self.lock();
        // Another window may have opened and closed since the caller looked, and its kernels still run.
        if state.phase == Phase::Draining && self.version() == version {
            session.switch_gpu_kinds(false);
            self.set_phase(&mut state, Phase::Closed);
        }
    }

    /// Whether records of a closed window are still awaited.
    pub fn is_draining(&self) -> bool {
        self.phase.load(Ordering::Acquire) == DRAINING
    }

    /// A number that changes with every window that opens or closes.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Whether a window is open.
    pub fn is_open(&self) -> bool {
        self.phase.load(Ordering::Acquire) == OPEN
    }

    /// Makes driver calls of our own until `is_enough` or `most` were made; their records do not belong into the trace.
    /// None: one could not be made, or the window closed meanwhile, after which no call leaves a record.
    pub fn call(&self, session: &Session, most: usize, is_enough: impl Fn() -> bool) -> Option<()> {
        let state = self.lock();
        if state.phase != Phase::Open {
            return None;
        }
        let made = session.call_numbered(most, |id| {
            let id = self.widen(id);
            self.bounds().own_calls.add(id, id + 1);
            is_enough()
        });
        let mut bounds = self.bounds();
        bounds.own_calls.keep_newest(OWN_CALLS);
        bounds.own_changes += 1;
        drop(bounds);
        self.version.fetch_add(1, Ordering::Release);
        made
    }

    /// Sends the row of a window that is still open, and says what happened: the last act of a run.
    ///
    /// None: CUPTI held somebody inside the gate beyond `deadline_ns` (monotonic).
    pub fn finish(&self, session: &Session, deadline_ns: i64) -> Option<Summary> {
        let state = self.lock_until(deadline_ns)?;
        let bounds = self.bounds();
        if let (Phase::Open, Some(window)) = (state.phase, bounds.windows.last()) {
            session.shared.send(Message::Capture(window.row()));
        }
        let is_everything = Window::hold_everything(&bounds.windows);
        let (opened, idle_stops, names) = (state.opened, state.idle_stops, state.names.clone());
        let (steps, account) = (state.steps, self.account(&state, session));
        Some(Summary { opened, is_everything, idle_stops, steps, account, names })
    }

    /// What a forked child forgets ([`crate::fork`]): all windows, names, counts and the phase of its parent's gate.
    ///
    /// False: a thread of the parent held the gate at the fork. That thread does not exist in this child, so the child
    /// cannot record.
    pub fn forget(&self) -> bool {
        let Ok(mut state) = self.state.try_lock() else { return false };
        let Ok(mut bounds) = self.bounds.try_lock() else { return false };
        *bounds = Bounds::none();
        state.names.clear();
        (state.opened, state.depth, state.idle_starts, state.idle_stops) = (0, 0, 0, 0);
        (state.steps, state.is_chosen) = (0, false);
        (state.timer_began, state.timer_ended) = (false, false);
        state.budget = None;
        self.budget_began_ns.store(0, Ordering::Relaxed);
        self.windows.store(0, Ordering::Relaxed);
        self.set_phase(&mut state, Phase::Closed);
        self.newest.store(0, Ordering::Relaxed);
        self.names_done.store(false, Ordering::Relaxed);
        self.is_stuck.store(false, Ordering::Relaxed);
        true
    }
}
