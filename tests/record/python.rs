//! The Python package in programs that are recorded: windows, ranges, marks, measurements, tests of pytest, callbacks of
//! trainers. What needs packages from PyPI runs with the Python that `GPUPROF_TEST_PYTHON` names (`python/test`).

use crate::common::{self, python_door, skip};
use crate::sim::{Ended, Run, Sim};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program of `python/tests`, which finds the package and the program.
fn script<'s>(sim: &'s Sim, python: impl AsRef<std::ffi::OsStr>, name: &str) -> Run<'s> {
    let run = sim.program(python).arg(python_door::test_file(name));
    with_package(run, sim)
}

fn with_package<'s>(run: Run<'s>, sim: &'s Sim) -> Run<'s> {
    let paths = [python_door::folder(), python_door::test_file("")];
    run.env("PYTHONPATH", std::env::join_paths(paths).expect("paths without colons"))
        // That of the environment of packages, which torch brings along, must not meet the simulated driver.
        .env("GPUPROF_CUPTI", sim.cupti())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("GPUPROF_PROGRAM", env!("CARGO_BIN_EXE_gpuprof"))
        .env("GPUPROF_SHIM", crate::sim::preload_path())
        .env("GPUPROF_RUNTIME_DIR", sim.folder().join("sockets"))
}

fn succeeded(ended: &Ended) {
    assert_eq!(ended.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
}

/// What a program says on its last line.
fn said(ended: &Ended) -> Value {
    let last = ended.stdout.lines().last().expect("a last line");
    serde_json::from_str(last).unwrap_or_else(|e| panic!("{last}: {e}"))
}

/// The first column of an answer.
fn column(trace: &Path, sql: &str) -> Vec<String> {
    let answer = common::gpuprof(&["query", trace.to_str().expect("UTF-8"), sql, "--format", "csv"]);
    answer.stdout.lines().skip(1).map(str::to_owned).collect()
}

const KERNELS: &str = "SELECT COUNT(*) FROM kernel";

#[test]
fn windows_are_opened_in_the_way_that_the_program_is_recorded() {
    for (mode, key) in
        [("all", "all_kernels"), ("profiler-api", "captured_kernels"), ("manual", "captured_kernels")]
    {
        let sim = Sim::new("13.0");
        let ended = script(&sim, "python3", "windows.py").env("GPUPROF_CAPTURE", mode).inject().run();
        succeeded(&ended);
        let trace = ended.trace();
        assert_eq!(column(&trace, KERNELS), [said(&ended)[key].to_string()], "{mode}");
        let windows = if mode == "all" { "1" } else { "3" };
        assert_eq!(column(&trace, "SELECT COUNT(*) FROM capture"), [windows], "{mode}");
        let names = column(&trace, "SELECT name FROM range WHERE name <> 'of a thread' ORDER BY start_ns");
        assert_eq!(names, ["step", "inner", "half of it: ä", "validate", "fails"], "{mode}");
    }
}

#[test]
fn ranges_are_heard_before_cuda_is_used_and_open_windows_of_their_name() {
    let sim = Sim::new("12.8");
    let ended = script(&sim, "python3", "windows.py").record(&["--capture", "nvtx:validate"]).run();
    succeeded(&ended);
    assert_eq!(column(&ended.trace(), KERNELS), ["6"]);
    let ended = script(&sim, "python3", "windows.py").arg("early").record(&[]).run();
    succeeded(&ended);
    let trace = ended.trace();
    let names = column(&trace, "SELECT name FROM range ORDER BY start_ns LIMIT 2");
    assert_eq!(names, ["before CUDA", "loading"]);
}

#[test]
fn a_function_is_measured_here_where_this_is_recorded_and_else_in_a_process_that_is() {
    for mode in [Some("all"), Some("profiler-api"), Some("manual"), None] {
        let sim = Sim::new("13.0");
        let run = script(&sim, "python3", "benching.py");
        let ended = match mode {
            Some(mode) => run.env("GPUPROF_CAPTURE", mode).inject().run(),
            None => run.run(),
        };
        succeeded(&ended);
        let said = said(&ended);
        // 250 µs, and two kernels of some microseconds.
        let median_ns = said["median_ns"].as_f64().expect("a number");
        assert!((250_000.0..300_000.0).contains(&median_ns), "{mode:?}: {said}");
        assert_eq!(said["n"], 7, "{mode:?}");
    }
}

#[test]
fn what_is_not_recorded_is_an_error_that_says_so() {
    let sim = Sim::new("13.0");
    let code = "
import gpuprof
def refused(what):
    try:
        what()
    except gpuprof.Error as error:
        assert 'gpuprof record' in str(error), error
    else:
        raise AssertionError('nobody said that this is not recorded')
assert not gpuprof.is_recorded()
refused(lambda: gpuprof.mark('a'))
refused(gpuprof.capture('a').__enter__)
refused(gpuprof.annotate(lambda: None))
";
    let ended = with_package(sim.program("python3").args(["-c", code]), &sim).run();
    succeeded(&ended);
}

#[test]
fn a_window_that_cannot_be_opened_is_an_error_with_the_reason() {
    let sim = Sim::new("13.0");
    let code = "
import gpuprof
try:
    with gpuprof.capture('too early'):
        pass
except gpuprof.Error as error:
    print(error)
";
    for (mode, words) in [("manual", "comes with the first CUDA context"), ("profiler-api", "use CUDA before")] {
        let run = with_package(sim.program("python3").args(["-c", code]), &sim);
        let ended = run.env("GPUPROF_CAPTURE", mode).inject().run();
        succeeded(&ended);
        assert!(ended.stdout.contains(words), "{mode}: {}", ended.stdout);
    }
}

#[test]
fn pytest_records_each_test_and_judges_it_by_its_time() {
    let test = "pytest_records_each_test_and_judges_it_by_its_time";
    let requirements = python_door::test_file("requirements.txt");
    let Some(python) = common::tools::python(test, "python-door", &requirements) else { return };
    for under_record in [false, true] {
        let sim = Sim::new("13.0");
        let run = with_package(sim.program(&python), &sim);
        let folder = run.folder().to_owned();
        let arguments = ["-m", "pytest", "-p", "gpuprof.pytest_plugin", "-p", "no:cacheprovider", "--gpuprof"];
        let run = run.args(arguments).arg("--junitxml=junit.xml").arg(python_door::test_file("gpu_tests"));
        let ended = if under_record { run.record(&[]).run() } else { run.run() };
        assert_eq!(ended.code(), Some(1), "{}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains("3 failed, 5 passed"), "{}", ended.stdout);
        for words in [
            "more than 0.1 ms; see ",
            "more than 0.2 ms; see ",
            "ValueError: of the test",
            "GPU time of 7 tests, traces in ",
        ] {
            assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
        }
        let listed: Vec<&str> = ended.stdout.lines().filter(|line| line.contains(" ms  ")).collect();
        assert_eq!(listed.len(), 7, "{listed:?}");
        assert!(listed[0].contains("test_three_steps"), "the longest comes first: {listed:?}");
        let junit = std::fs::read_to_string(folder.join("junit.xml")).expect("JUnit's XML");
        assert_eq!(junit.matches("name=\"gpu_time_ms\"").count(), 8, "{junit}");
        assert_eq!(junit.matches("name=\"gpu_time_ms\" value=\"0.0\"").count(), 1, "{junit}");
        let traces: Vec<PathBuf> = std::fs::read_dir(folder.join("gpuprof-traces"))
            .expect("the folder")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| !path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"session-")))
            .collect();
        assert_eq!(traces.len(), 7, "{traces:?}");
        for trace in traces {
            let name = trace.file_name().expect("a name").to_string_lossy().into_owned();
            let kernels = if name.contains("three_steps") { "9" } else { "3" };
            assert_eq!(column(&trace, KERNELS), [kernels], "{name}");
        }
    }
}

