//! The file header: what the file is, which version of the format, who wrote it.
//!
//! The first 48 bytes are the same in every version of the format, so that an older reader can say what it was
//! given. They carry their own checksum: a flipped bit in the version must not look like a file from the future.

use std::hash::{BuildHasher, RandomState};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The first bytes of every trace. The line feed shows a file that went through a text-mode transfer.
pub const MAGIC: [u8; 8] = *b"GPUPROF\n";
/// Files with another major version need another reader.
pub const MAJOR: u16 = 1;
/// A newer minor version may bring tables, columns and JSON keys that an older reader skips.
pub const MINOR: u16 = 0;
/// Bytes before the JSON.
pub const PREFIX_BYTES: usize = 48;
/// Longest JSON part.
pub const MAX_JSON_BYTES: usize = 1 << 20;

/// What the file header says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileHeader {
    /// Major version of the format.
    #[serde(skip)]
    pub major: u16,
    /// Minor version of the format.
    #[serde(skip)]
    pub minor: u16,
    /// Random; frames carry a marker made from it, so that no file's bytes pass for frames of another.
    #[serde(skip)]
    pub file_id: [u8; 16],
    /// Program and version that wrote the file, e.g. `gpuprof 0.1.0`.
    pub writer: String,
    /// When the file was created, nanoseconds since 1970; 0: not known.
    pub created_unix_ns: i64,
    /// Under the ring policy: an id that all segments of one run share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Under the ring policy: the number of this segment, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<u32>,
    /// Under the ring policy: rows per table name in the segments before this one.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub rows_before: Map<String, Value>,
    /// Keys that this build does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl FileHeader {
    /// A header for a new file with a random id.
    pub fn new(writer: impl Into<String>, created_unix_ns: i64) -> FileHeader {
        let (major, minor, file_id) = (MAJOR, MINOR, random_id());
        FileHeader { major, minor, file_id, writer: writer.into(), created_unix_ns, ..Default::default() }
    }

    /// The 8 bytes that open every frame of this file.
    pub fn marker(&self) -> [u8; 8] {
        let mut marker: [u8; 8] = std::array::from_fn(|i| self.file_id[i]);
        // Never zeros, never ASCII, whatever the id: holes and text are the likeliest wrong bytes.
        marker[0] |= 0x80;
        marker
    }

    /// The bytes of the header, padded to a multiple of 8. Keys that would make it too long are left out.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Strings, numbers and maps of them cannot fail to serialize.
        let mut json = serde_json::to_vec(self).unwrap_or_default();
        if json.len() > MAX_JSON_BYTES {
            let short = FileHeader { other: Map::new(), rows_before: Map::new(), ..self.clone() };
            json = serde_json::to_vec(&short).unwrap_or_default();
        }
        let length = (PREFIX_BYTES + json.len()).next_multiple_of(8);
        let mut bytes = Vec::with_capacity(length);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&self.major.to_le_bytes());
        bytes.extend_from_slice(&self.minor.to_le_bytes());
        bytes.extend_from_slice(&(length as u32).to_le_bytes());
        bytes.extend_from_slice(&self.file_id);
        bytes.extend_from_slice(&(json.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(&json).to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        let crc = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes.extend_from_slice(&json);
        bytes.resize(length, 0);
        bytes
    }
}

/// The fixed part of a header whose checksum is right.
#[derive(Clone, Debug)]
pub(crate) struct Prefix {
    pub header: FileHeader,
    pub length: u32,
    pub json_len: u32,
    pub json_crc: u32,
}

impl Prefix {
    /// None: the bytes are not the beginning of a trace, or damaged.
    pub(crate) fn parse(bytes: &[u8; PREFIX_BYTES]) -> Option<Prefix> {
        let (body, crc) = bytes.split_at(PREFIX_BYTES - 4);
        (bytes.starts_with(&MAGIC) && crc32c::crc32c(body).to_le_bytes() == crc).then_some(())?;
        let u16_at = |i: usize| u16::from_le_bytes([bytes[i], bytes[i + 1]]);
        let u32_at = |i: usize| u32::from_le_bytes(std::array::from_fn(|k| bytes[i + k]));
        let file_id = std::array::from_fn(|k| bytes[16 + k]);
        let header = FileHeader { major: u16_at(8), minor: u16_at(10), file_id, ..Default::default() };
        let prefix = Prefix { header, length: u32_at(12), json_len: u32_at(32), json_crc: u32_at(36) };
        prefix.is_consistent().then_some(prefix)
    }

    fn is_consistent(&self) -> bool {
        let (length, json_len) = (self.length as usize, self.json_len as usize);
        json_len <= MAX_JSON_BYTES && length.is_multiple_of(8) && length >= PREFIX_BYTES + json_len
    }

    /// The whole header; none where the JSON is damaged.
    pub(crate) fn with_json(&self, json: &[u8]) -> Option<FileHeader> {
        (crc32c::crc32c(json) == self.json_crc).then_some(())?;
        let FileHeader { major, minor, file_id, .. } = self.header;
        let header: FileHeader = serde_json::from_slice(json).ok()?;
        Some(FileHeader { major, minor, file_id, ..header })
    }
}

/// Sixteen random bytes.
///
/// The standard library's hasher keys are the only randomness it offers; a run within a run gets other ones, and
/// nothing here needs to be unpredictable.
pub fn random_id() -> [u8; 16] {
    let half = |salt: u32| RandomState::new().hash_one((salt, std::process::id())).to_le_bytes();
    let (a, b) = (half(1), half(2));
    std::array::from_fn(|i| if i < 8 { a[i] } else { b[i - 8] })
}
