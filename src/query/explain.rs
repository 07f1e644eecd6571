//! Polars' errors in sentences: which name is unknown and which names are near, which construct Polars lacks and what
//! to use instead. Never a dump of its syntax tree.

use super::lexer::tokens;
use super::source::{self, Source};
use super::support;
use crate::error::Error;
use polars::prelude::PolarsError;

/// Longest piece of Polars' own words that is passed on.
const LONGEST: usize = 240;

/// The error to show for what Polars said about `statement`, whose known sources are `sources`.
pub fn error(error: &PolarsError, statement: &str, sources: &[&dyn Source]) -> Error {
    let said = text(error);
    if said.contains("recursion limit exceeded") {
        return Error::new("the query is nested too deeply").remedy("compute parts of it in WITH");
    }
    if let Some(name) = between(&said, "relation '", "'") {
        return unknown_source(name);
    }
    let column = match error {
        PolarsError::ColumnNotFound(_) | PolarsError::SchemaFieldNotFound(_) => unknown_column_in(&said),
        _ => between(&said, "unable to find column \"", "\"").or_else(|| between(&said, "no column named '", "'")),
    };
    if let Some(name) = column.filter(|name| !has_column(sources, name)) {
        return unknown_column(name, sources);
    }
    let tokens = tokens(statement);
    // What is wrong with a value has nothing to do with the construct that it stands in.
    let about_values =
        said.contains("cannot compare") || said.contains("for dtype") || said.contains("does not fit");
    if let Some(construct) = support::lacking(&tokens).filter(|_| !about_values) {
        return Error::new(format!("{} is not supported in queries", construct.name)).remedy(construct.instead);
    }
    if let Some(function) = between(&said, "unsupported function '", "'") {
        return Error::new(format!("there is no function {function}()")).remedy(&near_functions(function));
    }
    Error::new(format!("the query cannot be answered: {}", short(&said)))
        .remedy("docs/query.md says what works; for more, `gpuprof export` to SQLite or Parquet")
}

/// Polars' message without its class.
fn text(error: &PolarsError) -> String {
    let said = error.to_string();
    let said = said.strip_prefix("sql parser error: ").unwrap_or(&said);
    said.trim().to_owned()
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = &text[text.find(before)? + before.len()..];
    Some(&rest[..rest.find(after)?])
}

fn unknown_column_in(said: &str) -> Option<&str> {
    between(said, "column \"", "\"").or_else(|| between(said, "not found: ", "\n")).or_else(|| {
        let rest = said.rsplit("not found: ").next()?;
        rest.split_whitespace().next().map(|word| word.trim_matches(['"', '\'', ',', ';']))
    })
}

fn has_column(sources: &[&dyn Source], name: &str) -> bool {
    sources.iter().any(|s| s.columns().iter().any(|c| c.name == name))
}

/// One line, no syntax tree, not too long.
fn short(said: &str) -> String {
    let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    let line = &line[..tree_at(line).unwrap_or(line.len())];
    let mut out: String = line.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    if line.chars().count() > LONGEST {
        out.push('…');
    }
    let trimmed = out.trim_end_matches([' ', ':', ';', ',', '(', '.']);
    if trimmed.is_empty() { "no reason given".into() } else { trimmed.to_owned() }
}

/// Where a debug print of a syntax tree begins: a name in capitals, then `(` or ` {`, and inside it another or a span.
fn tree_at(line: &str) -> Option<usize> {
    let marks = [
        "Ident {",
        "Span(",
        "ValueWithSpan",
        "Identifier(",
        "Query {",
        "Select {",
        "SetExpr",
        "Function {",
        "BinaryOp {",
        "UnaryOp {",
        "Subquery(",
        "Interval {",
        "Nested(",
    ];
    let first = marks.iter().filter_map(|mark| line.find(mark)).min()?;
    // The outermost of the nest: back to the last space before it, so that `Some(Ident {` goes as a whole.
    Some(line[..first].rfind(' ').unwrap_or(0))
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

fn unknown_column(name: &str, sources: &[&dyn Source]) -> Error {
    let known: Vec<&str> = sources.iter().flat_map(|s| s.columns()).map(|c| c.name).collect();
    // `kernel.nmae` is about `nmae`.
    let bare = name.rsplit('.').next().unwrap_or(name);
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

fn near_functions(name: &str) -> String {
    let known = polars::sql::keywords::all_functions();
    let near = near(name, &known);
    if near.is_empty() {
        return "docs/query.md says what works; for more, `gpuprof export` to SQLite or Parquet".to_owned();
    }
    format!("did you mean {}?", near.join(" or "))
}

/// A name as messages show it: short and without control characters.
fn quoted(name: &str) -> String {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    format!("\"{shown}\"")
}

/// Up to three of `known` that `name` may have been meant to be, nearest first.
fn near<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
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

    #[test]
    fn syntax_trees_are_cut_off() {
        let dumped = "expression Subquery(Query { with: None, body: Select(Select { distinct: None }) }) is not currently supported";
        assert_eq!(short(dumped), "expression");
        assert_eq!(short("statement type is not supported:\nInsert(Insert {"), "statement type is not supported");
    }
}
