//! The flight recorder's folders, as the launcher finds them when the program has ended: rings, their dumps, and the
//! dump that it makes itself because the program came to a bad end.

use super::place::Place;
use crate::trace::ring::{RING_ENDING, dump_number, is_dump, is_ring};
use shim_config::seen::SeenLine;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Names tried for a dump; a collector makes at most 999.
const MOST_NUMBERS: u32 = 9_999;

/// The rings of this run.
pub fn rings(place: &Place, seen: &[SeenLine]) -> Vec<PathBuf> {
    let own = seen.iter().filter_map(|line| line.trace.as_deref()).map(|t| PathBuf::from(OsStr::from_bytes(t)));
    let mut rings: BTreeSet<PathBuf> = own.filter(|path| is_ring(path) && path.is_dir()).collect();
    if let (true, Some(folder)) = (place.is_new, place.seen.parent()) {
        rings.extend(entries(folder).into_iter().filter(|path| is_ring(path) && path.is_dir()));
    }
    rings.into_iter().collect()
}

/// The dumps of a ring, in the order of their names.
pub fn dumps(ring: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(stem)) = (ring.parent(), ring.file_stem()) else { return Vec::new() };
    let beginning = [stem.as_bytes(), b".dump-"].concat();
    let is_of_it = |path: &PathBuf| path.file_name().is_some_and(|n| n.as_bytes().starts_with(&beginning));
    entries(folder).into_iter().filter(|path| is_of_it(path) && is_dump(path) && path.is_dir()).collect()
}

/// The traces in a folder.
pub fn segments(ring: &Path) -> Vec<PathBuf> {
    entries(ring).into_iter().filter(|path| path.extension() == Some(OsStr::new("gpuprof"))).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
}

/// Keeps what a ring holds as its dump for `reason`; returns where it is. None: the ring is empty.
///
/// Files get second names there; where file systems cannot do that, they are copied. The folder appears whole.
///
/// # Errors
/// The folder cannot be made or filled; nothing is left of the attempt.
pub fn keep(ring: &Path, reason: &str) -> io::Result<Option<PathBuf>> {
    let files = segments(ring);
    if files.is_empty() {
        return Ok(None);
    }
    debug_assert_eq!(ring.extension(), Some(OsStr::new(RING_ENDING)));
    let first = dumps(ring).iter().filter_map(|dump| dump_number(dump)).max().unwrap_or(0) + 1;
    let stem = ring.file_stem().unwrap_or_default();
    let mut hidden = OsStr::new(".").to_owned();
    hidden.push(stem);
    hidden.push(format!(".dump.{}.part", std::process::id()));
    let hidden = ring.with_file_name(hidden);
    fs::create_dir(&hidden)?;
    let made = fill(&files, &hidden).and_then(|()| {
        for number in first..first + MOST_NUMBERS {
            let target = ring.with_extension(format!("dump-{number:03}-{reason}"));
            match fs::rename(&hidden, &target) {
                Ok(()) => return Ok(Some(target)),
                Err(e) if matches!(e.raw_os_error(), Some(libc::EEXIST | libc::ENOTEMPTY | libc::ENOTDIR)) => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    });
    made.inspect_err(|_| {
        let _ = fs::remove_dir_all(&hidden);
    })
}

fn fill(files: &[PathBuf], folder: &Path) -> io::Result<()> {
    for file in files {
        let target = folder.join(file.file_name().unwrap_or_default());
        if fs::hard_link(file, &target).is_err() {
            fs::copy(file, &target)?;
        }
    }
    Ok(())
}
