//! What every integration test needs: the real program, temporary folders, the shared data and loud skips.
#![allow(dead_code, unused_imports, missing_docs, reason = "each test binary uses some of it")]

pub mod build;
pub mod everything;
pub mod exercise;
pub mod foreign;
pub mod python_door;
mod skips;
pub mod tools;

pub use skips::skip;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The program's answer.
#[derive(Debug)]
pub struct Answer {
    pub stdout: String,
    pub stderr: String,
    pub status: i32,
}

/// Runs the real `gpuprof` in `folder`.
pub fn gpuprof_in(folder: &Path, args: &[&str]) -> Answer {
    answer(command(args).current_dir(folder))
}

/// Runs the real `gpuprof`; it must succeed.
pub fn gpuprof(args: &[&str]) -> Answer {
    let answer = gpuprof_in(Path::new("."), args);
    assert_eq!(answer.status, 0, "gpuprof {args:?}: {}", answer.stderr);
    answer
}

/// Runs the real `gpuprof` with environment variables set.
pub fn gpuprof_with(variables: &[(&str, &str)], args: &[&str]) -> Answer {
    answer(command(args).envs(variables.iter().copied()))
}

/// The real `gpuprof`, not started yet. What a developer has in `gpuprof.toml` is no matter of tests.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpuprof"));
    command.args(args).env("GPUPROF_NO_CONFIG", "1");
    command
}

/// Longer than any run here takes on the slowest machine. A run that is still going has lost its way.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Runs a program to its end. No run may panic, whatever it was given, nor go on for ever.
pub fn answer(command: &mut Command) -> Answer {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let (stdout, stderr) = (child.stdout.take().map(collect), child.stderr.take().map(collect));
    let [stdout, stderr] = [stdout, stderr].map(|text| text.unwrap().recv_timeout(DEADLINE));
    let (Ok(stdout), Ok(stderr)) = (stdout, stderr) else {
        let _ = child.kill();
        panic!("{command:?}: no end after {DEADLINE:?}");
    };
    let answer = Answer { stdout, stderr, status: child.wait().unwrap().code().unwrap_or(-1) };
    assert!(!answer.stderr.contains("panicked at"), "{command:?}: {}", answer.stderr);
    answer
}

/// All that can be read from a pipe, once it is closed.
fn collect(mut pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

/// Runs the real `gpuprof`, which must fail: status 2, nothing on the standard output, and `path` and each of `words`
/// on the standard error. Returns the message.
pub fn refused(args: &[&str], words: &[&str]) -> String {
    let answer = gpuprof_in(Path::new("."), args);
    assert_eq!(answer.status, 2, "gpuprof {args:?}: {}{}", answer.stdout, answer.stderr);
    assert_eq!(answer.stdout, "", "gpuprof {args:?}");
    assert!(answer.stderr.starts_with("gpuprof: "), "gpuprof {args:?}: {}", answer.stderr);
    for word in words {
        assert!(answer.stderr.contains(word), "gpuprof {args:?} does not say \"{word}\": {}", answer.stderr);
    }
    answer.stderr
}

/// A new empty folder, removed when dropped.
pub struct TempFolder(PathBuf);

impl TempFolder {
    pub fn new(name: &str) -> TempFolder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // With a number: tests that know nothing of each other may have chosen the same name.
        let name = format!("{name}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        TempFolder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file into the folder; `name` may have folders of its own.
    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a temporary folder");
        std::fs::write(&path, bytes).expect("a temporary file");
        path
    }

    /// As [`TempFolder::file`], with the path as an argument for the program.
    pub fn argument(&self, name: &str, bytes: &[u8]) -> String {
        self.file(name, bytes).to_str().expect("a path").to_owned()
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The project's shared files (`GPUPROF_SHARED`, else `../shared`); `None`, said loudly and counted, in a clone that
/// has none.
pub fn shared(test: &str) -> Option<PathBuf> {
    let path = std::env::var_os("GPUPROF_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    if path.join("data/MANIFEST.tsv").is_file() {
        return Some(path);
    }
    skip(test, &format!("no shared data at {}", path.display()));
    None
}
