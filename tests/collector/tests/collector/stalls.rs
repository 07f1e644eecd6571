//! A CUPTI that takes its time, in whichever function, or never comes back (13.0.48 does): the program ends as it would have,
//! within its bound, and the trace opens.
//!
//! A call that is made on the program's own thread (kinds that go on inside `cuInit`, or in `cudaProfilerStart`) cannot be left
//! behind: such a CUPTI costs what it takes, and one that never comes back there ends nothing. So what hangs for ever is tried where
//! our threads call it: windows by the clock, flushes, clocks, questions.

use std::time::Duration;

use crate::common::sim::{Ended, Run, Sim};
use crate::common::{in_parallel, in_time, laws, said, same_end};

/// How much longer a run may take than its bound, on a busy machine: as in `faults`.
const GRACE: Duration = Duration::from_millis(700);
const DEADLINE_MS: u64 = 300;
/// What a call of the program waits for the gate when CUPTI keeps another thread inside (`gate::PATIENCE_NS`).
const PATIENCE: Duration = Duration::from_secs(2);

/// The program's end and output are its own, its length within `allowed` beyond the bare run, and every trace opens.
fn judge<'s>(bare: &Ended, run: impl Fn() -> Run<'s>, rules: &str, allowed: impl Fn(u32) -> Duration, what: &str) {
    let (stalls, ended) = judged(bare, run, rules, allowed, what);
    assert!(stalls > 0, "{what}: nothing stalled, so nothing was tried\n{}", ended.log);
}

/// As [`judge`], of a run that may have met no stall: how many it met, and its end.
fn judged<'s>(
    bare: &Ended,
    run: impl Fn() -> Run<'s>,
    rules: &str,
    allowed: impl Fn(u32) -> Duration,
    what: &str,
) -> (usize, Ended) {
    let stalls = |ended: &Ended| ended.log.lines().filter(|line| line.contains(" stall ")).count();
    let bound = |ended: &Ended| allowed(stalls(ended) as u32) + Duration::from_millis(DEADLINE_MS) + GRACE;
    let ended = in_time(bare, bound, what, || {
        let run = run().stall(rules).env("GPUPROF_FLUSH_MS", "20").inject();
        run.env("GPUPROF_EXIT_DEADLINE_MS", DEADLINE_MS.to_string())
    });
    same_end(bare, &ended, what);
    assert!(said(&ended).len() <= 2, "{what}: {}", ended.stderr);
    assert_eq!(laws(&ended).len(), 1, "{what}: {}", ended.stderr);
    (stalls(&ended), ended)
}

#[test]
fn whatever_cupti_takes_its_time_in_costs_that_time() {
    let functions = [
        "cuptiActivityEnable",
        "cuptiActivityDisable",
        "cuptiEnableCallback",
        "cuptiActivityEnableRuntimeApi",
        "cuptiGetTimestamp",
        "cuptiActivityFlushAll",
    ];
    let times = [("1", 150), ("3", 150), ("1+", 10)];
    let all = functions.into_iter().flat_map(|function| times.map(|(calls, ms)| (function, calls, ms)));
    in_parallel(all, 2, |(function, calls, ms)| {
        let sim = Sim::new("13.0");
        let run = || sim.player("gate").args(["repeat", "3"]).env("GPUPROF_CAPTURE", "profiler-api");
        let bare = run().run();
        let rules = format!("{function}:{ms}@{calls}");
        let allowed = |stalls| Duration::from_millis(ms) * stalls;
        judge(&bare, run, &rules, allowed, &rules);
    });
}

#[test]
fn what_never_comes_back_on_our_threads_is_left_behind() {
    let rules = [
        "cuptiActivityEnable#10:forever",
        "cuptiActivityEnable#5:forever",
        "cuptiActivityDisable#5:forever",
        "cuptiActivityDisable#10:forever",
        "cuptiActivityEnableRuntimeApi:forever@1",
        "cuptiActivityEnableDriverApi:forever@2",
        // The first four are those of `cuInit`.
        "cuptiEnableCallback:forever@5",
        // The first ten are those of the writer.
        "cuptiGetTimestamp:forever@12+",
        "cuptiActivityFlushAll:forever@1",
        "cuptiActivityFlushAll:forever@3",
    ];
    in_parallel(rules, 2, |rules| {
        let sim = Sim::new("13.0");
        let window = ["launch=50", "sleep=250", "launch=50", "sleep=250", "launch=50"];
        let run = || sim.player("flight").args(window).env("GPUPROF_CAPTURE", "delay:0.1,duration:0.2");
        let bare = run().run();
        judge(&bare, run, rules, |_| Duration::ZERO, rules);
    });
}

#[test]
fn calls_of_the_program_that_meet_a_hanging_cupti_wait_for_it_once() {
    // The flush thread asks whether CUPTI still knows us, and hangs there while the program opens and closes windows. When it
    // asks depends on how busy the machine is, so programs get longer until it has asked.
    for rules in ["cuptiEnableCallback:forever@5", "cuptiActivityDisable#10:forever"] {
        let sim = Sim::new("13.0");
        let has_stalled = ["10", "40", "160"].into_iter().any(|windows| {
            let run = || sim.player("gate").args(["silent", windows]).env("GPUPROF_CAPTURE", "profiler-api");
            let bare = run().run();
            judged(&bare, run, rules, |_| PATIENCE, rules).0 > 0
        });
        assert!(has_stalled, "{rules}: nothing stalled, so nothing was tried");
    }
}
