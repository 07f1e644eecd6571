//! Summaries: activities grouped by what they are called.

use super::estimate::Estimate;
use super::falling::sort_falling;
use super::stats::Stats;

/// One row of a summary: everything that shares a printed name.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryRow {
    /// The name as printed: demangled kernel, `[CUDA memcpy HtoD]`, API call without version suffix.
    pub name: String,
    /// Count, total, extremes.
    pub stats: Stats,
    /// The mean that another tool printed. Its total is rounded, so the mean cannot be computed again.
    pub printed_mean_ns: Option<u64>,
    /// Whether the shortest and the longest are known, which another tool may not have printed.
    pub has_extremes: bool,
    /// Where only some steps were recorded: count and total are estimates for all of them, and how good these are.
    pub estimate: Option<Estimate>,
    /// The mean of what was recorded where count and total are estimates: rounded down, and exact.
    pub recorded_mean_ns: Option<(u128, f64)>,
}

impl SummaryRow {
    /// The row of `name`. A sample of steps becomes an estimate for all of them.
    pub fn new(name: impl Into<String>, mut stats: Stats) -> SummaryRow {
        let estimate = stats.sample.take().map(|sample| sample.estimate());
        let recorded_mean_ns = estimate.map(|_| (stats.floor_mean_ns(), stats.mean_ns()));
        if let Some(estimate) = &estimate {
            (stats.count, stats.total_ns) = (estimate.count, estimate.total_ns);
        }
        SummaryRow {
            name: name.into(),
            stats,
            printed_mean_ns: None,
            has_extremes: true,
            estimate,
            recorded_mean_ns,
        }
    }

    /// The mean as it was printed, else whole nanoseconds, rounded down.
    pub fn mean_ns(&self) -> u128 {
        let of_records = || self.recorded_mean_ns.map_or_else(|| self.stats.floor_mean_ns(), |(floor, _)| floor);
        self.printed_mean_ns.map_or_else(of_records, u128::from)
    }

    /// The mean of the records.
    pub fn exact_mean_ns(&self) -> f64 {
        self.recorded_mean_ns.map_or_else(|| self.stats.mean_ns(), |(_, mean)| mean)
    }
}

/// One block of a summary, its rows by falling total; rows of equal total by name, so that the order never depends
/// on the order of the records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The rows.
    pub rows: Vec<SummaryRow>,
    /// Records left out because their times are impossible.
    pub invalid: u64,
}

impl Summary {
    /// Brings rows into the order in which they are shown.
    pub fn sort(&mut self) {
        sort_falling(&mut self.rows, |row| row.stats.total_ns, |a, b| a.name.cmp(&b.name));
    }

    /// Sum over all rows.
    pub fn total_ns(&self) -> u128 {
        self.rows.iter().map(|r| r.stats.total_ns).sum()
    }
}

/// What rows are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum SortKey {
    /// Total time, longest first.
    #[default]
    Time,
    /// Number of calls, most first.
    Calls,
    /// Mean, longest first.
    Avg,
    /// Shortest duration, longest first.
    Min,
    /// Longest duration, longest first.
    Max,
    /// Name, A to Z.
    Name,
}

/// Order and number of the rows shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// What rows are ordered by.
    pub sort: SortKey,
    /// How many rows of each section; all if `None`.
    pub top: Option<usize>,
}

impl Order {
    /// The rows to show, in order. Shares of the total are still shares of all rows.
    pub fn apply(&self, summary: &Summary) -> Vec<SummaryRow> {
        self.rows_of(summary.clone())
    }

    /// As [`Order::apply`], of a summary that nobody needs any more.
    pub fn rows_of(&self, summary: Summary) -> Vec<SummaryRow> {
        let mut rows = summary.rows;
        let key = |row: &SummaryRow| match self.sort {
            SortKey::Time | SortKey::Name => row.stats.total_ns,
            SortKey::Calls => u128::from(row.stats.count),
            SortKey::Avg => row.mean_ns(),
            SortKey::Min => row.stats.min_ns as u128,
            SortKey::Max => row.stats.max_ns as u128,
        };
        match self.sort {
            SortKey::Name => rows.sort_by(|a, b| a.name.cmp(&b.name)),
            _ => sort_falling(&mut rows, key, |a, b| a.name.cmp(&b.name)),
        }
        rows.truncate(self.top.unwrap_or(usize::MAX));
        rows
    }
}
