//! Names and launch shapes of all open traces, interned once.

use super::numbered::without_numbers;
use hashbrown::HashTable;
use std::borrow::Cow;
use std::hash::BuildHasher;
use trace_format::tables::ShapeRow;

/// A name as text: each byte that is not UTF-8 is written as `\xff`. The replacement character would make one name of
/// all that differ in such bytes alone, and add up what belongs to several.
pub fn readable(name: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(name) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(name.len() + 8);
    for chunk in name.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    Cow::Owned(text)
}

/// Byte strings by id. Id 0 is "not recorded" and reads as the empty string.
pub struct Names {
    strings: Vec<Box<[u8]>>,
    index: HashTable<u32>,
    hasher: foldhash::fast::FixedState,
    /// The first id of the same text, by id; nothing while all texts differ.
    first: Vec<u32>,
}

impl Default for Names {
    fn default() -> Self {
        Names {
            strings: vec![Box::default()],
            index: HashTable::new(),
            hasher: Default::default(),
            first: Vec::new(),
        }
    }
}

impl Names {
    /// The id of `name`, new or known. The empty string is id 0.
    pub fn intern(&mut self, name: &[u8]) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let strings = &mut self.strings;
        let hasher = &self.hasher;
        let hash = hasher.hash_one(name);
        let entry = self.index.entry(
            hash,
            |&id| *strings[id as usize] == *name,
            |&id| hasher.hash_one(&*strings[id as usize]),
        );
        match entry {
            hashbrown::hash_table::Entry::Occupied(known) => *known.get(),
            hashbrown::hash_table::Entry::Vacant(vacant) => {
                let id = strings.len() as u32;
                vacant.insert(id);
                strings.push(name.into());
                id
            }
        }
    }

    /// The bytes of name `id`; empty for an id that was never given out.
    pub fn get(&self, id: u32) -> &[u8] {
        self.strings.get(id as usize).map_or(&[], |s| s)
    }

    /// The name as text; see [`readable`] for bytes that are not UTF-8.
    pub fn text(&self, id: u32) -> Cow<'_, str> {
        readable(self.get(id))
    }

    /// Leaves out the numbers that make a name of every call of an operator (see [`without_numbers`]). Names that differ in
    /// nothing else have the same text from then on, and the same id where they are asked for by [`Names::first`].
    pub fn fold_numbers(&mut self) {
        let names = self.strings.iter().enumerate();
        let folded: Vec<(usize, Vec<u8>)> =
            names.filter_map(|(id, name)| Some((id, without_numbers(name)?))).collect();
        if folded.is_empty() {
            return;
        }
        for (id, name) in folded {
            self.strings[id] = name.into();
        }
        self.index.clear();
        let (strings, hasher) = (&self.strings, &self.hasher);
        let ids = (0..).zip(strings).map(|(id, name)| {
            if name.is_empty() {
                return 0;
            }
            let same = |&other: &u32| strings[other as usize] == *name;
            let hash = |&other: &u32| hasher.hash_one(&*strings[other as usize]);
            *self.index.entry(hasher.hash_one(&**name), same, hash).or_insert(id).get()
        });
        self.first = ids.collect();
    }

    /// The first id of the text that `id` has.
    pub fn first(&self, id: u32) -> u32 {
        self.first.get(id as usize).copied().unwrap_or(id)
    }

    /// One more than the largest id.
    pub fn len(&self) -> usize {
        self.strings.len()
    }

    /// Whether no name was interned.
    pub fn is_empty(&self) -> bool {
        self.strings.len() == 1
    }
}

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

    /// The shape with this id but for its grid: what names the kernel, without a copy.
    pub fn without_grid(&self, id: u32) -> Option<&ShapeRow> {
        self.grids.get(id as usize).map(|grid| &self.rests[grid.rest as usize])
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

    /// For every shape, by id, the number of what it has beside its grid. Shapes with one number are of one kernel.
    pub fn rests(&self) -> impl Iterator<Item = u32> {
        self.grids.iter().map(|grid| grid.rest)
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
            assert_eq!(shapes.without_grid(id).map(|row| row.name_id), Some(row.name_id));
        }
        assert_eq!((shapes.len(), shapes.all().count()), (rows.len(), rows.len()));
        assert_eq!(shapes.get(rows.len() as u32), None);
    }

    #[test]
    fn names_that_are_not_utf8_stay_apart() {
        assert_eq!(readable("gemm<é>".as_bytes()), "gemm<é>");
        assert_eq!(readable(b"f\xff\xfe(\xc3\xa9)\xc3"), "f\\xff\\xfe(é)\\xc3");
        let mut names = Names::default();
        let [a, b] = [&b"f\x80"[..], b"f\x81"].map(|name| names.intern(name));
        assert_ne!(names.text(a), names.text(b));
    }
}
