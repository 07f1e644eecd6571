//! The Python package of `python/`: where it is, and the examples of its documents.

use std::path::{Path, PathBuf};

/// The folder of the package.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("python")
}

/// A test program or list of packages of the package.
pub fn test_file(name: &str) -> PathBuf {
    folder().join("tests").join(name)
}

/// The documents that have examples.
pub const DOCUMENTS: [&str; 2] = ["docs/python.md", "python/README.md"];

/// The examples of a document that begin with three backticks and `heading`, such as `python` or `python recorded`.
pub fn examples(document: &str, heading: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let begin = format!("```{heading}\n");
    let parts = text.split(&begin).skip(1);
    parts.map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// The headings of all examples in Python.
pub fn headings(document: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
    let text = std::fs::read_to_string(path).expect("the document");
    text.lines()
        .filter_map(|line| line.strip_prefix("```"))
        .filter(|l| l.starts_with("python"))
        .map(str::to_owned)
        .collect()
}
