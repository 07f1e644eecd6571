//! What can be asked for: a verb is a file here and a line in [`VERBS`].

mod dump;
mod flush;
mod mark;
mod set;
mod status;
mod switch;

use super::protocol::Request;
use super::state::{Answer, State};

/// One thing that can be asked for.
pub(super) struct Verb {
    /// The word by which a request names it.
    pub(super) name: &'static str,
    /// Does it. Waits for nothing that another thread of the process may take long for: that is what
    /// [`Answer::Later`] is for.
    pub(super) run: fn(&mut State, &Request) -> Answer,
}

/// All of them.
pub(super) static VERBS: &[&Verb] =
    &[&status::VERB, &switch::START, &switch::STOP, &flush::VERB, &set::VERB, &mark::VERB, &dump::VERB];

/// Does what is asked for.
pub(super) fn run(state: &mut State, request: &Request) -> Answer {
    match VERBS.iter().find(|verb| verb.name == request.verb) {
        Some(verb) => (verb.run)(state, request),
        None => Answer::Refused(format!("cannot \"{}\"; can {}", request.verb, names().join(", "))),
    }
}

/// What can be asked for, by name.
pub(super) fn names() -> Vec<&'static str> {
    VERBS.iter().map(|verb| verb.name).collect()
}
