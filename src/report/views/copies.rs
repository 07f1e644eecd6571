//! Copies one by one, as far as kernels do not hide them, and runs of work that one launch could have done.

use super::named::{Clock, Named, number_argument, percent, pid, throughput};
use super::nsys_names::memcpy_name;
use crate::analysis::activity;
use crate::analysis::coalescable::{Limits, coalescable};
use crate::analysis::copy_hiding::hidden_copies;
use crate::analysis::in_time::WorkKind;
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;

/// `gpu_hidden_copies`.
pub(super) static GPU_HIDDEN_COPIES: Named = Named {
    name: "gpu_hidden_copies",
    aliases: &["hidden-copies", "hidden_copies"],
    title: "Copies that Kernels Do not Hide",
    tables: &activity::WORK_TABLES,
    detail: Detail::Full,
    arguments: &["least", "most"],
    key: &[],
    make: hidden,
};

/// `gpu_coalescable`.
pub(super) static GPU_COALESCABLE: Named = Named {
    name: "gpu_coalescable",
    aliases: &["coalesce"],
    title: "Kernels and Copies that One Launch Could Have Done",
    tables: &activity::WORK_TABLES,
    detail: Detail::Full,
    arguments: &[],
    key: &[],
    make: runs,
};

/// Shorter copies are not listed, in nanoseconds.
const LEAST_NS: u32 = 100_000;

/// Copies of which more is hidden are not listed.
const MOST_PERCENT: u32 = 50;

/// One row per copy, the longest exposed time first.
fn hidden(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "Start (ns)",
        "Duration (ns)",
        "Hidden (ns)",
        "Hidden of Duration (%)",
        "Exposed (ns)",
        "Bytes",
        "Throughput (MB/s)",
        "PID",
        "DevId",
        "Stream",
        "Operation",
    ];
    let mut table = view.mixed(&columns, &["Operation"]);
    let shortest = "the shortest copy in nanoseconds";
    let least_ns = number_argument(view, context, "least", LEAST_NS, 0..=u32::MAX, shortest)?;
    let most = number_argument(view, context, "most", MOST_PERCENT, 0..=100, "a share in percent")?;
    let clock = Clock::new(context.frames);
    let mut copies = hidden_copies(context.frames, context.filter, least_ns.into())?;
    copies.retain(|copy| copy.is_hidden_at_most(most));
    copies.sort_by_key(|copy| (std::cmp::Reverse(copy.exposed_ns()), copy.copy));
    for hidden in copies {
        let (copy, ns) = (hidden.copy, hidden.copy.duration_ns());
        let kind = match copy.kind {
            WorkKind::Memcpy { kind, .. } => u32::from(kind),
            _ => 0,
        };
        table.rows.push(vec![
            clock.cell(context.frames, copy.process, copy.start_ns),
            Cell::int(ns),
            Cell::int(hidden.hidden_ns),
            if ns == 0 {
                Cell::Null
            } else {
                percent(hidden.hidden_ns.unsigned_abs().into(), ns.unsigned_abs().into())
            },
            Cell::int(hidden.exposed_ns()),
            Cell::int(copy.bytes),
            throughput(copy.bytes.unsigned_abs().into(), ns.unsigned_abs().into()),
            pid(context.frames, copy.process),
            Cell::id(copy.device),
            Cell::id(copy.stream),
            memcpy_name(kind).into(),
        ]);
    }
    Ok(table)
}

/// One row per run.
fn runs(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "Kind",
        "Length",
        "Start (ns)",
        "Duration (ns)",
        "Work Time (ns)",
        "Gap Time (ns)",
        "Bytes",
        "PID",
        "DevId",
        "Stream",
        "Name",
    ];
    let mut table = view.mixed(&columns, &["Kind", "Name"]);
    let clock = Clock::new(context.frames);
    for run in coalescable(context.frames, context.filter, Limits::default())? {
        let (kind, name) = match run.first.kind {
            WorkKind::Memcpy { kind, .. } => ("memcpy", memcpy_name(kind.into())),
            other => ("kernel", other.name(context.labels)),
        };
        table.rows.push(vec![
            kind.into(),
            Cell::int(run.count),
            clock.cell(context.frames, run.first.process, run.first.start_ns),
            Cell::int(run.end_ns.saturating_sub(run.first.start_ns)),
            Cell::int(run.work_ns),
            Cell::int(run.gaps_ns),
            Cell::int(run.bytes),
            pid(context.frames, run.first.process),
            Cell::id(run.first.device),
            Cell::id(run.first.stream),
            name.into(),
        ]);
    }
    Ok(table)
}
