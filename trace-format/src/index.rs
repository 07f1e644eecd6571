//! Index frames and the last 16 bytes of a file: how a reader finds every frame without visiting it.

use serde::{Deserialize, Serialize};

use crate::frame::FrameInfo;

/// Bytes at the end of a file that was closed in order.
pub(crate) const TRAILER_BYTES: usize = 16;
const TRAILER_MAGIC: [u8; 4] = *b"END\n";

/// The payload of an index frame: the headers of the frames from the index before, itself included, up to here.
///
/// One array per field rather than one object per frame: half the bytes, and a newer version may add a field.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Index {
    /// Position of the index before; none: this one begins with the first frame of the file.
    pub previous: Option<u64>,
    offset: Vec<u64>,
    table: Vec<u16>,
    flags: Vec<u16>,
    rows: Vec<u32>,
    payload_len: Vec<u32>,
    payload_crc: Vec<u32>,
    seq: Vec<u64>,
    first_row: Vec<u64>,
    min_start_ns: Vec<Option<i64>>,
    max_end_ns: Vec<Option<i64>>,
}

impl Index {
    /// Collects the headers of `frames`.
    pub(crate) fn new(previous: Option<u64>, frames: &[FrameInfo]) -> Index {
        let mut index = Index { previous, ..Default::default() };
        for frame in frames {
            index.offset.push(frame.offset);
            index.table.push(frame.table);
            index.flags.push(frame.flags);
            index.rows.push(frame.rows);
            index.payload_len.push(frame.payload_len);
            index.payload_crc.push(frame.payload_crc);
            index.seq.push(frame.seq);
            index.first_row.push(frame.first_row);
            index.min_start_ns.push(frame.min_start_ns);
            index.max_end_ns.push(frame.max_end_ns);
        }
        index
    }

    /// The frames, if the index is one that a writer could have put at `at` in a file whose frames begin at
    /// `begin`: in order, without gaps, from the index before up to this one.
    pub(crate) fn frames(&self, begin: u64, at: u64) -> Option<Vec<FrameInfo>> {
        let mut next = self.previous.unwrap_or(begin);
        let mut frames = Vec::with_capacity(self.offset.len());
        for (i, &offset) in self.offset.iter().enumerate() {
            let frame = FrameInfo {
                offset,
                table: *self.table.get(i)?,
                flags: *self.flags.get(i)?,
                rows: *self.rows.get(i)?,
                payload_len: *self.payload_len.get(i)?,
                payload_crc: *self.payload_crc.get(i)?,
                seq: *self.seq.get(i)?,
                first_row: *self.first_row.get(i)?,
                min_start_ns: *self.min_start_ns.get(i)?,
                max_end_ns: *self.max_end_ns.get(i)?,
                index_distance: 0,
            };
            (offset == next && offset < at && frame.is_within_bounds()).then_some(())?;
            next = frame.end();
            frames.push(frame);
        }
        (next == at).then_some(frames)
    }
}

/// The last bytes of a closed file: where its last index is.
pub(crate) fn trailer(index_at: u64, marker: [u8; 8]) -> [u8; TRAILER_BYTES] {
    let mut bytes = [0; TRAILER_BYTES];
    bytes[..8].copy_from_slice(&index_at.to_le_bytes());
    bytes[8..12].copy_from_slice(&TRAILER_MAGIC);
    let crc = trailer_crc(&bytes, marker);
    bytes[12..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// The position of the last index, if these are the last bytes of a closed file with this marker.
pub(crate) fn parse_trailer(bytes: &[u8; TRAILER_BYTES], marker: [u8; 8]) -> Option<u64> {
    let right = bytes[8..12] == TRAILER_MAGIC && bytes[12..] == trailer_crc(bytes, marker).to_le_bytes();
    right.then(|| u64::from_le_bytes(std::array::from_fn(|i| bytes[i])))
}

/// The marker takes part, so that a file appended to another does not end it.
fn trailer_crc(bytes: &[u8; TRAILER_BYTES], marker: [u8; 8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&marker), &bytes[..12])
}
