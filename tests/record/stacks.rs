//! Host stacks: `record --cpu-sampling` finds what a program is known to spend its time on, and leaves it as it was;
//! `--launch-stacks` (in `launches`) finds the Python lines that launched.

mod launches;

use crate::common::{Answer, TempFolder, answer, command, gpuprof, skip};
use crate::sim;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use trace_format::read::TraceReader;
use trace_format::tables::{CpuSampleRow, FrameRow, NoteRow, StackRow, StringRow, ThreadRow};

fn source(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/record/stacks").join(name).display().to_string()
}

fn record(folder: &TempFolder, options: &[&str], program: &[&str]) -> Answer {
    let mut command = command(&["record", "-o", "run", "--cpu-sampling", "100"]);
    command.args(options).arg("--").args(program).current_dir(folder.path());
    for name in ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "LD_PRELOAD", "GPUPROF_OUTPUT"] {
        command.env_remove(name);
    }
    answer(&mut command)
}

/// Whether this machine lets us look into our own children at all; said loudly where not.
fn permitted(test: &str) -> bool {
    let folder = TempFolder::new(&format!("permitted-{test}"));
    let answer = record(&folder, &[], &["python3", "-c", "import time; time.sleep(0.5)"]);
    let refused = answer.stderr.contains("cannot be sampled");
    if refused {
        skip(test, &format!("this machine does not permit it: {}", answer.stderr.trim()));
    }
    !refused
}

/// The launcher's trace, with everything by name.
struct Trace {
    samples: Vec<CpuSampleRow>,
    frames: BTreeMap<u32, FrameRow>,
    stacks: BTreeMap<u32, StackRow>,
    strings: BTreeMap<u32, String>,
    threads: BTreeMap<u32, String>,
    notes: Vec<String>,
}

impl Trace {
    fn of(folder: &TempFolder) -> Trace {
        let files = folder.path().join("run").read_dir().expect("a run").flatten().map(|e| e.path());
        let is_launchers = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("launcher-");
        let path = files.into_iter().find(is_launchers).expect("the launcher's trace");
        let reader = TraceReader::open(&path).expect("a trace");
        assert!(reader.is_closed() && reader.problems().is_empty(), "{:?}", reader.problems());
        let strings: BTreeMap<u32, String> = reader
            .definitions::<StringRow>()
            .rows
            .into_iter()
            .map(|row| (row.id, String::from_utf8_lossy(&row.bytes).into_owned()))
            .collect();
        let threads = reader.definitions::<ThreadRow>().rows.into_iter();
        let notes = reader.definitions::<NoteRow>().rows.into_iter();
        Trace {
            samples: reader.definitions::<CpuSampleRow>().rows,
            frames: reader.definitions::<FrameRow>().rows.into_iter().map(|row| (row.id, row)).collect(),
            stacks: reader.definitions::<StackRow>().rows.into_iter().map(|row| (row.id, row)).collect(),
            threads: threads.map(|row| (row.tid, strings[&row.name_id].clone())).collect(),
            notes: notes.map(|row| strings[&row.text_id].clone()).collect(),
            strings,
        }
    }

    /// Names of a sample's functions, outermost first, without the classes that newer Pythons tell.
    fn names(&self, sample: &CpuSampleRow) -> Vec<&str> {
        let mut names = Vec::new();
        let mut at = Some(sample.stack_id);
        while let Some(id) = at {
            let stack = &self.stacks[&id];
            let name = self.strings[&self.frames[&stack.frame_id].name_id].as_str();
            names.push(name.rsplit('.').next().unwrap_or(name));
            at = stack.parent_id;
        }
        names.reverse();
        names
    }

    /// Share of the samples in which some function of this name is.
    fn share(&self, name: &str) -> f64 {
        let with = self.samples.iter().filter(|sample| self.names(sample).contains(&name)).count();
        with as f64 / self.samples.len() as f64
    }
}

fn rows(args: &[&str]) -> Vec<Value> {
    let mut all = vec!["report"];
    all.extend(args);
    all.extend(["--format", "json", "-q"]);
    let document: Value = serde_json::from_str(&gpuprof(&all).stdout).expect("JSON");
    document["tables"][0]["rows"].as_array().expect("rows").clone()
}

/// The number of the line with this remark in a source.
fn line_of(name: &str, remark: &str) -> u64 {
    let text = std::fs::read_to_string(source(name)).expect("the source");
    text.lines().position(|line| line.contains(remark)).expect("the line") as u64 + 1
}

