//! `--launch-stacks` over the simulated CUDA: which Python line launched what.

use crate::common::{gpuprof, skip};
use crate::sim::{Ended, Run, Sim};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use trace_format::read::TraceReader;
use trace_format::tables::{ApiRow, FrameRow, KernelRow, LaunchStackRow, NoteRow, StackRow, StringRow};

const OPTIONS: [&str; 3] = ["--launch-stacks", "-o", "run"];

/// Launch stacks of the run's one trace, as text: outermost first, `name:line` each, with how often.
struct Launches {
    stacks: BTreeMap<String, usize>,
    files: Vec<String>,
    facts: Value,
    notes: Vec<String>,
}

fn run(run: Run) -> Ended {
    let ended = run.record(&OPTIONS).run();
    assert_eq!(ended.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.totals().violations, 0, "{}", ended.stderr);
    ended
}

fn folder(ended: &Ended) -> PathBuf {
    ended.folder().join("run")
}

fn launches(ended: &Ended) -> Launches {
    let files = folder(ended).read_dir().expect("a run").flatten().map(|entry| entry.path());
    let traces: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "gpuprof")).collect();
    assert_eq!(traces.len(), 1, "{traces:?}");
    let reader = TraceReader::open(&traces[0]).expect("a trace");
    assert!(reader.is_closed() && reader.problems().is_empty(), "{:?}", reader.problems());
    let strings: BTreeMap<u32, String> = reader
        .definitions::<StringRow>()
        .rows
        .into_iter()
        .map(|row| (row.id, String::from_utf8_lossy(&row.bytes).into_owned()))
        .collect();
    let frames: BTreeMap<u32, FrameRow> =
        reader.definitions::<FrameRow>().rows.into_iter().map(|row| (row.id, row)).collect();
    let defined: BTreeMap<u32, StackRow> =
        reader.definitions::<StackRow>().rows.into_iter().map(|row| (row.id, row)).collect();
    let kernels: BTreeSet<u64> = reader.definitions::<KernelRow>().rows.iter().map(|row| row.correlation).collect();
    let calls: BTreeSet<u64> = reader.definitions::<ApiRow>().rows.iter().map(|row| row.correlation).collect();
    let mut stacks: BTreeMap<String, usize> = BTreeMap::new();
    for launch in reader.definitions::<LaunchStackRow>().rows {
        assert!(kernels.contains(&launch.correlation), "{launch:?} is of no kernel");
        assert!(calls.contains(&launch.correlation), "{launch:?} is of no call");
        let (mut names, mut at) = (Vec::new(), Some(launch.stack_id));
        while let Some(id) = at {
            let (stack, frame) = (&defined[&id], &frames[&defined[&id].frame_id]);
            assert_eq!(frame.kind, 0);
            names.push(format!("{}:{}", strings[&frame.name_id], frame.line.unwrap_or(0)));
            at = stack.parent_id;
        }
        names.reverse();
        *stacks.entry(names.join(" ")).or_default() += 1;
    }
    let files = frames.values().filter_map(|frame| Some(strings[&frame.file_id?].clone())).collect();
    let facts = reader.closed_totals().expect("closed")["writer_totals"]["launch_stacks"].clone();
    let notes = reader.definitions::<NoteRow>().rows.iter().map(|row| strings[&row.text_id].clone()).collect();
    Launches { stacks, files, facts, notes }
}

/// How often each of the two lines launched, whoever called them.
fn by_line(launches: &Launches, first: u64, second: u64) -> (usize, usize) {
    let of = |line: u64| {
        let ends = format!(":{line}");
        launches.stacks.iter().filter(|(stack, _)| stack.ends_with(&ends)).map(|(_, count)| count).sum()
    };
    (of(first), of(second))
}

