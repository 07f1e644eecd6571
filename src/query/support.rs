//! What of SQL works: each construct with an example that a test runs, and what to use instead of what does not.
//! `docs/query.md` carries this as a table; the same test keeps the two equal.

use super::lexer::Token;
use std::fmt::Write as _;

/// One construct.
pub struct Construct {
    /// What people call it.
    pub name: &'static str,
    /// A query that uses it.
    pub example: &'static str,
    /// The same in SQLite's words, where they differ: what works gives what SQLite gives.
    pub in_sqlite: Option<&'static str>,
    /// Whether it works.
    pub works: bool,
    /// What to use instead, or what to mind.
    pub instead: &'static str,
    /// For what does not work: whether a statement uses it.
    found: fn(&[Token]) -> bool,
}

/// The construct that does not work and that a statement which failed uses.
pub fn lacking(tokens: &[Token]) -> Option<&'static Construct> {
    CONSTRUCTS.iter().find(|construct| !construct.works && (construct.found)(tokens))
}

const fn works(name: &'static str, example: &'static str, mind: &'static str) -> Construct {
    Construct { name, example, in_sqlite: None, works: true, instead: mind, found: |_| false }
}

/// As [`works`], for what SQLite spells otherwise.
const fn works_as(
    name: &'static str,
    example: &'static str,
    in_sqlite: &'static str,
    mind: &'static str,
) -> Construct {
    Construct { name, example, in_sqlite: Some(in_sqlite), works: true, instead: mind, found: |_| false }
}

const fn lacks(
    name: &'static str,
    example: &'static str,
    instead: &'static str,
    found: fn(&[Token]) -> bool,
) -> Construct {
    Construct { name, example, in_sqlite: None, works: false, instead, found }
}

fn has(tokens: &[Token], word: &str) -> bool {
    tokens.iter().any(|t| t.is(word))
}

fn calls(tokens: &[Token], function: &str) -> bool {
    tokens.windows(2).any(|pair| pair[0].is(function) && pair[1].is_symbol("("))
}

/// Whether one word stands directly before another.
fn pair(tokens: &[Token], first: &str, second: &str) -> bool {
    tokens.windows(2).any(|pair| pair[0].is(first) && pair[1].is(second))
}

/// What to do about everything that no view has ready.
macro_rules! elsewhere {
    () => {
        "use DuckDB over `gpuprof export --format parquet`, or SQLite over `--format sqlite`"
    };
}

