//! What is wrong with a query, in sentences: which name is unknown and which names are near, what gpuprof lacks and what to
//! use instead.

use super::engine::problem::Problem;
use super::engine::{aggregates, functions, windows};
use super::lexer::{Token, tokens};
use super::source::{self, Source};
use super::support;
use crate::error::Error;

/// Longest piece of the parser's own words that is passed on.
const LONGEST: usize = 240;

/// What to do about what no construct has an answer to.
const ELSEWHERE: &str = "docs/query.md says what works; for more, `gpuprof export` to SQLite or Parquet";

/// The error to show for what is wrong with `statement`, whose known sources are `sources`.
pub fn error(problem: Problem, statement: &str, sources: &[&dyn Source]) -> Error {
    let cannot = |why: &str| Error::new(format!("the query cannot be answered: {}", short(why)));
    match problem {
        Problem::Read(error) => *error,
        Problem::Depth => Error::new("the query is nested too deeply").remedy("compute parts of it in WITH"),
        Problem::UnknownTable(name) => unknown_source(&name),
        Problem::UnknownColumn(name) => match meant_as_text(&name, statement, sources) {
            Some(error) => error,
            None => unknown_column(&name, sources),
        },
        Problem::UnknownFunction(name) => {
            Error::new(format!("there is no function {}()", name.to_lowercase())).remedy(&near_functions(&name))
        }
        Problem::Ambiguous(column, one, other) => {
            let both = [one, other].map(|table| format!("{table}.{column}")).join(" or ");
            Error::new(format!("{} is a column of several tables here", quoted(&column)))
                .remedy(&format!("write {both}"))
        }
        Problem::TooLarge(what) => cannot(&format!("{what} does not fit into 64 bits")),
        Problem::Syntax(said) => match support::lacking(&tokens(statement)) {
            Some(construct) => lacking(construct),
            None => cannot(&said).remedy(ELSEWHERE),
        },
        Problem::Unsupported(what) => match support::lacking(&tokens(statement)) {
            Some(construct) => lacking(construct),
            None => Error::new(format!("{} is not supported in queries", short(&what))).remedy(ELSEWHERE),
        },
        Problem::Wrong(sentence) => cannot(&sentence),
    }
}

fn lacking(construct: &support::Construct) -> Error {
    Error::new(format!("{} is not supported in queries", construct.name)).remedy(construct.instead)
}

/// One line, not too long.
fn short(said: &str) -> String {
    let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    let mut out: String = line.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    if line.chars().count() > LONGEST {
        out.push('…');
    }
    out.trim_end_matches([' ', ':', ';', ',', '.']).to_owned()
}

/// Every function, in small letters.
pub fn all_functions() -> Vec<String> {
    let scalar = functions::FUNCTIONS.iter().flat_map(|f| f.names);
    let aggregate = aggregates::AGGREGATES.iter().flat_map(|f| f.names);
    scalar.chain(aggregate).chain(windows::NAMES).map(|name| name.to_lowercase()).collect()
}

fn unknown_source(name: &str) -> Error {
    let known: Vec<&str> = source::all().map(Source::name).collect();
    let remedy = match near(name, &known) {
        near if near.is_empty() => {
            "docs/schema.md lists all; views such as gpu, launches, gaps, kernels_by_name are a good start"
                .to_owned()
        }
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Error::new(format!("there is no table or view {}", quoted(name))).remedy(&remedy)
}

fn columns_of<'s>(sources: &'s [&dyn Source]) -> impl Iterator<Item = &'s str> {
    sources.iter().flat_map(|source| source.columns()).map(|column| column.name)
}

