//! Frames: 64 bytes of header, a payload, zeros up to the next multiple of 8.
//!
//! The header alone answers "what is in there, is it mine, may I skip it": a reader hops from header to header
//! without touching a payload, and after damage it accepts only a header whose marker, checksum and lengths agree.

mod decode;
mod encode;

use crate::schema::TableSpec;
use crate::tables;

pub use decode::{DecodeError, decode};
pub use encode::{EncodeError, Encoder, encode};

/// Bytes of a frame header.
pub const HEADER_BYTES: usize = 64;
/// Longest payload. Bounds what a reader allocates for one frame, and how far a damaged length can lead astray.
pub const MAX_PAYLOAD_BYTES: usize = 64 << 20;
/// Most rows of a frame; bounds what a reader allocates for columns that a frame leaves out. More rows no longer make a row smaller; fewer cost 2.5 to 4 kB of Parquet footer each.
pub const MAX_ROWS: usize = 65_536;

/// Rows are in order of `start_ns`.
pub const SORTED: u16 = 1 << 0;
/// The payload is JSON, else Parquet.
pub const JSON: u16 = 1 << 1;
/// Rows that an earlier frame of the same file has already given, under the same row numbers.
pub const REPEAT: u16 = 1 << 2;

/// Where a frame is and what its header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameInfo {
    /// Position of the header in the file.
    pub offset: u64,
    /// Table number; may be one that this build does not know.
    pub table: u16,
    /// [`SORTED`], [`JSON`], [`REPEAT`]; unknown bits are legal.
    pub flags: u16,
    /// Rows in the payload; 1 for JSON.
    pub rows: u32,
    /// Bytes of the payload, without padding.
    pub payload_len: u32,
    /// CRC-32C of the payload.
    pub payload_crc: u32,
    /// Counts the frames of the file from 0.
    pub seq: u64,
    /// Row number, in its table, of the first row.
    pub first_row: u64,
    /// Earliest start among rows with valid times; none: no such row, so time says nothing about this frame.
    pub min_start_ns: Option<i64>,
    /// Latest end among rows with valid times.
    pub max_end_ns: Option<i64>,
    /// Bytes back from this header to that of the newest index before it; 0: none, or too far.
    pub index_distance: u32,
}

impl FrameInfo {
    /// Position just behind the frame and its padding.
    pub fn end(&self) -> u64 {
        self.offset + (HEADER_BYTES + padded(self.payload_len as usize)) as u64
    }

