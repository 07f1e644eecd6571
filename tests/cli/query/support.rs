//! Part of the tests of `gpuprof query`: documents on disk, and SQLite as the judge of what works.

use gpuprof::query::session::{self, Session};
use gpuprof::query::source;
use gpuprof::query::support::CONSTRUCTS;
use gpuprof::trace::sink::Need;
use polars::prelude::{AnyValue, DataFrame};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, params_from_iter};
use std::path::Path;

/// Opens one trace whole.
pub fn open(path: &Path) -> Session {
    Session::open(&[path.to_owned()], &Need::all()).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Compares a document with what `make` makes of it; `GPUPROF_BLESS=1` writes it.
pub fn check_document(name: &str, make: impl Fn(&str) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let expected = make(&before);
    if std::env::var_os("GPUPROF_BLESS").is_some() {
        std::fs::write(&path, &expected).expect("the document");
    }
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(on_disk == expected, "{name} is stale: GPUPROF_BLESS=1 cargo test -p gpuprof --test cli");
}

/// Count and total of all GPU work with valid times, as a report has it; `None` without any.
pub fn report_total(session: &Session) -> Option<(i128, i128)> {
    use gpuprof::analysis::{grouping, labels::Labels, stats::Wanted};
    let labels = Labels::new(session.frames(), gpuprof::demangle::Demangling::On);
    let all = gpuprof::trace::select::Filter::everything();
    let summary = grouping::gpu_summary(&labels, Default::default(), Wanted::default(), &all).ok()?;
    let count: u64 = summary.rows.iter().map(|row| row.stats.count).sum();
    (count > 0).then(|| (i128::from(count), summary.total_ns() as i128))
}

/// A cell that can be compared: numbers as numbers.
#[derive(Debug, Clone)]
enum Cell {
    Null,
    Number(f64),
    Text(String),
}

impl PartialEq for Cell {
    fn eq(&self, other: &Cell) -> bool {
        match (self, other) {
            (Cell::Null, Cell::Null) => true,
            (Cell::Number(a), Cell::Number(b)) => (a - b).abs() <= 1e-9 * a.abs().max(1.0),
            (Cell::Text(a), Cell::Text(b)) => a == b,
            _ => false,
        }
    }
}

fn cell(value: &AnyValue) -> Cell {
    match value {
        AnyValue::Null => Cell::Null,
        AnyValue::String(text) => Cell::Text((*text).to_owned()),
        AnyValue::StringOwned(text) => Cell::Text(text.to_string()),
        AnyValue::Boolean(yes) => Cell::Number(f64::from(*yes)),
        other => other.extract::<f64>().map_or_else(|| Cell::Text(other.to_string()), Cell::Number),
    }
}

fn table(frame: &DataFrame) -> Vec<Vec<Cell>> {
    let columns: Vec<_> = frame.columns().iter().map(|c| c.as_materialized_series().clone()).collect();
    (0..frame.height()).map(|i| columns.iter().map(|c| cell(&c.get(i).unwrap())).collect()).collect()
}

/// Every source as a table of a SQLite database.
fn database(session: &Session) -> Connection {
    let database = Connection::open_in_memory().unwrap();
    for source in source::all() {
        let columns: Vec<String> = source.columns().iter().map(|c| format!("\"{}\"", c.name)).collect();
        database.execute(&format!("CREATE TABLE \"{}\" ({})", source.name(), columns.join(", ")), []).unwrap();
        let rows = session::rows(session, source).unwrap();
        let marks = vec!["?"; columns.len()].join(", ");
        let insert = format!("INSERT INTO \"{}\" VALUES ({marks})", source.name());
        let columns: Vec<_> = rows.columns().iter().map(|c| c.as_materialized_series().clone()).collect();
        for i in 0..rows.height() {
            let values = columns.iter().map(|c| match c.get(i).unwrap() {
                AnyValue::Null => Sql::Null,
                AnyValue::String(text) => Sql::Text(text.to_owned()),
                AnyValue::Boolean(yes) => Sql::Integer(i64::from(yes)),
                AnyValue::Float64(number) => Sql::Real(number),
                other => Sql::Integer(other.extract::<i64>().unwrap()),
            });
            database.execute(&insert, params_from_iter(values)).unwrap();
        }
    }
    database
}

fn judge(database: &Connection, sql: &str) -> Result<Vec<Vec<Cell>>, String> {
    let mut statement = database.prepare(sql).map_err(|e| e.to_string())?;
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        (0..columns)
            .map(|i| {
                Ok(match row.get::<_, Sql>(i)? {
                    Sql::Null => Cell::Null,
                    Sql::Integer(number) => Cell::Number(number as f64),
                    Sql::Real(number) => Cell::Number(number),
                    Sql::Text(text) => Cell::Text(text),
                    Sql::Blob(_) => Cell::Text("blob".into()),
                })
            })
            .collect()
    });
    rows.map_err(|e| e.to_string())?.collect::<Result<_, _>>().map_err(|e| e.to_string())
}

/// Runs every construct: what works must give rows, and SQLite's where SQLite can say; what does not must fail with
/// its own name and the remedy, and without a syntax tree.
pub fn check_constructs(session: &Session) {
    let database = database(session);
    let mut problems = Vec::new();
    for construct in CONSTRUCTS {
        let answer = session.run(construct.example);
        let at = format!("{}: {}", construct.name, construct.example);
        match (construct.works, answer) {
            (true, Ok(answer)) => {
                let got = table(&answer);
                if got.is_empty() {
                    problems.push(format!("{at}\n  gives no rows"));
                }
                let sqlite = construct.in_sqlite.unwrap_or(construct.example);
                match judge(&database, sqlite) {
                    Ok(expected) if expected == got => {}
                    Ok(expected) => {
                        problems.push(format!("{at}\n  ours: {:?}\n  SQLite: {:?}", some(&got), some(&expected)))
                    }
                    Err(why) => problems.push(format!("{at}\n  SQLite: {why}")),
                }
            }
            (true, Err(error)) => problems.push(format!("{at}\n  does not work: {error}")),
            (false, Ok(_)) => problems.push(format!("{at}\n  works")),
            (false, Err(error)) => {
                let said = error.to_string();
                let long = said.len() > 400 || ["Span", "Ident", "Select {"].iter().any(|word| said.contains(word));
                if !said.contains(construct.name) || !said.contains(construct.instead) || long {
                    problems.push(format!("{at}\n  says: {said}"));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), CONSTRUCTS.len(), problems.join("\n"));
}

fn some(rows: &[Vec<Cell>]) -> (usize, &[Vec<Cell>]) {
    (rows.len(), &rows[..rows.len().min(8)])
}
