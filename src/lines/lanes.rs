//! Lanes: slices of one row of a timeline that overlap are drawn on several lines, so that none is lost.
//!
//! Viewers want slices of one line to nest strictly. Kernels of one CUDA stream may overlap all the same, and clocks
//! of calls may disagree by a nanosecond: what does not fit goes to the first lane that has room.

use std::convert::Infallible;

/// How slices of one lane may lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// Side by side only: work of the GPU, where one kernel inside another means that both ran at once.
    Flat,
    /// Side by side, or one wholly inside the other: calls and ranges of a thread.
    Nested,
}

/// The lanes of one row of a timeline. Slices are placed in the order of their starts, of equal starts the longest
/// first.
#[derive(Debug)]
pub struct Lanes {
    kind: Packing,
}

#[derive(Debug)]
enum Packing {
    Flat(FirstFree<i64>),
    Nested(Nested<()>),
}

impl Lanes {
    /// No lanes yet.
    pub fn new(nesting: Nesting) -> Lanes {
        let kind = match nesting {
            Nesting::Flat => Packing::Flat(FirstFree::default()),
            Nesting::Nested => Packing::Nested(Nested::default()),
        };
        Lanes { kind }
    }

    /// The first lane with room for a slice; it takes up that room.
    pub fn place(&mut self, start_ns: i64, end_ns: i64) -> u32 {
        match &mut self.kind {
            Packing::Flat(lanes) => lanes.place(start_ns, end_ns),
            Packing::Nested(lanes) => {
                let Ok(lane) = lanes.place::<Infallible>(start_ns, Open { end_ns, what: () }, |_, _| Ok(()));
                lane as u32
            }
        }
    }
}

/// A slice that is open in a lane of [`Nested`].
#[derive(Debug)]
pub struct Open<T> {
    /// When it ends.
    pub end_ns: i64,
    /// What whoever places slices knows it by.
    pub what: T,
}

/// Lanes in which slices lie inside each other or apart, for what runs on a thread. Slices come in the order of their
/// start, those that start together from the longest on.
#[derive(Debug)]
pub struct Nested<T> {
    /// For each lane the slices that may still be open, innermost last.
    lanes: Vec<Vec<Open<T>>>,
}

impl<T> Default for Nested<T> {
    fn default() -> Self {
        Nested { lanes: Vec::new() }
    }
}

impl<T> Nested<T> {
    /// The first lane where the slice fits. Calls `close` with the lane and every slice that ended meanwhile, the
    /// innermost first.
    ///
    /// # Errors
    /// Fails with any error that `close` returns.
    pub fn place<E>(
        &mut self,
        start_ns: i64,
        slice: Open<T>,
        mut close: impl FnMut(usize, Open<T>) -> Result<(), E>,
    ) -> Result<usize, E> {
        for (i, lane) in self.lanes.iter_mut().enumerate() {
            while let Some(ended) = lane.pop_if(|open| open.end_ns <= start_ns) {
                close(i, ended)?;
            }
            if lane.last().is_none_or(|open| slice.end_ns <= open.end_ns) {
                lane.push(slice);
                return Ok(i);
            }
        }
        self.lanes.push(vec![slice]);
        Ok(self.lanes.len() - 1)
    }

    /// Closes what is still open.
    ///
    /// # Errors
    /// Fails with any error that `close` returns.
    pub fn finish<E>(&mut self, mut close: impl FnMut(usize, Open<T>) -> Result<(), E>) -> Result<(), E> {
        for (i, lane) in self.lanes.iter_mut().enumerate() {
            while let Some(ended) = lane.pop() {
                close(i, ended)?;
            }
        }
        Ok(())
    }
}

/// Times that slices begin and end at.
pub trait Time: Copy + Ord {
    /// Later than every other time, or as late.
    const LAST: Self;
}

impl Time for i64 {
    const LAST: Self = i64::MAX;
}

impl Time for u64 {
    const LAST: Self = u64::MAX;
}

/// Lanes in which nothing overlaps at all, for what runs on a stream. Slices come in the order of their start.
///
/// The last end of each lane is in a tree whose nodes hold the earliest end below them: finding the first free lane takes
/// the logarithm of their number, for a row may have very many.
#[derive(Debug)]
pub struct FirstFree<T> {
    /// A complete binary tree, the root at 1, the leaves in the second half; unused leaves never are free.
    tree: Vec<T>,
    lanes: usize,
}

impl<T> Default for FirstFree<T> {
    fn default() -> Self {
        FirstFree { tree: Vec::new(), lanes: 0 }
    }
}

impl<T: Time> FirstFree<T> {
    /// The first lane whose last slice has ended by `start`, so that slices that touch share one; it is busy until `end`.
    /// Where slices nest and what encloses comes first, the lane is the depth.
    pub fn place(&mut self, start: T, end: T) -> u32 {
        let lane = match self.tree.get(1) {
            Some(&earliest) if earliest <= start => {
                let mut node = 1;
                while 2 * node < self.tree.len() {
                    node *= 2;
                    node += usize::from(self.tree[node] > start);
                }
                node - self.tree.len() / 2
            }
            _ => {
                self.lanes += 1;
                if self.lanes > self.tree.len() / 2 {
                    self.grow();
                }
                self.lanes - 1
            }
        };
        self.set(lane, end);
        lane as u32
    }

    /// How many lanes there are.
    pub fn count(&self) -> u32 {
        self.lanes as u32
    }

