//! `--budget`: opens and closes windows so that what recording takes stays a given share of the time.
//!
//! What is counted, and how:
//!
//! - calls that CUPTI intercepts while a window is open: their number is the difference of two correlation ids, and what one
//!   takes is measured when the first window opens, with calls of our own. A runtime call contains a driver call of the same
//!   id, so it counts twice, as far as the records say that calls are of the runtime;
//! - kernels, copies and fills that come with a record, left out or not, at what one cost on an H100: they cannot be tried out
//!   in somebody else's program;
//! - CPU time of our own threads, by their clocks, also while no window is open;
//! - where steps are windows, how long the program's thread was in the gate.

use shim_config::Capture;

use super::bucket::Bucket;
use super::{Edge, Gate, Phase, State};
use crate::session::Session;
use crate::sync::atomic::Ordering;
use crate::writer::Progress;
use crate::{own_cost, sys};

/// How often an open window is looked at.
const CHECK_NS: i64 = 10_000_000;
/// What recording a kernel adds to its launch beside the record of the call: 1.4 to 1.7 µs (docs/hardware, `floor-kernels` and
/// `kernels` beside `bare`).
const WORK_NS: f64 = 1_600.0;
/// What an intercepted call takes if it cannot be measured.
const CALL_NS: f64 = 1_000.0;
/// Calls of our own by which that is measured, without CUPTI and with it.
const TRIES: usize = 32;

/// What recording took so far, in nanoseconds, by what for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// In calls of the program that CUPTI intercepted.
    pub calls_ns: f64,
    /// For records of kernels, copies and fills.
    pub work_ns: f64,
    /// CPU time of our own threads.
    pub threads_ns: f64,
    /// The program's threads, opening and closing windows.
    pub switching_ns: f64,
}

/// What the gate did with its budget.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// When the counting ended, on the trace clock.
    pub ended_ns: i64,
    /// What an intercepted call takes.
    pub call_ns: f64,
    /// What was spent.
    pub spent: Spent,
}

/// The budget of this process, and what came of it so far.
pub(super) struct Budget {
    bucket: Bucket,
    spent: Spent,
    /// Windows are steps, which the program's threads open and close.
    is_by_steps: bool,
    call_ns: f64,
    is_measured: bool,
    /// Calls up to this id are paid.
    paid_id: Option<u64>,
    /// Records of work that are paid.
    paid_work: u64,
    /// CPU time of our threads that is paid.
    paid_threads_ns: i64,
    /// When the open window opened and is to close, monotonic.
    opened_ns: i64,
    closes_ns: i64,
    /// With windows of steps: steps are recorded until `closes_ns`, and the last of them ended at `stepped_ns`.
    is_stepping: bool,
    stepped_ns: i64,
    /// How many calls an id stands for, 1 to 2.
    calls_per_id: f64,
}

impl Budget {
    pub(super) fn of(session: &Session) -> Option<Budget> {
        let share = session.settings.budget?.share();
        let now_ns = sys::monotonic_ns();
        let seed = now_ns.unsigned_abs() ^ (u64::from(sys::getpid()) << 32);
        Some(Budget {
            bucket: Bucket::new(share, seed, now_ns),
            spent: Spent::default(),
            is_by_steps: matches!(session.settings.capture, Capture::Nvtx { .. }),
            call_ns: CALL_NS,
            is_measured: false,
            paid_id: None,
            paid_work: 0,
            paid_threads_ns: 0,
            opened_ns: 0,
            closes_ns: 0,
            is_stepping: false,
            stepped_ns: 0,
            calls_per_id: 2.0,
        })
    }

    fn open(&mut self, now_ns: i64) {
        let length_ns = self.bucket.open();
        (self.opened_ns, self.closes_ns) = (now_ns, now_ns.saturating_add(length_ns));
    }

    /// Whether the window that is open goes on at `now_ns`.
    fn goes_on(&mut self, now_ns: i64) -> bool {
        if self.bucket.is_overdrawn() {
            return false;
        }
        if now_ns >= self.closes_ns {
            let Some(more_ns) = self.bucket.goes_on() else { return false };
            self.closes_ns = now_ns.saturating_add(more_ns);
        }
        true
    }

