//! Creating a file that is either not there or whole.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{CreateError, DescriptorTaken, HeaderProgress, LOWEST_FD, Name, Stage, TraceFile, c_path};
use crate::log::identity;
use shim_config::find::own_proc;

/// Names tried after the wanted one. Ranks that start at the same moment take a few; more means that something else
/// is wrong.
const MOST_SUFFIXES: u32 = 9_999;
/// Tries to get a descriptor out of the way of a program that closes all of them at the same moment.
const MOST_TRIES: u32 = 4;

/// Opens a file for `path`. Nothing is visible under that name yet. `unnamed`: try a file without any name first.
pub(super) fn open(path: &Path, unnamed: bool) -> Result<TraceFile, CreateError> {
    let error = |source| CreateError { path: path.to_owned(), source };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // The name itself is tried only when the header is written; what cannot work is said now.
    if path.as_os_str().len() >= libc::PATH_MAX as usize || path.file_name().is_none_or(|n| n.len() > 255) {
        return Err(error(io::Error::from_raw_os_error(libc::ENAMETOOLONG)));
    }
    let folders = std::fs::create_dir_all(folder);
    let temporary = || {
        open_temporary(path).map_err(|e| match (folders.as_ref(), e.raw_os_error()) {
            (Err(why), Some(libc::ENOENT)) => error(io::Error::new(why.kind(), why.to_string())),
            _ => error(e),
        })
    };
    for _ in 0..MOST_TRIES {
        let (fd, stage) = match unnamed.then(|| open_unnamed(folder)) {
            Some(Ok(fd)) => (fd, Stage::Unnamed),
            // File systems without unnamed files (NFS, FUSE, old overlays) say so in many ways; the other way in
            // finds the real reason, if there is one.
            _ => (temporary()?, Stage::Temporary),
        };
        let moved = away_from_the_program(fd);
        if let Some(identity) = ours(moved, stage, path) {
            let name = Rc::new(Name { path: RefCell::new(path.to_owned()), stage: Cell::new(stage) });
            return Ok(TraceFile { fd: moved, identity, name, header: HeaderProgress::default() });
        }
        // The program closed all descriptors just now, and has opened a file of its own under the number of ours.
        if moved != fd {
            // SAFETY: our own copy of its descriptor.
            unsafe { libc::close(moved) };
        }
    }
    Err(error(io::Error::other(DescriptorTaken)))
}

/// Device and inode of the new, empty file behind `fd`; none if it is another one.
fn ours(fd: i32, stage: Stage, path: &Path) -> Option<(u64, u64)> {
    let (mut behind, mut named) = (MaybeUninit::<libc::stat>::zeroed(), MaybeUninit::<libc::stat>::zeroed());
    // SAFETY: both are writable; all zeros is a valid value.
    let behind = unsafe { (libc::fstat(fd, behind.as_mut_ptr()) == 0).then(|| behind.assume_init())? };
    let is_ours = match stage {
        // Files that a program opens have names.
        Stage::Unnamed => behind.st_nlink == 0 && behind.st_size == 0,
        _ => {
            let hidden = temporary_path(path)?;
            // SAFETY: a terminated path, and as above.
            let named =
                unsafe { (libc::lstat(hidden.as_ptr(), named.as_mut_ptr()) == 0).then(|| named.assume_init())? };
            (named.st_dev, named.st_ino) == (behind.st_dev, behind.st_ino)
        }
    };
    is_ours.then_some((behind.st_dev, behind.st_ino))
}

fn open_at(path: &CStr, flags: i32) -> io::Result<i32> {
    // SAFETY: a terminated path; 0666 less the program's umask, as any file of the program.
    match unsafe { libc::open(path.as_ptr(), flags | libc::O_RDWR | libc::O_CLOEXEC, 0o666) } {
        fd if fd >= 0 => Ok(fd),
        _ => Err(io::Error::last_os_error()),
    }
}

fn terminated(path: &Path) -> io::Result<CString> {
    c_path(path).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))
}

