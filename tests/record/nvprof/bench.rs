//! A machine on whose PATH is a program called `nvprof`, which is gpuprof, and the programs of users' notes, which are
//! the simulator's players.

use crate::sim::{self, Ended, Run, Sim};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// The machine.
pub struct Bench {
    pub sim: Sim,
    bin: PathBuf,
}

impl Bench {
    pub fn new() -> Bench {
        let sim = Sim::new("12.8");
        let bin = sim.folder().join("bin");
        std::fs::create_dir_all(&bin).expect("a folder");
        symlink(env!("CARGO_BIN_EXE_gpuprof"), bin.join("nvprof")).expect("a link");
        symlink(env!("CARGO_BIN_EXE_gpuprof"), bin.join("gpuprof")).expect("a link");
        let bench = Bench { sim, bin };
        let player = |name: &str| sim::player(name).display().to_string();
        // A training program with arguments of its own; it becomes the player, as scripts that set something up do.
        bench.script("dp", &format!("echo \"dp $*\" > \"$4\"; exec {} 3", player("vector_add")));
        bench.script("app", &format!("exec {} \"$@\"", player("vector_add")));
        bench.script("python", "exec python3 \"$@\"");
        bench
    }

    /// Puts a script on the PATH.
    pub fn script(&self, name: &str, body: &str) {
        let path = self.bin.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("a script");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a script");
    }

    /// A command line for the shell, about to be run.
    pub fn line(&self, line: &str) -> Run<'_> {
        let path = format!("{}:{}", self.bin.display(), std::env::var("PATH").unwrap_or_default());
        let classic = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sim/players/classic.py");
        let run = self.sim.program("sh").args(["-c", line]).default_output().env("PATH", path);
        for script in ["script.py", "mnist.py", "input.json"] {
            std::fs::copy(&classic, run.folder().join(script)).expect("a script");
        }
        std::fs::copy(sim::player("vector_add"), run.folder().join("a.out")).expect("a program");
        run.env("GPUPROF_SHIM", sim::shim_path()).env("TMPDIR", self.tmp())
    }

    /// Runs a command line, on a clock on which everything takes the same time whenever it runs.
    pub fn run(&self, line: &str) -> Ended {
        self.line(line).env("SIM_CLOCK", "virtual").run()
    }

    /// Where temporary folders are made.
    pub fn tmp(&self) -> PathBuf {
        let tmp = self.sim.folder().join("tmp");
        std::fs::create_dir_all(&tmp).expect("a folder");
        tmp
    }

    /// Folders with traces that were left behind.
    pub fn left(&self) -> Vec<PathBuf> {
        self.tmp().read_dir().expect("a folder").flatten().map(|entry| entry.path()).collect()
    }
}

/// A file that the run wrote.
pub fn file(ended: &Ended, name: &str) -> String {
    let path = ended.folder().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}\n{}", path.display(), ended.stderr))
}

/// The process that is said to be profiled, in the first line of a log.
pub fn profiled(log: &str) -> u32 {
    let first = log.lines().find(|line| line.contains("NVPROF is profiling process ")).unwrap_or_default();
    let pid = first.strip_prefix("==").and_then(|rest| rest.split_once("== ")).map(|(pid, _)| pid.parse());
    pid.and_then(Result::ok).unwrap_or_else(|| panic!("no process is profiled in:\n{log}"))
}

/// What the log says about the process itself, before and after the tables: without them.
pub fn frame_lines(log: &str) -> Vec<String> {
    log.lines().filter(|line| line.starts_with("==")).map(str::to_owned).collect()
}
