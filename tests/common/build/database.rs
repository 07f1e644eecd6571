//! What databases of all tools have in common.

use super::*;

/// An in-memory database that becomes bytes.
pub struct Database(pub(super) Connection);

impl Database {
    pub fn new(schema: &str) -> Database {
        let db = Connection::open_in_memory().expect("a database");
        db.execute_batch(schema).expect("a schema");
        db.execute_batch("BEGIN").expect("a transaction");
        Database(db)
    }

    /// Inserts a row: column names and values.
    pub fn insert(&self, table: &str, row: &[(&str, Sql)]) {
        let columns: Vec<String> = row.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        let marks = vec!["?"; row.len()].join(", ");
        let sql = format!("INSERT INTO {table} ({}) VALUES ({marks})", columns.join(", "));
        let values = params_from_iter(row.iter().map(|(_, value)| value.clone()));
        self.0.prepare(&sql).and_then(|mut s| s.execute(values)).unwrap_or_else(|e| panic!("{table}: {e}"));
    }

    pub fn bytes(mut self) -> Vec<u8> {
        self.0.execute_batch("COMMIT").expect("a commit");
        self.0.serialize("main").expect("bytes").to_vec()
    }
}

pub(super) fn int(value: impl TryInto<i64>) -> Sql {
    Sql::Integer(value.try_into().unwrap_or(i64::MAX))
}

/// Text of any bytes: SQLite itself never checks that text is UTF-8.
pub fn insert_text(db: &Connection, table: &str, key: &str, id: i64, text: &[u8]) {
    let sql = format!("INSERT INTO {table} ({key}, value) VALUES (?1, CAST(?2 AS TEXT))");
    db.prepare(&sql).and_then(|mut s| s.execute((id, text))).unwrap_or_else(|e| panic!("{table}: {e}"));
}

/// Strings of a database by id.
pub(super) struct Texts<'d> {
    pub(super) db: &'d Database,
    pub(super) table: &'static str,
    pub(super) key: &'static str,
    pub(super) known: BTreeMap<Vec<u8>, i64>,
}

impl Texts<'_> {
    pub(super) fn id(&mut self, text: &[u8]) -> Sql {
        if let Some(id) = self.known.get(text) {
            return Sql::Integer(*id);
        }
        let id = self.known.len() as i64 + 1;
        self.known.insert(text.to_vec(), id);
        insert_text(&self.db.0, self.table, self.key, id, text);
        Sql::Integer(id)
    }
}
