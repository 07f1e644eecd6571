//! The layout that most summaries share: share of the total, total, count, mean, median, extremes, deviation, names.

use super::named::{Named, five, percent};
use crate::analysis::falling::sort_falling;
use crate::analysis::stats::{Stats, Wanted};
use crate::analysis::totals::Group;
use crate::render::table::{Cell, Table};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash};

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
    rows: Vec<(N, Stats)>,
    /// Hash and place of each row. Rows are large, and stay where they are while this grows.
    index: HashTable<(u64, usize)>,
    hasher: foldhash::fast::RandomState,
}

impl<N> Default for Lines<N> {
    fn default() -> Self {
        Lines { rows: Vec::new(), index: HashTable::new(), hasher: Default::default() }
    }
}

impl<N: RowName> Lines<N> {
    /// Adds a group to the row with these names.
    pub(super) fn merge(&mut self, names: N, stats: Stats) {
        self.row(self.hasher.hash_one(&names), names).merge(stats);
    }

    /// Adds one duration to the row with these names.
    pub(super) fn add(&mut self, names: N, ns: i64) {
        self.row(self.hasher.hash_one(&names), names).add(ns, QUANTILES);
    }

    /// Adds each group to the row that `named` calls it.
    pub(super) fn merge_all(&mut self, groups: Vec<Group>, named: impl Fn(&Group) -> N + Sync) {
        let hasher = &self.hasher;
        let hashed = |group: &Group| {
            let names = named(group);
            (hasher.hash_one(&names), names)
        };
        let names: Vec<(u64, N)> = match groups.len() {
            ..MANY => groups.iter().map(hashed).collect(),
            _ => groups.par_iter().map(hashed).collect(),
        };
        self.rows.reserve(names.len());
        self.index.reserve(names.len(), |&(hash, _)| hash);
        for ((hash, names), group) in names.into_iter().zip(groups) {
            self.row(hash, names).merge(group.stats);
        }
    }

    fn row(&mut self, hash: u64, names: N) -> &mut Stats {
        let rows = &mut self.rows;
        let same = |&(known, at): &(u64, usize)| known == hash && rows[at].0 == names;
        let at = match self.index.entry(hash, same, |&(hash, _)| hash) {
            Entry::Occupied(known) => known.get().1,
            Entry::Vacant(vacant) => {
                vacant.insert((hash, rows.len()));
                rows.push((names, Stats::default()));
                rows.len() - 1
            }
        };
        &mut rows[at].1
    }

    /// The rows, the largest total first, then by name.
    pub(super) fn sorted(self) -> Vec<(N, Stats)> {
        let mut rows = self.rows;
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
