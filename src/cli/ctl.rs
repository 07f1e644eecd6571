//! `gpuprof ctl`: finds recorded processes that run, and tells them what to do.

mod at;
mod choice;
mod list;
mod send;

use crate::error::{Error, Result};
use at::At;
use choice::{Choice, Targets};
use serde_json::{Value, json};
use shim_config::control::VERSION;

/// The beginning of the long help.
pub(super) const ABOUT: &str = "Find recorded processes that run, and switch, mark or flush them.

Each recorded process can be reached by its own user, without a daemon.";

/// Arguments of `ctl`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  gpuprof ctl list
  gpuprof record --capture manual -- python serve.py     then, elsewhere:
  gpuprof ctl start && sleep 10 && gpuprof ctl stop
  gpuprof ctl start --rank 0-7 --at +2s                  all at the same moment
  gpuprof ctl mark \"batch size doubled\" --notes \"see ticket 12\"
  gpuprof ctl set flush-interval=100ms --all

Without PID, --rank, --name or --all there must be exactly one process.
Exit status 0: every process obeyed; 1: there is none; 2: something failed.")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

/// What can be asked for.
#[derive(clap::Subcommand, Debug)]
enum Verb {
    /// Show every recorded process, and why others cannot be controlled
    List(list::Args),
    /// Show all that a process says about itself
    Status(StatusArgs),
    /// Switch recording on
    Start(SwitchArgs),
    /// Switch recording off
    Stop(SwitchArgs),
    /// Have everything that CUPTI can give fetched and written
    Flush(FlushArgs),
    /// Change settings while the program runs
    Set(SetArgs),
    /// Put a remark into the trace, at this moment
    Mark(MarkArgs),
    /// Keep what a ring holds (record --ring) as a trace of its own, and go on recording
    Dump(DumpArgs),
}

/// Arguments of `status`.
#[derive(clap::Args, Debug)]
struct StatusArgs {
    #[command(flatten)]
    targets: Targets,
    /// How the answer is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: list::StatusFormat,
}

/// Arguments of `start` and `stop`.
#[derive(clap::Args, Debug)]
struct SwitchArgs {
    #[command(flatten)]
    targets: Targets,
    /// When: +5s, 14:05:00 by this machine's clock and time zone, or Unix seconds (or nanoseconds)
    #[arg(long, value_name = "TIME")]
    at: Option<At>,
}

/// Arguments of `flush`.
#[derive(clap::Args, Debug)]
struct FlushArgs {
    #[command(flatten)]
    targets: Targets,
}

/// Arguments of `set`.
#[derive(clap::Args, Debug)]
struct SetArgs {
    /// Settings, named as `record` names its flags, and pids
    #[arg(required = true, value_name = "KEY=VALUE|PID")]
    words: Vec<Word>,
    #[command(flatten)]
    choice: Choice,
}

/// Arguments of `mark`.
#[derive(clap::Args, Debug)]
struct MarkArgs {
    /// The remark
    text: String,
    /// More about it
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    #[command(flatten)]
    targets: Targets,
}

/// Arguments of `dump`.
#[derive(clap::Args, Debug)]
struct DumpArgs {
    /// Why: becomes part of the dump's name
    #[arg(long, value_name = "WORD", default_value = "ctl")]
    reason: String,
    #[command(flatten)]
    targets: Targets,
}

/// A word of `set`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Setting(String, String),
    Pid(u32),
}

impl std::str::FromStr for Word {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Word, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => {
                // A setting may also be written as a flag.
                Ok(Word::Setting(key.trim_start_matches("--").to_owned(), value.to_owned()))
            }
            Some(_) => Err("names no setting before the =".to_owned()),
            None => text.parse().map(Word::Pid).map_err(|_| "is neither KEY=VALUE nor a pid".to_owned()),
        }
    }
}