#[test]
fn the_hot_function_and_the_hot_line_of_a_python_program_are_found() {
    if !permitted("hot") {
        return;
    }
    let folder = TempFolder::new("stacks-hot");
    let answer = record(&folder, &[], &["python3", &source("spin.py")]);
    assert_eq!((answer.status, answer.stdout.as_str()), (0, "done\n"), "{}", answer.stderr);
    let trace = Trace::of(&folder);
    assert!(trace.samples.len() > 30, "{}: {:?}", trace.samples.len(), trace.notes);
    let (hot, cool) = (trace.share("hot"), trace.share("cool"));
    assert!((0.55..0.95).contains(&hot) && (0.1..0.45).contains(&cool), "hot {hot}, cool {cool}");
    assert!(trace.samples.iter().all(|sample| sample.flags & 1 == 1), "idle threads were not asked for");
    assert!(trace.samples.iter().all(|sample| sample.weight_ns == 10_000_000));
    let main = trace.samples.iter().filter(|s| trace.names(s).starts_with(&["<module>", "burn"])).count();
    assert!(main * 10 > trace.samples.len() * 8, "{main} of {}", trace.samples.len());

    let run = folder.path().join("run").display().to_string();
    let lines = rows(&[&run, "--view", "cpu_lines"]);
    let of = |remark: &str| {
        let line = line_of("spin.py", remark);
        let of_line = |row: &&Value| row["Line"] == line && row["File"].as_str().unwrap().ends_with("spin.py");
        lines.iter().find(of_line).map_or(0, |row| row["Own Samples"].as_u64().unwrap())
    };
    assert!(of("# HOT LINE") > of("# COOL LINE") && of("# COOL LINE") > 0, "{lines:?}");
    let functions = rows(&[&run, "--view", "cprofile"]);
    assert_eq!(functions[0]["Function"], "hot", "{functions:?}");
    let total: u64 = functions.iter().map(|row| row["Own Samples"].as_u64().unwrap()).sum();
    assert_eq!(total, trace.samples.len() as u64);
    let text = gpuprof(&["report", &run, "--view", "cprofile"]).stdout;
    assert!(text.starts_with(&format!("         {total} samples in ")), "{text}");
    assert!(
        text.contains("\n   ncalls  tottime  percall  cumtime  percall filename(function)\n        -  "),
        "{text}"
    );
}

#[test]
fn exports_of_cpu_time_add_up_to_the_samples() {
    if !permitted("exports") {
        return;
    }
    let folder = TempFolder::new("stacks-exports");
    record(&folder, &[], &["python3", &source("spin.py"), "0.6"]);
    let expected: i64 = Trace::of(&folder).samples.iter().map(|sample| sample.weight_ns).sum();
    let run = folder.path().join("run").display().to_string();
    let out = |name: &str| folder.path().join(name).display().to_string();
    gpuprof(&["export", &run, "--format", "folded", "--option", "by=cpu", "-o", &out("cpu.folded")]);
    let folded = std::fs::read_to_string(out("cpu.folded")).unwrap();
    let total: i64 = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<i64>().unwrap()).sum();
    assert_eq!(total, expected);
    assert!(folded.lines().any(|line| line.contains(";burn (") && line.contains(";hot (")), "{folded}");
    gpuprof(&["export", &run, "--format", "speedscope", "-o", &out("cpu.speedscope.json")]);
    let scope: Value = serde_json::from_slice(&std::fs::read(out("cpu.speedscope.json")).unwrap()).unwrap();
    let profile =
        scope["profiles"].as_array().unwrap().iter().find(|p| p["name"] == "CPU time").expect("a profile");
    let weights = profile["weights"].as_array().unwrap().iter();
    assert_eq!(weights.map(|w| w.as_i64().unwrap()).sum::<i64>(), expected);
    assert_eq!(profile["endValue"], expected);
    let timeline = |p: &&Value| p["name"].as_str().unwrap().ends_with("CPU samples");
    let timeline = scope["profiles"].as_array().unwrap().iter().find(timeline).expect("a timeline");
    let end = timeline["events"].as_array().unwrap().iter().map(|e| e["at"].as_i64().unwrap()).max();
    assert!(end.unwrap() < 60_000_000_000, "{end:?} ns for a program of less than a second");
    let sum = gpuprof(&["query", "--format", "csv", &run, "SELECT sum(weight_ns) AS ns FROM cpu_sample"]);
    assert_eq!(sum.stdout.trim(), format!("ns\n{expected}"));
    let copy = out("copy.gpuprof");
    gpuprof(&["export", "-q", &run, "--format", "gpuprof", "-o", &copy]);
    let sum = gpuprof(&["query", "--format", "csv", &copy, "SELECT sum(weight_ns) AS ns FROM cpu_sample"]);
    assert_eq!(sum.stdout.trim(), format!("ns\n{expected}"));
    gpuprof(&["export", &run, "--format", "flamegraph", "--option", "by=cpu", "-o", &out("cpu.svg")]);
    let svg = std::fs::read_to_string(out("cpu.svg")).unwrap();
    assert!(svg.contains("CPU time by process, thread and functions"));
    // What was not recorded is said, with what to do.
    let refused = answer(&mut command(&["export", &run, "--format", "folded", "--option", "by=gpu-python"]));
    assert_eq!(refused.status, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("--launch-stacks"), "{}", refused.stderr);
}

