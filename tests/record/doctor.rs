//! `gpuprof doctor` through the real program: on this machine, over vendor libraries that crash, over NVIDIA's own
//! libcupti of many versions, and over the simulator.

use crate::common::{Answer, TempFolder, answer, command, skip};
use crate::sim::{self, Sim};
use serde_json::{Value, json};
use shim_config::variables::Flag;
use shim_config::{Cause, VARIABLES};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What must not leak in from whoever runs the tests.
const FOREIGN: &[&str] = &[
    "CUDA_HOME",
    "CUDA_INJECTION64_PATH",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CONDA_PREFIX",
    "GPUPROF_CUPTI",
    "LD_PRELOAD",
    "NVTX_INJECTION64_PATH",
    "VIRTUAL_ENV",
];

/// Runs `gpuprof doctor` with these arguments and variables.
fn doctor(arguments: &[&str], variables: &[(&str, &Path)]) -> Answer {
    let mut command = command(&["doctor"]);
    for name in FOREIGN {
        command.env_remove(name);
    }
    answer(command.args(arguments).envs(variables.iter().copied()))
}

/// The same as JSON. The exit status must agree with it.
fn report(arguments: &[&str], variables: &[(&str, &Path)]) -> Value {
    let answer = doctor(&[&["--format", "json"], arguments].concat(), variables);
    let report: Value = serde_json::from_str(&answer.stdout).unwrap_or_else(|e| panic!("{e}: {answer:?}"));
    let can_record = report["can_record"].as_bool().expect("a verdict");
    assert_eq!(answer.status, if can_record { 0 } else { 2 }, "{answer:?}");
    let problems = findings(&report, "problem").len();
    assert_eq!(problems == 0, can_record, "{answer:?}");
    let verdict = format!("gpuprof: nothing can be recorded here: {problems} problem");
    assert!(can_record || answer.stderr.starts_with(&verdict), "{answer:?}");
    report
}

/// The texts of all findings of a level, as `topic: text`.
fn findings(report: &Value, level: &str) -> Vec<String> {
    let all = report["findings"].as_array().expect("findings").iter().filter(|f| f["level"] == level);
    let text = |f: &Value, key: &str| f[key].as_str().expect("text").to_owned();
    all.map(|f| format!("{}: {}", text(f, "topic"), text(f, "text"))).collect()
}

/// Compiles a stand-in for a vendor library; `None`, said loudly, where there is no C compiler.
fn library(test: &str, folder: &TempFolder, name: &str, c: &str) -> Option<PathBuf> {
    let source = folder.file(&format!("{name}.c"), c.as_bytes());
    let path = folder.path().join(name);
    let soname = format!("-Wl,-soname,{name}");
    let done = Command::new("cc").args(["-shared", "-fPIC", "-O1", &soname, "-o"]).arg(&path).arg(&source).status();
    match done {
        Ok(status) => assert!(status.success(), "{c}"),
        Err(e) => {
            skip(test, &format!("no C compiler: {e}"));
            return None;
        }
    }
    Some(path)
}

/// A driver with one GPU of compute capability 9.0.
const WORKING_DRIVER: &str = r#"
#include <string.h>
int cuInit(unsigned flags) { return 0; }
int cuDriverGetVersion(int *version) { *version = 12080; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char *name, int bytes, int device) { strncpy(name, "A GPU", bytes); return 0; }
int cuDeviceGetUuid(char *uuid, int device) { memset(uuid, 0xab, 16); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = 80ull << 30; return 0; }
int cuDeviceGetAttribute(int *value, int which, int device) {
    *value = which == 75 ? 9 : which == 76 ? 0 : 132;
    return 0;
}
"#;

#[test]
fn the_answer_for_people_says_each_thing_on_a_line_and_agrees_with_its_status() {
    let answer = doctor(&[], &[]);
    let levels = ["ok       ", "note     ", "problem  ", "         "];
    let last = "CUDA programs can be recorded here: gpuprof record -- PROGRAM";
    for line in answer.stdout.lines() {
        assert!(levels.iter().any(|level| line.starts_with(level)) || line == last, "{line}");
    }
    let problems = answer.stdout.lines().filter(|line| line.starts_with("problem ")).count();
    assert_eq!(answer.status, if problems == 0 { 0 } else { 2 }, "{answer:?}");
    assert_eq!(answer.stdout.ends_with(&format!("{last}\n")), problems == 0, "{answer:?}");
    for topic in [" driver: ", " cupti: ", " tools: ", " disk: ", " collector: "] {
        assert!(answer.stdout.contains(topic), "{topic}: {}", answer.stdout);
    }
    // Every problem comes with something to do.
    let mut lines = answer.stdout.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("problem ") {
            let own = std::iter::from_fn(|| lines.next_if(|l| l.starts_with("         ")));
            assert!(own.collect::<Vec<_>>().iter().any(|l| l.contains("= help: ")), "no help for: {line}");
        }
    }
}

