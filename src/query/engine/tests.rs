//! The engine against SQLite: thousands of queries made at random over tables made at random, and the answers compared
//! value by value; and what SQLite cannot judge, one by one.

mod edges;
mod queries;

use super::column::{Column, Value};
use super::parse::{self, Asked};
use super::problem::{Problem, Result};
use super::relation::Table;
use super::{Catalog, Engine};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, params_from_iter};
use std::collections::HashMap;
use std::sync::Arc;

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Once in `times`.
    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }
}

/// A table in memory.
struct Memory {
    names: Vec<String>,
    columns: Vec<Arc<Column>>,
    rows: usize,
}

impl Table for Memory {
    fn columns(&self) -> Vec<String> {
        self.names.clone()
    }
    fn rows(&self) -> Result<usize> {
        Ok(self.rows)
    }
    fn column(&self, index: usize) -> Result<Arc<Column>> {
        Ok(Arc::clone(&self.columns[index]))
    }
}

#[derive(Default)]
struct Tables(HashMap<String, Arc<Memory>>);

impl Catalog for Tables {
    fn table(&self, name: &str) -> Option<Arc<dyn Table>> {
        self.0.get(&name.to_lowercase()).map(|table| Arc::clone(table) as Arc<dyn Table>)
    }
}

/// Columns of the random tables: `id` is unique, `a` repeats, `b` is below 0 too, `x` is large, `s` and `t` are text, `f`
/// has fractions; all but `id`, `b` and `t` have NULLs.
const NAMES: [&str; 7] = ["id", "a", "b", "x", "s", "t", "f"];

/// The same rows as a table of ours and as values for SQLite, by column.
fn random_table(random: &mut Random, rows: usize) -> (Memory, Vec<Vec<Sql>>) {
    let mut data: Vec<Vec<Sql>> = vec![Vec::new(); NAMES.len()];
    let nullable = |random: &mut Random, value: Sql| if random.one_in(7) { Sql::Null } else { value };
    for row in 0..rows {
        let a = Sql::Integer(random.below(5) as i64);
        let x = Sql::Integer(random.below(1000) as i64 * 1_000_000_007);
        let s = Sql::Text(random.pick(&["gemm", "conv", "Add", "relu_kernel", "add", ""]).to_owned());
        let f = Sql::Real(random.below(40) as f64 / 4.0 - 3.0);
        data[0].push(Sql::Integer(row as i64));
        data[1].push(nullable(random, a));
        data[2].push(Sql::Integer(random.below(20) as i64 - 10));
        data[3].push(nullable(random, x));
        data[4].push(nullable(random, s));
        data[5].push(Sql::Text(format!("w{}", random.below(4))));
        data[6].push(nullable(random, f));
    }
    let columns = data.iter().enumerate().map(|(i, values)| {
        let valid = Some(values.iter().map(|value| *value != Sql::Null).collect());
        let column = match NAMES[i] {
            "s" | "t" => Column::texts(values.iter().map(|value| match value {
                Sql::Text(text) => Some(text),
                _ => None,
            })),
            "f" => {
                let number = |value: &Sql| if let Sql::Real(number) = value { *number } else { 0.0 };
                Column::floats(values.iter().map(number).collect(), None).with_valid(valid)
            }
            _ => {
                let number = |value: &Sql| if let Sql::Integer(number) = value { *number } else { 0 };
                Column::ints(values.iter().map(number).collect(), None).with_valid(valid)
            }
        };
        Arc::new(column)
    });
    let columns = columns.collect();
    (Memory { names: NAMES.map(str::to_owned).to_vec(), columns, rows }, data)
}

/// Two tables of random lengths, none among them, here and in SQLite.
fn random_tables(random: &mut Random) -> (Tables, Connection) {
    let mut tables = Tables::default();
    let database = Connection::open_in_memory().expect("SQLite");
    database.execute_batch("PRAGMA case_sensitive_like = ON").expect("a pragma");
    for name in ["t1", "t2"] {
        let rows = [0, 1, 7, 60, 60][random.below(5) as usize];
        let (table, data) = random_table(random, rows);
        database.execute(&format!("CREATE TABLE {name} ({})", NAMES.join(", ")), []).expect("a table");
        for row in 0..rows {
            let values = params_from_iter(data.iter().map(|column| column[row].clone()));
            database.execute(&format!("INSERT INTO {name} VALUES (?, ?, ?, ?, ?, ?, ?)"), values).expect("a row");
        }
        tables.0.insert(name.to_owned(), Arc::new(table));
    }
    (tables, database)
}

/// Our answer, row by row.
fn ours(tables: &Tables, sql: &str) -> Result<Vec<Vec<Sql>>> {
    let Asked::Rows(query) = parse::statement(sql)? else { return Problem::wrong("no query") };
    let answer = Engine::new(tables).run(&query)?;
    let visible = answer.fields.iter().filter(|field| !field.hidden);
    let columns = visible.map(|field| field.data.get()).collect::<Result<Vec<_>>>()?;
    let value = |column: &Arc<Column>, row| match column.value(row) {
        Value::Null => Sql::Null,
        Value::Bool(value) => Sql::Integer(value.into()),
        Value::Int(value) => Sql::Integer(value),
        Value::Wide(value) => Sql::Text(value.to_string()),
        Value::Float(value) => Sql::Real(value),
        Value::Text(text) => Sql::Text(text),
    };
    Ok((0..answer.rows).map(|row| columns.iter().map(|column| value(column, row)).collect()).collect())
}

/// SQLite's answer.
fn theirs(database: &Connection, sql: &str) -> rusqlite::Result<Vec<Vec<Sql>>> {
    let mut statement = database.prepare(sql)?;
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| (0..columns).map(|i| row.get(i)).collect())?;
    rows.collect()
}

fn equal(a: &Sql, b: &Sql) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
    match (a, b) {
        (Sql::Real(a), Sql::Real(b)) => near(*a, *b),
        (Sql::Real(a), Sql::Integer(b)) | (Sql::Integer(b), Sql::Real(a)) => near(*a, *b as f64),
        _ => a == b,
    }
}

#[test]
fn random_queries_are_answered_as_sqlite_answers_them() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut problems = Vec::new();
    // `GPUPROF_SQL_QUERIES=1000000` looks longer.
    let count = std::env::var("GPUPROF_SQL_QUERIES").ok().and_then(|n| n.parse().ok()).unwrap_or(3000);
    let mut with_rows = 0;
    let mut tables = random_tables(&mut random);
    for i in 0..count {
        if i % 30 == 0 {
            tables = random_tables(&mut random);
        }
        let (ours_sql, theirs_sql) = queries::random(&mut random);
        let expected = theirs(&tables.1, &theirs_sql).unwrap_or_else(|e| panic!("{theirs_sql}: {e}"));
        match ours(&tables.0, &ours_sql) {
            Ok(got) => {
                with_rows += u32::from(!got.is_empty());
                let same_row = |(a, b): (&Vec<Sql>, &Vec<Sql>)| {
                    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
                };
                if got.len() != expected.len() || !got.iter().zip(&expected).all(same_row) {
                    problems.push(format!("{ours_sql}\n  ours:   {got:?}\n  SQLite: {expected:?}"));
                }
            }
            Err(problem) => problems.push(format!("{ours_sql}\n  {problem:?}")),
        }
    }
    problems.truncate(5);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(with_rows > count / 2, "{with_rows} of {count} queries have rows");
}
