//! The different values of a column, and which one each row has.

use super::number::Number;

const FIRST_SLOTS: usize = 1 << 8;

/// Finds out which values there are; its memory is used again for every column.
#[derive(Default)]
pub struct Dictionary {
    /// Value, and its index plus one: 0 is empty. Linear probing.
    slots: Vec<(u64, u32)>,
    /// The index of each row.
    pub indices: Vec<u64>,
}

impl Dictionary {
    /// Fills [`Dictionary::indices`], appends the different values, in the order of their first appearance, to `out`,
    /// and returns how many there are.
    pub fn fill<N: Number>(&mut self, values: &[N], out: &mut Vec<u8>) -> usize {
        self.slots.clear();
        self.slots.resize(FIRST_SLOTS, (0, 0));
        self.indices.clear();
        self.indices.reserve(values.len());
        let mut found = 0;
        // Neighbours are often equal: streams, devices.
        let (mut last, mut last_index) = (None, 0);
        for &value in values {
            if last != Some(value) {
                let index = self.index(value.signed() as u64, found);
                if index as usize == found {
                    value.put(out);
                    found += 1;
                    if found >= self.slots.len() / 2 {
                        self.grow();
                    }
                }
                (last, last_index) = (Some(value), u64::from(index));
            }
            self.indices.push(last_index);
        }
        found
    }

    /// The index of a value, which becomes the next one, `next`, if the value is new.
    #[inline(always)]
    fn index(&mut self, value: u64, next: usize) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = hash(value) & mask;
        loop {
            let slot = &mut self.slots[at];
            if slot.1 == 0 {
                *slot = (value, next as u32 + 1);
                return next as u32;
            }
            if slot.0 == value {
                return slot.1 - 1;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let room = vec![(0, 0); self.slots.len() * 4];
        let mask = room.len() - 1;
        for (value, index) in std::mem::replace(&mut self.slots, room) {
            let mut at = hash(value) & mask;
            while index != 0 && self.slots[at].1 != 0 {
                at = (at + 1) & mask;
            }
            if index != 0 {
                self.slots[at] = (value, index);
            }
        }
    }
}

#[inline(always)]
fn hash(value: u64) -> usize {
    let product = u128::from(value ^ 0x2545_F491_4F6C_DD1D) * 0x9E37_79B9_7F4A_7C15;
    ((product >> 64) as u64 ^ product as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_finds_its_value() {
        let mut dictionary = Dictionary::default();
        for different in [1u32, 2, 127, 128, 129, 5_000, 65_536] {
            let values: Vec<u32> =
                (0..70_000u32).map(|i| (i / 3 * 7_919 % different).wrapping_mul(65_537)).collect();
            let mut out = Vec::new();
            let found = dictionary.fill(&values, &mut out);
            let uniques: Vec<u32> =
                out.chunks_exact(4).map(|b| b.iter().rev().fold(0, |sum, b| sum << 8 | u32::from(*b))).collect();
            assert_eq!(uniques.len(), found);
            let seen: std::collections::HashSet<u32> = uniques.iter().copied().collect();
            assert_eq!(seen.len(), found, "each once");
            let back: Vec<u32> = dictionary.indices.iter().map(|&i| uniques[i as usize]).collect();
            assert_eq!(back, values);
        }
    }
}
