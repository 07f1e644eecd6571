//! Lanes: slices of one row of a timeline that overlap are drawn on several lines, so that none is lost.
//!
//! Viewers want slices of one line to nest strictly. Kernels of one CUDA stream may overlap all the same, and clocks
//! of calls may disagree by a nanosecond: what does not fit goes to the first lane that has room.

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
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Flat(Ends),
    /// For each lane the ends of the slices that may still be open, innermost last.
    Nested(Vec<Vec<i64>>),
}

impl Lanes {
    /// No lanes yet.
    pub fn new(nesting: Nesting) -> Lanes {
        let kind = match nesting {
            Nesting::Flat => Kind::Flat(Ends::default()),
            Nesting::Nested => Kind::Nested(Vec::new()),
        };
        Lanes { kind }
    }

    /// The first lane with room for a slice; it takes up that room.
    pub fn place(&mut self, start_ns: i64, end_ns: i64) -> u32 {
        match &mut self.kind {
            Kind::Flat(ends) => ends.place(start_ns, end_ns),
            Kind::Nested(lanes) => {
                for (lane, open) in lanes.iter_mut().enumerate() {
                    while open.last().is_some_and(|&end| end <= start_ns) {
                        open.pop();
                    }
                    if open.last().is_none_or(|&end| end_ns <= end) {
                        open.push(end_ns);
                        return lane as u32;
                    }
                }
                lanes.push(vec![end_ns]);
                lanes.len() as u32 - 1
            }
        }
    }
}

/// The last ends of flat lanes, as a tree whose nodes hold the earliest end below them: finding the first free lane
/// takes the logarithm of their number, for a row may have very many.
#[derive(Debug, Default)]
struct Ends {
    /// A complete binary tree, the root at 1, the leaves in the second half; unused leaves never are free.
    tree: Vec<i64>,
    lanes: usize,
}

impl Ends {
    fn place(&mut self, start_ns: i64, end_ns: i64) -> u32 {
        let lane = match self.tree.get(1) {
            Some(&earliest) if earliest <= start_ns => {
                let mut node = 1;
                while 2 * node < self.tree.len() {
                    node *= 2;
                    node += usize::from(self.tree[node] > start_ns);
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
        self.set(lane, end_ns);
        lane as u32
    }

    fn set(&mut self, lane: usize, end_ns: i64) {
        let mut node = self.tree.len() / 2 + lane;
        self.tree[node] = end_ns;
        while node > 1 {
            node /= 2;
            self.tree[node] = self.tree[2 * node].min(self.tree[2 * node + 1]);
        }
    }

    fn grow(&mut self) {
        let leaves = (self.tree.len() / 2 * 2).max(1);
        let old = std::mem::replace(&mut self.tree, vec![i64::MAX; 2 * leaves]);
        for (lane, &end_ns) in old[old.len() / 2..].iter().enumerate() {
            self.set(lane, end_ns);
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
