//! `gpuprof record --budget` and what is made of it: estimates for all of the time, by the real collector.

use crate::common::gpuprof_in;
use crate::sim::Sim;

#[test]
fn what_a_budget_allowed_stands_for_all() {
    let sim = Sim::new("13.0");
    let run = sim.player("steady").args(["4000", "5"]).env("SIM_CALL_COST_NS", "20000");
    let ended = run.record(&["-o", "run.gpuprof", "--budget", "3%"]).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let view = ["report", "run.gpuprof", "--view", "cuda_gpu_kern_sum", "--format", "csv"];
    let cells = |args: &[&str]| -> Vec<f64> {
        let answer = gpuprof_in(ended.folder(), &[&view[..], args].concat());
        let row = answer.stdout.lines().find(|line| line.contains("null_kernel")).expect("a row").to_owned();
        assert!(answer.stderr.contains("because of --budget"), "{}", answer.stderr);
        row.split(',').map(|cell| cell.parse().unwrap_or(f64::NAN)).collect()
    };
    let (estimate, raw) = (cells(&[]), cells(&["--raw"]));
    // The player launches as often in each part of its time, so few windows tell as much as all of it.
    let (count, within) = (estimate[2], estimate[9]);
    let truth = ended.totals().launched as f64;
    println!("{count} +/- {within} of {truth}, {} seen", raw[2]);
    assert!((count - truth).abs() < 4.0 * within + 0.05 * truth, "{count} +/- {within} of {truth}");
    assert!(raw[2] < 0.5 * truth, "{} were recorded of {truth}", raw[2]);
    let info = gpuprof_in(ended.folder(), &["info", "run.gpuprof"]).stdout;
    assert!(info.contains("% of the time by its own account (--budget 3%)"), "{info}");
}

#[test]
fn a_budget_is_refused_beside_what_it_cannot_hold_with() {
    for (options, words) in [
        (&["--capture", "profiler-api"][..], "--capture is all, or nvtx:NAME"),
        (&["--capture", "nvtx:step,every:10"], "leave out every:N, or the budget"),
        (&["--max-ranges", "3"], "leave out --max-ranges"),
        (&["--ring", "30s", "--dump-on", "error"], "leave out the rule error"),
    ] {
        let arguments = [&["record", "--budget", "2%"], options, &["--", "true"]].concat();
        let said = crate::common::refused(&arguments, &["--budget 2% ", words]);
        assert!(!said.contains("left out"), "{said}");
    }
}

#[test]
fn of_a_ring_the_latest_windows_stand_for_the_latest_time() {
    let sim = Sim::new("13.0");
    let run = sim.player("steady").args(["4000", "3"]).env("SIM_CALL_COST_NS", "20000");
    let ended = run.record(&["-o", "last.gpuprof", "--ring", "30s", "--budget", "5%"]).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let report = gpuprof_in(ended.folder(), &["report", "last.ring"]);
    assert!(report.stderr.contains(" windows, because of --budget: sums beside which"), "{}", report.stderr);
    assert!(report.stdout.contains("+/-") && report.stdout.contains("null_kernel"), "{}", report.stdout);
}
