//! What SQLite does otherwise, or not at all.

use super::*;

/// One table `t` with two columns, and one named `wide` with an id beyond the signed range.
fn tables() -> Tables {
    let table = |names: &[&str], columns: Vec<Column>| {
        let rows = columns[0].stored();
        let columns = columns.into_iter().map(Arc::new).collect();
        Arc::new(Memory { names: names.iter().map(|name| (*name).to_owned()).collect(), columns, rows })
    };
    let n = Column::ints(vec![1, 2, 3, i64::MAX], None);
    let name = Column::texts(["a", "b", "a", "c"].into_iter().map(Some));
    let id = Column::ids64(vec![7, u64::MAX, u64::MAX], None);
    Tables(HashMap::from([
        ("t".to_owned(), table(&["n", "name"], vec![n, name])),
        ("wide".to_owned(), table(&["id"], vec![id])),
    ]))
}

fn rows(sql: &str) -> Vec<Vec<Sql>> {
    ours(&tables(), sql).unwrap_or_else(|problem| panic!("{sql}: {problem:?}"))
}

fn one(sql: &str) -> Sql {
    let rows = rows(sql);
    assert_eq!((rows.len(), rows[0].len()), (1, 1), "{sql}");
    rows[0][0].clone()
}

fn problem(sql: &str) -> Problem {
    match ours(&tables(), sql) {
        Ok(rows) => panic!("{sql}: {rows:?}"),
        Err(problem) => problem,
    }
}

fn int(value: i64) -> Sql {
    Sql::Integer(value)
}

#[test]
fn numbers_never_wrap() {
    for sql in [
        "SELECT SUM(n) FROM t",
        "SELECT n + 1 FROM t",
        "SELECT n * 2 FROM t",
        "SELECT SUM(n) OVER (ORDER BY n) FROM t",
    ] {
        assert!(matches!(problem(sql), Problem::TooLarge(_)), "{sql}");
    }
    assert_eq!(one("SELECT COUNT(*) * 1000000000000 FROM t"), int(4_000_000_000_000));
    assert_eq!(one("SELECT -9223372036854775808"), int(i64::MIN));
    // A product that nobody asks for does not matter.
    assert_eq!(one("SELECT SUM(n) FROM t WHERE n < 10"), int(6));
    assert_eq!(one("SELECT COUNT(*) FROM t WHERE n < 10 AND n + 1 > 2"), int(2));
}

#[test]
fn ids_beyond_the_signed_range_are_exact() {
    let most = Sql::Text(u64::MAX.to_string());
    assert_eq!(
        rows("SELECT id, COUNT(*) FROM wide GROUP BY id"),
        [[Sql::Text("7".into()), int(1)], [most.clone(), int(2)]]
    );
    assert_eq!(one("SELECT MAX(id) FROM wide"), most);
    assert_eq!(one("SELECT COUNT(*) FROM wide WHERE id = 18446744073709551615"), int(2));
    assert_eq!(one("SELECT COUNT(*) FROM wide a JOIN wide b ON a.id = b.id"), int(5));
    assert!(matches!(problem("SELECT id + 1 FROM wide"), Problem::TooLarge(_)));
}

#[test]
fn division_gives_decimals_and_nothing_by_zero() {
    assert_eq!(one("SELECT 7 / 2"), Sql::Real(3.5));
    assert_eq!(one("SELECT 7 // 2"), int(3));
    assert_eq!(one("SELECT DIV(-7, 2)"), int(-3));
    assert_eq!(rows("SELECT 1 / 0, 1 // 0, 1 % 0, 1.5 / 0"), [[Sql::Null, Sql::Null, Sql::Null, Sql::Null]]);
}

#[test]
fn literals_and_queries_without_tables() {
    assert_eq!(one("SELECT 1e6"), Sql::Real(1e6));
    assert!(rows("SELECT 1 WHERE 1 = 0").is_empty());
    assert_eq!(one("SELECT COUNT(*) WHERE 1 = 0"), int(0));
    assert_eq!(rows("VALUES (1, 'x'), (2, NULL)"), [[int(1), Sql::Text("x".into())], [int(2), Sql::Null]]);
    assert_eq!(rows("SELECT b FROM (VALUES (1, 'x')) AS v(a, b)"), [[Sql::Text("x".into())]]);
}

