//! From what the user typed to a list of files: files as they are, folders walked, globs expanded. A folder of
//! exported tables is one file, its manifest. Dumps of a flight recorder in a walked folder are traces of their own,
//! which repeat what the ring beside them has: they are left out, unless there is nothing else or one is named.

use crate::error::{Error, Result};
use crate::trace::ring::is_dump;
use std::path::{Path, PathBuf};

/// One file to open.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InputFile {
    /// Where it is.
    pub path: PathBuf,
    /// Whether the user named this very file: then a file of no known kind is an error, while one that merely lies
    /// in a folder or matches a glob is skipped.
    pub named: bool,
}

/// What paths lead to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// The files, in path order, without repeats.
    pub files: Vec<InputFile>,
    /// Folders with dumps that were left out.
    pub dumps: Vec<PathBuf>,
}

/// How deep folders are walked: a run folder holds host or rank folders at most two levels down, and a mistyped
/// `/` must not walk a whole disk.
const FOLDER_DEPTH: usize = 4;

/// Expands `paths` to files in path order, without repeats.
///
/// # Errors
/// Fails if a path does not exist, if a pattern matches nothing, or if a folder cannot be read.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<InputFile>> {
    Ok(look(paths)?.files)
}

/// As [`expand`], and says what was left out.
///
/// # Errors
/// Fails as [`expand`] does.
pub fn look(paths: &[PathBuf]) -> Result<Inputs> {
    let mut files = Vec::new();
    let mut dumps = Vec::new();
    for path in paths {
        if path.is_dir() {
            walk(path, FOLDER_DEPTH, &mut files, &mut dumps)?;
        } else if path.symlink_metadata().is_ok() {
            files.push(InputFile { path: path.clone(), named: true });
        } else {
            match path.to_str() {
                Some(pattern) if pattern.contains(['*', '?', '[']) => glob_into(pattern, &mut files, &mut dumps)?,
                _ => {
                    return Err(Error::at(path, "no such file or folder").remedy(
                        "check the path; a run started by `gpuprof record` names its folder when it ends",
                    ));
                }
            }
        }
    }
    dumps.sort();
    dumps.dedup();
    // A run's list of processes lies there in any case.
    if !files.iter().any(|file| file.path.extension().is_some_and(|e| e == "gpuprof")) {
        for dump in std::mem::take(&mut dumps) {
            walk(&dump, 1, &mut files, &mut Vec::new())?;
        }
    }
    // One that was named as well is not left out.
    dumps.retain(|dump| !files.iter().any(|file| file.path.starts_with(dump)));
    files.sort();
    files.dedup_by(|b, a| {
        let same = a.path == b.path;
        a.named |= same && b.named;
        same
    });
    Ok(Inputs { files, dumps })
}

fn glob_into(pattern: &str, files: &mut Vec<InputFile>, dumps: &mut Vec<PathBuf>) -> Result<()> {
    // As in a shell, `*` leaves hidden files and folders alone.
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::new() };
    let matches = glob::glob_with(pattern, options)
        .map_err(|e| Error::new(format!("{pattern}: not a valid pattern: {e}")))?;
    let before = files.len();
    for path in matches.flatten() {
        if path.is_dir() {
            walk(&path, FOLDER_DEPTH, files, dumps)?;
        } else {
            files.push(InputFile { path, named: false });
        }
    }
    if files.len() == before {
        return Err(Error::new(format!("{pattern}: no file matches this pattern")));
    }
    Ok(())
}

fn walk(folder: &Path, depth: usize, files: &mut Vec<InputFile>, dumps: &mut Vec<PathBuf>) -> Result<()> {
    if let Some(manifest) = crate::import::exported::manifest_in(folder) {
        // Its tables are one trace, which the manifest stands for.
        files.push(InputFile { path: manifest, named: depth == FOLDER_DEPTH });
        return Ok(());
    }
    let entries =
        folder.read_dir().map_err(|e| Error::at(folder, format_args!("the folder cannot be read: {e}")))?;
    for entry in entries {
        let entry = entry.map_err(|e| Error::at(folder, format_args!("the folder cannot be read: {e}")))?;
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let path = entry.path();
        if hidden {
            continue;
        }
        // Links to files are followed, links to folders are not: they may lead in circles.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && is_dump(&path) => dumps.push(path),
            Ok(kind) if kind.is_dir() && depth > 1 => walk(&path, depth - 1, files, dumps)?,
            Ok(kind) if kind.is_dir() => {}
            _ if path.is_file() => files.push(InputFile { path, named: false }),
            _ => {}
        }
    }
    Ok(())
}
