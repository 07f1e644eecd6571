//! The parent's side of a probe: a child of our own program, watched and never trusted.

use super::World;
use super::probe::{Line, MARK};
use serde::de::DeserializeOwned;
use std::ffi::OsStr;
use std::fmt;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// A first `cuInit` takes up to 10 s on machines with eight GPUs and no persistence daemon.
const DEADLINE: Duration = Duration::from_secs(30);

/// How a probe ended that gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It was killed by a signal or left early while it was doing this.
    Died {
        /// What it was doing.
        step: String,
        /// `SIGSEGV`, `exit status 101`.
        how: String,
        /// The end of what it wrote to stderr.
        said: String,
    },
    /// It did not come back from this.
    Stuck {
        /// What it was doing.
        step: String,
    },
    /// It could not be started.
    NotStarted(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Died { step, how, said } => {
                write!(f, "crashed in {step} ({how})")?;
                if said.is_empty() { Ok(()) } else { write!(f, ": {said}") }
            }
            Failure::Stuck { step } => write!(f, "did not come back from {step} within {} s", DEADLINE.as_secs()),
            Failure::NotStarted(why) => write!(f, "could not be tried: {why}"),
        }
    }
}

/// Runs `gpuprof doctor` with these hidden arguments in a child and waits for its answer.
///
/// # Errors
/// Fails if the child gave no answer. The error says how the child ended.
pub fn ask<T: DeserializeOwned + Send + 'static>(world: &World, arguments: &[&OsStr]) -> Result<T, Failure> {
    ask_within(world, arguments, DEADLINE)
}

fn ask_within<T: DeserializeOwned + Send + 'static>(
    world: &World,
    arguments: &[&OsStr],
    deadline: Duration,
) -> Result<T, Failure> {
    let mut command = Command::new(&world.gpuprof);
    command.arg("doctor").args(arguments).env_clear();
    // What is injected into us would be injected into the child, and answer in place of the vendor's library.
    command.envs(world.env.iter().filter(|(name, _)| !is_injection(name)));
    // The collector, where it is what is probed, stays inert.
    command.env("GPUPROF_DISABLE", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child =
        command.spawn().map_err(|e| Failure::NotStarted(format!("{}: {e}", world.gpuprof.display())))?;
    let (lines, arrived) = mpsc::channel();
    if let Some(out) = child.stdout.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(out).split(b'\n').map_while(Result::ok) {
                let text = line.strip_prefix(MARK.as_bytes()).and_then(|l| std::str::from_utf8(l).ok());
                if let Some(line) = text.and_then(|text| serde_json::from_str::<Line<T>>(text).ok())
                    && lines.send(line).is_err()
                {
                    return;
                }
            }
        });
    }
    let said = child.stderr.take().map(tail);
    let end = Instant::now() + deadline;
    let mut step = "its start".to_owned();
    let stuck = loop {
        match arrived.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(Line::Step(next)) => step = next,
            Ok(Line::Answer(answer)) => {
                // Exit handlers of vendor libraries are none of our business any more.
                stop(&mut child);
                return Ok(answer);
            }
            Err(RecvTimeoutError::Disconnected) => break false,
            Err(RecvTimeoutError::Timeout) => break true,
        }
    };
    if stuck {
        stop(&mut child);
        return Err(Failure::Stuck { step });
    }
    let how = child.wait().map(how_it_ended).unwrap_or_else(|e| e.to_string());
    let said = said.and_then(|said| said.recv_timeout(Duration::from_secs(1)).ok()).unwrap_or_default();
    Err(Failure::Died { step, how, said })
}

fn is_injection(name: &OsStr) -> bool {
    name == "LD_PRELOAD"
        || name == "CUDA_INJECTION64_PATH"
        || name == "NVTX_INJECTION64_PATH"
        || name.as_bytes().starts_with(b"GPUPROF_")
}

