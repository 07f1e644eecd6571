//! The one error type: what failed, why, and what to do about it.

use std::fmt;
use std::io;
use std::path::Path;

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There was nothing to show: exit status 1.
    Nothing,
    /// Something failed: exit status 2.
    Failed,
}

/// An error for a person: a lower-case sentence naming the path, the place in it, the reason and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    outcome: Outcome,
    message: String,
    closed_pipe: bool,
    verbatim: bool,
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error that is not about one file.
    pub fn new(message: impl Into<String>) -> Self {
        Error { outcome: Outcome::Failed, message: message.into(), closed_pipe: false, verbatim: false }
    }

    /// An error about the file or folder `path`.
    pub fn at(path: &Path, message: impl fmt::Display) -> Self {
        Error::new(format!("{}: {message}", path.display()))
    }

    /// Nothing failed, but there is nothing to show either.
    pub fn nothing(message: impl Into<String>) -> Self {
        Error { outcome: Outcome::Nothing, ..Error::new(message) }
    }

    /// Writing output failed.
    pub fn output(error: &io::Error) -> Self {
        let closed_pipe = error.kind() == io::ErrorKind::BrokenPipe;
        Error { closed_pipe, ..Error::new(format!("the output cannot be written: {error}")) }
    }

    /// A file in the folder for temporary files cannot be made, written or read.
    pub fn temporary(error: impl fmt::Display) -> Self {
        Error::at(&std::env::temp_dir(), format_args!("a temporary file there failed: {error}"))
            .remedy("set TMPDIR to a folder with more room")
    }

    /// A message that has a form of its own, printed without `gpuprof: ` before it.
    pub fn verbatim(message: impl Into<String>) -> Self {
        Error { verbatim: true, ..Error::new(message) }
    }

    /// Whether the message has a form of its own.
    pub fn is_verbatim(&self) -> bool {
        self.verbatim
    }

    /// Whether whoever read the output has closed it: no failure of this command.
    pub fn is_closed_pipe(&self) -> bool {
        self.closed_pipe
    }

    /// Adds what to do about it.
    pub fn remedy(mut self, what: &str) -> Self {
        self.message.push_str("; ");
        self.message.push_str(what);
        self
    }

    /// How the command that meets this error ends.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
