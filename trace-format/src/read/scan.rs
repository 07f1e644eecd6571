//! Finding the frames: by the indices where there are some, by hopping from header to header elsewhere.

use std::io;

use super::error::{Problem, ProblemKind};
use super::file::Counted;
use super::source::Source;
use crate::frame::{FrameInfo, HEADER_BYTES};
use crate::index::{Index, TRAILER_BYTES, parse_trailer};
use crate::tables::{CLOSED, INDEX};

/// Bytes looked at together while searching for a marker.
const SEARCH_BYTES: usize = 1 << 20;
/// Below this length hopping from the start is cheaper than looking for an index from the end.
const HOP_BYTES: u64 = 4 << 20;

/// One way through a file.
pub(super) struct Scan<'a, S> {
    pub file: &'a Counted<S>,
    pub marker: [u8; 8],
    /// Position of the first frame.
    pub begin: u64,
    /// Frames found, by position.
    pub frames: Vec<FrameInfo>,
    /// Damage found.
    pub damage: Vec<Problem>,
    /// Where the next frame will be looked for when the file has grown.
    pub resume_at: u64,
    /// The closing frame is there.
    pub closed: bool,
}

impl<S: Source> Scan<'_, S> {
    /// Finds all frames of a file of `len` bytes.
    pub(super) fn all(&mut self, len: u64) -> io::Result<()> {
        if let Some(index) = self.trailer(len)? {
            let end = len - TRAILER_BYTES as u64;
            self.around_index(Some(index), end)?;
            self.closing_frame_damaged(end);
            self.resume_at = len;
            self.closed = true;
            return Ok(());
        }
        let index = self.last_index(len)?;
        self.around_index(index, len)
    }

    /// Finds all frames before `end`, given the position of an index near it.
    fn around_index(&mut self, index: Option<u64>, end: u64) -> io::Result<()> {
        if let Some((mut known, from)) = index.map(|at| self.follow(at)).transpose()?.flatten() {
            self.hop(self.begin, from)?;
            self.frames.append(&mut known);
            self.hop(self.resume_from(), end)
        } else {
            self.hop(self.begin, end)
        }
    }

    /// Between the last index and the trailer there is only one thing that can have been damaged.
    fn closing_frame_damaged(&mut self, end: u64) {
        let after_index = self.frames.last().filter(|f| f.table == INDEX.id).map(FrameInfo::end);
        for problem in &mut self.damage {
            if Some(problem.offset) == after_index && problem.offset + problem.bytes == end {
                (problem.table, problem.rows) = (Some(CLOSED.id), Some(1));
            }
        }
    }

    /// Position behind the last frame found.
    fn resume_from(&self) -> u64 {
        self.frames.last().map_or(self.begin, FrameInfo::end)
    }

    fn trailer(&self, len: u64) -> io::Result<Option<u64>> {
        let mut bytes = [0; TRAILER_BYTES];
        let Some(at) = len.checked_sub(TRAILER_BYTES as u64).filter(|&at| at >= self.begin) else {
            return Ok(None);
        };
        let whole = self.file.read(&mut bytes, at)? == TRAILER_BYTES;
        Ok(whole.then(|| parse_trailer(&bytes, self.marker)).flatten())
    }

    /// The last index of a file that does not say where it is: any frame near the end knows.
    fn last_index(&self, len: u64) -> io::Result<Option<u64>> {
        if len - self.begin < HOP_BYTES {
            return Ok(None);
        }
        let mut end = len;
        // An intact file has a header within the last frame and a half; where there is none in two of the longest
        // frames, something else is wrong and the hop will find out what.
        let floor = self.begin.max(len.saturating_sub(2 * crate::frame::MAX_PAYLOAD_BYTES as u64));
        let mut bytes = Vec::new();
        while end > floor {
            let start = end.saturating_sub(SEARCH_BYTES as u64).max(floor) & !7;
            // A header may lie across the border between two pieces.
            let stop = len.min(end + HEADER_BYTES as u64);
            bytes.resize((stop - start) as usize, 0);
            let read = self.file.read(&mut bytes, start)?;
            for i in (0..read).step_by(8).rev() {
                let Some(window) = bytes[i..read].first_chunk::<HEADER_BYTES>() else { continue };
                let Some(frame) = FrameInfo::from_bytes(window, self.marker, start + i as u64) else { continue };
                if frame.table == INDEX.id {
                    return Ok(Some(frame.offset));
                }
                let distance = u64::from(frame.index_distance);
                return Ok((distance > 0).then(|| frame.offset.saturating_sub(distance)));
            }
            end = start;
        }
        Ok(None)
    }

    /// Follows the chain of indices backwards from the one at `at`. Gives the frames they list and the last one
    /// itself, and the position from which on that is all there is; nothing where already the first is unusable.
    fn follow(&mut self, at: u64) -> io::Result<Option<(Vec<FrameInfo>, u64)>> {
        let mut payload = Vec::new();
        let mut pieces: Vec<Vec<FrameInfo>> = Vec::new();
        let mut next = Some(at).filter(|&at| at >= self.begin);
        let mut from = at;
        while let Some(at) = next {
            // An index that is listed by the one behind it has its header there; the first is on its own.
            let listed = pieces.last().and_then(|p| p.first()).cloned();
            let frame = match listed {
                Some(frame) => Some(frame),
                None => self.file.frame_at(at, self.marker)?,
            };
            let Some(frame) = frame.filter(|f| f.table == INDEX.id && f.offset == at) else { break };
            let index = if self.file.payload(&frame, &mut payload)? {
                serde_json::from_slice::<Index>(&payload).ok()
            } else {
                None
            };
            let listed = index.as_ref().and_then(|i| i.frames(self.begin, at));
            let (Some(index), Some(listed)) = (index, listed) else {
                self.damage.push(frame_problem(&frame));
                break;
            };
            if pieces.is_empty() {
                pieces.push(vec![frame]);
            }
            from = index.previous.unwrap_or(self.begin);
            next = index.previous.filter(|&p| p >= self.begin && p < at);
            pieces.push(listed);
        }
        Ok((!pieces.is_empty()).then(|| (pieces.into_iter().rev().flatten().collect(), from)))
    }

    /// Hops from header to header between two positions.
    pub(super) fn hop(&mut self, from: u64, to: u64) -> io::Result<()> {
        let mut at = from;
        self.resume_at = from;
        while at < to {
            if self.frames.last().is_some_and(|f| f.table == CLOSED.id && f.end() == at) {
                return self.after_closed(at, to);
            }
            if to - at < HEADER_BYTES as u64 {
                break;
            }
            match self.file.frame_at(at, self.marker)? {
                // The writer is not done with it, or never will be.
                Some(frame) if frame.end() > to => break,
                Some(frame) => {
                    at = frame.end();
                    self.frames.push(frame);
                }
                None => {
                    let next = self.search(at + 8, to)?;
                    let bytes = next.unwrap_or(to) - at;
                    let kind = ProblemKind::Frame;
                    self.damage.push(Problem { kind, offset: at, bytes, table: None, rows: None });
                    let Some(next) = next else { break };
                    at = next;
                }
            }
            self.resume_at = at;
        }
        self.closed |= self.frames.last().is_some_and(|f| f.table == CLOSED.id);
        Ok(())
    }

    /// Behind the closing frame there is the trailer and nothing else.
    fn after_closed(&mut self, at: u64, to: u64) -> io::Result<()> {
        self.closed = true;
        let mut bytes = [0; TRAILER_BYTES];
        let read = self.file.read(&mut bytes[..TRAILER_BYTES.min((to - at) as usize)], at)?;
        let right = parse_trailer(&bytes, self.marker).is_some();
        if read == TRAILER_BYTES && !right {
            let kind = ProblemKind::Trailer;
            self.damage.push(Problem { kind, offset: at, bytes: to - at, table: None, rows: None });
        }
        self.resume_at = if read == TRAILER_BYTES { at + TRAILER_BYTES as u64 } else { at };
        Ok(())
    }

    /// The first position at or behind `from` where a header with a new sequence number and a whole frame begins.
    fn search(&self, from: u64, to: u64) -> io::Result<Option<u64>> {
        let last_seq = self.frames.last().map(|f| f.seq);
        let mut bytes = Vec::new();
        let mut start = from;
        while start + (HEADER_BYTES as u64) <= to {
            bytes.resize((to - start).min(SEARCH_BYTES as u64) as usize, 0);
            let read = self.file.read(&mut bytes, start)?;
            for i in (0..read).step_by(8) {
                let Some(window) = bytes[i..read].first_chunk::<HEADER_BYTES>() else { break };
                let Some(frame) = FrameInfo::from_bytes(window, self.marker, start + i as u64) else { continue };
                // A header whose frame is not whole counts too: it is where the incomplete tail begins.
                if last_seq.is_none_or(|seq| frame.seq > seq) {
                    return Ok(Some(frame.offset));
                }
            }
            if read < HEADER_BYTES {
                break;
            }
            // A header may lie across the border between two pieces.
            start += ((read - HEADER_BYTES) as u64 & !7) + 8;
        }
        Ok(None)
    }
}

/// The problem of a frame whose payload is not what was written.
pub(super) fn frame_problem(frame: &FrameInfo) -> Problem {
    Problem {
        kind: ProblemKind::Frame,
        offset: frame.offset,
        bytes: frame.end() - frame.offset,
        table: Some(frame.table),
        // A lost repetition loses no row.
        rows: Some(if frame.is_repeat() { 0 } else { u64::from(frame.rows) }),
    }
}
