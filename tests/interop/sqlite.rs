//! Other people's programs read what `export --format sqlite` and `--format nvprof` write, and find in it what they find
//! in the original, or what gpuprof prints about it: nvprof 11.8, nsys 2022.4, nsys-ai, nsys-tui, nsys2prv, pandas.

use crate::common::build::{EPOCH, NsysEra, Story, native, nsys};
use crate::common::everything::everything;
use crate::common::tools::{nvidia, python, with_nvidia};
use crate::common::{TempFolder, answer, command, gpuprof, shared};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn export(format: &str, from: &str, to: &Path) -> String {
    let to = to.to_str().unwrap().to_owned();
    gpuprof(&["export", "--quiet", "--format", format, from, "-o", &to]);
    to
}

/// Rows of equal total come in an order that nobody can derive, so lines are compared as sets.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

fn assert_same_lines(what: &str, expected: &str, actual: &str) {
    let (expected, actual) = (sorted(expected), sorted(actual));
    let differs = expected.iter().zip(&actual).find(|(a, b)| a != b);
    assert!(
        expected == actual,
        "{what}: {} lines instead of {}, the first that differs: {differs:?}",
        actual.len(),
        expected.len()
    );
}

// --------------------------------------------------------------------------------------------------------- nvprof

/// Options of nvprof and gpuprof alike, and the golden files for them.
const MODES: &[(&str, &str)] = &[
    ("", "summary.txt"),
    ("--csv", "summary.csv"),
    ("--print-gpu-trace", "gpu_trace.txt"),
    ("--print-gpu-trace --csv", "gpu_trace.csv"),
    ("--print-api-trace", "api_trace.txt"),
    ("--print-api-trace --csv", "api_trace.csv"),
    ("--print-summary-per-gpu", "per_gpu.txt"),
    ("--print-openacc-summary", "openacc.txt"),
    ("--print-openacc-trace", "openacc_trace.txt"),
];

#[test]
fn the_real_nvprof_prints_of_our_export_what_it_printed_of_the_original() {
    let test = "the_real_nvprof_prints_of_our_export_what_it_printed_of_the_original";
    let (Some(shared), Some(tools)) = (shared(test), nvidia(test)) else { return };
    let folder = TempFolder::new("interop-nvprof");
    let mut compared = 0;
    for stem in ["tf_mnist_titanx_v8", "nccl_demo_v100x4_v16", "nbody_openacc_k20m_v12_xml"] {
        let original = shared.join(format!("data/nvprof/{stem}.nvvp"));
        let out = export("nvprof", original.to_str().unwrap(), &folder.path().join(format!("{stem}.nvvp")));
        for (options, mode) in MODES {
            let golden = shared.join(format!("data/golden/nvprof-11.8/{stem}.{mode}"));
            let golden = std::fs::read_to_string(golden).expect("a golden file");
            let printed = with_nvidia(&tools, &format!("nvprof {options} -i \"$1\""), &[&out]);
            assert_same_lines(&format!("{stem} {options}"), &golden, &printed);
            compared += 1;
        }
    }
    assert_eq!(compared, 27);
}

#[test]
fn the_real_nvprof_prints_what_we_print_of_traces_that_were_never_its_own() {
    let test = "the_real_nvprof_prints_what_we_print_of_traces_that_were_never_its_own";
    let Some(tools) = nvidia(test) else { return };
    let folder = TempFolder::new("interop-foreign");
    let mut traces = vec![
        folder.argument("native.gpuprof", &native(&Story::sample(60))),
        folder.argument("nsys.sqlite", &nsys(&Story::sample(60), NsysEra::Of2026)),
    ];
    if let Some(shared) = shared(test) {
        let file = |name: &str| shared.join("data").join(name).to_str().unwrap().to_owned();
        // Not those that call what CUDA 11.8 had not, for which nvprof 11.8 has no names, and not PyTorch's, whose names
        // are longer than the 4,096 bytes that it prints.
        traces.push(file("nsys/cloverleaf_a100_2024.5_s3.13.sqlite"));
    }
    for trace in &traces {
        let name = Path::new(trace).file_name().unwrap().to_str().unwrap();
        let out = export("nvprof", trace, &folder.path().join(format!("{name}.nvvp")));
        // Shared memory that nobody recorded is 0 to nvprof.
        for options in ["--print-gpu-summary", "--print-gpu-trace --csv", "--print-api-trace --csv"] {
            if name == "native.gpuprof" && options == "--print-gpu-trace --csv" {
                continue;
            }
            // So is the correlation of a call that has none, as only traces made by a test have.
            if name != "cloverleaf_a100_2024.5_s3.13.sqlite" && options == "--print-api-trace --csv" {
                continue;
            }
            let mut ours = vec!["report", "--demangling", "nvprof"];
            ours.extend(options.split(' '));
            ours.push(&out);
            let ours = gpuprof(&ours).stdout;
            let theirs = with_nvidia(&tools, &format!("nvprof {options} -i \"$1\""), &[&out]);
            assert_same_lines(&format!("{name} {options}"), &ours, &theirs);
        }
    }
}