#[test]
fn a_driver_that_crashes_is_reported_and_not_suffered() {
    let folder = TempFolder::new("doctor-crash");
    let c = "int cuDriverGetVersion(int *v) { *v = 12080; return 0; } int cuInit(unsigned f) { return *(volatile int *)0; }";
    let Some(_) = library("doctor-crash", &folder, "libcuda.so.1", c) else { return };
    let report = report(&[], &[("LD_LIBRARY_PATH", folder.path())]);
    let problems = findings(&report, "problem");
    assert!(problems.contains(&"driver: libcuda.so.1 crashed in cuInit (SIGSEGV)".to_owned()), "{problems:?}");
    assert_eq!(report["driver"], Value::Null);
}

#[test]
fn a_driver_that_leaves_the_process_is_reported() {
    let folder = TempFolder::new("doctor-exit");
    let c = "#include <unistd.h>\nint cuInit(unsigned f) { write(2, \"going\\n\", 6); _exit(3); }";
    let Some(_) = library("doctor-exit", &folder, "libcuda.so.1", c) else { return };
    let problems = findings(&report(&[], &[("LD_LIBRARY_PATH", folder.path())]), "problem");
    let expected = "driver: libcuda.so.1 crashed in cuInit (exit status 3): going";
    assert!(problems.contains(&expected.to_owned()), "{problems:?}");
}

#[test]
fn a_driver_that_refuses_says_its_code() {
    let folder = TempFolder::new("doctor-refuse");
    let c = "int cuInit(unsigned f) { return 803; }";
    let Some(_) = library("doctor-refuse", &folder, "libcuda.so.1", c) else { return };
    let report = report(&[], &[("LD_LIBRARY_PATH", folder.path())]);
    let text = "driver: cuInit returned error 803 (the kernel module and libcuda are of different versions)";
    assert!(findings(&report, "problem").contains(&text.to_owned()), "{report:#}");
    assert_eq!(report["driver"]["init"], 803);
}