    /// Whether a step that begins is recorded: some steps are, one after the other, and then none for a while.
    fn allows_step(&mut self, now_ns: i64) -> bool {
        self.bucket.fill(now_ns);
        if self.is_stepping {
            if self.goes_on(now_ns) {
                return true;
            }
            self.is_stepping = false;
            self.bucket.close(self.stepped_ns.saturating_sub(self.opened_ns));
        }
        if self.bucket.has_enough() {
            self.is_stepping = true;
            self.open(now_ns);
        }
        self.is_stepping
    }

    /// Pays for the calls up to `id`; `own`: so many of them were ours.
    fn pay_calls(&mut self, id: Option<u64>, own: u64) {
        if let (Some(id), Some(paid)) = (id, self.paid_id) {
            let calls = id.saturating_sub(paid).saturating_sub(own) as f64;
            let ns = calls * self.calls_per_id * self.call_ns;
            self.spent.calls_ns += ns;
            self.bucket.spend(ns);
        }
        self.paid_id = id.or(self.paid_id);
    }

    /// Pays for what the writer has seen since.
    fn pay_work(&mut self, progress: &Progress) {
        let work = progress.work();
        let ns = work.saturating_sub(self.paid_work) as f64 * WORK_NS;
        self.paid_work = work;
        self.spent.work_ns += ns;
        self.bucket.spend(ns);
        let (runtime, driver) = (progress.runtime_calls() as f64, progress.driver_calls() as f64);
        if runtime + driver > 0.0 {
            self.calls_per_id = 1.0 + runtime / (runtime + driver);
        }
    }

    /// Pays for what our threads took. To be called on the flush thread.
    fn pay_threads(&mut self, of_window: bool) {
        let taken_ns = sys::thread_cpu_ns().saturating_add(own_cost::of_others());
        let ns = taken_ns.saturating_sub(self.paid_threads_ns).max(0) as f64;
        self.paid_threads_ns = self.paid_threads_ns.max(taken_ns);
        self.spent.threads_ns += ns;
        self.bucket.spend_upkeep(ns, of_window);
    }

    /// Pays for how long a thread of the program was at opening or closing a window.
    fn pay_switching(&mut self, since_ns: i64, now_ns: i64) {
        if self.is_by_steps {
            let ns = now_ns.saturating_sub(since_ns) as f64;
            self.spent.switching_ns += ns;
            self.bucket.spend_upkeep(ns, true);
        }
    }
}

/// What measuring beforehand has found: a call without CUPTI, in nanoseconds.
pub(super) struct Tried(Option<i64>);

fn median(mut times_ns: Vec<i64>) -> Option<i64> {
    times_ns.sort_unstable();
    times_ns.get(times_ns.len() / 2).copied()
}

impl Gate {
    /// A window is about to open: measures, once, what a call takes while nothing is recorded.
    pub(super) fn before_opening(&self, state: &State, session: &Session) -> Option<Tried> {
        state.budget.as_ref().filter(|budget| !budget.is_measured)?;
        let time_ns = || {
            let since_ns = sys::monotonic_ns();
            session.driver.device_count().map(|_| sys::monotonic_ns() - since_ns)
        };
        let times_ns: Option<Vec<i64>> = (0..TRIES).map(|_| time_ns()).collect();
        Some(Tried(times_ns.and_then(median)))
    }

    /// A window has opened, behind the call `after`.
    pub(super) fn has_opened(
        &self,
        state: &mut State,
        session: &Session,
        after: Option<u64>,
        since_ns: i64,
        tried: Option<Tried>,
    ) {
        let Some(budget) = &mut state.budget else { return };
        budget.paid_id = after;
        if let Some(Tried(without_ns)) = tried {
            budget.is_measured = true;
            let (mut times_ns, mut last_ns) = (Vec::with_capacity(TRIES), sys::monotonic_ns());
            let mut newest = after;
            session.call_numbered(TRIES + 1, |id| {
                let id = self.widen(id);
                self.bounds().own_calls.add(id, id + 1);
                newest = Some(id);
                let now_ns = sys::monotonic_ns();
                times_ns.push(now_ns - last_ns);
                last_ns = now_ns;
                false
            });
            // The first is the way there.
            let with_ns = median(times_ns.split_off(1.min(times_ns.len())));
            if let (Some(with_ns), Some(without_ns)) = (with_ns, without_ns) {
                budget.call_ns = with_ns.saturating_sub(without_ns).max(0) as f64;
            }
            self.bounds().own_changes += 1;
            // Calls of the program meanwhile are a handful.
            budget.paid_id = newest;
        }
        let now_ns = sys::monotonic_ns();
        if !budget.is_by_steps {
            budget.open(now_ns);
        }
        budget.pay_switching(since_ns, now_ns);
    }

