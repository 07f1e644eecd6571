//! Replays of CUDA graphs.

use super::named::{Named, five, percent, pid, ratio};
use crate::analysis::activity;
use crate::analysis::graph_replays::graph_replays;
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;
use std::cmp::Reverse;

/// `cuda_graph_replays`.
pub(super) static CUDA_GRAPH_REPLAYS: Named = Named {
    name: "cuda_graph_replays",
    aliases: &["graph-replays", "graph_replays"],
    title: "CUDA Graph Replays",
    tables: &activity::WORK_TABLES,
    detail: Detail::Full,
    arguments: &[],
    key: &["PID", "DevId", "Graph", "Traced"],
    make: table,
};

/// One row per graph and device, the longest total first.
fn table(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "PID",
        "DevId",
        "Graph",
        "Replays",
        "Work per Replay",
        "Total Time (ns)",
        "Avg (ns)",
        "Med (ns)",
        "p99 (ns)",
        "Min (ns)",
        "Max (ns)",
        "StdDev (ns)",
        "Gaps Inside (ns)",
        "Gaps of Total Time (%)",
        "Traced",
    ];
    let mut table = view.mixed(&columns, &["Traced"]);
    let mut graphs: Vec<_> = graph_replays(context.frames, context.filter)?.into_iter().collect();
    graphs.sort_by_key(|(graph, replays)| (Reverse(replays.spans.total_ns), *graph));
    for ((process, device, graph, is_whole), mut replays) in graphs {
        let (count, total_ns) = (u128::from(replays.spans.count), replays.spans.total_ns);
        let p99 = Cell::opt(replays.spans.durations.percentile(99));
        let [mean, median, min, max, deviation] = five(&mut replays.spans);
        let gaps_ns = total_ns.saturating_sub(replays.busy_ns);
        table.rows.push(vec![
            pid(context.frames, process),
            Cell::id(device),
            Cell::id(graph),
            Cell::int(count),
            if is_whole { Cell::Null } else { ratio(replays.work.into(), count, 1) },
            Cell::int(total_ns),
            mean,
            median,
            p99,
            min,
            max,
            deviation,
            if is_whole { Cell::Null } else { Cell::int(gaps_ns) },
            if is_whole || total_ns == 0 { Cell::Null } else { percent(gaps_ns, total_ns) },
            if is_whole { "whole" } else { "nodes" }.into(),
        ]);
    }
    Ok(table)
}
