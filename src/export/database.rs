//! Databases written from beginning to end in one go: SQLite without its journals, as whoever writes an export throws
//! an unfinished one away.

use crate::error::{Error, Result};
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement};
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// Pages kept in memory, in KiB; what is dirty beyond goes to disk before the end.
const CACHE_KIB: i64 = 32 * 1024;

/// A database that is being written.
pub struct Database {
    connection: Connection,
    path: PathBuf,
    inserted: Cell<u64>,
}

impl Database {
    /// Creates the file and begins its one transaction.
    ///
    /// # Errors
    /// Fails if the file cannot be created.
    pub fn create(path: &Path) -> Result<Database> {
        let connection = Connection::open(path).map_err(|e| failed(path, &e))?;
        let database = Database { connection, path: path.to_owned(), inserted: Cell::new(0) };
        database.execute(&format!(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;
             PRAGMA cache_size = -{CACHE_KIB}; BEGIN"
        ))?;
        Ok(database)
    }

    /// Runs statements that return nothing.
    ///
    /// # Errors
    /// Fails with what SQLite says; as a rule, the disk is full.
    pub fn execute(&self, sql: &str) -> Result<()> {
        self.connection.execute_batch(sql).map_err(|e| failed(&self.path, &e))
    }

    /// Rows inserted so far.
    pub fn inserted(&self) -> u64 {
        self.inserted.get()
    }

    /// Ends the transaction and closes the file.
    ///
    /// # Errors
    /// Fails with what SQLite says; as a rule, the disk is full.
    pub fn finish(self) -> Result<()> {
        self.execute("COMMIT")?;
        self.connection.close().map_err(|(_, e)| failed(&self.path, &e))
    }
}

fn failed(path: &Path, error: &rusqlite::Error) -> Error {
    Error::at(path, format_args!("cannot be written: {error}")).remedy("see that there is room on the disk")
}

/// A table: its name, and its columns with their declarations.
pub struct Table {
    /// The name.
    pub name: &'static str,
    /// Columns and what SQL says of them.
    pub columns: &'static [(&'static str, &'static str)],
}

impl Table {
    /// The statement that makes it.
    pub fn create(&self) -> String {
        let columns: Vec<String> = self.columns.iter().map(|(name, what)| format!("\"{name}\" {what}")).collect();
        format!("CREATE TABLE {} ({})", self.name, columns.join(", "))
    }
}

/// Rows on their way into one table, which is made when the first one comes.
pub struct Rows<'db> {
    database: &'db Database,
    table: &'static Table,
    columns: &'static [&'static str],
    exists: bool,
    statement: Option<Statement<'db>>,
}

impl<'db> Rows<'db> {
    /// Will make `table` with its first row, and fill `columns` of it; the others hold null or their default.
    pub fn new(database: &'db Database, table: &'static Table, columns: &'static [&'static str]) -> Rows<'db> {
        Rows { database, table, columns, exists: false, statement: None }
    }

    /// The same for a table that exists.
    pub fn of_existing(
        database: &'db Database,
        table: &'static Table,
        columns: &'static [&'static str],
    ) -> Rows<'db> {
        Rows { exists: true, ..Rows::new(database, table, columns) }
    }

    /// Adds a row: one value for every column that was named.
    ///
    /// # Errors
    /// Fails with what SQLite says; as a rule, the disk is full.
    pub fn add<const N: usize>(&mut self, values: [Value; N]) -> Result<()> {
        if self.statement.is_none() {
            self.statement = Some(self.prepare()?);
        }
        let Some(statement) = &mut self.statement else { return Ok(()) };
        let insert = |statement: &mut Statement| {
            for (i, value) in values.iter().enumerate() {
                statement.raw_bind_parameter(i + 1, value)?;
            }
            statement.raw_execute()
        };
        insert(statement).map_err(|e| failed(&self.database.path, &e))?;
        self.database.inserted.set(self.database.inserted.get() + 1);
        Ok(())
    }

    fn prepare(&self) -> Result<Statement<'db>> {
        if !self.exists {
            self.database.execute(&self.table.create())?;
        }
        let names: Vec<String> = self.columns.iter().map(|name| format!("\"{name}\"")).collect();
        let marks = vec!["?"; names.len()].join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES ({marks})", self.table.name, names.join(", "));
        self.database.connection.prepare(&sql).map_err(|e| failed(&self.database.path, &e))
    }
}

/// A value of a row.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// Absent.
    Null,
    /// A number; unsigned ones of 64 bits are stored as if signed, which is what CUPTI's own writers do.
    Int(i64),
    /// A floating point number.
    Real(f64),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Blob(&'a [u8]),
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Value::Null => ValueRef::Null,
            Value::Int(value) => ValueRef::Integer(value),
            Value::Real(value) => ValueRef::Real(value),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<u32> for Value<'_> {
    fn from(value: u32) -> Self {
        Value::Int(value.into())
    }
}

impl From<u64> for Value<'_> {
    fn from(value: u64) -> Self {
        Value::Int(value as i64)
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Value::Real(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(text)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static TABLE: Table =
        Table { name: "T", columns: &[("a", "INTEGER"), ("b", "TEXT"), ("c", "BLOB"), ("d", "REAL")] };

    #[test]
    fn a_table_is_made_with_its_first_row_and_values_are_as_they_were() {
        let folder = std::env::temp_dir().join(format!("gpuprof-database-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.sqlite");
        drop(std::fs::remove_file(&path));
        let database = Database::create(&path).unwrap();
        let mut rows = Rows::new(&database, &TABLE, &["a", "b", "c"]);
        rows.add([u64::MAX.into(), "\u{0}'\"".into(), Value::Blob(&[255])]).unwrap();
        rows.add([Value::Null, None::<&str>.into(), Value::Null]).unwrap();
        drop(rows);
        drop(Rows::new(&database, &Table { name: "Empty", columns: &[("a", "INTEGER")] }, &["a"]));
        database.finish().unwrap();
        let db = Connection::open(&path).unwrap();
        let first: (i64, String, Vec<u8>, Option<f64>) =
            db.query_row("SELECT * FROM T", [], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?))).unwrap();
        assert_eq!(first, (-1, "\u{0}'\"".to_owned(), vec![255], None));
        let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_master", [], |r| r.get(0)).unwrap();
        assert_eq!(tables, 1);
        drop(db);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
