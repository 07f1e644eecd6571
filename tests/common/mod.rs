//! What every integration test needs: the real program, temporary folders, the shared data and loud skips.
#![allow(dead_code, missing_docs, reason = "each test binary uses some of it")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program's answer.
#[derive(Debug)]
pub struct Answer {
    pub stdout: String,
    pub stderr: String,
    pub status: i32,
}

/// Runs the real `gpuprof` in `folder`.
pub fn gpuprof_in(folder: &Path, args: &[&str]) -> Answer {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_gpuprof"))
        .args(args)
        .current_dir(folder)
        .output()
        .expect("the program starts");
    Answer {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        status: output.status.code().unwrap_or(-1),
    }
}

/// Runs the real `gpuprof`; it must succeed.
pub fn gpuprof(args: &[&str]) -> Answer {
    let answer = gpuprof_in(Path::new("."), args);
    assert_eq!(answer.status, 0, "gpuprof {args:?}: {}", answer.stderr);
    answer
}

/// A new empty folder, removed when dropped.
pub struct TempFolder(PathBuf);

impl TempFolder {
    pub fn new(name: &str) -> TempFolder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        TempFolder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("a temporary file");
        path
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The project's shared files (`GPUPROF_SHARED`, else `../shared`); `None`, said loudly and counted, in a clone that
/// has none.
pub fn shared(test: &str) -> Option<PathBuf> {
    let path = std::env::var_os("GPUPROF_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    if path.join("data/MANIFEST.tsv").is_file() {
        return Some(path);
    }
    skip(test, &format!("no shared data at {}", path.display()));
    None
}

/// Says that a test did not run, and why; `scripts/test` counts these.
pub fn skip(test: &str, reason: &str) {
    eprintln!("SKIPPED: {test}: {reason}");
    if let Some(list) = std::env::var_os("GPUPROF_SKIPS") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(list);
        let _ = file.and_then(|mut f| writeln!(f, "{test}: {reason}"));
    }
}

/// Compares with the file `tests/golden/NAME`; `GPUPROF_BLESS=1` writes it instead.
pub fn golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("GPUPROF_BLESS").is_some_and(|v| v == "1") {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, actual).expect("the golden file");
        return;
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|e| panic!("{}: {e}; GPUPROF_BLESS=1 writes it", path.display()));
    assert_eq!(actual, expected, "{} differs; GPUPROF_BLESS=1 rewrites it", path.display());
}
