//! Headings for what a query computes. Polars calls `COUNT(*)` `len` and both `MIN(x)` and `MAX(x)` `x`, and then refuses
//! the two together; here each is called what was written.

use super::lexer::{Token, TokenKind, tokens};
use std::collections::HashSet;

/// The statement with a name for every computed column that has none, and with these names in the ORDER BY of the same
/// SELECT: behind a GROUP BY, Polars sorts by columns of the answer alone.
pub fn named(statement: &str) -> String {
    let tokens = tokens(statement);
    // Where, how many bytes go, and what comes.
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    for i in (0..tokens.len()).filter(|&i| tokens[i].is("SELECT")) {
        let mut taken = HashSet::new();
        let mut computed: Vec<(&[Token], String)> = Vec::new();
        for item in items(&tokens[i + 1..]) {
            let Some(name) = name_of(statement, item) else {
                let name = item.last().and_then(Token::name);
                if let (Some(name), [expression @ .., r#as, _]) = (&name, item)
                    && r#as.is("AS")
                {
                    computed.push((expression, name.clone()));
                }
                taken.extend(name);
                continue;
            };
            let mut unique = name.clone();
            let mut copies = 1;
            while !taken.insert(unique.clone()) {
                copies += 1;
                unique = format!("{name} {copies}");
            }
            if let Some(last) = item.last() {
                edits.push((last.at + last.text.len(), 0, format!(" AS {}", quoted(&unique))));
            }
            computed.push((item, unique));
        }
        for key in sort_keys(&tokens[i + 1..]) {
            let known = computed.iter().find(|(item, _)| item.len() > 1 && same(item, key));
            if let (Some((_, name)), Some(first), Some(last)) = (known, key.first(), key.last()) {
                edits.push((first.at, last.at + last.text.len() - first.at, quoted(name)));
            }
        }
    }
    edits.sort();
    let mut out = String::new();
    let mut from = 0;
    for (at, length, text) in edits {
        if at < from {
            // Inside a key that was replaced.
            continue;
        }
        out.push_str(&statement[from..at]);
        out.push_str(&text);
        from = at + length;
    }
    out + &statement[from..]
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Whether two expressions are written alike.
fn same(a: &[Token], b: &[Token]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            a.kind == b.kind
                && (a.text == b.text || (a.kind == TokenKind::Word && a.text.eq_ignore_ascii_case(b.text)))
        })
}

/// The expressions of the ORDER BY that belongs to a SELECT, whose tokens follow it.
fn sort_keys<'t, 's>(rest: &'t [Token<'s>]) -> Vec<&'t [Token<'s>]> {
    let mut depth = 0;
    let mut from = None;
    for (i, token) in rest.iter().enumerate() {
        depth += i32::from(token.is_symbol("(")) - i32::from(token.is_symbol(")"));
        let other = ["UNION", "INTERSECT", "EXCEPT"].iter().any(|word| token.is(word));
        if depth < 0 || (depth == 0 && (other || token.is_symbol(";"))) {
            return Vec::new();
        }
        if depth == 0 && token.is("ORDER") && rest.get(i + 1).is_some_and(|t| t.is("BY")) {
            from = Some(i + 2);
            break;
        }
    }
    let Some(keys) = from.and_then(|from| rest.get(from..)) else { return Vec::new() };
    let directions = ["ASC", "DESC", "NULLS", "FIRST", "LAST"];
    let bare = |key: &'t [Token<'s>]| {
        let behind = key.iter().rev().take_while(|t| directions.iter().any(|word| t.is(word))).count();
        &key[..key.len() - behind]
    };
    items(keys).into_iter().map(bare).collect()
}

/// Words that end the list behind SELECT.
const ENDS: &[&str] = &[
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "FETCH",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "WINDOW",
    "QUALIFY",
    "INTO",
];

/// The items of a list that SELECT began.
fn items<'t, 's>(list: &'t [Token<'s>]) -> Vec<&'t [Token<'s>]> {
    let mut out = Vec::new();
    let mut depth = 0;
    let mut from = list.iter().take_while(|t| t.is("DISTINCT") || t.is("ALL")).count();
    let mut end = list.len();
    for (i, token) in list.iter().enumerate().skip(from) {
        match token.text {
            "(" | "[" if token.kind == TokenKind::Symbol => depth += 1,
            ")" | "]" if token.kind == TokenKind::Symbol => depth -= 1,
            "," if token.kind == TokenKind::Symbol && depth == 0 => {
                out.push(&list[from..i]);
                from = i + 1;
            }
            _ => {}
        }
        let ends = token.is_symbol(";") || ENDS.iter().any(|word| token.is(word));
        // A column may be called `offset`: behind a dot, a word is a name.
        let is_name = i > 0 && list[i - 1].is_symbol(".");
        if depth < 0 || (depth == 0 && ends && !is_name) {
            end = i;
            break;
        }
    }
    out.push(&list[from.min(end)..end]);
    out
}

