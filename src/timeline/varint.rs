//! Unsigned LEB128 numbers, in which tiles are written.

use super::read::zigzag;

/// Writes numbers one after the other.
#[derive(Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    /// Seven bits a byte, the lowest first.
    #[inline]
    pub(super) fn put(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A number, or 0 for none.
    #[inline]
    pub(super) fn nullable(&mut self, value: Option<u64>) {
        self.put(value.map_or(0, |value| value.saturating_add(1)));
    }

    /// A number of either sign.
    pub(super) fn signed(&mut self, value: i64) {
        self.put(zigzag(value));
    }

    /// Growing numbers: the first as it is, then how much each is larger than the one before.
    pub(super) fn deltas(&mut self, values: impl Iterator<Item = u64>) {
        let mut before = 0;
        for value in values {
            self.put(value - before);
            before = value;
        }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
