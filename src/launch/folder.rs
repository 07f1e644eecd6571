//! The folder of a run. Nothing is ever overwritten: a name that is taken gets a suffix.

use crate::error::{Error, Result};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// More than anybody starts in one second.
const MOST_SUFFIXES: u32 = 10_000;

/// Makes a new folder at `wanted`, or at `wanted-1`, `wanted-2`…
///
/// # Errors
/// Fails if no folder can be made at this place.
pub fn create_new(wanted: &Path) -> Result<PathBuf> {
    for suffix in 0..MOST_SUFFIXES {
        let path = if suffix == 0 { wanted.to_owned() } else { with_suffix(wanted, suffix) };
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(no_folder(&path, &e)),
        }
    }
    Err(Error::at(wanted, "exists, with every suffix that was tried").remedy("choose another place with -o"))
}

/// Makes the folder at `path` if it is not there yet: several ranks started with one `-o` share it. Says whether it
/// is new.
///
/// # Errors
/// Fails if no folder can be made at this place.
pub fn create_or_join(path: &Path) -> Result<bool> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|e| no_folder(parent, &e))?;
    }
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(false),
        Err(e) => Err(no_folder(path, &e)),
    }
}

fn no_folder(path: &Path, error: &io::Error) -> Error {
    Error::at(path, format_args!("the folder for the traces cannot be made: {error}"))
        .remedy("choose another place with -o")
}

/// Makes the file `name` in `folder`, or `STEM-1.EXT`…, empty.
///
/// # Errors
/// Fails if no file can be made in the folder.
pub fn create_file(folder: &Path, name: &str) -> Result<PathBuf> {
    for suffix in 0..MOST_SUFFIXES {
        let path = folder.join(name);
        let path = if suffix == 0 {
            path
        } else {
            let extension = path.extension().map(|e| format!(".{}", e.to_string_lossy())).unwrap_or_default();
            folder.join(format!("{}-{suffix}{extension}", name.trim_end_matches(&extension)))
        };
        match fs::File::create_new(&path) {
            Ok(_) => return Ok(path),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => {
                return Err(Error::at(folder, format_args!("no file can be made in it: {e}"))
                    .remedy("choose another place with -o"));
            }
        }
    }
    Err(Error::at(folder, "holds too many runs").remedy("choose another place with -o"))
}

fn with_suffix(path: &Path, suffix: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!("-{suffix}"));
    PathBuf::from(name)
}

/// A program's name as a part of a file name: without its folder, without what shells and terminals take for
/// something else, and not too long.
pub fn plain_name(command: &OsStr) -> String {
    let name = Path::new(command).file_name().unwrap_or(command);
    let letters = String::from_utf8_lossy(name.as_bytes());
    let plain = letters.chars().map(|c| if c.is_alphanumeric() || "._+-".contains(c) { c } else { '_' });
    let plain: String = plain.take(48).collect();
    if plain.is_empty() { "program".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temporary(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("gpuprof-folder-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn a_name_that_is_taken_gets_a_suffix() {
        let here = temporary("suffix");
        let wanted = here.join("gpuprof-x");
        assert_eq!(create_new(&wanted).unwrap(), wanted);
        assert_eq!(create_new(&wanted).unwrap(), here.join("gpuprof-x-1"));
        fs::write(here.join("gpuprof-x-2"), "a file").unwrap();
        assert_eq!(create_new(&wanted).unwrap(), here.join("gpuprof-x-3"));
        assert_eq!(create_file(&here, "seen.jsonl").unwrap(), here.join("seen.jsonl"));
        assert_eq!(create_file(&here, "seen.jsonl").unwrap(), here.join("seen-1.jsonl"));
        fs::remove_dir_all(here).unwrap();
    }

    #[test]
    fn ranks_share_the_folder_that_was_named() {
        let here = temporary("share");
        let wanted = here.join("a/b");
        assert!(create_or_join(&wanted).unwrap());
        assert!(!create_or_join(&wanted).unwrap());
        fs::write(here.join("file"), "").unwrap();
        let error = create_or_join(&here.join("file")).unwrap_err().to_string();
        assert!(error.contains("choose another place with -o"), "{error}");
        fs::remove_dir_all(here).unwrap();
    }

    #[test]
    fn names_are_fit_for_files() {
        for (command, name) in [
            ("/usr/bin/python3.12", "python3.12"),
            ("./my prog", "my_prog"),
            ("a\nb\u{1b}[31m", "a_b__31m"),
            ("", "program"),
            ("/", "_"),
            ("träin", "träin"),
        ] {
            assert_eq!(plain_name(OsStr::new(command)), name, "{command:?}");
        }
        assert_eq!(plain_name(OsStr::from_bytes(&[b'x'; 300])).len(), 48);
    }
}
