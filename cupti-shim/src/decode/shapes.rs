//! Launch shapes to ids: a program launches millions of kernels in a few hundred shapes.

use trace_format::schema::RowBuilder as _;
use trace_format::tables::ShapeRow;
use trace_format::tables::shape::ShapeBuilder;

/// Everything about a launch that repeats, as eight words to hash and compare: their order is that of CUPTI's kernel
/// record, so that most of them are one load from there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape(pub [u64; 8]);

/// Two numbers of four bytes in one word, as neighbours in memory.
#[inline(always)]
pub fn pair(first: u32, second: u32) -> u64 {
    u64::from(first) | u64::from(second) << 32
}

fn first(word: u64) -> Option<i64> {
    Some(i64::from(word as u32))
}

fn second(word: u64) -> Option<i64> {
    first(word >> 32)
}

impl Shape {
    fn row(&self, id: u32) -> ShapeRow {
        let [grid_xy, grid_z_block_x, block_yz, shared, local_name, cluster_xy, cluster_z_registers, local_total] =
            self.0;
        let in_clusters = |n: &i64| *n != 0;
        ShapeRow {
            id,
            name_id: (local_name >> 32) as u32,
            grid_x: first(grid_xy),
            grid_y: second(grid_xy),
            grid_z: first(grid_z_block_x),
            block_x: second(grid_z_block_x),
            block_y: first(block_yz),
            block_z: second(block_yz),
            cluster_x: first(cluster_xy).filter(in_clusters),
            cluster_y: second(cluster_xy).filter(in_clusters),
            cluster_z: first(cluster_z_registers).filter(in_clusters),
            registers: second(cluster_z_registers),
            static_smem_bytes: first(shared),
            dynamic_smem_bytes: second(shared),
            local_mem_per_thread_bytes: first(local_name),
            local_mem_total_bytes: Some(local_total as i64),
            demangled_id: None,
            base_id: None,
        }
    }
}

/// Slots at most: 2.4 MB. A program with more shapes than two thirds of that pays with rows that repeat.
const MOST_SLOTS: usize = 1 << 15;
const FIRST_SLOTS: usize = 1 << 8;

#[derive(Clone, Copy, Default)]
struct Slot {
    shape: Shape,
    /// 0: empty.
    id: u32,
}

/// Shapes seen so far, in a hash table with linear probing.
#[derive(Default)]
pub struct Shapes {
    slots: Vec<Slot>,
    used: usize,
    last_id: u32,
}

impl Shapes {
    /// The id of a shape; a new one gets a row. 0 after four thousand million shapes.
    #[inline]
    pub fn id(&mut self, shape: &Shape, rows: &mut ShapeBuilder) -> u32 {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash(shape) as usize & mask;
        while let Some(slot) = self.slots.get(at) {
            if slot.id == 0 {
                break;
            }
            if are_equal(&slot.shape, shape) {
                return slot.id;
            }
            at = (at + 1) & mask;
        }
        self.add(*shape, rows)
    }

    #[cold]
    fn add(&mut self, shape: Shape, rows: &mut ShapeBuilder) -> u32 {
        let Some(id) = self.last_id.checked_add(1) else { return 0 };
        self.last_id = id;
        if self.used >= self.slots.len() / 3 * 2 {
            self.grow();
        }
        self.place(Slot { shape, id });
        rows.push(shape.row(id));
        id
    }

    /// Twice the room; at the limit, begin anew: ids are not unique to a shape, and readers merge what is equal.
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.used = 0;
        if old.len() >= MOST_SLOTS {
            self.slots = old;
            self.slots.fill(Slot::default());
            return;
        }
        self.slots = vec![Slot::default(); (old.len() * 2).max(FIRST_SLOTS)];
        old.into_iter().filter(|slot| slot.id != 0).for_each(|slot| self.place(slot));
    }

    fn place(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut at = hash(&slot.shape) as usize & mask;
        while self.slots[at].id != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
        self.used += 1;
    }
}

/// `==` on arrays is a call of `memcmp`, which costs more than the comparison.
#[inline(always)]
fn are_equal(a: &Shape, b: &Shape) -> bool {
    a.0.iter().zip(b.0).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// The multiplications do not wait for each other, so eight words cost little more than one.
#[inline(always)]
fn hash(Shape(words): &Shape) -> u64 {
    const ODD: [u64; 8] = [
        0x9E37_79B9_7F4A_7C15,
        0xC2B2_AE3D_27D4_EB4F,
        0x1656_67B1_9E37_79F9,
        0xD6E8_FEB8_6659_FD93,
        0xA076_1D64_78BD_642F,
        0xE703_7ED1_A0B4_28DB,
        0x8EBC_6AF0_9C88_C6E3,
        0x5899_65CC_7537_4CC3,
    ];
    let mixed =
        words.iter().zip(ODD).fold(0u64, |sum, (word, odd)| sum.wrapping_add((word ^ odd).wrapping_mul(odd)));
    // The low bits of a product depend on low bits only; the high ones on all.
    mixed ^ (mixed >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shapes_share_an_id_and_one_row() {
        let (mut shapes, mut rows) = (Shapes::default(), ShapeBuilder::default());
        let base = Shape([2, 3, 4, 0, pair(0, 1), 0, 0, 0]);
        let other = Shape([2, 3, 4, 0, pair(0, 1), 0, 0, 1]);
        let first = shapes.id(&base, &mut rows);
        assert_ne!(first, shapes.id(&other, &mut rows));
        assert_eq!(first, shapes.id(&base, &mut rows));
        assert_eq!(rows.len(), 2);
    }

    #[test]
    #[cfg_attr(miri, ignore = "a hundred thousand shapes")]
    fn memory_stays_bounded_and_ids_stay_true() {
        let (mut shapes, mut rows) = (Shapes::default(), ShapeBuilder::default());
        let shape = |n: u32| Shape([pair(n, 1), 1, 0, 0, pair(0, 7), 0, 0, 0]);
        let mut ids = std::collections::HashMap::new();
        for n in (0..100_000).chain(0..10) {
            let id = shapes.id(&shape(n), &mut rows);
            let meant = ids.insert(id, n);
            assert!(meant.is_none() || meant == Some(n), "id {id} means {meant:?} and {n}");
        }
        assert!(shapes.slots.len() <= MOST_SLOTS);
        assert!(rows.len() >= 100_000);
    }
}
