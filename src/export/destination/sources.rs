//! What is read is not written over, whatever the user adds to the command.

use crate::error::{Error, Result};
use crate::exchange::folder::{MANIFEST, Manifest};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Refuses an output that is one of the files that are read, under whatever name, or a folder with one of them in it.
/// The user called it `given`; `output` is where that leads.
///
/// # Errors
/// Fails if the output is one of the sources, or a folder that holds one of them.
pub fn protect(given: &Path, output: &Path, sources: &[PathBuf]) -> Result<()> {
    let Ok(metadata) = fs::metadata(output) else { return Ok(()) };
    if !metadata.is_dir() {
        return protect_node(&given.display().to_string(), &metadata, sources);
    }
    let Ok(folder) = output.canonicalize() else { return Ok(()) };
    let inside = |source: &&PathBuf| source.canonicalize().is_ok_and(|source| source.starts_with(&folder));
    match all(sources).iter().find(inside) {
        Some(source) => Err(Error::at(given, format_args!("holds {}, which is read", source.display()))
            .remedy("name another folder with -o")),
        None => Ok(()),
    }
}

/// Refuses an output that is already open if it is a file that is also read. The caller gives its name and metadata.
///
/// # Errors
/// Fails if the output is one of the sources.
pub fn protect_node(name: &str, output: &Metadata, sources: &[PathBuf]) -> Result<()> {
    // A pipe or a terminal may well be on both sides.
    if !output.is_file() {
        return Ok(());
    }
    let same =
        |source: &&PathBuf| fs::metadata(source).is_ok_and(|m| (m.dev(), m.ino()) == (output.dev(), output.ino()));
    match all(sources).iter().find(same) {
        Some(source) => Err(Error::new(format!("{name}: is the same file as {}, which is read", source.display()))
            .remedy("name another file with -o")),
        None => Ok(()),
    }
}

/// The files themselves, and those that a folder of tables has beside its manifest.
fn all(sources: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = sources.to_vec();
    for source in sources.iter().filter(|source| source.file_name().is_some_and(|name| name == MANIFEST)) {
        let manifest = fs::read(source).ok().and_then(|text| serde_json::from_slice::<Manifest>(&text).ok());
        let files = manifest.into_iter().flat_map(|manifest| manifest.files);
        all.extend(files.map(|file| source.with_file_name(file.path)));
    }
    all
}
