//! What `gpuprof query` refuses, and what it says instead.

use super::sample;
use crate::common::{command, refused};

#[test]
fn nothing_can_be_written_or_deleted() {
    let (folder, path, _) = sample("query-refused", 3);
    let before = std::fs::read(&path).unwrap();
    for sql in [
        "CREATE TABLE t AS SELECT * FROM kernel",
        "DROP TABLE kernel",
        "DELETE FROM kernel",
        "TRUNCATE TABLE kernel",
        "UPDATE kernel SET device = 1",
        "INSERT INTO kernel VALUES (1)",
        "EXPLAIN DELETE FROM kernel",
        "SELECT * INTO t FROM kernel",
        "COPY kernel TO 'x.csv'",
        "SELECT 1; DROP TABLE kernel",
        "WITH a AS (SELECT 1) DELETE FROM kernel",
    ] {
        refused(&["query", &path, sql], &["never changed"]);
    }
    assert!(std::fs::read(&path).unwrap() == before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn file_functions_are_off() {
    let (folder, path, _) = sample("query-files", 3);
    let secret = folder.argument("secret.csv", b"a,b\nsecret,2\n");
    for sql in [
        format!("SELECT * FROM read_csv('{secret}')"),
        format!("SELECT * FROM READ_CSV('{secret}') AS t"),
        format!("SELECT * FROM \"read_csv\"('{secret}')"),
        format!("SELECT * FROM kernel, read_csv('{secret}')"),
        format!("SELECT * FROM read_parquet('{secret}')"),
        format!("SELECT * FROM read_ipc('{secret}')"),
        format!("SELECT * FROM read_json('{secret}')"),
        format!("SELECT * FROM any_function('{secret}')"),
        format!("SELECT * FROM TABLE(read_csv('{secret}'))"),
        format!("SELECT * FROM LATERAL read_csv('{secret}')"),
        format!("WITH a AS (SELECT * FROM read_csv('{secret}')) SELECT * FROM a"),
        format!("SELECT * FROM kernel WHERE name IN (SELECT a FROM read_csv('{secret}'))"),
        format!("SELECT * FROM '{secret}'"),
    ] {
        refused(&["query", &path, &sql], &[]);
    }
    // A quoted name is that of a table.
    refused(&["query", &path, &format!("SELECT * FROM \"{secret}\"")], &["there is no table or view"]);
    // Even past that check there is no function that opens a file.
    let functions = gpuprof::query::explain::all_functions();
    assert!(!functions.iter().any(|f| f.starts_with("read_") || f.starts_with("scan_")), "{functions:?}");
}

#[test]
fn unknown_names_bring_near_ones() {
    let (_folder, path, _) = sample("query-unknown", 3);
    refused(&["query", &path, "SELECT * FROM kernels"], &["no table or view \"kernels\"", "did you mean kernel"]);
    refused(&["query", &path, "SELECT * FROM zzzzz"], &["no table or view \"zzzzz\"", "schema.md"]);
    refused(&["query", &path, "SELECT nmae FROM kernel"], &["no column \"nmae\"", "did you mean name?"]);
    // Text in double quotes, as other languages write it, is a name in SQL.
    for (condition, text) in
        [("name LIKE \"%axpy%\"", "%axpy%"), ("name = \"it's\"", "it's"), ("name = \"xyz\"", "xyz")]
    {
        let sql = format!("SELECT * FROM kernel WHERE {condition}");
        let column = format!("no column \"{text}\";");
        let literal = format!("single quotes: '{}'", text.replace('\'', "''"));
        refused(&["query", &path, &sql], &[&column, "double quotes are for names", &literal]);
    }
    refused(&["query", &path, "SELECT k.\"nmae\" FROM kernel k"], &["no column k.\"nmae\"; did you mean name?"]);
    refused(
        &["query", &path, "SELECT * FROM kernel WHERE \"nmae\" = 1"],
        &["no column \"nmae\"; did you mean name?"],
    );
    refused(&["query", &path, "SELECT k.duration FROM kernel k"], &["no column", "did you mean duration_ns?"]);
    refused(&["query", &path, "SELECT name FROM kernel ORDER BY strat_ns"], &["no column", "start_ns"]);
    refused(&["query", &path, "SELECT name FROM kernel WHERE devise = 0"], &["no column", "device"]);
    refused(&["query", &path, "SELECT medain(duration_ns) FROM kernel"], &["no function medain()", "median"]);
    let long = format!("SELECT * FROM \"{}\"", "x".repeat(5000));
    assert!(refused(&["query", &path, &long], &["no table or view"]).len() < 400);
    let message = refused(&["query", &path, "SELECT FROM WHERE"], &[]);
    assert!(message.len() < 500, "{message}");
}

#[test]
fn a_word_that_begins_no_query_is_named_with_the_one_that_was_meant() {
    let (_folder, path, _) = sample("query-typo", 5);
    let mut program = command(&["query", &path]);
    let mut child = program
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("gpuprof");
    let _ = std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), b"SELCT 1;");
    let answer = child.wait_with_output().expect("an answer");
    let said = String::from_utf8_lossy(&answer.stderr);
    assert!(said.contains("does not begin with \"SELCT\"") && said.contains("did you mean SELECT?"), "{said}");
}
