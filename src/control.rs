//! Reaching recorded processes while they run: their sockets ([`sockets`]), what is said there ([`talk`]), and processes
//! that have none, with the reason ([`without_socket`]). The rules that the collector goes by as well are in
//! [`shim_config::control`]; for people they are in `docs/control.md`.

pub mod sockets;
pub mod talk;
pub mod without_socket;

use crate::error::Result;
use serde_json::Value;
use shim_config::control::RuntimeDir;
use sockets::SocketFolder;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use talk::{Connection, Trouble};

/// How long a process has for the answer to a question that needs no work.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// A process that answered.
#[derive(Debug)]
pub struct Process {
    /// Its pid as we see it; as it sees itself, where we do not see it.
    pub pid: u32,
    /// Its pid as it sees itself: another one if it lives in a pid namespace of its own.
    pub own_pid: u32,
    /// What it said about itself: the answer to `status`.
    pub status: Value,
    connection: Connection,
}

impl Process {
    /// Its number in its job.
    pub fn rank(&self) -> Option<u64> {
        self.status.get("rank").and_then(Value::as_u64)
    }

    /// The file name of its program.
    pub fn name(&self) -> &str {
        self.status.get("process").and_then(Value::as_str).unwrap_or_default()
    }

    /// The process in a few words, for lines about it.
    pub fn title(&self) -> String {
        let own = if self.own_pid == self.pid {
            String::new()
        } else {
            format!(", pid {} in its namespace", self.own_pid)
        };
        let rank = self.rank().map(|rank| format!(", rank {rank}")).unwrap_or_default();
        format!("pid {} ({}{rank}{own})", self.pid, self.name())
    }

    /// Asks it for something, and waits `patience` for the answer.
    ///
    /// # Errors
    /// Fails if the process refused or did not answer. The error is the end of a sentence about the process.
    pub fn ask(&mut self, request: &Value, patience: Duration) -> std::result::Result<Value, String> {
        self.connection.ask(request, patience).map_err(|trouble| trouble.to_string())
    }
}

/// A socket behind which nobody answers as he should.
#[derive(Debug)]
pub struct Silent {
    /// The pid in its name.
    pub pid: u32,
    /// Why it cannot be controlled.
    pub why: String,
    /// It has ended; its socket is removed.
    pub has_ended: bool,
}

/// What was found in the folders of sockets.
#[derive(Debug, Default)]
pub struct ProcessSearch {
    /// Processes that answered, by pid.
    pub processes: Vec<Process>,
    /// Sockets behind which nobody answered.
    pub silent: Vec<Silent>,
    /// Folders that were looked into.
    pub folders: Vec<std::path::PathBuf>,
    /// Folders that exist and are refused, with the reason.
    pub refused: Vec<String>,
}

/// Looks for recorded processes, and asks each how it is; all at once.
///
/// # Errors
/// Fails if the folder that was named is refused.
pub fn find(chosen: &RuntimeDir) -> Result<ProcessSearch> {
    let mut found = ProcessSearch::default();
    let (sender, receiver) = channel();
    let mut asked = 0;
    for place in SocketFolder::all(chosen)? {
        found.folders.push(place.path().to_owned());
        if let Some(why) = place.refused() {
            found.refused.push(why);
            continue;
        }
        for entry in place.entries() {
            let sender = sender.clone();
            asked += 1;
            // A thread each: connecting to a process that is stopped may wait as long as that.
            thread::spawn(move || {
                let answer = reach(&entry);
                let _ = sender.send((entry.name.pid, answer));
            });
        }
    }
    drop(sender);
    let deadline = std::time::Instant::now() + PATIENCE + Duration::from_secs(1);
    let mut answered = Vec::new();
    while answered.len() < asked {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        let Ok((pid, answer)) = receiver.recv_timeout(left) else { break };
        answered.push(pid);
        match answer {
            Ok(process) => found.processes.push(process),
            Err(silent) => found.silent.push(silent),
        }
    }
    if answered.len() < asked {
        let count = asked - answered.len();
        found.refused.push(format!("{count} sockets did not take a connection: are their processes stopped?"));
    }
    found.processes.sort_by_key(|process| (process.rank(), process.pid, process.own_pid));
    found.silent.sort_by_key(|silent| silent.pid);
    Ok(found)
}

/// Connects to one socket, and asks who is there.
fn reach(entry: &sockets::Entry) -> std::result::Result<Process, Silent> {
    let own_pid = entry.name.pid;
    let silent = |why: String, has_ended| Silent { pid: own_pid, why, has_ended };
    let mut connection = match entry.connect() {
        Ok(connection) => connection,
        Err(Trouble::Gone) => {
            entry.remove();
            return Err(silent("it has ended".to_owned(), true));
        }
        Err(trouble) => return Err(silent(trouble.to_string(), false)),
    };
    if entry.is_orphan(&connection) {
        // A child that it forked still holds what it inherited; nobody will ever answer.
        entry.remove();
        return Err(silent("it has ended".to_owned(), true));
    }
    match connection.ask(&talk::request("status"), PATIENCE) {
        Ok(status) => {
            let own = status.get("pid").and_then(Value::as_u64).and_then(|pid| u32::try_from(pid).ok());
            let own_pid = own.unwrap_or(own_pid);
            let pid = connection.peer_pid().unwrap_or(own_pid);
            Ok(Process { pid, own_pid, status, connection })
        }
        Err(trouble) => Err(silent(trouble.to_string(), false)),
    }
}