#[test]
fn every_libcupti_is_tried_in_a_process_of_its_own_and_the_right_one_is_taken() {
    let folder = TempFolder::new("doctor-cupti");
    let test = "doctor-cupti";
    let Some(_) = library(test, &folder, "libcuda.so.1", WORKING_DRIVER) else { return };
    let works = "
        int cuptiSubscribe(void **h, void *c, void *u) { *h = (void *)1; return 0; }
        int cuptiGetVersion(unsigned *v) { *v = 26; return 0; }
        int cuptiComputeCapabilitySupported(int a, int b, int *yes) { *yes = a == 9; return 0; }
        int cuptiDeviceSupported(int d, int *yes) { *yes = 1; return 0; }
        int cuptiActivityRegisterCallbacks(void *a, void *b) { return 0; }
        int cuptiActivityEnable(int kind) { return kind == 10 ? 0 : 21; }";
    let refuses = "
        int cuptiSubscribe(void **h, void *c, void *u) { return 999; }
        int cuptiGetVersion(unsigned *v) { *v = 130001; return 0; }";
    let crashes = "int cuptiSubscribe(void **h, void *c, void *u) { __builtin_trap(); }";
    let home = |name: &str| TempFolder::new(&format!("doctor-cupti-{name}"));
    let (thirteen, twelve) = (home("13"), home("12"));
    std::fs::create_dir_all(thirteen.path().join("lib64")).expect("a folder");
    std::fs::create_dir_all(twelve.path().join("lib64")).expect("a folder");
    library(test, &thirteen, "libcupti.so.13", refuses);
    library(test, &twelve, "libcupti.so.12", works);
    for (folder, name) in [(&thirteen, "libcupti.so.13"), (&twelve, "libcupti.so.12")] {
        std::fs::rename(folder.path().join(name), folder.path().join("lib64").join(name)).expect("moved");
    }
    // Nothing of Python's in reach.
    let empty = TempFolder::new("doctor-cupti-empty");
    let variables = [
        ("LD_LIBRARY_PATH", folder.path()),
        ("CUDA_HOME", thirteen.path()),
        ("CUDA_PATH", twelve.path()),
        ("PATH", empty.path()),
    ];
    let report = report(&[], &variables);
    assert_eq!(report["driver"]["gpus"][0]["name"], "A GPU");
    assert_eq!(report["driver"]["gpus"][0]["compute"], json!([9, 0]));
    assert_eq!(report["driver"]["gpus"][0]["uuid"], "GPU-abababab-abab-abab-abab-abababababab");
    let tried = report["cupti"].as_array().expect("tried");
    let taken: Vec<&Value> = tried.iter().filter(|t| t["taken"] == true).collect();
    assert_eq!(taken.len(), 1, "{report:#}");
    assert_eq!(taken[0]["path"], json!(twelve.path().join("lib64/libcupti.so.12")));
    assert_eq!((&taken[0]["toolkit"], &taken[0]["accepted"]), (&json!("12.8"), &json!(true)));
    // 13 is newer than the driver of 12.8: it is not even tried.
    let skipped = tried.iter().find(|t| t["soname"] == "libcupti.so.13").expect("13 is listed");
    assert_eq!(skipped["objection"], "the driver knows CUDA 12 at most");

    // Asked for, it is tried; it refuses; the next one is taken, and that is said.
    let asked = thirteen.path().join("lib64");
    let report = self::report(&[], &[&variables[..], &[("GPUPROF_CUPTI", &asked)]].concat());
    let notes = findings(&report, "note");
    assert!(
        notes.iter().any(|n| n.starts_with("cupti: GPUPROF_CUPTI is passed over: cuptiSubscribe returned")),
        "{notes:?}"
    );
    assert!(findings(&report, "ok").iter().any(|n| n.starts_with("cupti: 12.8 (")), "{report:#}");

    // One that crashes would take programs down, whatever comes after it.
    let crash = home("crash");
    let path = library(test, &crash, "libcupti.so.11.8", crashes).expect("compiled before");
    let report = self::report(&[], &[&variables[..], &[("GPUPROF_CUPTI", &path)]].concat());
    let problems = findings(&report, "problem");
    assert!(problems.iter().any(|p| p.contains("would take programs down")), "{problems:?}");
}

