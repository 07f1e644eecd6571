//! Idle time of streams by what was waited for, with HTA's own numbers beside ours.

use super::named::{Named, percent, pid, signed_ratio};
use crate::analysis::idle_breakdown::{Gaps, Wait, idle_breakdown};
use crate::analysis::in_time;
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;

/// `gpu_idle_breakdown`.
pub(super) static GPU_IDLE_BREAKDOWN: Named = Named {
    name: "gpu_idle_breakdown",
    aliases: &["idle"],
    title: "Idle Time of Streams by What Was Waited for",
    tables: &in_time::TABLES,
    detail: Detail::Full,
    arguments: &[],
    key: &["PID", "DevId", "Stream", "Category"],
    make: breakdown,
};

/// One row per stream and category that has gaps in one of the two ways.
fn breakdown(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "PID",
        "DevId",
        "Stream",
        "Category",
        "Gaps",
        "Idle (ns)",
        "of Stream Idle (%)",
        "Stream Idle (ns)",
        "Stream Span (ns)",
        "HTA Gaps",
        "HTA Idle (ns)",
        "HTA of Stream Idle (%)",
    ];
    let mut table = view.mixed(&columns, &["Category"]);
    let sum = |gaps: &[Gaps]| gaps.iter().map(|gaps| gaps.ns).fold(0, i64::saturating_add);
    for ((process, device, stream), idle) in idle_breakdown(context.frames, context.filter)? {
        let (all_ns, hta_ns) = (sum(&idle.gaps), sum(&idle.hta));
        for wait in Wait::ALL {
            let (gaps, hta) = (idle.gaps[wait as usize], idle.hta[wait as usize]);
            if gaps.count + hta.count == 0 {
                continue;
            }
            table.rows.push(vec![
                pid(context.frames, process),
                Cell::id(device),
                Cell::id(stream),
                wait.name().into(),
                Cell::int(gaps.count),
                Cell::int(gaps.ns),
                match all_ns {
                    0 => Cell::Null,
                    _ => percent(gaps.ns.unsigned_abs().into(), all_ns.unsigned_abs().into()),
                },
                Cell::int(all_ns),
                Cell::int(idle.last_ns.saturating_sub(idle.first_ns)),
                Cell::int(hta.count),
                Cell::int(hta.ns),
                match hta_ns {
                    // Of nothing, or of less, there is no share.
                    ..=0 => Cell::Null,
                    _ => signed_ratio(i128::from(hta.ns) * 100, hta_ns.unsigned_abs().into(), 1),
                },
            ]);
        }
    }
    Ok(table)
}
