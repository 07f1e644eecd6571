//! Slices that share a row without crossing: what overlaps in part goes to another lane.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Lanes in which nothing overlaps at all, for what runs on a stream. Slices come in the order of their start.
#[derive(Default)]
pub(super) struct Separate {
    free: BTreeSet<usize>,
    busy: BinaryHeap<Reverse<(i64, usize)>>,
    count: usize,
}

impl Separate {
    /// The first lane that is free from `start_ns` on.
    pub(super) fn place(&mut self, start_ns: i64, end_ns: i64) -> usize {
        while let Some(&Reverse((end, lane))) = self.busy.peek()
            && end <= start_ns
        {
            self.busy.pop();
            self.free.insert(lane);
        }
        let lane = self.free.pop_first().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.busy.push(Reverse((end_ns, lane)));
        lane
    }
}

/// A slice that is open in a lane of [`Nested`].
pub(super) struct Open {
    pub(super) end_ns: i64,
    pub(super) frame: u32,
}

/// Lanes in which slices lie inside each other or apart, for what runs on a thread. Slices come in the order of their
/// start, those that start together from the longest on.
#[derive(Default)]
pub(super) struct Nested {
    lanes: Vec<Vec<Open>>,
}

impl Nested {
    /// The first lane where the slice fits. Calls `close` with the lane and every slice that ended meanwhile, the
    /// innermost first.
    ///
    /// # Errors
    /// Whatever `close` returns.
    pub(super) fn place<E>(
        &mut self,
        start_ns: i64,
        slice: Open,
        mut close: impl FnMut(usize, Open) -> Result<(), E>,
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
    /// Whatever `close` returns.
    pub(super) fn finish<E>(&mut self, mut close: impl FnMut(usize, Open) -> Result<(), E>) -> Result<(), E> {
        for (i, lane) in self.lanes.iter_mut().enumerate() {
            while let Some(ended) = lane.pop() {
                close(i, ended)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_that_overlap_get_lanes_and_lanes_are_used_again() {
        let mut lanes = Separate::default();
        let slices = [(0, 10), (5, 20), (6, 7), (7, 9), (10, 30), (10, 10), (20, 21)];
        assert_eq!(slices.map(|(start, end)| lanes.place(start, end)), [0, 1, 2, 2, 0, 2, 1]);
    }

    #[test]
    fn a_slice_that_outlasts_another_goes_to_the_next_lane() {
        let mut lanes = Nested::default();
        let mut closed = Vec::new();
        let mut place = |start, end_ns, frame| {
            let close = |lane, open: Open| {
                closed.push((lane, open.frame));
                Ok::<(), ()>(())
            };
            lanes.place(start, Open { end_ns, frame }, close).unwrap()
        };
        assert_eq!(place(0, 100, 0), 0);
        assert_eq!(place(10, 50, 1), 0);
        assert_eq!(place(40, 60, 2), 1);
        assert_eq!(place(55, 100, 3), 0);
        assert_eq!(place(70, 80, 4), 0);
        assert_eq!(place(100, 100, 5), 0);
        lanes
            .finish(|lane, open| {
                closed.push((lane, open.frame));
                Ok::<(), ()>(())
            })
            .unwrap();
        // Of the second lane nobody asked again until the end.
        assert_eq!(closed, [(0, 1), (0, 4), (0, 3), (0, 0), (0, 5), (1, 2)]);
    }
}
