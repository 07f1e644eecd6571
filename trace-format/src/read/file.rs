//! Counted reads, and the file header in every state a file can be in.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::{Problem, ProblemKind, ReadErrorKind};
use super::source::Source;
use crate::frame::{FrameInfo, HEADER_BYTES};
use crate::header::{FileHeader, MAGIC, MAJOR, MINOR, PREFIX_BYTES, Prefix};

/// A source that counts what is read from it.
pub(super) struct Counted<S> {
    pub source: S,
    pub bytes_read: AtomicU64,
}

impl<S: Source> Counted<S> {
    /// Reads until `buffer` is full or the file ends; returns how many bytes there were.
    pub(super) fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.source.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n.min(buffer.len() - done),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.bytes_read.fetch_add(done as u64, Ordering::Relaxed);
        Ok(done)
    }

    /// The frame header at `offset`, if there is a whole and right one.
    pub(super) fn frame_at(&self, offset: u64, marker: [u8; 8]) -> io::Result<Option<FrameInfo>> {
        let mut bytes = [0; HEADER_BYTES];
        let whole = self.read(&mut bytes, offset)? == HEADER_BYTES;
        Ok(whole.then(|| FrameInfo::from_bytes(&bytes, marker, offset)).flatten())
    }

    /// Reads the payload of `frame` into `payload`; false: not the bytes that were written.
    pub(super) fn payload(&self, frame: &FrameInfo, payload: &mut Vec<u8>) -> io::Result<bool> {
        payload.resize(frame.payload_len as usize, 0);
        let read = self.read(payload, frame.offset + HEADER_BYTES as u64)?;
        Ok(read == payload.len() && crc32c::crc32c(payload) == frame.payload_crc)
    }
}

/// What the beginning of a file says.
pub(super) struct Beginning {
    pub header: FileHeader,
    pub marker: [u8; 8],
    /// Position behind the header's JSON; zeros follow up to the first frame.
    pub json_end: u64,
    /// Position of the first frame.
    pub frames_at: u64,
    pub damage: Option<Problem>,
}

/// How far into a file with a damaged header its first frame is looked for.
const RECOVERY_BYTES: usize = (1 << 20) + (64 << 10);

/// Reads the file header of a file of `len` bytes.
///
/// Errors: the offset and what is wrong there.
pub(super) fn beginning<S: Source>(file: &Counted<S>, len: u64) -> Result<Beginning, (u64, ReadErrorKind)> {
    let io = |e| (0, ReadErrorKind::Io(e));
    let mut bytes = [0; PREFIX_BYTES];
    let read = file.read(&mut bytes, 0).map_err(io)?;
    let start = &bytes[..read];
    if start.is_empty() {
        return Err((0, ReadErrorKind::Empty));
    }
    let Some(prefix) = Prefix::parse(&bytes) else {
        return damaged(file, start, len);
    };
    let mut json = vec![0; prefix.json_len as usize];
    let json_read = file.read(&mut json, PREFIX_BYTES as u64).map_err(io)?;
    let header = prefix.with_json(&json[..json_read]);
    let FileHeader { major, minor, .. } = prefix.header;
    // Before anything else: another version may have put anything behind the first 48 bytes.
    if major != MAJOR {
        let writer = header.map(|h| h.writer).filter(|w| !w.is_empty());
        let writer = writer.unwrap_or_else(|| "an unknown program".into());
        return Err((8, ReadErrorKind::Version { file: (major, minor), writer }));
    }
    if len < u64::from(prefix.length) {
        return Err((len, ReadErrorKind::HeaderIncomplete));
    }
    let bytes = u64::from(prefix.json_len);
    let damage = header.is_none().then_some(header_problem(PREFIX_BYTES as u64, bytes));
    let header = header.unwrap_or(prefix.header);
    let json_end = PREFIX_BYTES as u64 + u64::from(prefix.json_len);
    Ok(Beginning { marker: header.marker(), header, json_end, frames_at: u64::from(prefix.length), damage })
}

fn header_problem(offset: u64, bytes: u64) -> Problem {
    Problem { kind: ProblemKind::Header, offset, bytes, table: None, rows: None }
}

/// Tells the ways in which a file can fail to begin as a trace; where it nearly does, learns the marker from the
/// first frame instead, so that a flipped bit in 48 bytes does not cost the whole file.
fn damaged<S: Source>(file: &Counted<S>, start: &[u8], len: u64) -> Result<Beginning, (u64, ReadErrorKind)> {
    if start.iter().all(|&b| b == 0) {
        return Err((0, ReadErrorKind::Zeroed));
    }
    let magic = &start[..start.len().min(MAGIC.len())];
    if start.len() < PREFIX_BYTES && MAGIC.starts_with(magic) {
        return Err((start.len() as u64, ReadErrorKind::HeaderIncomplete));
    }
    if magic.iter().zip(&MAGIC).filter(|(a, b)| a == b).count() < MAGIC.len() - 2 {
        return Err((0, ReadErrorKind::NotATrace));
    }
    let mut bytes = vec![0; RECOVERY_BYTES.min(usize::try_from(len).unwrap_or(usize::MAX))];
    let read = file.read(&mut bytes, 0).map_err(|e| (0, ReadErrorKind::Io(e)))?;
    bytes.truncate(read);
    let mut payload = Vec::new();
    for at in (PREFIX_BYTES..bytes.len()).step_by(8) {
        let Some(window) = bytes[at..].first_chunk::<HEADER_BYTES>() else { break };
        let marker: [u8; 8] = std::array::from_fn(|i| window[i]);
        let Some(frame) = FrameInfo::from_bytes(window, marker, at as u64) else { continue };
        if marker[0] & 0x80 == 0 || frame.end() > len || !file.payload(&frame, &mut payload).unwrap_or(false) {
            continue;
        }
        let header = FileHeader { major: MAJOR, minor: MINOR, ..Default::default() };
        let damage = Some(header_problem(0, at as u64));
        return Ok(Beginning { header, marker, json_end: at as u64, frames_at: at as u64, damage });
    }
    Err((0, ReadErrorKind::HeaderDamaged))
}
