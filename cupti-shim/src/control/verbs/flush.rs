//! `flush`: everything that CUPTI will give is asked for and written.

use serde_json::json;

use super::super::protocol::Request;
use super::super::state::{Answer, State};
use super::Verb;
use crate::messages::Message;
use crate::{flush, sys};

pub(in super::super) static VERB: Verb = Verb { name: "flush", run };

/// Between two looks whether it is done.
const LOOK_NS: i64 = 1_000_000;
/// A disk or a CUPTI that takes longer has other troubles.
const MOST_NS: i64 = 10_000_000_000;

fn run(state: &mut State, _: &Request) -> Answer {
    if let Some(why) = state.is_over() {
        return Answer::Refused(format!("recording is over: {why}"));
    }
    // On the flush thread: two flushes at once can deadlock inside CUPTI.
    let ticket = flush::ask(state.session);
    let until_ns = sys::monotonic_ns() + MOST_NS;
    flushed(state, ticket, until_ns)
}

fn flushed(state: &mut State, ticket: u32, until_ns: i64) -> Answer {
    if flush::is_done(ticket) {
        return match state.session.shared.ask(|ticket| Message::Flush { ticket }) {
            Some(ticket) => written(state, ticket, until_ns),
            None => Answer::Refused("too much waits to be written".to_owned()),
        };
    }
    if sys::monotonic_ns() >= until_ns {
        return Answer::Refused("CUPTI has not handed over its records within 10 s".to_owned());
    }
    Answer::after(LOOK_NS, move |state| flushed(state, ticket, until_ns))
}

fn written(state: &mut State, ticket: u32, until_ns: i64) -> Answer {
    let shared = state.session.shared;
    if shared.wait(ticket, 0) {
        return Answer::done(json!({"records": shared.progress.written(), "bytes": shared.progress.bytes()}));
    }
    if sys::monotonic_ns() >= until_ns {
        return Answer::Refused("the records were not written within 10 s: is the disk slow?".to_owned());
    }
    Answer::after(LOOK_NS, move |state| written(state, ticket, until_ns))
}