    /// The window has closed, before the call `before`.
    pub(super) fn has_closed(&self, state: &mut State, session: &Session, before: Option<u64>, since_ns: i64) {
        let Some(budget) = &mut state.budget else { return };
        let now_ns = sys::monotonic_ns();
        budget.pay_calls(before, 0);
        budget.pay_work(&session.shared.progress);
        if budget.is_by_steps {
            budget.stepped_ns = now_ns;
        } else {
            budget.bucket.close(now_ns.saturating_sub(budget.opened_ns));
        }
        budget.pay_switching(since_ns, now_ns);
    }

    /// Whether the step that begins now is one that the budget allows.
    pub(super) fn allows_step(state: &mut State) -> bool {
        let Some(budget) = &mut state.budget else { return true };
        let is_allowed = budget.allows_step(sys::monotonic_ns());
        // The next window tells how many steps it stands for.
        state.idle_starts += i64::from(!is_allowed);
        is_allowed
    }

    /// The number of the newest call, found by one of our own, which leaves no row.
    fn newest_call(&self, session: &Session) -> Option<u64> {
        let mut newest = None;
        session.call_numbered(1, |id| {
            let id = self.widen(id);
            let mut bounds = self.bounds();
            bounds.own_calls.add(id, id + 1);
            bounds.own_calls.keep_newest(super::OWN_CALLS);
            bounds.own_changes += 1;
            newest = Some(id);
            true
        })?;
        self.version.fetch_add(1, Ordering::Release);
        newest
    }

    /// What the budget has to do at monotonic time `now_ns`, and when it is wanted next. To be called on the flush thread.
    pub(super) fn tick_budget(&self, session: &Session, now_ns: i64) -> Option<i64> {
        let mut state = self.lock();
        let state = &mut *state;
        let phase = state.phase;
        let budget = state.budget.as_mut()?;
        budget.bucket.fill(now_ns);
        budget.pay_threads(phase != Phase::Closed);
        budget.pay_work(&session.shared.progress);
        if budget.is_by_steps {
            return None;
        }
        if phase != Phase::Open {
            if !budget.bucket.has_enough() {
                return Some(now_ns.saturating_add(budget.bucket.wait_ns()));
            }
            self.open(state, session, Edge::Now);
        } else {
            let newest = self.newest_call(session);
            let own = u64::from(newest.is_some());
            budget.pay_calls(newest, own);
            if !budget.goes_on(now_ns) {
                self.close(state, session, Edge::Now);
            }
        }
        let budget = state.budget.as_ref()?;
        Some(match state.phase {
            Phase::Open => budget.closes_ns.min(now_ns.saturating_add(CHECK_NS)),
            _ => now_ns.saturating_add(budget.bucket.wait_ns()),
        })
    }

    /// When the counting of the budget began, on the trace clock: when somebody first asked.
    pub fn budget_began_ns(&self, session: &Session) -> i64 {
        let now_ns = Gate::now_ns(session);
        match self.budget_began_ns.compare_exchange(0, now_ns, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => now_ns,
            Err(began_ns) => began_ns,
        }
    }

    /// What came of the budget. The gate is locked by the caller.
    pub(super) fn account(&self, state: &State, session: &Session) -> Option<Account> {
        let budget = state.budget.as_ref()?;
        Some(Account { ended_ns: Gate::now_ns(session), call_ns: budget.call_ns, spent: budget.spent })
    }
}
