//! The integers that columns hold, as Parquet's encodings see them.

/// An integer of a column.
pub trait Number: Copy + Default + PartialEq {
    /// Values of a miniblock of the delta encoding: as many as the Parquet library takes, which readers are used to.
    const MINIBLOCK: usize;
    /// The value, sign-extended from Parquet's physical type, which is signed.
    fn signed(self) -> i64;
    /// The difference to the value before, likewise; it wraps around.
    fn since(self, before: Self) -> i64;
    /// How much a difference is above the smallest one of its block.
    fn above(difference: i64, least: i64) -> u64;
    /// Appends the value as it is.
    fn put(self, out: &mut Vec<u8>);
}

macro_rules! number {
    ($ty:ty as $physical:ty, $unsigned:ty, $miniblock:literal) => {
        impl Number for $ty {
            const MINIBLOCK: usize = $miniblock;
            #[inline(always)]
            fn signed(self) -> i64 {
                self as $physical as i64
            }
            #[inline(always)]
            fn since(self, before: Self) -> i64 {
                (self as $physical).wrapping_sub(before as $physical) as i64
            }
            #[inline(always)]
            fn above(difference: i64, least: i64) -> u64 {
                difference.wrapping_sub(least) as $unsigned as u64
            }
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    };
}

number!(u32 as i32, u32, 32);
number!(u64 as i64, u64, 64);
number!(i64 as i64, u64, 64);
