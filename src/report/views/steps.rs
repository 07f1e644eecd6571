//! The steps of programs: each one, statistics of them, and why the slowest are slow.

use super::lines::QUANTILES;
use super::named::{Clock, Named, five, percent, pid, ratio};
use crate::analysis::stats::Stats;
use crate::analysis::steps::slow::slow_steps;
use crate::analysis::steps::{ProcessSteps, Source, Step, TABLES, steps};
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;

/// `steps`.
pub(super) static STEPS: Named = Named {
    name: "steps",
    aliases: &[],
    title: "Steps",
    tables: &TABLES,
    detail: Detail::Full,
    arguments: &[],
    key: &["PID", "Step"],
    make: each,
};

/// `steps_sum`.
pub(super) static STEPS_SUM: Named = Named {
    name: "steps_sum",
    aliases: &["step_sum"],
    title: "Step Summary",
    tables: &TABLES,
    detail: Detail::Full,
    arguments: &[],
    key: &["PID"],
    make: summary,
};

/// `steps_slow`.
pub(super) static STEPS_SLOW: Named = Named {
    name: "steps_slow",
    aliases: &["slow_steps"],
    title: "What the Slowest Steps Took Longer for",
    tables: &TABLES,
    detail: Detail::Full,
    arguments: &[],
    key: &["PID", "Step", "Kind", "Name"],
    make: slowest,
};

/// How the steps were found, in words.
fn source(process: &ProcessSteps) -> String {
    match &process.source {
        Source::Ranges(name) => format!("ranges {name}"),
        Source::Sequence { device, stream, period } => {
            format!("sequence of {period} kernels on GPU {device}, stream {stream}")
        }
        Source::OnlyRangesAreLookedFor => {
            "none: no range is called like a step, and Spark looks for no others".to_owned()
        }
        Source::None => "none: no range repeats, and no stream repeats a sequence of kernels".to_owned(),
    }
}

fn each(view: &Named, context: &Context) -> Result<Table> {
    let (frames, clock) = (context.frames, Clock::new(context.frames));
    let clock = |process: u32, ns: i64| clock.cell(frames, process, ns);
    let found = steps(context.labels, context.filter)?;
    Ok(each_of(view, &found, |process| pid(frames, process), clock, |name| context.labels.text(name)))
}

/// One row per step, in order of processes and time.
pub(super) fn each_of<'t>(
    view: &Named,
    found: &[ProcessSteps],
    pid: impl Fn(u32) -> Cell,
    clock: impl Fn(u32, i64) -> Cell,
    text: impl Fn(u32) -> &'t str,
) -> Table {
    let columns = [
        "PID",
        "Step",
        "Phase",
        "From (ns)",
        "To (ns)",
        "Wall (ns)",
        "GPUs",
        "GPU Busy (ns)",
        "GPU Idle (ns)",
        "Kernel Time (ns)",
        "Kernels",
        "Copies",
        "Fills",
        "Graphs",
        "Name",
    ];
    let mut table = view.mixed(&columns, &["Phase", "Name"]);
    for process in found {
        for (number, step) in process.steps.iter().enumerate() {
            let mut row = vec![
                pid(process.process),
                Cell::int(number),
                if step.is_warm_up { "warm-up" } else { "steady" }.into(),
                clock(process.process, step.from_ns),
                clock(process.process, step.to_ns),
                Cell::int(step.wall_ns()),
                Cell::int(process.gpus),
                Cell::int(step.busy_ns),
                Cell::int(process.idle_ns(step)),
                Cell::int(step.kernel_ns),
            ];
            row.extend(step.counts.map(Cell::int));
            row.push(step.name.map_or("", &text).into());
            table.rows.push(row);
        }
    }
    table
}

fn summary(view: &Named, context: &Context) -> Result<Table> {
    let found = steps(context.labels, context.filter)?;
    Ok(summary_of(view, &found, |process| pid(context.frames, process)))
}

