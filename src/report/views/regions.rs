//! Regions of OpenACC and OpenMP.

use super::lines::{Lines, QUANTILES};
use super::named::Named;
use crate::analysis::activity::OpenaccRegion;
use crate::analysis::labels::Labels;
use crate::analysis::{listing, totals};
use crate::cupti::operation;
use crate::error::Result;
use crate::render::table::Table;
use crate::report::Context;
use crate::trace::sink::Detail;
use trace_format::tables;
use trace_format::tables::column::openmp;
use trace_format::vocabulary::openacc_kind;

/// `openacc_sum`.
pub(super) static OPENACC_SUM: Named = Named {
    name: "openacc_sum",
    aliases: &["openaccsum"],
    title: "OpenACC Summary",
    tables: &[&tables::OPENACC],
    detail: Detail::Full,
    arguments: &[],
    key: &["Name"],
    make: openacc,
};

/// `openmp_sum`.
pub(super) static OPENMP_SUM: Named = Named {
    name: "openmp_sum",
    aliases: &["openmpsum", "openmpevtsum"],
    title: "OpenMP Summary",
    tables: &[&tables::OPENMP],
    detail: Detail::Totals,
    arguments: &[],
    key: &["Name"],
    make: openmp,
};

/// `acc_enqueue_launch@nbody.cpp:101 (kernel)`: the file without its folders.
fn region_name(labels: &Labels, region: &OpenaccRegion) -> String {
    let mut name = match openacc_kind::VOCABULARY.word(region.kind) {
        Some(word) => format!("acc_{word}"),
        None => format!("acc_{}", region.kind),
    };
    let path = labels.text(region.file);
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    if region.file != 0 && !file.is_empty() {
        name += &format!("@{file}:{}", region.line.unwrap_or(0));
    }
    let about = if region.variable == 0 { "" } else { labels.text(region.variable) };
    if !about.is_empty() {
        name += &format!(" ({about})");
    }
    name
}

/// Whole durations: what is nested in a region counts for both, as in nsys.
fn openacc(view: &Named, context: &Context) -> Result<Table> {
    let mut lines = Lines::default();
    for region in listing::openacc_regions(context.frames, context.filter)? {
        if let Some(ns) = region.duration_ns {
            lines.add(vec![region_name(context.labels, &region)], ns);
        }
    }
    Ok(lines.table(view, "Count", &["Name"]))
}

fn openmp(view: &Named, context: &Context) -> Result<Table> {
    let mut lines = Lines::default();
    let split = totals::Split::default();
    let all =
        totals::totals(context.frames, &tables::OPENMP, Some(openmp::KIND), split, QUANTILES, context.filter)?;
    for group in all.groups {
        lines.merge(vec![operation::openmp_name(group.key).to_owned()], group.stats);
    }
    Ok(lines.table(view, "Count", &["Name"]))
}
