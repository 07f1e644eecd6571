//! Answers for other programs over the Model Context Protocol: JSON-RPC 2.0, one message a line, on the standard input and
//! output.
//!
//! A question is a call of one of the [`tools`]. It becomes a command of this program that runs as a process of its own
//! ([`child`]): a trace that takes too long, needs more memory than there is or meets a fault of ours ends that process, and
//! the server says so and answers the next question. The server itself reads no trace, and nothing outside of the
//! [`folders`] it was given.

mod bounded;
mod child;
mod folders;
mod given;
mod protocol;
mod tools;

pub use folders::Folders;

use child::{Cancelled, Program};
use protocol::{Message, Problem};
use serde_json::{Value, json};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

/// The versions of the protocol that are spoken, the newest first. They differ in nothing that is used here.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// What a client reads before it asks: in which order to ask, and what not to conclude.
const INSTRUCTIONS: &str = include_str!("../docs/agents.md");

/// What a server may do.
pub struct Server {
    /// The folders it may read.
    pub folders: Folders,
    /// This program.
    pub program: PathBuf,
    /// How long the answer to one question may take.
    pub patience: Duration,
}

impl Server {
    /// Answers until the input ends. Questions are answered one after the other, in their order.
    ///
    /// # Errors
    /// Fails if `output` cannot be written to.
    pub fn serve(&self, input: impl BufRead + Send + 'static, output: &mut dyn Write) -> io::Result<()> {
        let cancelled = Cancelled::default();
        let (sender, messages) = mpsc::channel();
        let listening = cancelled.clone();
        // On a thread of its own, so that a client can cancel what is being answered. It ends with the input.
        std::thread::spawn(move || {
            protocol::read(input, |message| match message {
                Message::Cancel(id) => {
                    listening.add(id);
                    true
                }
                other => sender.send(other).is_ok(),
            });
        });
        for message in messages {
            if let Some(answer) = self.answer(message, &cancelled) {
                serde_json::to_writer(&mut *output, &answer)?;
                output.write_all(b"\n")?;
                output.flush()?;
            }
        }
        Ok(())
    }

    /// What is answered to a message, if anything.
    fn answer(&self, message: Message, cancelled: &Cancelled) -> Option<Value> {
        let (id, method, parameters) = match message {
            Message::Request { id, method, parameters } => (id, method, parameters),
            Message::Invalid(problem) => return Some(problem.answer(&Value::Null)),
            Message::Cancel(_) | Message::Unanswered => return None,
        };
        let result = match method.as_str() {
            "initialize" => Ok(initialize(&parameters)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": tools::list() })),
            "tools/call" => {
                let is_cancelled = || cancelled.has(&id);
                let program = Program { path: &self.program, patience: self.patience, is_cancelled: &is_cancelled };
                let result = tools::call(&parameters, &self.folders, &program);
                if cancelled.remove(&id) {
                    // Nobody waits for it any more.
                    return None;
                }
                result
            }
            _ => Err(Problem::method_not_found(&method)),
        };
        Some(match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(problem) => problem.answer(&id),
        })
    }
}

fn initialize(parameters: &Value) -> Value {
    let asked = parameters["protocolVersion"].as_str().unwrap_or_default();
    let version = VERSIONS.iter().find(|version| **version == asked).unwrap_or(&VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": { "listChanged": false } },
        "serverInfo": { "name": "gpuprof", "title": "gpuprof", "version": env!("CARGO_PKG_VERSION") },
        "instructions": INSTRUCTIONS,
    })
}
