//! Which tables a database has, and under which names readers find them.

use crate::error::Result;
use crate::import::sqlite;
use crate::numbers::items;
use crate::trace::sink::Sink;
use rusqlite::Connection;
use std::path::Path;

/// The tables of a database.
pub struct Tables {
    names: Vec<String>,
    /// Tables with a version in their names that are read as the table without one: that name, and the table's own.
    versions: Vec<(String, String)>,
    /// No table has more rows than this. Pages of a damaged database may refer to each other so that SQLite would
    /// read for ever.
    most_rows: u64,
}

impl Tables {
    /// Reads the catalogue.
    pub fn read(db: &Connection, path: &Path, sink: &mut Sink) -> Result<Tables> {
        let size = |what: &str| db.query_row(&format!("PRAGMA {what}"), [], |row| row.get::<_, i64>(0));
        // A row takes at least 4 bytes of a page.
        let most_rows = match (size("page_count"), size("page_size")) {
            (Ok(pages), Ok(bytes)) => pages.saturating_mul(bytes).max(0) as u64 / 4,
            _ => u64::MAX,
        };
        note_views(db, path, sink);
        let (names, failure) = sqlite::tables(db);
        let versions = versions(db, &names);
        for (plain, name) in &versions {
            let path = path.display();
            sink.note("table-version", format!("{path}: table {name} is read as {plain}, whose columns it has"));
        }
        match failure {
            Some(e) if names.is_empty() => Err(sqlite::failed(path, "reading the list of tables", &e)),
            Some(e) => {
                let (path, tables) = (path.display(), items(names.len() as u64, "table is", "tables are"));
                sink.note("unreadable-rows", format!("{path}: {tables} found and then no more: {e}"));
                Ok(Tables { names, versions, most_rows })
            }
            None => Ok(Tables { names, versions, most_rows }),
        }
    }

    /// Names of all tables.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// No table has more rows than this.
    pub fn most_rows(&self) -> u64 {
        self.most_rows
    }

    /// Whether there is a table of this name; SQLite does not tell upper from lower case here.
    pub fn has(&self, table: &str) -> bool {
        self.find(table).is_some()
    }

    /// The table that is read where `table` is asked for.
    pub fn find(&self, table: &str) -> Option<&str> {
        let exact = self.names.iter().find(|name| name.eq_ignore_ascii_case(table));
        let newer =
            || self.versions.iter().find(|(plain, _)| plain.eq_ignore_ascii_case(table)).map(|(_, name)| name);
        exact.or_else(newer).map(String::as_str)
    }

    /// The name under which a table is read.
    pub fn plain_name<'t>(&'t self, table: &'t str) -> &'t str {
        self.versions.iter().find(|(_, name)| name == table).map_or(table, |(plain, _)| plain)
    }
}

/// Tables such as `NVTX_EVENTS_V2` in a database without `NVTX_EVENTS`, the newest of each: the plain name and the table's.
/// Records have a start, or a time; what has neither is something else.
fn versions(db: &Connection, names: &[String]) -> Vec<(String, String)> {
    let mut found: Vec<(String, u32, String)> = Vec::new();
    for name in names {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (begin, digits) = name.split_at(name.len() - digits);
        let (Some(plain), Ok(version)) = (begin.strip_suffix("_V"), digits.parse()) else { continue };
        let is_time = |column: &String| ["start", "timestamp"].iter().any(|time| column.eq_ignore_ascii_case(time));
        if !names.iter().any(|other| other.eq_ignore_ascii_case(plain))
            && sqlite::columns(db, name).0.iter().any(is_time)
        {
            found.push((plain.to_owned(), version, name.clone()));
        }
    }
    found.sort_by(|a, b| (&a.0, b.1).cmp(&(&b.0, a.1)));
    found.dedup_by(|a, b| a.0 == b.0);
    found.into_iter().map(|(plain, _, name)| (plain, name)).collect()
}

/// Views named at most in one note.
const NAMED_VIEWS: usize = 10;

/// Notes views, which may stand where a reader looks for a table and are not read.
fn note_views(db: &Connection, path: &Path, sink: &mut Sink) {
    let views = sqlite::views(db);
    if views.is_empty() {
        return;
    }
    let more = if views.len() > NAMED_VIEWS { ", …" } else { "" };
    let named = views[..views.len().min(NAMED_VIEWS)].join(", ");
    let path = path.display();
    sink.note(
        "left-out",
        format!("{path}: only tables are read, and these are views: {named}{more}; make tables of them with `CREATE TABLE … AS SELECT * FROM …`"),
    );
}
