//! What all targets share with the seeded tests of the root package (`tests/readers/no_panic.rs`).

use gpuprof::import::Importer;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

// By their folder: each of them may have modules of its own beside it.
#[path = "../../tests/common"]
mod common {
    #[allow(dead_code)]
    pub mod build;
    #[allow(dead_code)]
    pub mod exercise;
    #[allow(dead_code)]
    pub mod foreign;
}
#[allow(unused_imports)]
pub use common::{build, exercise, foreign};

/// Formats of folders of tables, as the manifest and as exporters call them.
#[allow(dead_code)]
pub const FOLDERS: [(&str, &str); 3] = [("csv", "csv-tables"), ("parquet", "parquet"), ("arrow", "arrow")];

/// The manifest of a folder with one file, called `table`.
#[allow(dead_code)]
pub fn manifest(format: &str, table: &str) -> String {
    format!(
        "{{\"gpuprof_export\": 1, \"format\": \"{format}\", \"processes\": [{{\"pid\": 1, \"unix_time\": true, \"source\": \"a\"}}], \
         \"files\": [{{\"table\": \"{table}\", \"path\": \"table\"}}]}}"
    )
}

/// A path in memory where there is such a folder: readers open files, and thousands are opened per second.
#[allow(dead_code)]
pub fn in_memory(name: &str) -> PathBuf {
    let folder = PathBuf::from("/dev/shm");
    let folder = if folder.is_dir() { folder } else { std::env::temp_dir() };
    folder.join(format!("gpuprof-fuzz-{}-{name}", std::process::id()))
}

/// A file with these bytes.
#[allow(dead_code)]
fn file(bytes: &[u8]) -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let path = PATH.get_or_init(|| in_memory("file"));
    std::fs::write(path, bytes).expect("a temporary file");
    path
}

/// Asks everything of a file with these bytes.
#[allow(dead_code)]
pub fn ask_of_a_file(bytes: &[u8]) {
    exercise::exercise(file(bytes), exercise::Depth::Everything);
}

/// The same, of a file that this reader is given.
#[allow(dead_code)]
pub fn ask_of_a_reader(importer: &dyn Importer, bytes: &[u8]) {
    exercise::exercise_reader(importer, file(bytes), exercise::Depth::Everything);
}
