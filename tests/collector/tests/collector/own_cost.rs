//! What our own threads take is in the trace: CPU time by their clocks, and over which time.

use trace_format::own_cost::{OwnCost, OwnThread};

use crate::common::sim::{Ended, Sim};
use crate::common::{Trace, one};

fn cost(trace: &Trace) -> OwnCost {
    let closing = trace.reader.closed_totals().expect("closed");
    OwnCost::of_closing(closing).unwrap_or_else(|| panic!("no own cost in {closing}"))
}

fn cpu_ns(cost: &OwnCost, thread: OwnThread) -> Option<u64> {
    cost.cpu_ns.iter().find(|(of, _)| *of == thread).map(|(_, ns)| *ns)
}

fn laws(ended: &Ended, cost: &OwnCost) {
    let lasted = u64::try_from(ended.duration.as_nanos()).expect("a short run");
    assert!(cost.elapsed_ns > 0 && cost.elapsed_ns <= lasted, "{cost:?} in a run of {lasted} ns");
    for (thread, ns) in &cost.cpu_ns {
        assert!(*ns <= lasted, "{thread:?} took {ns} ns in a run of {lasted} ns");
    }
}

#[test]
fn more_records_cost_the_writer_more_and_all_threads_are_named() {
    let sim = Sim::new("13.0");
    let [little, much] = ["10", "100000"].map(|launches| {
        let ended = sim.player("burst").args([launches, "1", "0"]).inject().run();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        let cost = cost(&one(&ended));
        laws(&ended, &cost);
        let threads: Vec<OwnThread> = cost.cpu_ns.iter().map(|(thread, _)| *thread).collect();
        assert_eq!(threads, OwnThread::ALL, "{cost:?}");
        cost
    });
    let [little, much] = [little, much].map(|cost| cpu_ns(&cost, OwnThread::Writer).expect("the writer"));
    // A row takes tens of nanoseconds at the very least, and there are 300,000 more of them.
    assert!(little > 0 && much > little + 3_000_000, "{little} ns of 10 launches, {much} of 100,000");
}

#[test]
fn time_in_which_a_thread_waits_is_no_cpu_time() {
    let sim = Sim::new("13.0");
    let ended = sim.player("vector_add").arg("10").stall("cuptiActivityFlushAll:600@1").inject().run();
    let cost = cost(&one(&ended));
    laws(&ended, &cost);
    let flushes = cpu_ns(&cost, OwnThread::Flushes).expect("the flush came back");
    assert!(cost.elapsed_ns >= 600_000_000 && flushes < 300_000_000, "{cost:?}");
}

#[test]
fn a_thread_that_does_not_come_back_from_cupti_is_left_out() {
    let sim = Sim::new("13.0");
    let ended = sim.player("vector_add").arg("10").stall("cuptiActivityFlushAll:forever").inject().run();
    let cost = cost(&one(&ended));
    laws(&ended, &cost);
    assert_eq!(cpu_ns(&cost, OwnThread::Flushes), None, "{cost:?}");
    assert!(cpu_ns(&cost, OwnThread::Writer).is_some_and(|ns| ns > 0), "{cost:?}");
}