#[test]
fn threads_are_told_apart_and_those_that_wait_come_only_if_asked_for() {
    if !permitted("threads") {
        return;
    }
    let folder = TempFolder::new("stacks-threads");
    record(&folder, &[], &["python3", &source("spin.py"), "threads", "0.6"]);
    let trace = Trace::of(&folder);
    let of = |trace: &Trace, name: &str| {
        trace.samples.iter().filter(|s| trace.threads.get(&s.tid).is_some_and(|n| n == name)).count()
    };
    assert!(of(&trace, "alpha") > 5 && of(&trace, "beta") > 5, "{:?}", trace.threads);
    // It runs for a moment when it begins to wait, and when a thread has ended: between these it waits.
    let times: Vec<i64> = trace.samples.iter().map(|sample| sample.start_ns).collect();
    let (first, last) = (times.iter().min().copied().unwrap_or(0), times.iter().max().copied().unwrap_or(0));
    let between = (first + (last - first) / 4)..(first + (last - first) * 3 / 4);
    let inside = trace.samples.iter().filter(|sample| between.contains(&sample.start_ns));
    assert!(inside.clone().count() > 5, "{between:?}");
    assert_eq!(inside.filter(|s| trace.names(s).contains(&"join")).count(), 0, "the main thread waits");

    let folder = TempFolder::new("stacks-idle");
    record(&folder, &["--idle"], &["python3", &source("spin.py"), "threads", "0.6"]);
    let trace = Trace::of(&folder);
    assert!(trace.share("join") > 0.1, "{}", trace.share("join"));
    let waiting = trace.samples.iter().filter(|s| trace.names(s).contains(&"join"));
    let idle = waiting.clone().filter(|s| s.flags & 1 == 0).count();
    assert!(idle * 2 > waiting.count(), "{idle}");

    let folder = TempFolder::new("stacks-gil");
    record(&folder, &["--gil"], &["python3", &source("spin.py"), "threads", "0.6"]);
    let trace = Trace::of(&folder);
    assert!(!trace.samples.is_empty());
    assert!(trace.samples.iter().all(|sample| sample.flags & 2 == 2), "only holders of the lock");
}

#[test]
fn child_processes_are_sampled_too() {
    if !permitted("children") {
        return;
    }
    let folder = TempFolder::new("stacks-children");
    let answer = record(&folder, &[], &["python3", &source("spin.py"), "children", "1"]);
    assert_eq!(answer.stdout, "done\ndone\n", "{}", answer.stderr);
    let trace = Trace::of(&folder);
    let hot: Vec<u32> =
        trace.samples.iter().filter(|s| trace.names(s).contains(&"hot")).map(|s| s.of_pid).collect();
    assert!(hot.len() > 10, "{:?}", trace.notes);
    let parents = trace.samples.iter().filter(|s| trace.names(s).contains(&"run")).map(|s| s.of_pid);
    assert!(parents.clone().all(|pid| !hot.contains(&pid)), "the parent only waits");
}

#[test]
fn native_code_without_frame_pointers_is_followed() {
    if !permitted("native") {
        return;
    }
    let folder = TempFolder::new("stacks-native");
    let program = folder.path().join("spin").display().to_string();
    let flags = ["-O2", "-fomit-frame-pointer", "-o", &program];
    let built = Command::new("cc").args(flags).arg(source("spin.c")).status().expect("cc, the C compiler");
    assert!(built.success());
    let answer = record(&folder, &["--native"], &[&program, "x"]);
    assert_eq!((answer.status, answer.stdout.as_str()), (5, "done\n"), "{}", answer.stderr);
    let trace = Trace::of(&folder);
    assert!(trace.samples.len() > 30, "{:?} {}", trace.notes, answer.stderr);
    let (hot, cool) = (trace.share("hot_function"), trace.share("cool_function"));
    assert!((0.55..0.95).contains(&hot) && (0.1..0.45).contains(&cool), "hot {hot}, cool {cool}");
    let whole = trace.samples.iter().filter(|s| trace.names(s).starts_with(&["main", "burn"])).count();
    let part = trace.samples.iter().filter(|s| trace.names(s).contains(&"hot_function")).count();
    assert!(whole >= part, "stacks reach down to main: {whole} of {}", trace.samples.len());
}