#[test]
fn names_are_found_in_any_case_and_told_apart() {
    assert_eq!(one("select count(N) from T where NAME = 'a'"), int(2));
    assert_eq!(one("SELECT COUNT(*) FROM t x JOIN t y ON x.name = y.name"), int(6));
    assert!(matches!(problem("SELECT name FROM t x JOIN t y ON x.n = y.n"), Problem::Ambiguous(..)));
    assert!(matches!(problem("SELECT nope FROM t"), Problem::UnknownColumn(_)));
    assert!(matches!(problem("SELECT x.n FROM t"), Problem::UnknownColumn(_)));
    assert!(matches!(problem("SELECT n FROM nope"), Problem::UnknownTable(_)));
    assert!(matches!(problem("SELECT nope(n) FROM t"), Problem::UnknownFunction(_)));
}

#[test]
fn what_has_no_meaning_is_said() {
    for sql in [
        "SELECT name + 1 FROM t",
        "SELECT * FROM t WHERE name > 1",
        "SELECT name, SUM(n) FROM t WHERE SUM(n) > 1 GROUP BY name",
        "SELECT n, name FROM t GROUP BY name",
        "SELECT (SELECT n FROM t) FROM t",
        "SELECT (SELECT n, name FROM t WHERE n = 1) FROM t",
        "SELECT n FROM t UNION SELECT name FROM t",
        "SELECT n FROM t UNION SELECT n, name FROM t",
        "SELECT n FROM t ORDER BY 2",
        "SELECT n FROM t LIMIT -1",
        "SELECT ROW_NUMBER() FROM t",
        "SELECT n FROM t WHERE ROW_NUMBER() OVER (ORDER BY n) = 1",
        "SELECT CAST(name AS BIGINT) FROM t",
        "SELECT QUANTILE_CONT(n, 2) FROM t",
        "SELECT name FROM t WHERE name ~ '('",
        "SELECT *",
    ] {
        assert!(matches!(problem(sql), Problem::Wrong(_)), "{sql}");
    }
    for sql in ["SELECT n FROM t GROUP BY ROLLUP (n)", "SELECT * FROM t, LATERAL (SELECT 1) AS x"] {
        assert!(matches!(problem(sql), Problem::Unsupported(_)), "{sql}");
    }
    for sql in ["SELEC 1", "SELECT n FROM t WHERE", "SELECT (1"] {
        assert!(matches!(problem(sql), Problem::Syntax(_)), "{sql}");
    }
}

#[test]
fn nests_and_chains_without_end_are_refused_and_not_followed() {
    super::super::on_deep_stack(nests_and_chains).expect("a thread");
}

fn nests_and_chains() {
    let deep = |n: usize| format!("SELECT {}1{}", "(".repeat(n), ")".repeat(n));
    assert!(matches!(problem(&deep(5000)), Problem::Depth));
    let subqueries = |n: usize| format!("{}SELECT 1{}", "SELECT * FROM (".repeat(n), ") AS t".repeat(n));
    assert!(matches!(problem(&subqueries(200)), Problem::Depth));
    assert_eq!(one(&format!("SELECT 0{}", " + 1".repeat(3000))), int(3000));
    assert_eq!(one(&format!("SELECT 0{}", " - 1 + 2 * 1".repeat(3000))), int(3000));
    assert_eq!(one(&format!("SELECT COUNT(*) FROM t WHERE n IN ({}1)", "9,".repeat(20_000))), int(1));
    assert!(matches!(problem(&format!("SELECT 0{}", " + 1".repeat(50_000))), Problem::Depth));
    // Each NOT is one level deeper.
    let nots = problem(&format!("SELECT {} TRUE", "NOT ".repeat(2000)));
    // Which of the two the parser says depends on where its own limit meets it.
    assert!(matches!(nots, Problem::Depth | Problem::Syntax(_)), "{nots:?}");
    let endless = problem("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT 1 FROM r) SELECT * FROM r LIMIT 1");
    assert!(matches!(endless, Problem::Wrong(_)), "{endless:?}");
}