    /// The table, if this build knows it.
    pub fn spec(&self) -> Option<&'static TableSpec> {
        tables::by_id(self.table)
    }

    /// Whether all rows were given before, by an earlier frame.
    pub fn is_repeat(&self) -> bool {
        self.flags & REPEAT != 0
    }

    /// Whether the payload is JSON.
    pub fn is_json(&self) -> bool {
        self.flags & JSON != 0
    }

    /// Whether the rows are in order of their start.
    pub fn is_sorted(&self) -> bool {
        self.flags & SORTED != 0
    }

    /// Row numbers, in its table, of the frame's rows.
    pub fn row_range(&self) -> std::ops::Range<u64> {
        self.first_row..self.first_row.saturating_add(u64::from(self.rows))
    }

    /// The 64 bytes of the header, in a file with this marker.
    pub fn to_bytes(&self, marker: [u8; 8]) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let mut at = 0;
        let mut put = |field: &[u8]| {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        };
        put(&marker);
        put(&self.table.to_le_bytes());
        put(&self.flags.to_le_bytes());
        put(&self.rows.to_le_bytes());
        put(&self.payload_len.to_le_bytes());
        put(&self.payload_crc.to_le_bytes());
        put(&self.seq.to_le_bytes());
        put(&self.first_row.to_le_bytes());
        // No real bounds look like this: a minimum above its maximum.
        put(&self.min_start_ns.unwrap_or(i64::MAX).to_le_bytes());
        put(&self.max_end_ns.unwrap_or(i64::MIN).to_le_bytes());
        put(&self.index_distance.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..HEADER_BYTES - 4]);
        bytes[HEADER_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads a header found at `offset`; none unless marker, checksum and bounds all fit.
    pub fn from_bytes(bytes: &[u8; HEADER_BYTES], marker: [u8; 8], offset: u64) -> Option<FrameInfo> {
        (bytes[..8] == marker).then_some(())?;
        let (body, crc) = bytes.split_at(HEADER_BYTES - 4);
        (crc32c::crc32c(body).to_le_bytes() == crc).then_some(())?;
        let mut rest = &body[8..];
        let info = FrameInfo {
            offset,
            table: u16::from_le_bytes(take(&mut rest)),
            flags: u16::from_le_bytes(take(&mut rest)),
            rows: u32::from_le_bytes(take(&mut rest)),
            payload_len: u32::from_le_bytes(take(&mut rest)),
            payload_crc: u32::from_le_bytes(take(&mut rest)),
            seq: u64::from_le_bytes(take(&mut rest)),
            first_row: u64::from_le_bytes(take(&mut rest)),
            min_start_ns: Some(i64::from_le_bytes(take(&mut rest))),
            max_end_ns: Some(i64::from_le_bytes(take(&mut rest))),
            index_distance: u32::from_le_bytes(take(&mut rest)),
        };
        let timed = info.min_start_ns <= info.max_end_ns;
        let info = if timed { info } else { FrameInfo { min_start_ns: None, max_end_ns: None, ..info } };
        info.is_within_bounds().then_some(info)
    }

    /// Whether lengths and positions are ones a writer could have written.
    pub(crate) fn is_within_bounds(&self) -> bool {
        self.payload_len as usize <= MAX_PAYLOAD_BYTES
            && self.rows as usize <= MAX_ROWS
            && self.offset.is_multiple_of(8)
            && self.offset < 1 << 62
            && self.first_row.checked_add(u64::from(self.rows)).is_some()
    }
}

/// Splits the first `N` bytes off; the caller has made sure that they exist.
fn take<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
    let (first, rest) = bytes.split_first_chunk().unwrap_or((&[0; N], &[]));
    *bytes = rest;
    *first
}

/// `len` rounded up to a multiple of 8.
pub(crate) fn padded(len: usize) -> usize {
    len.next_multiple_of(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info() -> FrameInfo {
        FrameInfo {
            offset: 4096,
            table: 16,
            flags: SORTED,
            rows: 7,
            payload_len: 999,
            payload_crc: 0xdead_beef,
            seq: 3,
            first_row: 1 << 40,
            min_start_ns: Some(-5),
            max_end_ns: Some(i64::MAX),
            index_distance: 640,
        }
    }

    #[test]
    fn a_header_reads_back_as_it_was_written() {
        for info in [info(), FrameInfo { min_start_ns: None, max_end_ns: None, ..info() }] {
            assert_eq!(FrameInfo::from_bytes(&info.to_bytes(*b"marker!!"), *b"marker!!", 4096), Some(info));
        }
    }

    #[test]
    fn no_flipped_bit_of_a_header_is_accepted() {
        let good = info().to_bytes(*b"marker!!");
        for bit in 0..HEADER_BYTES * 8 {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(FrameInfo::from_bytes(&bad, *b"marker!!", 4096), None, "bit {bit}");
        }
    }

    #[test]
    fn a_header_of_another_file_or_with_an_absurd_length_is_refused() {
        assert_eq!(FrameInfo::from_bytes(&info().to_bytes(*b"marker!!"), *b"another!", 4096), None);
        let long = FrameInfo { payload_len: MAX_PAYLOAD_BYTES as u32 + 1, ..info() };
        assert_eq!(FrameInfo::from_bytes(&long.to_bytes(*b"marker!!"), *b"marker!!", 4096), None);
    }
}