#[test]
fn the_python_that_is_named_decides_which_libcupti_is_taken() {
    let test = "doctor-python";
    let folder = TempFolder::new(test);
    let Some(_) = library(test, &folder, "libcuda.so.1", WORKING_DRIVER) else { return };
    let c = "
        int cuptiSubscribe(void **h, void *c, void *u) { return 0; }
        int cuptiGetVersion(unsigned *v) { *v = 24; return 0; }";
    let path = library(test, &folder, "libcupti.so.12", c).expect("compiled before");
    let bytes = std::fs::read(&path).expect("compiled");
    // A toolkit, whose copy PyTorch could not live with.
    folder.file("cuda/lib64/libcupti.so.12", &bytes);
    let site = "venv/lib/python3.11/site-packages";
    folder.file(&format!("{site}/torch/version.py"), b"cuda: Optional[str] = '12.6'\n");
    folder.file(&format!("{site}/nvidia/cuda_cupti/lib/libcupti.so.12"), &bytes);
    folder.file("venv/pyvenv.cfg", b"home = /nowhere/bin\n");
    folder.file("base/bin/python3.11", &std::fs::read("/bin/true").expect("a program"));
    let bin = folder.path().join("venv/bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    std::os::unix::fs::symlink("../../base/bin/python3.11", bin.join("python")).expect("a link");
    let script = folder.file("venv/bin/torchrun", format!("#!{}\n", bin.join("python").display()).as_bytes());
    let home = folder.path().join("cuda");
    let variables = [("LD_LIBRARY_PATH", folder.path()), ("CUDA_HOME", &home), ("PATH", Path::new("/nowhere"))];

    let taken = |report: &Value| -> (Value, Value) {
        let all = report["cupti"].as_array().expect("tried");
        let taken = all.iter().find(|t| t["taken"] == true).unwrap_or_else(|| panic!("none is taken: {report:#}"));
        (taken["path"].clone(), taken["why"].clone())
    };
    let own = folder.path().join(site).join("nvidia/cuda_cupti/lib/libcupti.so.12");
    for program in [bin.join("python"), script] {
        let report = report(&["--", program.to_str().expect("UTF-8"), "train.py"], &variables);
        assert_eq!(taken(&report), (json!(own), json!("the copy that this Python's PyTorch loads")));
        let other =
            report["cupti"].as_array().expect("tried").iter().find(|t| t["why"] == "in CUDA_HOME or CUDA_PATH");
        let objection = other.and_then(|t| t["objection"].as_str()).unwrap_or_else(|| panic!("{report:#}"));
        assert!(objection.starts_with("PyTorch would break"), "{objection}");
    }
    let report = report(&["--", "/bin/true"], &variables);
    assert_eq!(taken(&report).0, json!(home.join("lib64/libcupti.so.12")), "a program that is no Python");
}

#[test]
fn refusals_name_code_meaning_and_remedy() {
    for (function, code, remedy) in [
        ("cuptiSubscribe", 39, "compute-sanitizer"),
        ("cuptiSubscribe", 15, "newer than the driver"),
        ("cuptiActivityEnable", 35, "NVreg_RestrictProfilingToAdminUsers"),
        ("cuptiActivityEnable", 41, "confidential"),
    ] {
        let folder = TempFolder::new(&format!("doctor-refusal-{code}"));
        let Some(_) = library("doctor-refusal", &folder, "libcuda.so.1", WORKING_DRIVER) else { return };
        let (subscribe, enable) = if function == "cuptiSubscribe" { (code, 0) } else { (0, code) };
        let c = format!(
            "int cuptiSubscribe(void **h, void *c, void *u) {{ return {subscribe}; }}
             int cuptiGetVersion(unsigned *v) {{ *v = 24; return 0; }}
             int cuptiActivityRegisterCallbacks(void *a, void *b) {{ return 0; }}
             int cuptiActivityEnable(int kind) {{ return {enable}; }}"
        );
        let path = library("doctor-refusal", &folder, "libcupti.so.12", &c).expect("compiled before");
        let empty = folder.path().join("empty");
        let variables = [("LD_LIBRARY_PATH", folder.path()), ("GPUPROF_CUPTI", &path), ("PATH", &empty)];
        let report = report(&[], &variables);
        let finding = report["findings"].as_array().expect("findings").iter().find(|f| f["topic"] == "cupti");
        let finding = finding.expect("a finding about CUPTI").to_string();
        assert!(finding.contains(&format!("{function} returned CUPTI error {code} ")), "{finding}");
        assert!(finding.contains(remedy) && finding.contains("\"problem\""), "{code}: {finding}");
    }
}

#[test]
fn nothing_that_is_injected_here_runs_inside_the_probes() {
    let folder = TempFolder::new("doctor-injected");
    let mark = folder.path().join("mark");
    let c = format!(
        "#include <fcntl.h>\n#include <stdlib.h>\n__attribute__((constructor)) void start(void) {{ \
         if (getenv(\"GPUPROF_DISABLE\")) open(\"{}\", O_CREAT | O_WRONLY, 0600); }}",
        mark.display()
    );
    let Some(path) = library("doctor-injected", &folder, "libinjected.so", &c) else { return };
    let report = report(&[], &[("LD_PRELOAD", &path), ("CUDA_INJECTION64_PATH", &path)]);
    assert!(!mark.exists(), "a probe ran with LD_PRELOAD");
    let problems = findings(&report, "problem");
    assert!(problems.iter().any(|p| p.starts_with("tools: CUDA_INJECTION64_PATH=")), "{problems:?}");
}

#[test]
fn a_program_that_is_not_there_is_refused() {
    let answer = doctor(&["--", "no-such-program"], &[]);
    assert_eq!((answer.status, answer.stdout.as_str()), (2, ""));
    assert_eq!(answer.stderr, "gpuprof: no program `no-such-program` in PATH\n");
}

#[test]
fn a_place_that_cannot_be_written_to_is_a_problem() {
    let report = report(&["-o", "/proc/gpuprof"], &[]);
    let problems = findings(&report, "problem");
    assert!(problems.iter().any(|p| p.starts_with("disk: /proc")), "{problems:?}");
}

/// The answer on a simulated machine.
fn on(sim: &Sim, variables: &[(&str, &str)]) -> Value {
    let mut run =
        sim.program(env!("CARGO_BIN_EXE_gpuprof")).args(["doctor", "--format", "json", "--", "/bin/true"]);
    run = run.env("GPUPROF_SHIM", sim::shim_path());
    for (name, value) in variables {
        run = run.env(name, value);
    }
    let ended = run.run();
    let report: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|e| panic!("{e}: {}", ended.stderr));
    assert_eq!(ended.code(), Some(if report["can_record"] == true { 0 } else { 2 }), "{}", ended.stderr);
    report
}