/// The steps of a trainer that were recorded: two times three, with three kernels a step.
fn two_windows_of_three_steps(trace: &Path, kernels_of_a_step: usize) {
    assert_eq!(column(trace, KERNELS), [(6 * kernels_of_a_step).to_string()]);
    assert_eq!(column(trace, "SELECT COUNT(*) FROM capture"), ["2"]);
    let steps = column(trace, "SELECT name FROM range WHERE name LIKE 'step %' ORDER BY start_ns");
    assert_eq!(steps, ["step 3", "step 4", "step 5", "step 7", "step 8", "step 9"]);
}

#[test]
fn the_callback_for_lightning_records_the_steps_of_its_schedule() {
    let test = "the_callback_for_lightning_records_the_steps_of_its_schedule";
    let Some(python) = python_with_packages(test) else { return };
    let train = |arguments: &[&str], mode: Option<&str>| {
        let sim = Sim::new("12.8");
        let run = script(&sim, &python, "train_lightning.py").args(arguments).timeout(LONG);
        let ended = match mode {
            Some(mode) => run.record(&["--capture", mode]).run(),
            None => run.run(),
        };
        (ended, sim)
    };
    for mode in ["profiler-api", "manual"] {
        let (ended, _sim) = train(&[], Some(mode));
        succeeded(&ended);
        two_windows_of_three_steps(&ended.trace(), 3);
    }
    // A training that fails inside of a window closes it.
    let (ended, _sim) = train(&["fails"], Some("profiler-api"));
    succeeded(&ended);
    assert_eq!(column(&ended.trace(), KERNELS), ["6"]);
    let (ended, _sim) = train(&[], None);
    assert!(ended.stderr.contains("StepCapture: this process is not recorded"), "{}", ended.stderr);
    let (ended, _sim) = train(&["optional"], None);
    succeeded(&ended);
}

