//! What is no record, and what is nothing but ranges of a CPU: sums that another tool made, and CPU profiles, each
//! marked as what it is.

use super::classic::{ReportKind, Request};
use super::nvprof::messages::{Message, Prefix};
use super::nvprof::summary::{self, Section as Block};
use super::pstats;
use crate::analysis::labels::Labels;
use crate::analysis::range_profile::{NamedRanges, range_profile};
use crate::analysis::stats::Stats;
use crate::analysis::summary::{Order, Origin, SortKey, Summary, SummaryRow};
use crate::error::{Error, Result};
use crate::render::table::{Cell, Format, Heading, Table};
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::summaries::{
    Content, DurationRow, FileSummary, FunctionRow, SampleProfile, Section, SizeRow, Weight,
};
use std::cmp::Ordering;
use std::io::Write;
use trace_format::tables;

/// Whether `request` asks for something of this kind at all. Sums have no records that a filter could judge.
fn takes(request: &Request, filter: &Filter, content: &Content) -> bool {
    let ReportKind::Summary { gpu, api, openacc, .. } = request.what else { return false };
    filter.is_everything()
        && match content {
            Content::Durations(Section::Gpu, _) => gpu,
            Content::Durations(Section::Api, _) => api,
            Content::Durations(Section::OpenaccExclusive | Section::OpenaccInclusive, _) => openacc,
            _ => gpu && api,
        }
}

/// Whether the traces hold no record that a summary would show, but sums or ranges of a CPU.
///
/// # Errors
/// A part of a file that cannot be read.
pub fn is_all(labels: &Labels, filter: &Filter, request: &Request) -> Result<bool> {
    let frames = labels.frames();
    let records = [
        &tables::KERNEL,
        &tables::MEMCPY,
        &tables::MEMSET,
        &tables::API,
        &tables::OPENACC,
        &tables::OPENMP,
        &tables::UVM,
    ];
    if !matches!(request.what, ReportKind::Summary { .. }) || records.iter().any(|table| frames.rows(table) > 0) {
        return Ok(false);
    }
    let sums = frames.summaries.iter().any(|s| takes(request, filter, &s.summary.content));
    Ok(sums || !cpu_ranges(frames, filter, request)?.is_empty())
}

/// Ranges of a CPU, if they are all that there is and everything was asked for.
fn cpu_ranges(frames: &Frames, filter: &Filter, request: &Request) -> Result<Vec<NamedRanges>> {
    let all = matches!(request.what, ReportKind::Summary { gpu: true, api: true, .. });
    let work = [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH, &tables::API];
    if !all || frames.rows(&tables::RANGE) == 0 || work.iter().any(|table| frames.rows(table) > 0) {
        return Ok(Vec::new());
    }
    range_profile(frames, filter)
}

/// Writes all of it in the layout of whoever made it: nvprof's tables, `pstats`'s, and plain ones. Says whether there
/// was anything.
///
/// # Errors
/// A part of a file that cannot be read, an output that cannot be written.
pub fn write(out: &mut dyn Write, labels: &Labels, filter: &Filter, request: &Request) -> Result<bool> {
    let failed = |e: std::io::Error| Error::output(&e);
    let frames = labels.frames();
    let taken: Vec<&FileSummary> =
        frames.summaries.iter().filter(|s| takes(request, filter, &s.summary.content)).collect();
    let mut at = 0;
    let mut last_file = None;
    while let Some(first) = taken.get(at) {
        if last_file.replace(first.file) != Some(first.file) && frames.files.len() > 1 {
            let path =
                frames.files.get(first.file).map_or_else(String::new, |file| file.path.display().to_string());
            writeln!(out, "======== {path}, by {}:", first.summary.maker).map_err(failed)?;
        }
        let prefix = Prefix(first.summary.pid);
        match &first.summary.content {
            Content::Durations(..) => {
                // Sections of one table follow one another; one that comes again begins another table.
                let mut blocks: Vec<(Section, Summary)> = Vec::new();
                while let Some(next) = taken.get(at)
                    && let Content::Durations(section, rows) = &next.summary.content
                    && (next.file, next.summary.pid) == (first.file, first.summary.pid)
                    && blocks.iter().all(|(known, _)| known != section)
                {
                    blocks.push((*section, durations(rows)));
                    at += 1;
                }
                Message::Result.write(out, prefix).map_err(failed)?;
                duration_blocks(out, &blocks, request).map_err(failed)?;
                continue;
            }
            Content::Functions(functions) if !request.options.csv => {
                pstats::write(out, functions, &request.order).map_err(failed)?;
            }
            content => {
                let format = if request.options.csv { Format::Csv } else { Format::Table };
                table(content, first.summary.maker, &request.order).write(out, format).map_err(failed)?;
            }
        }
        at += 1;
    }
    let ranges = cpu_ranges(frames, filter, request)?;
    if !ranges.is_empty() {
        let format = if request.options.csv { Format::Csv } else { Format::Table };
        range_table(labels, ranges, &request.order).write(out, format).map_err(failed)?;
        return Ok(true);
    }
    Ok(!taken.is_empty())
}

