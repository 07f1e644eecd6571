//! What others make of our exports for timelines: Python's own JSON reader, the descriptors that Perfetto publishes,
//! and HolisticTraceAnalysis. The scripts are in `tests/interop`; versions are pinned in
//! `tests/interop/chrome-requirements.txt` and installed once into a folder of the user's cache.

use crate::common::build::*;
use crate::common::{TempFolder, gpuprof, shared, skip};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const REQUIREMENTS: &str = include_str!("chrome-requirements.txt");

/// Python with the pinned packages; the reason if there is none.
fn python() -> Result<&'static Path, &'static str> {
    static PYTHON: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PYTHON.get_or_init(install).as_deref().map_err(String::as_str)
}

fn install() -> Result<PathBuf, String> {
    let hash = REQUIREMENTS
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    let home = std::env::var_os("HOME").ok_or("no HOME")?;
    let folder = Path::new(&home).join(format!(".cache/gpuprof/venv-chrome-{hash:016x}"));
    let python = folder.join("bin/python");
    let ready = folder.join("READY");
    if ready.is_file() {
        return Ok(python);
    }
    let run = |command: &mut Command| match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or("it failed").to_owned()),
        Err(error) => Err(error.to_string()),
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder)).map_err(|e| format!("python3 -m venv: {e}"))?;
    let list = script("chrome-requirements.txt");
    run(Command::new(&python).args(["-m", "pip", "install", "-q", "--no-deps", "-r"]).arg(list))
        .map_err(|e| format!("pip install: {e}"))?;
    std::fs::write(&ready, "").map_err(|e| e.to_string())?;
    Ok(python)
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop").join(name)
}

/// Runs a script; its last line.
fn check(python: &Path, name: &str, arguments: &[&str]) -> String {
    let output = Command::new(python).arg(script(name)).args(arguments).output().expect("Python");
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{name} {arguments:?}: {text}\n{errors}");
    text.lines().last().unwrap_or_default().to_owned()
}

/// Slices by category: their number and the sum of what was recorded, and of what is drawn.
type Slices = BTreeMap<&'static str, (u64, i64, i64)>;

/// The slices that a trace has, from its rows.
fn slices(rows: &str) -> Slices {
    let mut slices = Slices::new();
    for line in rows.lines() {
        let row: Value = serde_json::from_str(line).expect("a row");
        let number = |name: &str| row[name].as_i64();
        let category = match row["table"].as_str().expect("a table") {
            "kernel" => "kernel",
            "memcpy" => "gpu_memcpy",
            "memset" => "gpu_memset",
            "api" if number("domain") == Some(1) => "cuda_driver",
            "api" => "cuda_runtime",
            "sync" => "cuda_sync",
            "overhead" => "overhead",
            "graph" => "cuda_graph",
            "uvm" => "unified_memory",
            "openacc" => "openacc",
            "openmp" => "openmp",
            "range" => match number("style") {
                Some(2) => continue,
                Some(3) => "cpu_op",
                Some(5) => "python_function",
                _ => "user_annotation",
            },
            _ => continue,
        };
        let duration = match (number("start_ns"), number("end_ns")) {
            (Some(start), Some(end)) if row["table"] == "range" => Some(end - start),
            _ => number("duration_ns"),
        };
        if let Some(duration) = duration {
            let sums = slices.entry(category).or_default();
            *sums = (sums.0 + 1, sums.1 + duration, sums.2 + duration.max(1));
        }
    }
    slices
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path")
}

/// Exports a trace in both formats, with everything that can be asked for, and has them checked. Returns what was found in
/// Perfetto's, where that could be read.
fn check_both(python: Option<&Path>, trace: &Path, folder: &TempFolder) -> Option<Value> {
    let rows = gpuprof(&["export", "-q", "-F", "jsonl", text(trace), "-o", "-"]).stdout;
    let slices = slices(&rows);
    let expected = |drawn: bool| {
        let of = |&(count, recorded, drawn_ns): &(u64, i64, i64)| {
            json!([count, if drawn { drawn_ns } else { recorded }])
        };
        slices.iter().map(|(category, sums)| ((*category).to_owned(), of(sums))).collect::<serde_json::Map<_, _>>()
    };
    let json_file = folder.path().join("export.json.gz");
    let options = ["--option", "flows=yes"];
    gpuprof(&[&["export", "-q", "-F", "chrome", text(trace), "-o", text(&json_file)], &options[..]].concat());
    let arguments = [text(&json_file), &Value::Object(expected(false)).to_string()];
    check(Path::new("python3"), "chrome.py", &arguments);
    let python = python?;
    let packets = folder.path().join("export.perfetto-trace");
    let options = ["--option", "gpu-stages=yes"];
    gpuprof(&[&["export", "-q", text(trace), "-o", text(&packets)], &options[..]].concat());
    let found = check(python, "perfetto_trace.py", &[text(&packets), &Value::Object(expected(true)).to_string()]);
    let found: Value = serde_json::from_str(&found).expect("what was found");
    let work: u64 = ["kernel", "gpu_memcpy", "gpu_memset"].iter().filter_map(|c| slices.get(c)).map(|s| s.0).sum();
    assert_eq!(found["stages"], work, "{}", trace.display());
    Some(found)
}

fn has_python(test: &str) -> bool {
    let found = Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        skip(test, "no python3");
    }
    found
}

