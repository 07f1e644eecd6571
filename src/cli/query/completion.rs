//! Which words can stand where the cursor is.

use super::commands;
use crate::query::explain;
use crate::query::lexer::{Token, tokens};
use crate::query::source::{self, Source};

/// Where the word at the cursor begins, and what it can become. `before` is everything typed so far of the statement,
/// `line` the part that is on the current line, up to the cursor.
pub fn complete(before: &str, line: &str) -> (usize, Vec<String>) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let start = line.char_indices().rev().take_while(|(_, c)| is_word(*c)).last().map_or(line.len(), |(i, _)| i);
    let word = &line[start..];
    if start == 0 && word.starts_with('.') && before.trim().is_empty() {
        let found = commands::NAMES.iter().filter(|name| name.starts_with(word));
        return (0, found.map(|name| (*name).to_owned()).collect());
    }
    // Behind `alias.` only its column is meant.
    let (start, word) = match word.rfind('.') {
        Some(dot) => (start + dot + 1, &word[dot + 1..]),
        None => (start, word),
    };
    let typed = format!("{before}{}", &line[..start]);
    let earlier = tokens(&typed);
    let mut words = Vec::new();
    let last = earlier.iter().rev().find(|t| !t.is_symbol("."));
    let wants_source =
        last.is_some_and(|t| t.is("FROM") || t.is("JOIN")) || typed.trim_start().starts_with(".schema");
    if wants_source {
        words.extend(source::all().map(|s| s.name().to_owned()));
    } else {
        words.extend(columns(&tokens(&format!("{before}{line}"))));
        if !typed.ends_with('.') {
            words.extend(source::all().map(|s| s.name().to_owned()));
            words.extend(explain::all_functions());
            words.extend(KEYWORDS.iter().map(|k| (*k).to_owned()));
        }
    }
    let lower = word.to_lowercase();
    words.retain(|w| w.to_lowercase().starts_with(&lower));
    words.sort();
    words.dedup();
    // A keyword is written as the word before it was: `sel` becomes `select`, `SEL` becomes `SELECT`.
    if word.chars().next().is_some_and(char::is_lowercase) {
        for w in words.iter_mut().filter(|w| KEYWORDS.contains(&w.as_str())) {
            *w = w.to_lowercase();
        }
    }
    (start, words)
}

/// Columns of the sources that a statement names; of all ready views and tables where it names none, but not of the views of
/// report, whose many columns would hide these.
fn columns(tokens: &[Token]) -> Vec<String> {
    let named: Vec<&dyn Source> = tokens.iter().filter_map(|t| source::find(&t.name()?)).collect();
    let [(_, views), (_, tables), _] = source::groups();
    let sources = if named.is_empty() { [views, tables].concat() } else { named };
    sources.iter().flat_map(|s| s.columns()).map(|c| c.name.to_owned()).collect()
}

/// Keywords that a query over traces has a use for.
const KEYWORDS: &[&str] = &[
    "ALL",
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "CROSS",
    "DESC",
    "DISTINCT",
    "ELSE",
    "END",
    "EXPLAIN",
    "FALSE",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INTERSECT",
    "IS",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "RIGHT",
    "SELECT",
    "THEN",
    "TRUE",
    "UNION",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WITH",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        complete("", line).1
    }

    #[test]
    fn what_fits_the_place_is_offered() {
        assert_eq!(words("selec"), ["select"]);
        assert_eq!(words("SELEC"), ["SELECT"]);
        assert_eq!(words("SELECT * FROM kernels"), ["kernels_by_name"]);
        assert_eq!(complete("", "SELECT k.dur"), (9, vec!["duration_ns".to_owned()]));
        assert_eq!(complete("SELECT *\nFROM gaps\n", "WHERE bef"), (6, vec!["before".to_owned()]));
        assert_eq!(words(".s"), [".schema"]);
        assert!(words(".schema ga").contains(&"gaps".to_owned()));
        assert!(words("SELECT * FROM memcpy WHERE by").contains(&"bytes".to_owned()));
    }
}