/// Every construct that the test knows.
#[rustfmt::skip]
pub static CONSTRUCTS: &[Construct] = &[
    works("WHERE with AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL",
        "SELECT correlation FROM kernel WHERE (device = 0 OR stream IN (7, 8)) AND NOT duration_ns BETWEEN 0 AND 4000 AND name LIKE '%s%' AND graph_id IS NULL ORDER BY correlation",
        "LIKE minds case (SQLite's does not); ILIKE does not"),
    works("ORDER BY, LIMIT, OFFSET",
        "SELECT correlation, duration_ns FROM kernel ORDER BY duration_ns DESC, correlation LIMIT 5 OFFSET 2",
        "without ORDER BY rows come in the order of the file"),
    works("GROUP BY, HAVING, COUNT, SUM, MIN, MAX, AVG",
        "SELECT name, COUNT(*) AS n, SUM(duration_ns) AS total, MIN(duration_ns) AS least, MAX(duration_ns) AS most, AVG(duration_ns) AS mean FROM kernel GROUP BY name HAVING COUNT(*) > 1 ORDER BY name",
        "a SUM beyond 64 bits is an error, not a wrong number"),
    works("COUNT(DISTINCT …), SELECT DISTINCT",
        "SELECT device, COUNT(DISTINCT stream) AS s FROM (SELECT DISTINCT device, stream FROM kernel) AS t GROUP BY device ORDER BY device", ""),
    works("aggregates with FILTER (WHERE …)",
        "SELECT COUNT(*) FILTER (WHERE duration_ns > 5000) AS n, SUM(bytes) FILTER (WHERE kind = 1) AS b FROM memcpy", ""),
    works("CASE, COALESCE, NULLIF, CAST",
        "SELECT CASE WHEN duration_ns > 10000 THEN 'long' ELSE 'short' END AS c, COALESCE(graph_id, 5) AS g, NULLIF(device, 1) AS d, CAST(duration_ns AS DOUBLE) AS f FROM kernel ORDER BY correlation", ""),
    works("INNER JOIN on several columns",
        "SELECT k.correlation, k.duration_ns, a.name FROM kernel k JOIN api a ON k.process = a.process AND k.correlation = a.correlation ORDER BY k.correlation, a.name", ""),
    works("LEFT JOIN",
        "SELECT a.correlation, k.duration_ns FROM api a LEFT JOIN kernel k ON k.correlation = a.correlation ORDER BY a.start_ns, a.correlation", ""),
    works("JOIN … USING",
        "SELECT correlation, k.duration_ns FROM kernel k JOIN api a USING (correlation) ORDER BY correlation", ""),
    works("CROSS JOIN", "SELECT COUNT(*) AS n FROM memset a CROSS JOIN memcpy b", ""),
    works("self join", "SELECT a.correlation AS x, b.correlation AS y FROM memcpy a JOIN memcpy b ON a.kind = b.kind WHERE a.correlation < b.correlation ORDER BY x, y", ""),
    works("joins of three tables",
        "SELECT k.correlation, s.block_x, p.pid FROM kernel k JOIN shape s ON k.shape_id = s.id JOIN processes p ON k.process = p.process ORDER BY k.correlation", ""),
    works("join on an inequality",
        "SELECT r.name, COUNT(*) AS n FROM ranges r JOIN api a ON a.start_ns >= r.start_ns AND a.start_ns < r.end_ns GROUP BY r.name ORDER BY r.name", ""),
    works("UNION, UNION ALL", "SELECT stream FROM kernel UNION SELECT kind FROM memcpy ORDER BY stream", ""),
    works("INTERSECT, EXCEPT",
        "SELECT correlation FROM api EXCEPT SELECT correlation FROM kernel ORDER BY correlation", ""),
    works("WITH (common table expressions)",
        "WITH t AS (SELECT name, SUM(duration_ns) AS total FROM kernel GROUP BY name) SELECT name, total FROM t WHERE total > 0 ORDER BY name", ""),
    works("subquery in FROM", "SELECT MAX(n) AS m FROM (SELECT COUNT(*) AS n FROM kernel GROUP BY stream) AS t", ""),
    works("IN (SELECT …)", "SELECT name FROM api WHERE correlation IN (SELECT correlation FROM memcpy) ORDER BY correlation", ""),
    works("NOT IN (SELECT …)", "SELECT name FROM api WHERE correlation NOT IN (SELECT correlation FROM memcpy) ORDER BY start_ns, correlation", ""),
    works("EXISTS with an equality on the outer query",
        "SELECT a.name FROM api a WHERE EXISTS (SELECT 1 FROM memcpy m WHERE m.correlation = a.correlation) ORDER BY a.correlation", ""),
    works("ROW_NUMBER",
        "SELECT correlation, ROW_NUMBER() OVER (PARTITION BY name ORDER BY correlation) AS r FROM kernel ORDER BY correlation", ""),
    works("RANK, DENSE_RANK", "SELECT correlation, RANK() OVER (ORDER BY duration_ns) AS r, DENSE_RANK() OVER (ORDER BY duration_ns) AS d FROM kernel ORDER BY correlation", ""),
    works("LAG, LEAD", "SELECT correlation, LAG(correlation) OVER (ORDER BY correlation) AS before FROM kernel ORDER BY correlation", ""),
    works("SUM OVER PARTITION BY", "SELECT correlation, SUM(duration_ns) OVER (PARTITION BY name) AS t FROM kernel ORDER BY correlation", ""),
    works("running SUM OVER ORDER BY", "SELECT correlation, SUM(duration_ns) OVER (ORDER BY correlation) AS t FROM kernel ORDER BY correlation", ""),
    works_as("QUANTILE_DISC, QUANTILE_CONT, MEDIAN, STDDEV, VAR", "SELECT QUANTILE_DISC(duration_ns, 1.0) AS q, MEDIAN(device) AS m, QUANTILE_CONT(duration_ns, 0.0) AS c, VAR(process) AS v FROM kernel", "SELECT MAX(duration_ns) AS q, 0.5 AS m, MIN(duration_ns) AS c, 0 AS v FROM kernel", ""),
    works("text functions: LOWER, UPPER, SUBSTR, REPLACE, LENGTH, CONCAT, ||", "SELECT LOWER(name) AS l, UPPER(base_name) AS u, SUBSTR(name, 1, 3) AS s, REPLACE(base_name, 'a', 'b') AS r, LENGTH(base_name) AS n, base_name || '!' AS c FROM kernel ORDER BY correlation", ""),
    works("arithmetic", "SELECT duration_ns * 2 + 1 AS a, duration_ns - 5 AS b, duration_ns % 7 AS c, ABS(5 - duration_ns) AS d FROM kernel ORDER BY correlation", ""),
    works("arithmetic on ids", "SELECT device - 1 AS a, stream * 1000000000 AS b, context + device AS c FROM kernel ORDER BY correlation", ""),
    works_as("FROM without SELECT", "FROM memset ORDER BY correlation", "SELECT * FROM memset ORDER BY correlation", ""),
    works_as("/ gives decimals", "SELECT duration_ns / 1000 AS us FROM kernel ORDER BY correlation", "SELECT duration_ns / 1000.0 AS us FROM kernel ORDER BY correlation", "// or DIV gives whole numbers"),
    works("computed columns without a name", "SELECT COUNT(*), MIN(duration_ns), MAX(duration_ns) FROM kernel", "they are called what was written, e.g. `MIN(duration_ns)`"),
    works("GROUP BY and ORDER BY a computed value", "SELECT duration_ns / 1000 * 1.0, COUNT(*) FROM kernel GROUP BY duration_ns / 1000 * 1.0 ORDER BY COUNT(*) DESC, duration_ns / 1000 * 1.0", ""),
    works("GROUP BY and ORDER BY a number of a column", "SELECT name, SUM(duration_ns) FROM kernel GROUP BY 1 ORDER BY 2 DESC", ""),
    works("counts in arithmetic", "SELECT COUNT(*) * 1000000000 AS n FROM kernel", ""),
    works_as("VALUES", "SELECT column_0 FROM (VALUES (1), (2)) AS t(column_0) ORDER BY column_0", "SELECT column1 AS column_0 FROM (VALUES (1), (2)) ORDER BY column_0", ""),
    works("NULLs in ORDER BY", "SELECT end_ns FROM ranges ORDER BY end_ns DESC NULLS LAST", ""),
    works_as("regular expressions: ~, REGEXP_LIKE", "SELECT COUNT(*) AS n FROM kernel WHERE name ~ '^saxpy'", "SELECT COUNT(*) AS n FROM kernel WHERE name LIKE 'saxpy%'", ""),
    works_as("SELECT * EXCLUDE (…)", "SELECT * EXCLUDE (name) FROM (SELECT correlation, name FROM kernel) AS t ORDER BY correlation", "SELECT correlation FROM kernel ORDER BY correlation", ""),
    works_as("GROUP BY ALL", "SELECT name, COUNT(*) AS n FROM kernel GROUP BY ALL ORDER BY name", "SELECT name, COUNT(*) AS n FROM kernel GROUP BY name ORDER BY name", ""),
    works_as("QUALIFY", "SELECT correlation FROM kernel QUALIFY ROW_NUMBER() OVER (ORDER BY correlation) < 3", "SELECT correlation FROM kernel ORDER BY correlation LIMIT 2", ""),

    works("a scalar subquery", "SELECT name FROM kernel WHERE duration_ns > (SELECT AVG(duration_ns) FROM kernel) ORDER BY correlation", ""),
    works("a scalar subquery", "SELECT (SELECT MAX(duration_ns) FROM kernel) AS m FROM kernel", ""),
    works("a subquery that names the outer query", "SELECT a.correlation, (SELECT COUNT(*) FROM kernel k WHERE k.correlation = a.correlation) AS n FROM api a ORDER BY a.start_ns, a.correlation",
        "one join where an equality ties the two together; else it runs once for each combination of what it names"),
    works("ORDER BY an aggregate that is not selected", "SELECT name FROM kernel GROUP BY name ORDER BY SUM(duration_ns)", ""),
    works("EXISTS without an equality on the outer query", "SELECT name FROM api a WHERE EXISTS (SELECT 1 FROM memcpy m WHERE m.start_ns > a.start_ns) ORDER BY a.start_ns, a.correlation", ""),
    works("WITH RECURSIVE", "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT * FROM t", ""),
    works_as("WITHIN GROUP (PERCENTILE_CONT and the like)", "SELECT PERCENTILE_DISC(1.0) WITHIN GROUP (ORDER BY duration_ns) AS p FROM kernel", "SELECT MAX(duration_ns) AS p FROM kernel", ""),
    works("NTILE, PERCENT_RANK, CUME_DIST, NTH_VALUE",
        "SELECT correlation, NTILE(4) OVER w AS q, PERCENT_RANK() OVER w AS p, CUME_DIST() OVER w AS c, NTH_VALUE(correlation, 2) OVER w AS s FROM kernel WINDOW w AS (ORDER BY duration_ns, correlation) ORDER BY correlation", ""),
    works("a window over ROWS, RANGE or GROUPS", "SELECT correlation, SUM(duration_ns) OVER (ORDER BY correlation RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS s, MAX(duration_ns) OVER (ORDER BY correlation ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS m FROM kernel ORDER BY correlation", ""),

    lacks("GROUPING SETS, ROLLUP, CUBE", "SELECT name, stream, COUNT(*) AS n FROM kernel GROUP BY ROLLUP (name, stream)",
        concat!("use UNION ALL of several GROUP BY; else ", elsewhere!()), |t| calls(t, "ROLLUP") || calls(t, "CUBE") || pair(t, "GROUPING", "SETS")),
    lacks("LATERAL", "SELECT * FROM kernel k, LATERAL (SELECT name FROM api a WHERE a.correlation = k.correlation) AS x",
        concat!("join instead; else ", elsewhere!()), |t| has(t, "LATERAL")),
    lacks("PIVOT", "SELECT * FROM kernel PIVOT (COUNT(name) FOR stream IN (7, 8))",
        "use COUNT(*) FILTER (WHERE …) per column", |t| has(t, "PIVOT") || has(t, "UNPIVOT")),
];

/// The table of `docs/query.md`.
pub fn markdown() -> String {
    let mut out = String::from("| construct | works | instead, or to mind |\n|---|---|---|\n");
    for (i, construct) in CONSTRUCTS.iter().enumerate() {
        // Tested by several examples, said once.
        if CONSTRUCTS[..i].iter().any(|earlier| earlier.name == construct.name) {
            continue;
        }
        let works = if construct.works { "yes" } else { "no" };
        let _ = writeln!(
            out,
            "| {} | {works} | {} |",
            construct.name.replace('|', "\\|"),
            construct.instead.replace('|', "\\|")
        );
    }
    out
}
