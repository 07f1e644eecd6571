//! The simulator's harness: lays out a folder of libraries that a program takes for CUDA's (libcuda, libcudart, and
//! libcupti of the version asked for), builds the players, runs programs over them with or without gpuprof, and
//! collects what came of it.
//!
//! Everything that ran under this is a SIMULATION: no GPU, no CUPTI. See `tests/sim/README.md`.
//!
//! ```ignore
//! let sim = Sim::new("12.8");
//! let ended = sim.player("vector_add").arg("10").attach(Attach::Injection).run();
//! assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
//! assert_eq!(ended.totals().delivered_of(10), 10);
//! let trace = ended.trace();
//! ```
#![allow(dead_code, missing_docs, reason = "each test binary uses some of it")]

#[path = "sim_libraries.rs"]
mod libraries;
#[path = "sim_totals.rs"]
mod totals;

pub use libraries::{cupti_soname, write_cudart, write_cupti};
pub use totals::Totals;

use libraries::{cudart_soname, toolkit, write_new};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use totals::{TOTALS_BYTES, read_totals};

/// The versions of CUPTI that the simulator plays, newest package of each.
pub const VERSIONS: [&str; 16] = [
    "11.8", "12.0", "12.1", "12.2", "12.3", "12.4", "12.5", "12.6", "12.8", "12.9", "13.0", "13.1", "13.2", "13.3",
    "13.4", "13.5",
];

/// The folder in which cargo leaves libraries: the test's own, or the one above it.
pub fn built(file: &str) -> PathBuf {
    let exe = std::env::current_exe().expect("the test's own path");
    let deps = exe.parent().expect("a folder");
    let found = [deps, deps.parent().expect("a folder")].map(|folder| folder.join(file));
    // Cargo leaves the file under either name; the younger one is the one just built.
    let age = |path: &PathBuf| path.metadata().and_then(|data| data.modified()).ok();
    let newest = found.into_iter().filter(|path| age(path).is_some()).max_by_key(age);
    newest.unwrap_or_else(|| panic!("{file} was not built: it is a dev-dependency of the root package"))
}

/// The collector: `libgpuprof.so` as cargo built it for the tests, or `GPUPROF_TEST_SHIM`.
pub fn shim_path() -> PathBuf {
    std::env::var_os("GPUPROF_TEST_SHIM").map_or_else(|| built("libgpuprof.so"), PathBuf::from)
}

/// What `gpuprof preload-path` prints: the door in front of that collector; the collector itself where it has none.
pub fn preload_path() -> PathBuf {
    let door = shim_path().with_file_name("libgpuprof_preload.so");
    if door.exists() { door } else { shim_path() }
}

/// The root of the repository: this file serves tests of packages below it too.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package.ancestors().find(|folder| folder.join("tests/sim/players").is_dir());
    root.expect("the repository above the package").to_path_buf()
}

fn scratch() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

fn symlink(to: &str, at: &Path) {
    let _ = std::fs::remove_file(at);
    std::os::unix::fs::symlink(to, at).expect("a symbolic link");
}

/// A simulated machine: a folder of libraries, and the folders of what runs on it. Removed when dropped, unless the test
/// fails.
pub struct Sim {
    folder: PathBuf,
    version: String,
    runs: AtomicU32,
}

impl Sim {
    /// A machine with that CUPTI and the libcudart of the same toolkit.
    pub fn new(version: &str) -> Sim {
        Sim::with_cudart(version, version)
    }

    /// A machine whose programs use another toolkit's runtime than CUPTI's.
    pub fn with_cudart(version: &str, cudart: &str) -> Sim {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("sim-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = scratch().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        let lib = folder.join("lib");
        std::fs::create_dir_all(&lib).expect("a folder for libraries");
        let sim = Sim { folder, version: version.to_owned(), runs: AtomicU32::new(0) };
        std::fs::copy(built("libsim_cuda.so"), lib.join("libcuda.so.1")).expect("the simulated libcuda");
        symlink("libcuda.so.1", &lib.join("libcuda.so"));
        write_cupti(version, &lib.join(cupti_soname(version)));
        symlink(&cupti_soname(version), &lib.join("libcupti.so"));
        write_cudart(cudart, &lib.join(cudart_soname(cudart)));
        symlink(&cudart_soname(cudart), &lib.join("libcudart.so"));
        // Players are linked against 12's runtime; on other machines they get it beside the machine's own.
        if toolkit(cudart).0 != 12 {
            write_cudart("12.8", &lib.join("libcudart.so.12"));
        }
        sim
    }

    pub fn version(&self) -> &str {
        &self.version
    }

    /// Where the libraries lie.
    pub fn lib(&self) -> PathBuf {
        self.folder.join("lib")
    }

    /// The machine's libcupti.
    pub fn cupti(&self) -> PathBuf {
        self.lib().join(cupti_soname(&self.version))
    }

    /// A folder of the test's own, beside the libraries.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The machine loses its libcupti (the collector finds none).
    pub fn without_cupti(self) -> Sim {
        let _ = std::fs::remove_file(self.cupti());
        let _ = std::fs::remove_file(self.lib().join("libcupti.so"));
        self
    }

    /// A program of `tests/sim/players`, built if need be.
    pub fn player(&self, name: &str) -> Run<'_> {
        self.program(player(name))
    }

