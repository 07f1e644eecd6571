//! The libcupti files of one folder.

use super::elf;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// One libcupti file on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Where it is, by the name closest to its SONAME.
    pub path: PathBuf,
    /// The same without links: two names of one file are one library.
    pub real: PathBuf,
    /// From its dynamic section, else guessed from its name.
    pub soname: Option<String>,
}

impl Library {
    /// The library at `path`, if there is a file.
    pub fn at(path: &Path) -> Option<Library> {
        let real = fs::canonicalize(path).ok()?;
        if !real.is_file() {
            return None;
        }
        let soname = elf::soname(&real).or_else(|| by_name(path)).or_else(|| by_name(&real));
        Some(Library { path: path.to_owned(), real, soname })
    }

    /// Toolkit version that the SONAME states: (13, 0), (12, 0), (11, 8).
    pub fn version(&self) -> Option<(u32, u32)> {
        version_of(self.soname.as_deref()?)
    }
}

/// Whether a file name is libcupti's: `libcupti.so.12`, also with a hash (`libcupti-53b8bc87.so.11.8`).
pub fn is_cupti(path: &Path) -> bool {
    let Some(name) = path.file_name().map(|n| n.as_bytes()) else { return false };
    let Some(rest) = name.strip_prefix(b"libcupti") else { return false };
    (rest.starts_with(b".so") || rest.starts_with(b"-")) && rest.windows(3).any(|w| w == b".so")
}

/// The version after `.so.`: `libcupti.so.11.8` is (11, 8), `libcupti.so.12` is (12, 0). Real file names such as
/// `libcupti.so.2025.2.1` count years, not toolkits: `None`.
pub fn version_of(name: &str) -> Option<(u32, u32)> {
    let (_, digits) = name.rsplit_once(".so.")?;
    let mut parts = digits.split('.').map(|part| part.parse::<u32>().ok());
    let major = parts.next()??;
    let minor = parts.next().flatten().unwrap_or(0);
    (major < 1000).then_some((major, minor))
}

fn by_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (major, minor) = version_of(name)?;
    // From 12 on the SONAME is the major alone, whatever a file is called.
    Some(if major >= 12 { format!("libcupti.so.{major}") } else { format!("libcupti.so.{major}.{minor}") })
}

/// Every libcupti in `folder`, each file once, newest SONAME first.
pub fn libraries(folder: &Path) -> Vec<Library> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(|p| is_cupti(p)).collect();
    names.sort();
    let mut found: Vec<Library> = Vec::new();
    for name in names {
        let Some(library) = Library::at(&name) else { continue };
        match found.iter_mut().find(|f| f.real == library.real) {
            Some(same) => {
                if is_named_as_soname(&library) {
                    same.path = library.path;
                }
            }
            None => found.push(library),
        }
    }
    found.sort_by_key(|library| std::cmp::Reverse(library.version()));
    found
}

fn is_named_as_soname(library: &Library) -> bool {
    let name = library.path.file_name().and_then(|n| n.to_str());
    name.is_some() && name == library.soname.as_deref()
}
