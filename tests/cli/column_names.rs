//! Columns of the format are named by the constants that `table!` declares, `column::kernel::START_NS`: a name in quotes
//! that nobody has compiles, and reads nulls.

use crate::sources;
use std::collections::BTreeSet;
use std::path::PathBuf;
use trace_format::tables;

/// Where names in quotes are somebody else's, and whose.
const ELSEWHERE: &[(&str, &str)] = &[
    ("import/", "keys and columns of other formats"),
    ("query/", "columns of SQL, which are what people type"),
    ("timeline/field.rs", "fields of the page's records, which the page's script knows by these names"),
    ("timeline/find.rs", "keys of answers to the page"),
    ("timeline/insights.rs", "keys of what the page says about the trace"),
    ("timeline/meta.rs", "keys of what the page holds"),
    ("timeline/names.rs", "keys of launch shapes on the page"),
    ("timeline/records.rs", "columns of tiles"),
    ("exchange/", "headings of our exports beside those of the registry"),
    ("export/flat/spans.rs", "headings of columns that are computed"),
    ("export/flat.rs", "headings of columns of words"),
    ("trace/definitions.rs", "numbers of launch shapes by the words of --filter and of headings"),
];

/// Lines of the sources outside tests and comments, with file (below `src`) and number.
fn lines() -> Vec<(PathBuf, usize, String)> {
    let mut found = Vec::new();
    for (file, text) in sources::shipped("src", &["rs"]) {
        let code = (1..).zip(text.lines()).filter(|(_, line)| !line.trim_start().starts_with("//"));
        found.extend(code.map(|(number, line)| (file.clone(), number, line.to_owned())));
    }
    found
}

/// Names that mean nothing but a column: those of one word are also words of options, units and headings.
fn is_column(name: &str) -> bool {
    name.contains('_') && tables::ALL.iter().any(|table| table.column_index(name).is_some())
}

#[test]
fn columns_are_named_by_constants() {
    let lines = lines();
    assert!(lines.len() > 20_000, "only {} lines were found", lines.len());
    let mut found = Vec::new();
    let mut excused = BTreeSet::new();
    for (file, number, line) in &lines {
        // Every second piece stands between quotes.
        for name in line.split('"').skip(1).step_by(2).filter(|name| is_column(name)) {
            match ELSEWHERE.iter().find(|(begins, _)| file.to_string_lossy().starts_with(begins)) {
                Some((begins, _)) => drop(excused.insert(begins)),
                None => found.push(format!("src/{}:{number}: {name}", file.display())),
            }
        }
    }
    assert!(
        found.is_empty(),
        "use trace_format::tables::column::TABLE::NAME, or name the place in ELSEWHERE with the reason:\n{}",
        found.join("\n")
    );
    let stale: Vec<_> =
        ELSEWHERE.iter().map(|(begins, _)| begins).filter(|begins| !excused.contains(begins)).collect();
    assert!(stale.is_empty(), "nothing is named in quotes there any more, so these entries can go: {stale:?}");
}

#[test]
fn a_name_in_quotes_would_be_found() {
    assert!(is_column("start_ns") && is_column("graph_node_id"));
    assert!(!is_column("start") && !is_column("no_such_column"));
}
