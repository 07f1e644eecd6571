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
    /// Hash and place of the rows that came first, if these were many, in order of the hash: all threads make such an index.
    sorted: Vec<(u64, usize)>,
    /// Hash and place of the others. Rows are large, and stay where they are while this grows.
    index: HashTable<(u64, usize)>,
    hasher: foldhash::fast::RandomState,
}

impl<N> Default for Merged<N> {
    fn default() -> Self {
        Merged { rows: Vec::new(), sorted: Vec::new(), index: HashTable::new(), hasher: Default::default() }
    }
}

impl<N: Eq + Hash + Send + Sync> Merged<N> {
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
        let (hashes, names): (Vec<u64>, Vec<N>) = match groups.len() {
            ..MANY => groups.iter().map(hashed).unzip(),
            _ => groups.par_iter().map(hashed).unzip(),
        };
        if self.rows.is_empty() && groups.len() >= MANY {
            return self.begin(&hashes, names, groups);
        }
        for ((hash, name), group) in hashes.into_iter().zip(names).zip(groups) {
            self.row_of(hash, name).merge(group.stats);
        }
    }

    /// Adds many groups to no rows. Mostly all are called differently, so that only those with equal hashes are compared.
    fn begin(&mut self, hashes: &[u64], names: Vec<N>, groups: Vec<Group>) {
        let mut sorted: Vec<(u64, usize)> = hashes.iter().copied().zip(0..).collect();
        sorted.par_sort_unstable();
        // For each group, the first one that is called the same.
        let mut first_of: Vec<usize> = (0..groups.len()).collect();
        for run in sorted.chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() > 1) {
            for (i, &(_, at)) in run.iter().enumerate() {
                let same =
                    run[..i].iter().find(|(_, other)| first_of[*other] == *other && names[*other] == names[at]);
                first_of[at] = same.map_or(at, |&(_, first)| first);
            }
        }
        sorted.retain(|&(_, at)| first_of[at] == at);
        let all = names.into_par_iter().zip(groups).map(|(name, group)| (name, group.stats));
        if sorted.len() == first_of.len() {
            self.rows = all.collect();
        } else {
            let all: Vec<(N, Stats)> = all.collect();
            // From here on, the row of each group.
            let mut row_of = first_of;
            for (at, (name, stats)) in all.into_iter().enumerate() {
                let first = row_of[at];
                if first == at {
                    row_of[at] = self.rows.len();
                    self.rows.push((name, stats));
                } else {
                    row_of[at] = row_of[first];
                    self.rows[row_of[at]].1.merge(stats);
                }
            }
            sorted.iter_mut().for_each(|(_, at)| *at = row_of[*at]);
        }
        self.sorted = sorted;
    }

    fn row_of(&mut self, hash: u64, name: N) -> &mut Stats {
        let rows = &mut self.rows;
        let same = |&(known, at): &(u64, usize)| known == hash && rows[at].0 == name;
        let from = self.sorted.partition_point(|&(known, _)| known < hash);
        let run = self.sorted[from..].iter().take_while(|&&(known, _)| known == hash);
        let known = { run }.find(|entry| same(entry)).map(|&(_, at)| at);
        if let Some(at) = known {
            return &mut rows[at].1;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stats::Wanted;
    use crate::analysis::totals::RanOn;
    use std::collections::BTreeMap;

    /// `count` groups with one duration each, called by their key modulo `names`.
    fn groups(count: u32, from: u32) -> Vec<Group> {
        let group = |key| {
            let mut stats = Stats::default();
            stats.add(i64::from(key * 7 + 1), Wanted::default());
            Group { place: RanOn::ANYWHERE, key, stats }
        };
        (from..from + count).map(group).collect()
    }

    #[test]
    fn few_and_many_groups_become_the_rows_of_their_names() {
        let many = MANY as u32;
        // The first and the second batch, and how many names there are.
        for (first, second, names) in [
            (5, 3, 2),
            (many, 0, u32::MAX),
            (3 * many, many, u32::MAX),
            (3 * many, 2 * many, 7),
            (3 * many, 9, many),
            (9, 3 * many, many),
        ] {
            let name = |group: &Group| format!("f{}", group.key % names);
            let mut merged = Merged::default();
            merged.add(groups(first, 0), name);
            merged.add(groups(second, first / 2), name);
            merged.row("f1".to_owned()).add(4, Wanted::default());
            let mut expected: BTreeMap<String, Stats> = BTreeMap::new();
            for group in groups(first, 0).into_iter().chain(groups(second, first / 2)) {
                expected.entry(name(&group)).or_default().merge(group.stats);
            }
            expected.entry("f1".to_owned()).or_default().add(4, Wanted::default());
            let rows = merged.into_rows();
            assert_eq!(rows.len(), expected.len(), "{first} and {second} groups of {names} names");
            assert!(rows.into_iter().collect::<BTreeMap<_, _>>() == expected, "{first} and {second} of {names}");
        }
    }

    /// A name whose hash is that of many others.
    #[derive(PartialEq, Eq, Clone, Debug, PartialOrd, Ord)]
    struct Alike(u32);

    impl Hash for Alike {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            (self.0 % 3).hash(state);
        }
    }

    #[test]
    fn names_of_equal_hashes_stay_apart() {
        let mut merged = Merged::default();
        merged.add(groups(2 * MANY as u32, 0), |group| Alike(group.key % 30));
        merged.add(groups(60, 0), |group| Alike(group.key % 60));
        let rows: BTreeMap<Alike, u64> =
            merged.into_rows().into_iter().map(|(name, stats)| (name, stats.count)).collect();
        let expected = |name: u32| match name {
            ..30 => (0..2 * MANY as u32).filter(|key| key % 30 == name).count() as u64 + 1,
            _ => 1,
        };
        assert_eq!(rows, (0..60).map(|name| (Alike(name), expected(name))).collect());
    }
}
