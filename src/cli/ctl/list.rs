//! `gpuprof ctl list` and `status`: who can be controlled, how far each is, and why others cannot be.

use super::choice::{PlaceArg, Targets};
use crate::control::{self, Process, ProcessSearch, without_socket};
use crate::error::{Error, Result};
use crate::render::document::Document;
use crate::render::schemas;
use crate::render::table::{Cell, Format, Heading, Table};
use crate::render::terminal_text::TerminalText;
use crate::trace::sink::Note;
use serde_json::Value;
use std::io::{self, Write};
use without_socket::WithoutSocket;

/// How what a process says about itself is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum StatusFormat {
    /// For people.
    #[value(alias = "table")]
    Text,
    /// For programs.
    Json,
}

/// Arguments of `list`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// How the list is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    #[command(flatten)]
    place: PlaceArg,
}

/// Runs `list`.
///
/// # Errors
/// Fails if there is nothing to list, or if the folder that was named is refused.
pub fn run(args: &Args) -> Result<()> {
    let chosen = args.place.chosen()?;
    let found = control::find(&chosen)?;
    let known: Vec<u32> = found.processes.iter().map(|process| process.pid).collect();
    let mut others = without_socket::find(&known, &chosen);
    // Whoever does not answer has its own reason, which is better than what can be seen from outside.
    for silent in found.silent.iter().filter(|silent| !silent.has_ended) {
        match others.iter_mut().find(|person| person.pid == silent.pid) {
            Some(person) => person.why.clone_from(&silent.why),
            None => others.push(unknown(silent.pid, &silent.why)),
        }
    }
    for ended in found.silent.iter().filter(|silent| silent.has_ended) {
        others.push(unknown(ended.pid, &ended.why));
    }
    if found.processes.is_empty() && others.is_empty() && args.format == Format::Table {
        return Err(super::choice::nothing(&found, &chosen));
    }
    let note = |text: &String| Note { code: "runtime_dir_refused", text: text.clone() };
    let document = Document {
        notes: found.refused.iter().map(note).collect(),
        tables: vec![processes(&found.processes), uncontrollable(&others)],
        ..Document::new(schemas::CTL)
    };
    let write = |out: &mut dyn Write| {
        if args.format != Format::Table {
            document.write(out, args.format)?;
            return out.flush();
        }
        let mut out = TerminalText::of_stdout(true).lines(out);
        for table in document.tables.iter().filter(|table| !table.rows.is_empty()) {
            table.write(&mut out, Format::Table)?;
        }
        for note in &document.notes {
            writeln!(out, "{}", note.text)?;
        }
        out.flush()
    };
    write(&mut io::stdout()).map_err(|e| Error::output(&e))
}

fn unknown(pid: u32, why: &str) -> WithoutSocket {
    WithoutSocket { pid, name: String::new(), command: String::new(), rank: None, why: why.to_owned() }
}

fn text(name: &'static str) -> Heading {
    Heading { name, is_text: true }
}

fn number(name: &'static str) -> Heading {
    Heading { name, is_text: false }
}

fn processes(all: &[Process]) -> Table {
    let headings = vec![
        number("Pid"),
        number("Own Pid"),
        number("Rank"),
        text("State"),
        number("Windows"),
        number("Records"),
        number("Records/s"),
        number("Lost"),
        text("Devices"),
        text("Process"),
        text("Command"),
    ];
    let mut table = Table::new("processes", "Recorded Processes", headings).with_key(&["Pid"]);
    for process in all {
        let status = &process.status;
        let count = |key: &str| Cell::opt(status.get(key).and_then(Value::as_u64));
        let word = |key: &str| Cell::Text(status.get(key).and_then(Value::as_str).unwrap_or_default().to_owned());
        let rate = status.get("records_per_s").and_then(Value::as_f64);
        table.rows.push(vec![
            Cell::id(process.pid),
            Cell::id(process.own_pid),
            Cell::opt_id(process.rank()),
            word("state"),
            count("windows"),
            count("records"),
            rate.map_or(Cell::Null, |rate| Cell::Fixed(rate, 1)),
            count("lost"),
            Cell::Text(devices(status)),
            word("process"),
            word("command"),
        ]);
    }
    table
}

/// `0,1`.
fn devices(status: &Value) -> String {
    let devices = status.get("devices").and_then(Value::as_array);
    devices.map(|all| all.iter().map(Value::to_string).collect::<Vec<_>>().join(",")).unwrap_or_default()
}

fn uncontrollable(others: &[WithoutSocket]) -> Table {
    let headings = vec![number("Pid"), number("Rank"), text("Process"), text("Why Not"), text("Command")];
    let mut table =
        Table::new("uncontrollable", "Processes That Cannot Be Controlled", headings).with_key(&["Pid"]);
    for person in others {
        table.rows.push(vec![
            Cell::id(person.pid),
            Cell::opt_id(person.rank),
            Cell::Text(person.name.clone()),
            Cell::Text(person.why.clone()),
            Cell::Text(person.command.clone()),
        ]);
    }
    table
}

/// Why there is nobody, in lines.
pub fn reasons(found: &ProcessSearch, others: &[WithoutSocket]) -> Vec<String> {
    /// More say nothing that these do not.
    const MOST: usize = 8;
    let mut reasons = found.refused.clone();
    reasons.extend(found.silent.iter().map(|silent| format!("pid {}: {}", silent.pid, silent.why)));
    reasons.extend(
        others.iter().take(MOST).map(|person| format!("pid {} ({}): {}", person.pid, person.name, person.why)),
    );
    if others.len() > MOST {
        reasons.push(format!("and {} more: `gpuprof ctl list` shows them", others.len() - MOST));
    }
    reasons
}

/// Runs `status`.
///
/// # Errors
/// Fails if there is no process to ask.
pub fn status(targets: &Targets, format: StatusFormat) -> Result<()> {
    let processes = targets.find()?;
    let mut out = io::stdout();
    let write = |out: &mut dyn Write| {
        if format == StatusFormat::Json {
            let all: Vec<Value> = processes.iter().map(with_pid).collect();
            serde_json::to_writer_pretty(&mut *out, &all)?;
            return writeln!(out);
        }
        let mut out = TerminalText::of_stdout(true).lines(out);
        for process in &processes {
            writeln!(out, "{}", process.title())?;
            for (key, value) in lines(&with_pid(process)) {
                writeln!(out, "  {key:<16} {value}")?;
            }
        }
        out.flush()
    };
    write(&mut out).map_err(|e| Error::output(&e))
}

/// What the process said, with its pid as we see it.
fn with_pid(process: &Process) -> Value {
    let mut status = process.status.clone();
    if let Some(status) = status.as_object_mut() {
        status.insert("pid".to_owned(), process.pid.into());
        status.insert("own_pid".to_owned(), process.own_pid.into());
        status.retain(|key, _| key != "ok" && key != "gpuprof");
    }
    status
}

/// The members of an object as lines.
fn lines(status: &Value) -> Vec<(String, String)> {
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join(" "),
        Value::Object(members) => {
            let members =
                members.iter().map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
            members.collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    };
    let members = status.as_object().into_iter().flatten();
    members.map(|(key, value)| (key.clone(), plain(value))).collect()
}
