//! Reading a trace: which frames there are, their payloads, and what is missing.
//!
//! Opening reads headers and indices only. Nothing here fails because part of a file is damaged: frames that are
//! whole are given, and [`TraceReader::problems`] says exactly what is not.

mod account;
mod definitions;
mod error;
mod file;
mod follow;
mod scan;
mod source;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::frame::{FrameInfo, HEADER_BYTES};
use crate::header::FileHeader;
use crate::tables::CLOSED;
use file::{Beginning, Counted};
use scan::{Scan, frame_problem};

pub use definitions::Definitions;
pub use error::{Problem, ProblemKind, ReadError, ReadErrorKind};
pub use source::Source;

/// An open trace.
pub struct TraceReader<S = File> {
    file: Counted<S>,
    path: Option<PathBuf>,
    header: FileHeader,
    marker: [u8; 8],
    begin: u64,
    json_end: u64,
    len: u64,
    frames: Vec<FrameInfo>,
    damage: Vec<Problem>,
    problems: Vec<Problem>,
    resume_at: u64,
    closed: bool,
    closed_totals: Option<Value>,
    /// Frames are handed out and not kept; what is missing between them cannot be told.
    forgets: bool,
}

impl TraceReader<File> {
    /// Opens the trace at `path`.
    ///
    /// Errors: the file cannot be read, is not a trace, has no whole header, or needs a newer build.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        let error = |what| ReadError { path: Some(path.to_owned()), offset: 0, what };
        let file = File::open(path).map_err(|e| error(ReadErrorKind::Io(e)))?;
        let mut reader = TraceReader::new(file).map_err(|e| ReadError { path: Some(path.to_owned()), ..e })?;
        reader.path = Some(path.to_owned());
        Ok(reader)
    }
}

impl<S: Source> TraceReader<S> {
    /// Opens a trace on any source of bytes. Errors: as [`TraceReader::open`].
    pub fn new(source: S) -> Result<Self, ReadError> {
        let file = Counted { source, bytes_read: AtomicU64::new(0) };
        let error = |(offset, what)| ReadError { path: None, offset, what };
        let len = file.source.len().map_err(|e| error((0, ReadErrorKind::Io(e))))?;
        let Beginning { header, marker, json_end, frames_at, damage } =
            file::beginning(&file, len).map_err(error)?;
        let mut reader = TraceReader {
            file,
            path: None,
            header,
            marker,
            begin: frames_at,
            json_end,
            len,
            frames: Vec::new(),
            damage: damage.into_iter().collect(),
            problems: Vec::new(),
            resume_at: frames_at,
            closed: false,
            closed_totals: None,
            forgets: false,
        };
        reader.scan(|scan| scan.all(len))?;
        Ok(reader)
    }

    /// Looks for frames that were appended since; returns how many there are. For a file still being written.
    ///
    /// Errors: the file cannot be read, or became shorter.
    pub fn refresh(&mut self) -> Result<usize, ReadError> {
        let len = self.file.source.len().map_err(|e| self.error(self.resume_at, ReadErrorKind::Io(e)))?;
        if len < self.resume_at {
            return Err(self.error(self.len, ReadErrorKind::Shrunk { len }));
        }
        self.len = len;
        if self.frames.last().is_some_and(|f| f.table == CLOSED.id && f.end() < self.resume_at) {
            // Behind the trailer nothing is ours.
            return Ok(0);
        }
        let before = self.frames.len();
        // What was unreadable at the end may have been half-written; it is judged again.
        self.damage.retain(|p| p.offset < self.resume_at);
        let from = self.resume_at;
        self.scan(|scan| scan.hop(from, len))?;
        Ok(self.frames.len() - before)
    }

