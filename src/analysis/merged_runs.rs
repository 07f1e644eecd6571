//! Many sorted runs as one sorted sequence, while more runs keep coming.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::vec::IntoIter;

/// What has a start, by which it is sorted in the first place.
pub trait Starts: Ord + Copy {
    /// Nanoseconds.
    fn start_ns(&self) -> i64;
}

/// The rest of a run. Runs are ordered by their first row, and which of two with equal rows comes first makes no difference.
struct Run<T> {
    first: T,
    rest: IntoIter<T>,
}

impl<T: Ord> Ord for Run<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.first.cmp(&other.first)
    }
}

impl<T: Ord> PartialOrd for Run<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> PartialEq for Run<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T: Ord> Eq for Run<T> {}

/// Rows of all runs that were added and not yet taken.
pub struct MergedRuns<T> {
    /// The run whose first row is the first of all. Usually so is its next one, and the others are left alone.
    current: Option<Run<T>>,
    others: BinaryHeap<Reverse<Run<T>>>,
}

impl<T: Ord> Default for MergedRuns<T> {
    fn default() -> Self {
        MergedRuns { current: None, others: BinaryHeap::new() }
    }
}

impl<T: Starts> MergedRuns<T> {
    /// Adds rows, which have to be in order.
    pub fn add(&mut self, rows: Vec<T>) {
        let mut rest = rows.into_iter();
        if let Some(first) = rest.next() {
            self.others.push(Reverse(Run { first, rest }));
            self.choose();
        }
    }

    /// Makes the run that has the first row of all the current one.
    fn choose(&mut self) {
        let Some(mut other) = self.others.peek_mut() else { return };
        match &mut self.current {
            None => self.current = Some(PeekMut::pop(other).0),
            Some(current) if other.0.first < current.first => std::mem::swap(current, &mut other.0),
            Some(_) => {}
        }
    }

    /// Takes the first row of all if it fits.
    #[inline]
    pub fn next_if(&mut self, fits: impl FnOnce(&T) -> bool) -> Option<T> {
        let current = self.current.as_mut()?;
        let first = current.first;
        if !fits(&first) {
            return None;
        }
        match current.rest.next() {
            Some(next) => {
                current.first = next;
                if self.others.peek().is_some_and(|other| other.0.first.start_ns() <= next.start_ns()) {
                    self.choose();
                }
            }
            None => {
                self.current = None;
                self.choose();
            }
        }
        Some(first)
    }

    /// Takes the first row of all if it begins before a moment; `None`: whenever it begins.
    #[inline]
    pub fn next_before(&mut self, before_ns: Option<i64>) -> Option<T> {
        self.next_if(|row| before_ns.is_none_or(|before_ns| row.start_ns() < before_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Starts for (i64, u32) {
        fn start_ns(&self) -> i64 {
            self.0
        }
    }

    #[test]
    fn runs_become_one_sequence_while_more_of_them_come() {
        let mut state = 3_u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for _ in 0..200 {
            let (mut merged, mut all, mut taken) = (MergedRuns::default(), Vec::new(), Vec::new());
            for turn in 0..5_i64 {
                for _ in 0..below(4) {
                    // Nothing begins before the turn, and some of it long after.
                    let rows = below(9);
                    let row = |_| (turn * 10 + below(40) as i64, below(3) as u32);
                    let mut run: Vec<(i64, u32)> = (0..rows).map(row).collect();
                    run.sort_unstable();
                    all.extend(&run);
                    merged.add(run);
                }
                let before_ns = turn * 10 + 10;
                while let Some(row) = merged.next_before(Some(before_ns)) {
                    assert!(row.0 < before_ns, "{row:?}");
                    taken.push(row);
                }
                assert!(merged.next_if(|row| row.0 < before_ns).is_none());
            }
            while let Some(row) = merged.next_before(None) {
                taken.push(row);
            }
            all.sort_unstable();
            assert_eq!(taken, all);
        }
    }
}
