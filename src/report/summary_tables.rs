//! The summary as typed tables, with percentiles on request: what `--format` and `--percentiles` write.

use super::classic::{ReportKind, Request};
use crate::analysis::estimate::Estimate;
use crate::analysis::grouping;
use crate::analysis::labels::Labels;
use crate::analysis::stats::Wanted;
use crate::analysis::summary::Summary;
use crate::error::Result;
use crate::render::table::{Cell, Heading, Table};
use crate::trace::select::Filter;
use trace_format::schema::TableSpec;
use trace_format::tables;

/// Percentiles shown, nearest rank.
const PERCENTILES: [(&str, u32); 3] = [("P50 (ns)", 50), ("P95 (ns)", 95), ("P99 (ns)", 99)];

/// How near the true total is to an estimate of it, in 95 of 100 cases.
pub(super) const TOTAL_WITHIN: &str = "Total Time +/- (ns)";

/// The same of the count.
pub(super) const COUNT_WITHIN: &str = "Count +/-";

/// The cells that say how near total and count are to the true ones.
pub(super) fn within(estimate: Option<&Estimate>) -> [Cell; 2] {
    [
        Cell::opt(estimate.and_then(|estimate| estimate.total_within_ns)),
        Cell::opt(estimate.and_then(|estimate| estimate.count_within)),
    ]
}

/// The records that these tables are made of, by the name of the table.
pub const READ: [(&str, &[&TableSpec]); 2] = [
    ("gpu_summary", &[&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH]),
    ("api_summary", &[&tables::API]),
];

/// One table for GPU activities and one for API calls, as far as `request` asks for them, and then what is no record
/// ([`super::imported`]) in tables of its own. Times in ns; `Time (%)` is
/// the share of the table's total; the mean is exact to a tenth.
///
/// # Errors
/// A part of a file that cannot be read.
pub fn tables(labels: &Labels, filter: &Filter, request: &Request, percentiles: bool) -> Result<Vec<Table>> {
    let wanted = Wanted { quantiles: percentiles };
    let (gpu, api) = match request.what {
        ReportKind::Summary { gpu, api, .. } => (gpu, api),
        _ => (true, false),
    };
    let mut grouping = request.grouping;
    grouping.split.process |= request.per_process;
    grouping.split.device |= request.what == ReportKind::PerGpu;
    let mut out = Vec::new();
    if gpu {
        let summary = grouping::gpu_summary(labels, grouping, wanted, filter)?;
        out.push(table("gpu_summary", "GPU activities", summary, request, percentiles));
    }
    if api {
        let summary = grouping::api_summary(labels, grouping.split.process, wanted, filter)?;
        out.push(table("api_summary", "API calls", summary, request, percentiles));
    }
    out.extend(super::imported::tables(labels, filter, request)?);
    Ok(out)
}

fn table(name: &'static str, title: &'static str, summary: Summary, request: &Request, percentiles: bool) -> Table {
    let number = |name| Heading { name, is_text: false };
    let mut headings: Vec<Heading> =
        ["Time (%)", "Total Time (ns)", "Calls", "Avg (ns)", "Min (ns)"].map(number).to_vec();
    if percentiles {
        headings.extend(PERCENTILES.map(|(name, _)| number(name)));
    }
    headings.push(number("Max (ns)"));
    let is_estimate = summary.rows.iter().any(|row| row.estimate().is_some());
    if is_estimate {
        headings.extend([TOTAL_WITHIN, COUNT_WITHIN].map(number));
    }
    headings.push(Heading { name: "Name", is_text: true });
    let mut table = Table::new(name, title, headings).with_key(&["Name"]);
    let total = summary.total_ns().max(1) as f64;
    for mut row in request.order.rows_of(summary) {
        let mean = row.exact_mean_ns();
        let stats = &mut row.stats;
        let mut cells = vec![
            Cell::Fixed(stats.total_ns as f64 * 100.0 / total, 2),
            Cell::int(stats.total_ns),
            Cell::int(stats.count),
            Cell::Fixed(mean, 1),
            Cell::int(stats.min_ns),
        ];
        if percentiles {
            cells.extend(PERCENTILES.map(|(_, percent)| Cell::opt(stats.durations.percentile(percent))));
        }
        cells.push(Cell::int(stats.max_ns));
        if is_estimate {
            cells.extend(within(row.estimate()));
        }
        cells.push(Cell::Text(row.name));
        table.rows.push(cells);
    }
    table
}
