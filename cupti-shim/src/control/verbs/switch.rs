//! `start` and `stop`: the gate, at once or at a time that several processes were given.

use super::super::protocol::Request;
use super::super::state::{Answer, State};
use super::Verb;
use crate::sys;

pub(in super::super) static START: Verb = Verb { name: "start", run: |state, request| run(state, request, true) };
pub(in super::super) static STOP: Verb = Verb { name: "stop", run: |state, request| run(state, request, false) };

/// The system's clock may be set while one waits for it: it is looked at this often.
const LOOK_NS: i64 = 500_000_000;
/// Nobody means a time further ahead.
const MOST_AHEAD_NS: i64 = 7 * 86_400 * 1_000_000_000;

fn run(state: &mut State, request: &Request, on: bool) -> Answer {
    let at_unix_ns = match request.number("at_unix_ns") {
        Ok(None) => return now(state, on),
        Ok(Some(at)) => at,
        Err(why) => return Answer::Refused(why),
    };
    if let Some(why) = state.is_over() {
        return Answer::Refused(format!("recording is over: {why}"));
    }
    let ahead_ns = at_unix_ns.saturating_sub(sys::realtime_ns());
    if ahead_ns > MOST_AHEAD_NS {
        return Answer::Refused("that is more than a week ahead".to_owned());
    }
    at(state, on, at_unix_ns)
}

fn at(state: &mut State, on: bool, at_unix_ns: i64) -> Answer {
    let left_ns = at_unix_ns.saturating_sub(sys::realtime_ns());
    if left_ns <= 0 {
        return now(state, on);
    }
    Answer::after(left_ns.min(LOOK_NS), move |state| at(state, on, at_unix_ns))
}

fn now(state: &State, on: bool) -> Answer {
    match state.switch(on) {
        Ok(facts) => Answer::Done(facts),
        Err(why) => Answer::Refused(why),
    }
}
