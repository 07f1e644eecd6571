//! The layout that most summaries share: share of the total, total, count, mean, median, extremes, deviation, names.

use super::named::{Named, five, percent};
use crate::analysis::falling::sort_falling;
use crate::analysis::merged::Merged;
use crate::analysis::stats::{Stats, Wanted};
use crate::analysis::totals::Group;
use crate::render::table::{Cell, Table};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::hash::Hash;

/// Every summary prints medians.
pub(super) const QUANTILES: Wanted = Wanted { quantiles: true };

/// From so many rows on, all threads make them.
const MANY: usize = 1 << 12;

/// What a row is called. There can be a million rows, so that their texts are made when they are printed.
pub(super) trait RowName: Eq + Hash + Send + Sync {
    /// The order of rows of the same total: that of their texts.
    fn order(&self, other: &Self) -> Ordering;

    /// The cells of text.
    fn cells(&self) -> impl Iterator<Item = Cell>;
}

impl RowName for Vec<String> {
    fn order(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }

    fn cells(&self) -> impl Iterator<Item = Cell> {
        self.iter().map(|text| Cell::from(text.as_str()))
    }
}

/// Groups by their names; what reads the same is one row.
pub(super) struct Lines<N = Vec<String>> {
    rows: Merged<N>,
}

impl<N> Default for Lines<N> {
    fn default() -> Self {
        Lines { rows: Merged::default() }
    }
}

impl<N: RowName> Lines<N> {
    /// Adds a group to the row with these names.
    pub(super) fn merge(&mut self, names: N, stats: Stats) {
        self.rows.row(names).merge(stats);
    }

    /// Adds one duration to the row with these names.
    pub(super) fn add(&mut self, names: N, ns: i64) {
        self.rows.row(names).add(ns, QUANTILES);
    }

    /// Adds each group to the row that `named` calls it.
    pub(super) fn merge_all(&mut self, groups: Vec<Group>, named: impl Fn(&Group) -> N + Sync) {
        self.rows.add(groups, named);
    }

    /// The rows, the largest total first, then by name.
    pub(super) fn sorted(self) -> Vec<(N, Stats)> {
        let mut rows = self.rows.into_rows();
        sort_falling(&mut rows, |(_, stats)| stats.total_ns, |(a, _), (b, _)| a.order(b));
        rows
    }

    /// The table. "Time (%)" is the share of what is listed, never of wall time.
    pub(super) fn table(self, view: &Named, count: &'static str, names: &[&'static str]) -> Table {
        let numbers =
            ["Time (%)", "Total Time (ns)", count, "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)"];
        let mut table = view.empty(&numbers, names);
        let rows = self.sorted();
        let all: u128 = rows.iter().map(|(_, stats)| stats.total_ns).sum();
        let cells = |(name, mut stats): (N, Stats)| {
            let mut row = Vec::with_capacity(numbers.len() + names.len());
            row.extend([percent(stats.total_ns, all), Cell::int(stats.total_ns), Cell::int(stats.count)]);
            row.extend(five(&mut stats));
            row.extend(name.cells());
            row
        };
        table.rows = match rows.len() {
            ..MANY => rows.into_iter().map(cells).collect(),
            _ => rows.into_par_iter().map(cells).collect(),
        };
        table
    }
}
