//! Commands of this program, each in a process of its own that has only so much time and may print only so much.

use crate::error::{Error, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// No answer has more bytes than this, before it is made shorter for a client.
const MOST_BYTES: usize = 16 << 20;

/// So much of what a command says about itself is kept.
const MOST_WORDS: usize = 64 << 10;

/// How often it is looked whether a client still waits.
const LOOK: Duration = Duration::from_millis(20);

/// The questions that clients no longer want answered, by their ids.
#[derive(Clone, Default)]
pub(super) struct Cancelled(Arc<Mutex<Vec<Value>>>);

impl Cancelled {
    fn ids(&self) -> MutexGuard<'_, Vec<Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, id: Value) {
        let mut ids = self.ids();
        // Ids of answered questions stay here; a client that cancels without end takes no memory for it.
        if ids.len() >= 1000 {
            ids.remove(0);
        }
        ids.push(id);
    }

    pub(super) fn has(&self, id: &Value) -> bool {
        self.ids().contains(id)
    }

    /// Forgets a question; whether it was cancelled.
    pub(super) fn remove(&self, id: &Value) -> bool {
        let mut ids = self.ids();
        let before = ids.len();
        ids.retain(|known| known != id);
        ids.len() < before
    }
}

/// This program, and what limits a run of it.
pub(super) struct Program<'a> {
    pub(super) path: &'a Path,
    pub(super) patience: Duration,
    pub(super) is_cancelled: &'a dyn Fn() -> bool,
}

/// What a command printed.
pub(super) struct Printed {
    /// Its standard output.
    pub(super) output: Vec<u8>,
    /// The lines of its standard error.
    pub(super) words: Vec<String>,
    /// Whether it would have printed more lines than were asked for.
    pub(super) has_more: bool,
}

impl Program<'_> {
    /// Runs a command; `input` is what it reads. It is ended after `most_lines` lines if that is given.
    ///
    /// # Errors
    /// Fails with what the command said if it failed, and if it took too long, printed too much or was cancelled.
    pub(super) fn run(
        &self,
        arguments: &[OsString],
        input: Option<&str>,
        most_lines: Option<usize>,
    ) -> Result<Printed> {
        let mut child = Command::new(self.path)
            .args(arguments)
            .process_group(0)
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|why| Error::at(self.path, format_args!("cannot be started: {why}")))?;
        let ended = self.follow(&mut child, input, most_lines);
        let _ = child.wait();
        ended
    }

    fn follow(&self, child: &mut Child, input: Option<&str>, most_lines: Option<usize>) -> Result<Printed> {
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        thread::scope(|scope| {
            let (stdin, Some(stdout), Some(stderr)) = pipes else {
                return Err(Error::new("a command was started without its pipes"));
            };
            if let (Some(mut stdin), Some(input)) = (stdin, input) {
                // Short, and commands read it before they print; one that does not has ended.
                scope.spawn(move || drop(stdin.write_all(input.as_bytes())));
            }
            let words = scope.spawn(move || words(stderr));
            let (sender, receiver) = mpsc::channel();
            scope.spawn(move || drop(sender.send(output(stdout, most_lines))));
            let deadline = Instant::now() + self.patience;
            let read = loop {
                let why = match receiver.recv_timeout(LOOK) {
                    Ok(read) => break read,
                    Err(mpsc::RecvTimeoutError::Disconnected) => "its output could not be read".to_owned(),
                    Err(mpsc::RecvTimeoutError::Timeout) if (self.is_cancelled)() => "it was cancelled".to_owned(),
                    Err(mpsc::RecvTimeoutError::Timeout) if Instant::now() >= deadline => format!(
                        "no answer within {} s; ask about a part of the trace, or start the server with a larger --timeout",
                        self.patience.as_secs()
                    ),
                    Err(mpsc::RecvTimeoutError::Timeout) => continue,
                };
                // Or the threads that read from it would wait on.
                end(child);
                return Err(Error::new(why));
            };
            let cut = read.has_more || read.is_too_long;
            if cut {
                end(child);
            }
            let status = child.wait();
            let words = words.join().unwrap_or_default();
            if read.is_too_long {
                let why = format!("the answer has more than {} MiB; ask for fewer rows", MOST_BYTES >> 20);
                return Err(Error::new(why));
            }
            match status {
                Ok(status) if cut || status.success() || !read.bytes.is_empty() => {
                    Ok(Printed { output: read.bytes, words, has_more: read.has_more })
                }
                Ok(status) => Err(failure(status, &words)),
                Err(why) => Err(Error::new(format!("a command was lost: {why}"))),
            }
        })
    }
}