/// A file without a name, if it can be given one later: that goes by way of /proc.
fn open_unnamed(folder: &Path) -> io::Result<i32> {
    let fd = open_at(&terminated(folder)?, libc::O_TMPFILE)?;
    // SAFETY: a terminated path.
    let reachable = proc_path(fd).is_some_and(|p| unsafe { libc::access(p.as_ptr(), libc::F_OK) } == 0);
    if reachable {
        return Ok(fd);
    }
    // SAFETY: opened just above.
    unsafe { libc::close(fd) };
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

fn proc_path(fd: i32) -> Option<CString> {
    c_path(&own_proc(&format!("fd/{fd}")))
}

/// Tells this process's hidden files from those of all others: containers on a shared file system can have equal process
/// ids and host names.
static TOKEN: AtomicU64 = AtomicU64::new(0);

/// What a forked child forgets ([`crate::fork`]): the token of its parent's hidden files. The child needs a token of
/// its own, because in a namespace of its own it can have its parent's pid.
pub fn forget() {
    TOKEN.store(0, Ordering::Relaxed);
}

fn token() -> u64 {
    let mut fresh = [0u8; 8];
    if TOKEN.load(Ordering::Relaxed) == 0 {
        // SAFETY: writes eight bytes at most. Without them (an old kernel, or one that has just started) the clock serves.
        let got = unsafe { libc::syscall(libc::SYS_getrandom, fresh.as_mut_ptr(), fresh.len(), 1) };
        let number = if got == 8 { u64::from_ne_bytes(fresh) } else { crate::sys::realtime_ns().unsigned_abs() };
        let _ = TOKEN.compare_exchange(0, number | 1, Ordering::Relaxed, Ordering::Relaxed);
    }
    TOKEN.load(Ordering::Relaxed)
}

/// `FOLDER/.NAME.PID-TOKEN.part`: hidden, and no other process's. The name is cut where it would become too long.
pub(super) fn temporary_path(path: &Path) -> Option<CString> {
    hidden_path(path, token())
}

fn hidden_path(path: &Path, token: u64) -> Option<CString> {
    let name = path.file_name()?.as_bytes();
    let mut hidden = b".".to_vec();
    hidden.extend_from_slice(&name[..name.len().min(200)]);
    hidden.extend_from_slice(format!(".{}-{token:016x}.part", crate::sys::getpid()).as_bytes());
    c_path(&path.with_file_name(OsStr::from_bytes(&hidden)))
}

fn open_temporary(path: &Path) -> io::Result<i32> {
    let name = temporary_path(path).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    match open_at(&name, libc::O_CREAT | libc::O_EXCL) {
        Err(e) if e.raw_os_error() == Some(libc::EEXIST) => {
            // An earlier try of this process.
            // SAFETY: a terminated path.
            unsafe { libc::unlink(name.as_ptr()) };
            open_at(&name, libc::O_CREAT | libc::O_EXCL)
        }
        other => other,
    }
}

/// Moves a descriptor out of the way: to 64 or above, or as high as the limit allows.
pub fn away_from_the_program(fd: i32) -> i32 {
    let mut limit = std::mem::MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: `limit` is writable; all zeros is a valid value of it.
    let limit = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr());
        limit.assume_init()
    };
    let highest = i32::try_from(limit.rlim_cur).unwrap_or(i32::MAX).saturating_sub(1);
    let mut lowest = LOWEST_FD.min(highest);
    while lowest > fd {
        // SAFETY: takes numbers only.
        let moved = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, lowest) };
        if moved >= 0 {
            if identity(fd) == identity(moved) {
                // SAFETY: ours, and not needed any more.
                unsafe { libc::close(fd) };
            }
            return moved;
        }
        // All above are taken.
        lowest -= 1;
    }
    fd
}

/// `NAME.gpuprof` as `NAME-3.gpuprof`. For segments the suffix stands before their number: see
/// [`super::TraceFiles`].
pub(super) fn with_suffix(path: &Path, suffix: u32) -> PathBuf {
    let mut name = path.file_stem().map(OsStr::to_owned).unwrap_or_default();
    name.push(format!("-{suffix}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(OsString::from_vec(name.into_vec()))
}

/// Gives the file its name, or the first free one after it.
pub(super) fn publish(file: &TraceFile) -> io::Result<()> {
    let wanted = file.name.path.borrow().clone();
    for suffix in 0..=MOST_SUFFIXES {
        let path = if suffix == 0 { wanted.clone() } else { with_suffix(&wanted, suffix) };
        match publish_as(file, &wanted, &path) {
            Ok(()) => {
                *file.name.path.borrow_mut() = path;
                file.name.stage.set(Stage::Published);
                return Ok(());
            }
            Err(e) if e.raw_os_error() == Some(libc::EEXIST) => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::Error::from_raw_os_error(libc::EEXIST))
}

fn publish_as(file: &TraceFile, wanted: &Path, path: &Path) -> io::Result<()> {
    let target = terminated(path)?;
    if file.name.stage.get() == Stage::Unnamed {
        let source = proc_path(file.fd).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        let (from, to) = (source.as_ptr(), target.as_ptr());
        // SAFETY: both paths are terminated.
        return result(unsafe { libc::linkat(libc::AT_FDCWD, from, libc::AT_FDCWD, to, libc::AT_SYMLINK_FOLLOW) });
    }
    let source = temporary_path(wanted).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    // SAFETY: both paths are terminated.
    match result(unsafe { libc::link(source.as_ptr(), target.as_ptr()) }) {
        Ok(()) => {
            // SAFETY: a terminated path.
            unsafe { libc::unlink(source.as_ptr()) };
            Ok(())
        }
        Err(e) if e.raw_os_error() == Some(libc::EEXIST) => Err(e),
        // A file system without hard links: take the name first, then move over what is ours.
        Err(_) => {
            let claim = open_at(&target, libc::O_CREAT | libc::O_EXCL)?;
            // SAFETY: opened just above; both paths are terminated.
            result(unsafe {
                libc::close(claim);
                libc::rename(source.as_ptr(), target.as_ptr())
            })
        }
    }
}

fn result(rc: i32) -> io::Result<()> {
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_equal_pid_have_different_hidden_files() {
        let path = Path::new("/traces/run.gpuprof");
        assert_eq!(temporary_path(path), temporary_path(path));
        assert_ne!(hidden_path(path, 1), hidden_path(path, 2));
        assert!(hidden_path(path, 1).is_some_and(|p| p.to_bytes().starts_with(b"/traces/.run.gpuprof.")));
    }
}
