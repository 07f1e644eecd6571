//! Tests that cannot run here.

use std::io::Write as _;

/// Says that a test did not run, and why; `scripts/test` counts these.
pub fn skip(test: &str, reason: &str) {
    eprintln!("SKIPPED: {test}: {reason}");
    if let Some(list) = std::env::var_os("GPUPROF_SKIPS") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(list);
        // One write: several test programs append at the same time.
        let _ = file.and_then(|mut f| f.write_all(format!("{test}: {reason}\n").as_bytes()));
    }
}
