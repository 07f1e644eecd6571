//! What of each GPU's time was idle, computation, communication and copies, and how much of these ran at once.

use super::named::{Named, percent, pid};
use crate::analysis::activity;
use crate::analysis::overlap::{Breakdown, breakdowns};
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;

/// `gpu_time_breakdown`.
pub(super) static GPU_TIME_BREAKDOWN: Named = Named {
    name: "gpu_time_breakdown",
    aliases: &["temporal", "overlap", "concurrency"],
    title: "GPU Time Breakdown and Overlap",
    tables: &activity::WORK_TABLES,
    detail: Detail::Totals,
    arguments: &[],
    key: &["PID", "DevId"],
    make: breakdown,
};

fn breakdown(view: &Named, context: &Context) -> Result<Table> {
    let devices = breakdowns(context.labels, context.filter)?;
    Ok(table(view, devices.into_iter().map(|(place, of)| (pid(context.frames, place.0), place.1, of))))
}

/// One row per device: pid, index and time. Each share says of what it is one.
pub(super) fn table(view: &Named, devices: impl Iterator<Item = (Cell, u32, Breakdown)>) -> Table {
    let columns = [
        "PID",
        "DevId",
        "Span (ns)",
        "Idle (ns)",
        "Idle of Span (%)",
        "Compute (ns)",
        "Compute of Span (%)",
        "Non-Compute (ns)",
        "Non-Compute of Span (%)",
        "Communication (ns)",
        "Hidden Communication (ns)",
        "Hidden of Communication (%)",
        "Memory (ns)",
        "Hidden Memory (ns)",
        "Hidden of Memory (%)",
        "Kernels (ns)",
        "Concurrent Kernels (ns)",
        "Concurrent of Kernels (%)",
    ];
    let mut table = view.empty(&columns, &[]);
    for (pid, device, b) in devices {
        let share = |part: i64, whole: i64| match whole {
            // Of nothing there is no share.
            ..=0 => Cell::Null,
            whole => percent(part.max(0) as u128, whole as u128),
        };
        table.rows.push(vec![
            pid,
            Cell::id(device),
            Cell::int(b.span_ns),
            Cell::int(b.idle_ns),
            share(b.idle_ns, b.span_ns),
            Cell::int(b.compute_ns),
            share(b.compute_ns, b.span_ns),
            Cell::int(b.non_compute_ns),
            share(b.non_compute_ns, b.span_ns),
            Cell::int(b.communication_ns),
            Cell::int(b.hidden_communication_ns),
            share(b.hidden_communication_ns, b.communication_ns),
            Cell::int(b.memory_ns),
            Cell::int(b.hidden_memory_ns),
            share(b.hidden_memory_ns, b.memory_ns),
            Cell::int(b.kernels_ns),
            Cell::int(b.concurrent_ns),
            share(b.concurrent_ns, b.kernels_ns),
        ]);
    }
    table
}