    fn scan(&mut self, find: impl FnOnce(&mut Scan<'_, S>) -> io::Result<()>) -> Result<(), ReadError> {
        let mut scan = Scan {
            file: &self.file,
            marker: self.marker,
            begin: self.begin,
            frames: std::mem::take(&mut self.frames),
            damage: std::mem::take(&mut self.damage),
            resume_at: self.resume_at,
            closed: self.closed,
        };
        let found = find(&mut scan);
        (self.closed, self.resume_at) = (scan.closed, scan.resume_at);
        (self.frames, self.damage) = (scan.frames, scan.damage);
        found.map_err(|e| self.error(self.resume_at, ReadErrorKind::Io(e)))?;
        if let (None, Some(last)) = (&self.closed_totals, self.frames.last().filter(|f| f.table == CLOSED.id)) {
            match self.read_json(last) {
                Ok(totals) => self.closed_totals = Some(totals),
                Err(_) => self.damage.push(frame_problem(last)),
            }
        }
        self.problems = match self.forgets {
            true => self.damage.clone(),
            false => account::account(&self.damage, &self.frames, self.closed_totals.as_ref(), self.len),
        };
        Ok(())
    }

    /// What the file header says.
    pub fn header(&self) -> &FileHeader {
        &self.header
    }

    /// All whole frames, by position: those of unknown tables, indices and the closing frame included.
    pub fn frames(&self) -> &[FrameInfo] {
        &self.frames
    }

    /// Damage found so far. Payloads are only looked at when they are read; see [`TraceReader::verify`].
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether the writer came to its end.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// What the closing frame says: `tables`, by name, with `rows`, `frames`, `bytes`; and `writer_totals`.
    pub fn closed_totals(&self) -> Option<&Value> {
        self.closed_totals.as_ref()
    }

    /// Bytes behind the last whole frame of a file: a frame being written, or cut off with its writer.
    pub fn tail_bytes(&self) -> u64 {
        let damaged = self.damage.iter().filter(|p| p.offset >= self.resume_at).map(|p| p.bytes).sum();
        self.len.saturating_sub(self.resume_at).saturating_sub(damaged)
    }

    /// Length of the file when it was opened or last refreshed.
    pub fn len_bytes(&self) -> u64 {
        self.len
    }

    /// Bytes read from the file so far.
    pub fn bytes_read(&self) -> u64 {
        self.file.bytes_read.load(Ordering::Relaxed)
    }

    /// Replaces `payload` by the payload of a frame.
    ///
    /// Errors: it cannot be read, or is not what was written.
    pub fn read_payload(&self, frame: &FrameInfo, payload: &mut Vec<u8>) -> Result<(), ReadError> {
        match self.file.payload(frame, payload) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.error(frame.offset, ReadErrorKind::FrameDamaged { table: frame.table })),
            Err(e) => Err(self.error(frame.offset, ReadErrorKind::Io(e))),
        }
    }

    /// Reads everything and returns all damage, also where nothing is lost by it.
    ///
    /// Errors: the file cannot be read.
    pub fn verify(&self) -> Result<Vec<Problem>, ReadError> {
        let mut problems = self.problems.clone();
        let mut bytes = Vec::new();
        let io = |frame: &FrameInfo| {
            let offset = frame.offset;
            move |e| self.error(offset, ReadErrorKind::Io(e))
        };
        for frame in &self.frames {
            let known = problems.iter().any(|p| p.kind == ProblemKind::Frame && p.offset == frame.offset);
            if known {
                continue;
            }
            bytes.resize((frame.end() - frame.offset) as usize, 0);
            let whole = self.file.read(&mut bytes, frame.offset).map_err(io(frame))? == bytes.len();
            let (payload, padding) = bytes.split_at(HEADER_BYTES).1.split_at(frame.payload_len as usize);
            if !whole || crc32c::crc32c(payload) != frame.payload_crc {
                problems.push(frame_problem(frame));
            } else if !self.header_agrees(&bytes, frame) || padding.iter().any(|&b| b != 0) {
                problems.push(Problem { rows: Some(0), ..frame_problem(frame) });
            }
        }
        self.verify_ends(&mut problems)?;
        problems.sort_by_key(|p| p.offset);
        Ok(problems)
    }

    /// Whether the header on disk is the one that an index gave.
    fn header_agrees(&self, bytes: &[u8], frame: &FrameInfo) -> bool {
        let on_disk = bytes.first_chunk().and_then(|b| FrameInfo::from_bytes(b, self.marker, frame.offset));
        on_disk.is_some_and(|h| FrameInfo { index_distance: frame.index_distance, ..h } == *frame)
    }

    /// The zeros behind the header's JSON. (The trailer was looked at on opening.)
    fn verify_ends(&self, problems: &mut Vec<Problem>) -> Result<(), ReadError> {
        let mut bytes = vec![0; (self.begin - self.json_end) as usize];
        self.file.read(&mut bytes, self.json_end).map_err(|e| self.error(self.json_end, ReadErrorKind::Io(e)))?;
        if bytes.iter().any(|&b| b != 0) {
            let (kind, bytes) = (ProblemKind::Header, bytes.len() as u64);
            problems.push(Problem { kind, offset: self.json_end, bytes, table: None, rows: Some(0) });
        }
        Ok(())
    }

    fn error(&self, offset: u64, what: ReadErrorKind) -> ReadError {
        ReadError { path: self.path.clone(), offset, what }
    }
}