#[test]
fn each_launch_has_its_line_whether_the_lock_is_held_or_given_back_by_the_first_thread() {
    let sim = Sim::new("12.8");
    for how in ["held", "released"] {
        let ended = run(sim.python("lines.py").arg(how));
        let (first, second) = (ended.number("first"), ended.number("second"));
        let launches = launches(&ended);
        assert_eq!(by_line(&launches, first, second), (5, 3), "{how}: {:?} {}", launches.stacks, launches.facts);
        assert_eq!(launches.stacks.values().sum::<usize>(), 8, "{:?}", launches.stacks);
        assert_eq!(launches.facts["kept"], 8);
        // From the module down to the line, with what is not ASCII.
        let whole =
            launches.stacks.keys().filter(|stack| stack.starts_with("<module>:") && stack.contains(" train:"));
        assert_eq!(whole.count(), 2, "{:?}", launches.stacks);
        assert!(launches.stacks.keys().any(|stack| stack.contains("bäckward:")), "{:?}", launches.stacks);
        assert!(launches.files.iter().all(|file| file.ends_with("players/lines.py")), "{:?}", launches.files);
        views(&ended, first, second);
    }
}

/// The same numbers in the view, and all GPU time in the folded stacks.
fn views(ended: &Ended, first: u64, second: u64) {
    let run = folder(ended).display().to_string();
    let json = gpuprof(&["report", &run, "--view", "python_lines", "--format", "json", "-q"]).stdout;
    let document: Value = serde_json::from_str(&json).expect("JSON");
    let rows = document["tables"][0]["rows"].as_array().expect("rows").clone();
    let instances = |line: u64| {
        let row = rows.iter().find(|row| row["Line"] == line).unwrap_or_else(|| panic!("{line} in {rows:?}"));
        row["Own Instances"].as_u64().expect("a number")
    };
    assert_eq!((instances(first), instances(second)), (5, 3), "{rows:?}");
    let total: u64 = rows.iter().map(|row| row["Own Time (ns)"].as_u64().expect("a number")).sum();
    let folded = gpuprof(&["export", &run, "--format", "folded", "--option", "by=gpu-python", "-o", "-"]).stdout;
    let sum: u64 = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert!(sum == total && sum > 0, "{folded}");
    assert!(folded.lines().any(|line| line.contains(";train (") && line.contains("first_kernel")), "{folded}");
}

#[test]
fn threads_without_the_lock_have_no_line_and_are_counted() {
    let sim = Sim::new("12.8");
    let ended = run(sim.python("lines.py").arg("thread"));
    let launches = launches(&ended);
    assert_eq!(launches.stacks, BTreeMap::new());
    assert_eq!(launches.facts["without_lock"], 8, "{}", launches.facts);
}

