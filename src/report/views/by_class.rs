//! GPU work by class, as Holistic Trace Analysis breaks it down.

use super::named::{Named, five, percent, pid, ratio};
use crate::analysis::activity;
use crate::analysis::by_class::by_class;
use crate::analysis::work_class::Class;
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;

/// `gpu_class_overlap`.
pub(super) static GPU_CLASS_OVERLAP: Named = Named {
    name: "gpu_class_overlap",
    aliases: &["class_overlap"],
    title: "GPU Busy Time by Classes that Ran at Once",
    tables: &activity::WORK_TABLES,
    detail: Detail::Totals,
    arguments: &[],
    key: &["PID", "DevId", "Classes"],
    make: overlap,
};

/// `gpu_class_sum`.
pub(super) static GPU_CLASS_SUM: Named = Named {
    name: "gpu_class_sum",
    aliases: &["kernels_by_class"],
    title: "GPU Work by Class and Name",
    tables: &activity::WORK_TABLES,
    detail: Detail::Totals,
    arguments: &[],
    key: &["PID", "DevId", "Class", "Name"],
    make: names,
};

/// `hta_temporal_breakdown`.
pub(super) static HTA_TEMPORAL_BREAKDOWN: Named = Named {
    name: "hta_temporal_breakdown",
    aliases: &[],
    title: "Temporal Breakdown as of Holistic Trace Analysis",
    tables: &activity::WORK_TABLES,
    detail: Detail::Totals,
    arguments: &[],
    key: &["PID", "DevId"],
    make: temporal,
};

/// The sets of classes, each alone first.
const SETS: [&[Class]; 7] = [
    &[Class::Computation],
    &[Class::Communication],
    &[Class::Memory],
    &[Class::Computation, Class::Communication],
    &[Class::Computation, Class::Memory],
    &[Class::Communication, Class::Memory],
    &Class::ALL,
];

/// One row per device and set of classes that ran at once; together they are the busy time.
fn overlap(view: &Named, context: &Context) -> Result<Table> {
    let columns = ["PID", "DevId", "Time (ns)", "of Busy Time (%)", "Busy Time (ns)", "Classes"];
    let mut table = view.mixed(&columns, &["Classes"]);
    for (place, device) in by_class(context.labels, context.filter)? {
        let busy_ns = device.busy_ns();
        for set in SETS {
            let ns = device.exactly_ns(set);
            if ns == 0 {
                continue;
            }
            let classes: Vec<&str> = set.iter().map(|class| class.name()).collect();
            table.rows.push(vec![
                pid(context.frames, place.0),
                Cell::id(place.1),
                Cell::int(ns),
                percent(ns.unsigned_abs().into(), busy_ns.unsigned_abs().into()),
                Cell::int(busy_ns),
                classes.join(" + ").as_str().into(),
            ]);
        }
    }
    Ok(table)
}

/// One row per device, class and name, the longest total of each class first.
fn names(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "PID",
        "DevId",
        "Class",
        "Total Time (ns)",
        "of Class (%)",
        "Instances",
        "Avg (ns)",
        "Med (ns)",
        "Min (ns)",
        "Max (ns)",
        "StdDev (ns)",
        "Name",
    ];
    let mut table = view.mixed(&columns, &["Class", "Name"]);
    for (place, device) in by_class(context.labels, context.filter)? {
        let mut totals = [0_u128; Class::ALL.len()];
        device.names.iter().for_each(|((class, _), stats)| totals[*class as usize] += stats.total_ns);
        let mut rows: Vec<_> = device.names.into_iter().collect();
        // Names of equal totals stay in order.
        rows.sort_by_key(|((class, _), stats)| (*class, std::cmp::Reverse(stats.total_ns)));
        for ((class, name), mut stats) in rows {
            let mut row = vec![
                pid(context.frames, place.0),
                Cell::id(place.1),
                class.name().into(),
                Cell::int(stats.total_ns),
                percent(stats.total_ns, totals[class as usize]),
                Cell::int(stats.count),
            ];
            row.extend(five(&mut stats));
            row.push(name.into());
            table.rows.push(row);
        }
    }
    Ok(table)
}

/// One row per device. Shares have two decimals, as HTA's.
fn temporal(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "PID",
        "DevId",
        "Idle (ns)",
        "Compute (ns)",
        "Non-Compute (ns)",
        "Kernel Time (ns)",
        "Idle of Kernel Time (%)",
        "Compute of Kernel Time (%)",
        "Non-Compute of Kernel Time (%)",
    ];
    let mut table = view.empty(&columns, &[]);
    for (place, device) in by_class(context.labels, context.filter)? {
        let hta = device.hta();
        let parts = [hta.idle_ns, hta.compute_ns, hta.non_compute_ns()];
        let share = |ns: i64| match hta.span_ns {
            ..=0 => Cell::Null,
            span_ns => ratio(100 * u128::from(ns.unsigned_abs()), u128::from(span_ns.unsigned_abs()), 2),
        };
        let mut row = vec![pid(context.frames, place.0), Cell::id(place.1)];
        row.extend(parts.map(Cell::int));
        row.push(Cell::int(hta.span_ns));
        row.extend(parts.map(share));
        table.rows.push(row);
    }
    Ok(table)
}
