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
    /// Where these come from.
    pub origin: Origin,
}

/// Where the figures of a row come from. There can be a million rows, so that what few of them have is in a box.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Origin {
    /// All are those of the records.
    #[default]
    Records,
    /// Only some steps were recorded, and count and total are estimates for all of them.
    Sample(Box<SampleRow>),
    /// Another tool printed them.
    Printed {
        /// The mean, where it was printed. The total is rounded, so the mean cannot be computed again.
        mean_ns: Option<u64>,
        /// Whether the shortest and the longest were printed.
        has_extremes: bool,
    },
}

/// What is known of a row whose count and total are estimates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleRow {
    /// The estimates, and how good they are.
    pub estimate: Estimate,
    /// The mean of the records, rounded down,
    floor_mean_ns: u128,
    /// and exact.
    mean_ns: f64,
}

impl SummaryRow {
    /// The row of `name`. A sample of steps becomes an estimate for all of them.
    pub fn new(name: impl Into<String>, mut stats: Stats) -> SummaryRow {
        let mut origin = Origin::Records;
        if let Some(sample) = stats.sample.take() {
            let estimate = sample.estimate();
            let (floor_mean_ns, mean_ns) = (stats.floor_mean_ns(), stats.mean_ns());
            origin = Origin::Sample(Box::new(SampleRow { estimate, floor_mean_ns, mean_ns }));
            (stats.count, stats.total_ns) = (estimate.count, estimate.total_ns);
        }
        SummaryRow { name: name.into(), stats, origin }
    }

    /// How good count and total are where they are estimates.
    pub fn estimate(&self) -> Option<&Estimate> {
        match &self.origin {
            Origin::Sample(sample) => Some(&sample.estimate),
            Origin::Records | Origin::Printed { .. } => None,
        }
    }

    /// Whether the shortest and the longest are known.
    pub fn has_extremes(&self) -> bool {
        !matches!(self.origin, Origin::Printed { has_extremes: false, .. })
    }

    /// The mean as it was printed, else whole nanoseconds, rounded down.
    pub fn mean_ns(&self) -> u128 {
        match &self.origin {
            Origin::Printed { mean_ns: Some(ns), .. } => u128::from(*ns),
            Origin::Sample(sample) => sample.floor_mean_ns,
            Origin::Records | Origin::Printed { .. } => self.stats.floor_mean_ns(),
        }
    }

    /// The mean as it was printed, else that of the records.
    pub fn exact_mean_ns(&self) -> f64 {
        match &self.origin {
            Origin::Printed { mean_ns: Some(ns), .. } => *ns as f64,
            Origin::Sample(sample) => sample.mean_ns,
            Origin::Records | Origin::Printed { .. } => self.stats.mean_ns(),
        }
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
