//! Where calls stand in a list, by process and correlation id.

use hashbrown::HashMap;

/// Positions by process and correlation id.
///
/// Ids of a process are handed out in sequence, so a table with a place for every id is small, and work that follows other
/// work finds its call beside that one's. Ids that lie far apart, as some tools write them, are hashed.
#[derive(Debug, Default)]
pub struct ByCorrelation(HashMap<u32, Ids>);

#[derive(Debug)]
enum Ids {
    /// The position of id `first + i`, or [`NONE`].
    Dense {
        first: u64,
        positions: Vec<u32>,
    },
    Hashed(HashMap<u64, u32>),
}

/// No position: as many calls as this do not fit into memory.
const NONE: u32 = u32::MAX;

/// A table of ids may have this many places for each id that is there.
const PLACES_PER_ID: u64 = 4;

/// The ids of one process.
#[derive(Clone, Copy)]
struct Extent {
    first: u64,
    last: u64,
    count: u64,
}

impl ByCorrelation {
    /// Of `keys` in the order of their positions. Id 0 is none. Of several positions with one key the one stays that
    /// `precedes` the others.
    pub fn new(
        keys: impl Iterator<Item = (u32, u64)> + Clone,
        precedes: impl Fn(u32, u32) -> bool,
    ) -> ByCorrelation {
        let mut extents: HashMap<u32, Extent> = HashMap::new();
        for (process, id) in keys.clone().filter(|(_, id)| *id != 0) {
            let extent = extents.entry(process).or_insert(Extent { first: id, last: id, count: 0 });
            extent.first = extent.first.min(id);
            extent.last = extent.last.max(id);
            extent.count += 1;
        }
        let mut all: HashMap<u32, Ids> =
            extents.into_iter().map(|(process, ids)| (process, Ids::new(ids))).collect();
        for (position, (process, id)) in (0..NONE).zip(keys) {
            let Some(ids) = all.get_mut(&process).filter(|_| id != 0) else { continue };
            let place = ids.place(id);
            if *place == NONE || precedes(position, *place) {
                *place = position;
            }
        }
        ByCorrelation(all)
    }

    /// The position of an id of a process.
    pub fn get(&self, process: u32, id: u64) -> Option<u32> {
        let found = match self.0.get(&process)? {
            Ids::Dense { first, positions } => *positions.get(usize::try_from(id.checked_sub(*first)?).ok()?)?,
            Ids::Hashed(positions) => *positions.get(&id)?,
        };
        (found != NONE).then_some(found)
    }
}

impl Ids {
    fn new(extent: Extent) -> Ids {
        let places = (extent.last - extent.first).saturating_add(1);
        match usize::try_from(places) {
            Ok(places) if places as u64 / PLACES_PER_ID <= extent.count => {
                Ids::Dense { first: extent.first, positions: vec![NONE; places] }
            }
            _ => Ids::Hashed(HashMap::with_capacity(extent.count as usize)),
        }
    }

    /// The place of an id within the extent.
    fn place(&mut self, id: u64) -> &mut u32 {
        match self {
            Ids::Dense { first, positions } => &mut positions[(id - *first) as usize],
            Ids::Hashed(positions) => positions.entry(id).or_insert(NONE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_dense(ids: &ByCorrelation, process: u32) -> bool {
        matches!(ids.0[&process], Ids::Dense { .. })
    }

    #[test]
    fn of_several_calls_with_one_id_the_first_is_found() {
        let keys = [(0, 7), (0, 5), (0, 0), (1, 5), (0, 7), (0, 9)];
        let starts = [30, 10, 5, 40, 20, 50];
        let ids = ByCorrelation::new(keys.into_iter(), |a, b| starts[a as usize] < starts[b as usize]);
        assert!(is_dense(&ids, 0));
        let found = [5, 6, 7, 8, 9, 10, 4, 0, u64::MAX].map(|id| ids.get(0, id));
        assert_eq!(found, [Some(1), None, Some(4), None, Some(5), None, None, None, None]);
        assert_eq!((ids.get(1, 5), ids.get(1, 7), ids.get(2, 5)), (Some(3), None, None));
    }

    #[test]
    fn ids_far_apart_take_no_table() {
        let keys = [(0, 1), (0, u64::MAX), (0, 1 << 40), (0, 1)];
        let ids = ByCorrelation::new(keys.into_iter(), |a, b| a > b);
        assert!(!is_dense(&ids, 0));
        assert_eq!([1, 2, 1 << 40, u64::MAX].map(|id| ids.get(0, id)), [Some(3), None, Some(2), Some(1)]);
        assert_eq!(ByCorrelation::new(std::iter::empty(), |_, _| true).get(0, 1), None);
    }
}
