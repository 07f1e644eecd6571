//! Why something could not be read, and what is known to be missing.

use std::path::PathBuf;
use std::{fmt, io};

use crate::frame::DecodeError;
use crate::header::{MAJOR, MINOR};
use crate::tables;

/// Why a trace, or one of its frames, could not be read.
#[derive(Debug)]
pub struct ReadError {
    /// The file, where there is one.
    pub path: Option<PathBuf>,
    /// Where in the file.
    pub offset: u64,
    /// What is wrong there.
    pub what: ReadErrorKind,
}

/// What is wrong.
#[derive(Debug)]
pub enum ReadErrorKind {
    /// The system refused.
    Io(io::Error),
    /// The file has no bytes.
    Empty,
    /// The file begins with zeros: its first block never reached the disk.
    Zeroed,
    /// The file begins as no trace does.
    NotATrace,
    /// The file begins as a trace and ends inside its header.
    HeaderIncomplete,
    /// The header is damaged and there is no frame to learn from what it said.
    HeaderDamaged,
    /// Another major version of the format.
    Version {
        /// Version of the file: major, minor.
        file: (u16, u16),
        /// Program that wrote it, as it calls itself.
        writer: String,
    },
    /// The payload of a frame is not what its header promises.
    FrameDamaged {
        /// Table number.
        table: u16,
    },
    /// The payload is as it was written and still cannot be decoded.
    Decode {
        /// Table number.
        table: u16,
        /// Why.
        source: DecodeError,
    },
    /// The file is shorter than it was.
    Shrunk {
        /// Its length now.
        len: u64,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        let at = self.offset;
        match &self.what {
            ReadErrorKind::Io(source) => write!(f, "cannot be read at byte {at}: {source}"),
            ReadErrorKind::Empty => {
                write!(f, "the file is empty: its writer stopped before the header; nothing was recorded")
            }
            ReadErrorKind::Zeroed => write!(
                f,
                "the file begins with zeros: the system stopped before its first block reached the disk; nothing \
                 can be read"
            ),
            ReadErrorKind::NotATrace => {
                write!(
                    f,
                    "not a .gpuprof trace: it does not begin with \"GPUPROF\"; give another importer's format"
                )
            }
            ReadErrorKind::HeaderIncomplete => {
                write!(f, "header incomplete: the file ends at byte {at}, inside the header; nothing was recorded")
            }
            ReadErrorKind::HeaderDamaged => write!(
                f,
                "the header is damaged and no whole frame follows; nothing can be read, restore the file from a copy"
            ),
            ReadErrorKind::Version { file: (major, minor), writer } => write!(
                f,
                "format version {major}.{minor}, written by {writer}, cannot be read: this build reads up to \
                 {MAJOR}.{MINOR}; update gpuprof"
            ),
            ReadErrorKind::FrameDamaged { table } => {
                write!(f, "frame at byte {at}, table {}: checksum differs; its rows are lost", table_name(*table))
            }
            ReadErrorKind::Decode { table, source } => {
                write!(f, "frame at byte {at}, table {}: {source}; please report this", table_name(*table))
            }
            ReadErrorKind::Shrunk { len } => write!(
                f,
                "the file was {at} bytes long and now has {len}: something cut or replaced it; open it again"
            ),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.what {
            ReadErrorKind::Io(source) => Some(source),
            ReadErrorKind::Decode { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// What kind of damage was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The file header; what it said is lost or doubtful, frames are not.
    Header,
    /// A frame, or bytes where one must have been.
    Frame,
    /// The last 16 bytes of a closed file; nothing is lost.
    Trailer,
    /// Rows are missing that no damaged place accounts for.
    Rows,
}

/// Damage found in a file. The incomplete last frame of an unclosed file is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is damaged.
    pub kind: ProblemKind,
    /// Where it begins.
    pub offset: u64,
    /// How many bytes are unusable.
    pub bytes: u64,
    /// Table number, where known.
    pub table: Option<u16>,
    /// Rows lost, where known.
    pub rows: Option<u64>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { kind, offset, bytes, table, rows } = self;
        match kind {
            ProblemKind::Header => write!(f, "byte {offset}: file header damaged")?,
            ProblemKind::Frame => write!(f, "byte {offset}: {bytes} bytes damaged")?,
            ProblemKind::Trailer => write!(f, "byte {offset}: end mark damaged, nothing lost")?,
            ProblemKind::Rows => write!(f, "byte {offset}: rows missing before it")?,
        }
        if let Some(table) = table {
            write!(f, ", table {}", table_name(*table))?;
        }
        rows.map_or(Ok(()), |rows| write!(f, ", {rows} rows lost"))
    }
}

fn table_name(id: u16) -> String {
    tables::by_id(id).map_or_else(|| format!("number {id} (unknown to this build)"), |t| t.name.to_owned())
}
