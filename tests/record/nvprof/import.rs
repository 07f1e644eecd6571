//! `-i`: what the real nvprof 11.8 printed for these very files.

use crate::common::{self, answer, shared};
use std::path::Path;
use std::process::Command;

/// Names of the golden files, and nvprof's options that made them.
const MODES: &[(&str, &str)] = &[
    ("summary.txt", ""),
    ("summary.csv", "--csv"),
    ("gpu_summary.txt", "--print-gpu-summary"),
    ("api_summary.txt", "--print-api-summary"),
    ("gpu_trace.txt", "--print-gpu-trace"),
    ("gpu_trace.csv", "--print-gpu-trace --csv"),
    ("gpu_trace_u_ms.csv", "--print-gpu-trace --csv -u ms"),
    ("api_trace.txt", "--print-api-trace"),
    ("api_trace.csv", "--print-api-trace --csv"),
    ("gpu_api_trace.txt", "--print-gpu-trace --print-api-trace"),
    ("per_gpu.txt", "--print-summary-per-gpu"),
    ("openacc.txt", "--print-openacc-summary"),
    ("openacc_trace.txt", "--print-openacc-trace"),
    ("nodemangle.txt", "--demangling off"),
    ("summary_u_auto.txt", "-u auto"),
    ("summary_u_auto.csv", "-u auto --csv"),
    ("summary_u_col.txt", "-u col"),
    ("summary_u_col.csv", "-u col --csv"),
    ("summary_u_s.txt", "-u s"),
    ("summary_u_s.csv", "-u s --csv"),
    ("summary_u_ms.txt", "--normalized-time-unit ms"),
    ("summary_u_ms.csv", "-u ms --csv"),
    ("summary_u_us.txt", "-u us"),
    ("summary_u_us.csv", "-u us --csv"),
    ("summary_u_ns.txt", "-u ns"),
    ("summary_u_ns.csv", "-u ns --csv"),
    ("all.txt", "--print-gpu-summary --print-api-summary --print-gpu-trace"),
];

/// Rows of equal total come in an order that nobody could derive: `docs/nvprof-compat.md`.
const ROWS_AS_SETS: &str = "nbody_openacc_k20m_v12_xml";

#[test]
fn every_golden_file_is_reproduced_with_nvprofs_own_options() {
    let Some(shared) = shared("every_golden_file_is_reproduced_with_nvprofs_own_options") else { return };
    let mut seen = 0;
    for entry in shared.join("data/golden/nvprof-11.8").read_dir().expect("the golden folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let (stem, mode) = name.split_once('.').expect("stem and mode");
        let options = MODES.iter().find(|(m, _)| *m == mode).unwrap_or_else(|| panic!("no options for {mode}")).1;
        check(&shared, stem, options, &path);
        seen += 1;
    }
    assert_eq!(seen, 3 * MODES.len(), "golden files missing");
}

fn check(shared: &Path, stem: &str, options: &str, golden: &Path) {
    let trace = shared.join("data/nvprof").join(format!("{stem}.nvvp"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpuprof"));
    command.args(["nvprof", "-i"]).arg(trace).args(options.split(' ').filter(|word| !word.is_empty()));
    let answer = answer(&mut command);
    let expected = std::fs::read_to_string(golden).expect("the golden file");
    assert_eq!(answer.stdout, "", "{options}: everything is on the standard error");
    assert_eq!(
        answer.status,
        if expected.starts_with("======== Error") { 2 } else { 0 },
        "{options}: {}",
        answer.stderr
    );
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let same = answer.stderr == expected || (stem == ROWS_AS_SETS && sorted(&answer.stderr) == sorted(&expected));
    assert!(same, "{} differs from what nvprof {options} -i prints:\n{}", golden.display(), answer.stderr);
}

#[test]
fn any_trace_can_be_imported_and_what_is_none_is_an_error() {
    let folder = common::TempFolder::new("nvprof-import");
    let trace = folder.argument("a.gpuprof", &common::build::native(&common::build::Story::sample(20)));
    let run = |words: &[&str]| answer(Command::new(env!("CARGO_BIN_EXE_gpuprof")).arg("nvprof").args(words));
    let printed = run(&["-i", &trace]);
    assert_eq!(printed.status, 0, "{}", printed.stderr);
    assert!(printed.stderr.contains("======== Profiling result:\n"), "{}", printed.stderr);
    let quiet = run(&["-i", &trace, "--quiet"]);
    assert_eq!((quiet.status, quiet.stderr.as_str()), (0, ""));
    let log = folder.path().join("out.log");
    let logged = run(&["--log-file", log.to_str().unwrap(), "-i", &trace]);
    assert_eq!((logged.status, logged.stderr.as_str()), (0, ""));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), printed.stderr);
    let stdout = run(&["--log-file", "%1", "-i", &trace]);
    assert_eq!((stdout.stdout.as_str(), stdout.stderr.as_str()), (printed.stderr.as_str(), ""));
    for (words, what) in [
        (vec!["-i", "/no/such/file"], "/no/such/file"),
        (vec!["-i", "/etc/passwd"], "/etc/passwd"),
        (
            vec!["-i", trace.as_str(), "app"],
            "======== Error: Cannot run an application and import a profile at the same time.",
        ),
        (vec!["-i", trace.as_str(), "-o", "x"], "======== Error: Can't export profile while importing a profile."),
    ] {
        let answer = run(&words);
        assert_eq!(answer.status, 2, "{words:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(what), "{words:?}: {}", answer.stderr);
    }
}

#[test]
fn samples_of_the_devices_are_summed_below_the_table() {
    use common::build::{Native, NativeWriter, Story};
    use trace_format::tables::SampleRow;
    let folder = common::TempFolder::new("nvprof-samples");
    let story = Story::sample(3);
    let mut file = Vec::new();
    let mut writer = NativeWriter::begin(&mut file, &story, Native::default());
    writer.kernels(&story.kernels);
    writer.rest(&story);
    let metrics: [(&[u8], f64); 4] =
        [(b"power_mw", 52_123.0), (b"sm_clock_mhz", 1300.0), (b"gpu_temperature_celsius", 40.0), (b"else", 1.0)];
    let mut rows = Vec::new();
    for i in 0..5i64 {
        for (name, value) in metrics {
            let metric_id = writer.string(name);
            rows.push(SampleRow {
                of_pid: None,
                start_ns: i * 1_000,
                metric_id,
                device: Some(0),
                value: value + i as f64,
            });
        }
    }
    writer.define();
    writer.rows(rows);
    writer.close();
    drop(writer);
    let trace = folder.argument("a.gpuprof", &file);
    let printed = answer(Command::new(env!("CARGO_BIN_EXE_gpuprof")).args(["nvprof", "-i", &trace]));
    assert_eq!(printed.status, 0, "{}", printed.stderr);
    let section = printed.stderr.split("\n\n======== System profiling result:\n").nth(1).expect("the section");
    let rows: Vec<&str> = section.lines().collect();
    assert!(rows[0].starts_with("Device \"") && rows[0].ends_with(" (0)\""), "{section}");
    assert_eq!(
        rows[1..],
        [
            "                         Count         Avg         Min         Max",
            "      SM Clock (MHz)         5     1302.00     1300.00     1304.00",
            "     Temperature (C)         5       42.00       40.00       44.00",
            "          Power (mW)         5    52125.00    52123.00    52127.00",
        ]
    );
}
