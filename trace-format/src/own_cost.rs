//! What the recording itself took, as its writer measured it: `own_cost` of the writer's totals.
//!
//! The collector writes it and the reports show it, so both find the words here.

use serde_json::{Map, Value, json};

/// The key in the writer's totals.
const KEY: &str = "own_cost";
const ELAPSED_NS: &str = "elapsed_ns";
const CPU_NS: &str = "cpu_ns";

/// A thread of the collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnThread {
    /// Asks CUPTI for its buffers.
    Flushes,
    /// Makes rows of records and writes them.
    Writer,
    /// Answers `gpuprof ctl`.
    Control,
}

impl OwnThread {
    /// All of them.
    pub const ALL: [OwnThread; 3] = [OwnThread::Flushes, OwnThread::Writer, OwnThread::Control];

    /// Its name, in the trace and in sentences.
    pub fn name(self) -> &'static str {
        match self {
            OwnThread::Flushes => "flushes",
            OwnThread::Writer => "writer",
            OwnThread::Control => "control",
        }
    }
}

/// CPU time of the collector's own threads, by their own clocks, and how long they ran beside the program.
///
/// What tracing adds to the program's own calls is not in it: nothing measures that while the program runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnCost {
    /// From the beginning of the trace to its end, in nanoseconds.
    pub elapsed_ns: u64,
    /// CPU time in nanoseconds. A thread whose time is not known is not there.
    pub cpu_ns: Vec<(OwnThread, u64)>,
}

impl OwnCost {
    /// The key in the writer's totals, and what stands under it.
    pub fn entry(&self) -> (&'static str, Value) {
        let cpu_ns: Map<String, Value> =
            self.cpu_ns.iter().map(|(thread, ns)| (thread.name().to_owned(), json!(ns))).collect();
        (KEY, json!({ELAPSED_NS: self.elapsed_ns, CPU_NS: cpu_ns}))
    }

    /// What a closing frame says of it. None: the trace is of a writer that did not measure it.
    pub fn of_closing(closing: &Value) -> Option<OwnCost> {
        let cost = closing.get("writer_totals")?.get(KEY)?;
        let elapsed_ns = cost.get(ELAPSED_NS)?.as_u64()?;
        let cpu_ns = cost.get(CPU_NS)?;
        let of_thread = |thread: OwnThread| Some((thread, cpu_ns.get(thread.name())?.as_u64()?));
        Some(OwnCost { elapsed_ns, cpu_ns: OwnThread::ALL.into_iter().filter_map(of_thread).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_strange_numbers_are_none() {
        let cost = OwnCost { elapsed_ns: 7, cpu_ns: vec![(OwnThread::Flushes, 2), (OwnThread::Writer, 1)] };
        let (key, value) = cost.entry();
        assert_eq!(OwnCost::of_closing(&json!({"writer_totals": {key: value}})), Some(cost));
        for strange in [json!(null), json!(3), json!({}), json!({"elapsed_ns": -1, "cpu_ns": {}})] {
            assert_eq!(OwnCost::of_closing(&json!({"writer_totals": {"own_cost": strange}})), None);
        }
        let partly =
            json!({"writer_totals": {"own_cost": {"elapsed_ns": 1, "cpu_ns": {"writer": "x", "control": 4}}}});
        assert_eq!(OwnCost::of_closing(&partly).expect("it is there").cpu_ns, [(OwnThread::Control, 4)]);
    }
}