#[test]
fn the_real_nvprof_sums_up_the_same_system_samples() {
    let Some(tools) = nvidia("the_real_nvprof_sums_up_the_same_system_samples") else { return };
    let folder = TempFolder::new("interop-system");
    let trace = folder.argument("a.gpuprof", &everything(4242, Some(EPOCH), 10_000_000));
    let out = export("nvprof", &trace, &folder.path().join("a.nvvp"));
    let section = |text: &str| {
        let at = text.find("System profiling result").unwrap_or_else(|| panic!("{text}"));
        let end = text.find("======== Unified Memory").unwrap_or_else(|| panic!("{text}"));
        text[at..end].to_owned()
    };
    let theirs = section(&with_nvidia(&tools, "nvprof -i \"$1\"", &[&out]));
    let ours = section(&answer(&mut command(&["nvprof", "-i", &out])).stderr);
    assert_eq!(ours, theirs);
    assert!(theirs.contains("Power (mW)         5"), "{theirs}");
}

#[test]
fn hostile_names_are_nothing_to_the_real_nvprof() {
    let Some(tools) = nvidia("hostile_names_are_nothing_to_the_real_nvprof") else { return };
    let folder = TempFolder::new("interop-hostile");
    let trace = folder.argument("a.gpuprof", &everything(4242, Some(EPOCH), 10_000_000));
    let out = export("nvprof", &trace, &folder.path().join("a.nvvp"));
    let printed = with_nvidia(&tools, "nvprof --print-gpu-summary -i \"$1\"; echo status $?", &[&out]);
    assert!(printed.contains("<script>alert(1)</script>") && printed.contains("Grüße"), "{printed}");
    assert!(printed.trim_end().ends_with("status 0"), "{printed}");
}

// ----------------------------------------------------------------------------------------------------------- nsys

/// The six databases of the collection that nsys wrote.
fn databases(shared: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(shared.join("data/nsys")).expect("a folder").flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "sqlite")).collect();
    found.sort();
    assert_eq!(found.len(), 6, "{found:?}");
    found
}

/// Reports of nsys 2022.4 that are about the GPU.
const STATS: [&str; 5] = ["gpukernsum", "cudaapisum", "gpumemtimesum", "gpumemsizesum", "gputrace"];

#[test]
fn the_real_nsys_stats_prints_of_our_export_what_it_prints_of_the_original() {
    let test = "the_real_nsys_stats_prints_of_our_export_what_it_prints_of_the_original";
    let (Some(shared), Some(tools)) = (shared(test), nvidia(test)) else { return };
    let folder = TempFolder::new("interop-nsys");
    for original in databases(&shared) {
        let name = original.file_stem().unwrap().to_str().unwrap();
        let out = export("sqlite", original.to_str().unwrap(), &folder.path().join(format!("{name}.sqlite")));
        // Beside a database nsys looks for the report that it came from, so the original is copied.
        let copy = folder.path().join(format!("original-{name}.sqlite"));
        std::fs::copy(&original, &copy).unwrap();
        for report in STATS {
            // Class 67 repeats calls for their call stacks, and nsys 2022.4 counts them twice.
            if name.starts_with("saxpy") && report == "cudaapisum" {
                continue;
            }
            let print = |of: &str| {
                let command = "nsys stats --quiet --force-export=false --format csv --output - --report";
                with_nvidia(&tools, &format!("{command} {report} \"$1\""), &[of])
            };
            let [theirs, ours] = [copy.to_str().unwrap(), &out].map(print);
            let rows = |text: &str| -> String {
                text.lines().filter(|line| line.contains(',')).map(|line| format!("{line}\n")).collect()
            };
            assert_same_lines(&format!("{name} {report}"), &rows(&theirs), &rows(&ours));
        }
    }
}

#[test]
fn the_real_nsys_stats_finds_the_time_of_kernels_that_nvprof_recorded() {
    let test = "the_real_nsys_stats_finds_the_time_of_kernels_that_nvprof_recorded";
    let (Some(shared), Some(tools)) = (shared(test), nvidia(test)) else { return };
    let folder = TempFolder::new("interop-nsys-nvprof");
    let original = shared.join("data/nvprof/nccl_demo_v100x4_v16.nvvp");
    let truth = std::fs::read(format!("{}.truth.json", original.display())).expect("the truth");
    let truth: Value = serde_json::from_slice(&truth).expect("JSON");
    let kernels = truth["kernels"].as_array().expect("kernels");
    let expected: i64 = kernels.iter().map(|kernel| kernel["total_ns"].as_i64().unwrap()).sum();
    let out = export("sqlite", original.to_str().unwrap(), &folder.path().join("a.sqlite"));
    let command = "nsys stats --quiet --format csv --output - --report gpukernsum \"$1\"";
    let printed = with_nvidia(&tools, command, &[&out]);
    let totals = printed.lines().filter_map(|line| line.split(',').nth(1)?.parse::<i64>().ok());
    assert_eq!(totals.sum::<i64>(), expected, "{printed}");
}

