//! Readers of other tools' files. Each is one file here and one line in [`IMPORTERS`]; content decides which one
//! reads a file, never its name.

use crate::error::{Error, Result};
use crate::trace::sink::{Need, Sink};
use encoding::Decoded;
use std::cell::OnceCell;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A reader of one foreign format.
pub trait Importer: Sync {
    /// A short fixed name, e.g. `nsys-sqlite`.
    fn name(&self) -> &'static str;
    /// What it opens, for help and `info`.
    fn describes(&self) -> &'static str;
    /// Whether the file is of this format, judged by its content.
    fn sniff(&self, head: &Head) -> bool;
    /// Reads what `need` asks for into `sink`. An error here means that nothing of the file can be used; what can
    /// be used in part is read as far as it goes and noted in the sink.
    fn read(&self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()>;
}

/// All readers, in the order in which they are asked.
pub static IMPORTERS: &[&dyn Importer] = &[
    &nvprof::Nvprof,
    &nvvp_session::NvvpSession,
    &nsys::Nsys,
    &exported::CsvTimeline,
    &exported::Folder,
    &speedscope::Speedscope,
    &tensorflow::TensorFlow,
    &chrome_trace::ChromeTrace,
    &function_log::FunctionLog,
    // Takes JSON that has not said yet what it is, so it stands behind those who know theirs.
    &kineto::Kineto,
    &nvprof_printed::NvprofPrinted,
    &nsys_stats::NsysStats,
    &rocprof_csv::RocprofCsv,
    &cprofile::CProfile,
    &folded::Folded,
];

/// The reader for a file.
///
/// # Errors
/// Fails if no reader knows the content. The error says what to do and, where this can be told, what the content is.
pub fn choose(head: &Head) -> Result<&'static dyn Importer> {
    if let Some(importer) = IMPORTERS.iter().find(|importer| importer.sniff(head)) {
        return Ok(*importer);
    }
    Err(refuse::refusal(head).unwrap_or_else(|| {
        Error::at(&head.path, "not a trace that gpuprof can open")
            .remedy("`gpuprof info --formats` lists what it opens")
    }))
}

/// Whether a file that cannot be used deserves a remark though nobody named it: it looks like a trace of some tool.
pub fn claims_to_be_a_trace(head: &Head) -> bool {
    IMPORTERS.iter().any(|importer| importer.sniff(head))
}

/// The beginning of a file, unpacked if it was packed, and what else readers judge by.
pub struct Head {
    /// Where the file is.
    pub path: PathBuf,
    /// The first bytes as they are on disk.
    pub raw: Vec<u8>,
    /// The first bytes after unpacking gzip, without a byte order mark, and UTF-8 where the file is UTF-16; else equal
    /// to `raw`.
    pub text: Vec<u8>,
    tables: OnceCell<Vec<String>>,
}

/// How much of a file readers may look at before one of them takes it. Kineto traces may start with kilobytes of
/// device properties or metadata before the first telling key.
const HEAD_BYTES: u64 = 64 * 1024;

/// First bytes of a gzip member.
pub const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// First bytes of an SQLite database.
pub const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

impl Head {
    /// Reads the beginning of the file at `path`.
    pub fn read(path: &Path) -> Result<Head> {
        // Before opening: a pipe that nobody writes to would be waited for.
        if path.metadata().is_ok_and(|m| !m.is_file()) {
            return Err(Error::at(path, "not a regular file, and a trace is read more than once")
                .remedy("save it to a file first"));
        }
        let file = File::open(path).map_err(|e| Error::at(path, format_args!("cannot be opened: {e}")))?;
        let mut raw = Vec::new();
        file.take(HEAD_BYTES)
            .read_to_end(&mut raw)
            .map_err(|e| Error::at(path, format_args!("cannot be read at byte {}: {e}", raw.len())))?;
        let mut text = Vec::new();
        if raw.starts_with(&GZIP_MAGIC) {
            let unpacked = Decoded::new(flate2::read::MultiGzDecoder::new(&raw[..]));
            // The head ends somewhere inside a deflate block, so an error after some output is expected.
            let _ = unpacked.take(HEAD_BYTES).read_to_end(&mut text);
        } else {
            let _ = Decoded::new(&raw[..]).read_to_end(&mut text);
        }
        Ok(Head { path: path.to_owned(), raw, text, tables: OnceCell::new() })
    }

    /// Names of the tables if the file is an SQLite database that can be opened, else none.
    pub fn sqlite_tables(&self) -> &[String] {
        self.tables.get_or_init(|| {
            if !self.raw.starts_with(SQLITE_MAGIC) {
                return Vec::new();
            }
            sqlite::open(&self.path).map(|db| sqlite::tables(&db).0).unwrap_or_default()
        })
    }
}

pub(crate) mod chrome_trace;
pub(crate) mod cprofile;
#[cfg(test)]
mod cut_law;
mod encoding;
pub(crate) mod exported;
pub(crate) mod folded;
pub(crate) mod function_log;
mod json_stream;
pub(crate) mod kineto;
mod lines;
pub(crate) mod nsys;
pub(crate) mod nsys_stats;
pub(crate) mod nvprof;
pub(crate) mod nvprof_printed;
pub(crate) mod nvvp_session;
pub(crate) mod refuse;
pub(crate) mod rocprof_csv;
pub(crate) mod rows;
mod samples;
mod shares;
pub(crate) mod speedscope;
pub(crate) mod sqlite;
pub(crate) mod tensorflow;
#[cfg(test)]
mod testing;
mod units;
mod unread;
mod unread_tables;
