//! What every reader of an SQLite database needs: opening it without ever writing to it, and its catalogue.

mod journal;

use super::{GZIP_MAGIC, Head, SQLITE_MAGIC};
use crate::error::{Error, Result};
use crate::trace::sink::Sink;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Opens a database that nothing may write to. `immutable=1` also keeps SQLite from creating `-wal` and `-shm` files
/// beside it and lets it be opened in a read-only folder.
pub fn open(path: &Path) -> Result<Connection> {
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => uri.push(byte as char),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(uri, flags).map_err(|e| failed(path, "opening the database", &e))?;
    prepare(&db, path, std::fs::metadata(path).map_or(0, |m| m.len()))?;
    Ok(db)
}

/// Bytes of a value that any database may have, for the few that are put together while reading.
const LONGEST_MADE: u64 = 1 << 20;

/// Settings for databases that may be damaged or made to do harm.
fn prepare(db: &Connection, path: &Path, bytes: u64) -> Result<()> {
    // What is stored is no longer than the file. A generated column can make any length of nothing, row after row.
    let longest = bytes.clamp(LONGEST_MADE, i32::MAX as u64) as i32;
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, longest).map_err(|e| failed(path, "opening the database", &e))?;
    // `writable_schema` writes nothing here; it is what makes SQLite read a cut-off file as far as it goes, where it
    // would else refuse all of it. The other two are SQLite's advice for files from elsewhere.
    db.execute_batch("PRAGMA writable_schema = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
        .map_err(|e| failed(path, "opening the database", &e))
}

/// An open database.
pub struct Database {
    /// The connection.
    pub connection: Connection,
    /// Whether [`open`] can open it once more.
    pub on_disk: bool,
    /// Its size, unpacked.
    pub bytes: u64,
}

/// Opens a database that may be packed with gzip; a packed one is unpacked into memory.
pub fn open_any(path: &Path, sink: &mut Sink) -> Result<Database> {
    let mut file = File::open(path).map_err(|e| Error::at(path, format_args!("cannot be opened: {e}")))?;
    let mut magic = Vec::new();
    let unreadable = |e: std::io::Error| Error::at(path, format_args!("cannot be read: {e}"));
    file.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut magic).map_err(unreadable)?;
    if magic != GZIP_MAGIC {
        let bytes = file.metadata().map(|m| m.len()).unwrap_or(0);
        journal::refuse_hot(path, &mut file, bytes)?;
        note_log(path, sink);
        note_cut(path, &mut file, bytes, sink);
        return Ok(Database { connection: open(path)?, on_disk: true, bytes });
    }
    from_bytes(path, unpack(path, (&magic[..]).chain(file), sink)?)
}

/// Unpacks a database. What was packed before the place where an archive is cut off or damaged is the front of a
/// database, which can be read in part.
pub fn unpack(path: &Path, packed: impl Read, sink: &mut Sink) -> Result<Vec<u8>> {
    let mut archive = flate2::read::MultiGzDecoder::new(packed);
    let mut bytes = Vec::new();
    // Small steps: of the step that fails nothing is left.
    let mut step = [0; 4096];
    let failure = loop {
        match archive.read(&mut step) {
            Ok(0) => break None,
            Ok(read) => bytes.extend_from_slice(&step[..read]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => break Some(e),
        }
    };
    match failure {
        Some(e) if !bytes.starts_with(SQLITE_MAGIC) => {
            Err(Error::at(path, format_args!("cannot be unpacked: {e}"))
                .remedy("the file may be cut off or damaged: copy it again"))
        }
        Some(e) => {
            let (path, length) = (path.display(), bytes.len());
            sink.note("damaged-archive", format!("{path}: only its first {length} bytes could be unpacked: {e}"));
            Ok(bytes)
        }
        None => Ok(bytes),
    }
}

/// Opens a database that lies in memory.
pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Database> {
    let length = bytes.len() as u64;
    let mut connection = Connection::open_in_memory().map_err(|e| failed(path, "opening the database", &e))?;
    connection
        .deserialize_read_exact("main", &bytes[..], bytes.len(), true)
        .map_err(|e| failed(path, "opening the unpacked database", &e))?;
    prepare(&connection, path, length)?;
    Ok(Database { connection, on_disk: false, bytes: length })
}

/// Whether the file is a database, packed or not, with a table called `table`.
pub fn holds(head: &Head, table: &str) -> bool {
    if !head.text.starts_with(SQLITE_MAGIC) {
        return false;
    }
    // The definitions of tables stand at the front of the file as text, where a packed or damaged one shows them too.
    let defined = || {
        let definition = format!("CREATE TABLE {table}");
        head.text.windows(definition.len()).any(|window| window == definition.as_bytes())
    };
    head.sqlite_tables().iter().any(|name| name == table) || (head.sqlite_tables().is_empty() && defined())
}

/// Names of all tables, as far as they can be read, and what kept the rest from being read. Views are left out and
/// noted, see [`views`]: no export has any, and a view can be made to run for ever.
pub fn tables(db: &Connection) -> (Vec<String>, Option<rusqlite::Error>) {
    texts(db, "SELECT name FROM sqlite_master WHERE type = 'table'", &[])
}

/// Names of all views, as far as they can be read.
pub fn views(db: &Connection) -> Vec<String> {
    texts(db, "SELECT name FROM sqlite_master WHERE type = 'view'", &[]).0
}

/// Names of the columns of `table`; empty if there is no such table.
pub fn columns(db: &Connection, table: &str) -> (Vec<String>, Option<rusqlite::Error>) {
    texts(db, "SELECT name FROM pragma_table_info(?1)", &[table])
}

/// The first column of what a statement finds. Names that are not UTF-8 are nobody's we look for.
fn texts(db: &Connection, sql: &str, parameters: &[&str]) -> (Vec<String>, Option<rusqlite::Error>) {
    let mut names = Vec::new();
    let mut read = || -> rusqlite::Result<()> {
        let mut statement = db.prepare(sql)?;
        let mut rows = statement.query(rusqlite::params_from_iter(parameters))?;
        while let Some(row) = rows.next()? {
            names.extend(row.get_ref(0)?.as_str().map(str::to_owned).ok());
        }
        Ok(())
    };
    let failure = read().err();
    (names, failure)
}

/// Notes that a file is shorter than its header says: what is missing need not be anything that is looked at.
fn note_cut(path: &Path, file: &mut File, bytes: u64, sink: &mut Sink) {
    let mut header = [0; 100];
    if file.seek(SeekFrom::Start(0)).and_then(|_| file.read_exact(&mut header)).is_err() {
        return;
    }
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let page_bytes = match u64::from(word(16) >> 16) {
        1 => 65_536,
        bytes => bytes,
    };
    // Writers before SQLite 3.7 left the number of pages as it was; the change counter was noted with it since.
    let expected = u64::from(word(28)) * page_bytes;
    if word(24) == word(92) && expected > bytes {
        let path = path.display();
        sink.note("cut-off-file", format!("{path}: cut off: {bytes} of {expected} bytes are there; copy it again"));
    }
}

/// Notes changes that a writer has left in a log beside the database: reading them would mean writing to it.
fn note_log(path: &Path, sink: &mut Sink) {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        let path = path.display();
        sink.note(
            "unread-log",
            format!("{path}: changes in {path}-wal are not read; open and close the database with sqlite3 first"),
        );
    }
}

/// The error for an SQLite call that failed while `doing` something.
pub fn failed(path: &Path, doing: &str, error: &rusqlite::Error) -> Error {
    Error::at(path, format_args!("{doing}: {error}"))
        .remedy("the database may be cut off or damaged: copy or export it again")
}
