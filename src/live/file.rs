//! One trace file that may still grow.

use super::Listener;
use serde_json::Value;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use trace_format::frame::FrameInfo;
use trace_format::header::FileHeader;
use trace_format::read::{ReadError, ReadErrorKind, TraceReader};
use trace_format::schema::{AnyColumn, Role, TableSpec};
use trace_format::tables;

/// How often a frame whose bytes are not right is looked at again before it counts as damaged: a file system may show
/// the length of a write before all of its bytes.
const TRIES: u32 = 3;

/// An open trace file and how far it was read.
pub struct Growing {
    path: PathBuf,
    reader: TraceReader<File>,
    identity: (u64, u64),
    /// Frames that were not readable yet.
    unreadable: Vec<Unreadable>,
    /// A definition was lost, so repetitions are worth reading.
    needs_repeats: bool,
    has_begun: bool,
}

struct Unreadable {
    frame: FrameInfo,
    wanted: &'static [&'static dyn AnyColumn],
    tries: u32,
}

/// What became of the name under which a file was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// It still names this file.
    Same,
    /// It names another one now.
    Replaced,
    /// Nothing has this name any more.
    Gone,
}

impl Growing {
    /// Opens the trace at `path`; `None`: its header is not there yet.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is no trace.
    pub fn open(path: &Path) -> Result<Option<Growing>, ReadError> {
        let reader = match TraceReader::open(path) {
            Ok(reader) => reader,
            Err(error) if matches!(error.what, ReadErrorKind::Empty | ReadErrorKind::HeaderIncomplete) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        // Between the two the name may change hands; then the next look says that it was replaced.
        let identity = path.metadata().as_ref().map_or((0, 0), identity);
        Ok(Some(Growing {
            path: path.to_owned(),
            reader,
            identity,
            unreadable: Vec::new(),
            needs_repeats: false,
            has_begun: false,
        }))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file header.
    pub fn header(&self) -> &FileHeader {
        self.reader.header()
    }

    /// Device and inode.
    pub fn identity(&self) -> (u64, u64) {
        self.identity
    }

    /// Whether its writer has come to its end, and all of it was read.
    pub fn is_closed(&self) -> bool {
        self.has_begun && self.reader.is_closed() && self.unreadable.is_empty()
    }

    /// Length at the last look, in bytes.
    pub fn len_bytes(&self) -> u64 {
        self.reader.len_bytes()
    }

    /// What became of its name.
    pub fn name(&self) -> Name {
        match self.path.metadata() {
            Ok(now) if identity(&now) == self.identity => Name::Same,
            Ok(_) => Name::Replaced,
            Err(_) => Name::Gone,
        }
    }

    /// When it was last written to.
    pub fn modified(&self) -> Option<SystemTime> {
        self.path.metadata().and_then(|m| m.modified()).ok()
    }

    /// Earliest start and latest end of the records in it, on the trace clock, as its frame headers say.
    pub fn span_ns(&self) -> (Option<i64>, Option<i64>) {
        let records = || self.reader.frames().iter().filter(|f| is_activity(f));
        (records().filter_map(|f| f.min_start_ns).min(), records().filter_map(|f| f.max_end_ns).max())
    }

    /// Tells `listener` what is new; the first time everything, what is defined before what refers to it. Returns how
    /// many frames that was.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or became shorter.
    pub fn poll(&mut self, listener: &mut dyn Listener) -> Result<usize, ReadError> {
        let mut told = 0;
        for Unreadable { frame, wanted, tries } in std::mem::take(&mut self.unreadable) {
            self.read(&frame, wanted, tries + 1, listener);
            told += 1;
        }
        if !self.has_begun {
            self.has_begun = true;
            told += self.begin(listener);
        }
        for frame in self.reader.follow()? {
            self.tell(&frame, listener);
            told += 1;
        }
        Ok(told)
    }

    /// What is in the file at the beginning, which may be hours of it: definitions by way of the reader, which takes
    /// repetitions where one is damaged.
    fn begin(&mut self, listener: &mut dyn Listener) -> usize {
        if let Some(process) = self.reader.process() {
            listener.process(&process);
        }
        for table in tables::ALL.iter().copied().filter(|t| t.role == Role::Defining) {
            let of_table = |f: &&FrameInfo| f.table == table.id && !f.is_repeat();
            let wanted =
                self.reader.frames().iter().filter(of_table).filter_map(|f| listener.frame(table, f)).count();
            if wanted > 0 {
                let (batches, problems) = self.reader.definition_batches(table);
                batches.iter().for_each(|batch| listener.rows(batch));
                self.needs_repeats |= !problems.is_empty();
            }
        }
        let is_record = |f: &&FrameInfo| f.spec().is_some_and(|t| matches!(t.role, Role::Activity | Role::Meta));
        let frames: Vec<FrameInfo> = self.reader.frames().iter().filter(is_record).cloned().collect();
        frames.iter().for_each(|frame| self.tell(frame, listener));
        frames.len()
    }

    /// Tells of one frame.
    fn tell(&mut self, frame: &FrameInfo, listener: &mut dyn Listener) {
        let Some(table) = frame.spec() else { return };
        if table == &tables::PROCESS {
            if let Ok(process) = self.reader.read_json(frame) {
                listener.process(&process);
            }
        } else if frame.is_json() || (frame.is_repeat() && !self.needs_repeats) {
            // An index, or what is known.
        } else if let Some(wanted) = listener.frame(table, frame) {
            self.read(frame, wanted, 0, listener);
        }
    }

    fn read(
        &mut self,
        frame: &FrameInfo,
        wanted: &'static [&'static dyn AnyColumn],
        tries: u32,
        listener: &mut dyn Listener,
    ) {
        let names: Vec<&str> = wanted.iter().map(|column| column.name()).collect();
        match self.reader.read_batch(frame, Some(&names)) {
            Ok(batch) => listener.rows(&batch),
            Err(_) if tries < TRIES && !self.reader.is_closed() => {
                self.unreadable.push(Unreadable { frame: frame.clone(), wanted, tries });
            }
            Err(_) => {
                self.needs_repeats |= frame.spec().is_some_and(|t| t.role == Role::Defining);
                listener.damaged(u64::from(frame.rows));
            }
        }
    }

    /// Who was recorded.
    pub fn process(&self) -> Option<Value> {
        self.reader.process()
    }
}

/// Whether a frame holds records of activity.
pub fn is_activity(frame: &FrameInfo) -> bool {
    frame.spec().is_some_and(|table: &TableSpec| table.role == Role::Activity)
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}