#[test]
fn the_callback_for_transformers_records_the_steps_of_its_schedule() {
    let test = "the_callback_for_transformers_records_the_steps_of_its_schedule";
    let Some(python) = python_with_packages(test) else { return };
    let sim = Sim::new("12.8");
    let run = script(&sim, &python, "train_transformers.py").timeout(LONG);
    let ended = run.record(&["--capture", "profiler-api"]).run();
    succeeded(&ended);
    // A step has two batches.
    two_windows_of_three_steps(&ended.trace(), 6);
}

#[test]
fn a_measurement_that_cannot_be_made_says_why() {
    for (options, words) in [
        (["--nvtx", "off"], "0 of 7 repetitions are in the trace"),
        (["--capture", "delay:100s"], "measuring needs NVTX and a window"),
        (["--runtime-dir", "off"], "record it without --runtime-dir off"),
    ] {
        let sim = Sim::new("13.0");
        let run = script(&sim, "python3", "benching.py");
        let ended = run.record(&options).run();
        assert_eq!(ended.code(), Some(1), "{options:?}: {}", ended.stdout);
        assert!(ended.stderr.contains(words), "{options:?}: {}", ended.stderr);
    }
}

/// Torch takes its time to come up.
const LONG: Duration = Duration::from_secs(300);

/// The Python with the packages that are too large for every run.
fn python_with_packages(test: &str) -> Option<PathBuf> {
    let python = std::env::var_os("GPUPROF_TEST_PYTHON").map(PathBuf::from);
    if python.is_none() {
        skip(test, "GPUPROF_TEST_PYTHON names no Python with torch, lightning and transformers: see `python/test`");
    }
    python
}

/// Runs each example of that heading as a program under `gpuprof record`, and counts its kernels.
fn kernels_of_examples(python: impl AsRef<Path>, heading: &str) -> Vec<String> {
    let examples = python_door::DOCUMENTS.iter().flat_map(|document| python_door::examples(document, heading));
    let kernels = |text: String| {
        let sim = Sim::new("12.8");
        let example = sim.folder().join("example.py");
        std::fs::write(&example, text).expect("the example");
        let run = script(&sim, python.as_ref(), "run_example.py").arg(&example).timeout(LONG);
        let ended = run.record(&["--capture", "profiler-api"]).run();
        succeeded(&ended);
        column(&ended.trace(), KERNELS).concat()
    };
    examples.map(kernels).collect()
}

#[test]
fn the_examples_about_recording_run() {
    // Two steps; 20 repetitions; in the README a step, and 20 repetitions.
    assert_eq!(kernels_of_examples("python3", "python recorded"), ["6", "60", "63"]);
    for document in python_door::DOCUMENTS {
        for heading in python_door::headings(document) {
            let known = ["python", "python recorded", "python pytest", "python lightning", "python transformers"];
            assert!(known.contains(&heading.as_str()), "{document}: nobody runs the example ```{heading}");
        }
    }
}

#[test]
fn the_example_for_pytest_runs() {
    let test = "the_example_for_pytest_runs";
    let requirements = python_door::test_file("requirements.txt");
    let Some(python) = common::tools::python(test, "python-door", &requirements) else { return };
    let sim = Sim::new("13.0");
    let run = with_package(sim.program(&python), &sim).args(["-m", "pytest", "-p", "no:cacheprovider"]);
    let run = run.args(["-p", "gpuprof.pytest_plugin", "--gpuprof", "test_example.py"]);
    let example = python_door::examples("docs/python.md", "python pytest").concat();
    std::fs::write(run.folder().join("test_example.py"), example).expect("the example");
    let ended = run.run();
    succeeded(&ended);
    assert!(ended.stdout.contains("2 passed") && ended.stdout.contains("GPU time of 2 tests"), "{}", ended.stdout);
}

#[test]
fn the_examples_for_trainers_run() {
    let test = "the_examples_for_trainers_run";
    let Some(python) = python_with_packages(test) else { return };
    assert_eq!(kernels_of_examples(&python, "python lightning"), ["9"]);
    assert_eq!(kernels_of_examples(&python, "python transformers"), ["9"]);
}
