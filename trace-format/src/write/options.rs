//! What a writer is told, and what it tells.

use crate::frame::{MAX_PAYLOAD_BYTES, MAX_ROWS};

/// How often a writer repeats itself, and how far it goes.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions {
    /// Bytes between index frames. More: a longer scan of a file that was not closed; fewer: more bytes.
    pub index_every_bytes: u64,
    /// Frames between index frames, for traces of many small ones: the index is held in memory until written.
    pub index_every_frames: usize,
    /// Bytes between repetitions of the definitions; stretched so that these stay below an eighth of the file.
    pub repeat_every_bytes: u64,
    /// Memory for definitions to repeat; rows beyond it are written once.
    pub definitions_limit_bytes: usize,
    /// Most rows of a frame; not above [`MAX_ROWS`].
    pub max_rows: usize,
    /// Longest payload of a frame; not above [`MAX_PAYLOAD_BYTES`].
    pub max_payload_bytes: usize,
    /// Size at which activity is refused. Rows about the recording go on for 1 MiB more, for they say what was lost;
    /// JSON, index and closing frame always fit.
    pub limit_bytes: Option<u64>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        WriteOptions {
            index_every_bytes: 64 << 20,
            index_every_frames: 8_192,
            repeat_every_bytes: 64 << 20,
            definitions_limit_bytes: 32 << 20,
            max_rows: MAX_ROWS,
            max_payload_bytes: MAX_PAYLOAD_BYTES,
            limit_bytes: None,
        }
    }
}

/// What the frames of one table hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableTotals {
    /// Rows, repetitions not counted.
    pub rows: u64,
    /// Frames, repetitions included.
    pub frames: u64,
    /// Bytes of those frames with headers and padding.
    pub bytes: u64,
}
