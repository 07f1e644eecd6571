//! The trace that is meant when none is named.

use crate::error::{Error, Result};
use crate::open::inputs;
use crate::trace::ring;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The newest trace or run folder in the current folder, which is also said on stderr.
///
/// # Errors
/// Fails if there is no trace in the current folder.
pub fn trace_here() -> Result<PathBuf> {
    let here = Path::new(".");
    let entries = here.read_dir().map_err(|e| Error::at(here, format_args!("the folder cannot be read: {e}")))?;
    let newest = entries
        .flatten()
        .filter(|entry| is_trace_or_run(&entry.path()))
        .filter_map(|entry| {
            Some((entry.metadata().ok()?.modified().unwrap_or(SystemTime::UNIX_EPOCH), entry.path()))
        })
        .max();
    let Some((_, path)) = newest else {
        return Err(Error::nothing("no path given, and no .gpuprof trace or run folder here")
            .remedy("name a trace, e.g. `gpuprof report run.nvvp`"));
    };
    let path = path.strip_prefix(here).map(Path::to_owned).unwrap_or(path);
    eprintln!("gpuprof: reading {}", path.display());
    Ok(path)
}

fn is_trace_or_run(path: &Path) -> bool {
    let named_so = |p: &Path| p.extension().is_some_and(|e| e == "gpuprof");
    if path.is_dir() {
        let is_one = |p: &Path| named_so(p) || ring::is_ring(p) && p.is_dir();
        return path.read_dir().is_ok_and(|mut entries| entries.any(|e| e.is_ok_and(|e| is_one(&e.path()))));
    }
    named_so(path)
}

/// Size of all files that `paths` name now: it grows when a trace grows or another process begins one.
pub fn total_bytes(paths: &[PathBuf]) -> u64 {
    let files = inputs::expand(paths).unwrap_or_default();
    files.iter().filter_map(|file| file.path.metadata().ok()).map(|m| m.len()).sum()
}