#[test]
fn native_frames_stand_inside_the_python_frames_that_called_them() {
    if !permitted("mixed") {
        return;
    }
    let folder = TempFolder::new("stacks-mixed");
    // In C, with tables that say how to unwind it: hand-written assembly, as of hash functions, has none on some CPUs.
    let script = "import os, time, zlib\ndef digest():\n  d = os.urandom(400000)\n  while time.thread_time() < 4.0:\n    \
                  zlib.compress(d, 9)\ndigest()\n";
    let file = folder.argument("digest.py", script.as_bytes());
    record(&folder, &["--native"], &["python3", &file]);
    let trace = Trace::of(&folder);
    assert!(trace.samples.len() > 20, "{:?}", trace.notes);
    // On a busy machine a thread cannot always be stopped in time; such samples have Python's frames alone.
    let native: Vec<Vec<&str>> = trace
        .samples
        .iter()
        .filter(|sample| trace.frames[&trace.stacks[&sample.stack_id].frame_id].kind == 1)
        .map(|sample| trace.names(sample))
        .filter(|names| names.iter().any(|name| name.contains("deflate")))
        .collect();
    assert!(native.len() > 20, "{} of {}", native.len(), trace.samples.len());
    for names in &native {
        let python = names.iter().position(|name| *name == "digest");
        assert!(names[0] == "<module>" && python.is_some_and(|at| at + 1 < names.len()), "{names:?}");
    }
}

#[test]
fn programs_that_end_at_once_or_fail_end_as_they_did() {
    for (options, program, status) in [
        (&[][..], &["true"][..], 0),
        (&["--native"], &["false"], 1),
        (&[], &["python3", "-c", "import sys; sys.exit(7)"], 7),
        (&["--native"], &["python3", "-c", "import os; os.abort()"], -1),
        (&["--native", "--idle"], &["sh", "-c", "sleep 0.3; exit 3"], 3),
    ] {
        let folder = TempFolder::new("stacks-ends");
        let answer = record(&folder, options, program);
        assert_eq!(answer.status, status, "{program:?}: {}", answer.stderr);
        assert_eq!(answer.stdout, "", "{program:?}");
        Trace::of(&folder);
    }
}

#[test]
fn a_program_that_was_stopped_stays_stopped() {
    if !permitted("stopped") {
        return;
    }
    let folder = TempFolder::new("stacks-stopped");
    let script = format!(
        "python3 {} 0.5 & p=$!; sleep 0.2; kill -STOP $p; sleep 0.6; cut -d' ' -f3 /proc/$p/stat; kill -CONT $p; \
         wait $p; echo $?",
        source("spin.py")
    );
    let answer = record(&folder, &["--native", "--idle"], &["sh", "-c", &script]);
    assert_eq!(answer.stdout, "T\ndone\n0\n", "{}", answer.stderr);
}

#[test]
fn signals_of_the_program_arrive_while_it_is_sampled() {
    if !permitted("signals") {
        return;
    }
    let folder = TempFolder::new("stacks-signals");
    // A timer that fires 1000 times a second, in a thread that is stopped 100 times a second.
    let script = "import signal, time\nn = 0\ndef tick(*_):\n  global n\n  n += 1\nsignal.signal(signal.SIGALRM, \
                  tick)\nsignal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\nwhile n < 60:\n  sum(range(1000))\n\
                  signal.setitimer(signal.ITIMER_REAL, 0)\nprint('all')\n";
    let file = folder.argument("signals.py", script.as_bytes());
    let answer = record(&folder, &["--native"], &["python3", &file]);
    assert_eq!((answer.status, answer.stdout.as_str()), (0, "all\n"), "{}", answer.stderr);
}

