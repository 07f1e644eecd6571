//! The layout that most summaries share: share of the total, total, count, mean, median, extremes, deviation, names.

use super::named::{Named, five, percent};
use crate::analysis::estimate::Estimate;
use crate::analysis::falling::{falling_order, sort_falling};
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

/// Count and total of a row: of the records, or estimated for what they stand for.
pub(super) struct Sums {
    pub(super) count: u64,
    pub(super) total: u128,
    pub(super) estimate: Option<Estimate>,
}

impl Sums {
    pub(super) fn of(stats: &Stats) -> Sums {
        let estimate = stats.sample.as_ref().map(|sample| sample.estimate());
        let (count, total) = estimate.as_ref().map_or((stats.count, stats.total_ns), |e| (e.count, e.total_ns));
        Sums { count, total, estimate }
    }
}

fn total<N>((_, stats): &(N, Stats)) -> u128 {
    Sums::of(stats).total
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
        sort_falling(&mut rows, total, |(a, _), (b, _)| a.order(b));
        rows
    }

    /// The table, the largest total first, then by name. "Time (%)" is the share of what is listed, never of wall time.
    pub(super) fn table(self, view: &Named, count: &'static str, names: &[&'static str]) -> Table {
        let numbers =
            ["Time (%)", "Total Time (ns)", count, "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)"];
        let rows = self.rows.into_rows();
        let is_estimate = rows.iter().any(|(_, stats)| stats.sample.is_some());
        let mut numbers = numbers.to_vec();
        if is_estimate {
            numbers.extend([TOTAL_WITHIN, COUNT_WITHIN]);
        }
        let mut table = view.empty(&numbers, names);
        let all: u128 = rows.iter().map(total).sum();
        let order = falling_order(&rows, total, |(a, _), (b, _)| a.order(b));
        let cells = |(name, mut stats): (N, Stats)| {
            let sums = Sums::of(&stats);
            let mut row = Vec::with_capacity(numbers.len() + names.len());
            row.extend([percent(sums.total, all), Cell::int(sums.total), Cell::int(sums.count)]);
            row.extend(five(&mut stats));
            if is_estimate {
                row.extend(within(sums.estimate.as_ref()));
            }
            row.extend(name.cells());
            row
        };
        let mut made: Vec<Vec<Cell>> = match rows.len() {
            ..MANY => rows.into_iter().map(cells).collect(),
            _ => rows.into_par_iter().map(cells).collect(),
        };
        table.rows = match order {
            None => made,
            Some(order) => order.into_iter().map(|at| std::mem::take(&mut made[at])).collect(),
        };
        table
    }
}
