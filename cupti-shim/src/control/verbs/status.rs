//! `status`: who this is, and how far the recording has come.

use serde_json::{Map, Value, json};
use shim_config::rank::place;

use super::super::protocol::Request;
use super::super::state::{Answer, State};
use super::{Verb, names, set};
use crate::gate::GATE;
use crate::{load, process, sys};

/// A command line may be as long as it likes; a table has little room.
const COMMAND_BYTES: usize = 1024;

pub(in super::super) static VERB: Verb = Verb { name: "status", run };

fn run(state: &mut State, _: &Request) -> Answer {
    let session = state.session;
    let (loaded, progress) = (session.loaded, &session.shared.progress);
    let (rate, rate_over_ns) = state.rate();
    let place = place(&|name| loaded.var(name));
    let trace = session.trace_path().map(|path| String::from_utf8_lossy(&path).into_owned());
    let mut facts = json!({
        "pid": sys::getpid(),
        "host": String::from_utf8_lossy(&process::host()),
        "process": String::from_utf8_lossy(&load::program_name()),
        "command": command(&loaded.cmdline),
        "rank": place.rank,
        "local_rank": place.local_rank,
        "world_size": place.world_size,
        "start_unix_ns": loaded.start_unix_ns,
        "uptime_ns": sys::realtime_ns().saturating_sub(loaded.start_unix_ns).max(0),
        "devices": devices(progress.devices()),
        "state": state.state(),
        "over": state.is_over(),
        "capture": state.settings.capture.to_string(),
        "windows": GATE.windows(),
        "records": progress.written(),
        "records_per_s": (rate * 10.0).round() / 10.0,
        "rate_over_ns": rate_over_ns,
        "ranges": progress.ranges(),
        "excluded": progress.excluded(),
        "lost": progress.lost(),
        "trace": trace,
        "bytes": progress.bytes(),
        "settings": set::current(&state.settings),
        "verbs": names(),
        "version": env!("CARGO_PKG_VERSION"),
    });
    if let Some(facts) = facts.as_object_mut() {
        facts.retain(|_, value| !value.is_null());
    }
    Answer::Done(facts.as_object_mut().map_or_else(Map::new, std::mem::take))
}

/// Numbers of the devices whose bits are set.
fn devices(bits: u64) -> Vec<Value> {
    (0..64u32).filter(|device| bits >> device & 1 == 1).map(Value::from).collect()
}

fn command(cmdline: &[u8]) -> String {
    let words: Vec<String> = cmdline
        .split(|b| *b == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    let mut text = words.join(" ");
    if text.len() > COMMAND_BYTES {
        let cut = (0..=COMMAND_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(cut);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_words_and_a_long_one_is_cut_between_characters() {
        assert_eq!(command(b"python\0train.py\0--x=1\0"), "python train.py --x=1");
        assert_eq!(command(b""), "");
        let long = command("ä".repeat(2000).as_bytes());
        assert!(long.len() <= COMMAND_BYTES + 4 && long.ends_with('…'));
        assert_eq!(devices(0b101), [Value::from(0), Value::from(2)]);
    }
}
