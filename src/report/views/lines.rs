//! The layout that most summaries share: share of the total, total, count, mean, median, extremes, deviation, names.

use super::named::{Named, five, percent};
use crate::analysis::estimate::Estimate;
use crate::analysis::falling::sort_falling;
use crate::analysis::merged::Merged;
use crate::analysis::stats::{Stats, Wanted};
use crate::analysis::totals::Group;
use crate::render::table::{Cell, Table};
use crate::report::summary_tables::{COUNT_WITHIN, TOTAL_WITHIN, within};
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

/// One row of a summary.
pub(super) struct Line<N> {
    pub(super) name: N,
    /// Of the records.
    pub(super) stats: Stats,
    pub(super) sums: Sums,
}

/// Count and total of a row: of the records, or estimated for what they stand for.
pub(super) struct Sums {
    pub(super) count: u64,
    pub(super) total: u128,
    /// There can be a million rows, and few traces are samples.
    pub(super) estimate: Option<Box<Estimate>>,
}

impl Sums {
    fn of(stats: &Stats) -> Sums {
        let estimate = stats.sample.as_ref().map(|sample| Box::new(sample.estimate()));
        let (count, total) = estimate.as_ref().map_or((stats.count, stats.total_ns), |e| (e.count, e.total_ns));
        Sums { count, total, estimate }
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
    pub(super) fn sorted(self) -> Vec<Line<N>> {
        let line = |(name, stats): (N, Stats)| Line { sums: Sums::of(&stats), name, stats };
        let mut lines: Vec<_> = self.rows.into_rows().into_iter().map(line).collect();
        sort_falling(&mut lines, |line| line.sums.total, |a, b| a.name.order(&b.name));
        lines
    }

    /// The table. "Time (%)" is the share of what is listed, never of wall time.
    pub(super) fn table(self, view: &Named, count: &'static str, names: &[&'static str]) -> Table {
        let numbers =
            ["Time (%)", "Total Time (ns)", count, "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)"];
        let rows = self.sorted();
        let is_estimate = rows.iter().any(|line| line.sums.estimate.is_some());
        let mut numbers = numbers.to_vec();
        if is_estimate {
            numbers.extend([TOTAL_WITHIN, COUNT_WITHIN]);
        }
        let mut table = view.empty(&numbers, names);
        let all: u128 = rows.iter().map(|line| line.sums.total).sum();
        let cells = |Line { name, mut stats, sums }: Line<N>| {
            let mut row = Vec::with_capacity(numbers.len() + names.len());
            row.extend([percent(sums.total, all), Cell::int(sums.total), Cell::int(sums.count)]);
            row.extend(five(&mut stats));
            if is_estimate {
                row.extend(within(sums.estimate.as_deref()));
            }
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