fn unknown_column(name: &str, sources: &[&dyn Source]) -> Error {
    let known: Vec<&str> = columns_of(sources).collect();
    // `kernel.nmae` is about `nmae`, and `"nmae"` too.
    let bare = name.rsplit('.').next().unwrap_or(name).trim_matches('"');
    let near = near(bare, &known);
    let remedy = if near.is_empty() {
        let some: Vec<String> = sources
            .iter()
            .map(|s| {
                format!("{} has {}", s.name(), s.columns().iter().map(|c| c.name).collect::<Vec<_>>().join(", "))
            })
            .collect();
        if some.is_empty() { "name a table or view after FROM".to_owned() } else { some.join("; ") }
    } else {
        format!("did you mean {}?", near.join(" or "))
    };
    Error::new(format!("there is no column {}", quoted(name))).remedy(&remedy)
}

/// The error for a name in double quotes that is no column and was most likely meant as text, which other languages, and
/// MySQL, write so: one with a character that no column's name has, one that stands where a pattern does, or one that
/// something is compared with and that resembles no column.
fn meant_as_text(name: &str, statement: &str, sources: &[&dyn Source]) -> Option<Error> {
    let tokens = tokens(statement);
    let inner = |token: &Token| token.name().filter(|_| token.text.starts_with('"'));
    let at = tokens.iter().position(|token| inner(token).is_some_and(|inner| names_column(name, &inner)))?;
    let text = inner(&tokens[at])?;
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    let is_pattern =
        before.is_some_and(|token| ["LIKE", "ILIKE", "REGEXP", "RLIKE"].iter().any(|word| token.is(word)));
    let known: Vec<&str> = columns_of(sources).collect();
    let is_compared = before.is_some_and(|token| token.is_symbol("=")) && near(&text, &known).is_empty();
    let is_name = text.chars().all(|c| c.is_alphanumeric() || c == '_');
    if is_name && !is_pattern && !is_compared {
        return None;
    }
    let literal: String = text.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    Some(
        Error::new(format!("there is no column {}; double quotes are for names", quoted(&text)))
            .remedy(&format!("write text in single quotes: '{}'", literal.replace('\'', "''"))),
    )
}

/// Whether a column that is not known, as the engine calls it, is the one that a query writes as `inner` in quotes.
fn names_column(unknown: &str, inner: &str) -> bool {
    let quoted = inner.replace('"', "\"\"");
    unknown == inner || unknown.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) == Some(&quoted)
}

fn near_functions(name: &str) -> String {
    let all = all_functions();
    let known: Vec<&str> = all.iter().map(String::as_str).collect();
    let near = near(name, &known);
    if near.is_empty() {
        return ELSEWHERE.to_owned();
    }
    format!("did you mean {}?", near.join(" or "))
}

/// A name as messages show it: short and without control characters.
fn quoted(name: &str) -> String {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    // What was written in quotes comes with them.
    if shown.contains('"') { shown } else { format!("\"{shown}\"") }
}

/// Up to three of `known` that `name` may have been meant to be, nearest first.
pub(super) fn near<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    let name: String = name.to_lowercase().chars().take(64).collect();
    let allowed = (name.chars().count() / 3).clamp(1, 4);
    let mut found: Vec<(usize, &str)> = known
        .iter()
        .filter_map(|known| {
            let lower = known.to_lowercase();
            let distance = distance(&name, &lower);
            let related = name.len() > 2 && (lower.contains(&name) || name.contains(&lower) && lower.len() > 2);
            (distance <= allowed || related).then_some((distance, *known))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(3).map(|(_, known)| known).collect()
}

/// Edits that turn one word into another: letters added, removed, replaced, or two neighbours swapped.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replaced = last[j] + usize::from(a[i] != b[j]);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        assert_eq!(distance("kernel", "kenrel"), 1);
        assert_eq!(near("kernels", &["memcpy", "kernel", "kernels_by_name"]), ["kernel", "kernels_by_name"]);
        assert_eq!(near("start", &["start_ns", "end_ns"]), ["start_ns"]);
        assert_eq!(near("zzzzzz", &["start_ns", "end_ns"]), [""; 0]);
    }
}
