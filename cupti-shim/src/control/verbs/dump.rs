//! `dump`: what the ring holds is kept as a trace of its own.

use serde_json::json;

use super::super::protocol::Request;
use super::super::state::{Answer, State};
use super::Verb;
use crate::{flight, sys};

pub(in super::super) static VERB: Verb = Verb { name: "dump", run };

/// Between two looks whether it is made.
const LOOK_NS: i64 = 2_000_000;
/// Two seconds for CUPTI, the rest for a slow disk.
const MOST_NS: i64 = 10_000_000_000;

fn run(state: &mut State, request: &Request) -> Answer {
    dump(state, request).into()
}

fn dump(state: &mut State, request: &Request) -> Result<Answer, String> {
    if let Some(why) = state.is_over() {
        return Err(format!("recording is over: {why}"));
    }
    let reason = request.text("reason")?.unwrap_or("ctl");
    let id = flight::ask(state.session, reason)?;
    Ok(made(state, id, sys::monotonic_ns() + MOST_NS))
}

fn made(state: &mut State, id: u32, until_ns: i64) -> Answer {
    match flight::made(state.session, id) {
        Some(Ok(path)) => Answer::done(json!({"path": path.to_string_lossy()})),
        Some(Err(why)) => Answer::Refused(why),
        None if sys::monotonic_ns() >= until_ns => {
            Answer::Refused("the dump was not made within 10 s: CUPTI or the disk does not answer".to_owned())
        }
        None => Answer::after(LOOK_NS, move |state| made(state, id, until_ns)),
    }
}
