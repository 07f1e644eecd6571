//! Launch shapes that importers read, interned once.

use hashbrown::HashTable;
use std::hash::BuildHasher;
use trace_format::schema::AnyColumn as _;
use trace_format::tables::ShapeRow;
use trace_format::tables::column::shape;

/// Launch shapes by id; equal shapes share one. The `id` field of a stored row is its own id.
///
/// Grids that follow the data make millions of shapes, of which everything but the grid repeats. So a shape is kept as
/// its grid and the number of the rest.
#[derive(Default)]
pub struct Shapes {
    grids: Vec<Grid>,
    /// Hash and id: hashing millions again whenever the table grows is slow.
    index: HashTable<(u32, u32)>,
    rests: Vec<ShapeRow>,
    rest_index: HashTable<u32>,
    hasher: foldhash::fast::FixedState,
}

/// One shape: the number of the rest, and the grid in blocks; [`ELSEWHERE`] where the rest says it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Grid {
    rest: u32,
    blocks: [u32; 3],
}

/// A side of a grid that is null or does not fit into 32 bits: the rest has it as it is.
const ELSEWHERE: u32 = u32::MAX;

/// The bits of a shortened hash spread over the 64 that a table looks at.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What makes two rests the same: everything but the id.
fn key(row: &ShapeRow) -> [Option<i64>; 17] {
    [
        Some(i64::from(row.name_id)),
        row.grid_x,
        row.grid_y,
        row.grid_z,
        row.block_x,
        row.block_y,
        row.block_z,
        row.cluster_x,
        row.cluster_y,
        row.cluster_z,
        row.registers,
        row.static_smem_bytes,
        row.dynamic_smem_bytes,
        row.local_mem_per_thread_bytes,
        row.local_mem_total_bytes,
        row.demangled_id.map(i64::from),
        row.base_id.map(i64::from),
    ]
}

/// Takes a side of a grid out of a row, if it fits.
fn taken(side: &mut Option<i64>) -> u32 {
    let fits = side.and_then(|blocks| u32::try_from(blocks).ok()).filter(|blocks| *blocks != ELSEWHERE);
    match fits {
        Some(blocks) => {
            *side = None;
            blocks
        }
        None => ELSEWHERE,
    }
}

impl Shapes {
    /// The id of the shape, new or known; the row's own `id` is ignored.
    pub fn intern(&mut self, mut row: ShapeRow) -> u32 {
        let blocks = [taken(&mut row.grid_x), taken(&mut row.grid_y), taken(&mut row.grid_z)];
        let grid = Grid { rest: self.rest(row), blocks };
        let grids = &mut self.grids;
        let hash = self.hasher.hash_one(grid) as u32;
        let found = self.index.entry(
            spread(hash),
            |&(other, id)| other == hash && grids[id as usize] == grid,
            |&(hash, _)| spread(hash),
        );
        let new = || {
            grids.push(grid);
            (hash, grids.len() as u32 - 1)
        };
        found.or_insert_with(new).get().1
    }

    fn rest(&mut self, row: ShapeRow) -> u32 {
        let wanted = key(&row);
        let (rests, hasher) = (&mut self.rests, &self.hasher);
        let found = self.rest_index.entry(
            hasher.hash_one(wanted),
            |&rest| key(&rests[rest as usize]) == wanted,
            |&rest| hasher.hash_one(key(&rests[rest as usize])),
        );
        let new = || {
            rests.push(ShapeRow { id: 0, ..row });
            rests.len() as u32 - 1
        };
        *found.or_insert_with(new).get()
    }

    /// The shape with this id.
    pub fn get(&self, id: u32) -> Option<ShapeRow> {
        let grid = self.grids.get(id as usize)?;
        let mut row = ShapeRow { id, ..self.rests[grid.rest as usize].clone() };
        for (side, blocks) in [&mut row.grid_x, &mut row.grid_y, &mut row.grid_z].into_iter().zip(grid.blocks) {
            if blocks != ELSEWHERE {
                *side = Some(i64::from(blocks));
            }
        }
        Some(row)
    }

    /// For the shape with this id, the number of what it has beside its grid. Shapes with one number are of one kernel.
    pub fn rest_of(&self, id: u32) -> Option<u32> {
        self.grids.get(id as usize).map(|grid| grid.rest)
    }

    /// What shapes have beside their grids, by number.
    pub fn rests(&self) -> &[ShapeRow] {
        &self.rests
    }

    /// The number in a column of the table `shape`, by the column's name.
    pub fn value(&self, id: u32, column: &str) -> Option<i64> {
        let grid = self.grids.get(id as usize)?;
        let sides = [shape::GRID_X, shape::GRID_Y, shape::GRID_Z];
        let side = sides.iter().position(|side| side.name() == column).map_or(ELSEWHERE, |side| grid.blocks[side]);
        if side != ELSEWHERE {
            return Some(i64::from(side));
        }
        number(&self.rests[grid.rest as usize], column)
    }

    /// How many there are; ids are below this.
    pub fn len(&self) -> usize {
        self.grids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.grids.is_empty()
    }

    /// All shapes, by id.
    pub fn all(&self) -> impl Iterator<Item = ShapeRow> {
        (0..self.len() as u32).filter_map(|id| self.get(id))
    }
}

/// A number of a launch shape, by the name of its column.
pub fn number(row: &ShapeRow, column: &str) -> Option<i64> {
    // Which field it is, is in one place; rows are small.
    number_mut(&mut row.clone(), column).and_then(|number| *number)
}

/// Where a launch shape has a number, by the name of its column.
pub fn number_mut<'r>(row: &'r mut ShapeRow, column: &str) -> Option<&'r mut Option<i64>> {
    macro_rules! fields {
        ($($field:ident)+) => {
            match column {
                $(stringify!($field) => Some(&mut row.$field),)+
                _ => None,
            }
        };
    }
    fields! {
        grid_x grid_y grid_z block_x block_y block_z cluster_x cluster_y cluster_z registers
        static_smem_bytes dynamic_smem_bytes local_mem_per_thread_bytes local_mem_total_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_come_back_as_they_were_whatever_their_grids() {
        let mut shapes = Shapes::default();
        let sides = [None, Some(0), Some(7), Some(i64::from(u32::MAX) - 1), Some(i64::from(u32::MAX)), Some(-1)];
        let mut rows = Vec::new();
        for name_id in 1..3 {
            for x in sides {
                for z in [None, Some(1), Some(i64::MAX)] {
                    rows.push(ShapeRow {
                        name_id,
                        grid_x: x,
                        grid_z: z,
                        registers: Some(32),
                        ..ShapeRow::default()
                    });
                }
            }
        }
        let ids: Vec<u32> = rows.iter().map(|row| shapes.intern(row.clone())).collect();
        assert_eq!(ids, (0..rows.len() as u32).collect::<Vec<_>>(), "all are different");
        for (id, row) in (0..).zip(&rows) {
            assert_eq!(shapes.intern(row.clone()), id);
            assert_eq!(shapes.get(id), Some(ShapeRow { id, ..row.clone() }));
            let rest = shapes.rest_of(id).and_then(|rest| shapes.rests().get(rest as usize));
            assert_eq!(rest.map(|rest| rest.name_id), Some(row.name_id));
            for column in
                [shape::GRID_X, shape::GRID_Y, shape::GRID_Z, shape::REGISTERS].map(|column| column.name())
            {
                assert_eq!(shapes.value(id, column), number(row, column), "{column}");
            }
        }
        assert_eq!((shapes.len(), shapes.all().count()), (rows.len(), rows.len()));
        assert_eq!(shapes.get(rows.len() as u32), None);
    }
}
