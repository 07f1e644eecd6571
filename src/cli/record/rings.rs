//! The flight recorder's folders, as the launcher finds them when the program has ended: rings, their dumps, and the
//! dump that it makes itself because the program came to a bad end.

use super::run_folder::RunFolder;
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
pub fn rings(place: &RunFolder, seen: &[SeenLine]) -> Vec<PathBuf> {
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

/// Removes what a process left that was killed while it made a dump: a hidden folder of second names, which would keep
/// old segments on the disk.
pub fn remove_leftovers(ring: &Path) {
    let (Some(folder), Some(stem)) = (ring.parent(), ring.file_stem()) else { return };
    let beginning = [b".", stem.as_bytes(), b".dump-"].concat();
    for path in entries(folder) {
        let name = path.file_name().unwrap_or_default().as_bytes();
        let rest = name.strip_prefix(beginning.as_slice()).and_then(|rest| rest.strip_suffix(b".part"));
        let pid = rest.and_then(|rest| rest.rsplit(|b| *b == b'.').next());
        let pid = pid.and_then(|pid| std::str::from_utf8(pid).ok()?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir_all(&path);
        }
    }
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
/// Fails if the folder cannot be made or filled. Then nothing is left of the attempt.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_half_done_is_removed_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("gpuprof-rings-{}", std::process::id()));
        // No process has that number: it is beyond what Linux gives.
        let (dead, alive) = (u32::MAX, std::process::id());
        let names = [
            format!(".a.dump-001-x.{dead}.part"),
            format!(".a.dump-002-x.{alive}.part"),
            format!(".b.dump-001-x.{dead}.part"),
            "a.dump-001-x".to_owned(),
            "a.ring".to_owned(),
        ];
        for name in &names {
            fs::create_dir_all(folder.join(name)).unwrap();
            fs::write(folder.join(name).join("a.000001.gpuprof"), "trace").unwrap();
        }
        remove_leftovers(&folder.join("a.ring"));
        let left: Vec<bool> = names.iter().map(|name| folder.join(name).exists()).collect();
        assert_eq!(left, [false, true, true, true, true]);
        assert_eq!(dumps(&folder.join("a.ring")), [folder.join("a.dump-001-x")]);
        let kept = keep(&folder.join("a.ring"), "abort").unwrap();
        assert_eq!(kept, Some(folder.join("a.dump-002-abort")));
        assert_eq!(fs::read(folder.join("a.dump-002-abort/a.000001.gpuprof")).unwrap(), b"trace");
        fs::remove_dir_all(folder).unwrap();
    }
}