#[test]
fn threads_of_c_code_have_no_line() {
    let sim = Sim::new("12.8");
    let source = "#include <pthread.h>\n#include <dlfcn.h>\nstatic void *context, *function; static int times, \
                  failed;\nstatic void *launch(void *x) {\n int (*current)(void *) = dlsym(RTLD_DEFAULT, \
                  \"cuCtxSetCurrent\");\n int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, \
                  unsigned, unsigned, void *, void **, void **) = dlsym(RTLD_DEFAULT, \"cuLaunchKernel\");\n if \
                  (!current || !launch) { failed = 1; return x; }\n long memory = 0; void *arguments[1] = { &memory \
                  };\n failed |= current(context);\n for (int i = 0; i < times; i++) failed |= launch(function, 1, \
                  1, 1, 32, 1, 1, 0, 0, arguments, 0);\n return x;\n}\nint launch_on_a_thread(void *c, void *f, \
                  int n) {\n pthread_t t; context = c; function = f; times = n;\n void *cuda = \
                  dlopen(\"libcuda.so.1\", RTLD_NOW | RTLD_GLOBAL); (void)cuda;\n if (pthread_create(&t, 0, launch, \
                  0)) return 1;\n pthread_join(t, 0); return failed;\n}\n";
    let (text, library) = (sim.folder().join("launcher.c"), sim.folder().join("liblauncher.so"));
    std::fs::write(&text, source).expect("the source");
    let mut cc = Command::new("cc");
    let built = cc.args(["-shared", "-fPIC", "-pthread", "-o"]).arg(&library).arg(&text).arg("-ldl").output();
    let built = built.expect("cc, the C compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ended = run(sim.python("lines.py").arg("native").arg(&library));
    let (first, second) = (ended.number("first"), ended.number("second"));
    let launches = launches(&ended);
    assert_eq!(by_line(&launches, first, second), (5, 3), "{:?}", launches.stacks);
    assert_eq!(launches.stacks.values().sum::<usize>(), 8, "{:?}", launches.stacks);
    assert_eq!(launches.facts["without_lock"], 4, "{}", launches.facts);
}

#[test]
fn while_there_is_a_second_interpreter_nothing_is_read() {
    let sim = Sim::new("12.8");
    let ended = run(sim.python("lines.py").arg("second"));
    let launches = launches(&ended);
    assert_eq!(launches.stacks, BTreeMap::new());
    assert_eq!(launches.facts["unsuitable"], 8, "{}", launches.facts);
}

#[test]
fn code_that_is_made_and_thrown_away_is_told_apart_within_the_budget() {
    let sim = Sim::new("12.8");
    let ended = run(sim.python("lines.py").arg("many"));
    let launches = launches(&ended);
    let made = launches.stacks.iter().filter(|(stack, _)| stack.contains(" line:"));
    let made: BTreeMap<&String, &usize> = made.collect();
    // Each of the thousand functions is called `line`, has a line of its own, and launches 40 times; one that came when
    // the time was used up has none.
    assert!(made.values().all(|count| **count <= 40), "{made:?}");
    let kept = launches.facts["kept"].as_u64().unwrap();
    let over = launches.facts["over_budget"].as_u64().unwrap();
    assert_eq!(kept + over, 8 + 40_000, "{}", launches.facts);
    assert_eq!(made.values().copied().sum::<usize>() as u64 + 8, kept);
    assert_eq!(over > 0, launches.notes.iter().any(|note| note.contains("launches have no Python stack")));
}

#[test]
fn every_version_of_python_that_is_here_is_read_right() {
    let versions = Path::new("/root/.pyenv/versions");
    let pythons = versions.read_dir().into_iter().flatten().flatten().map(|e| e.path().join("bin/python3"));
    let mut known = 0;
    for python in pythons.filter(|python| python.exists()) {
        let done = Command::new(&python).args(["-c", "import sys; print(sys.version_info[1])"]).output();
        let minor: u32 = String::from_utf8_lossy(&done.expect("python").stdout).trim().parse().expect("a number");
        let sim = Sim::new("12.8");
        let player = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sim/players/lines.py");
        let ended = run(sim.program(&python).arg(player).arg("released"));
        let (first, second) = (ended.number("first"), ended.number("second"));
        let launches = launches(&ended);
        if minor < 8 {
            assert!(ended.stderr.contains("--launch-stacks is off in this process"), "{}", ended.stderr);
            assert_eq!(launches.stacks, BTreeMap::new());
            continue;
        }
        known += 1;
        assert_eq!(
            by_line(&launches, first, second),
            (5, 3),
            "3.{minor}: {:?} {}",
            launches.stacks,
            launches.facts
        );
        let name = if minor >= 11 { "Model.forward:" } else { " forward:" };
        assert!(launches.stacks.keys().any(|stack| stack.contains(name)), "3.{minor}: {:?}", launches.stacks);
    }
    if known == 0 {
        skip("python versions", "no Python under /root/.pyenv/versions");
    }
}

#[test]
fn a_program_without_python_has_no_lines_and_is_as_it_was() {
    let sim = Sim::new("13.0");
    let ended = run(sim.player("vector_add").arg("10"));
    let launches = launches(&ended);
    assert_eq!(launches.stacks, BTreeMap::new());
    assert_eq!(launches.facts["kept"], 0);
    assert!(!ended.stderr.contains("--launch-stacks"), "{}", ended.stderr);
}
