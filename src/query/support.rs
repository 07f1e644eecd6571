//! What of SQL works: each construct with an example that a test runs, and what to use where Polars lacks it.
//! `docs/query.md` carries this as a table; the same test keeps the two equal.

use super::lexer::{Kind, Token};
use std::fmt::Write as _;

/// One construct.
pub struct Construct {
    /// What people call it.
    pub name: &'static str,
    /// A query that uses it.
    pub example: &'static str,
    /// Whether it works; if so, the example gives what SQLite gives.
    pub works: bool,
    /// What to use instead, or what to mind.
    pub instead: &'static str,
    /// For what does not work: whether a statement uses it.
    found: fn(&[Token]) -> bool,
}

/// The construct that Polars lacks and a statement that failed uses.
pub fn lacking(tokens: &[Token]) -> Option<&'static Construct> {
    CONSTRUCTS.iter().find(|construct| !construct.works && (construct.found)(tokens))
}

const fn works(name: &'static str, example: &'static str, mind: &'static str) -> Construct {
    Construct { name, example, works: true, instead: mind, found: |_| false }
}

const fn lacks(
    name: &'static str,
    example: &'static str,
    instead: &'static str,
    found: fn(&[Token]) -> bool,
) -> Construct {
    Construct { name, example, works: false, instead, found }
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

/// Whether `(SELECT` stands where a value does: not behind FROM, JOIN, IN, EXISTS, a set operation or `WITH x AS`.
fn has_scalar_subquery(tokens: &[Token]) -> bool {
    let opens = |i: usize| tokens[i].is_symbol("(") && tokens.get(i + 1).is_some_and(|t| t.is("SELECT"));
    (1..tokens.len()).filter(|&i| opens(i)).any(|i| {
        let before = &tokens[i - 1];
        let operator =
            before.kind == Kind::Symbol && ["=", "<", ">", "+", "-", "*", "/", "%"].contains(&before.text);
        let list = before.is_symbol(",") || before.is_symbol("(");
        let word =
            ["SELECT", "WHERE", "AND", "OR", "NOT", "THEN", "ELSE", "WHEN", "BETWEEN", "HAVING", "ON", "DISTINCT"]
                .iter()
                .any(|word| before.is(word));
        operator || word || (list && !behind_from(&tokens[..i]))
    })
}

/// Whether the list that `tokens` end in was begun by FROM.
fn behind_from(tokens: &[Token]) -> bool {
    let mut depth = 0;
    for token in tokens.iter().rev() {
        if token.is_symbol(")") {
            depth += 1;
        } else if token.is_symbol("(") {
            depth -= 1;
        } else if depth <= 0 && (token.is("FROM") || token.is("JOIN") || token.is("WITH")) {
            return true;
        } else if depth <= 0 && ["SELECT", "WHERE", "BY", "HAVING", "ON"].iter().any(|word| token.is(word)) {
            return false;
        }
    }
    false
}

/// Every construct that the test knows.
pub static CONSTRUCTS: &[Construct] = &[
    works(
        "WHERE with AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL",
        "SELECT correlation FROM kernel WHERE (device = 0 OR stream IN (7, 8)) AND NOT duration_ns BETWEEN 0 AND 4000 AND name LIKE '%s%' AND graph_id IS NULL ORDER BY correlation",
        "LIKE minds case, ILIKE does not",
    ),
    works(
        "GROUP BY, HAVING",
        "SELECT name, COUNT(*) AS n, SUM(duration_ns) AS total FROM kernel GROUP BY name HAVING COUNT(*) > 1 ORDER BY name",
        "",
    ),
    works(
        "ORDER BY, LIMIT, OFFSET",
        "SELECT correlation, duration_ns FROM kernel ORDER BY duration_ns DESC, correlation LIMIT 5 OFFSET 2",
        "without ORDER BY rows come in the order of the file",
    ),
];

/// The table of `docs/query.md`.
pub fn markdown() -> String {
    let mut out = String::from("| construct | works | instead, or to mind |\n|---|---|---|\n");
    for construct in CONSTRUCTS {
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
