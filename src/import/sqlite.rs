//! What every reader of an SQLite database needs: opening it without ever writing to it, and its catalogue.

use crate::error::{Error, Result};
use rusqlite::{Connection, OpenFlags};
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
    Connection::open_with_flags(uri, flags).map_err(|e| failed(path, "opening the database", &e))
}

/// Names of all tables and views.
pub fn tables(db: &Connection, path: &Path) -> Result<Vec<String>> {
    let run = || -> rusqlite::Result<Vec<String>> {
        let mut statement = db.prepare("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")?;
        let names = statement.query_map([], |row| row.get(0))?;
        names.collect()
    };
    run().map_err(|e| failed(path, "reading the list of tables", &e))
}

/// Names of the columns of `table`; empty if there is no such table.
pub fn columns(db: &Connection, path: &Path, table: &str) -> Result<Vec<String>> {
    let run = || -> rusqlite::Result<Vec<String>> {
        let mut statement = db.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let names = statement.query_map([table], |row| row.get(0))?;
        names.collect()
    };
    run().map_err(|e| failed(path, &format!("reading the columns of {table}"), &e))
}

/// The error for an SQLite call that failed while `doing` something.
pub fn failed(path: &Path, doing: &str, error: &rusqlite::Error) -> Error {
    Error::at(path, format_args!("{doing}: {error}"))
        .remedy("the database may be cut off or damaged: copy or export it again")
}
