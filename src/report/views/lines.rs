//! The layout that most summaries share: share of the total, total, count, mean, median, extremes, deviation, names.

use super::named::{Named, five, percent};
use crate::analysis::stats::{Stats, Wanted};
use crate::render::table::{Cell, Table};
use hashbrown::HashMap;

/// Every summary prints medians.
pub(super) const QUANTILES: Wanted = Wanted { quantiles: true };

/// Groups by their names; what reads the same is one row.
#[derive(Default)]
pub(super) struct Lines {
    rows: HashMap<Vec<String>, Stats>,
}

impl Lines {
    /// Adds a group to the row with these names.
    pub(super) fn merge(&mut self, names: Vec<String>, stats: Stats) {
        self.rows.entry(names).or_default().merge(stats);
    }

    /// Adds one duration to the row with these names.
    pub(super) fn add(&mut self, names: Vec<String>, ns: i64) {
        self.rows.entry(names).or_default().add(ns, QUANTILES);
    }

    /// The rows, the largest total first, then by name.
    pub(super) fn sorted(self) -> Vec<(Vec<String>, Stats)> {
        let mut rows: Vec<_> = self.rows.into_iter().collect();
        rows.sort_by(|(a, x), (b, y)| y.total_ns.cmp(&x.total_ns).then_with(|| a.cmp(b)));
        rows
    }

    /// The table. "Time (%)" is the share of what is listed, never of wall time.
    pub(super) fn table(self, view: &Named, count: &'static str, names: &[&'static str]) -> Table {
        let numbers =
            ["Time (%)", "Total Time (ns)", count, "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)"];
        let mut table = view.empty(&numbers, names);
        let rows = self.sorted();
        let all: u128 = rows.iter().map(|(_, stats)| stats.total_ns).sum();
        for (names, mut stats) in rows {
            let mut row = vec![percent(stats.total_ns, all), Cell::int(stats.total_ns), Cell::int(stats.count)];
            row.extend(five(&mut stats));
            row.extend(names.into_iter().map(Cell::Text));
            table.rows.push(row);
        }
        table
    }
}
