//! What a number means is said once, in `trace-format/src/vocabulary/`. A table of the same words anywhere else would
//! sooner or later say something else.

use crate::sources;
use std::collections::BTreeSet;
use trace_format::tables;
use trace_format::vocabulary::{ALL, WORDINGS};

/// Files that may have a table of such words, and why.
const EXCUSED: &[(&str, &str)] = &[(
    "src/export/nsys_sqlite/enums.rs",
    "tables of nsys, with its symbols beside its words; a test there compares them with the vocabularies",
)];

/// So many words of one vocabulary in quotes are no accident.
const A_TABLE: usize = 3;

/// Words that mean something of their own.
fn is_telling(word: &str) -> bool {
    word.len() > 5
        && !matches!(word, "unknown" | "Unknown" | "invalid" | "device" | "Device" | "driver" | "runtime")
}

#[test]
fn no_file_repeats_the_words_of_a_vocabulary() {
    let vocabularies = ALL.iter().map(|vocabulary| (vocabulary.name, vocabulary.words));
    let wordings = WORDINGS.iter().map(|wording| ("a wording", wording.0));
    let tables: Vec<_> = vocabularies.chain(wordings).collect();
    let mut restated = Vec::new();
    let mut files = 0;
    for folder in ["src", "cupti-shim/src", "cupti-shim/config/src", "scripts"] {
        for (path, code) in sources::shipped(folder, &["rs", "py"]) {
            let shown = format!("{folder}/{}", path.display());
            files += 1;
            if EXCUSED.iter().any(|(excused, _)| *excused == shown) {
                continue;
            }
            for (name, words) in &tables {
                let is_there = |word: &str| is_telling(word) && code.contains(&format!("\"{word}\""));
                let found: Vec<&str> = words.iter().map(|(_, word)| *word).filter(|word| is_there(word)).collect();
                if found.len() >= A_TABLE {
                    restated.push(format!("{shown}: {found:?} of {name}"));
                }
            }
        }
    }
    assert!(files > 300, "{files} files: where are the sources?");
    assert!(restated.is_empty(), "take them from trace_format::vocabulary:\n{}", restated.join("\n"));
}

/// Names of columns whose numbers are those of a vocabulary.
fn coded_columns() -> BTreeSet<&'static str> {
    let columns = tables::ALL.iter().flat_map(|table| table.columns);
    columns.filter(|column| column.vocabulary().is_some()).map(|column| column.name).collect()
}

/// Whether `text` begins with a number other than 0, which says that nothing is known or that it is the first.
fn begins_with_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() && c != '0')
}

/// Whether `code` has `name` as a word of its own, and what stands behind each of these.
fn behind_word<'t>(code: &'t str, name: &'t str) -> impl Iterator<Item = &'t str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words = code.match_indices(name).filter(move |&(at, _)| !code[..at].ends_with(is_part));
    words.map(move |(at, _)| &code[at + name.len()..]).filter(move |behind| !behind.starts_with(is_part))
}

/// Whether a line sets a coded column to a bare number, or compares it with one.
fn uses_number(code: &str, columns: &BTreeSet<&str>) -> bool {
    columns.iter().flat_map(|name| behind_word(code, name)).any(|behind| {
        let is_set_to = [": ", " = "].iter().find_map(|sign| behind.strip_prefix(sign));
        let is_compared_with =
            [" == ", " != ", " < ", " > ", " <= ", " >= "].iter().find_map(|sign| behind.strip_prefix(sign));
        is_compared_with.is_some_and(begins_with_number)
            || is_set_to.is_some_and(|value| {
                // `if is_end { 2 } else { 1 }`, and a truth that is made a number.
                begins_with_number(value)
                    || value.starts_with("u32::from(")
                    || value.split("{ ").skip(1).any(begins_with_number)
            })
    })
}

/// Lines of `text` that know a number of a coded column: those that set or compare one, and arms of a `match` on one.
fn lines_with_numbers(text: &str, columns: &BTreeSet<&str>) -> Vec<usize> {
    let mut found = Vec::new();
    let mut match_at = None;
    for (number, line) in (1..).zip(text.lines()) {
        // Every second piece stands between quotes, and is a text of somebody else's.
        let code: String = line.split('"').step_by(2).collect();
        let code = code.split("//").next().unwrap_or_default().trim_end();
        let (depth, word) = (code.len() - code.trim_start().len(), code.trim_start());
        if !word.is_empty() && match_at.is_some_and(|outer| depth <= outer) {
            match_at = None;
        }
        let is_arm =
            match_at.is_some_and(|outer| depth == outer + 4) && begins_with_number(word.trim_start_matches('('));
        if uses_number(code, columns) || is_arm {
            found.push(number);
        }
        if let Some((_, subject)) = code.split_once("match ")
            && subject.ends_with('{')
            && columns.iter().any(|name| behind_word(subject, name).next().is_some())
        {
            match_at = Some(depth);
        }
    }
    found
}

#[test]
fn numbers_of_coded_columns_are_constants() {
    let columns = coded_columns();
    assert!(columns.contains("style") && columns.contains("src_kind"), "{columns:?}");
    let sources = sources::shipped("src", &["rs"]);
    assert!(sources.len() > 300, "{} files: where are the sources?", sources.len());
    let mut bare = Vec::new();
    for (path, text) in &sources {
        let lines = lines_with_numbers(text, &columns).into_iter();
        bare.extend(lines.map(|line| format!("src/{}:{line}", path.display())));
    }
    assert!(bare.is_empty(), "use the constants of trace_format::vocabulary:\n{}", bare.join("\n"));
}

#[test]
fn a_bare_number_would_be_found() {
    let text = "\
let row = RangeRow { start_ns: 7, style: 2 };
let style = if is_mark { 2 } else { 0 };
range.style = u32::from(ends_elsewhere);
let is_copy = copy.kind == 1;
let rest = copies.filter(|copy| copy.kind > 10);
match (event.kind, event.pc) {
    (3, Some(pc)) => pc,
    4 | 5 => {
        7
    }
    THRASHING => 0,
}
let sql = \"WHERE kind = 1\";
let fine = row.kind != 0 && of_kind == 1 && row.kind.get(1) == HTOD; // kind == 1
match number {
    1 => \"style\",
}
";
    assert_eq!(lines_with_numbers(text, &coded_columns()), [1, 2, 3, 4, 5, 7, 8]);
}