    /// A Python program of `tests/sim/players`.
    pub fn python(&self, name: &str) -> Run<'_> {
        self.program("python3").arg(root().join("tests/sim/players").join(name))
    }

    /// Any program.
    pub fn program(&self, program: impl AsRef<OsStr>) -> Run<'_> {
        let folder = self.folder.join(format!("run-{}", self.runs.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir_all(folder.join("out")).expect("a folder for traces");
        Run {
            sim: self,
            folder,
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            removed: Vec::new(),
            attach: Attach::None,
            timeout: Duration::from_secs(60),
            stdin: None,
            output: true,
            may_be_stopped: false,
        }
    }

    /// An intruder: a library of that name which takes the activity API for itself (`SIM_TAKEOVER=PATH@LAUNCH`).
    pub fn intruder(&self, file: &str) -> PathBuf {
        let path = self.lib().join(file);
        std::fs::copy(player("intruder"), &path).expect("the intruder");
        path
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("what was run is in {}", self.folder.display());
        } else {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// How gpuprof comes into the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attach {
    /// Not at all.
    None,
    /// `LD_PRELOAD` names the door, as `gpuprof preload-path` prints it.
    Preload,
    /// `LD_PRELOAD` names the collector itself.
    PreloadWhole,
    /// `CUDA_INJECTION64_PATH` and `NVTX_INJECTION64_PATH`.
    Injection,
    /// Another library through `CUDA_INJECTION64_PATH`.
    Other(PathBuf),
    /// `gpuprof record [options] -- program`.
    Cli(Vec<String>),
}

/// A program about to be run.
pub struct Run<'s> {
    sim: &'s Sim,
    folder: PathBuf,
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    removed: Vec<OsString>,
    attach: Attach,
    timeout: Duration,
    stdin: Option<Vec<u8>>,
    output: bool,
    may_be_stopped: bool,
}

