//! What a query may not do: write, delete, define, or read files.

use super::explain;
use super::lexer::{Token, TokenKind, tokens};
use crate::error::{Error, Result};

/// Words that a statement which only reads begins with.
const READING: &[&str] = &["SELECT", "WITH", "VALUES", "FROM", "SHOW", "EXPLAIN", "TABLE"];

/// Words that other statements begin with, in any database. What begins with one of them on the command line is meant
/// as SQL and refused as such, not looked for as a file.
const OTHER: &[&str] = &[
    "ALTER", "ANALYZE", "ATTACH", "BEGIN", "CALL", "COMMIT", "COPY", "CREATE", "DELETE", "DESCRIBE", "DETACH",
    "DROP", "EXECUTE", "EXPORT", "GRANT", "IMPORT", "INSERT", "INSTALL", "LOAD", "MERGE", "PRAGMA", "PREPARE",
    "RENAME", "REPLACE", "REVOKE", "ROLLBACK", "SET", "TRUNCATE", "UNLOAD", "UPDATE", "USE", "VACUUM",
];

/// Whether `text` is meant as SQL: it begins as a statement does.
pub fn looks_like_sql(text: &str) -> bool {
    let tokens = tokens(text);
    let Some(first) = tokens.iter().find(|t| !t.is_symbol("(")) else { return text.trim_start().starts_with("--") };
    let begins = |words: &[&str]| words.iter().any(|word| first.is(word));
    // A lone word may be a file; a statement has more.
    tokens.len() > 1 && (begins(READING) || begins(OTHER))
}

/// Checks that `statement` only reads, and reads only sources.
///
/// # Errors
/// Fails if the statement does something else.
pub fn check(statement: &str) -> Result<()> {
    let tokens = tokens(statement);
    let Some(first) = tokens.iter().find(|t| !t.is_symbol("(")) else {
        return Err(Error::new("the query is empty").remedy("write e.g. SELECT * FROM kernels_by_name"));
    };
    if !READING.iter().any(|word| first.is(word)) {
        let what = first.text.to_uppercase();
        let what: String = what.chars().take(40).collect();
        if ["DESCRIBE", "PRAGMA"].contains(&what.as_str()) {
            return Err(Error::new(format!("{what} is not a query"))
                .remedy("`.schema NAME` says what columns there are, here as at the prompt"));
        }
        if !OTHER.iter().any(|word| first.is(word)) {
            let remedy = match explain::near(&what, READING).first() {
                Some(near) => format!("did you mean {near}?"),
                None => "begin with SELECT or WITH".to_owned(),
            };
            return Err(Error::new(format!("a query does not begin with \"{what}\"")).remedy(&remedy));
        }
        return Err(Error::new(format!("{what} is not a query: traces are read, never changed"))
            .remedy("begin with SELECT or WITH; to change rows, write them out with `gpuprof export` first"));
    }
    // `EXPLAIN DELETE`, `WITH … DELETE`: whatever stands where a statement begins.
    let begins = |i: usize| {
        i == 0
            || tokens[i - 1].is_symbol("(")
            || tokens[i - 1].is_symbol(")")
            || tokens[i - 1].is("EXPLAIN")
            || tokens[i - 1].is("ANALYZE")
    };
    for (i, token) in tokens.iter().enumerate() {
        let calls = tokens.get(i + 1).is_some_and(|next| next.is_symbol("("));
        let writes = ["CREATE", "DELETE", "DROP", "INSERT", "MERGE", "TRUNCATE", "UPDATE"];
        if begins(i) && !calls && writes.iter().any(|word| token.is(word)) {
            let what = token.text.to_uppercase();
            return Err(Error::new(format!("{what} is not a query: traces are read, never changed")));
        }
        if token.is("INTO") && i > 0 {
            return Err(Error::new("INTO is not a query: traces are read, never changed")
                .remedy("write the answer to a file with --output"));
        }
        let after_from = i > 0 && follows_from(&tokens, i);
        if after_from && token.kind == TokenKind::Text {
            return Err(files_are_off(token.text));
        }
        let is_name = matches!(token.kind, TokenKind::Word | TokenKind::Quoted);
        let reads_files = token.name().is_some_and(|name| is_file_function(&name));
        if is_name && calls && (reads_files || (after_from && !token.is("UNNEST") && !is_clause(token))) {
            return Err(files_are_off(token.text));
        }
    }
    Ok(())
}