/// What an item of the list is to be called; `None`: it has a name, or stands for several columns.
fn name_of(statement: &str, item: &[Token]) -> Option<String> {
    let (first, last) = (item.first()?, item.last()?);
    let several =
        item.iter().take(3).any(|t| t.is_symbol("*")) && (first.is_symbol("*") || item.get(1)?.is_symbol("."));
    let starred = several && item.len() <= 3 || first.is_symbol("*") || first.is("COLUMNS") || first.is("ON");
    if starred || has_alias(item) {
        return None;
    }
    let before = item.len().checked_sub(2).and_then(|i| item.get(i));
    let computes =
        before.is_some_and(|t| t.kind == TokenKind::Symbol && t.text != "." && t.text != ")" && t.text != "]");
    let is_name = matches!(last.kind, TokenKind::Word | TokenKind::Quoted)
        && !last.is("END")
        && !(computes && item.len() > 1);
    if is_name && !["NULL", "TRUE", "FALSE"].iter().any(|word| last.is(word)) {
        return None;
    }
    let text = &statement[first.at..last.at + last.text.len()];
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Whether `AS` stands in the item outside of parentheses (inside, it belongs to CAST).
fn has_alias(item: &[Token]) -> bool {
    let mut depth = 0;
    item.iter().any(|token| {
        depth += i32::from(token.is_symbol("(")) - i32::from(token.is_symbol(")"));
        depth == 0 && token.is("AS")
    })
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn what_is_computed_is_called_what_was_written() {
        for (given, expected) in [
            ("SELECT COUNT(*) FROM t", "SELECT COUNT(*) AS \"COUNT(*)\" FROM t"),
            ("select min(x),  max( x ) from t", "select min(x) AS \"min(x)\",  max( x ) AS \"max( x )\" from t"),
            ("SELECT a + b, 'x', 5 FROM t", "SELECT a + b AS \"a + b\", 'x' AS \"'x'\", 5 AS \"5\" FROM t"),
            ("SELECT COUNT(*), COUNT(*)", "SELECT COUNT(*) AS \"COUNT(*)\", COUNT(*) AS \"COUNT(*) 2\""),
            (
                "SELECT CASE WHEN a THEN 1 END FROM t",
                "SELECT CASE WHEN a THEN 1 END AS \"CASE WHEN a THEN 1 END\" FROM t",
            ),
            ("SELECT max(\"a b\") FROM t", "SELECT max(\"a b\") AS \"max(\"\"a b\"\")\" FROM t"),
            (
                "SELECT a FROM (SELECT max(b) FROM t) x WHERE c IN (SELECT 1)",
                "SELECT a FROM (SELECT max(b) AS \"max(b)\" FROM t) x WHERE c IN (SELECT 1 AS \"1\")",
            ),
            (
                "SELECT sum(a) FILTER (WHERE b) FROM t",
                "SELECT sum(a) FILTER (WHERE b) AS \"sum(a) FILTER (WHERE b)\" FROM t",
            ),
            (
                "SELECT a, count(*) FROM t GROUP BY a ORDER BY COUNT(*) DESC, a LIMIT 3",
                "SELECT a, count(*) AS \"count(*)\" FROM t GROUP BY a ORDER BY \"count(*)\" DESC, a LIMIT 3",
            ),
            (
                "SELECT a, sum(b) AS s FROM t GROUP BY a ORDER BY sum(b) NULLS LAST",
                "SELECT a, sum(b) AS s FROM t GROUP BY a ORDER BY \"s\" NULLS LAST",
            ),
            (
                "SELECT rank() OVER (ORDER BY max(a)), max(a) FROM t",
                "SELECT rank() OVER (ORDER BY max(a)) AS \"rank() OVER (ORDER BY max(a))\", max(a) AS \"max(a)\" FROM t",
            ),
            ("SELECT CAST(a AS INT) FROM t", "SELECT CAST(a AS INT) AS \"CAST(a AS INT)\" FROM t"),
        ] {
            assert_eq!(named(given), expected);
        }
    }

    #[test]
    fn what_has_a_name_keeps_it() {
        for same in [
            "SELECT *, a, t.b, \"c d\" FROM t",
            "SELECT t.*, a AS b, count(*) n, sum(x) AS \"s\" FROM t",
            "SELECT * EXCLUDE (a) FROM t",
            "SELECT DISTINCT a, b FROM t",
            "SELECT t.offset FROM t LIMIT 5",
            "FROM t",
            "SELECT",
            "SELECT FROM",
            "SELECT COLUMNS('a.*') FROM t",
        ] {
            assert_eq!(named(same), same);
        }
    }
}
