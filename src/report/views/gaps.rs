//! Idle time of each device by its cause.

use super::named::{Clock, Named, percent, pid};
use crate::analysis::gap_causes::{Cause, Gap, each_gap};
use crate::analysis::in_time;
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;
use std::collections::BTreeMap;

/// `gpu_gap_causes`.
pub(super) static GPU_GAP_CAUSES: Named = Named {
    name: "gpu_gap_causes",
    aliases: &["gaps"],
    title: "GPU Idle Time by Cause",
    tables: &in_time::TABLES,
    detail: Detail::Full,
    arguments: &[],
    key: &["PID", "DevId", "Cause"],
    make: summary,
};

/// Gaps of one device and cause.
#[derive(Default)]
struct Sum {
    count: u64,
    total_ns: u128,
    longest: Option<Gap>,
}

/// One row for each device and cause, the longest total of each device first. The share is of the time from the first to the
/// last work of that device.
fn summary(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "PID",
        "DevId",
        "Cause",
        "Gaps",
        "Total Time (ns)",
        "of Device Span (%)",
        "Device Span (ns)",
        "Max (ns)",
        "Max Start (ns)",
        "Max Before",
        "Max After",
    ];
    let mut table = view.mixed(&columns, &["Cause", "Max Before", "Max After"]);
    let (frames, labels) = (context.frames, context.labels);
    let mut devices: BTreeMap<(u32, u32), BTreeMap<Cause, Sum>> = BTreeMap::new();
    let spans = each_gap(frames, context.filter, |gap| {
        let sum = devices.entry(gap.place).or_default().entry(gap.cause).or_default();
        sum.count += 1;
        sum.total_ns += u128::from(gap.duration_ns().unsigned_abs());
        if sum.longest.is_none_or(|longest| gap.duration_ns() > longest.duration_ns()) {
            sum.longest = Some(gap);
        }
    })?;
    let spans: BTreeMap<(u32, u32), i64> = spans.into_iter().collect();
    let clock = Clock::new(frames);
    for (place, causes) in devices {
        let span_ns = spans.get(&place).map_or(0, |ns| u128::from(ns.unsigned_abs()));
        let mut causes: Vec<(Cause, Sum)> = causes.into_iter().collect();
        causes.sort_by_key(|(cause, sum)| (std::cmp::Reverse(sum.total_ns), *cause));
        for (cause, sum) in causes {
            let Some(longest) = sum.longest else { continue };
            table.rows.push(vec![
                pid(frames, place.0),
                Cell::id(place.1),
                cause.name().into(),
                Cell::int(sum.count),
                Cell::int(sum.total_ns),
                percent(sum.total_ns, span_ns),
                Cell::int(span_ns),
                Cell::int(longest.duration_ns()),
                clock.cell(frames, place.0, longest.start_ns),
                longest.before.kind.name(labels).into(),
                longest.after.kind.name(labels).into(),
            ]);
        }
    }
    Ok(table)
}