/// All of it as typed tables.
///
/// # Errors
/// A part of a file that cannot be read.
pub fn tables(labels: &Labels, filter: &Filter, request: &Request) -> Result<Vec<Table>> {
    let frames = labels.frames();
    let taken = frames.summaries.iter().filter(|s| takes(request, filter, &s.summary.content));
    let mut out: Vec<Table> = taken.map(|s| table(&s.summary.content, s.summary.maker, &request.order)).collect();
    let ranges = cpu_ranges(frames, filter, request)?;
    if !ranges.is_empty() {
        out.push(range_table(labels, ranges, &request.order));
    }
    Ok(out)
}

fn durations(rows: &[DurationRow]) -> Summary {
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let rows = rows.iter().map(|row| {
        let (min_ns, max_ns) = row.extremes_ns.unwrap_or_default();
        let stats = Stats {
            count: row.calls,
            total_ns: row.total_ns.into(),
            min_ns: signed(min_ns),
            max_ns: signed(max_ns),
            ..Stats::default()
        };
        SummaryRow {
            origin: Origin::Printed { mean_ns: row.mean_ns, has_extremes: row.extremes_ns.is_some() },
            ..SummaryRow::new(row.name.clone(), stats)
        }
    });
    let mut summary = Summary { rows: rows.collect(), invalid: 0 };
    summary.sort();
    summary
}

fn duration_blocks(out: &mut dyn Write, blocks: &[(Section, Summary)], request: &Request) -> std::io::Result<()> {
    let shown: Vec<Vec<SummaryRow>> = blocks.iter().map(|(_, rows)| request.order.apply(rows)).collect();
    let sections: Vec<Block> = blocks
        .iter()
        .zip(&shown)
        .map(|((section, all), rows)| Block {
            label: section.label(),
            rows,
            total_ns: Some(all.total_ns()),
            empty: "",
        })
        .collect();
    summary::write(out, &sections, &request.options)
}

fn number(name: &'static str) -> Heading {
    Heading { name, is_text: false }
}

fn text(name: &'static str) -> Heading {
    Heading { name, is_text: true }
}

fn share(part: u128, whole: u128) -> Cell {
    Cell::Fixed(part as f64 * 100.0 / whole.max(1) as f64, 2)
}

fn table(content: &Content, maker: &str, order: &Order) -> Table {
    match content {
        Content::Durations(section, rows) => duration_table(*section, rows, maker, order),
        Content::Sizes(rows) => size_table(rows, maker, order),
        Content::Samples(profile) => sample_table(profile, order),
        Content::Functions(functions) => function_table(functions, order),
    }
}

fn duration_table(section: Section, rows: &[DurationRow], maker: &str, order: &Order) -> Table {
    let title = match section {
        Section::Gpu => "GPU activities, summed by another tool",
        Section::Api => "API calls, summed by another tool",
        Section::OpenaccExclusive | Section::OpenaccInclusive => "OpenACC regions, summed by another tool",
        Section::Openmp => "OpenMP regions, summed by another tool",
        Section::Ranges => "Ranges, summed by another tool",
        Section::HostCalls => "OS runtime and MPI calls, summed by another tool",
    };
    let mut headings =
        ["Time (%)", "Total Time (ns)", "Calls", "Avg (ns)", "Min (ns)", "Max (ns)"].map(number).to_vec();
    headings.extend(["Name", "Summed by"].map(text));
    let mut table = Table::new(section.table_name(), title, headings).with_key(&["Name", "Summed by"]);
    let summary = durations(rows);
    let total = summary.total_ns();
    for row in order.rows_of(summary) {
        let (mean, has_extremes) = (row.exact_mean_ns(), row.has_extremes());
        let SummaryRow { name, stats, .. } = row;
        table.rows.push(vec![
            share(stats.total_ns, total),
            Cell::int(stats.total_ns),
            Cell::int(stats.count),
            Cell::Fixed(mean, 1),
            Cell::opt(has_extremes.then_some(stats.min_ns)),
            Cell::opt(has_extremes.then_some(stats.max_ns)),
            Cell::Text(name),
            maker.into(),
        ]);
    }
    table
}