// --------------------------------------------------------------------------------------------------------- Python

struct Tools {
    python: PathBuf,
    script: PathBuf,
}

impl Tools {
    fn new(test: &str) -> Option<Tools> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop");
        let python = python(test, "sqlite", &folder.join("sqlite-requirements.txt"))?;
        Some(Tools { python, script: folder.join("sqlite.py") })
    }

    fn run(&self, tool: &str, file: &str) -> Value {
        let mut command = Command::new(&self.python);
        command.arg(&self.script).args([tool, file]);
        if tool == "nsys2prv" {
            command.arg(env!("CARGO_BIN_EXE_gpuprof"));
        }
        let output = command.output().expect("python");
        assert!(output.status.success(), "{tool} {file}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{tool} {file}: {e}"))
    }
}

#[test]
fn tools_for_nsys_find_in_our_export_what_they_find_in_the_original() {
    let test = "tools_for_nsys_find_in_our_export_what_they_find_in_the_original";
    let (Some(shared), Some(tools)) = (shared(test), Tools::new(test)) else { return };
    let folder = TempFolder::new("interop-python");
    for original in databases(&shared) {
        let name = original.file_stem().unwrap().to_str().unwrap();
        // nsys of 2020 had other columns, which these tools do not read; class 67 rows are calls to them.
        if name.starts_with("build_probe") || name.starts_with("saxpy") {
            continue;
        }
        let out = export("sqlite", original.to_str().unwrap(), &folder.path().join(format!("{name}.sqlite")));
        let copy = folder.path().join(format!("original-{name}.sqlite"));
        std::fs::copy(&original, &copy).unwrap();
        for tool in ["nsys-ai", "nsys-tui", "pandas"] {
            let [theirs, ours] = [copy.to_str().unwrap(), &out].map(|file| tools.run(tool, file));
            match (&theirs, &ours) {
                (Value::Object(theirs), Value::Object(ours)) => {
                    for (what, theirs) in theirs {
                        assert_eq!(Some(theirs), ours.get(what), "{name} {tool} {what}");
                    }
                }
                _ => assert_eq!(theirs, ours, "{name} {tool}"),
            }
        }
    }
}

#[test]
fn nsys2prv_makes_the_same_paraver_trace_of_our_export() {
    let test = "nsys2prv_makes_the_same_paraver_trace_of_our_export";
    let (Some(shared), Some(tools)) = (shared(test), Tools::new(test)) else { return };
    let folder = TempFolder::new("interop-paraver");
    let original = shared.join("data/nsys/cloverleaf_a100_2024.5_s3.13.sqlite");
    let out = export("sqlite", original.to_str().unwrap(), &folder.path().join("a.sqlite"));
    let [theirs, ours] = [original.to_str().unwrap(), &out].map(|file| tools.run("nsys2prv", file));
    assert_eq!(theirs, ours);
    // 1,312 kernels with a begin and an end each.
    assert_eq!(ours["2 63000006"], 2624, "{ours}");
    // A trace of nvprof's, of four GPUs. Its kernels are all NCCL's, which the tool keeps apart.
    let original = shared.join("data/nvprof/nccl_demo_v100x4_v16.nvvp");
    let out = export("sqlite", original.to_str().unwrap(), &folder.path().join("b.sqlite"));
    let ours = tools.run("nsys2prv", &out);
    assert_eq!(ours["2 63000007"], 48, "{ours}");
}

#[test]
fn python_reads_every_name_however_hostile() {
    let Some(tools) = Tools::new("python_reads_every_name_however_hostile") else { return };
    let folder = TempFolder::new("interop-hostile-python");
    let trace = folder.argument("a.gpuprof", &everything(4242, Some(EPOCH), 10_000_000));
    let out = export("sqlite", &trace, &folder.path().join("a.sqlite"));
    let raw = tools.run("raw", &out);
    assert_eq!(raw["KERNEL"][0], 40, "{raw}");
    assert!(raw["texts"].as_i64() > Some(20), "{raw}");
    let found = tools.run("nsys-ai", &out);
    assert!(found["info"].as_str().is_some_and(|info| info.contains("Kernels: 40")), "{found}");
    // Not nsys2prv: it tells copies from kernels by their names, and one of these kernels is called like a copy.
}