/// Runs `ctl`.
///
/// # Errors
/// Fails if there is no process to control, or if one of the processes did not obey.
pub fn run(args: &Args) -> Result<()> {
    match &args.verb {
        Verb::List(args) => list::run(args),
        Verb::Status(args) => list::status(&args.targets, args.format),
        Verb::Start(args) => switch("start", args),
        Verb::Stop(args) => switch("stop", args),
        Verb::Flush(args) => send::to_all(args.targets.find()?, &request("flush"), None, |answer| {
            let number = |key| answer.get(key).and_then(Value::as_u64).unwrap_or(0);
            format!("flushed, {} records, {} bytes", number("records"), number("bytes"))
        }),
        Verb::Set(args) => set(args),
        Verb::Mark(args) => mark(args),
        Verb::Dump(args) => dump(args),
    }
}

fn request(verb: &str) -> Value {
    json!({"gpuprof": VERSION, "do": verb})
}

fn switch(verb: &str, args: &SwitchArgs) -> Result<()> {
    let at_unix_ns = args.at.as_ref().map(At::unix_ns).transpose()?;
    let processes = args.targets.find()?;
    let mut request = request(verb);
    if let Some(at) = at_unix_ns {
        request["at_unix_ns"] = at.into();
        if at <= at::now_unix_ns() {
            return Err(Error::new("the time is over before all processes were found").remedy("give them more"));
        }
    }
    let done = if verb == "start" { "started" } else { "stopped" };
    send::to_all(processes, &request, at_unix_ns, |answer| {
        let windows = answer.get("windows").and_then(Value::as_u64).unwrap_or(0);
        let state = answer.get("state").and_then(Value::as_str).unwrap_or_default();
        match answer.get("changed").and_then(Value::as_bool) {
            Some(true) => format!("{done}, window {windows}"),
            _ => format!("was {state} already"),
        }
    })
}

fn set(args: &SetArgs) -> Result<()> {
    let mut values = serde_json::Map::new();
    let mut pids = Vec::new();
    for word in &args.words {
        match word {
            Word::Setting(key, value) => {
                values.insert(key.clone(), value.as_str().into());
            }
            Word::Pid(pid) => pids.push(*pid),
        }
    }
    if values.is_empty() {
        return Err(Error::new("there is nothing to set").remedy("write e.g. flush-interval=100ms"));
    }
    let shown: Vec<String> = values.keys().cloned().collect();
    let mut request = request("set");
    request["values"] = Value::Object(values);
    send::to_all(args.choice.find(&pids)?, &request, None, |answer| {
        let value = |key: &String| {
            let value = answer.pointer(&format!("/settings/{key}")).and_then(Value::as_str);
            format!("{key}={}", value.unwrap_or("as asked"))
        };
        format!("set {}", shown.iter().map(value).collect::<Vec<_>>().join(" "))
    })
}

fn mark(args: &MarkArgs) -> Result<()> {
    let mut request = request("mark");
    request["text"] = args.text.as_str().into();
    if let Some(notes) = &args.notes {
        request["notes"] = notes.as_str().into();
    }
    send::to_all(args.targets.find()?, &request, None, |_| "marked".to_owned())
}

fn dump(args: &DumpArgs) -> Result<()> {
    let mut request = request("dump");
    request["reason"] = args.reason.as_str().into();
    send::to_all(args.targets.find()?, &request, None, |answer| {
        format!("dumped to {}", answer.get("path").and_then(Value::as_str).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_set_are_settings_and_pids() {
        let word = |text: &str| text.parse::<Word>();
        assert_eq!(word("12"), Ok(Word::Pid(12)));
        assert_eq!(word("--min-free=0"), Ok(Word::Setting("min-free".to_owned(), "0".to_owned())));
        assert_eq!(word("a=b=c"), Ok(Word::Setting("a".to_owned(), "b=c".to_owned())));
        for bad in ["", "=1", "fast", "-3", "99999999999"] {
            assert!(word(bad).is_err(), "{bad}");
        }
    }
}
