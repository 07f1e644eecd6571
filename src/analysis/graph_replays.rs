//! Replays of CUDA graphs: how long each kept its GPU, and for how much of that time nothing of it ran.
//!
//! Of a graph whose nodes were traced one by one, each kernel, copy and fill has the id of the graph and the correlation id of the
//! call that launched it: those of one call on one device are one replay. Of a graph traced whole there is one record for each
//! replay, and what ran inside is not known.

use super::in_time::{self, InTime, Work, WorkKind};
use super::stats::{Stats, Wanted};
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use trace_format::tables;
use trace_format::tables::column::any;

/// A graph on a device: process, device, graph id, and whether it was traced whole.
pub type Graph = (u32, u32, u32, bool);

/// What is known of the replays of a graph.
#[derive(Clone, Debug, Default)]
pub struct Replays {
    /// From the first start to the last end of each.
    pub spans: Stats,
    /// Kernels, copies and fills of all replays; none of graphs traced whole.
    pub work: u64,
    /// Time in which some of that ran, of all replays together; that of graphs traced whole is not known, and 0.
    pub busy_ns: u128,
}

impl Replays {
    fn add(&mut self, replay: &Replay) {
        self.spans.add(replay.end_ns.saturating_sub(replay.start_ns), Wanted { quantiles: true });
        self.work += replay.work;
        self.busy_ns += u128::from(replay.busy_ns.unsigned_abs());
    }
}

/// One replay, as far as its work has come by.
#[derive(Clone, Copy, Debug)]
struct Replay {
    graph: u32,
    start_ns: i64,
    end_ns: i64,
    busy_ns: i64,
    work: u64,
}

/// The replays of every graph. Work of graphs whose launch is not known is in none.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn graph_replays(frames: &Frames, filter: &Filter) -> Result<BTreeMap<Graph, Replays>> {
    struct Pass {
        graphs: HashMap<(u32, u64), u32>,
        replays: HashMap<(u32, u32, u64), Replay>,
        whole: BTreeMap<Graph, Replays>,
    }
    impl InTime for Pass {
        fn work(&mut self, work: &Work) {
            let (start_ns, end_ns) = (work.start_ns, work.end_ns);
            if let WorkKind::Graph(graph) = work.kind {
                let replay = Replay { graph, start_ns, end_ns, busy_ns: 0, work: 0 };
                return self.whole.entry((work.process, work.device, graph, true)).or_default().add(&replay);
            }
            let Some(&graph) = self.graphs.get(&(work.process, work.correlation)) else { return };
            let new = Replay { graph, start_ns, end_ns: start_ns, busy_ns: 0, work: 0 };
            let key = (work.process, work.device, work.correlation);
            let replay = self.replays.entry(key).or_insert(new);
            // Work comes in order of its start, so that what runs beyond the latest end so far was idle before.
            replay.busy_ns =
                replay.busy_ns.saturating_add(end_ns.saturating_sub(start_ns.max(replay.end_ns)).max(0));
            replay.end_ns = replay.end_ns.max(end_ns);
            replay.work += 1;
        }
    }
    let (replays, whole) = (HashMap::new(), BTreeMap::new());
    let mut pass = Pass { graphs: graphs(frames, filter)?, replays, whole };
    in_time::visit_work(frames, filter, &mut pass)?;
    let mut all = pass.whole;
    for ((process, device, _), replay) in pass.replays {
        all.entry((process, device, replay.graph, false)).or_default().add(&replay);
    }
    Ok(all)
}

/// The graph that each call launched, by process and correlation id.
fn graphs(frames: &Frames, filter: &Filter) -> Result<HashMap<(u32, u64), u32>> {
    let mut all = HashMap::new();
    for table in [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET] {
        all.extend(frames.fold(
            table,
            &[any::GRAPH_ID, any::CORRELATION],
            filter,
            HashMap::new,
            |graphs: &mut HashMap<(u32, u64), u32>, batch| {
                let (graph, correlation) = (batch.get(any::GRAPH_ID), batch.get(any::CORRELATION));
                batch.for_each_row(|i| {
                    // Id 0 is that of no graph, and of no call.
                    if let (Some(graph @ 1..), Some(correlation @ 1..)) = (graph.get(i), correlation.get(i)) {
                        graphs.insert((batch.process, correlation), graph);
                    }
                });
            },
            |a, b| a.extend(b),
        )?);
    }
    Ok(all)
}
