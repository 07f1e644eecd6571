//! Copies, fills and migrations of unified memory, by time and by size.
//!
//! nsys records migrations as copies, CUPTI as unified memory events; both are listed here under nsys's names.

use super::lines::{Lines, QUANTILES, Sums};
use super::named::{MB, Named, five_in, ratio};
use super::nsys_names::{memcpy_name, migration_name};
use crate::analysis::estimate::RowBlocks;
use crate::analysis::stats::Stats;
use crate::analysis::totals;
use crate::cupti::operation::MEMSET;
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::report::summary_tables::COUNT_WITHIN;
use crate::trace::sink::Detail;
use hashbrown::HashMap;
use trace_format::schema::{AnyColumn, TableSpec, TypedColumn};
use trace_format::tables;
use trace_format::tables::column::{any, uvm};

/// `cuda_gpu_mem_time_sum`.
pub(super) static CUDA_GPU_MEM_TIME_SUM: Named = Named {
    name: "cuda_gpu_mem_time_sum",
    aliases: &["gpumemtimesum"],
    title: "CUDA GPU MemOps Summary (by Time)",
    tables: TABLES,
    detail: Detail::Totals,
    arguments: &[],
    key: &["Operation"],
    make: by_time,
};

/// `cuda_gpu_mem_size_sum`.
pub(super) static CUDA_GPU_MEM_SIZE_SUM: Named = Named {
    name: "cuda_gpu_mem_size_sum",
    aliases: &["gpumemsizesum"],
    title: "CUDA GPU MemOps Summary (by Size)",
    tables: TABLES,
    detail: Detail::Full,
    arguments: &[],
    key: &["Operation"],
    make: by_size,
};

const TABLES: &[&TableSpec] = &[&tables::MEMCPY, &tables::MEMSET, &tables::UVM];

/// Name of the operation of a row with this `kind`; `None` for unified memory events that move nothing.
fn operation(table: &TableSpec, kind: u32) -> Option<&'static str> {
    match table {
        t if t == &tables::MEMCPY => Some(memcpy_name(kind)),
        t if t == &tables::UVM => migration_name(kind),
        _ => Some(MEMSET),
    }
}

/// As [`operation`], of the table with this name.
pub(super) fn operation_of(table: &str, kind: u32) -> Option<&'static str> {
    operation(TABLES.iter().find(|known| known.name == table)?, kind)
}

/// The column that tells operations of a table apart.
fn kind_column(table: &TableSpec) -> Option<&'static TypedColumn<u32>> {
    (table != &tables::MEMSET).then_some(any::KIND)
}

/// Adds all operations by name, behind `first`.
pub(super) fn add_operations(lines: &mut Lines, context: &Context, first: &[&str]) -> Result<()> {
    for table in TABLES {
        let split = totals::Split::default();
        let all = totals::totals(context.frames, table, kind_column(table), split, QUANTILES, context.filter)?;
        for group in all.groups {
            let Some(name) = operation(table, group.key) else { continue };
            let names = first.iter().chain([&name]).map(|&text| text.to_owned()).collect();
            lines.merge(names, group.stats);
        }
    }
    Ok(())
}

fn by_time(view: &Named, context: &Context) -> Result<Table> {
    let mut lines = Lines::default();
    add_operations(&mut lines, context, &[])?;
    Ok(lines.table(view, "Count", &["Operation"]))
}

/// Sizes by operation. Records with impossible times are in no sum, here as everywhere; a unified memory event may
/// rightly have no duration.
fn by_size(view: &Named, context: &Context) -> Result<Table> {
    let mut lines = Lines::default();
    for table in TABLES {
        let is_uvm = *table == &tables::UVM;
        let size = if is_uvm { uvm::VALUE } else { any::BYTES };
        let kind = kind_column(table);
        let mut columns: Vec<&dyn AnyColumn> = vec![any::DURATION_NS, size];
        columns.extend(kind.map(|kind| kind as &dyn AnyColumn));
        let sampling = context.filter.sampling();
        columns.extend(RowBlocks::columns(sampling, table));
        let sizes = context.frames.fold(
            table,
            &columns,
            context.filter,
            HashMap::new,
            |sums: &mut HashMap<u32, Stats>, batch| {
                let (durations, sizes) = (batch.get(any::DURATION_NS), batch.get(size));
                let kinds = kind.map(|column| batch.get(column));
                let blocks = sampling.map(|sampling| RowBlocks::of(sampling, batch));
                batch.for_each_row(|i| {
                    if is_uvm || durations.get(i).is_some() {
                        let kind = kinds.as_ref().and_then(|k| k.get(i)).unwrap_or(0);
                        let (sums, bytes) = (sums.entry(kind).or_default(), sizes.get(i).unwrap_or(0).max(0));
                        match &blocks {
                            None => sums.add(bytes, QUANTILES),
                            Some(blocks) => blocks.add(i, bytes, sums, QUANTILES),
                        }
                    }
                });
            },
            |a, b| b.into_iter().for_each(|(kind, stats)| a.entry(kind).or_default().merge(stats)),
        )?;
        for (kind, stats) in sizes {
            if let Some(name) = operation(table, kind) {
                lines.merge(vec![name.to_owned()], stats);
            }
        }
    }
    let rows = lines.sorted();
    let is_estimate = rows.iter().any(|(_, stats)| stats.sample.is_some());
    let mut numbers = vec!["Total (MB)", "Count", "Avg (MB)", "Med (MB)", "Min (MB)", "Max (MB)", "StdDev (MB)"];
    if is_estimate {
        numbers.extend(["Total +/- (MB)", COUNT_WITHIN]);
    }
    let mut table = view.empty(&numbers, &["Operation"]);
    for (name, mut stats) in rows {
        let sums = Sums::of(&stats);
        let mut row = vec![ratio(sums.total, MB, 3), Cell::int(sums.count)];
        row.extend(five_in(&mut stats, MB, 3));
        if is_estimate {
            let total = sums.estimate.as_ref().and_then(|estimate| estimate.total_within_ns);
            row.push(total.map_or(Cell::Null, |bytes| ratio(bytes, MB, 3)));
            row.push(Cell::opt(sums.estimate.as_ref().and_then(|estimate| estimate.count_within)));
        }
        row.extend(name.into_iter().map(Cell::Text));
        table.rows.push(row);
    }
    Ok(table)
}