/// One row per process, also for one without steps.
pub(super) fn summary_of(view: &Named, found: &[ProcessSteps], pid: impl Fn(u32) -> Cell) -> Table {
    let columns = [
        "PID",
        "Steps",
        "Warm-Up Steps",
        "Warm-Up Time (ns)",
        "Warm-Up Limit (ns)",
        "Total Time (ns)",
        "Avg (ns)",
        "Med (ns)",
        "p90 (ns)",
        "p99 (ns)",
        "Min (ns)",
        "Max (ns)",
        "StdDev (ns)",
        "GPUs",
        "GPU Busy (ns)",
        "Busy of GPU Time (%)",
        "GPU Idle (ns)",
        "Kernel Time (ns)",
        "Avg Kernel Time of a Step (ns)",
        "Kernels",
        "Kernels Outside",
        "Found by",
    ];
    let mut table = view.mixed(&columns, &["Found by"]);
    for process in found {
        let (warm_up, steady) = process.steps.split_at(process.warm_up());
        let mut walls = Stats::default();
        steady.iter().for_each(|step| walls.add(step.wall_ns(), QUANTILES));
        let sum =
            |steps: &[Step], of: &dyn Fn(&Step) -> i64| steps.iter().map(|step| i128::from(of(step))).sum::<i128>();
        let busy_ns = sum(steady, &|step| step.busy_ns);
        let kernel_ns = sum(steady, &|step| step.kernel_ns);
        let mut row = vec![
            pid(process.process),
            Cell::int(process.steps.len()),
            Cell::int(warm_up.len()),
            Cell::int(sum(warm_up, &Step::wall_ns)),
            Cell::opt(process.warm_up_limit_ns),
        ];
        if walls.count == 0 {
            row.extend([const { Cell::Null }; 8]);
        } else {
            let [mean, median, min, max, deviation] = five(&mut walls);
            let percentiles = [90, 99].map(|percent| Cell::opt(walls.durations.percentile(percent)));
            row.extend([Cell::int(walls.total_ns), mean, median]);
            row.extend(percentiles);
            row.extend([min, max, deviation]);
        }
        let gpu_ns = walls.total_ns.saturating_mul(process.gpus.into());
        row.extend([
            Cell::int(process.gpus),
            Cell::int(busy_ns),
            if gpu_ns == 0 { Cell::Null } else { percent(busy_ns.unsigned_abs(), gpu_ns) },
            Cell::int(sum(steady, &|step| process.idle_ns(step))),
            Cell::int(kernel_ns),
            if steady.is_empty() { Cell::Null } else { ratio(kernel_ns.unsigned_abs(), steady.len() as u128, 1) },
            Cell::int(steady.iter().map(|step| step.counts[0]).sum::<u64>()),
            Cell::int(process.kernels_outside),
            source(process).as_str().into(),
        ]);
        table.rows.push(row);
    }
    table
}

/// For each of the slowest steps what took longer than in the median step.
fn slowest(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "PID",
        "Step",
        "Wall (ns)",
        "Longer by (ns)",
        "Median Step",
        "Kind",
        "Count",
        "Time (ns)",
        "Median Count",
        "Median Time (ns)",
        "Difference (ns)",
        "Name",
    ];
    let mut table = view.mixed(&columns, &["Kind", "Name"]);
    let found = steps(context.labels, context.filter)?;
    for slow in slow_steps(context.labels, context.filter, &found)? {
        let process = &found[slow.process];
        let [wall_ns, median_ns] = [slow.step, slow.median].map(|step| process.steps[step].wall_ns());
        for difference in &slow.differences {
            table.rows.push(vec![
                pid(context.frames, process.process),
                Cell::int(slow.step),
                Cell::int(wall_ns),
                Cell::int(wall_ns.saturating_sub(median_ns)),
                Cell::int(slow.median),
                difference.kind.name().into(),
                Cell::int(difference.here.count),
                Cell::int(difference.here.ns),
                Cell::int(difference.median.count),
                Cell::int(difference.median.ns),
                Cell::int(difference.ns()),
                difference.name.as_str().into(),
            ]);
        }
    }
    Ok(table)
}
