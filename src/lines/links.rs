//! Which calls and which GPU work belong together, in a few bits for each.
//!
//! An arrow from a launch to its kernel needs both ends, and one alone is an error to some viewers. The calls and the
//! work are read long before either is written, so all that is kept of them is one bit per correlation id; ids are
//! given out one after the other, so that is an eighth of a byte per call.

use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use trace_format::tables;
use trace_format::tables::column::any;

/// A set of correlation ids of several processes.
#[derive(Default, Debug)]
pub struct Ids {
    pages: HashMap<(u32, u64), [u64; 4]>,
}

impl Ids {
    fn place(process: u32, id: u64) -> ((u32, u64), usize, u64) {
        ((process, id >> 8), (id >> 6 & 3) as usize, 1 << (id & 63))
    }

    /// Adds an id; whether it is new. Id 0 is none and is never in a set.
    pub fn insert(&mut self, process: u32, id: u64) -> bool {
        if id == 0 {
            return false;
        }
        let (page, word, bit) = Ids::place(process, id);
        let word = &mut self.pages.entry(page).or_default()[word];
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Whether an id is there.
    pub fn contains(&self, process: u32, id: u64) -> bool {
        let (page, word, bit) = Ids::place(process, id);
        self.pages.get(&page).is_some_and(|words| words[word] & bit != 0)
    }

    fn unite(&mut self, other: Ids) {
        for (page, words) in other.pages {
            let own = self.pages.entry(page).or_default();
            own.iter_mut().zip(words).for_each(|(a, b)| *a |= b);
        }
    }
}

/// The calls that caused GPU work, and the work that a call caused, each of them to be linked once: a graph launch
/// causes many kernels, and an arrow cannot fork.
#[derive(Default, Debug)]
pub struct Links {
    calls: Ids,
    work: Ids,
    begun: Ids,
    ended: Ids,
}

impl Links {
    /// Those among the selected rows.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn find(frames: &Frames, filter: &Filter) -> Result<Links> {
        let ids = |table| {
            frames.fold(
                table,
                &[any::CORRELATION],
                filter,
                Ids::default,
                |ids: &mut Ids, batch| {
                    let correlation = batch.get(any::CORRELATION);
                    batch.for_each_row(|i| {
                        ids.insert(batch.process, correlation.get(i).unwrap_or(0));
                    });
                },
                Ids::unite,
            )
        };
        let mut work = Ids::default();
        for table in [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH] {
            work.unite(ids(table)?);
        }
        Ok(Links { calls: ids(&tables::API)?, work, ..Links::default() })
    }

    /// Whether an arrow begins at a call: it is the first with its id, and there is work of that id.
    pub fn begins(&mut self, process: u32, correlation: u64) -> bool {
        self.work.contains(process, correlation) && self.begun.insert(process, correlation)
    }

    /// Whether an arrow ends at some work: it is the first with its id, and there is a call of that id.
    pub fn ends(&mut self, process: u32, correlation: u64) -> bool {
        self.calls.contains(process, correlation) && self.ended.insert(process, correlation)
    }
}

/// A number for the arrow, unique among all processes as long as ids have 40 bits. CUPTI's have 32.
pub fn arrow(process: u32, correlation: u64) -> u64 {
    u64::from(process) << 40 ^ correlation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in() {
        let mut ids = Ids::default();
        for id in [1, 63, 64, 255, 256, u64::MAX] {
            assert!(ids.insert(0, id) && !ids.insert(0, id) && ids.contains(0, id));
            assert!(!ids.contains(1, id) && !ids.contains(0, id ^ 2));
        }
        assert!(!ids.insert(0, 0) && !ids.contains(0, 0));
        let mut other = Ids::default();
        other.insert(0, 2);
        other.unite(ids);
        assert!(other.contains(0, 1) && other.contains(0, 2) && !other.contains(0, 3));
    }

    #[test]
    fn every_arrow_has_two_ends_and_no_fork() {
        let mut links = Links::default();
        for id in [1, 2] {
            links.calls.insert(0, id);
        }
        for id in [2, 3] {
            links.work.insert(0, id);
        }
        // Calls ask where arrows begin, work asks where they end.
        assert_eq!([1, 2, 2].map(|id| links.begins(0, id)), [false, true, false]);
        assert_eq!([2, 2, 3].map(|id| links.ends(0, id)), [true, false, false]);
    }
}