impl<'s> Run<'s> {
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.removed.push(name.as_ref().to_owned());
        self
    }

    pub fn attach(mut self, attach: Attach) -> Self {
        self.attach = attach;
        self
    }

    /// `LD_PRELOAD`.
    pub fn preload(self) -> Self {
        self.attach(Attach::Preload)
    }

    /// `CUDA_INJECTION64_PATH`.
    pub fn inject(self) -> Self {
        self.attach(Attach::Injection)
    }

    /// `gpuprof record [options] --`; traces go to the run's folder unless the options say otherwise.
    pub fn record(self, options: &[&str]) -> Self {
        self.attach(Attach::Cli(options.iter().map(|&option| option.to_owned()).collect()))
    }

    /// At the launch of that number a library of that name takes the activity API for itself.
    pub fn takeover(self, file: &str, launch: u64) -> Self {
        let path = self.sim.intruder(file);
        self.env("SIM_TAKEOVER", format!("{}@{launch}", path.display()))
    }

    /// Lets CUPTI functions fail: `cuptiSubscribe:39@1,cuptiActivityEnable:35@3+,cuptiActivityEnable#25:28`.
    pub fn fail(self, rules: &str) -> Self {
        self.env("SIM_FAIL", rules)
    }

    /// Lets CUPTI functions take their time: `cuptiActivityFlushAll:500` (ms) or `cuptiActivityFlushAll:forever`.
    pub fn stall(self, rules: &str) -> Self {
        self.env("SIM_STALL", rules)
    }

    /// Allows the simulator to stop the program for what no program may do (tests of the simulator itself).
    pub fn may_be_stopped(mut self) -> Self {
        self.may_be_stopped = true;
        self
    }

    /// A longer run than this is killed and fails the test (60 s).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// The collector's own default for its output, in the run's folder, instead of the harness's template.
    pub fn default_output(mut self) -> Self {
        self.output = false;
        self
    }

    /// Where traces go.
    pub fn out(&self) -> PathBuf {
        self.folder.join("out")
    }

    /// The working folder of the program.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn command(&self) -> Command {
        let mut command = match &self.attach {
            Attach::Cli(options) => {
                let Some(cli) = option_env!("CARGO_BIN_EXE_gpuprof") else {
                    panic!("only integration tests of the root package have the CLI")
                };
                let mut command = Command::new(cli);
                command.arg("record").args(options).arg("--").arg(&self.program);
                command
            }
            _ => Command::new(&self.program),
        };
        command.args(&self.args).current_dir(&self.folder);
        // Nothing of this machine's CUDA, nor of a gpuprof around us, may reach the program.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let foreign = ["GPUPROF_", "SIM_", "CUDA_", "NVTX_", "CUPTI_", "CARGO_", "RUST"];
            if foreign.iter().any(|prefix| text.starts_with(prefix)) {
                command.env_remove(&name);
            }
        }
        for name in ["LD_PRELOAD", "CONDA_PREFIX", "VIRTUAL_ENV", "PYTHONPATH"] {
            command.env_remove(name);
        }
        // Ours first and alone: the loader must never come to the real libraries.
        command.env("LD_LIBRARY_PATH", self.sim.lib());
        command.env("SIM_LOG", self.folder.join("sim.log"));
        command.env("SIM_TOTALS", self.folder.join("sim.totals"));
        if self.output {
            command.env("GPUPROF_OUTPUT", self.out().join("%n-%p.gpuprof"));
        }
        match &self.attach {
            Attach::None => {}
            Attach::Cli(_) => {
                command.env("GPUPROF_SHIM", shim_path());
            }
            Attach::Preload => {
                command.env("LD_PRELOAD", preload_path());
            }
            Attach::PreloadWhole => {
                command.env("LD_PRELOAD", shim_path());
            }
            Attach::Injection => {
                command.env("CUDA_INJECTION64_PATH", shim_path()).env("NVTX_INJECTION64_PATH", shim_path());
            }
            Attach::Other(path) => {
                command.env("CUDA_INJECTION64_PATH", path);
            }
        }
        for name in &self.removed {
            command.env_remove(name);
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts it; the test does what it wants meanwhile and then asks for its [`Running::end`].
    pub fn start(self) -> Running {
        let totals = std::fs::File::create(self.folder.join("sim.totals")).expect("the table of totals");
        totals.set_len(TOTALS_BYTES).expect("the table of totals");
        let mut command = self.command();
        let input = if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
        // A group of its own, so that whatever it leaves behind can be ended too.
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let begin = Instant::now();
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        if let (Some(bytes), Some(mut stdin)) = (self.stdin, child.stdin.take()) {
            std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &bytes));
        }
        let collect = |pipe: Option<Box<dyn Read + Send>>| {
            let mut pipe = pipe.expect("a pipe");
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = pipe.read_to_end(&mut bytes);
                bytes
            })
        };
        let stdout = collect(child.stdout.take().map(|pipe| Box::new(pipe) as _));
        let stderr = collect(child.stderr.take().map(|pipe| Box::new(pipe) as _));
        let (folder, timeout, may_be_stopped) = (self.folder, self.timeout, self.may_be_stopped);
        Running { child, begin, stdout, stderr, folder, timeout, may_be_stopped, peak: 0 }
    }

    /// Runs it to its end.
    pub fn run(self) -> Ended {
        self.start().end()
    }
}

/// A program that runs.
pub struct Running {
    child: Child,
    begin: Instant,
    stdout: std::thread::JoinHandle<Vec<u8>>,
    stderr: std::thread::JoinHandle<Vec<u8>>,
    folder: PathBuf,
    timeout: Duration,
    may_be_stopped: bool,
    peak: u64,
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the process alone.
    pub fn signal(&self, signal: &str) {
        let _ = Command::new("kill").arg(format!("-{signal}")).arg(self.pid().to_string()).status();
    }

    /// Where traces go.
    pub fn out(&self) -> PathBuf {
        self.folder.join("out")
    }

    /// What the simulator counted so far.
    pub fn totals(&self) -> Totals {
        Totals::sum(&read_totals(&self.folder))
    }

    fn kill_group(&self) {
        let group = format!("-{}", self.pid());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    }

