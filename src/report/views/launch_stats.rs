//! How GPU work was launched: signed delays, the host-bound share, and outliers.

use super::named::{Named, five, percent, signed_ratio};
use super::nsys_names::{KERNEL_NAMES, KernelName};
use crate::analysis::launch_stats::{LaunchStats, What, launch_stats};
use crate::analysis::stats::Signed;
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;
use rayon::prelude::*;
use trace_format::tables;

/// `cuda_launch_stats`.
pub(super) static CUDA_LAUNCH_STATS: Named = Named {
    name: "cuda_launch_stats",
    aliases: &["launch_stats", "launch"],
    title: "CUDA Launch Statistics",
    tables: &[&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH, &tables::API],
    detail: Detail::Full,
    arguments: KERNEL_NAMES,
    key: &["Kind", "Name"],
    make: statistics,
};

/// Mean, median, smallest, largest and sample deviation; empty without any value.
fn five_signed(signed: &mut Signed) -> [Cell; 5] {
    let (Some((min, max)), Some(median_times_2)) = (signed.extremes(), signed.median_times_2()) else {
        return [const { Cell::Null }; 5];
    };
    [
        signed_ratio(signed.total_ns(), u128::from(signed.count()), 1),
        signed_ratio(median_times_2, 2, 1),
        Cell::int(min),
        Cell::int(max),
        Cell::Fixed(signed.sample_stddev_ns(), 1),
    ]
}

/// A share; of nothing there is none.
fn share(part: u64, whole: u64) -> Cell {
    if whole == 0 { Cell::Null } else { percent(part.into(), whole.into()) }
}

fn row(kind: &str, name: &str, stats: &mut LaunchStats) -> Vec<Cell> {
    let launches = stats.launches();
    let mut row = vec![
        kind.into(),
        Cell::int(launches),
        Cell::int(stats.without_call),
        Cell::int(stats.without_times),
        Cell::int(stats.followers),
        Cell::int(stats.host_bound),
        share(stats.host_bound, stats.followers),
        Cell::int(stats.delay.negative()),
        share(stats.delay.negative(), launches),
    ];
    row.extend(five_signed(&mut stats.delay));
    row.extend([Cell::int(stats.latency.negative())]);
    row.extend(five_signed(&mut stats.latency));
    row.extend([Cell::int(stats.short), Cell::int(stats.long_calls), Cell::int(stats.long_delays)]);
    row.push(Cell::int(stats.queue.count));
    for phase in [&mut stats.total, &mut stats.call, &mut stats.queue, &mut stats.work] {
        row.extend(match phase.count {
            0 => [const { Cell::Null }; 5],
            _ => five(phase),
        });
    }
    row.push(name.into());
    row
}

/// One row for everything, one for all kernels, and one for each name.
fn statistics(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "Kind",
        "Launches",
        "Without Call",
        "Without Times",
        "Followers",
        "Host-Bound",
        "Host-Bound of Followers (%)",
        "Negative Delays",
        "Negative of Launches (%)",
        "Delay Avg (ns)",
        "Delay Med (ns)",
        "Delay Min (ns)",
        "Delay Max (ns)",
        "Delay StdDev (ns)",
        "Negative Latencies",
        "Latency Avg (ns)",
        "Latency Med (ns)",
        "Latency Min (ns)",
        "Latency Max (ns)",
        "Latency StdDev (ns)",
        "Short Kernels",
        "Long Calls",
        "Long Delays",
        "QCount",
        "TAvg (ns)",
        "TMed (ns)",
        "TMin (ns)",
        "TMax (ns)",
        "TStdDev (ns)",
        "AAvg (ns)",
        "AMed (ns)",
        "AMin (ns)",
        "AMax (ns)",
        "AStdDev (ns)",
        "QAvg (ns)",
        "QMed (ns)",
        "QMin (ns)",
        "QMax (ns)",
        "QStdDev (ns)",
        "KAvg (ns)",
        "KMed (ns)",
        "KMin (ns)",
        "KMax (ns)",
        "KStdDev (ns)",
        "Name",
    ];
    let mut table = view.mixed(&columns, &["Kind", "Name"]);
    let (labels, style) = (context.labels, KernelName::of(context));
    let mut groups = launch_stats(labels, context.filter, |shape| style.text(labels, shape))?;
    let of_group = |(what, name, stats): &mut (What, &str, LaunchStats)| row(what.name(), name, stats);
    let rows: Vec<Vec<Cell>> = groups.par_iter_mut().map(of_group).collect();
    let (mut kernels, mut others) = (LaunchStats::default(), LaunchStats::default());
    for (what, _, stats) in groups {
        (if what == What::Kernel { &mut kernels } else { &mut others }).merge(stats);
    }
    if !rows.is_empty() {
        let of_kernels = row("all kernels", "", &mut kernels);
        kernels.merge(others);
        table.rows.extend([row("all", "", &mut kernels), of_kernels]);
    }
    table.rows.extend(rows);
    Ok(table)
}
