//! `--budget`: windows open and close so that recording costs what it may, by what CUPTI is made to cost here.

use crate::common::sim::{Ended, Sim};
use crate::common::{Trace, in_parallel, one};
use trace_format::own_cost::OwnCost;
use trace_format::tables::CaptureRow;

/// What the recording took of the time, by what the simulator was told a call and a record cost and by the clocks of our
/// threads; and what the collector says itself.
fn shares(ended: &Ended, trace: &Trace) -> (f64, f64) {
    let own = OwnCost::of_closing(trace.reader.closed_totals().expect("closed")).expect("own cost");
    let threads_ns: u64 = own.cpu_ns.iter().map(|(_, ns)| ns).sum();
    let budget = trace.process()["budget"].clone();
    let time = |key: &str| budget[key].as_i64().unwrap_or_else(|| panic!("no {key} in {budget}"));
    let elapsed_ns = (time("ended_ns") - time("began_ns")) as f64;
    let said: u64 = budget["spent_ns"].as_object().expect("an account").values().filter_map(|ns| ns.as_u64()).sum();
    println!("{budget} {own:?} cost {}", ended.totals().cost_ns);
    ((ended.totals().cost_ns + threads_ns) as f64 / elapsed_ns, said as f64 / elapsed_ns)
}

#[test]
fn recording_takes_what_it_may_of_a_steady_program() {
    in_parallel([("12.8", "10%", 0.10), ("13.0", "4%", 0.04)], 2, |(version, budget, share)| {
        let sim = Sim::new(version);
        // Of each second about 0.4 would go into calls if all of them were recorded.
        let run = sim.player("steady").args(["8000", "8"]).env("GPUPROF_BUDGET", budget);
        let run = run.env("SIM_CALL_COST_NS", "20000").env("SIM_WORK_COST_NS", "1600");
        let ended = run.inject().run();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        let trace = one(&ended);
        let (taken, said) = shares(&ended, &trace);
        let windows: Vec<CaptureRow> = trace.rows();
        println!("{budget}: took {taken:.4}, said {said:.4}, {} windows", windows.len());
        assert!((taken / share - 1.0).abs() < 0.2, "{budget}: {taken}");
    });
}

#[test]
fn windows_of_steps_are_whole_and_say_how_many_they_stand_for() {
    let sim = Sim::new("13.0");
    let steps: &[&str] = &["launch=3", "steps=900,3", "launch=3"];
    let run = sim.player("flight").args(steps).env("GPUPROF_CAPTURE", "nvtx:step").env("GPUPROF_BUDGET", "5%");
    let ended = run.env("SIM_CALL_COST_NS", "50000").inject().run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let trace = one(&ended);
    let windows: Vec<CaptureRow> = trace.rows();
    let (taken, said) = shares(&ended, &trace);
    println!("took {taken:.4}, said {said:.4}, {} windows", windows.len());
    assert_eq!(trace.process()["steps"], 900);
    assert_eq!(trace.kernels().len(), windows.len() * 10, "each is a whole step");
    let stood_for: i64 = windows.iter().map(|window| window.starts).sum();
    assert!(windows.len() > 3 && stood_for <= 900 && stood_for > 600, "{} stand for {stood_for}", windows.len());
    assert!(taken < 0.05 * 1.2 && said < 0.05 * 1.2, "took {taken}, said {said}");
}

#[test]
fn nobody_else_opens_a_window_of_a_budget() {
    let sim = Sim::new("13.0");
    // Its calls of cudaProfilerStart and Stop are no windows, and it is over before there is one.
    let ended = sim.player("gate").args(["step"]).env("GPUPROF_BUDGET", "0.1%").inject().run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let trace = one(&ended);
    assert_eq!((trace.rows::<CaptureRow>().len(), trace.kernels().len()), (0, 0), "{}", ended.stderr);
    assert_eq!(trace.process()["cause"], "gate_never_opened");
    assert_eq!(trace.process()["cause_detail"], "the program ended before the budget allowed to record anything");
}
