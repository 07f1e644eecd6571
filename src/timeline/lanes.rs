//! Lanes for slices that overlap: one rectangle never covers another.

use super::column::Column;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// For slices in order of start the first lane that is free, from 0, and how many lanes that takes.
///
/// A lane is free once its last slice has ended, so slices that touch share one. Where slices nest and what encloses
/// comes first, as calls and ranges of a thread do, the lane is the depth.
pub fn lanes(slices: impl Iterator<Item = (u64, u64)>) -> (Column, u32) {
    let mut column = Column::default();
    let mut busy: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
    let mut free: BTreeSet<u32> = BTreeSet::new();
    let mut count = 0;
    for (start, end) in slices {
        while let Some(&Reverse((until, lane))) = busy.peek().filter(|Reverse((until, _))| *until <= start) {
            debug_assert!(until <= start);
            busy.pop();
            free.insert(lane);
        }
        let lane = free.pop_first().unwrap_or_else(|| {
            count += 1;
            count - 1
        });
        busy.push(Reverse((end, lane)));
        // Lane 0 is left out until there is another: most rows need no lanes at all.
        column.push((lane > 0 || !column.is_all_null()).then_some(u64::from(lane)));
    }
    (column, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(slices: &[(u64, u64)]) -> (Vec<u32>, u32) {
        let (column, count) = lanes(slices.iter().copied());
        ((0..slices.len()).map(|i| column.id(i, 0)).collect(), count)
    }

    #[test]
    fn slices_take_the_first_free_lane() {
        assert_eq!(of(&[]), (vec![], 0));
        assert_eq!(of(&[(0, 10), (10, 20), (20, 20), (20, 30)]), (vec![0, 0, 0, 0], 1));
        assert_eq!(of(&[(0, 10), (5, 15), (9, 12), (10, 11), (12, 13)]), (vec![0, 1, 2, 0, 0], 3));
    }

    #[test]
    fn the_lane_of_what_nests_is_its_depth() {
        let nested = [(0, 100), (0, 50), (10, 20), (20, 50), (20, 30), (50, 100), (100, 100), (100, 200)];
        assert_eq!(of(&nested), (vec![0, 1, 2, 2, 3, 1, 0, 0], 4));
    }

    #[test]
    fn no_two_slices_of_a_lane_overlap_and_no_lane_is_wasted() {
        let mut state = 7_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut slices = Vec::new();
        for _ in 0..2_000 {
            let start = next(10_000);
            slices.push((start, start + next(200)));
        }
        slices.sort_unstable();
        let (lanes, count) = of(&slices);
        let mut last = vec![0; count as usize];
        for (&(start, end), &lane) in slices.iter().zip(&lanes) {
            assert!((0..lane as usize).all(|lower| last[lower] > start), "a lower lane was free");
            assert!(last[lane as usize] <= start, "two slices overlap");
            last[lane as usize] = end;
        }
        assert!((0..count).all(|lane| lanes.contains(&lane)));
    }
}
