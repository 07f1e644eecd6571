//! Names and launch shapes of all open traces, interned once.

use hashbrown::HashTable;
use std::hash::BuildHasher;
use trace_format::tables::ShapeRow;

/// Byte strings by id. Id 0 is "not recorded" and reads as the empty string.
pub struct Names {
    strings: Vec<Box<[u8]>>,
    index: HashTable<u32>,
    hasher: foldhash::fast::FixedState,
}

impl Default for Names {
    fn default() -> Self {
        Names { strings: vec![Box::default()], index: HashTable::new(), hasher: Default::default() }
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

    /// The name as text; bytes that are not UTF-8 become U+FFFD.
    pub fn text(&self, id: u32) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.get(id))
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
#[derive(Default)]
pub struct Shapes {
    rows: Vec<ShapeRow>,
    /// Hash and id. There can be millions of shapes, and hashing one again whenever the table grows is slow.
    index: HashTable<(u32, u32)>,
    hasher: foldhash::fast::FixedState,
}

/// The bits of a shortened hash spread over the 64 that a table looks at.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What makes two shapes the same: everything but the id.
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

impl Shapes {
    /// The id of the shape, new or known; the row's own `id` is ignored.
    pub fn intern(&mut self, row: ShapeRow) -> u32 {
        let rows = &mut self.rows;
        let wanted = key(&row);
        let hash = self.hasher.hash_one(wanted) as u32;
        let entry = self.index.entry(
            spread(hash),
            |&(other, id)| other == hash && key(&rows[id as usize]) == wanted,
            |&(hash, _)| spread(hash),
        );
        match entry {
            hashbrown::hash_table::Entry::Occupied(known) => known.get().1,
            hashbrown::hash_table::Entry::Vacant(vacant) => {
                let id = rows.len() as u32;
                vacant.insert((hash, id));
                rows.push(ShapeRow { id, ..row });
                id
            }
        }
    }

    /// The shape with this id.
    pub fn get(&self, id: u32) -> Option<&ShapeRow> {
        self.rows.get(id as usize)
    }

    /// All shapes, by id.
    pub fn all(&self) -> &[ShapeRow] {
        &self.rows
    }
}
