//! Summaries: activities grouped by what they are called.

use super::stats::Stats;

/// One row of a summary: everything that shares a printed name.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryRow {
    /// The name as printed: demangled kernel, `[CUDA memcpy HtoD]`, API call without version suffix.
    pub name: String,
    /// Count, total, extremes.
    pub stats: Stats,
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
        self.rows.sort_by(|a, b| b.stats.total_ns.cmp(&a.stats.total_ns).then_with(|| a.name.cmp(&b.name)));
    }

    /// Sum over all rows.
    pub fn total_ns(&self) -> u128 {
        self.rows.iter().map(|r| r.stats.total_ns).sum()
    }
}
