//! What a number means is said once, in `trace-format/src/vocabulary/`. A table of the same words anywhere else would
//! sooner or later say something else.

use std::path::{Path, PathBuf};
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

/// Sources in `folder` and below, with their texts.
fn sources(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(folder).expect("the folder is readable") {
        let path = entry.expect("the entry is readable").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs" || ending == "py") {
            let text = std::fs::read_to_string(&path).expect("the file is text");
            found.push((path, text));
        }
    }
}

/// The part of a source that is no test.
fn without_tests(text: &str) -> &str {
    text.split_once("\n#[cfg(test)]\nmod ").map_or(text, |(code, _)| code)
}

#[test]
fn no_file_repeats_the_words_of_a_vocabulary() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let vocabularies = ALL.iter().map(|vocabulary| (vocabulary.name, vocabulary.words));
    let wordings = WORDINGS.iter().map(|wording| ("a wording", wording.0));
    let tables: Vec<_> = vocabularies.chain(wordings).collect();
    let mut restated = Vec::new();
    let mut files = 0;
    for folder in ["src", "cupti-shim/src", "cupti-shim/config/src", "scripts"] {
        let mut found = Vec::new();
        sources(&root.join(folder), &mut found);
        for (path, text) in found {
            let shown = path.strip_prefix(root).expect("a file of the repository").display().to_string();
            files += 1;
            if shown.ends_with("tests.rs") || EXCUSED.iter().any(|(excused, _)| *excused == shown) {
                continue;
            }
            let code = without_tests(&text);
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
