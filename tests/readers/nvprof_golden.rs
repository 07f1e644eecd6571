//! What the real nvprof 11.8 printed for these very files, and we print the same bytes, through the real program.

use crate::common;
use std::path::Path;

/// Mode names of the golden files, and the options that ask for them.
const MODES: &[(&str, &[&str])] = &[
    ("summary.txt", &[]),
    ("summary.csv", &["--csv"]),
    ("gpu_summary.txt", &["--print-gpu-summary"]),
    ("api_summary.txt", &["--print-api-summary"]),
    ("gpu_trace.txt", &["--print-gpu-trace"]),
    ("gpu_trace.csv", &["--print-gpu-trace", "--csv"]),
    ("gpu_trace_u_ms.csv", &["--print-gpu-trace", "--csv", "-u", "ms"]),
    ("api_trace.txt", &["--print-api-trace"]),
    ("api_trace.csv", &["--print-api-trace", "--csv"]),
    ("gpu_api_trace.txt", &["--print-gpu-trace", "--print-api-trace"]),
    ("per_gpu.txt", &["--print-summary-per-gpu"]),
    ("openacc.txt", &["--print-openacc-summary"]),
    ("openacc_trace.txt", &["--print-openacc-trace"]),
    ("nodemangle.txt", &["--demangling", "off"]),
    ("summary_u_auto.txt", &["-u", "auto"]),
    ("summary_u_auto.csv", &["-u", "auto", "--csv"]),
    ("summary_u_col.txt", &["-u", "col"]),
    ("summary_u_col.csv", &["-u", "col", "--csv"]),
    ("summary_u_s.txt", &["-u", "s"]),
    ("summary_u_s.csv", &["-u", "s", "--csv"]),
    ("summary_u_ms.txt", &["-u", "ms"]),
    ("summary_u_ms.csv", &["-u", "ms", "--csv"]),
    ("summary_u_us.txt", &["-u", "us"]),
    ("summary_u_us.csv", &["-u", "us", "--csv"]),
    ("summary_u_ns.txt", &["-u", "ns"]),
    ("summary_u_ns.csv", &["-u", "ns", "--csv"]),
    ("all.txt", &["--print-gpu-summary", "--print-api-summary", "--print-gpu-trace"]),
];

/// Files whose rows of equal total come in an order that nobody could derive (`docs/nvprof-compat.md`): compared as
/// sets of lines. Everything else is compared byte for byte.
const ROWS_AS_SETS: &[&str] = &["nbody_openacc_k20m_v12_xml"];

#[test]
fn every_golden_file_of_the_real_nvprof_is_reproduced() {
    let Some(shared) = common::shared("every_golden_file_of_the_real_nvprof_is_reproduced") else { return };
    let golden = shared.join("data/golden/nvprof-11.8");
    let mut seen = 0;
    for entry in golden.read_dir().expect("the golden folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let (stem, mode) = name.split_once('.').expect("stem and mode");
        let options = MODES.iter().find(|(m, _)| *m == mode);
        let options = options.unwrap_or_else(|| panic!("no options known for mode {mode}")).1;
        check(&shared, stem, options, &path);
        seen += 1;
    }
    assert_eq!(seen, 3 * MODES.len(), "golden files missing");
}

fn check(shared: &Path, stem: &str, options: &[&str], golden: &Path) {
    let trace = shared.join("data/nvprof").join(format!("{stem}.nvvp"));
    let trace = trace.to_str().expect("a path");
    let mut args = vec!["report"];
    // What asks for nvprof's text has no insights below it.
    match options.contains(&"--demangling") {
        true => args.push("--no-insights"),
        false => args.extend(["--demangling", "nvprof"]),
    }
    args.extend(options);
    args.push(trace);
    let answer = common::gpuprof_in(Path::new("."), &args);
    let expected = std::fs::read_to_string(golden).expect("the golden file");
    // What nvprof refuses is an error, and errors go to stderr.
    let refused = expected.starts_with("======== Error");
    // "No OpenACC activities were profiled." is an answer of status 1: there was nothing to show.
    assert!(answer.status == if refused { 2 } else { answer.status.min(1) }, "{args:?}: {}", answer.stderr);
    let actual = if refused { &answer.stderr } else { &answer.stdout };
    if *actual == expected {
        return;
    }
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let as_sets = ROWS_AS_SETS.contains(&stem) && sorted(actual) == sorted(&expected);
    assert!(as_sets, "{} differs from what gpuprof {} prints:\n{actual}", golden.display(), args.join(" "));
}

#[test]
fn nvprofs_own_demangling_agrees_on_the_vectors() {
    use gpuprof::demangle::{Demangling, demangle};
    let Some(shared) = common::shared("nvprofs_own_demangling_agrees_on_the_vectors") else { return };
    let vectors =
        std::fs::read_to_string(shared.join("reference/vectors/demangle-nvprof.tsv")).expect("the vectors");
    let rows: Vec<(&str, &str)> = vectors.lines().skip(1).filter_map(|line| line.split_once('\t')).collect();
    let exact = rows.iter().filter(|(mangled, nvprof)| demangle(mangled.as_bytes(), Demangling::Nvprof) == *nvprof);
    let exact = exact.count();
    eprintln!("demangle-nvprof.tsv: {exact} of {} names exact", rows.len());
    assert_eq!(rows.len(), 1904);
    // The published figure (docs/nvprof-compat.md).
    assert_eq!(exact, 1904);
}