    /// Waits for its end. Whatever it left behind holds its pipes at most as long as the timeout.
    pub fn end(mut self) -> Ended {
        let mut status = None;
        while self.begin.elapsed() < self.timeout {
            if status.is_none() {
                self.peak = self.peak.max(peak_rss_bytes(self.pid()));
                status = self.child.try_wait().expect("a child").map(|status| (status, self.begin.elapsed()));
            }
            if status.is_some() && self.stdout.is_finished() && self.stderr.is_finished() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let timed_out = status.is_none();
        if timed_out || !self.stdout.is_finished() || !self.stderr.is_finished() {
            self.kill_group();
        }
        let (status, duration) =
            status.unwrap_or_else(|| (self.child.wait().expect("a killed child"), self.begin.elapsed()));
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let stdout = text(self.stdout.join().expect("stdout"));
        let stderr = text(self.stderr.join().expect("stderr"));
        let log = std::fs::read(self.folder.join("sim.log")).map(text).unwrap_or_default();
        let processes = read_totals(&self.folder);
        let folder = self.folder;
        assert!(
            !timed_out,
            "no end after {:?}, killed\nstdout: {stdout}\nstderr: {stderr}\nlog: {log}",
            self.timeout
        );
        let stopped = stderr.contains("sim: FATAL") || log.contains(" FATAL ");
        assert!(self.may_be_stopped || !stopped, "the simulator stopped the program: {stderr}\nlog: {log}");
        Ended { stdout, stderr, status, duration, peak_rss_bytes: self.peak, log, processes, folder }
    }
}

/// The most memory that a process had at a time. 0 if it is gone.
fn peak_rss_bytes(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// A program that ended.
pub struct Ended {
    pub stdout: String,
    pub stderr: String,
    pub status: ExitStatus,
    pub duration: Duration,
    /// As last seen while it ran, looked at every millisecond.
    pub peak_rss_bytes: u64,
    /// What the simulator wrote: pid, thread, what.
    pub log: String,
    /// Totals of every process that used the simulator.
    pub processes: Vec<Totals>,
    folder: PathBuf,
}

impl Ended {
    /// Its exit code; `None` if a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// The traces it left, by name.
    pub fn traces(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        files(&self.folder, &mut found);
        found.retain(|path| path.extension().is_some_and(|extension| extension == "gpuprof"));
        found.sort();
        found
    }

    /// The one trace it left.
    pub fn trace(&self) -> PathBuf {
        let traces = self.traces();
        assert_eq!(traces.len(), 1, "traces {traces:?}\nstderr: {}", self.stderr);
        traces[0].clone()
    }

    /// Everything that is in the run's folder.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        files(&self.folder, &mut found);
        found.retain(|path| !path.file_name().is_some_and(|name| name == "sim.log" || name == "sim.totals"));
        found.sort();
        found
    }

    /// The run's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Totals of all its processes together.
    pub fn totals(&self) -> Totals {
        Totals::sum(&self.processes)
    }

    /// A number in the JSON line that a player printed.
    pub fn number(&self, name: &str) -> u64 {
        let key = format!("\"{name}\":");
        let at = self.stdout.find(&key).unwrap_or_else(|| panic!("no {name} in: {}", self.stdout)) + key.len();
        let digits: String = self.stdout[at..].chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or_else(|_| panic!("{name} is no number in: {}", self.stdout))
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// A player, built with `cc` unless that was done since its source last changed. Comments in the source say how:
/// `shared: yes` makes a library, `link: none` leaves CUDA out, `flags: …` adds to the command.
pub fn player(name: &str) -> PathBuf {
    let sources = root().join("tests/sim/players");
    let source = sources.join(format!("{name}.c"));
    let text = std::fs::read_to_string(&source).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
    let says = |key: &str| {
        let mut lines = text.lines().filter_map(|line| Some(line.split_once(key)?.1));
        lines.next().map(|rest| rest.trim_end_matches("*/").trim().to_owned())
    };
    let cache = scratch().join("sim-players");
    let link = cache.join("link");
    let out = cache.join(name);
    let newest = [source.clone(), sources.join("mini.h"), built("libsim_cudart.so"), built("libsim_cuda.so")]
        .map(|path| path.metadata().and_then(|data| data.modified()).expect("a file's age"))
        .into_iter()
        .max();
    if out.metadata().and_then(|data| data.modified()).ok() > newest {
        return out;
    }
    std::fs::create_dir_all(&link).expect("a folder for players");
    write_new(&link.join("libcuda.so"), &std::fs::read(built("libsim_cuda.so")).expect("the simulated libcuda"));
    write_cudart("12.8", &link.join("libcudart.so"));
    write_cupti("12.8", &link.join("libcupti.so"));
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let new = cache.join(format!("{name}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-g", "-Wall", "-Wextra", "-Wno-unused-function", "-o"]).arg(&new).arg(&source);
    if says("shared: yes").is_some() {
        cc.args(["-shared", "-fPIC"]);
    }
    cc.arg("-Wl,--no-as-needed").arg("-L").arg(&link).arg(format!("-Wl,-rpath-link,{}", link.display()));
    match says("link: ").as_deref() {
        Some("none") => {}
        Some(libraries) => {
            cc.args(libraries.split(' ').map(|library| format!("-l{library}")));
        }
        None if says("shared: yes").is_some() => {}
        None => {
            cc.args(["-lcudart", "-lcuda"]);
        }
    }
    if let Some(flags) = says("flags: ") {
        cc.args(flags.split(' '));
    }
    cc.args(["-ldl", "-lpthread"]);
    let done = cc.output().expect("cc, the C compiler");
    assert!(done.status.success(), "{cc:?}: {}", String::from_utf8_lossy(&done.stderr));
    std::fs::rename(&new, &out).expect("a player in its place");
    out
}
