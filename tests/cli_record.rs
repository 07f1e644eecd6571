//! `gpuprof record` and `gpuprof preload-path`: the program runs as if nobody stood before it, its environment leads to
//! the collector, and the end says what came of it. Programs here are shells; the collector's part is played by a shell
//! that leaves what a collector would leave; `with_sim` has the real one.

mod common;
#[path = "common/sim.rs"]
mod sim;
#[path = "cli_record/with_sim.rs"]
mod with_sim;

use common::build::{self, Story};
use common::{Answer, TempFolder, answer, command, skip};
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

/// A shell ignores SIGINT and SIGQUIT for what it runs in the background, these tests perhaps; what a program ignores
/// its children do too.
#[allow(unsafe_code, reason = "the only way to say how a child begins")]
fn default_signals(command: &mut Command) {
    // SAFETY: `signal` may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            libc::signal(libc::SIGQUIT, libc::SIG_DFL);
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

// ---------------------------------------------------------------------------------------- as if nobody stood before it

#[test]
fn input_and_output_are_the_programs_own() {
    let folder = TempFolder::new("record-stdio");
    let input = folder.file("input", b"one\0two\xff\nthree");
    let mut command = record(&folder, &[], &["cat"]);
    let output = command.stdin(std::fs::File::open(input).unwrap()).output().unwrap();
    assert_eq!(output.stdout, b"one\0two\xff\nthree");
    let answer = recorded(&folder, &[], &sh("echo out; echo err >&2"));
    assert_eq!(answer.stdout, "out\n");
    assert!(answer.stderr.starts_with("err\ngpuprof: "), "{}", answer.stderr);
    assert_eq!(answer.stderr.lines().count(), 4, "the program's line and three of ours: {}", answer.stderr);
}

#[test]
fn the_exit_status_is_the_programs_own() {
    let folder = TempFolder::new("record-status");
    for status in [0, 1, 2, 42, 126, 127, 255] {
        assert_eq!(recorded(&folder, &[], &sh(&format!("exit {status}"))).status, status);
    }
}

#[test]
fn it_dies_by_the_signal_that_the_program_died_by() {
    let folder = TempFolder::new("record-signal");
    for (name, number) in [("TERM", 15), ("KILL", 9), ("SEGV", 11), ("ABRT", 6), ("INT", 2), ("USR1", 10)] {
        let mut command = record(&folder, &[], &sh(&format!("kill -{name} $$")));
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.signal(), Some(number), "{name}: {status:?}");
    }
}

#[test]
fn the_program_starts_as_we_were_started() {
    let folder = TempFolder::new("record-inherited");
    // The shell changes nothing of what grep shows: its own mask and dispositions come from whoever started it.
    let script = "exec 7</dev/null; trap '' USR2 PIPE; exec \"$@\" <&-";
    let show = "grep -E '^(SigBlk|SigIgn):' /proc/self/status; for f in 0 1 2 3 4 5 6 7 8 9 10 11 12; do \
                [ -e /proc/self/fd/$f ] && echo fd $f; done; ulimit -c";
    let run = |before: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).args(before).args(["bash", "-c", show]).current_dir(folder.path());
        answer(&mut command).stdout
    };
    if Command::new("bash").arg("--version").stdout(Stdio::null()).status().is_err() {
        return skip("the_program_starts_as_we_were_started", "no bash");
    }
    let without = run(&[]);
    assert!(without.contains("fd 7"), "{without}");
    assert_eq!(run(&[env!("CARGO_BIN_EXE_gpuprof"), "record", "--"]), without);
    // And with SIGPIPE at its default, which Rust's runtime ignores in gpuprof itself.
    let masks = |command: &mut Command| answer(command).stdout;
    let script = sh("grep -E '^(SigBlk|SigIgn):' /proc/self/status");
    let mut bare = Command::new(script[0]);
    default_signals(&mut bare);
    assert_eq!(masks(&mut record(&folder, &[], &script)), masks(bare.args(&script[1..])));
}

#[test]
fn a_closed_pipe_ends_the_program_and_not_us() {
    let folder = TempFolder::new("record-pipe");
    let pipeline = format!("{} record -- yes | head -n 1", env!("CARGO_BIN_EXE_gpuprof"));
    let answer = answer(Command::new("sh").args(["-c", &pipeline]).current_dir(folder.path()));
    assert_eq!(answer.stdout, "y\n");
    assert!(answer.stderr.contains("nothing was recorded: yes"), "{}", answer.stderr);
}