/// Ends a command that was not waited for yet, and what it has started.
fn end(child: &Child) {
    // It may have ended by itself.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

/// What a command that failed said, which begins with the name of the program.
fn failure(status: ExitStatus, words: &[String]) -> Error {
    match words.last() {
        Some(_) => {
            let said = words.iter().map(|line| line.strip_prefix("gpuprof: ").unwrap_or(line));
            Error::new(said.collect::<Vec<_>>().join("\n"))
        }
        None => Error::new(format!("the command ended without a word: {status}")),
    }
}

struct Output {
    bytes: Vec<u8>,
    has_more: bool,
    is_too_long: bool,
}

/// Reads until the end, or until there is too much.
fn output(mut pipe: impl Read, most_lines: Option<usize>) -> Output {
    let (mut bytes, mut lines) = (Vec::new(), 0);
    let mut piece = vec![0; 64 << 10];
    while let Ok(length @ 1..) = pipe.read(&mut piece) {
        let mut piece = &piece[..length];
        if let Some(most) = most_lines {
            let mut ends = piece.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
            if let Some(end) = most.checked_sub(lines + 1).and_then(|nth| ends.nth(nth)) {
                // What follows the last line that is wanted is the beginning of another.
                let has_more = end < length || matches!(pipe.read(&mut [0]), Ok(1..));
                bytes.extend_from_slice(&piece[..end]);
                return Output { bytes, has_more, is_too_long: false };
            }
            lines += piece.iter().filter(|byte| **byte == b'\n').count();
        }
        let room = MOST_BYTES - bytes.len();
        let is_too_long = piece.len() > room;
        piece = &piece[..piece.len().min(room)];
        bytes.extend_from_slice(piece);
        if is_too_long {
            return Output { bytes, has_more: false, is_too_long };
        }
    }
    Output { bytes, has_more: false, is_too_long: false }
}

/// The lines that a command says about itself. All of it is read, so that it never waits for us.
fn words(mut pipe: impl Read) -> Vec<String> {
    let mut bytes = Vec::new();
    let _ = (&mut pipe).take(MOST_WORDS as u64).read_to_end(&mut bytes);
    let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).filter(|line| !line.trim().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, input: Option<&str>, most_lines: Option<usize>, is_cancelled: bool) -> Result<Printed> {
        let patience = Duration::from_secs(if script.contains("sleep") && !is_cancelled { 1 } else { 60 });
        let program = Program { path: Path::new("/bin/sh"), patience, is_cancelled: &|| is_cancelled };
        program.run(&["-c".into(), script.into()], input, most_lines)
    }

    fn refused(script: &str, is_cancelled: bool) -> String {
        shell(script, None, None, is_cancelled).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn what_a_command_prints_is_taken_and_what_it_says_when_it_fails() {
        let printed = shell("cat; echo told >&2", Some("asked"), None, false).unwrap();
        assert_eq!((printed.output, printed.words), (b"asked".to_vec(), vec!["told".to_owned()]));
        assert_eq!(refused("echo 'gpuprof: no such file' >&2; exit 2", false), "no such file");
        assert!(refused("kill -9 $$", false).contains("without a word: signal: 9"));
    }

    #[test]
    fn a_command_that_does_not_end_is_ended() {
        let begin = Instant::now();
        assert!(refused("sleep 1000", false).contains("no answer within 1 s"));
        assert_eq!(refused("sleep 1000", true), "it was cancelled");
        // A shell may start the command as a child, which holds the pipes.
        assert!(begin.elapsed() < Duration::from_secs(500));
    }

    #[test]
    fn no_more_is_read_than_is_wanted() {
        let lines = |script: &str, most| {
            let printed = shell(script, None, Some(most), false).unwrap();
            (String::from_utf8(printed.output).unwrap(), printed.has_more)
        };
        assert_eq!(lines("printf '1\\n2\\n3\\n'", 3), ("1\n2\n3\n".to_owned(), false));
        assert_eq!(lines("printf '1\\n2\\n3\\n'", 2), ("1\n2\n".to_owned(), true));
        assert_eq!(
            lines("printf '1\\n'; read -r x < /dev/null; printf '2\\n3\\n'", 2),
            ("1\n2\n".to_owned(), true)
        );
        assert_eq!(lines("yes", 4), ("y\ny\ny\ny\n".to_owned(), true));
        let refused = refused("yes", false);
        assert!(refused.contains("more than 16 MiB"), "{refused}");
    }
}
