//! Statistics with quantiles where keys are many: records are noted down, and sorted by key at the end.
//!
//! A group of its own for each key, which durations are added to as they come, costs a search in a large table and
//! several allocations for every few records. Eight bytes per record, sorted once, are cheaper from some ten thousand keys
//! on, and they are in order of length within their key as well.

use super::stats::{Stats, Wanted};
use super::totals::{Group, RanOn};
use rayon::prelude::*;

/// From so many records on, all threads sort.
const MANY: usize = 1 << 14;

/// The durations of records, with the key of each.
#[derive(Default)]
pub(super) struct Log {
    /// Key and duration, in parts of which each thread fills its last.
    parts: Vec<Vec<u64>>,
    /// Those of 4.29 s and longer.
    long: Vec<(u32, i64)>,
}

fn packed(key: u32, ns: u32) -> u64 {
    u64::from(key) << 32 | u64::from(ns)
}

fn key_of(packed: u64) -> u32 {
    (packed >> 32) as u32
}

impl Log {
    /// Adds one valid duration (never negative).
    #[inline]
    pub(super) fn add(&mut self, key: u32, ns: i64) {
        match u32::try_from(ns) {
            Ok(short) => {
                if self.parts.is_empty() {
                    self.parts.push(Vec::new());
                }
                if let Some(part) = self.parts.last_mut() {
                    part.push(packed(key, short));
                }
            }
            Err(_) => self.long.push((key, ns)),
        }
    }

    /// Moves all records of `other` in here.
    pub(super) fn append(&mut self, mut other: Log) {
        self.parts.append(&mut other.parts);
        self.long.append(&mut other.long);
    }

    /// Adds the statistics of each key, in the order of keys.
    pub(super) fn add_groups(mut self, place: RanOn, out: &mut Vec<Group>) {
        let mut all = match self.parts.len() {
            1 => self.parts.pop().unwrap_or_default(),
            _ => self.parts.concat(),
        };
        drop(self.parts);
        match all.len() {
            ..MANY => all.sort_unstable(),
            _ => all.par_sort_unstable(),
        }
        let short: Vec<&[u64]> = all.chunk_by(|a, b| key_of(*a) == key_of(*b)).collect();
        let group = |records: &&[u64]| {
            let durations: Vec<u32> = records.iter().map(|&packed| packed as u32).collect();
            Group {
                place,
                key: records.first().map_or(0, |&first| key_of(first)),
                stats: Stats::of_sorted(durations),
            }
        };
        let from = out.len();
        match short.len() {
            ..MANY => out.extend(short.iter().map(group)),
            // Written where they stay: groups are large, and there can be a million.
            _ => out.par_extend(short.par_iter().map(group)),
        }
        if self.long.is_empty() {
            return;
        }
        let mut groups = out.split_off(from);
        self.long.sort_unstable();
        groups.extend(self.long.chunk_by(|a, b| a.0 == b.0).map(|records| {
            let mut stats = Stats::default();
            records.iter().for_each(|&(_, ns)| stats.add(ns, Wanted { quantiles: true }));
            Group { place, key: records.first().map_or(0, |record| record.0), stats }
        }));
        groups.sort_by_key(|group| group.key);
        groups.dedup_by(|second, first| {
            let is_same = first.key == second.key;
            if is_same {
                first.stats.merge(std::mem::take(&mut second.stats));
            }
            is_same
        });
        out.append(&mut groups);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_those_of_records_added_one_by_one() {
        for count in [0, 1, 50, 3 * MANY as u64] {
            let (mut log, mut other) = (Log::default(), Log::default());
            let mut expected: Vec<Stats> = Vec::new();
            expected.resize_with(700, Stats::default);
            for i in 0..count {
                let (key, mut ns) = ((i * 7_919 % 700) as u32, (i * 104_729 % 5_000) as i64);
                // Some are too long for 32 bits, and some keys have such alone.
                if i % 11 == 0 || key == 5 {
                    ns += 1 << 40;
                }
                if i % 3 == 0 { &mut other } else { &mut log }.add(key, ns);
                expected[key as usize].add(ns, Wanted { quantiles: true });
            }
            log.append(other);
            let mut groups = Vec::new();
            log.add_groups(RanOn::ANYWHERE, &mut groups);
            assert!(groups.is_sorted_by(|a, b| a.key < b.key));
            assert_eq!(groups.len(), expected.iter().filter(|stats| stats.count > 0).count());
            for Group { key, mut stats, .. } in groups {
                let expected = &mut expected[key as usize];
                assert_eq!(stats.durations.median_times_2(), expected.durations.median_times_2());
                assert_eq!(stats.durations.percentile(90), expected.durations.percentile(90));
                stats.durations = Default::default();
                expected.durations = Default::default();
                assert_eq!(stats, *expected, "key {key} of {count} records");
            }
        }
    }
}
