//! What `doctor` found, one line each, with what to do about it.

use serde::Serialize;
use std::io::{self, Write};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Everything is as it should be.
    Ok,
    /// Recording works; something is worth knowing.
    Note,
    /// Nothing can be recorded until this is changed.
    Problem,
}

impl Level {
    /// As it stands at the beginning of a line.
    pub fn word(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Note => "note",
            Level::Problem => "problem",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub level: Level,
    /// What was looked at: `driver`, `gpu`, `cupti`, `permissions`, `tools`, `settings`, `collector`, `disk`.
    pub topic: &'static str,
    /// What was found: a sentence without its full stop.
    pub text: String,
    /// More about it, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// What to do about it, one way each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub help: Vec<String>,
}

impl Finding {
    /// Something that is as it should be.
    pub fn ok(topic: &'static str, text: impl Into<String>) -> Finding {
        Finding { level: Level::Ok, topic, text: text.into(), details: Vec::new(), help: Vec::new() }
    }

    /// Something worth knowing.
    pub fn note(topic: &'static str, text: impl Into<String>) -> Finding {
        Finding { level: Level::Note, ..Finding::ok(topic, text) }
    }

    /// Something that prevents recording.
    pub fn problem(topic: &'static str, text: impl Into<String>) -> Finding {
        Finding { level: Level::Problem, ..Finding::ok(topic, text) }
    }

    /// Adds a line about it.
    pub fn detail(mut self, text: impl Into<String>) -> Finding {
        self.details.push(text.into());
        self
    }

    /// Adds what to do about it.
    pub fn help(mut self, text: impl Into<String>) -> Finding {
        self.help.push(text.into());
        self
    }

    /// Writes the finding for people.
    ///
    /// # Errors
    /// Fails if `out` cannot be written to.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{:<8} {}: {}", self.level.word(), self.topic, self.text)?;
        for detail in &self.details {
            writeln!(out, "{:<8}   {detail}", "")?;
        }
        for help in &self.help {
            writeln!(out, "{:<8} = help: {help}", "")?;
        }
        Ok(())
    }
}
