//! One record in a buffer of CUPTI's, read by offset.

use cupti_sys::Field;

/// The bytes of one record, as many as the running CUPTI writes. A field that this CUPTI does not have yet is behind
/// the end, and reads as absent.
#[derive(Clone, Copy)]
pub struct Record<'a>(pub &'a [u8]);

impl Record<'_> {
    #[inline(always)]
    fn bytes<const N: usize>(self, field: Field) -> Option<[u8; N]> {
        debug_assert!(N == usize::from(field.size) || field.size == 0, "{field:?} read as {N} bytes");
        self.0.get(usize::from(field.offset)..)?.first_chunk().copied()
    }

    /// A field of one byte; 0 where it does not exist, as for the others.
    #[inline(always)]
    pub fn u8(self, field: Field) -> u8 {
        self.bytes::<1>(field).map_or(0, |[byte]| byte)
    }

    /// A field of two bytes.
    #[inline(always)]
    pub fn u16(self, field: Field) -> u16 {
        self.bytes(field).map_or(0, u16::from_le_bytes)
    }

    /// A field of four bytes.
    #[inline(always)]
    pub fn u32(self, field: Field) -> u32 {
        self.bytes(field).map_or(0, u32::from_le_bytes)
    }

    /// A field of eight bytes.
    #[inline(always)]
    pub fn u64(self, field: Field) -> u64 {
        self.bytes(field).map_or(0, u64::from_le_bytes)
    }

    /// Two fields of four bytes that are neighbours, the first in the lower half.
    #[inline(always)]
    pub fn pair(self, first: Field, second: Field) -> u64 {
        debug_assert!(first.size == 4 && second.size == 4 && first.end() == usize::from(second.offset));
        self.bytes(Field { size: 8, ..first }).map_or(0, u64::from_le_bytes)
    }

    /// A field of four bytes, if this CUPTI has it.
    #[inline(always)]
    pub fn try_u32(self, field: Field) -> Option<u32> {
        self.bytes(field).map(u32::from_le_bytes)
    }

    /// A field of eight bytes, if this CUPTI has it.
    #[inline(always)]
    pub fn try_u64(self, field: Field) -> Option<u64> {
        self.bytes(field).map(u64::from_le_bytes)
    }

    /// A size or a count.
    #[inline(always)]
    pub fn count(self, field: Field) -> i64 {
        i64::from(self.u32(field))
    }

    /// A size of eight bytes. CUPTI's are unsigned, ours are not; none comes near the difference.
    #[inline(always)]
    pub fn bytes_count(self, field: Field) -> i64 {
        self.u64(field) as i64
    }

    /// An id that CUPTI sets to 0xFFFFFFFF where it does not apply.
    #[inline(always)]
    pub fn applicable(self, field: Field) -> Option<u32> {
        self.try_u32(field).filter(|&id| id != u32::MAX)
    }

    /// An id that CUPTI sets to 0 where there is none.
    #[inline(always)]
    pub fn nonzero_u32(self, field: Field) -> Option<u32> {
        self.try_u32(field).filter(|&id| id != 0)
    }

    /// A number of eight bytes that CUPTI sets to 0 where there is none.
    #[inline(always)]
    pub fn nonzero_u64(self, field: Field) -> Option<u64> {
        self.try_u64(field).filter(|&id| id != 0)
    }

    /// A time that CUPTI sets to 0 where it does not know it.
    #[inline(always)]
    pub fn known_time(self, field: Field) -> Option<i64> {
        self.nonzero_u64(field).map(|time| time as i64)
    }

    /// The id that `intern_block` has put in place of a pointer to a name; 0: none.
    #[inline(always)]
    pub fn name(self, field: Field) -> u32 {
        u32::try_from(self.u64(field)).unwrap_or(0)
    }

    /// As [`Record::name`], as it stands in columns that may be empty.
    #[inline(always)]
    pub fn some_name(self, field: Field) -> Option<u32> {
        Some(self.name(field)).filter(|&id| id != 0)
    }
}

/// Longer than any single operation: what claims to have run longer has no valid times.
pub const LONGEST_NS: u64 = 7 * 86_400 * 1_000_000_000;

/// How long something took; `None` where the times are impossible. Seen in the wild: 0 and 0 when CUPTI's device
/// buffers ran out, an end of 0 for a kernel that was still running, an end before the start, 0x8000000000000000.
#[inline(always)]
pub fn duration(start: u64, end: u64) -> Option<i64> {
    let took = end.wrapping_sub(start);
    let is_valid = end >= start && end != 0 && end < 1 << 63 && took <= LONGEST_NS;
    is_valid.then_some(took as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_times_have_no_duration() {
        const NOW: u64 = 1_790_000_000_000_000_000;
        assert_eq!(duration(NOW, NOW + 5), Some(5));
        assert_eq!(duration(NOW, NOW), Some(0));
        assert_eq!(duration(0, 7), Some(7), "a clock that starts at 0");
        for (start, end) in
            [(0, 0), (NOW, 0), (NOW, NOW - 1), (0, NOW), (1 << 63, 1 << 63), (NOW, 1 << 63), (NOW, u64::MAX)]
        {
            assert_eq!(duration(start, end), None, "{start} {end}");
        }
        assert_eq!(duration(NOW, NOW + LONGEST_NS + 1), None);
    }

    #[test]
    fn a_field_behind_the_end_is_absent() {
        let record = Record(&[1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(record.try_u32(Field::new(4, 4, 0, 0)), Some(2));
        assert_eq!(record.try_u32(Field::new(5, 4, 0, 0)), None);
        assert_eq!(record.u64(Field::new(8, 8, 0, 0)), 0);
        assert_eq!(record.u8(Field::new(60_000, 1, 0, 0)), 0);
        assert_eq!(record.nonzero_u32(Field::new(0, 4, 0, 0)), Some(1));
    }
}
