//! What all targets share with the seeded tests of the root package (`tests/readers/no_panic.rs`).

use std::path::PathBuf;
use std::sync::OnceLock;

#[path = "../../../tests/common/build.rs"]
#[allow(dead_code)]
pub mod build;
#[path = "../../../tests/common/exercise.rs"]
#[allow(dead_code)]
pub mod exercise;

/// Asks everything of a file with these bytes.
#[allow(dead_code)]
pub fn ask_of_a_file(bytes: &[u8]) {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let path = PATH.get_or_init(|| {
        // In memory where there is such a folder: readers open files, and thousands are opened per second.
        let folder = PathBuf::from("/dev/shm");
        let folder = if folder.is_dir() { folder } else { std::env::temp_dir() };
        folder.join(format!("gpuprof-fuzz-{}", std::process::id()))
    });
    std::fs::write(path, bytes).expect("a temporary file");
    exercise::exercise(path, exercise::Depth::Everything);
}
