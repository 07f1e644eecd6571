//! `-o`: nvprof's database.

use super::names;
use super::request::Request;
use crate::analysis::labels::Labels;
use crate::demangle::Demangling;
use crate::error::{Error, Result};
use crate::export::destination::{Pending, Replace, Request as Output};
use crate::export::nvprof_db::EXPORTER;
use crate::export::{Context, Options, Tally};
use crate::report::nvprof::logfile;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use std::path::{Path, PathBuf};

/// Checks before anything runs that the file can be written at the end.
///
/// # Errors
/// Fails if the file exists and must not be overwritten, or if its folder does not exist.
pub fn check(pattern: &str, overwrite: bool) -> Result<()> {
    if logfile::names_the_process(pattern) {
        return Ok(());
    }
    free(&path(pattern, 0)?, overwrite)
}

fn path(pattern: &str, pid: u32) -> Result<PathBuf> {
    let name = names::expand(pattern, pid);
    std::path::absolute(&name).map_err(|e| error(&format!("output file \"{name}\": {e}")))
}

fn free(path: &Path, overwrite: bool) -> Result<()> {
    let shown = path.display();
    if path.is_dir() {
        return Err(error(&format!("output file \"{shown}\" is a folder")));
    }
    if path.exists() && !overwrite {
        return Err(error(&format!("output file \"{shown}\" exists. Use \"--force-overwrite\" to overwrite it.")));
    }
    if !path.parent().is_some_and(Path::is_dir) {
        return Err(error(&format!("output file \"{shown}\" cannot be made: there is no such folder")));
    }
    Ok(())
}

fn error(text: &str) -> Error {
    super::parse::error(text)
}

/// Writes the database of one process; returns its path.
///
/// # Errors
/// Fails if the trace cannot be read, or if the file cannot be written.
pub fn write(request: &Request, pattern: &str, trace: &Path, pid: u32) -> Result<PathBuf> {
    let path = path(pattern, pid)?;
    free(&path, request.overwrite)?;
    let frames = Frames::open(&[trace.to_owned()], &(EXPORTER.need)())?;
    let labels = Labels::new(&frames, Demangling::Off).with_place_names(names::of_places(&request.names, pid));
    let filter = Filter::everything().without_nested_calls(&frames)?;
    let options = Options::default();
    let shape = EXPORTER.shape.of_processes(frames.processes.len());
    let sources = [trace.to_owned()];
    let (replace, binary) = (Replace::Files, EXPORTER.binary);
    let output = Output { path: &path, shape, binary, replace, sources: &sources };
    let (pending, mut destination) = Pending::open(&output)?;
    let tally = Tally::default();
    let context = Context { frames: &frames, labels: &labels, filter: &filter, options: &options, tally: &tally };
    (EXPORTER.write)(&context, &mut destination)?;
    pending.finish(destination)?;
    Ok(path)
}
