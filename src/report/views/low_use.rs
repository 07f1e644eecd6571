//! When a GPU was little used or not at all, as nsys's rules list it. Process, device and context make one table of time, as
//! in nsys.

use super::named::{Clock, Named, pid, ratio};
use crate::analysis::activity::{GpuActivity, WORK_TABLES};
use crate::analysis::listing;
use crate::analysis::low_use::{OF_PROFILER, long_gaps, stretches};
use crate::analysis::per_process::{each_process, processes_with};
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::sink::Detail;
use std::collections::BTreeMap;
use trace_format::schema::TableSpec;
use trace_format::tables;
use trace_format::tables::column::overhead;

const TABLES: &[&TableSpec] =
    &[&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH, &tables::OVERHEAD];

/// `gpu_gaps`.
pub(super) static GPU_GAPS: Named = Named {
    name: "gpu_gaps",
    aliases: &["gpu-gaps", "gpu-starv"],
    title: "GPU Gaps",
    tables: TABLES,
    detail: Detail::Full,
    arguments: &[],
    key: &[],
    make: gaps,
};

/// `gpu_time_util`.
pub(super) static GPU_TIME_UTIL: Named = Named {
    name: "gpu_time_util",
    aliases: &["gpu-time-util", "gpu-low-util"],
    title: "GPU Time Utilization",
    tables: TABLES,
    detail: Detail::Full,
    arguments: &[],
    key: &[],
    make: utilization,
};

/// Starts and ends.
type Times = Vec<(i64, i64)>;

/// Selected work with valid times, by process, device and context, in no order.
fn work(frames: &Frames, filter: &Filter) -> Result<BTreeMap<PlaceOfGap, Times>> {
    type ByPlace = BTreeMap<PlaceOfGap, Times>;
    let add = |by_place: &mut ByPlace, work: GpuActivity| {
        if let Some(ns) = work.duration_ns {
            let times = (work.start_ns, work.start_ns.saturating_add(ns));
            by_place.entry((work.process, work.device, work.context)).or_default().push(times);
        }
    };
    let merge = |a: &mut ByPlace, b: ByPlace| {
        b.into_iter().for_each(|(place, mut times)| a.entry(place).or_default().append(&mut times));
    };
    listing::fold_work(frames, &WORK_TABLES, filter, ByPlace::default, add, merge)
}

/// What the profiler itself took, by process.
fn overhead(context: &Context) -> Result<BTreeMap<u32, Times>> {
    context.frames.fold(
        &tables::OVERHEAD,
        &[overhead::START_NS, overhead::DURATION_NS, overhead::KIND],
        context.filter,
        BTreeMap::new,
        |all: &mut BTreeMap<u32, Times>, batch| {
            let (start, duration) = (batch.get(overhead::START_NS), batch.get(overhead::DURATION_NS));
            let kind = batch.get(overhead::KIND);
            batch.for_each_row(|i| {
                if !kind.get(i).is_some_and(|kind| OF_PROFILER.contains(&kind)) {
                    return;
                }
                if let (Some(start), Some(ns)) = (start.get(i), duration.get(i)) {
                    let start = start.saturating_add(batch.offset_ns);
                    all.entry(batch.process).or_default().push((start, start.saturating_add(ns)));
                }
            });
        },
        |a, b| b.into_iter().for_each(|(process, mut times)| a.entry(process).or_default().append(&mut times)),
    )
}

/// Process, device, context, and what was found there.
pub(super) type Found<T> = (PlaceOfGap, T);

/// What `find` finds in the work of each place, beside the profiler's own time. The work of one process is in memory at a time.
fn found<T: Send>(
    context: &Context,
    find: impl Fn(&mut [(i64, i64)], &[(i64, i64)]) -> Vec<T> + Sync,
) -> Result<Vec<Found<T>>> {
    let overhead = overhead(context)?;
    let (frames, filter) = (context.frames, context.filter);
    let of_processes = each_process(&processes_with(frames, &WORK_TABLES, filter), |process| {
        let overhead = overhead.get(&process).map_or(&[][..], Vec::as_slice);
        let of_place = |(place, mut times): (PlaceOfGap, Times)| {
            find(&mut times, overhead).into_iter().map(move |found| (place, found)).collect::<Vec<_>>()
        };
        let work = work(frames, &filter.within_process(process))?;
        Ok(work.into_iter().flat_map(of_place).collect::<Vec<_>>())
    })?;
    Ok(of_processes.into_iter().flatten().collect())
}

/// A process, a device and a context of it.
type PlaceOfGap = (u32, u32, u32);

fn place_cells(pid: Cell, (_, device, of_context): PlaceOfGap) -> [Cell; 3] {
    [pid, Cell::id(device), Cell::id(of_context)]
}

fn gaps(view: &Named, context: &Context) -> Result<Table> {
    let (frames, clock) = (context.frames, Clock::new(context.frames));
    let of = |process| pid(frames, process);
    Ok(gaps_table(view, found(context, long_gaps)?, of, |process, ns| clock.cell(frames, process, ns)))
}

/// Gaps of half a second and more, the longest first.
pub(super) fn gaps_table(
    view: &Named,
    mut gaps: Vec<Found<(i64, i64)>>,
    pid: impl Fn(u32) -> Cell,
    clock: impl Fn(u32, i64) -> Cell,
) -> Table {
    let mut table = view.empty(&["Row#", "Duration (ns)", "Start (ns)", "PID", "Device ID", "Context ID"], &[]);
    gaps.sort_by_key(|&(place, (start, end))| (start.saturating_sub(end), start, place));
    for (number, (place, (start, end))) in (1_u32..).zip(gaps) {
        let mut row = vec![Cell::id(number), Cell::int(end.saturating_sub(start)), clock(place.0, start)];
        row.extend(place_cells(pid(place.0), place));
        table.rows.push(row);
    }
    table
}

/// Stretches with less than half of their time in use, the least used first.
fn utilization(view: &Named, context: &Context) -> Result<Table> {
    let mut table =
        view.empty(&["Row#", "In-Use (%)", "Duration (ns)", "Start (ns)", "PID", "Device ID", "Context ID"], &[]);
    let clock = Clock::new(context.frames);
    let mut all = found(context, |work, overhead| stretches(work, overhead))?;
    all.sort_by(|(a_place, a), (b_place, b)| {
        // Shares compared as fractions, so that no rounding decides.
        let left = i128::from(a.used_ns) * i128::from(b.duration_ns());
        let right = i128::from(b.used_ns) * i128::from(a.duration_ns());
        left.cmp(&right).then_with(|| (a.start_ns, a_place).cmp(&(b.start_ns, b_place)))
    });
    for (number, (place, stretch)) in (1_u32..).zip(all) {
        let mut row = vec![
            Cell::id(number),
            ratio(stretch.used_ns.max(0) as u128 * 100, stretch.duration_ns().max(0) as u128, 1),
            Cell::int(stretch.duration_ns()),
            clock.cell(context.frames, place.0, stretch.start_ns),
        ];
        row.extend(place_cells(pid(context.frames, place.0), place));
        table.rows.push(row);
    }
    Ok(table)
}
