//! Calls of the CUDA API.
//!
//! Names are printed without any version suffix. nsys drops four-digit suffixes alone and prints
//! `cudaGraphLaunch_v10000`; it also keeps two entry points of one function apart, which are one row here.

use super::lines::{Lines, QUANTILES};
use super::named::{Clock, Named, pid};
use crate::analysis::{launches, listing, totals};
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;
use trace_format::tables;
use trace_format::tables::column::api;

/// `cuda_api_sum`.
pub(super) static CUDA_API_SUM: Named = Named {
    name: "cuda_api_sum",
    aliases: &["cudaapisum"],
    title: "CUDA API Summary",
    tables: &[&tables::API],
    detail: Detail::Totals,
    arguments: &[],
    key: &["Name"],
    make: summary,
};

/// `cuda_api_trace`.
pub(super) static CUDA_API_TRACE: Named = Named {
    name: "cuda_api_trace",
    aliases: &["cudaapitrace"],
    title: "CUDA API Trace",
    tables: &[&tables::API],
    detail: Detail::Full,
    arguments: &[],
    key: &[],
    make: trace,
};

/// Adds all calls by name, behind `first`.
pub(super) fn add_calls(lines: &mut Lines, context: &Context, first: &[&str]) -> Result<()> {
    let split = totals::Split::default();
    let calls = totals::totals(context.frames, &tables::API, Some(api::NAME_ID), split, QUANTILES, context.filter)?;
    for group in calls.groups {
        let mut names: Vec<String> = first.iter().map(|&text| text.to_owned()).collect();
        names.push(context.labels.api(group.key).to_owned());
        lines.merge(names, group.stats);
    }
    Ok(())
}

fn summary(view: &Named, context: &Context) -> Result<Table> {
    let mut lines = Lines::default();
    add_calls(&mut lines, context, &[])?;
    Ok(lines.table(view, "Num Calls", &["Name"]))
}

fn trace(view: &Named, context: &Context) -> Result<Table> {
    let columns = ["Start (ns)", "Duration (ns)", "Name", "Result", "CorrID", "Pid", "Tid", "T-Pri", "Thread Name"];
    let mut table = view.mixed(&columns, &["Name", "Thread Name"]);
    let clock = Clock::new(context.frames);
    let threads = launches::thread_names(context.frames)?;
    for call in listing::api_calls(context.frames, context.filter)? {
        let thread = threads.get(&(call.process, call.tid)).map_or("", |&name| context.labels.text(name));
        table.rows.push(vec![
            clock.cell(context.frames, call.process, call.start_ns),
            Cell::opt(call.duration_ns),
            context.labels.api(call.name).into(),
            Cell::opt(call.result),
            Cell::id(call.correlation),
            pid(context.frames, call.process),
            Cell::id(call.tid),
            // No trace has the thread's priority but nsys's, and nothing follows from it.
            Cell::Null,
            thread.into(),
        ]);
    }
    Ok(table)
}
