//! What has the name that an output is to get.
//!
//! A folder is replaced only if gpuprof wrote it and nothing else lies in it: its manifest names every file. The old
//! one is put aside, the new one gets its name, and only then the files that the manifest names are removed, one by
//! one: whatever else appears in the folder meanwhile stays.

use super::temporary::Temporary;
use super::{Replace, Size};
use crate::error::{Error, Result};
use crate::exchange::folder::{MANIFEST, Manifest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The list of files in a folder whose format has no manifest of its own. Hidden: other tools take all that they see.
pub const LIST: &str = ".gpuprof-files.json";

/// What that list holds.
#[derive(Serialize, Deserialize, Debug)]
struct List {
    /// The version of this layout.
    gpuprof_files: u32,
    /// Paths below the folder.
    files: Vec<String>,
}

/// Whether a file may get the name `wanted`, which the user called `given`.
///
/// # Errors
/// Fails if a folder or a file is in the way.
pub fn check_file(given: &Path, wanted: &Path, replace: Replace) -> Result<()> {
    if given.as_os_str().as_encoded_bytes().ends_with(b"/") || wanted.is_dir() {
        return Err(Error::at(given, "is a folder, and this format is one file").remedy("name a file with -o"));
    }
    let Ok(old) = fs::metadata(wanted) else { return Ok(()) };
    if replace == Replace::Nothing {
        return Err(Error::at(given, "exists, and is the name that an output gets without -o")
            .remedy("name another with -o, or add --force to replace it"));
    }
    if old.permissions().readonly() && replace < Replace::Everything {
        return Err(Error::at(given, "exists and is write-protected").remedy("name another with -o"));
    }
    Ok(())
}

/// Whether a folder may get the name `wanted`, which the user called `given`.
///
/// # Errors
/// Fails if a file is in the way, or a folder that is not empty and must not be lost.
pub fn check_folder(given: &Path, wanted: &Path, replace: Replace) -> Result<()> {
    if wanted.symlink_metadata().is_ok() && !wanted.is_dir() {
        return Err(Error::at(given, "is a file, and this format is a folder").remedy("name a folder with -o"));
    }
    if is_vacant(wanted) {
        return Ok(());
    }
    if replace < Replace::Everything {
        return Err(Error::at(given, "exists and is not an empty folder").remedy("name another, or add --force"));
    }
    Contents::ours(wanted).map(drop)
}

/// Whether there is nothing, or an empty folder.
fn is_vacant(wanted: &Path) -> bool {
    match wanted.read_dir() {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => wanted.symlink_metadata().is_err(),
    }
}

/// Gives a complete folder its name.
///
/// # Errors
/// Fails if something is in the way now that must not be lost, if the name cannot be taken, or if the old folder cannot
/// be removed.
pub fn take_folder(temporary: Temporary, wanted: &Path, replace: Replace) -> Result<()> {
    let unnamed = |e: std::io::Error| Error::at(wanted, format_args!("cannot be given its name: {e}"));
    // Hours may have passed since this was asked first.
    check_folder(wanted, wanted, replace)?;
    if is_vacant(wanted) {
        return temporary.rename(wanted).map_err(unnamed);
    }
    let old = Contents::ours(wanted)?;
    let aside = temporary.rename_over_folder(wanted).map_err(unnamed)?;
    old.remove(&aside).map_err(|e| {
        let what = "was written, but not all of the folder that it replaces can be removed";
        Error::at(wanted, format_args!("{what}: {e}")).remedy(&format!("the rest is in {}", aside.display()))
    })
}

/// Adds the list of files to a complete folder, unless its format has a manifest; returns how much there is.
///
/// # Errors
/// Fails if the folder cannot be read, or if the list cannot be written.
pub fn list_files(folder: &Path) -> Result<Size> {
    let failed = |e: std::io::Error| Error::at(folder, format_args!("cannot be read: {e}"));
    let contents = Contents::of(folder).map_err(failed)?;
    if !contents.files.iter().any(|file| file == Path::new(MANIFEST)) {
        let files = contents.files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
        let path = folder.join(LIST);
        let text = serde_json::to_vec_pretty(&List { gpuprof_files: 1, files }).map_err(|e| Error::at(&path, e))?;
        fs::write(&path, text).map_err(|e| Error::at(&path, format_args!("cannot be written: {e}")))?;
    }
    let mut bytes = 0;
    for file in &contents.files {
        bytes += fs::metadata(folder.join(file)).map_err(failed)?.len();
    }
    Ok(Size { bytes, files: Some(contents.files.len()) })
}

/// What lies in a folder: paths below it. Symbolic links are files here.
#[derive(Default)]
struct Contents {
    files: Vec<PathBuf>,
    /// Every folder behind the one that it lies in.
    folders: Vec<PathBuf>,
}

impl Contents {
    fn of(folder: &Path) -> std::io::Result<Contents> {
        let mut contents = Contents::default();
        contents.walk(folder, Path::new(""))?;
        Ok(contents)
    }

    fn walk(&mut self, root: &Path, below: &Path) -> std::io::Result<()> {
        for entry in root.join(below).read_dir()? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                self.folders.push(path.clone());
                self.walk(root, &path)?;
            } else {
                self.files.push(path);
            }
        }
        Ok(())
    }

    /// The contents of a folder in which everything is ours.
    fn ours(folder: &Path) -> Result<Contents> {
        let contents = Contents::of(folder).map_err(|e| Error::at(folder, format_args!("cannot be read: {e}")))?;
        let kept = |what: String| {
            Err(Error::at(folder, what)
                .remedy("--force replaces only what gpuprof wrote; name another, or empty it"))
        };
        let Some(named) = named_files(folder) else {
            return kept("holds no list of files that gpuprof wrote".to_owned());
        };
        let is_regular = |file: &Path| folder.join(file).symlink_metadata().is_ok_and(|m| m.is_file());
        if let Some(other) = contents.files.iter().find(|file| !named.contains(*file) || !is_regular(file)) {
            return kept(format!("holds {}, which gpuprof did not write", other.display()));
        }
        let holds_ours = |below: &Path| named.iter().any(|file| file.starts_with(below));
        if let Some(other) = contents.folders.iter().find(|below| !holds_ours(below)) {
            return kept(format!("holds the folder {}, which gpuprof did not make", other.display()));
        }
        Ok(contents)
    }

    /// Removes exactly this from `folder`, and the folder if nothing else is in it.
    fn remove(&self, folder: &Path) -> std::io::Result<()> {
        self.files.iter().try_for_each(|file| fs::remove_file(folder.join(file)))?;
        self.folders.iter().rev().try_for_each(|below| fs::remove_dir(folder.join(below)))?;
        fs::remove_dir(folder)
    }
}

/// The files that we wrote into a folder, as its manifest or its list says; `None` without either.
fn named_files(folder: &Path) -> Option<BTreeSet<PathBuf>> {
    let read = |name: &str| fs::read(folder.join(name)).ok();
    let manifest = read(MANIFEST).and_then(|text| serde_json::from_slice::<Manifest>(&text).ok());
    let list = read(LIST).and_then(|text| serde_json::from_slice::<List>(&text).ok());
    let mut named: BTreeSet<PathBuf> = match (manifest, list) {
        (Some(manifest), _) => manifest.files.into_iter().map(|file| file.path.into()).collect(),
        (None, Some(list)) => list.files.into_iter().map(PathBuf::from).collect(),
        (None, None) => return None,
    };
    named.extend([MANIFEST, LIST].map(PathBuf::from));
    Some(named)
}
