//! Columns of the format are named by the constants that `table!` declares, `column::kernel::START_NS`: a name in quotes
//! that nobody has compiles, and reads nulls.

use std::path::{Path, PathBuf};
use trace_format::tables;

/// Where names in quotes are somebody else's, and whose.
const ELSEWHERE: &[(&str, &str)] = &[
    ("import/", "keys and columns of other formats"),
    ("query/", "columns of SQL, which are what people type"),
    ("timeline/field.rs", "fields of the page's records, which the page's script knows by these names"),
    ("timeline/find.rs", "keys of answers to the page"),
    ("timeline/meta.rs", "keys of what the page holds"),
    ("timeline/names.rs", "keys of launch shapes on the page"),
    ("timeline/records.rs", "columns of tiles"),
    ("exchange/", "headings of our exports beside those of the registry"),
    ("export/flat/spans.rs", "headings of columns that are computed"),
    ("export/flat.rs", "headings of columns of words"),
    ("export/nsys_sqlite/", "columns of databases as nsys has them"),
    ("export/nvprof_db/", "columns of databases as nvprof has them"),
    ("trace/definitions.rs", "numbers of launch shapes by the words of --filter and of headings"),
    ("trace/metrics.rs", "units"),
];

/// Lines of the sources outside tests and comments, with file (below `src`) and number.
fn lines() -> Vec<(PathBuf, usize, String)> {
    fn walk(folder: &Path, root: &Path, found: &mut Vec<(PathBuf, usize, String)>) {
        for entry in std::fs::read_dir(folder).expect("the folder is readable") {
            let path = entry.expect("the entry is readable").path();
            if path.is_dir() {
                walk(&path, root, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("tests.rs") {
                let text = std::fs::read_to_string(&path).expect("the file is text");
                let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
                let below = path.strip_prefix(root).expect("a file below src");
                let code = shipped.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
                found.extend(code.map(|(number, line)| (below.to_owned(), number + 1, line.to_owned())));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    walk(&root, &root, &mut found);
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
    for (file, number, line) in &lines {
        // Every second piece stands between quotes.
        let names = line.split('"').skip(1).step_by(2).filter(|name| is_column(name));
        let is_elsewhere = ELSEWHERE.iter().any(|(begins, _)| file.to_string_lossy().starts_with(begins));
        found
            .extend(names.filter(|_| !is_elsewhere).map(|name| format!("src/{}:{number}: {name}", file.display())));
    }
    assert!(
        found.is_empty(),
        "use trace_format::tables::column::TABLE::NAME, or name the place in ELSEWHERE with the reason:\n{}",
        found.join("\n")
    );
}

#[test]
fn a_name_in_quotes_would_be_found() {
    assert!(is_column("start_ns") && is_column("graph_node_id"));
    assert!(!is_column("start") && !is_column("no_such_column"));
}
