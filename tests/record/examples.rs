//! The examples do what their head comments say, on the simulator of `tests/sim` under the library that ships: what they
//! print on their last line is what the trace holds. On hardware `scripts/gpu-check` runs the same programs.

use crate::common;
use crate::sim::{Attach, Ended, Run, Sim};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn example(name: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_BIN_EXE_gpuprof")).parent().expect("a folder");
    let path = programs.join("examples").join(name);
    assert!(path.is_file(), "{}: `cargo test` builds it, `cargo test --test record` does not", path.display());
    path
}

fn python(script: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/python").join(script)
}

/// Runs an example under the collector; it must succeed. What its last line says, and its trace.
fn run(program: Run<'_>, capture: &str) -> (Value, Trace) {
    let ended = program.env("GPUPROF_CAPTURE", capture).inject().run();
    assert_eq!(ended.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    let trace = ended.trace();
    (known(&ended), Trace(trace.to_str().expect("a path").to_owned()))
}

/// What a program says that its trace has to hold.
fn known(ended: &Ended) -> Value {
    let last = ended.stdout.lines().last().expect("a last line");
    serde_json::from_str(last).unwrap_or_else(|e| panic!("{last}: {e}"))
}

struct Trace(String);

impl Trace {
    /// Rows of one table of a report or of `info`.
    fn table(&self, args: &[&str], name: &str) -> Vec<Value> {
        let answer = common::gpuprof(&[args, &["--format", "json", &self.0]].concat());
        let document: Value = serde_json::from_str(&answer.stdout).expect("JSON");
        assert_eq!(document["notes"], serde_json::json!([]), "nothing is partial");
        let tables = document["tables"].as_array().expect("tables");
        tables
            .iter()
            .find(|t| t["name"] == name)
            .map_or(Vec::new(), |t| t["rows"].as_array().expect("rows").clone())
    }

    fn rows(&self, table: &str) -> u64 {
        let tables = self.table(&["info"], "tables");
        tables.iter().find(|row| row["Table"] == table).map_or(0, |row| row["Rows"].as_u64().expect("a number"))
    }

    /// How often each name occurs in a summary.
    fn counts(&self, view: &str, name: &str, count: &str) -> BTreeMap<String, u64> {
        let rows = self.table(&["report", "--view", view], view);
        rows.iter()
            .map(|row| (row[name].as_str().expect("a name").to_owned(), row[count].as_u64().expect("a count")))
            .collect()
    }

    fn kernels(&self) -> BTreeMap<String, u64> {
        self.counts("cuda_gpu_kern_sum", "Name", "Instances")
    }

    fn ranges(&self) -> BTreeMap<String, u64> {
        self.counts("nvtx_sum", "Range", "Instances")
    }

    /// Everything that the program said of itself is so.
    fn agrees_with(&self, known: &Value) {
        for (key, table) in [("kernels", "kernel"), ("copies", "memcpy"), ("fills", "memset"), ("ranges", "range")]
        {
            if let Some(count) = known[key].as_u64() {
                assert_eq!(self.rows(table), count, "{table}");
            }
        }
    }
}

fn names(expected: &[(&str, u64)]) -> BTreeMap<String, u64> {
    expected.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

#[test]
fn vector_add_leaves_one_kernel_and_its_copies() {
    let sim = Sim::new("13.0");
    let (known, trace) = run(sim.program(example("01_vector_add")), "all");
    assert_eq!(known["kernels"], 1);
    trace.agrees_with(&known);
    assert_eq!(trace.kernels(), names(&[("vector_add", 1)]));
    let copies = trace.counts("cuda_gpu_mem_time_sum", "Operation", "Count");
    assert_eq!(copies.len(), 3, "in, out and the fill: {copies:?}");
    assert_eq!(copies.values().sum::<u64>(), 4, "{copies:?}");
}

#[test]
fn vector_add_is_recorded_with_preload_and_with_record_too() {
    let sim = Sim::new("12.8");
    for attach in [Attach::Preload, Attach::Cli(Vec::new())] {
        let ended = sim.program(example("01_vector_add")).attach(attach).run();
        assert_eq!(ended.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
        let trace = Trace(ended.trace().to_str().expect("a path").to_owned());
        trace.agrees_with(&known(&ended));
    }
}

#[test]
fn the_gate_around_one_training_step_keeps_exactly_that_step() {
    for version in ["11.8", "12.4", "13.0"] {
        let sim = Sim::new(version);
        let (known, trace) = run(sim.program(example("02_gated_training_step")), "profiler-api");
        assert_eq!(known["kernels"], 3, "{version}");
        trace.agrees_with(&known);
        assert_eq!(trace.kernels(), names(&[("axpy", 2), ("scale", 1)]), "{version}");
        assert_eq!(trace.rows("capture"), 1, "{version}");
    }
}

#[test]
fn captured_from_the_start_stop_still_ends_it_as_with_nvprof() {
    let sim = Sim::new("13.0");
    let (known, trace) = run(sim.program(example("02_gated_training_step")), "all");
    assert_eq!(known["kernels_total"], 30);
    assert_eq!(trace.rows("kernel"), 21, "seven of ten steps lie before Stop");
}

#[test]
fn every_stream_and_every_node_of_every_replay_is_there() {
    let sim = Sim::new("13.0");
    let (known, trace) = run(sim.program(example("03_streams_and_graphs")), "all");
    assert_eq!(known["kernels"], 62);
    trace.agrees_with(&known);
    assert!(trace.rows("stream") >= 4);
}

#[test]
fn reading_a_trace_with_the_library_names_its_kernels() {
    let sim = Sim::new("13.0");
    let (_, trace) = run(sim.program(example("01_vector_add")), "all");
    let answer = common::answer(Command::new(example("04_read_a_trace")).arg(&trace.0));
    assert_eq!(answer.status, 0, "{}", answer.stderr);
    assert!(answer.stdout.contains("1 calls  vector_add"), "{}", answer.stdout);
}

#[test]
fn nvtx_ranges_marks_and_domains_are_there_by_name() {
    let sim = Sim::new("13.0");
    let (known, trace) = run(sim.program(example("05_nvtx_ranges")), "all");
    assert_eq!(known["ranges"], 14);
    trace.agrees_with(&known);
    let ranges = trace.ranges();
    for (name, count) in [("step", 3), ("load", 3), ("compute", 3), ("the whole run", 1)] {
        let same = |range: &str| range == name || range.ends_with(&format!(":{name}"));
        let found: u64 = ranges.iter().filter(|(range, _)| same(range)).map(|(_, n)| n).sum();
        assert_eq!(found, count, "{name} in {ranges:?}");
    }
    assert_eq!(ranges.get("my library:scale"), Some(&3), "{ranges:?}");
}

#[test]
fn nobody_listening_to_nvtx_costs_the_example_nothing() {
    let sim = Sim::new("13.0");
    let ended = sim.program(example("05_nvtx_ranges")).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("nobody listens"), "{}", ended.stdout);
    assert_eq!(known(&ended)["ranges"], 0);
    assert!(ended.traces().is_empty());
}

#[test]
fn the_python_recipe_with_ctypes_keeps_exactly_one_step() {
    for version in ["12.8", "13.0"] {
        let sim = Sim::new(version);
        let script = sim.program("python3").arg(python("02_gated_training_step.py"));
        let (known, trace) = run(script, "profiler-api");
        assert_eq!(known["kernels"], 3, "{version}");
        trace.agrees_with(&known);
        assert_eq!(trace.kernels(), names(&[("axpy", 3)]), "{version}");
        assert_eq!(trace.rows("capture"), 1, "{version}");
    }
}

#[test]
fn the_nvtx_package_of_python_is_heard() {
    let installed = Command::new("python3").args(["-c", "import nvtx"]).output().is_ok_and(|o| o.status.success());
    if !installed {
        return common::skip("the_nvtx_package_of_python_is_heard", "no nvtx package: pip install nvtx");
    }
    let sim = Sim::new("13.0");
    let (known, trace) = run(sim.program("python3").arg(python("05_nvtx_ranges.py")), "all");
    assert_eq!(known["ranges"], 9);
    trace.agrees_with(&known);
    assert_eq!(trace.ranges().get("my library:fill"), Some(&3));
}

#[test]
fn without_a_driver_the_examples_say_so_and_end_with_77() {
    if Path::new("/proc/driver/nvidia").exists() {
        return common::skip("without_a_driver_the_examples_say_so_and_end_with_77", "there is a driver");
    }
    for name in ["01_vector_add", "02_gated_training_step", "03_streams_and_graphs", "05_nvtx_ranges"] {
        let answer = common::answer(&mut Command::new(example(name)));
        assert_eq!(answer.status, 77, "{name}: {}{}", answer.stdout, answer.stderr);
        assert_eq!(answer.stderr.lines().count(), 1, "{name}: {}", answer.stderr);
        assert!(answer.stderr.contains("no CUDA driver here"), "{name}: {}", answer.stderr);
    }
    let answer = common::answer(Command::new("python3").arg(python("02_gated_training_step.py")));
    assert_eq!(answer.status, 77, "{}{}", answer.stdout, answer.stderr);
}