/// Ends a child that is of no more use. It may be gone already.
fn stop(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// The last line that is written to `pipe`, once it is closed.
fn tail(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let _ = sender.send(last.trim().chars().take(300).collect());
    });
    receiver
}

fn how_it_ended(status: ExitStatus) -> String {
    match status.signal() {
        Some(libc::SIGSEGV) => "SIGSEGV".to_owned(),
        Some(libc::SIGABRT) => "SIGABRT".to_owned(),
        Some(libc::SIGBUS) => "SIGBUS".to_owned(),
        Some(libc::SIGILL) => "SIGILL".to_owned(),
        Some(libc::SIGFPE) => "SIGFPE".to_owned(),
        Some(libc::SIGKILL) => "SIGKILL".to_owned(),
        Some(libc::SIGSYS) => "SIGSYS: a sandbox forbids a system call".to_owned(),
        Some(other) => format!("signal {other}"),
        None => format!("exit status {}", status.code().unwrap_or(-1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::fixtures::Room;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    /// A stand-in for our own program: a shell script that does as told.
    fn script(room: &Room, name: &str, body: &str) -> PathBuf {
        let path = room.file(name, format!("#!/bin/sh\n{body}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
        path
    }

    fn asked(body: &str) -> Result<u32, Failure> {
        let mut room = Room::new();
        room.world.gpuprof = script(&room, "gpuprof", body);
        ask_within(&room.world, &[], Duration::from_millis(500))
    }

    #[test]
    fn an_answer_counts_whatever_comes_after_it() {
        assert_eq!(asked(r#"echo noise; echo 'gpuprof-probe {"Answer":7}'"#), Ok(7));
        assert_eq!(asked(r#"echo 'gpuprof-probe {"Answer":7}'; kill -SEGV $$"#), Ok(7));
        assert_eq!(asked(r#"echo 'gpuprof-probe {"Answer":7}'; exec sleep 60"#), Ok(7));
    }

    #[test]
    fn a_crash_names_the_step_and_the_signal() {
        let failure = asked(r#"echo 'gpuprof-probe {"Step":"cuInit"}'; echo help >&2; kill -SEGV $$"#);
        let expected = Failure::Died { step: "cuInit".into(), how: "SIGSEGV".into(), said: "help".into() };
        assert_eq!(failure, Err(expected.clone()));
        assert_eq!(expected.to_string(), "crashed in cuInit (SIGSEGV): help");
        let failure = asked("exit 101");
        assert_eq!(failure.map_err(|f| f.to_string()), Err("crashed in its start (exit status 101)".to_owned()));
    }

    #[test]
    fn a_call_that_never_returns_is_given_up() {
        let failure = asked(r#"echo 'gpuprof-probe {"Step":"cuptiSubscribe"}'; exec sleep 60"#);
        assert_eq!(failure, Err(Failure::Stuck { step: "cuptiSubscribe".into() }));
    }

    #[test]
    fn nothing_that_is_injected_into_us_reaches_the_child() {
        let mut room = Room::new();
        let seen = "$LD_PRELOAD|$CUDA_INJECTION64_PATH|$GPUPROF_CUPTI|$KEPT|$GPUPROF_DISABLE";
        let answer = format!(r#"echo "gpuprof-probe {{\"Answer\":\"{seen}\"}}""#);
        room.world.gpuprof = script(&room, "gpuprof", &answer);
        for name in ["LD_PRELOAD", "CUDA_INJECTION64_PATH", "GPUPROF_CUPTI", "KEPT"] {
            room.set(name, "x");
        }
        assert_eq!(ask::<String>(&room.world, &[]), Ok("|||x|1".to_owned()));
    }

    #[test]
    fn a_program_that_is_not_there_is_said() {
        let mut room = Room::new();
        room.world.gpuprof = "/nowhere/gpuprof".into();
        let Err(Failure::NotStarted(why)) = ask::<u32>(&room.world, &[]) else { panic!("not started") };
        assert!(why.starts_with("/nowhere/gpuprof: "), "{why}");
    }
}
