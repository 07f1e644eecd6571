//! The folders that a server may read.

use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// So many files are listed, and so many entries of a folder are looked at.
const MOST_FILES: usize = 200;
const MOST_ENTRIES: usize = 20_000;

/// Folders below folders are looked into this deep.
const DEEPEST: usize = 4;

/// The folders that a server may read, with all symbolic links followed.
pub struct Folders(Vec<PathBuf>);

/// A file in one of the folders.
pub(super) struct Found {
    /// Where it is.
    pub(super) path: PathBuf,
    /// Its size.
    pub(super) bytes: u64,
}

impl Folders {
    /// The folders at these paths.
    ///
    /// # Errors
    /// Fails if one of them is no folder or cannot be read.
    pub fn new(paths: &[PathBuf]) -> Result<Folders> {
        let folder = |path: &PathBuf| {
            let folder = path.canonicalize().map_err(|why| Error::at(path, why))?;
            if folder.is_dir() { Ok(folder) } else { Err(Error::at(path, "not a folder")) }
        };
        Ok(Folders(paths.iter().map(folder).collect::<Result<_>>()?))
    }

    /// The path that a client means by `text`, which counts from the first folder if it is relative. Whatever it leads to
    /// lies in one of the folders.
    ///
    /// # Errors
    /// Fails if it does not, or if there is nothing.
    pub(super) fn path(&self, text: &str) -> Result<PathBuf> {
        if text.contains(['*', '?', '[']) {
            // Commands take these for patterns, which could lead anywhere.
            return Err(Error::new(format!("{text}: patterns are not understood here"))
                .remedy("name a file, or a folder with the files of one run"));
        }
        let [first, ..] = &self.0[..] else { return Err(Error::new("this server may not read any folder")) };
        let asked = first.join(text);
        let path = asked.canonicalize().map_err(|why| Error::new(format!("{text}: {why}")))?;
        if !self.holds(&path) {
            return Err(self.refusal(text));
        }
        if path.is_dir() && !self.holds_all_of(&path, DEEPEST, &mut { MOST_ENTRIES }) {
            let why = "a link in this folder leads out of what this server may read, or it has more in it than can be looked through";
            return Err(Error::new(format!("{text}: {why}")).remedy("name a single file"));
        }
        Ok(path)
    }

    fn holds(&self, path: &Path) -> bool {
        self.0.iter().any(|folder| path.starts_with(folder))
    }

    fn refusal(&self, text: &str) -> Error {
        let folders: Vec<String> = self.0.iter().map(|folder| folder.display().to_string()).collect();
        Error::new(format!("{text}: outside of the folders that this server may read"))
            .remedy(&format!("these are {}", folders.join(", ")))
    }

    /// Whether no link in a folder leads out. Folders that are too deep or too full to know are refused.
    fn holds_all_of(&self, folder: &Path, depth: usize, left: &mut usize) -> bool {
        let Ok(entries) = folder.read_dir() else { return true };
        for entry in entries.flatten() {
            let Some(fewer) = left.checked_sub(1) else { return false };
            *left = fewer;
            let (path, kind) = (entry.path(), entry.file_type());
            if kind.as_ref().is_ok_and(|kind| kind.is_symlink()) {
                // A link to nothing leads nowhere.
                if path.canonicalize().is_ok_and(|target| !self.holds(&target)) {
                    return false;
                }
            } else if kind.is_ok_and(|kind| kind.is_dir())
                && (depth == 0 || !self.holds_all_of(&path, depth - 1, left))
            {
                return false;
            }
        }
        true
    }

    /// The files in the folders, in order of their paths, and whether there are more. What they are is not looked at.
    pub(super) fn files(&self) -> (Vec<Found>, bool) {
        let (mut files, mut left) = (Vec::new(), MOST_ENTRIES);
        let mut whole = true;
        for folder in &self.0 {
            whole &= list(folder, DEEPEST, &mut left, &mut files);
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        let more = !whole || files.len() > MOST_FILES;
        files.truncate(MOST_FILES);
        (files, more)
    }
}

/// Adds the files of a folder; false if it is too deep or too full.
fn list(folder: &Path, depth: usize, left: &mut usize, files: &mut Vec<Found>) -> bool {
    let Ok(entries) = folder.read_dir() else { return true };
    let mut whole = true;
    for entry in entries.flatten() {
        let Some(fewer) = left.checked_sub(1) else { return false };
        *left = fewer;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        let Ok(about) = entry.metadata() else { continue };
        if about.is_file() && !hidden {
            files.push(Found { path: entry.path(), bytes: about.len() });
        } else if about.is_dir() && !hidden {
            whole &= depth > 0 && list(&entry.path(), depth - 1, left, files);
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_leads_out_of_the_folders() {
        let root = std::env::temp_dir().join(format!("gpuprof-mcp-folders-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for folder in ["open/run", "open/linked", "open2", "closed"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in ["open/a.gpuprof", "open/run/b.gpuprof", "open2/c.gpuprof", "closed/d.gpuprof"] {
            fs::write(root.join(file), "x").unwrap();
        }
        symlink(root.join("closed/d.gpuprof"), root.join("open/out.gpuprof")).unwrap();
        symlink(root.join("closed"), root.join("open/linked/out")).unwrap();
        symlink(root.join("open/a.gpuprof"), root.join("open/in.gpuprof")).unwrap();
        symlink("/nowhere/at/all", root.join("open/run/broken")).unwrap();

        let folders = Folders::new(&[root.join("open")]).unwrap();
        let real = root.canonicalize().unwrap();
        for (text, expected) in [
            ("a.gpuprof", "open/a.gpuprof"),
            ("./run/../a.gpuprof", "open/a.gpuprof"),
            ("in.gpuprof", "open/a.gpuprof"),
            ("run", "open/run"),
        ] {
            assert_eq!(folders.path(text).unwrap(), real.join(expected), "{text}");
        }
        let absolute = root.join("closed/d.gpuprof").display().to_string();
        // A folder whose name begins with that of an open one is another folder.
        let beside = root.join("open2/c.gpuprof").display().to_string();
        for (text, why) in [
            ("../closed/d.gpuprof", "outside of the folders"),
            (&absolute, "outside of the folders"),
            (&beside, "outside of the folders"),
            ("out.gpuprof", "outside of the folders"),
            ("linked/out/d.gpuprof", "outside of the folders"),
            ("linked", "a link in this folder leads out"),
            (".", "a link in this folder leads out"),
            ("*.gpuprof", "patterns are not understood"),
            ("none.gpuprof", "No such file"),
        ] {
            let refused = folders.path(text).unwrap_err().to_string();
            assert!(refused.contains(why), "{text}: {refused}");
        }
        let (files, more) = folders.files();
        let names: Vec<_> = files.iter().filter_map(|file| file.path.strip_prefix(&real).ok()).collect();
        assert_eq!(names, [Path::new("open/a.gpuprof"), Path::new("open/run/b.gpuprof")]);
        assert!(!more);
        fs::remove_dir_all(&root).unwrap();
    }
}
