//! Tables of a database that no reader reads: how many rows they have.

use super::rows::Tables;
use super::unread::Unread;
use crate::trace::sink::Sink;
use rusqlite::Connection;
use std::path::Path;

/// Rows that are counted one by one at most, which takes some hundredths of a second. Counting visits every page of a
/// table, and nobody waits for gigabytes of samples that are not shown; beyond this the last row id tells.
const MOST_COUNTED: u64 = 1_000_000;

/// Counts the rows of every table that `is_known` does not know; it knows those that are read, and those that describe
/// what is read.
pub fn count(
    db: &Connection,
    tables: &Tables,
    path: &Path,
    sink: &mut Sink,
    unread: &mut Unread,
    is_known: impl Fn(&str) -> bool,
) {
    for table in tables.names().iter().filter(|table| !is_known(table)) {
        if let Err(error) = count_one(db, table, tables.most_rows(), unread) {
            let path = path.display();
            let text = format!("{path}: rows of table {table}, which is not read, cannot be counted: {error}");
            sink.note("unreadable-rows", text);
        }
    }
}

fn count_one(db: &Connection, table: &str, most_rows: u64, unread: &mut Unread) -> rusqlite::Result<()> {
    let quoted = format!("\"{}\"", table.replace('"', "\"\""));
    let number = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).map(|number| number.max(0) as u64);
    // The limit also ends the count in a damaged database whose pages refer to each other.
    let most = most_rows.min(MOST_COUNTED);
    let rows = number(&format!("SELECT count(*) FROM (SELECT 1 FROM {quoted} LIMIT {})", most + 1))?;
    if rows <= most {
        unread.add(table.as_bytes(), rows);
        return Ok(());
    }
    // A table without row ids says no more than that it has more.
    let last = number(&format!("SELECT max(rowid) FROM {quoted}")).unwrap_or(rows);
    unread.add_about(table.as_bytes(), last.clamp(most, most_rows.max(most)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::testing::TempFile;
    use crate::trace::names::{Names, Shapes};

    #[test]
    fn unknown_tables_are_counted_whatever_they_are_called() {
        let file = TempFile::database(
            "a.sqlite",
            "CREATE TABLE \"odd \"\" name\" (a); INSERT INTO \"odd \"\" name\" VALUES (1), (2), (3);
             CREATE TABLE empty (a); CREATE TABLE known (a); INSERT INTO known VALUES (1);
             CREATE TABLE keyed (a PRIMARY KEY) WITHOUT ROWID; INSERT INTO keyed VALUES ('x');
             CREATE VIEW seen AS SELECT 1;",
        );
        let db = crate::import::sqlite::open(&file.path).unwrap();
        let (mut names, mut shapes) = (Names::default(), Shapes::default());
        let mut sink = Sink::new(&mut names, &mut shapes);
        let tables = Tables::read(&db, &file.path, &mut sink).unwrap();
        let mut unread = Unread::default();
        count(&db, &tables, &file.path, &mut sink, &mut unread, |table| table == "known");
        // The view is named when the catalogue is read.
        assert_eq!((unread.rows(), sink.notes.len()), (4, 1));
        unread.note(&file.path, &mut sink, "rows", "");
        assert!(
            sink.notes[1].text.ends_with(": 3 rows of odd \" name and 1 of keyed are not read"),
            "{:?}",
            sink.notes
        );
    }

    #[test]
    fn very_many_rows_are_estimated() {
        let file = TempFile::database(
            "a.sqlite",
            "CREATE TABLE big (a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
             INSERT INTO big SELECT i FROM n;",
        );
        let db = crate::import::sqlite::open(&file.path).unwrap();
        let mut unread = Unread::default();
        count_one(&db, "big", 10, &mut unread).unwrap();
        let (mut names, mut shapes) = (Names::default(), Shapes::default());
        let mut sink = Sink::new(&mut names, &mut shapes);
        unread.note(&file.path, &mut sink, "rows", "");
        assert!(sink.notes[0].text.ends_with("about 10 rows of big are not read"), "{:?}", sink.notes);
    }
}
