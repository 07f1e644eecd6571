//! `set`: the settings that can be changed while the program runs, all of which take effect at once.

use serde_json::{Map, Value, json};
use shim_config::variables::Flag;
use shim_config::{Settings, SizePolicy, VARIABLES, Variable};

use super::super::protocol::Request;
use super::super::state::{Answer, State};
use super::Verb;
use crate::gate::GATE;
use crate::messages::{Adjustment, Message};
use crate::session::Session;
use crate::{flush, log, writer};

pub(in super::super) static VERB: Verb = Verb { name: "set", run };

/// A setting that can be changed.
struct Changeable {
    /// Its row in [`VARIABLES`].
    variable: &'static str,
    /// Whether it can be changed in this run; if not, why not.
    check: fn(&Settings) -> Result<(), String>,
    /// Has the new value obeyed. The writer is told by [`Adjustment`] of all of them together.
    apply: fn(&'static Session, &Settings),
}

static CHANGEABLE: &[Changeable] = &[
    Changeable {
        variable: "GPUPROF_FLUSH_MS",
        check: |_| Ok(()),
        apply: |session, settings| flush::set_interval(session, settings.flush_ms),
    },
    Changeable {
        variable: "GPUPROF_MAX_RANGES",
        check: |_| Ok(()),
        apply: |_, settings| GATE.set_max_ranges(settings.max_ranges),
    },
    Changeable {
        variable: "GPUPROF_SIZE_LIMIT_BYTES",
        check: |settings| match settings.size_policy {
            SizePolicy::Stop => Ok(()),
            SizePolicy::Ring => Err("a ring keeps the size that it began with".to_owned()),
        },
        apply: |_, _| {},
    },
    Changeable { variable: "GPUPROF_MIN_FREE_PERCENT", check: |_| Ok(()), apply: |_, _| {} },
    Changeable { variable: "GPUPROF_FSYNC", check: |_| Ok(()), apply: |_, _| {} },
    Changeable {
        variable: "GPUPROF_VERBOSE",
        check: |_| Ok(()),
        apply: |_, settings| log::set_verbosity(settings.verbose),
    },
];

/// As people write it: the flag's name.
fn key(variable: &Variable) -> &'static str {
    match variable.flag {
        Flag::Value(name, _) | Flag::Switch(name) => name,
        Flag::None => variable.name,
    }
}

fn variables() -> impl Iterator<Item = (&'static Changeable, &'static Variable)> {
    CHANGEABLE.iter().filter_map(|c| Some((c, VARIABLES.iter().find(|v| v.name == c.variable)?)))
}

/// The values that hold now.
pub(super) fn current(settings: &Settings) -> Value {
    let values =
        variables().map(|(_, variable)| (key(variable).to_owned(), Value::from(variable.value_in(settings))));
    Value::Object(values.collect())
}

fn run(state: &mut State, request: &Request) -> Answer {
    set(state, request).into()
}

fn set(state: &mut State, request: &Request) -> Result<Answer, String> {
    let values = request.get("values").and_then(Value::as_object).filter(|values| !values.is_empty());
    let values = values.ok_or("\"values\" is missing: an object such as {\"flush-interval\":\"100ms\"}")?;
    if let Some(why) = state.is_over() {
        return Err(format!("recording is over: {why}"));
    }
    // All of them, or none.
    let (changes, settings) = check(&state.settings, values)?;
    state.settings = settings;
    for change in changes {
        (change.apply)(state.session, &state.settings);
    }
    let adjustment = Adjustment {
        flush_ms: state.settings.flush_ms,
        limit_bytes: writer::limit_bytes(&state.settings),
        min_free_percent: state.settings.min_free_percent,
        fsync: state.settings.fsync,
    };
    let note = values.iter().map(|(key, value)| format!("{key}={}", plain(value))).collect::<Vec<_>>().join(" ");
    let shared = state.session.shared;
    shared.send(Message::Note { start_ns: state.session.cupti.timestamp_ns(), text: format!("set {note}").into() });
    if !shared.send(Message::Adjust(adjustment)) {
        return Err("too much waits to be written; try again".to_owned());
    }
    Ok(Answer::done(json!({"settings": current(&state.settings)})))
}

/// What is to change, and the settings as they would be.
fn check(now: &Settings, values: &Map<String, Value>) -> Result<(Vec<&'static Changeable>, Settings), String> {
    let (mut settings, mut changes) = (now.clone(), Vec::new());
    for (name, value) in values {
        let found = variables().find(|(_, variable)| key(variable) == name || variable.name == name);
        let Some((changeable, variable)) = found else {
            let known: Vec<&str> = variables().map(|(_, variable)| key(variable)).collect();
            let is_setting = VARIABLES.iter().any(|v| key(v) == name || v.name == name);
            let why = if is_setting { "cannot be changed while the program runs" } else { "is no setting" };
            return Err(format!("{name} {why}; these can be: {}", known.join(", ")));
        };
        let value = plain(value);
        (changeable.check)(now).map_err(|why| format!("{name}: {why}"))?;
        variable.put(&mut settings, value.as_bytes()).map_err(|why| format!("{name}: \"{value}\" {why}"))?;
        changes.push(changeable);
    }
    Ok((changes, settings))
}

/// A JSON value as a person would type it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(values: &Value) -> Result<Settings, String> {
        let values = values.as_object().expect("an object");
        check(&Settings::default(), values).map(|(_, settings)| settings)
    }

    #[test]
    fn values_are_read_as_the_variables_are_and_all_of_them_or_none() {
        let settings = checked(&json!({"flush-interval": "100ms", "GPUPROF_MAX_RANGES": 3})).expect("good values");
        assert_eq!((settings.flush_ms, settings.max_ranges), (100, 3));
        let why = checked(&json!({"flush-interval": "100ms", "min-free": "90"})).expect_err("out of range");
        assert!(why.contains("min-free: \"90\" is outside 0 to 50"), "{why}");
    }

    #[test]
    fn what_cannot_be_changed_is_refused_by_name_with_those_that_can() {
        for (name, word) in
            [("capture", "cannot be changed"), ("GPUPROF_KINDS", "cannot be changed"), ("x", "no setting")]
        {
            let why = checked(&json!({name: "1"})).expect_err(name);
            assert!(
                why.contains(name) && why.contains(word) && why.contains("flush-interval, max-ranges"),
                "{why}"
            );
        }
    }

    #[test]
    fn every_changeable_setting_is_a_row_of_the_table() {
        assert_eq!(variables().count(), CHANGEABLE.len());
        let ring = Settings { size_policy: SizePolicy::Ring, ..Settings::default() };
        let values = json!({"size-limit": "1GiB"});
        assert!(check(&ring, values.as_object().expect("an object")).is_err());
    }
}
