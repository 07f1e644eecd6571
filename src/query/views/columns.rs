//! What views are built from: columns with their documentation, frames from rows, statistics with shares.

use crate::analysis::stats::Stats;
use crate::error::{Error, Result};
use crate::query::source::{SourceColumn, Type};
use polars::prelude::*;
use trace_format::schema::{TableSpec, Unit};

/// A column without a unit.
pub const fn plain(name: &'static str, ty: Type, doc: &'static str) -> SourceColumn {
    SourceColumn { name, ty, unit: Unit::Other, doc }
}

/// A text column.
pub const fn text(name: &'static str, doc: &'static str) -> SourceColumn {
    plain(name, Type::Text, doc)
}

/// An id of 32 bits.
pub const fn id(name: &'static str, doc: &'static str) -> SourceColumn {
    SourceColumn { name, ty: Type::Id, unit: Unit::Object, doc }
}

/// An id of a row of `table`, which is a table or a view under the same name.
pub const fn id_of(table: &'static TableSpec, name: &'static str, doc: &'static str) -> SourceColumn {
    SourceColumn { name, ty: Type::Id, unit: Unit::Id(table), doc }
}

/// An id of 64 bits.
pub const fn id64(name: &'static str, doc: &'static str) -> SourceColumn {
    SourceColumn { name, ty: Type::Id64, unit: Unit::Object, doc }
}

/// An id of 64 bits of a row of `table`.
pub const fn id64_of(table: &'static TableSpec, name: &'static str, doc: &'static str) -> SourceColumn {
    SourceColumn { name, ty: Type::Id64, unit: Unit::Id(table), doc }
}

/// A point in time.
pub const fn time(name: &'static str, doc: &'static str) -> SourceColumn {
    SourceColumn { name, ty: Type::Int, unit: Unit::Time, doc }
}

/// A length of time.
pub const fn ns(name: &'static str, doc: &'static str) -> SourceColumn {
    SourceColumn { name, ty: Type::Int, unit: Unit::Length, doc }
}

/// A size.
pub const fn bytes(name: &'static str, doc: &'static str) -> SourceColumn {
    SourceColumn { name, ty: Type::Int, unit: Unit::Bytes, doc }
}

/// A number of things.
pub const fn count(name: &'static str, doc: &'static str) -> SourceColumn {
    SourceColumn { name, ty: Type::Int, unit: Unit::Count, doc }
}

/// The process that a row belongs to.
pub const PROCESS: SourceColumn = id("process", "Ordinal of the process, see `processes`.");

/// What every view of statistics has, after its keys.
pub const STATISTICS: [SourceColumn; 10] = [
    count("count", "How many with valid times."),
    ns("total_ns", "Sum of durations; NULL beyond 64 bits."),
    plain("share", Type::Float, "Of the sum of `total_ns` over the whole view, 0 to 1."),
    SourceColumn { name: "avg_ns", ty: Type::Float, unit: Unit::Length, doc: "Mean duration." },
    ns("min_ns", "Shortest duration."),
    ns("p50_ns", "Half of all durations are not longer (nearest rank, exact)."),
    ns("p95_ns", "95 of 100 durations are not longer."),
    ns("p99_ns", "99 of 100 durations are not longer."),
    ns("max_ns", "Longest duration."),
    SourceColumn {
        name: "stddev_ns",
        ty: Type::Float,
        unit: Unit::Length,
        doc: "Sample standard deviation; 0 for one.",
    },
];

/// Columns of statistics of `groups`, in the order of [`STATISTICS`].
pub fn statistics(groups: &mut [Stats]) -> Vec<Column> {
    let all: u128 = groups.iter().map(|s| s.total_ns).sum();
    let share = |s: &Stats| if all == 0 { 0.0 } else { s.total_ns as f64 / all as f64 };
    let integers = |name: &str, values: Vec<Option<i64>>| Column::new(name.into(), values);
    let numbers = |name: &str, values: Vec<f64>| Column::new(name.into(), values);
    let percentile = |groups: &mut [Stats], name: &str, percent: u32| {
        integers(name, groups.iter_mut().map(|s| s.durations.percentile(percent)).collect())
    };
    vec![
        integers("count", groups.iter().map(|s| i64::try_from(s.count).ok()).collect()),
        integers("total_ns", groups.iter().map(|s| i64::try_from(s.total_ns).ok()).collect()),
        numbers("share", groups.iter().map(share).collect()),
        numbers("avg_ns", groups.iter().map(Stats::mean_ns).collect()),
        integers("min_ns", groups.iter().map(|s| (s.count > 0).then_some(s.min_ns)).collect()),
        percentile(groups, "p50_ns", 50),
        percentile(groups, "p95_ns", 95),
        percentile(groups, "p99_ns", 99),
        integers("max_ns", groups.iter().map(|s| (s.count > 0).then_some(s.max_ns)).collect()),
        numbers("stddev_ns", groups.iter().map(Stats::sample_stddev_ns).collect()),
    ]
}

/// A frame of columns of equal length.
pub fn frame(rows: usize, columns: Vec<Column>) -> Result<DataFrame> {
    DataFrame::new(rows, columns).map_err(failed)
}

/// Text columns; empty text is NULL.
pub fn texts<'a>(name: &'static str, values: impl Iterator<Item = &'a str>) -> Column {
    let values: StringChunked = values.map(|text| (!text.is_empty()).then_some(text)).collect();
    values.with_name(name.into()).into_column()
}

/// An error of Polars inside a view.
pub fn failed(error: PolarsError) -> Error {
    Error::new(error.to_string())
}
