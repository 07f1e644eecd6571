//! `gpuprof record` and `gpuprof preload-path`: the program runs as if nobody stood before it, its environment leads to
//! the collector, and the end says what came of it. Programs here are shells; the collector's part is played by a shell
//! that leaves what a collector would leave; `with_sim` has the real one.

mod collector_file;
mod command_lines;
mod destination;
mod environment;
mod outcome;
mod passing_on;
mod signals;
mod with_sim;

use crate::common::build::{self, Story};
use crate::common::{self, Answer, TempFolder, answer, command, skip};
use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Variables of whoever runs the tests that would change what is tested.
const FOREIGN: [&str; 8] = [
    "CUDA_INJECTION64_PATH",
    "NVTX_INJECTION64_PATH",
    "LD_PRELOAD",
    "GPUPROF_OUTPUT",
    "GPUPROF_SEEN",
    "GPUPROF_SHIM",
    "GPUPROF_DISABLE",
    "RANK",
];

fn record(folder: &TempFolder, options: &[&str], program: &[&str]) -> Command {
    let mut command = command(&["record"]);
    command.args(options).arg("--").args(program).current_dir(folder.path());
    for name in FOREIGN {
        command.env_remove(name);
    }
    default_signals(&mut command);
    command
}

/// A shell ignores SIGINT and SIGQUIT for what it runs in the background, and nohup SIGHUP, these tests perhaps; what a
/// program ignores its children do too.
#[allow(unsafe_code, reason = "the only way to say how a child begins")]
fn default_signals(command: &mut Command) {
    // SAFETY: `signal` may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            libc::signal(libc::SIGQUIT, libc::SIG_DFL);
            libc::signal(libc::SIGHUP, libc::SIG_DFL);
            Ok(())
        });
    }
}

fn recorded(folder: &TempFolder, options: &[&str], program: &[&str]) -> Answer {
    answer(&mut record(folder, options, program))
}

fn sh(script: &str) -> [&str; 3] {
    ["sh", "-c", script]
}

/// What lies in a folder, by name.
fn names(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().expect("a folder").map(|e| e.expect("an entry").file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Waits until something holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(30), "{what}: not in 30 s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(signal: &str, pid: &str) {
    assert!(Command::new("kill").args([signal, "--", pid]).status().expect("kill").success());
}

/// The environment that a program gets, line by line, but for what every process has of its own.
fn environment(command: &mut Command) -> Vec<String> {
    let mut lines: Vec<String> = answer(command).stdout.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn variable(lines: &[String], name: &str) -> Option<String> {
    lines.iter().find_map(|line| line.strip_prefix(&format!("{name}=")).map(str::to_owned))
}
