//! Reading the tables of another tool's SQLite database, whose columns come and go from version to version and whose
//! values may be of any type: columns are asked for by name, values are read leniently, and what cannot be read is
//! counted instead of ending the import.

mod tables;

pub use tables::Tables;

use super::sqlite;
use crate::numbers::items;
use crate::trace::sink::Sink;
use hashbrown::HashMap;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Statement};
use std::path::Path;

/// A column of a [`Scan`]'s rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Col(usize);

/// A column that this database does not have or that nobody wants: every row reads as null.
pub const ABSENT: Col = Col(usize::MAX);

/// One table about to be read.
pub struct Scan<'db> {
    db: &'db Connection,
    table: String,
    columns: Vec<String>,
    selected: Vec<String>,
    condition: String,
    distinct: bool,
    most_rows: u64,
    failure: Option<String>,
}

impl<'db> Scan<'db> {
    /// Prepares to read `table`; `None` if the database has no such table.
    pub fn new(db: &'db Connection, tables: &Tables, table: &'static str) -> Option<Scan<'db>> {
        let table = tables.find(table)?.to_owned();
        // A table whose definition cannot be read is reported by `run`, like one whose rows cannot.
        let (columns, failure) = sqlite::columns(db, &table);
        let failure = failure.map(|e| e.to_string());
        let most_rows = tables.most_rows();
        Some(Scan {
            db,
            table,
            columns,
            selected: Vec::new(),
            condition: String::new(),
            distinct: false,
            most_rows,
            failure,
        })
    }

    /// The column called `name`, or [`ABSENT`].
    pub fn col(&mut self, name: &str) -> Col {
        match self.columns.iter().find(|column| column.eq_ignore_ascii_case(name)) {
            Some(column) => {
                self.selected.push(column.clone());
                Col(self.selected.len() - 1)
            }
            None => ABSENT,
        }
    }

    /// The column if it is wanted at all: one that is not selected costs nothing.
    pub fn col_if(&mut self, wanted: bool, name: &str) -> Col {
        if wanted { self.col(name) } else { ABSENT }
    }

    /// Reads only rows that have `value` in the column called `name`.
    pub fn only(&mut self, name: &str, value: u32) {
        if self.columns.iter().any(|column| column.eq_ignore_ascii_case(name)) {
            self.condition = format!(" WHERE \"{name}\" = {value}");
        }
    }

    /// Reads rows that are alike in what is selected only once.
    pub fn distinct(&mut self) {
        self.distinct = true;
    }

    /// Calls `each` with every row; it returns whether it could use the row.
    pub fn run(self, mut each: impl FnMut(&Fields) -> bool) -> Tally {
        // Compiled once, and not for every table.
        self.read_all(&mut each)
    }

    fn read_all(mut self, each: &mut dyn FnMut(&Fields) -> bool) -> Tally {
        let mut tally = Tally { table: self.table.clone(), ..Default::default() };
        if self.failure.is_none() {
            self.failure = self.read(&mut tally, each).err().map(|e| e.to_string());
            if tally.rows > self.most_rows {
                self.failure = Some("it claims more rows than the file has room for".to_owned());
            }
        }
        if let Some(nth) = tally.first_unusable {
            tally.first_rowid = self.rowid(nth);
        }
        tally.failure = self.failure;
        tally
    }

    fn read(&self, tally: &mut Tally, each: &mut dyn FnMut(&Fields) -> bool) -> rusqlite::Result<()> {
        let quoted: Vec<String> = self.selected.iter().map(|c| format!("\"{}\"", c.replace('"', "\"\""))).collect();
        let distinct = if self.distinct { "DISTINCT " } else { "" };
        let list = if quoted.is_empty() { "NULL".to_owned() } else { quoted.join(", ") };
        let mut statement =
            self.db.prepare(&format!("SELECT {distinct}{list} FROM \"{}\"{}", self.table, self.condition))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if !each(&Fields(row)) {
                tally.unusable += 1;
                tally.first_unusable.get_or_insert(tally.rows);
            }
            tally.rows += 1;
            if tally.rows > self.most_rows {
                break;
            }
        }
        Ok(())
    }

    /// Where a person finds the `nth` row. Asked for afterwards, so that good databases do not pay for it.
    fn rowid(&self, nth: u64) -> Option<i64> {
        let sql = format!("SELECT rowid FROM \"{}\"{} LIMIT 1 OFFSET {nth}", self.table, self.condition);
        self.db.query_row(&sql, [], |row| row.get(0)).ok()
    }
}

