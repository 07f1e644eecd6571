//! How much of each GPU was in use from moment to moment.

use super::named::{Clock, Named, number_argument, percent, pid};
use crate::analysis::activity;
use crate::analysis::util_map::util_map;
use crate::analysis::work_class::Class;
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;

/// `cuda_gpu_time_util_map`.
pub(super) static CUDA_GPU_TIME_UTIL_MAP: Named = Named {
    name: "cuda_gpu_time_util_map",
    aliases: &["util-map", "util_map"],
    title: "GPU Utilization over Time",
    tables: &activity::WORK_TABLES,
    detail: Detail::Totals,
    arguments: &["bins"],
    key: &["PID", "DevId", "Start (ns)"],
    make: map,
};

/// As many as pieces that nsys's rule of utilization looks at.
const BINS: u32 = 30;

/// More are no map any more: records can be asked for one by one.
const MOST_BINS: u32 = 10_000;

/// One row per device and bin, in order of time.
fn map(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "PID",
        "DevId",
        "Start (ns)",
        "Duration (ns)",
        "Busy (ns)",
        "Busy of Duration (%)",
        "Computation of Duration (%)",
        "Communication of Duration (%)",
        "Both at Once of Duration (%)",
        "Memory of Duration (%)",
    ];
    let mut table = view.empty(&columns, &[]);
    let bins = number_argument(view, context, "bins", BINS, 1..=MOST_BINS, "the number of bins")?;
    let clock = Clock::new(context.frames);
    let map = util_map(context.labels, context.filter, bins)?;
    for (place, of_device) in &map.devices {
        for (index, bin) in of_device.iter().enumerate() {
            let (start_ns, end_ns) = map.edges(index);
            let duration_ns = end_ns.saturating_sub(start_ns);
            let share = |ns: i64| percent(ns.unsigned_abs().into(), duration_ns.unsigned_abs().into());
            table.rows.push(vec![
                pid(context.frames, place.0),
                Cell::id(place.1),
                clock.cell(context.frames, place.0, start_ns),
                Cell::int(duration_ns),
                Cell::int(bin.busy_ns()),
                share(bin.busy_ns()),
                share(bin.of_ns(Class::Computation)),
                share(bin.of_ns(Class::Communication)),
                share(bin.hidden_communication_ns()),
                share(bin.of_ns(Class::Memory)),
            ]);
        }
    }
    Ok(table)
}
