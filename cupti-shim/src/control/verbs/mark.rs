//! `mark`: a remark of the user's at this moment, in table `note`.

use serde_json::json;

use super::super::protocol::Request;
use super::super::state::{Answer, State};
use super::Verb;
use crate::messages::Message;
use crate::{cupti, sys};

pub(in super::super) static VERB: Verb = Verb { name: "mark", run };

fn run(state: &mut State, request: &Request) -> Answer {
    mark(state, request).into()
}

fn mark(state: &mut State, request: &Request) -> Result<Answer, String> {
    // First of all: what follows takes time.
    let (session, unix_ns) = (state.session, sys::realtime_ns());
    let time_ns = cupti::may_call().then(|| session.cupti.timestamp_ns()).flatten();
    let text = request.text("text")?.filter(|text| !text.is_empty()).ok_or("\"text\" is missing: what to note")?;
    let notes = request.text("notes")?.filter(|notes| !notes.is_empty());
    if let Some(why) = state.is_over() {
        return Err(format!("recording is over: {why}"));
    }
    let start_ns = time_ns.unwrap_or(unix_ns);
    let (text, detail) = (text.to_owned(), notes.map(str::to_owned));
    if !session.shared.send(Message::Mark { start_ns, text, detail }) {
        return Err("too much waits to be written".to_owned());
    }
    Ok(Answer::done(json!({"unix_ns": unix_ns, "trace_ns": start_ns})))
}