/// What became of one table.
#[derive(Debug, Default)]
#[must_use = "a table that could not be read must be noted"]
pub struct Tally {
    table: String,
    /// Rows read, usable or not.
    pub rows: u64,
    unusable: u64,
    first_unusable: Option<u64>,
    first_rowid: Option<i64>,
    failure: Option<String>,
}

impl Tally {
    /// Notes what could not be read.
    pub fn note(self, sink: &mut Sink, path: &Path) {
        let Tally { table, rows, unusable, .. } = self;
        let path = path.display();
        if let Some(failure) = self.failure {
            let how_far =
                if rows == 0 { "cannot be read".to_owned() } else { format!("can be read to row {rows} only") };
            let text = format!("{path}: table {table} {how_far}: {failure}; copy or export it again");
            sink.note("unreadable-rows", text);
        }
        if unusable > 0 {
            let first = self.first_rowid.map_or(String::new(), |id| format!(", the first has rowid {id}"));
            let rows = items(unusable, "row has", "rows have");
            sink.note(
                "unusable-rows",
                format!("{path}: {rows} no usable time or id in table {table}{first}; left out"),
            );
        }
    }
}

/// One row.
pub struct Fields<'r>(&'r Row<'r>);

impl<'r> Fields<'r> {
    #[inline]
    fn value(&self, col: Col) -> ValueRef<'r> {
        if col == ABSENT { ValueRef::Null } else { self.0.get_ref(col.0).unwrap_or(ValueRef::Null) }
    }

    /// The integer in `col`. Reals and numerals count, as SQLite's columns have no fixed type; a real beyond 64 bits
    /// (an unsigned time, say) becomes the nearest integer, which no check of times lets pass.
    #[inline]
    pub fn int(&self, col: Col) -> Option<i64> {
        match self.value(col) {
            ValueRef::Integer(value) => Some(value),
            ValueRef::Null | ValueRef::Blob(_) => None,
            ValueRef::Real(value) => (!value.is_nan()).then_some(value as i64),
            ValueRef::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        }
    }

    /// The 32-bit id or code in `col`: the low bits, for some tools store -1 signed and others unsigned.
    #[inline]
    pub fn id(&self, col: Col) -> Option<u32> {
        self.int(col).map(|value| value as u32)
    }

    /// The 32-bit id in `col`, or 0.
    #[inline]
    pub fn id_or_0(&self, col: Col) -> u32 {
        self.id(col).unwrap_or(0)
    }

    /// The number in `col`.
    pub fn real(&self, col: Col) -> Option<f64> {
        match self.value(col) {
            ValueRef::Real(value) => Some(value),
            ValueRef::Integer(value) => Some(value as f64),
            _ => None,
        }
    }

    /// The bytes of the text or blob in `col`.
    pub fn bytes(&self, col: Col) -> Option<&'r [u8]> {
        match self.value(col) {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// The table of strings of a database: its ids on one side, ids of names of the trace on the other. Strings are
/// fetched when first asked for, as tables hold many that no record of ours refers to.
pub struct Strings<'db> {
    lookup: Option<Statement<'db>>,
    /// Strings of a table whose id is no key: fetching one would read the whole table.
    loaded: HashMap<i64, Box<[u8]>>,
    /// Name ids by string id, `UNASKED` where none was asked for.
    near: Vec<u32>,
    far: HashMap<i64, u32>,
    missing: u64,
    first_missing: Option<i64>,
}

const UNASKED: u32 = u32::MAX;

/// String ids below this index an array of at most 4 MiB, others go through a hash table.
const NEAR_IDS: i64 = 1 << 20;