fn size_table(rows: &[SizeRow], maker: &str, order: &Order) -> Table {
    let mut headings =
        ["Total (bytes)", "Count", "Min (bytes)", "Max (bytes)", "Total Time (ns)"].map(number).to_vec();
    headings.extend(["Operation", "Device", "Summed by"].map(text));
    let mut table =
        Table::new("imported_size_summary", "Memory operations by size, summed by another tool", headings)
            .with_key(&["Operation", "Device", "Summed by"]);
    for row in rows.iter().take(order.top.unwrap_or(usize::MAX)) {
        table.rows.push(vec![
            Cell::opt(row.total_bytes),
            Cell::opt(row.count),
            Cell::opt(row.min_bytes),
            Cell::opt(row.max_bytes),
            Cell::opt(row.total_ns),
            Cell::Text(row.name.clone()),
            Cell::Text(row.device.clone()),
            maker.into(),
        ]);
    }
    table
}

fn sample_table(profile: &SampleProfile, order: &Order) -> Table {
    let [own, total] = match profile.weight {
        Weight::Time => ["Self Time (ns)", "Total Time (ns)"],
        Weight::Bytes => ["Self (bytes)", "Total (bytes)"],
        Weight::Count => ["Self", "Total"],
    };
    let mut headings = ["Self (%)", own, total, "Samples"].map(number).to_vec();
    headings.extend(["Function", "Thread"].map(text));
    let mut table = Table::new("cpu_samples", "CPU profile, sampled", headings).with_key(&["Function", "Thread"]);
    let mut rows: Vec<_> = profile.rows.iter().collect();
    rows.sort_by(|a, b| {
        let by_number = match order.sort {
            SortKey::Name => Ordering::Equal,
            SortKey::Calls => b.samples.cmp(&a.samples),
            SortKey::Max => b.total.cmp(&a.total),
            SortKey::Time | SortKey::Avg | SortKey::Min => (b.own, b.total).cmp(&(a.own, a.total)),
        };
        by_number.then_with(|| a.name.cmp(&b.name))
    });
    for row in rows.into_iter().take(order.top.unwrap_or(usize::MAX)) {
        table.rows.push(vec![
            Cell::Fixed(row.own as f64 * 100.0 / profile.total.max(1) as f64, 2),
            Cell::int(row.own),
            Cell::int(row.total),
            Cell::int(row.samples),
            Cell::Text(row.name.clone()),
            Cell::Text(profile.name.clone()),
        ]);
    }
    table
}

fn function_table(functions: &[FunctionRow], order: &Order) -> Table {
    let mut headings = ["Calls", "Primitive Calls", "Self Time (s)", "Total Time (s)", "Line"].map(number).to_vec();
    headings.extend(["Function", "File"].map(text));
    let mut table = Table::new("cpu_functions", "CPU profile, Python functions", headings)
        .with_key(&["Line", "Function", "File"]);
    for row in pstats::sorted(functions, order).into_iter().take(order.top.unwrap_or(usize::MAX)) {
        table.rows.push(vec![
            Cell::int(row.calls),
            Cell::int(row.primitive_calls),
            Cell::Fixed(row.own_s, 9),
            Cell::Fixed(row.total_s, 9),
            Cell::int(row.line),
            Cell::Text(row.function.clone()),
            Cell::Text(row.file.clone()),
        ]);
    }
    table
}

fn range_table(labels: &Labels, ranges: Vec<NamedRanges>, order: &Order) -> Table {
    let mut headings = ["Self (%)", "Self Time (ns)", "Total Time (ns)", "Calls"].map(number).to_vec();
    headings.push(text("Range"));
    let mut table = Table::new("cpu_ranges", "CPU profile, ranges by name", headings).with_key(&["Range"]);
    let whole: u128 = ranges.iter().map(|row| row.own_ns).sum();
    let mut rows: Vec<(&str, NamedRanges)> = ranges.into_iter().map(|row| (labels.text(row.name), row)).collect();
    rows.sort_by(|(a, x), (b, y)| {
        let by_key = match order.sort {
            SortKey::Name => std::cmp::Ordering::Equal,
            SortKey::Calls => y.calls.cmp(&x.calls),
            SortKey::Max => y.total_ns.cmp(&x.total_ns),
            SortKey::Time | SortKey::Avg | SortKey::Min => (y.own_ns, y.total_ns).cmp(&(x.own_ns, x.total_ns)),
        };
        by_key.then_with(|| a.cmp(b))
    });
    for (name, row) in rows.into_iter().take(order.top.unwrap_or(usize::MAX)) {
        table.rows.push(vec![
            share(row.own_ns, whole),
            Cell::int(row.own_ns),
            Cell::int(row.total_ns),
            Cell::int(row.calls),
            name.into(),
        ]);
    }
    table
}