#[test]
fn recursion_ends_where_nothing_is_new() {
    let numbers =
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 100) SELECT SUM(n) FROM r";
    assert_eq!(one(numbers), int(5050));
    let circle = "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n % 3 + 1 FROM r) SELECT COUNT(*) FROM r";
    assert_eq!(one(circle), int(3));
}

#[test]
fn statistics_are_exact() {
    let of = |call: &str| one(&format!("SELECT {call} FROM t WHERE n < 10"));
    assert_eq!(of("MEDIAN(n)"), Sql::Real(2.0));
    assert_eq!(of("QUANTILE_CONT(n, 0.25)"), Sql::Real(1.5));
    assert_eq!(of("QUANTILE_DISC(n, 0.5)"), int(2));
    assert_eq!(of("PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY n DESC)"), Sql::Real(2.5));
    assert_eq!(of("VAR(n)"), Sql::Real(1.0));
    assert_eq!(of("STDDEV(n)"), Sql::Real(1.0));
    assert_eq!(of("VAR_POP(n)"), Sql::Real(2.0 / 3.0));
    assert_eq!(of("STRING_AGG(name, '-' ORDER BY n DESC)"), Sql::Text("a-b-a".into()));
    assert_eq!(of("ARG_MAX(name, n)"), Sql::Text("a".into()));
    assert_eq!(of("COUNT_IF(n > 1)"), int(2));
    assert_eq!(of("BOOL_OR(n > 2)"), int(1));
}

#[test]
fn functions_do_what_their_names_say() {
    for (sql, expected) in [
        ("LEFT('kernel', 3)", "ker"),
        ("RIGHT('kernel', 2)", "el"),
        ("LEFT('kernel', -2)", "kern"),
        ("RIGHT('kernel', -2)", "rnel"),
        ("SUBSTRING('kernel' FROM 2 FOR 3)", "ern"),
        ("SUBSTR('kernel', 0, 3)", "ke"),
        ("TRIM(BOTH 'x' FROM 'xxaxx')", "a"),
        ("LPAD('7', 3, '0')", "007"),
        ("SPLIT_PART('a::b::c', '::', 2)", "b"),
        ("REGEXP_REPLACE('sm_90a', '[0-9]+', '#')", "sm_#a"),
        ("REGEXP_EXTRACT('gemm_128x64', '([0-9]+)x', 1)", "128"),
        ("CONCAT('a', NULL, 1)", "a1"),
        ("CONCAT_WS('-', 'a', NULL, 'b')", "a-b"),
    ] {
        assert_eq!(one(&format!("SELECT {sql}")), Sql::Text(expected.into()), "{sql}");
    }
    for (sql, expected) in [
        ("STRPOS('kernel', 'n')", 4),
        ("POSITION('n' IN 'kernel')", 4),
        ("LENGTH('grün')", 4),
        ("OCTET_LENGTH('grün')", 5),
        ("GREATEST(1, NULL, 3)", 3),
        ("LEAST(2, 1)", 1),
        ("SIGN(-5)", -1),
        ("FLOOR(7)", 7),
        ("6 & 3", 2),
        ("6 | 3", 7),
        ("'a' ILIKE 'A'", 1),
        ("'a' LIKE 'A'", 0),
        ("'50%' LIKE '50!%' ESCAPE '!'", 1),
    ] {
        assert_eq!(one(&format!("SELECT {sql}")), int(expected), "{sql}");
    }
    assert_eq!(one("SELECT ROUND(2.345, 2)"), Sql::Real(2.35));
    assert_eq!(rows("SELECT SQRT(-1), LN(0 - 1), TRY_CAST('x' AS BIGINT)"), [[Sql::Null, Sql::Null, Sql::Null]]);
}