impl<'db> Strings<'db> {
    /// The strings in column `value` of `table`, by column `key`.
    pub fn new(db: &'db Connection, tables: &Tables, table: &'static str, key: &str) -> (Strings<'db>, Tally) {
        let mut strings = Strings {
            lookup: None,
            loaded: HashMap::new(),
            near: Vec::new(),
            far: HashMap::new(),
            missing: 0,
            first_missing: None,
        };
        let mut tally = Tally { table: table.to_owned(), ..Default::default() };
        if is_rowid(db, table, key) {
            match db.prepare(&format!("SELECT value FROM \"{table}\" WHERE \"{key}\" = ?1")) {
                Ok(statement) => strings.lookup = Some(statement),
                Err(error) => tally.failure = Some(error.to_string()),
            }
        } else if let Some(mut scan) = Scan::new(db, tables, table) {
            let (id, value) = (scan.col(key), scan.col("value"));
            tally = scan.run(|row| match (row.int(id), row.bytes(value)) {
                (Some(id), Some(value)) => {
                    strings.loaded.entry(id).or_insert_with(|| value.into());
                    true
                }
                _ => false,
            });
        }
        (strings, tally)
    }

    /// The name id for string `id` of the database, 0 where there is no such string.
    #[inline]
    pub fn name(&mut self, sink: &mut Sink, id: Option<i64>) -> u32 {
        let Some(id) = id else { return 0 };
        match usize::try_from(id).ok().and_then(|i| self.near.get(i)) {
            Some(&known) if known != UNASKED => known,
            _ => self.fetch(sink, id),
        }
    }

    /// As [`Strings::name`], with null for no string.
    pub fn name_if_any(&mut self, sink: &mut Sink, id: Option<i64>) -> Option<u32> {
        Some(self.name(sink, id)).filter(|&name| name != 0)
    }

    /// The string itself, for one that need not become a name of the trace.
    pub fn bytes(&mut self, id: i64) -> Option<Vec<u8>> {
        match &mut self.lookup {
            Some(statement) => {
                statement.query_row([id], |row| Ok(Fields(row).bytes(Col(0)).map(<[u8]>::to_vec))).ok().flatten()
            }
            None => self.loaded.get(&id).map(|text| text.to_vec()),
        }
    }

    #[cold]
    fn fetch(&mut self, sink: &mut Sink, id: i64) -> u32 {
        if let Some(&known) = self.far.get(&id) {
            return known;
        }
        let found = match &mut self.lookup {
            Some(statement) => statement
                .query_row([id], |row| Ok(Fields(row).bytes(Col(0)).map(|text| sink.name(text))))
                .ok()
                .flatten(),
            None => self.loaded.get(&id).map(|text| sink.name(text)),
        };
        if found.is_none() && id != 0 {
            self.missing += 1;
            self.first_missing.get_or_insert(id);
        }
        let name = found.unwrap_or(0);
        if (0..NEAR_IDS).contains(&id) {
            let index = id as usize;
            if self.near.len() <= index {
                self.near.resize(index + 1, UNASKED);
            }
            self.near[index] = name;
        } else {
            self.far.insert(id, name);
        }
        name
    }

    /// Notes ids that had no string.
    pub fn note(&self, sink: &mut Sink, path: &Path) {
        if let Some(first) = self.first_missing {
            let path = path.display();
            let ids = items(self.missing, "id of a name has", "ids of names have");
            sink.note(
                "missing-names",
                format!("{path}: {ids} no string, the first is {first}; a kernel of such a name is called [unnamed], other names are empty"),
            );
        }
    }
}

/// Whether `key` is `table`'s rowid, that is, found without reading the table.
fn is_rowid(db: &Connection, table: &str, key: &str) -> bool {
    let sql = "SELECT count(*) FROM pragma_table_info(?1) WHERE pk > 0 AND lower(name) = lower(?2) \
               AND upper(type) = 'INTEGER' AND (SELECT count(*) FROM pragma_table_info(?1) WHERE pk > 0) = 1";
    db.query_row(sql, [table, key], |row| row.get::<_, i64>(0)).is_ok_and(|found| found == 1)
}
