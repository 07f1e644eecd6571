//! Copies and fills whose call makes the host wait, as nsys's rules list them.

use super::named::{Clock, Named, megabytes, pid};
use crate::analysis::activity::{ActivityKind, GpuActivity};
use crate::analysis::call_class::STAGED_BYTES;
use crate::analysis::launches::Launches;
use crate::analysis::listing;
use crate::cupti::operation::memory_kind as word;
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;
use trace_format::schema::TableSpec;
use trace_format::tables;
use trace_format::vocabulary::{memcpy_kind, memory_kind};

/// `cuda_memcpy_async`: asynchronous copies from or to pageable memory, which are none.
pub(super) static CUDA_MEMCPY_ASYNC: Named = Named {
    name: "cuda_memcpy_async",
    aliases: &["cuda-memcpy-async", "cuda-async-memcpy"],
    title: "CUDA Async Memcpy with Pageable Memory",
    tables: &[&tables::API, &tables::MEMCPY],
    detail: Detail::Full,
    arguments: &[],
    key: &[],
    make: |view, context| copies(view, context, is_pageable_async),
};

/// `cuda_memcpy_sync`: copies through calls that block.
pub(super) static CUDA_MEMCPY_SYNC: Named = Named {
    name: "cuda_memcpy_sync",
    aliases: &["cuda-memcpy-sync", "cuda-sync-memcpy"],
    title: "CUDA Synchronous Memcpy",
    tables: &[&tables::API, &tables::MEMCPY],
    detail: Detail::Full,
    arguments: &[],
    key: &[],
    make: |view, context| copies(view, context, is_blocking),
};

/// `cuda_memset_sync`: fills through calls that block.
pub(super) static CUDA_MEMSET_SYNC: Named = Named {
    name: "cuda_memset_sync",
    aliases: &["cuda-memset-sync", "cuda-sync-memset"],
    title: "CUDA Synchronous Memset",
    tables: &[&tables::API, &tables::MEMSET],
    detail: Detail::Full,
    arguments: &[],
    key: &[],
    make: fills,
};

/// A copy as the rules judge it.
struct Copy {
    kind: u32,
    src: u32,
    dst: u32,
    bytes: i64,
}

fn is_pageable_async(copy: &Copy, call: &str) -> bool {
    call.contains("Async") && [copy.src, copy.dst].contains(&memory_kind::PAGEABLE)
}

fn is_blocking(copy: &Copy, call: &str) -> bool {
    let returns_early = match copy.kind {
        memcpy_kind::HTOD | memcpy_kind::HTOA => copy.bytes <= STAGED_BYTES,
        // Copies inside a device do not block the host.
        memcpy_kind::DTOD => true,
        _ => false,
    };
    !call.contains("Async") && !returns_early
}

/// One row per copy whose call is known and that `is_wanted`, the longest first.
fn copies(view: &Named, context: &Context, is_wanted: fn(&Copy, &str) -> bool) -> Result<Table> {
    let mut table = view.mixed(
        &[
            "Duration (ns)",
            "Start (ns)",
            "Src Kind",
            "Dst Kind",
            "Bytes (MB)",
            "PID",
            "Device ID",
            "Context ID",
            "Stream ID",
            "API Name",
        ],
        &["Src Kind", "Dst Kind", "API Name"],
    );
    table.rows = rows(context, &tables::MEMCPY, |work, call| {
        let ActivityKind::Memcpy { kind, src_kind: src, dst_kind: dst, bytes, .. } = work.what else { return None };
        is_wanted(&Copy { kind, src, dst, bytes }, call)
            .then(|| vec![word(src).into(), word(dst).into(), megabytes(bytes)])
    })?;
    Ok(table)
}

/// One row per fill of memory that the host sees, through a call that blocks, the longest first.
fn fills(view: &Named, context: &Context) -> Result<Table> {
    let mut table = view.mixed(
        &[
            "Duration (ns)",
            "Start (ns)",
            "Memory Kind",
            "Bytes (MB)",
            "PID",
            "Device ID",
            "Context ID",
            "Stream ID",
            "API Name",
        ],
        &["Memory Kind", "API Name"],
    );
    let seen_by_host = [memory_kind::PINNED, memory_kind::MANAGED, memory_kind::MANAGED_STATIC];
    table.rows = rows(context, &tables::MEMSET, |work, call| {
        let ActivityKind::Memset { mem_kind, bytes } = work.what else { return None };
        (seen_by_host.contains(&mem_kind) && !call.contains("Async"))
            .then(|| vec![word(mem_kind).into(), megabytes(bytes)])
    })?;
    Ok(table)
}

/// Rows of the work of one table of which `of` makes cells, with what all rules print around them.
fn rows(
    context: &Context,
    table: &'static TableSpec,
    of: impl Fn(&GpuActivity, &str) -> Option<Vec<Cell>>,
) -> Result<Vec<Vec<Cell>>> {
    let (frames, labels) = (context.frames, context.labels);
    let clock = Clock::new(frames);
    let launches = Launches::read(frames, context.filter)?;
    let mut work = listing::work(frames, &[table], context.filter)?;
    work.retain(|work| work.duration_ns.is_some());
    // The sort is stable: of equal durations the earlier one comes first.
    work.sort_by_key(|work| std::cmp::Reverse(work.duration_ns));
    let row = |work: &GpuActivity| {
        let call = labels.api(launches.call(work)?.name);
        let cells = of(work, call)?;
        let mut row = vec![Cell::opt(work.duration_ns), clock.cell(frames, work.process, work.start_ns)];
        row.extend(cells);
        row.extend([
            pid(frames, work.process),
            Cell::id(work.device),
            Cell::id(work.context),
            Cell::id(work.stream),
            call.into(),
        ]);
        Some(row)
    };
    Ok(work.iter().filter_map(row).collect())
}