#[test]
fn a_simulated_machine_of_each_version_can_record_and_says_with_what() {
    for version in sim::VERSIONS {
        let sim = Sim::new(version);
        let report = on(&sim, &[]);
        assert_eq!(report["can_record"], true, "{version}: {report:#}");
        let taken = report["cupti"].as_array().expect("tried").iter().find(|t| t["taken"] == true);
        let taken = taken.unwrap_or_else(|| panic!("{version}: none is taken: {report:#}"));
        assert_eq!(taken["toolkit"], version, "{report:#}");
        assert_eq!(taken["soname"], sim::cupti_soname(version));
        let ours = findings(&report, "ok").into_iter().find(|f| f.starts_with("collector: "));
        assert!(ours.is_some_and(|f| f.ends_with("and it loads")), "{report:#}");
        assert_eq!(report["driver"]["gpus"][0]["compute"], json!([9, 0]));
    }
}

#[test]
fn a_simulated_machine_that_refuses_says_so() {
    for (variables, problem) in [
        (&[("SIM_FAIL", "cuptiSubscribe:39")][..], "cupti: no libcupti here can be used"),
        (&[("SIM_FAIL", "cuptiActivityEnable:35")], "cupti: no libcupti here can be used"),
        (&[("SIM_DRIVER", "12.2")], "cupti: no libcupti here can be used"),
        (&[("SIM_CC", "10.0")], "cupti: 12.4 ("),
        (&[("SIM_DEVICES", "0")], "gpu: cuInit returned error 100 (no CUDA-capable device)"),
        (
            &[("CUDA_INJECTION64_PATH", "/opt/other/libtool.so")],
            "tools: CUDA_INJECTION64_PATH=/opt/other/libtool.so",
        ),
        (&[("GPUPROF_SHIM", "/nowhere/libgpuprof.so")], "collector: libgpuprof.so is not to be found: "),
    ] {
        let report = on(&Sim::new("12.4"), variables);
        let problems = findings(&report, "problem");
        assert!(problems.len() == 1 && problems[0].starts_with(problem), "{variables:?}: {report:#}");
    }
    let report = on(&Sim::new("12.4").without_cupti(), &[]);
    assert_eq!(findings(&report, "problem"), ["cupti: no libcupti is to be found"]);
}

#[test]
fn several_simulated_gpus_are_all_listed() {
    let report = on(&Sim::new("12.8"), &[("SIM_DEVICES", "3")]);
    let gpus = report["driver"]["gpus"].as_array().expect("GPUs");
    let uuids: Vec<&Value> = gpus.iter().map(|gpu| &gpu["uuid"]).collect();
    assert_eq!(uuids.len(), 3);
    assert!(uuids[0] != uuids[1] && uuids[1] != uuids[2], "{uuids:?}");
}

/// `docs/troubleshooting.md`.
fn troubleshooting() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/troubleshooting.md");
    std::fs::read_to_string(path).expect("docs/troubleshooting.md")
}

#[test]
fn every_cause_of_an_empty_trace_has_its_section() {
    let text = troubleshooting();
    let codes = [
        "tool_not_loaded",
        "no_cuda",
        "cupti_not_found",
        "gate_never_opened",
        "all_excluded",
        "killed",
        "disk",
        "cupti_taken",
        "foreign_injection",
        "not_chosen",
        "nothing_launched",
    ];
    for code in codes {
        let cause = Cause::of(code, None, None);
        assert!(!matches!(cause, Cause::Other(_)), "{code} is no cause any more");
        assert!(text.contains(&format!("\n### {cause}\n")), "no section for {code}: {cause}");
    }
    for code in 1..1000 {
        let cause = Cause::CuptiError { code, function: "f".into() }.to_string();
        // Those that have a meaning have it in brackets.
        if let Some((_, meaning)) = cause.split_once('(') {
            let row = format!("\n| {code} | {} |", meaning.trim_end_matches(')'));
            assert!(text.contains(&row), "no row{row}");
        }
    }
}

