//! Groups that are called the same become one row. There can be a million of them.

use super::stats::Stats;
use super::totals::Group;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rayon::prelude::*;
use std::hash::{BuildHasher, Hash};

/// From so many groups on, all threads find out what they are called: most of a listing's time is spent demangling names.
const MANY: usize = 1 << 10;

/// Statistics by what rows are called, in the order in which the names came.
pub(crate) struct Merged<N> {
    rows: Vec<(N, Stats)>,
    /// Hash and place of each row. Rows are large, and stay where they are while this grows.
    index: HashTable<(u64, usize)>,
    hasher: foldhash::fast::RandomState,
}

impl<N> Default for Merged<N> {
    fn default() -> Self {
        Merged { rows: Vec::new(), index: HashTable::new(), hasher: Default::default() }
    }
}

impl<N: Eq + Hash + Send> Merged<N> {
    /// The statistics of the row with this name.
    pub(crate) fn row(&mut self, name: N) -> &mut Stats {
        self.row_of(self.hasher.hash_one(&name), name)
    }

    /// Adds each group to the row that `named` calls it.
    pub(crate) fn add(&mut self, groups: Vec<Group>, named: impl Fn(&Group) -> N + Sync) {
        let hasher = &self.hasher;
        let hashed = |group: &Group| {
            let name = named(group);
            (hasher.hash_one(&name), name)
        };
        let names: Vec<(u64, N)> = match groups.len() {
            ..MANY => groups.iter().map(hashed).collect(),
            _ => groups.par_iter().map(hashed).collect(),
        };
        self.rows.reserve(names.len());
        self.index.reserve(names.len(), |&(hash, _)| hash);
        for ((hash, name), group) in names.into_iter().zip(groups) {
            self.row_of(hash, name).merge(group.stats);
        }
    }

    fn row_of(&mut self, hash: u64, name: N) -> &mut Stats {
        let rows = &mut self.rows;
        let same = |&(known, at): &(u64, usize)| known == hash && rows[at].0 == name;
        let at = match self.index.entry(hash, same, |&(hash, _)| hash) {
            Entry::Occupied(known) => known.get().1,
            Entry::Vacant(vacant) => {
                vacant.insert((hash, rows.len()));
                rows.push((name, Stats::default()));
                rows.len() - 1
            }
        };
        &mut rows[at].1
    }

    /// The rows.
    pub(crate) fn into_rows(self) -> Vec<(N, Stats)> {
        self.rows
    }
}