    fn set(&mut self, lane: usize, end: T) {
        let mut node = self.tree.len() / 2 + lane;
        self.tree[node] = end;
        while node > 1 {
            node /= 2;
            self.tree[node] = self.tree[2 * node].min(self.tree[2 * node + 1]);
        }
    }

    fn grow(&mut self) {
        let leaves = (self.tree.len() / 2 * 2).max(1);
        let old = std::mem::replace(&mut self.tree, vec![T::LAST; 2 * leaves]);
        for (lane, &end) in old[old.len() / 2..].iter().enumerate() {
            self.set(lane, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place(nesting: Nesting, slices: &[(i64, i64)]) -> Vec<u32> {
        let mut lanes = Lanes::new(nesting);
        slices.iter().map(|&(start, end)| lanes.place(start, end)).collect()
    }

    #[test]
    fn what_follows_shares_a_lane_and_what_overlaps_does_not() {
        let slices = [(0, 10), (5, 15), (10, 20), (15, 16), (16, 30), (17, 18), (17, 40)];
        assert_eq!(place(Nesting::Flat, &slices), [0, 1, 0, 1, 1, 2, 3]);
    }

    #[test]
    fn what_is_inside_shares_a_lane_only_where_that_means_a_call() {
        let slices = [(0, 100), (10, 20), (12, 20), (15, 25), (20, 100), (20, 101)];
        assert_eq!(place(Nesting::Nested, &slices), [0, 0, 0, 1, 0, 2]);
        assert_eq!(place(Nesting::Flat, &slices), [0, 1, 2, 3, 1, 2]);
    }

    #[test]
    fn an_open_end_holds_its_lane_to_the_end() {
        let slices = [(0, i64::MAX), (1, 2), (3, i64::MAX), (4, 5)];
        assert_eq!(place(Nesting::Flat, &slices), [0, 1, 1, 2]);
        assert_eq!(place(Nesting::Nested, &slices), [0, 0, 0, 0]);
    }

    #[test]
    fn a_hundred_thousand_at_once_are_quick() {
        let slices: Vec<(i64, i64)> = (0..100_000).map(|i| (i, 200_000)).collect();
        let placed = place(Nesting::Flat, &slices);
        assert!(placed.iter().enumerate().all(|(i, &lane)| lane == i as u32));
    }

    #[test]
    fn slices_that_overlap_get_lanes_and_lanes_are_used_again() {
        let mut lanes = FirstFree::default();
        let slices: [(i64, i64); 7] = [(0, 10), (5, 20), (6, 7), (7, 9), (10, 30), (10, 10), (20, 21)];
        assert_eq!(slices.map(|(start, end)| lanes.place(start, end)), [0, 1, 2, 2, 0, 2, 1]);
    }

    #[test]
    fn a_slice_that_outlasts_another_goes_to_the_next_lane() {
        let mut lanes = Nested::default();
        let mut closed = Vec::new();
        let mut place = |start, end_ns, frame| {
            let close = |lane, open: Open<u32>| {
                closed.push((lane, open.what));
                Ok::<(), ()>(())
            };
            lanes.place(start, Open { end_ns, what: frame }, close).unwrap()
        };
        assert_eq!(place(0, 100, 0), 0);
        assert_eq!(place(10, 50, 1), 0);
        assert_eq!(place(40, 60, 2), 1);
        assert_eq!(place(55, 100, 3), 0);
        assert_eq!(place(70, 80, 4), 0);
        assert_eq!(place(100, 100, 5), 0);
        lanes
            .finish(|lane, open| {
                closed.push((lane, open.what));
                Ok::<(), ()>(())
            })
            .unwrap();
        // Of the second lane nobody asked again until the end.
        assert_eq!(closed, [(0, 1), (0, 4), (0, 3), (0, 0), (0, 5), (1, 2)]);
    }

    #[test]
    fn the_last_moment_of_all_is_a_time_like_others() {
        let mut lanes = FirstFree::default();
        let slices = [(0, u64::MAX), (1, u64::MAX), (u64::MAX, u64::MAX), (u64::MAX, u64::MAX)];
        assert_eq!(slices.map(|(start, end)| lanes.place(start, end)), [0, 1, 0, 0]);
        assert_eq!(lanes.count(), 2);
    }

    proptest! {
        #[test]
        fn the_tree_finds_what_looking_at_every_lane_finds(mut slices in prop::collection::vec((0i64..60, 1i64..20), 0..200)) {
            slices.sort_unstable();
            let mut ends: Vec<i64> = Vec::new();
            let expected: Vec<u32> = slices
                .iter()
                .map(|&(start, length)| {
                    let free = ends.iter().position(|&end| end <= start);
                    let lane = free.unwrap_or_else(|| { ends.push(0); ends.len() - 1 });
                    ends[lane] = start + length;
                    lane as u32
                })
                .collect();
            let slices: Vec<(i64, i64)> = slices.iter().map(|&(s, l)| (s, s + l)).collect();
            prop_assert_eq!(place(Nesting::Flat, &slices), expected);
        }

        #[test]
        fn slices_of_a_lane_nest(slices in prop::collection::vec((0i64..60, 1i64..20), 0..200)) {
            let mut slices: Vec<(i64, i64)> = slices.iter().map(|&(s, l)| (s, s + l)).collect();
            slices.sort_unstable_by_key(|&(start, end)| (start, -end));
            let placed = place(Nesting::Nested, &slices);
            for (i, &(start, end)) in slices.iter().enumerate() {
                for (j, &(s, e)) in slices[..i].iter().enumerate() {
                    prop_assert!(placed[i] != placed[j] || e <= start || (s <= start && end <= e));
                }
            }
        }
    }
}
