//! One request to several processes at once, and a line for each.

use super::at::now_unix_ns;
use crate::control::{PATIENCE, Process};
use crate::error::{Error, Result};
use crate::render::terminal_text::text;
use serde_json::Value;
use std::io::{self, Write as _};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// What a process may take for what it was asked, beyond the time that it was given to wait for.
const WORK: Duration = Duration::from_secs(12);

/// Sends `request` to all `processes` at once. Each gets a line, as it answers: `done` makes it of the answer.
///
/// # Errors
/// Fails if one of the processes did not obey.
pub fn to_all(
    processes: Vec<Process>,
    request: &Value,
    at_unix_ns: Option<i64>,
    done: impl Fn(&Value) -> String,
) -> Result<()> {
    let wait_ns = at_unix_ns.map_or(0, |at| (at - now_unix_ns()).max(0));
    let patience = WORK + Duration::from_nanos(wait_ns.unsigned_abs());
    let (sender, receiver) = channel();
    let count = processes.len();
    for mut process in processes {
        let (sender, request) = (sender.clone(), request.clone());
        thread::spawn(move || {
            let answer = process.ask(&request, patience);
            let _ = sender.send((process.title(), answer));
        });
    }
    drop(sender);
    let mut obeyed = 0;
    let mut failed = Vec::new();
    while obeyed + failed.len() < count {
        // Each has a time limit of its own; this one is for a thread that could not be started.
        let Ok((title, answer)) = receiver.recv_timeout(patience + PATIENCE) else { break };
        match answer {
            Ok(answer) => {
                obeyed += 1;
                writeln!(io::stdout(), "{}", text(&format!("{title}: {}", done(&answer))))
                    .map_err(|e| Error::output(&e))?;
            }
            Err(why) => failed.push(format!("{title}: {why}")),
        }
    }
    if obeyed == count {
        return Ok(());
    }
    let what = match (count, failed.as_slice()) {
        (1, [one]) => one.clone(),
        _ => format!("{} of {count} processes did not obey\n  {}", count - obeyed, failed.join("\n  ")),
    };
    Err(Error::new(what))
}