#[test]
fn timelines_hold_every_slice_nested_with_both_ends_of_every_arrow() {
    const TEST: &str = "chrome::timelines_hold_every_slice";
    if !has_python(TEST) {
        return;
    }
    let python = python().map_err(|reason| skip(TEST, &format!("Perfetto's descriptors: {reason}"))).ok();
    let folder = TempFolder::new("interop-chrome");
    let hostile: [&[u8]; 5] = [b"</script>", b"\"\\\n\0\x1b", b"\xff\xed\xa0\xbd", b"=cmd()", &[b'y'; 65_536]];
    let mut story = Story::sample(400).with_ranges();
    for (i, name) in hostile.iter().enumerate() {
        // Two of them at once, and one of no length.
        story = story.with_kernel(Name::plain(name), 1_000 * (i as i64 / 2 + 1), if i == 4 { 0 } else { 1_500 });
    }
    let trace = folder.file("story.gpuprof", &native(&story));
    check_both(python, &trace, &folder);
    let waiting = folder.file("waiting.gpuprof", &waiting_streams());
    if let Some(found) = check_both(python, &waiting, &folder) {
        assert_eq!(found["waits"], json!(WAITS));
    }
    if let Some(python) = python {
        let (samples, seen) = seen();
        let launcher = folder.argument("launcher.gpuprof", &launcher(&samples));
        let packets = folder.path().join("functions.perfetto-trace");
        gpuprof(&["export", "-q", text(&trace), &launcher, "-o", text(&packets)]);
        let total: i64 = seen.iter().map(|function| function.duration).sum();
        let expected = json!({"cpu_stack": [seen.len(), total]}).to_string();
        check(python, "perfetto_trace.py", &[text(&packets), &expected]);
    }
    let Some(shared) = shared(TEST) else { return };
    for file in [
        "nsys/fsdp_h100x2_nvtx_2026.2_s3.25.sqlite",
        "nsys/saxpy_mpi_a100_2022.2_s2.9.sqlite",
        "nvprof/nbody_openacc_k20m_v12_xml.nvvp",
        "nvprof/nccl_demo_v100x4_v16.nvvp",
        "torch/moe_b200_eager_2026.json.gz",
        "torch/vllm_decode_graph_mi300.json.gz",
    ] {
        check_both(python, &shared.join("data").join(file), &folder);
    }
}

#[test]
fn holistic_trace_analysis_says_the_same_of_an_export_as_of_the_original() {
    const TEST: &str = "chrome::holistic_trace_analysis";
    let Some(shared) = shared(TEST) else { return };
    let python = match python() {
        Ok(python) => python,
        Err(reason) => return skip(TEST, reason),
    };
    let folder = TempFolder::new("interop-hta");
    for file in ["moe_b200_eager_2026", "alexnet_a100_sync_2023", "bert_small_h100_stack_2025", "nccl_2rank_2024"] {
        let original = shared.join(format!("data/torch/{file}.json.gz"));
        let export = folder.path().join(format!("{file}.json"));
        gpuprof(&["export", "-q", "-F", "chrome", "--demangling", "off", text(&original), "-o", text(&export)]);
        check(python, "hta_compare.py", &["same", text(&original), text(&export)]);
    }
    let original = shared.join("data/nsys/cloverleaf_a100_2024.5_s3.13.sqlite");
    let export = folder.path().join("cloverleaf.json");
    gpuprof(&["export", "-q", "-F", "chrome", text(&original), "-o", text(&export)]);
    let rows = gpuprof(&["export", "-q", "-F", "jsonl", text(&original), "-o", "-"]).stdout;
    let (span, busy) = span_and_busy(&rows);
    check(python, "hta_compare.py", &["ours", text(&export), &span.to_string(), &busy.to_string()]);
}

/// Its times of communication hang on what annotations on streams say, its operators on their ids and shapes, its view of
/// memory on the marks of the allocator.
#[test]
fn tensorboards_plugin_says_the_same_of_an_export_as_of_the_original() {
    const TEST: &str = "chrome::tensorboards_plugin";
    let Some(shared) = shared(TEST) else { return };
    let python = match python() {
        Ok(python) => python,
        Err(reason) => return skip(TEST, reason),
    };
    let folder = TempFolder::new("interop-tensorboard");
    for file in ["nccl_2rank_2024", "ddp_sampled_rank0", "bert_small_h100_stack_2025", "mi250_rocm62"] {
        let original = shared.join(format!("data/torch/{file}.json.gz"));
        let export = folder.path().join(format!("{file}.json"));
        gpuprof(&["export", "-q", "-F", "chrome", "--demangling", "off", text(&original), "-o", text(&export)]);
        check(python, "torch_tb.py", &[text(&original), text(&export)]);
    }
}

/// From the first start to the last end of what HTA takes for work of a GPU, and how long there was some.
fn span_and_busy(rows: &str) -> (i64, i64) {
    let mut work: Vec<(i64, i64)> = Vec::new();
    for line in rows.lines() {
        let row: Value = serde_json::from_str(line).expect("a row");
        let table = row["table"].as_str().expect("a table");
        let is_work =
            matches!(table, "kernel" | "memcpy" | "memset") || (table == "sync" && !row["stream"].is_null());
        if let (true, Some(start), Some(duration)) =
            (is_work, row["start_ns"].as_i64(), row["duration_ns"].as_i64())
        {
            work.push((start, start + duration));
        }
    }
    work.sort_unstable();
    let first = work[0].0;
    let (mut end, mut busy) = (first, 0);
    for (from, to) in work {
        busy += (to - from.max(end)).max(0);
        end = end.max(to);
    }
    (end - first, busy)
}