/// Whether token `i` stands where a table does: behind FROM or JOIN, or a comma in the list that FROM began.
fn follows_from(tokens: &[Token], i: usize) -> bool {
    let before = &tokens[i - 1];
    if before.is("FROM") || before.is("JOIN") || before.is("LATERAL") {
        return true;
    }
    if !before.is_symbol(",") {
        return false;
    }
    // Back over the list, past whole parentheses.
    let mut depth = 0;
    for token in tokens[..i - 1].iter().rev() {
        match token.text {
            ")" if token.kind == TokenKind::Symbol => depth += 1,
            "(" if token.kind == TokenKind::Symbol => {
                depth -= 1;
                if depth < 0 {
                    return false;
                }
            }
            _ if depth > 0 => {}
            _ if token.is("FROM") => return true,
            _ if ["SELECT", "WHERE", "BY", "ON", "HAVING", "SET", "VALUES", "USING", "WITH"]
                .iter()
                .any(|word| token.is(word)) =>
            {
                return false;
            }
            _ => {}
        }
    }
    false
}

/// Words before a parenthesis that begin a subquery or a list, not the call of a function.
fn is_clause(token: &Token) -> bool {
    ["SELECT", "VALUES", "LATERAL"].iter().any(|word| token.is(word))
}

/// Functions of any SQL dialect that open files. Polars has the first four.
fn is_file_function(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let reads = ["read_", "scan_", "parquet_", "sniff_"].iter().any(|prefix| name.starts_with(prefix));
    reads || ["glob", "sqlite_scan", "load_extension", "readfile", "writefile"].contains(&name.as_str())
}

fn files_are_off(what: &str) -> Error {
    let what: String = what.chars().take(60).collect();
    Error::new(format!("{what}: a query reads the traces that were named, no other files"))
        .remedy("join files in DuckDB, over `gpuprof export --format parquet`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_reads_passes() {
        for good in [
            "SELECT 1",
            "select replace(name, 'a', 'b') from api",
            "(SELECT 1) UNION (SELECT 2)",
            "WITH a AS (SELECT 1) SELECT * FROM a, (SELECT 2) b",
            "FROM kernel",
            "SELECT left(name, 3), \"update\" FROM kernel k, memcpy m",
            "SELECT * FROM (VALUES (1),(2)) AS t(x)",
            "SELECT * FROM UNNEST([1,2]) AS t",
            "SELECT 'DROP TABLE kernel; INTO' FROM kernel",
            "SELECT x FROM t WHERE a IN (1, 2) AND b = lower(c)",
            "SELECT a FROM t ORDER BY b, abs(c)",
        ] {
            check(good).unwrap_or_else(|e| panic!("{good}: {e}"));
        }
        for bad in [
            "",
            "CREATE TABLE t AS SELECT 1",
            "drop table kernel",
            "DELETE FROM kernel",
            "TRUNCATE TABLE kernel",
            "UPDATE kernel SET device = 0",
            "INSERT INTO kernel VALUES (1)",
            "EXPLAIN DELETE FROM kernel",
            "EXPLAIN ANALYZE DROP TABLE kernel",
            "WITH a AS (DELETE FROM kernel) SELECT 1",
            "WITH a AS (SELECT 1) DELETE FROM kernel",
            "SELECT * INTO x FROM kernel",
            "COPY kernel TO '/tmp/x'",
            "ATTACH 'x'",
            "SELECT * FROM read_csv('/etc/passwd')",
            "SELECT * FROM READ_PARQUET('/x')",
            "SELECT * FROM \"read_csv\"('/etc/passwd')",
            "SELECT * FROM kernel k, read_ipc('/x')",
            "SELECT * FROM kernel JOIN read_json('/x') ON 1",
            "SELECT * FROM (SELECT * FROM whatever('/x'))",
            "SELECT * FROM kernel, (SELECT 1), f('/x')",
            "SELECT * FROM '/etc/passwd'",
            "SELECT * FROM kernel, 'x.csv'",
            "SELECT read_csv('/x')",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn files_are_told_from_statements() {
        assert!(looks_like_sql("SELECT 1") && looks_like_sql(" (select 1)") && looks_like_sql("DROP TABLE x"));
        assert!(!looks_like_sql("run.gpuprof") && !looks_like_sql("select") && !looks_like_sql("my run/x.gpuprof"));
    }
}
