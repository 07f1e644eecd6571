//! What the control thread works with when it answers a request: the session, and what it remembers between requests.

use serde_json::{Map, Value, json};
use shim_config::Settings;

use crate::gate::GATE;
use crate::session::Session;
use crate::writer::Phase;
use crate::{cupti, exit, sys};

/// How long a request waits for the gate while CUPTI keeps somebody else in it.
const GATE_NS: i64 = 2_000_000_000;
/// The shortest time over which a rate says something.
const RATE_NS: i64 = 1_000_000_000;

/// What a request comes to.
pub(super) enum Answer {
    /// It was done; this is what there is to say about it.
    Done(Map<String, Value>),
    /// It was not, for this reason.
    Refused(String),
    /// It is not over yet.
    Later(Later),
}

/// What goes on at a later time, while other clients are served.
pub(super) struct Later {
    /// When, monotonic.
    pub(super) at_ns: i64,
    /// How.
    pub(super) go_on: Box<dyn FnOnce(&mut State) -> Answer>,
}

impl Answer {
    /// Goes on `wait_ns` from now.
    pub(super) fn after(wait_ns: i64, go_on: impl FnOnce(&mut State) -> Answer + 'static) -> Answer {
        Answer::Later(Later { at_ns: sys::monotonic_ns().saturating_add(wait_ns), go_on: Box::new(go_on) })
    }

    /// Done, with these facts; `facts` is an object.
    pub(super) fn done(facts: Value) -> Answer {
        match facts {
            Value::Object(facts) => Answer::Done(facts),
            _ => Answer::Done(Map::new()),
        }
    }
}

impl From<Result<Answer, String>> for Answer {
    fn from(result: Result<Answer, String>) -> Answer {
        result.unwrap_or_else(Answer::Refused)
    }
}

/// What the control thread remembers.
pub(super) struct State {
    /// The recording.
    pub(super) session: &'static Session,
    /// The settings as they are now: some can be changed.
    pub(super) settings: Settings,
    rate: Rate,
}

impl State {
    pub(super) fn new(session: &'static Session) -> State {
        State { session, settings: session.settings.clone(), rate: Rate::begin(session.attached_ns) }
    }

    /// Why nothing is recorded any more, whatever is asked; none: it can be.
    pub(super) fn is_over(&self) -> Option<&'static str> {
        if exit::has_begun() || super::ENDED.load(std::sync::atomic::Ordering::Acquire) {
            return Some("the program is ending");
        }
        if self.session.shared.phase() == Phase::Ended {
            return Some("the trace is closed, or could not be written: the program's standard error says why");
        }
        (!cupti::may_call()).then_some("CUPTI was taken over by another tool, or did not answer")
    }

    /// Opens or closes the gate.
    ///
    /// Errors: why it cannot be.
    pub(super) fn switch(&self, on: bool) -> Result<Map<String, Value>, String> {
        if let Some(why) = self.is_over() {
            return Err(format!("recording is over: {why}"));
        }
        if self.session.settings.budget.is_some() {
            return Err(
                "--budget opens and closes the windows of this process; what somebody else recorded between \
                        them would stand for nothing"
                    .to_owned(),
            );
        }
        let until_ns = sys::monotonic_ns() + GATE_NS;
        let switched = GATE.switch(self.session, on, until_ns).ok_or("CUPTI keeps the gate busy; try again")?;
        if switched.is_exhausted {
            return Err(format!(
                "all {} windows that --max-ranges allows were opened; allow more with set max-ranges=N",
                switched.windows
            ));
        }
        let facts = json!({
            "changed": switched.changed,
            "state": self.state(),
            "windows": switched.windows,
            "unix_ns": sys::realtime_ns(),
        });
        Ok(if let Value::Object(facts) = facts { facts } else { Map::new() })
    }

    /// `open`, `closed`, `draining` or `finished`.
    pub(super) fn state(&self) -> &'static str {
        if self.is_over().is_some() { "finished" } else { GATE.state() }
    }

    /// Records per second, and over how many nanoseconds that was counted.
    pub(super) fn rate(&mut self) -> (f64, i64) {
        self.rate.at(sys::monotonic_ns(), self.session.shared.progress.written())
    }
}

/// How fast a counter grows: since it was last asked for, but over a second at least.
struct Rate {
    /// Time and count of the two last readings, the older first; they are a second apart at least.
    before: (i64, u64),
    last: (i64, u64),
}

impl Rate {
    fn begin(now_ns: i64) -> Rate {
        Rate { before: (now_ns, 0), last: (now_ns, 0) }
    }

    fn at(&mut self, now_ns: i64, count: u64) -> (f64, i64) {
        if now_ns - self.last.0 >= RATE_NS {
            (self.before, self.last) = (self.last, (now_ns, count));
        }
        let span_ns = (now_ns - self.before.0).max(1);
        let grown = count.saturating_sub(self.before.1);
        (grown as f64 * 1e9 / span_ns as f64, span_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_over_the_time_since_it_was_last_asked_for_and_never_over_an_instant() {
        const S: i64 = 1_000_000_000;
        let mut rate = Rate::begin(10 * S);
        assert_eq!(rate.at(14 * S, 400), (100.0, 4 * S), "since the beginning");
        assert_eq!(rate.at(14 * S + 1, 400).0.round(), 100.0, "not over a nanosecond");
        assert_eq!(rate.at(16 * S, 1_400), (500.0, 2 * S));
        assert_eq!(rate.at(16 * S + S / 2, 1_900), (600.0, 2 * S + S / 2));
        assert_eq!(rate.at(17 * S, 1_900), (500.0, S));
    }
}
