//! Allocations of memory.

use super::named::{Clock, Named, five, percent, pid};
use crate::analysis::allocations::{SHORT_LIVED_NS, allocations};
use crate::cupti::operation::memory_kind;
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;
use std::cmp::Reverse;
use trace_format::tables;

/// `cuda_mem_alloc_sum`.
pub(super) static CUDA_MEM_ALLOC_SUM: Named = Named {
    name: "cuda_mem_alloc_sum",
    aliases: &["allocations", "alloc"],
    title: "Allocations of Memory",
    tables: &[&tables::MEMORY, &tables::API],
    detail: Detail::Full,
    arguments: &[],
    key: &["PID", "DevId", "Kind"],
    make: table,
};

/// The heading that names [`SHORT_LIVED_NS`].
const SHORT_LIVED: &str = "Released within 1 ms (%)";
const _: () = assert!(SHORT_LIVED_NS == 1_000_000);

/// One row per process, device and kind of memory, the one whose calls took longest first.
fn table(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "PID",
        "DevId",
        "Allocations",
        "Releases",
        "Releases of Unknown",
        "Total (bytes)",
        "Peak (bytes)",
        "Peak At (ns)",
        "Left (bytes)",
        "Time in Calls (ns)",
        "Med Lifetime (ns)",
        SHORT_LIVED,
        "Size Was Released Before (%)",
        "Kind",
    ];
    let mut table = view.mixed(&columns, &["Kind"]);
    let clock = Clock::new(context.frames);
    let mut places: Vec<_> = allocations(context.frames, context.filter)?.into_iter().collect();
    places.sort_by_key(|(place, of)| (Reverse(of.calls_ns), Reverse(of.bytes), *place));
    for ((process, device, kind), mut of) in places {
        let [_, median, ..] = five(&mut of.lifetimes);
        let share = |part: u64| match of.allocations {
            0 => Cell::Null,
            all => percent(part.into(), all.into()),
        };
        table.rows.push(vec![
            pid(context.frames, process),
            Cell::id(device),
            Cell::int(of.allocations),
            Cell::int(of.releases),
            Cell::int(of.unknown_releases),
            Cell::int(of.bytes),
            Cell::int(of.peak_bytes),
            if of.peak_bytes > 0 { clock.cell(context.frames, process, of.peak_at_ns) } else { Cell::Null },
            Cell::int(of.left_bytes),
            Cell::int(of.calls_ns),
            median,
            share(of.short_lived),
            share(of.repeated),
            memory_kind(kind).into(),
        ]);
    }
    Ok(table)
}