#[test]
fn a_program_that_is_debugged_is_left_alone_and_that_is_said() {
    if !permitted("debugged") {
        return;
    }
    let folder = TempFolder::new("stacks-debugged");
    // PTRACE_SEIZE is 0x4206; the debugger does nothing with it.
    let script = "import ctypes, os, time\npid = os.fork()\nif pid == 0:\n  end = time.time() + 30\n  while \
                  time.time() < end and not os.path.exists('over'):\n    sum(range(10000))\n  os._exit(0)\nptrace \
                  = ctypes.CDLL(None).ptrace\nptrace.argtypes = [ctypes.c_long] * 4\nassert ptrace(0x4206, pid, 0, \
                  0) == 0\ntime.sleep(5)\nopen('over', 'w')\nprint(os.waitpid(pid, 0)[1])\n";
    let file = folder.argument("debugger.py", script.as_bytes());
    let answer = record(&folder, &["--native"], &["python3", &file]);
    assert_eq!((answer.status, answer.stdout.as_str()), (0, "0\n"), "{}", answer.stderr);
    assert_eq!(answer.stderr.matches("is debugged by process").count(), 1, "{}", answer.stderr);
}

#[test]
fn without_permission_it_is_said_what_is_missing_and_the_program_runs_on() {
    let python = "/usr/bin/python3";
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let can = Command::new("setpriv").args(nobody).args([python, "-c", "1"]).output();
    if !can.is_ok_and(|done| done.status.success()) {
        return skip("permission", "setpriv, root and /usr/bin/python3 are needed to run as nobody");
    }
    // Nobody may read the folders of whoever runs this: everything lies where all may.
    let folder = std::env::temp_dir().join(format!("gpuprof-permission-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let (program, shim) = (folder.join("gpuprof"), folder.join("libgpuprof.so"));
    std::fs::copy(env!("CARGO_BIN_EXE_gpuprof"), &program).unwrap();
    std::fs::copy(sim::shim_path(), &shim).unwrap();
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(&folder, all).unwrap();
    // PR_SET_DUMPABLE.
    let script = "import ctypes, time\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\nend = time.time() + 1\nwhile \
                  time.time() < end: pass\nprint('ran on')\n";
    for options in [&[][..], &["--native"]] {
        let mut command = Command::new("setpriv");
        command.args(nobody).arg(&program).args(["record", "-o", "run", "--cpu-sampling", "100"]).args(options);
        command.args(["--", python, "-c", script]).current_dir(&folder).env("GPUPROF_SHIM", &shim);
        command.env("HOME", &folder).env_remove("XDG_CACHE_HOME");
        let answer = answer(&mut command);
        assert_eq!((answer.status, answer.stdout.as_str()), (0, "ran on\n"), "{}", answer.stderr);
        assert_eq!(
            answer.stderr.matches("cannot be sampled: it has made itself unreadable").count(),
            1,
            "{}",
            answer.stderr
        );
        assert!(answer.stderr.contains("cap_sys_ptrace"), "{}", answer.stderr);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn no_sum_of_stacks_wraps_at_32_bits() {
    use crate::common::build::{Name, Native, NativeWriter, Story};
    use trace_format::tables::LaunchStackRow;
    const S: i64 = 1_000_000_000;
    let story = (0..3).fold(Story::empty(), |story, i| story.with_kernel(Name::plain("kern"), i * 6 * S, 5 * S));
    let mut file = Vec::new();
    let mut writer = NativeWriter::begin(&mut file, &story, Native::default());
    let (name_id, file_id) = (writer.string(b"train"), writer.string(b"train.py"));
    writer.define();
    writer.rows(vec![FrameRow { id: 1, name_id, file_id: Some(file_id), line: Some(7), kind: 0 }]);
    writer.rows(vec![StackRow { id: 1, parent_id: None, frame_id: 1 }]);
    let sample = |i| CpuSampleRow { start_ns: i * S, of_pid: 1, tid: 1, stack_id: 1, weight_ns: 5 * S, flags: 1 };
    writer.rows((0..3).map(sample).collect());
    writer.rows((1..4).map(|correlation| LaunchStackRow { correlation, stack_id: 1 }).collect());
    writer.kernels(&story.kernels);
    writer.rest(&story);
    writer.close();
    drop(writer);
    let folder = TempFolder::new("stacks-large");
    let trace = folder.argument("large.gpuprof", &file);
    for view in ["cpu_lines", "python_lines"] {
        let rows = rows(&[&trace, "--view", view]);
        let own: i64 = rows.iter().filter_map(|row| row["Own Time (ns)"].as_i64()).sum();
        assert_eq!(own, 15 * S, "{view}: {rows:?}");
    }
    let table = gpuprof(&["report", &trace, "--view", "cprofile"]).stdout;
    assert!(table.lines().any(|line| line.contains("15.000") && line.contains("train.py")), "{table}");
}