#[test]
fn flags_and_variables_that_are_advised_exist() {
    let text = troubleshooting();
    let flags: Vec<&str> = VARIABLES
        .iter()
        .filter_map(|variable| match variable.flag {
            Flag::Value(name, _) | Flag::Switch(name) => Some(name),
            Flag::None => None,
        })
        .collect();
    let others = ["preload", "format", "help", "cap-add", "profile", "target", "no-pager"];
    // The collector knows nothing of what the program alone reads.
    let of_the_program = ["GPUPROF_NO_CONFIG", "GPUPROF_PAGER"];
    for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_')) {
        if let Some(flag) = word.strip_prefix("--").filter(|flag| !flag.is_empty() && !flag.starts_with('-')) {
            assert!(flags.contains(&flag) || others.contains(&flag), "there is no --{flag}");
        }
        if word.starts_with("GPUPROF_") && word != "GPUPROF_" && word != "GPUPROF_X" {
            let is_known = of_the_program.contains(&word) || VARIABLES.iter().any(|variable| variable.name == word);
            assert!(is_known, "there is no {word}");
        }
    }
}

/// The Rust sources below `folder`, tests left out.
fn sources(folder: &Path, into: &mut Vec<String>) {
    let entries = folder.read_dir().unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") && path.file_stem().is_some_and(|n| n != "tests") {
            let text = std::fs::read_to_string(&path).expect("a source");
            into.push(text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned());
        }
    }
}

/// The first string literal of `text`, continued lines joined.
fn literal(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('"')?;
    let mut out = String::new();
    let mut chars = rest.chars().peekable();
    loop {
        match chars.next()? {
            '"' => return Some(out),
            '\\' if chars.peek() == Some(&'\n') => while chars.next_if(|c| c.is_whitespace()).is_some() {},
            '\\' => out.extend(chars.next()),
            other => out.push(other),
        }
    }
}

#[test]
fn every_line_that_the_collector_prints_is_explained() {
    let text = troubleshooting().replace(['*', '`'], "");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut all = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cupti-shim/src"), &mut all);
    let mut lines = 0;
    for source in &all {
        for call in source.split("log::line(").skip(1) {
            // What is said only when asked to be verbose needs no page.
            let Some(call) = call.trim_start().strip_prefix("1,") else { continue };
            let Some(message) = literal(call).map(|message| message.replace('`', "")) else { continue };
            // Without the values in it.
            let parts = message.split('{').map(|part| part.split_once('}').map_or(part, |(_, rest)| rest));
            let parts: Vec<&str> = parts.map(|part| part.trim_matches([' ', ':', ';', '('])).collect();
            if parts.iter().any(|part| part.len() >= 12) {
                lines += 1;
                let is_there = parts.iter().any(|part| part.len() >= 12 && text.contains(part));
                assert!(is_there, "docs/troubleshooting.md does not explain: {message}");
            }
        }
    }
    assert!(lines >= 10, "only {lines} lines found: has log::line another name now?");
}

#[test]
fn nvidias_own_libcupti_of_every_version_is_recognised() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let fetched = Command::new(root.join("scripts/fetch-cupti")).output().expect("scripts/fetch-cupti");
    if !fetched.status.success() {
        return skip("doctor-real-cupti", String::from_utf8_lossy(&fetched.stderr).trim());
    }
    let cache = PathBuf::from(String::from_utf8_lossy(&fetched.stdout).trim());
    let mut versions = 0;
    for entry in cache.read_dir().expect("the cache").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let mut parts = name.split('.');
        let (Some(major), Some(minor), Some(_)) = (parts.next(), parts.next(), parts.next()) else { continue };
        // Without a driver 13.2 crashes and later ones say nothing.
        if major == "13" && minor.parse::<u32>().is_ok_and(|minor| minor >= 2) {
            continue;
        }
        let report = report(&[], &[("GPUPROF_CUPTI", &entry.path())]);
        let tried = &report["cupti"][0];
        assert_eq!(tried["why"], "named by GPUPROF_CUPTI", "{report:#}");
        assert_eq!(tried["toolkit"], format!("{major}.{minor}"), "{report:#}");
        let soname =
            if major == "11" { format!("libcupti.so.{major}.{minor}") } else { format!("libcupti.so.{major}") };
        assert_eq!(tried["soname"], soname, "{report:#}");
        versions += 1;
    }
    assert!(versions >= 8, "{versions} versions in {}", cache.display());
}
