//! What can be wrong with a trace: each has a message that says where, why and what to do, a status, and never a panic
//! or half an answer on the standard output.

mod command_line;
mod impossible_times;
mod nothing_to_show;
mod odd_databases;
mod odd_names;
mod partial_files;
mod paths;
mod whole_files;

use crate::common::build::*;
use crate::common::{self, Answer, TempFolder, gpuprof, gpuprof_in, refused};
use gpuprof::analysis::grouping::{Grouping, gpu_summary};
use gpuprof::analysis::labels::Labels;
use gpuprof::analysis::stats::Wanted;
use gpuprof::demangle::Demangling;
use gpuprof::trace::frames::Frames;
use gpuprof::trace::select::Filter;
use gpuprof::trace::sink::{Need, Note};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// A file that must be refused with its path, all of `words` and, behind a semicolon, what to do about it.
fn refuse(folder: &TempFolder, name: &str, bytes: &[u8], words: &[&str]) {
    let path = folder.argument(name, bytes);
    for command in ["report", "info"] {
        let message = refused(&[command, &path], &[&[path.as_str()], words].concat());
        let (_, rest) = message.split_once(&format!("{path}: ")).expect("the path comes first");
        let (reason, remedy) = rest.split_once("; ").unwrap_or_else(|| panic!("no remedy: {message}"));
        assert!(!reason.is_empty() && remedy.trim().len() > 5, "{message}");
        assert_eq!(message.lines().count(), 1, "one line: {message}");
        assert!(!message.trim_end().ends_with('.'), "no full stop: {message}");
    }
}

/// Runs `report` on bytes that can be used: status and what was printed.
fn report(folder: &TempFolder, name: &str, bytes: &[u8], options: &[&str]) -> Answer {
    let path = folder.argument(name, bytes);
    gpuprof_in(Path::new("."), &[&["report"], options, &[&path]].concat())
}

/// Count and total of GPU work, and all notes; or why the file cannot be used.
fn totals(path: &Path) -> Result<((u64, u128), Vec<Note>), String> {
    let paths = [path.to_owned()];
    let frames = Frames::open(&paths, &Need::all()).map_err(|e| e.to_string())?;
    let labels = Labels::new(&frames, Demangling::On);
    let all = Filter::everything();
    let summary = gpu_summary(&labels, Grouping::default(), Wanted::default(), &all).map_err(|e| e.to_string())?;
    let mut notes = gpuprof::analysis::partial::notes(&frames, &all, &Need::all()).map_err(|e| e.to_string())?;
    notes.extend(frames.all_notes());
    Ok(((summary.rows.iter().map(|row| row.stats.count).sum(), summary.total_ns()), notes))
}