// -------------------------------------------------------------------------------------------------------- signals

/// A program that counts what it gets, started by `record` in a process group of its own.
struct Counting {
    child: Child,
    folder: TempFolder,
}

impl Counting {
    fn start(name: &str) -> Counting {
        let folder = TempFolder::new(name);
        // Signals reach a shell between commands, so the commands are short.
        let script = "for s in TERM INT HUP USR1; do trap \"echo $s >> got\" $s; done; : > ready; \
                      while [ ! -e stop ]; do sleep 0.01; done";
        let mut command = record(&folder, &[], &sh(script));
        let child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until("the program runs", || folder.path().join("ready").exists());
        Counting { child, folder }
    }

    fn alone(&self) -> String {
        self.child.id().to_string()
    }

    fn group(&self) -> String {
        format!("-{}", self.child.id())
    }

    fn got(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join("got")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn end(mut self) -> Vec<String> {
        self.folder.file("stop", b"");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        self.got()
    }
}

#[test]
fn a_signal_for_us_alone_is_passed_on() {
    let program = Counting::start("record-alone");
    for (count, signal) in (1..).zip(["TERM", "INT", "HUP", "USR1", "TERM"]) {
        kill(&format!("-{signal}"), &program.alone());
        until(signal, || program.got().len() == count);
    }
    assert_eq!(program.end(), ["TERM", "INT", "HUP", "USR1", "TERM"]);
}

#[test]
fn a_signal_for_the_group_comes_once() {
    let program = Counting::start("record-group");
    for (count, signal) in (1..).zip(["INT", "TERM", "INT"]) {
        kill(&format!("-{signal}"), &program.group());
        until(signal, || program.got().len() == count);
    }
    // What was passed on by mistake would come within the time that the witness is given.
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(program.end(), ["INT", "TERM", "INT"]);
}

#[test]
fn timeout_signals_us_and_the_group_and_the_program_hears_it_once() {
    let folder = TempFolder::new("record-timeout");
    let script =
        "trap 'echo TERM >> got; : > stop' TERM; while [ ! -e stop ]; do sleep 0.01; done; sleep 0.3; echo end";
    let mut command = Command::new("timeout");
    command
        .args(["0.5", env!("CARGO_BIN_EXE_gpuprof"), "record", "--"])
        .args(sh(script))
        .current_dir(folder.path());
    let answer = answer(command.process_group(0));
    assert_eq!(answer.stdout, "end\n", "{}", answer.stderr);
    assert_eq!(std::fs::read_to_string(folder.path().join("got")).unwrap(), "TERM\n");
}

#[test]
fn stopping_us_stops_the_program_and_continuing_us_continues_it() {
    let folder = TempFolder::new("record-stop");
    let script = "echo $$ > pid; while [ ! -e stop ]; do sleep 0.01; done";
    // Not in an orphaned group, where nobody could continue us: this test is the leader's parent, in the same session.
    let mut command = record(&folder, &[], &sh(script));
    let mut child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid_file = folder.path().join("pid");
    until("the program runs", || std::fs::read_to_string(&pid_file).is_ok_and(|text| text.ends_with('\n')));
    let program = std::fs::read_to_string(&pid_file).unwrap().trim().to_owned();
    let us = child.id().to_string();
    let state = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
    };
    kill("-TSTP", &us);
    until("both stop", || state(&us) == Some('T') && state(&program) == Some('T'));
    kill("-CONT", &us);
    until("both go on", || state(&us) != Some('T') && state(&program) != Some('T'));
    folder.file("stop", b"");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn only_the_program_is_waited_for() {
    let folder = TempFolder::new("record-daemon");
    let begin = Instant::now();
    let mut command = record(&folder, &[], &sh("sleep 20 & echo $!"));
    let output = command.stderr(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = output;
    let status = output.wait().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    let mut pid = String::new();
    use std::io::BufRead as _;
    std::io::BufReader::new(output.stdout.take().unwrap()).read_line(&mut pid).unwrap();
    kill("-KILL", pid.trim());
}

#[test]
fn as_first_process_of_a_container_it_reaps_and_passes_the_status_on() {
    const TEST: &str = "as_first_process_of_a_container_it_reaps_and_passes_the_status_on";
    let folder = TempFolder::new("record-pid1");
    let unshare = |program: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--fork", "--pid", "--mount-proc", "--kill-child"]).args(program).current_dir(folder.path());
        command
    };
    let works = unshare(&["true"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !works.is_ok_and(|status| status.success()) {
        return skip(TEST, "no right to make a pid namespace");
    }
    // An orphan whose parent ends at once falls to PID 1; the program sees whether it is still there as a zombie.
    let script = "sh -c '(sleep 0.1; echo orphan >> out) & exit 0'; \
                  n=0; while [ ! -s out ] || grep -qs '^State:.Z' /proc/[0-9]*/status; do \
                  sleep 0.02; n=$((n+1)); [ $n -lt 500 ] || exit 9; done; echo \"$PPID\"; exit 3";
    let gpuprof = [env!("CARGO_BIN_EXE_gpuprof"), "record", "--", "sh", "-c", script];
    let ended = answer(&mut unshare(&gpuprof));
    assert_eq!((ended.stdout.as_str(), ended.status), ("1\n", 3), "{}", ended.stderr);
    let killed =
        answer(&mut unshare(&[env!("CARGO_BIN_EXE_gpuprof"), "record", "--", "sh", "-c", "kill -TERM $$"]));
    assert_eq!(killed.status, 128 + 15, "PID 1 cannot be killed, so it says it as shells do: {}", killed.stderr);
}

// ---------------------------------------------------------------------------------------------------- the environment

/// The environment that a program gets, line by line, but for what every process has of its own.
fn environment(command: &mut Command) -> Vec<String> {
    let mut lines: Vec<String> = answer(command).stdout.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn only_the_variables_of_the_collector_are_added() {
    let folder = TempFolder::new("record-env");
    let mut bare = Command::new("env");
    for name in FOREIGN {
        bare.env_remove(name);
    }
    let before = environment(bare.current_dir(folder.path()));
    let after = environment(&mut record(&folder, &["--flush-interval", "100ms", "--fsync"], &["env"]));
    let added: Vec<&str> =
        after.iter().filter(|l| !before.contains(l)).map(|l| l.split('=').next().unwrap()).collect();
    let expected = [
        "CUDA_INJECTION64_PATH",
        "GPUPROF_FLUSH_MS",
        "GPUPROF_FSYNC",
        "GPUPROF_OUTPUT",
        "GPUPROF_SEEN",
        "NVTX_INJECTION64_PATH",
    ];
    assert_eq!(added, expected);
    assert!(before.iter().all(|line| after.contains(line)), "nothing is taken away");
    assert!(after.contains(&"GPUPROF_FLUSH_MS=100ms".to_owned()) && after.contains(&"GPUPROF_FSYNC=on".to_owned()));
}

fn variable(lines: &[String], name: &str) -> Option<String> {
    lines.iter().find_map(|line| line.strip_prefix(&format!("{name}=")).map(str::to_owned))
}

#[test]
fn both_injections_name_the_library_that_preload_path_prints() {
    let folder = TempFolder::new("record-path");
    let printed = common::gpuprof(&["preload-path"]).stdout;
    let path = printed.strip_suffix('\n').expect("one line");
    assert!(Path::new(path).is_absolute() && !path.contains([' ', ':', '\n']), "{path}");
    let lines = environment(&mut record(&folder, &[], &["env"]));
    assert_eq!(variable(&lines, "CUDA_INJECTION64_PATH").as_deref(), Some(path));
    assert_eq!(variable(&lines, "NVTX_INJECTION64_PATH").as_deref(), Some(path));
    assert_eq!(variable(&lines, "LD_PRELOAD"), None);
    // A path that the loader would take apart does not get there.
    let spaced = folder.path().join("with space").join("libgpuprof.so");
    std::fs::create_dir(spaced.parent().unwrap()).unwrap();
    std::fs::copy(path, &spaced).unwrap();
    let mut command = command(&["preload-path"]);
    command.env("GPUPROF_SHIM", &spaced).env("XDG_CACHE_HOME", folder.path().join("cache"));
    let copy = answer(&mut command).stdout;
    assert!(copy.starts_with(&format!("{}/cache/gpuprof/libgpuprof-", folder.path().display())), "{copy}");
    assert_eq!(std::fs::read(copy.trim_end()).unwrap(), std::fs::read(path).unwrap());
    assert_eq!(std::fs::metadata(copy.trim_end()).unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn what_else_is_preloaded_stays_behind_the_collector() {
    let folder = TempFolder::new("record-preload");
    let shim = common::gpuprof(&["preload-path"]).stdout.trim_end().to_owned();
    let Some(other) = some_library() else { return skip("what_else_is_preloaded", "no library to preload") };
    let lines = environment(record(&folder, &["--preload"], &["env"]).env("LD_PRELOAD", &other));
    assert_eq!(variable(&lines, "LD_PRELOAD"), Some(format!("{shim}:{other}")));
    let lines = environment(&mut record(&folder, &["--preload"], &["env"]));
    assert_eq!(variable(&lines, "LD_PRELOAD"), Some(shim));
}

/// A library that is loaded into this very process, and so can be into others.
fn some_library() -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let mut paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    paths.find(|path| path.contains("/libc.so") || path.contains("/libm.so")).map(str::to_owned)
}

#[test]
fn another_tools_injection_is_left_in_place_and_said() {
    let folder = TempFolder::new("record-foreign");
    let mut command = record(&folder, &["--preload"], &["env"]);
    let answer = answer(command.env("CUDA_INJECTION64_PATH", "/opt/nsight/inject.so"));
    assert!(answer.stdout.contains("CUDA_INJECTION64_PATH=/opt/nsight/inject.so\n"), "{}", answer.stdout);
    assert!(!answer.stdout.contains("LD_PRELOAD"), "{}", answer.stdout);
    let mut lines = answer.stderr.lines();
    let first = lines.next().unwrap();
    assert!(first.contains("/opt/nsight/inject.so") && first.contains("unset it"), "{first}");
    let why = lines.next().unwrap();
    assert!(
        why.starts_with("gpuprof: nothing was recorded: env: CUDA_INJECTION64_PATH names another tool"),
        "{why}"
    );
}

#[test]
fn values_that_make_no_sense_are_refused_as_flags_and_reported_as_variables() {
    let folder = TempFolder::new("record-values");
    for (option, value, words) in [
        ("--capture", "sometimes", "profiler-api"),
        ("--kinds", "kernels", "did you mean \"kernel\"?"),
        ("--block-size", "5MB", "known are B, KiB"),
        ("--min-free", "90", "is outside 0 to 50"),
    ] {
        let answer = recorded(&folder, &[option, value], &["echo", "ran"]);
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{option}");
        assert!(answer.stderr.contains(words), "{option}: {}", answer.stderr);
    }
    let mut command = record(&folder, &[], &["env"]);
    let answer = answer(command.env("GPUPROF_FLUSH_MS", "soon").env("GPUPROF_CAPTRUE", "all"));
    let first: Vec<&str> = answer.stderr.lines().take(2).collect();
    assert!(
        answer.stderr.contains("GPUPROF_CAPTRUE=all: unknown variable, did you mean GPUPROF_CAPTURE?"),
        "{first:?}"
    );
    assert!(answer.stderr.contains("GPUPROF_FLUSH_MS=soon: is not a duration"), "{first:?}");
    assert!(!answer.stdout.contains("GPUPROF_FLUSH_MS"), "said once, not by every process");
    assert!(answer.stdout.contains("GPUPROF_CAPTRUE=all"), "what nobody knows is the program's own");
    assert_eq!(answer.status, 0);
}

// ------------------------------------------------------------------------------------------------------ command lines

#[test]
fn arguments_behind_the_program_are_the_programs_own() {
    let folder = TempFolder::new("record-arguments");
    let program = ["printf", "%s,", "-o", "--capture", "--", "--help", "-x y", ""];
    assert_eq!(recorded(&folder, &[], &program).stdout, "-o,--capture,--,--help,-x y,,");
    // The two dashes may be left out.
    let mut without = command(&["record", "--verbose", "0"]);
    without.args(program).current_dir(folder.path());
    let answer = answer(&mut without);
    assert_eq!(answer.stdout, "-o,--capture,--,--help,-x y,,");
    assert_eq!(answer.stderr, "", "--verbose 0 says nothing");
}

#[test]
fn a_program_that_cannot_be_started_gives_the_shells_status() {
    let folder = TempFolder::new("record-absent");
    let folder_path = folder.path().to_str().unwrap();
    let text = folder.argument("text", b"hello");
    let broken = folder.argument("script", b"#!/no/such/interpreter\n");
    std::fs::set_permissions(&broken, std::fs::Permissions::from_mode(0o755)).unwrap();
    for (program, status, words) in [
        ("no-such-command-anywhere", 127, "command not found in PATH"),
        ("./absent", 127, "no such file"),
        (broken.as_str(), 127, "interpreter that it asks for is missing"),
        (text.as_str(), 126, "no permission"),
        (folder_path, 126, "no permission"),
    ] {
        let answer = recorded(&folder, &[], &[program]);
        assert_eq!(answer.status, status, "{program}: {}", answer.stderr);
        assert_eq!(answer.stderr.lines().count(), 1, "{program}: {}", answer.stderr);
        assert!(answer.stderr.starts_with(&format!("gpuprof: {program}: ")), "{}", answer.stderr);
        assert!(answer.stderr.contains(words), "{program}: {}", answer.stderr);
    }
    assert_eq!(names(folder.path()), ["script", "text"], "no folder is left");
    // As execvp has it, and so every shell: a script without a first line that names an interpreter is the shell's.
    let script = folder.argument("plain", b"echo plain $1\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(recorded(&folder, &[], &[&script, "script"]).stdout, "plain script\n");
}

#[test]
fn options_that_nobody_knows_and_a_missing_program_are_refused() {
    let answer = common::gpuprof_in(Path::new("."), &["record", "--no-such-option", "--", "true"]);
    assert_eq!(answer.status, 2);
    assert!(answer.stderr.contains("--no-such-option"), "{}", answer.stderr);
    let answer = common::gpuprof_in(Path::new("."), &["record"]);
    assert_eq!(answer.status, 2);
    assert!(answer.stderr.contains("COMMAND"), "{}", answer.stderr);
}

#[test]
fn every_setting_has_its_flag_in_the_help() {
    use shim_config::variables::Flag;
    let help = common::gpuprof(&["record", "--help"]).stdout;
    for variable in shim_config::VARIABLES {
        if let Flag::Value(name, _) | Flag::Switch(name) = variable.flag {
            assert!(help.contains(&format!("--{name}")), "--{name} is not in the help");
        }
    }
}

// -------------------------------------------------------------------------------------------------------- where it goes

#[test]
fn a_run_without_records_leaves_nothing_behind() {
    let folder = TempFolder::new("record-nothing");
    recorded(&folder, &[], &["true"]);
    recorded(&folder, &["-o", "named"], &["true"]);
    recorded(&folder, &["-o", "one.gpuprof"], &["true"]);
    assert_eq!(names(folder.path()), [] as [&str; 0]);
}

#[test]
fn processes_are_told_where_to_write() {
    let folder = TempFolder::new("record-places");
    let here = folder.path().canonicalize().unwrap();
    let here = here.display();
    let told = |options: &[&str], script: &str| {
        let lines = environment(&mut record(&folder, options, &sh(&format!("{script} env"))));
        (variable(&lines, "GPUPROF_OUTPUT").unwrap(), variable(&lines, "GPUPROF_SEEN").unwrap())
    };
    let (output, seen) = told(&[], "");
    let run = output.strip_suffix("/gpuprof-%n-%h-%p.gpuprof").expect("the default name in the run's folder");
    assert!(run.starts_with(&format!("{here}/gpuprof-sh-2")), "{run}");
    assert_eq!(seen, format!("{run}/seen.jsonl"));
    let (output, seen) = told(&["-o", "a/100%% b/"], "");
    assert_eq!(output, format!("{here}/a/100%% b/gpuprof-%n-%h-%p.gpuprof"));
    assert_eq!(seen, format!("{here}/a/100% b/seen.jsonl"));
    let (output, _) = told(&["-o", "c/%n-%p.gpuprof"], "");
    assert_eq!(output, format!("{here}/c/%n-%p.gpuprof"));
    assert!(folder.path().join("c").is_dir(), "the folder is made");
    let (output, _) = told(&["-o", "/tmp/x-%r.gpuprof"], "");
    assert_eq!(output, "/tmp/x-%r.gpuprof");
    let mut by_variable = record(&folder, &[], &["env"]);
    let lines = environment(by_variable.env("GPUPROF_OUTPUT", "d/%p.gpuprof"));
    assert_eq!(variable(&lines, "GPUPROF_OUTPUT").unwrap(), format!("{here}/d/%p.gpuprof"));
}

#[test]
fn mistakes_in_the_name_are_errors_before_the_launch() {
    let folder = TempFolder::new("record-template");
    for (template, words) in [
        ("run-%x", "unknown placeholder %x; known are %p"),
        ("%q{GPUPROF_TEST_UNSET}.gpuprof", "the variable GPUPROF_TEST_UNSET is not set"),
        ("%q.gpuprof", "%q without a variable"),
        ("file/run", "the folder for the traces cannot be made"),
    ] {
        folder.file("file", b"");
        let answer = recorded(&folder, &["-o", template], &sh("echo ran"));
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{template}: {}", answer.stderr);
        assert!(answer.stderr.contains(words), "{template}: {}", answer.stderr);
    }
}

#[test]
fn runs_in_the_same_second_get_folders_of_their_own_and_ranks_share_the_one_that_is_named() {
    let folder = TempFolder::new("record-clash");
    let keep = sh("echo >> \"$GPUPROF_SEEN\"; echo \"$GPUPROF_SEEN\"");
    let mut folders: Vec<PathBuf> = Vec::new();
    let runs: Vec<Child> = (0..4)
        .map(|_| record(&folder, &[], &keep).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
        .collect();
    for run in runs {
        let output = run.wait_with_output().unwrap();
        let seen = String::from_utf8(output.stdout).unwrap();
        folders.push(Path::new(seen.trim()).parent().unwrap().to_owned());
    }
    folders.sort();
    folders.dedup();
    assert_eq!(folders.len(), 4);
    let first = recorded(&folder, &["-o", "ranks"], &keep).stdout;
    let second = recorded(&folder, &["-o", "ranks"], &keep).stdout;
    assert!(first.ends_with("ranks/seen.jsonl\n") && second.ends_with("ranks/seen-1.jsonl\n"), "{first}{second}");
}

#[test]
fn a_folder_that_takes_nothing_is_said_with_what_to_do() {
    // Even root cannot make files in there.
    let mut command = command(&["record", "--", "echo", "ran"]);
    let answer = answer(command.current_dir("/proc/self").env_remove("GPUPROF_OUTPUT"));
    assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{}", answer.stderr);
    assert!(answer.stderr.contains("choose another place with -o"), "{}", answer.stderr);
}

// ------------------------------------------------------------------------------------------------------ the three lines

/// A shell that plays a process with the collector in it: leaves `trace` where it was told to and a line about itself.
fn play(trace: &Path, name: &str, line: &str) -> String {
    format!(
        "out=\"${{GPUPROF_OUTPUT%/*}}/{name}.gpuprof\"; cp {} \"$out\"; \
         printf '{{\"pid\":%d,\"ppid\":1,\"start_unix_ns\":1,\"exe\":\"/bin/{name}\",\"cuda\":true,{line}\"trace\":\"%s\"}}\\n' \
         $$ \"$out\" >> \"$GPUPROF_SEEN\"; ",
        trace.display()
    )
}

fn closing(answer: &Answer) -> [String; 3] {
    let lines: Vec<String> = answer.stderr.lines().map(str::to_owned).collect();
    lines.try_into().unwrap_or_else(|lines| panic!("not three lines: {lines:?}"))
}

#[test]
fn the_end_says_what_was_recorded_where_and_the_next_command() {
    let folder = TempFolder::new("record-end");
    let trace = folder.file("made", &build::native(&Story::sample(1000).with_ranges()));
    let list = "printf '{\"pid\":7,\"ppid\":1,\"start_unix_ns\":1,\"exe\":\"/bin/sh\",\"cuda\":false}\\n' >> \"$GPUPROF_SEEN\"; ";
    let script = format!("{}{list}", play(&trace, "train", ""));
    let answer = recorded(&folder, &["-o", "my run"], &sh(&script));
    let [what, place, next] = closing(&answer);
    assert_eq!(
        what,
        "gpuprof: recorded 1 of 2 processes (1 without CUDA): 1,000 kernels, 200 copies, 143 fills, 1,345 API calls, \
         5 NVTX ranges; nothing lost"
    );
    assert!(place.starts_with("gpuprof: written to my run/ ("), "{place}");
    assert_eq!(next, "gpuprof: next: gpuprof report 'my run'");
    assert_eq!(names(&folder.path().join("my run")), ["seen.jsonl", "train.gpuprof"]);
    // The next command is one that works.
    let report = common::gpuprof_in(folder.path(), &["report", "my run"]);
    assert_eq!(report.status, 0, "{}", report.stderr);
}

#[test]
fn one_trace_of_ones_own_leaves_nothing_else() {
    let folder = TempFolder::new("record-one");
    let trace = folder.file("made", &build::native(&Story::sample(3)));
    let answer = recorded(&folder, &["-o", "out/step.gpuprof"], &sh(&play(&trace, "step", "")));
    let [what, place, next] = closing(&answer);
    assert!(what.starts_with("gpuprof: recorded 1 process: 3 kernels"), "{what}");
    assert!(place.starts_with("gpuprof: written to out/step.gpuprof ("), "{place}");
    assert_eq!(next, "gpuprof: next: gpuprof report out/step.gpuprof");
    assert_eq!(names(&folder.path().join("out")), ["step.gpuprof"]);
}

#[test]
fn losses_and_traces_that_were_not_closed_are_said() {
    let folder = TempFolder::new("record-loss");
    let story = Story { losses: vec![(1_200, 1), (34, 2)], ..Story::sample(2) };
    let unclosed = build::Native { close: false, ..build::Native::default() };
    let trace = folder.file("made", &build::native_with(&story, unclosed));
    let answer = recorded(&folder, &[], &sh(&format!("{}exit 5", play(&trace, "a", ""))));
    let [what, ..] = closing(&answer);
    assert!(what.contains("1,234 records LOST"), "{what}");
    assert!(what.contains("1 trace not closed"), "{what}");
    assert_eq!(answer.status, 5);
}

#[test]
fn every_cause_of_an_empty_run_has_its_text() {
    let folder = TempFolder::new("record-causes");
    let empty = folder.file("made", &build::native(&Story::empty()));
    for (line, words) in [
        (
            "\"cause\":\"gate_never_opened\",\"detail\":\"no cudaProfilerStart was called\",",
            ["never switched on (no cudaProfilerStart was called)", "choose another --capture"],
        ),
        ("\"cause\":\"all_excluded\",", ["lay outside the capture windows", "widen the window"]),
        (
            "\"cause\":\"cupti_error\",\"cause_code\":35,\"cause_function\":\"cuptiActivityEnable\",",
            [
                "cuptiActivityEnable returned CUPTI error 35 (insufficient privileges)",
                "NVreg_RestrictProfilingToAdminUsers",
            ],
        ),
        ("\"cause\":\"cupti_not_found\",", ["no usable libcupti", "GPUPROF_CUPTI"]),
        ("\"cause\":\"cupti_taken\",", ["took CUPTI over", "switch off the other profiler"]),
        ("\"cause\":\"disk\",", ["could not be written", "make room"]),
        ("\"cause\":\"killed\",", ["killed before anything was written", "--flush-interval"]),
        ("\"cause\":\"not_chosen\",", ["--processes leaves it out", "name:GLOB"]),
        ("\"cause\":\"nothing_launched\",", ["launched nothing", "nothing is wrong"]),
        ("\"cause\":\"solar_flare\",", ["solar_flare", ""]),
    ] {
        let answer = recorded(&folder, &[], &sh(&play(&empty, "python", line)));
        let [why, remedy, next] = closing(&answer);
        assert!(why.starts_with("gpuprof: nothing was recorded: python (pid "), "{why}");
        assert!(why.contains(words[0]), "{line}: {why}");
        assert!(remedy.contains(words[1]), "{line}: {remedy}");
        assert!(next.starts_with("gpuprof: next: gpuprof report gpuprof-sh-"), "{next}");
        assert_eq!(answer.status, 0, "the program's own status");
    }
}

#[test]
fn without_a_trace_the_cause_is_found_all_the_same() {
    let folder = TempFolder::new("record-no-trace");
    let line = |fields: &str| {
        format!(
            "printf '{{\"pid\":%d,\"start_unix_ns\":1,\"exe\":\"/bin/app\",{fields}}}\\n' $$ >> \"$GPUPROF_SEEN\"; "
        )
    };
    let why = |options: &[&str], script: &str| {
        let mut command = record(&folder, options, &sh(script));
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        text.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(why(&[], "true"), "gpuprof: nothing was recorded: sh: it used no CUDA");
    let seen = why(&[], &line("\"cuda\":false"));
    assert!(
        seen.starts_with("gpuprof: nothing was recorded: app (pid ") && seen.ends_with(": it used no CUDA"),
        "{seen}"
    );
    let both = why(&[], &line("\"cuda\":false").replace("\\n'", "\\n{\"pid\":1,\"start_unix_ns\":1}\\n'"));
    assert_eq!(both, "gpuprof: nothing was recorded: sh, 2 processes: none of them used CUDA");
    let killed = why(&[], &format!("{}kill -KILL $$", line("\"cuda\":true")));
    assert!(killed.contains("it was killed before anything was written"), "{killed}");
    let mut disabled = record(&folder, &[], &["true"]);
    let answer = answer(disabled.env("GPUPROF_DISABLE", "1"));
    assert!(answer.stderr.contains("nothing was recorded: true: GPUPROF_DISABLE is set"), "{}", answer.stderr);
}

/// A whole program of 64-bit x86 that ends at once, loading nothing: `exit(7)`.
fn static_program() -> Vec<u8> {
    let code = [0xbf, 7, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05];
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    elf.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    for word in [0x40_0078u64, 64, 0] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]);
    elf.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    let size = 120 + code.len() as u64;
    for word in [0u64, 0x40_0000, 0x40_0000, size, size, 0x1000] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend(code);
    elf
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_static_program_runs_and_is_named_as_the_reason() {
    let folder = TempFolder::new("record-static");
    let program = folder.argument("still", &static_program());
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    for options in [&[][..], &["--preload"]] {
        let answer = recorded(&folder, options, &[&program]);
        assert_eq!(answer.status, 7, "{}", answer.stderr);
        let [why, remedy, _] = closing(&answer);
        assert!(why.contains("still: libgpuprof.so was not loaded into it: it is linked statically"), "{why}");
        assert!(remedy.contains("link it dynamically"), "{remedy}");
    }
}

// ------------------------------------------------------------------------------------------------------- the collector

#[test]
fn a_named_collector_is_checked() {
    let folder = TempFolder::new("record-shim");
    let text = folder.argument("text.so", b"hello");
    for (named, words) in
        [("/no/such/libgpuprof.so", "cannot be used"), (text.as_str(), "is no 64-bit shared library")]
    {
        let mut command = record(&folder, &[], &["echo", "ran"]);
        let answer = answer(command.env("GPUPROF_SHIM", named));
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{}", answer.stderr);
        assert!(answer.stderr.contains(words) && answer.stderr.contains("GPUPROF_SHIM="), "{}", answer.stderr);
    }
}

#[test]
fn the_cache_is_for_its_owner_alone() {
    let folder = TempFolder::new("record-cache");
    let shim = common::gpuprof(&["preload-path"]).stdout.trim_end().to_owned();
    // Not a name that can be preloaded, so it is copied.
    let odd = folder.path().join("lib:gpuprof.so");
    std::fs::copy(&shim, &odd).unwrap();
    let path = |variables: &[(&str, &OsStr)]| {
        let mut command = command(&["preload-path"]);
        command.env("GPUPROF_SHIM", &odd).env_remove("XDG_CACHE_HOME").env_remove("HOME").env_remove("TMPDIR");
        let answer = answer(command.envs(variables.iter().copied()));
        assert_eq!(answer.status, 0, "{}", answer.stderr);
        PathBuf::from(answer.stdout.trim_end())
    };
    let home = folder.path().join("home");
    let in_home = path(&[("HOME", home.as_os_str())]);
    assert!(in_home.starts_with(home.join(".cache/gpuprof")), "{}", in_home.display());
    assert_eq!(in_home.parent().unwrap().metadata().unwrap().mode() & 0o777, 0o700);
    let spaced = folder.path().join("a home");
    let temporary = folder.path().join("tmp");
    let elsewhere = path(&[("HOME", spaced.as_os_str()), ("TMPDIR", temporary.as_os_str())]);
    assert!(elsewhere.starts_with(&temporary), "{}", elsewhere.display());
    let nowhere = path(&[]);
    assert!(nowhere.is_absolute() && nowhere.exists(), "no HOME at all: {}", nowhere.display());
}
