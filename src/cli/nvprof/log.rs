//! Where nvprof's own lines go: the standard error, the standard output, or a file, or one for each process.

use super::names;
use super::request::Request;
use crate::error::{Error, Result};
use crate::report::nvprof::logfile;
use crate::report::nvprof::messages::{Message, Prefix};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Mutex;

/// The log. Shared by the thread that waits for the application and the one that watches it.
pub struct Log {
    quiet: bool,
    sink: Mutex<Sink>,
}

enum Sink {
    Stderr,
    Stdout,
    /// One file for everything.
    File(BufWriter<File>),
    /// One for each process; lines about none go to the standard error.
    Files(String, BTreeMap<u32, BufWriter<File>>),
}

impl Log {
    /// Opens the log that was asked for. A file of its own for each process is opened when the process is known.
    ///
    /// # Errors
    /// Fails if the file cannot be made. The error has nvprof's words.
    pub fn open(request: &Request) -> Result<Log> {
        let sink = match request.log_file.as_deref() {
            None | Some("%2") => Sink::Stderr,
            Some("%1") => Sink::Stdout,
            Some(pattern) if logfile::names_the_process(pattern) => {
                Sink::Files(pattern.to_owned(), BTreeMap::new())
            }
            Some(pattern) => Sink::File(create(&names::expand(pattern, 0))?),
        };
        Ok(Log { quiet: request.quiet, sink: Mutex::new(sink) })
    }

    /// Writes lines about process `pid`, or about none, unless the log is to be quiet.
    ///
    /// # Errors
    /// Fails with any error that `write` returns, and if the file of the log cannot be created or written.
    pub fn write(&self, pid: Option<u32>, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        if self.quiet { write(&mut io::sink()) } else { self.write_always(pid, write) }
    }

    fn write_always(&self, pid: Option<u32>, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        let mut sink = self.sink.lock().unwrap_or_else(|e| e.into_inner());
        let mut stderr = BufWriter::new(io::stderr());
        let mut stdout = BufWriter::new(io::stdout());
        let out: &mut dyn Write = match &mut *sink {
            Sink::Stderr => &mut stderr,
            Sink::Stdout => &mut stdout,
            Sink::File(file) => file,
            Sink::Files(pattern, files) => match pid {
                None => &mut stderr,
                Some(pid) => match files.entry(pid) {
                    std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                    std::collections::btree_map::Entry::Vacant(entry) => {
                        entry.insert(create(&names::expand(pattern, pid))?)
                    }
                },
            },
        };
        write(out)?;
        out.flush().map_err(|e| Error::output(&e))
    }

    /// Writes one of nvprof's messages.
    ///
    /// # Errors
    /// Fails if the file of the log cannot be created or written.
    pub fn say(&self, pid: Option<u32>, message: &Message) -> Result<()> {
        self.write(pid, |out| message.write(out, Prefix(pid)).map_err(|e| Error::output(&e)))
    }

    /// Writes a warning about the session where lines about process `pid` go.
    ///
    /// # Errors
    /// Fails if the file of the log cannot be created or written.
    pub fn remark(&self, pid: Option<u32>, text: &str) -> Result<()> {
        self.write(pid, |out| Message::Warning(text).write(out, Prefix(None)).map_err(|e| Error::output(&e)))
    }

    /// Writes a warning.
    ///
    /// # Errors
    /// Fails if the file of the log cannot be created or written.
    pub fn warn(&self, pid: Option<u32>, text: &str) -> Result<()> {
        self.say(pid, &Message::Warning(text))
    }

    /// Writes what is said even to those who want no output: that the application failed.
    ///
    /// # Errors
    /// Fails if the file of the log cannot be created or written.
    pub fn fail(&self, pid: Option<u32>, message: &Message) -> Result<()> {
        self.write_always(pid, |out| message.write(out, Prefix(None)).map_err(|e| Error::output(&e)))
    }
}

fn create(name: &str) -> Result<BufWriter<File>> {
    let failed = |e: io::Error| Error::verbatim(format!("======== Error: can't open log file \"{name}\": {e}"));
    File::create(name).map(BufWriter::new).map_err(failed)
}
