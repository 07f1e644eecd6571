//! Calls that wait for everything that was issued, as nsys's rule `cuda_api_sync` lists them.

use super::named::{Clock, Named, pid};
use crate::analysis::listing;
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;
use trace_format::tables;

/// `cuda_api_sync`.
pub(super) static CUDA_API_SYNC: Named = Named {
    name: "cuda_api_sync",
    aliases: &["cuda-api-sync", "cuda-sync-api"],
    title: "CUDA Synchronization APIs",
    tables: &[&tables::API],
    detail: Detail::Full,
    arguments: &[],
    key: &[],
    make: list,
};

/// Waits for events are not among them: they are what the rule advises.
const WAITING: [&str; 5] = [
    "cudaDeviceSynchronize",
    "cudaThreadSynchronize",
    "cudaStreamSynchronize",
    "cuCtxSynchronize",
    "cuStreamSynchronize",
];

/// One row per call, the longest first. Calls without valid times are left out.
fn list(view: &Named, context: &Context) -> Result<Table> {
    let mut table = view.empty(&["Duration (ns)", "Start (ns)", "PID", "TID"], &["API Name"]);
    let (frames, labels) = (context.frames, context.labels);
    let clock = Clock::new(frames);
    let mut calls = listing::api_calls(frames, context.filter)?;
    calls.retain(|call| call.duration_ns.is_some() && WAITING.contains(&labels.api(call.name)));
    // The sort is stable: of equal durations the earlier call comes first.
    calls.sort_by_key(|call| std::cmp::Reverse(call.duration_ns));
    table.rows.extend(calls.iter().map(|call| {
        vec![
            Cell::opt(call.duration_ns),
            clock.cell(frames, call.process, call.start_ns),
            pid(frames, call.process),
            Cell::id(call.tid),
            labels.api(call.name).into(),
        ]
    }));
    Ok(table)
}
