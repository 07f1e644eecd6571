//! What the recording itself took, in a sentence.

use crate::numbers::items;
use crate::trace::frames::Frames;
use trace_format::own_cost::{OwnCost, OwnThread};

/// What stands behind "gpuprof itself: ", or a like beginning: the CPU time of the collector's own threads as a share of one core,
/// over all traces that say it. `None`: none does. Traces of other tools, traces of older collectors and unfinished ones do not.
pub fn sentence(frames: &Frames) -> Option<String> {
    let closings = frames.natives().iter().filter_map(|native| native.reader().closed_totals());
    let costs: Vec<OwnCost> = closings.filter_map(OwnCost::of_closing).collect();
    in_words(&costs)
}

/// What recordings with a budget took by their own account, in a sentence's end; `None`: no trace says it.
pub fn of_budget(frames: &Frames) -> Option<String> {
    let told = frames.processes.iter().filter_map(|process| process.info.budget.as_ref());
    let told = told.filter_map(|told| {
        let elapsed_ns = told.ended_ns?.checked_sub(told.began_ns?).filter(|&ns| ns > 0)?;
        Some((told.budget, told.spent_ns?, elapsed_ns))
    });
    let told: Vec<_> = told.collect();
    let (budget, ..) = *told.first()?;
    let spent_ns = told.iter().map(|(_, ns, _)| u128::from(*ns)).sum();
    let elapsed_ns = told.iter().map(|(.., ns)| u128::from(ns.unsigned_abs())).sum();
    let of = if told.len() == 1 { String::new() } else { format!(" of {} processes", told.len()) };
    let budgets =
        if told.iter().all(|(other, ..)| *other == budget) { format!(" {budget}") } else { String::new() };
    Some(format!(
        "recording took {} % of the time{of} by its own account (--budget{budgets})",
        percent(spent_ns, elapsed_ns)
    ))
}

fn in_words(costs: &[OwnCost]) -> Option<String> {
    let elapsed_ns: u128 = costs.iter().map(|cost| u128::from(cost.elapsed_ns)).sum();
    let of_thread = |thread: OwnThread| {
        // A share of all the time is true only if every trace knows the thread.
        let of_trace =
            |cost: &OwnCost| cost.cpu_ns.iter().find(|(of, _)| *of == thread).map(|(_, ns)| u128::from(*ns));
        costs.iter().map(of_trace).sum::<Option<u128>>().map(|ns| (thread, ns))
    };
    let threads: Vec<(OwnThread, u128)> = OwnThread::ALL.into_iter().filter_map(of_thread).collect();
    if elapsed_ns == 0 || threads.is_empty() {
        return None;
    }
    let percent = |ns: u128| percent(ns, elapsed_ns);
    let parts: Vec<String> =
        threads.iter().map(|(thread, ns)| format!("{} {}", thread.name(), percent(*ns))).collect();
    let sum = percent(threads.iter().map(|(_, ns)| ns).sum());
    let seconds = elapsed_ns as f64 / 1e9;
    let whole = match costs.len() {
        1 => format!("the {seconds:.2} s of the recording"),
        n => format!("{seconds:.2} s of {}", items(n as u64, "recording", "recordings")),
    };
    Some(format!(
        "its own threads took {sum} % of one core over {whole} ({}); what tracing adds to the program's own \
         calls is not in it",
        parts.join(", ")
    ))
}

/// With one decimal; what is more than nothing is never 0.0.
fn percent(ns: u128, of_ns: u128) -> String {
    let percent = ns as f64 * 100.0 / of_ns as f64;
    if ns > 0 && percent < 0.05 { "below 0.1".to_owned() } else { format!("{percent:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(elapsed_ns: u64, cpu_ns: &[(OwnThread, u64)]) -> OwnCost {
        OwnCost { elapsed_ns, cpu_ns: cpu_ns.to_vec() }
    }

    #[test]
    fn shares_are_of_the_whole_time_and_unknown_threads_are_in_no_sum() {
        let one = cost(
            12_340_000_000,
            &[(OwnThread::Flushes, 222_120_000), (OwnThread::Writer, 37_020_000), (OwnThread::Control, 1_000)],
        );
        assert_eq!(
            in_words(std::slice::from_ref(&one)).as_deref(),
            Some(
                "its own threads took 2.1 % of one core over the 12.34 s of the recording (flushes 1.8, \
                 writer 0.3, control below 0.1); what tracing adds to the program's own calls is not in it"
            )
        );
        let other = cost(7_660_000_000, &[(OwnThread::Writer, 362_980_000), (OwnThread::Control, 0)]);
        assert_eq!(
            in_words(&[one, other]).as_deref(),
            Some(
                "its own threads took 2.0 % of one core over 20.00 s of 2 recordings (writer 2.0, control \
                 below 0.1); what tracing adds to the program's own calls is not in it"
            )
        );
        assert_eq!(in_words(&[]), None);
        assert_eq!(in_words(&[cost(5, &[])]), None);
        assert_eq!(in_words(&[cost(0, &[(OwnThread::Writer, 1)])]), None);
    }
}
