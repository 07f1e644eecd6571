//! Queues of streams, and how fast copies were together.

use super::named::{Named, percent, pid, ratio};
use super::nsys_names::memcpy_name;
use crate::analysis::copy_limits::{Basis, CopyLimits, Limit};
use crate::analysis::in_time;
use crate::analysis::queues::{FULL, PER_GB_S, bandwidths, queues};
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;
use trace_format::tables;

/// `gpu_queue_length`.
pub(super) static GPU_QUEUE_LENGTH: Named = Named {
    name: "gpu_queue_length",
    aliases: &["queue"],
    title: "Queue Length of Streams",
    tables: &in_time::TABLES,
    detail: Detail::Full,
    arguments: &[],
    key: &["PID", "DevId", "Stream"],
    make: lengths,
};

/// `gpu_copy_bandwidth`.
pub(super) static GPU_COPY_BANDWIDTH: Named = Named {
    name: "gpu_copy_bandwidth",
    aliases: &["membw"],
    title: "Bandwidth of Copies",
    tables: &[&tables::MEMCPY, &tables::SAMPLE],
    detail: Detail::Full,
    arguments: &[],
    key: &["PID", "DevId", "Operation"],
    make: bandwidth,
};

/// One row per stream. What is weighted by time is so over the span from the first call to the start of the last piece of work.
fn lengths(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "PID",
        "DevId",
        "Stream",
        "Launches",
        "Span (ns)",
        "Max Length",
        "Avg over Time",
        "p50 over Time",
        "p95 over Time",
        "Avg over Changes",
        "Empty (ns)",
        "Empty of Span (%)",
        "Full (ns)",
        "Full of Span (%)",
    ];
    let mut table = view.empty(&columns, &[]);
    for ((process, device, stream), queue) in queues(context.frames, context.filter)? {
        let span_ns = queue.duration_ns().unsigned_abs().into();
        let empty_ns = queue.by_length.get(&0).copied().unwrap_or(0);
        let full_ns = queue.at_least_ns(FULL);
        // Without any time there are no shares of it.
        let of_span = |cell: Cell| if span_ns == 0 { Cell::Null } else { cell };
        table.rows.push(vec![
            pid(context.frames, process),
            Cell::id(device),
            Cell::id(stream),
            Cell::int(queue.launches),
            Cell::int(span_ns),
            Cell::int(queue.most),
            of_span(ratio(queue.weighted(), span_ns, 3)),
            of_span(Cell::int(queue.percentile(50))),
            of_span(Cell::int(queue.percentile(95))),
            ratio(queue.changes.0, u128::from(queue.launches) * 2, 3),
            Cell::int(empty_ns),
            of_span(percent(empty_ns.unsigned_abs().into(), span_ns)),
            Cell::int(full_ns),
            of_span(percent(full_ns.unsigned_abs().into(), span_ns)),
        ]);
    }
    Ok(table)
}

/// One row per device and kind of copy. A GB is 10^9 bytes.
fn bandwidth(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "PID",
        "DevId",
        "Copies",
        "Bytes",
        "Busy (ns)",
        "Avg while Busy (GB/s)",
        "Limit (GB/s)",
        "Avg of Limit (%)",
        "Peak of All (GB/s)",
        "Avg over Changes (GB/s)",
        "Copy Min (GB/s)",
        "Copy Med (GB/s)",
        "Copy Max (GB/s)",
        "Operation",
        "Limit of",
    ];
    let mut table = view.mixed(&columns, &["Operation", "Limit of"]);
    let limits = CopyLimits::read(context.frames)?;
    for ((place, kind), found) in bandwidths(context.frames, context.filter)? {
        let each = |at: usize| Cell::opt(found.each.get(at).copied());
        let in_gb = |cell: Cell| match cell {
            Cell::Int(parts) => ratio(parts.unsigned_abs(), PER_GB_S, 3),
            other => other,
        };
        let last = found.each.len().saturating_sub(1);
        // What was faster went another way: over NVLink to the host, or out of the cache.
        let average = |limit: &Limit| found.bytes * NS_PER_S <= limit.ns_bytes(found.busy_ns);
        let limit = limits.of(place, kind.into()).filter(average);
        table.rows.push(vec![
            pid(context.frames, place.0),
            Cell::id(place.1),
            Cell::int(found.copies),
            Cell::int(found.bytes),
            Cell::int(found.busy_ns),
            ratio(found.bytes, found.busy_ns.unsigned_abs().into(), 3),
            limit.map_or(Cell::Null, |limit| ratio(limit.bytes_per_s.into(), BYTES_PER_GB, 3)),
            limit.map_or(Cell::Null, |limit| percent(found.bytes * NS_PER_S, limit.ns_bytes(found.busy_ns))),
            ratio(found.peak, PER_GB_S, 3),
            ratio(found.changes.0, PER_GB_S * u128::from(found.changes.1), 3),
            in_gb(each(0)),
            // Of two middle ones the slower one.
            in_gb(each(last / 2)),
            in_gb(each(last)),
            memcpy_name(kind.into()).into(),
            match limit.map(|limit| limit.basis) {
                None => Cell::Null,
                Some(Basis::Memory) => "half of the memory bandwidth".into(),
                Some(Basis::Pcie(generation, lanes)) => Cell::Text(format!("PCIe {generation} x{lanes}")),
            },
        ]);
    }
    Ok(table)
}

const NS_PER_S: u128 = 1_000_000_000;
const BYTES_PER_GB: u128 = 1_000_000_000;
