//! Keeping the files of a ring as a folder of their own: at once, for files can have two names.

use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::{c_path, create};
use crate::log::identity;

/// Bytes copied at a time, where there are no hard links.
const COPY_BYTES: usize = 64 << 10;
/// Names tried after the wanted one.
const MOST_SUFFIXES: u32 = 99;

/// Gives `files` second names in the new folder `folder`, or in `folder-1`, …; where file systems cannot, copies at most
/// `most_copied_bytes`. The folder appears with all of them in it or not at all.
///
/// Errors: it could not be done, and nothing is left of the attempt.
pub(super) fn keep(files: &[PathBuf], folder: &Path, most_copied_bytes: u64) -> io::Result<PathBuf> {
    let hidden = hidden_path(folder).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    // Left by an earlier try of this process.
    remove(&hidden, files);
    std::fs::create_dir(&hidden)?;
    let made = fill(files, &hidden, most_copied_bytes).and_then(|()| publish(&hidden, folder));
    made.inspect_err(|_| remove(&hidden, files))
}

/// `FOLDER/.NAME.PID-TOKEN.part`: readers pass over what is hidden, and no other process has this name.
fn hidden_path(folder: &Path) -> Option<PathBuf> {
    create::temporary_path(folder).map(|path| PathBuf::from(OsString::from_vec(path.into_bytes())))
}

fn fill(files: &[PathBuf], folder: &Path, most_copied_bytes: u64) -> io::Result<()> {
    let mut left = most_copied_bytes;
    for file in files {
        let target = folder.join(file.file_name().unwrap_or_default());
        match std::fs::hard_link(file, &target) {
            Err(e) if has_no_links(&e) => copy(file, &target, &mut left)?,
            linked => linked?,
        }
    }
    Ok(())
}

/// Whether the file system says that a file has one name here.
fn has_no_links(error: &io::Error) -> bool {
    let codes = [libc::EPERM, libc::EOPNOTSUPP, libc::ENOSYS, libc::EMLINK, libc::EXDEV, libc::EINVAL];
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

/// As `std::fs::copy`, by calls that no sandbox minds, and not beyond `left` bytes.
fn copy(from: &Path, to: &Path, left: &mut u64) -> io::Result<()> {
    let from = Opened::open(from, libc::O_RDONLY)?;
    let to = Opened::open(to, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL)?;
    let mut chunk = vec![0; COPY_BYTES];
    loop {
        let n = from.read(&mut chunk)?;
        if n == 0 {
            return Ok(());
        }
        // As if the disk were full, which is what this prevents.
        *left = left.checked_sub(n as u64).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOSPC))?;
        to.write_all(&chunk[..n])?;
    }
}

/// A file of ours in a process that is not: out of the way of the program's numbers, and used and closed only while the
/// number still stands for it. `std::fs::File` would write into, and close, what the program has opened there meanwhile.
struct Opened {
    fd: i32,
    identity: (u64, u64),
}

impl Opened {
    fn open(path: &Path, flags: i32) -> io::Result<Opened> {
        let path: CString = c_path(path).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        // SAFETY: a terminated path.
        let fd = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, 0o666) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = create::away_from_the_program(fd);
        let identity = identity(fd).ok_or_else(io::Error::last_os_error)?;
        Ok(Opened { fd, identity })
    }

    fn check(&self) -> io::Result<()> {
        let is_ours = identity(self.fd) == Some(self.identity);
        is_ours.then_some(()).ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))
    }

    /// Bytes read; 0 at the end.
    fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            self.check()?;
            // SAFETY: writes at most the length given into memory that is ours.
            let n = unsafe { libc::read(self.fd, into.as_mut_ptr().cast(), into.len()) };
            match usize::try_from(n) {
                Ok(n) => return Ok(n),
                Err(_) => unless_interrupted()?,
            }
        }
    }

    fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.check()?;
            // SAFETY: reads at most the length given.
            let n = unsafe { libc::write(self.fd, bytes.as_ptr().cast(), bytes.len()) };
            match usize::try_from(n) {
                Ok(n) => bytes = &bytes[n.min(bytes.len())..],
                Err(_) => unless_interrupted()?,
            }
        }
        Ok(())
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.check().is_ok() {
            // SAFETY: still the descriptor that we opened.
            unsafe { libc::close(self.fd) };
        }
    }
}

/// What the last call failed with, unless it may be made again.
fn unless_interrupted() -> io::Result<()> {
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}

fn publish(hidden: &Path, folder: &Path) -> io::Result<PathBuf> {
    for suffix in 0..=MOST_SUFFIXES {
        let mut name = folder.as_os_str().as_bytes().to_vec();
        if suffix > 0 {
            name.extend_from_slice(format!("-{suffix}").as_bytes());
        }
        let target = PathBuf::from(OsString::from_vec(name));
        // Nothing is ever overwritten: a folder with something in it is not replaced.
        match std::fs::rename(hidden, &target) {
            Ok(()) => return Ok(target),
            Err(e) if matches!(e.raw_os_error(), Some(libc::EEXIST | libc::ENOTEMPTY | libc::ENOTDIR)) => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::Error::from_raw_os_error(libc::EEXIST))
}

/// Removes what an attempt has made.
fn remove(hidden: &Path, files: &[PathBuf]) {
    for file in files {
        let _ = std::fs::remove_file(hidden.join(file.file_name().unwrap_or_default()));
    }
    let _ = std::fs::remove_dir(hidden);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("gpuprof-dump-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn what_the_program_has_opened_under_our_number_is_neither_written_to_nor_closed() {
        let path = std::env::temp_dir().join(format!("gpuprof-dump-taken-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        let ours = Opened::open(&path, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL).unwrap();
        ours.write_all(b"ours").unwrap();
        let number = ours.fd;
        // SAFETY: numbers and a terminated path; both descriptors are the test's.
        unsafe {
            let theirs = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            assert_eq!(libc::dup3(theirs, number, libc::O_CLOEXEC), number);
            assert_eq!(ours.write_all(b"more").unwrap_err().raw_os_error(), Some(libc::EBADF));
            drop(ours);
            assert_eq!(libc::fcntl(number, libc::F_GETFD), libc::FD_CLOEXEC, "still open");
            libc::close(theirs);
            libc::close(number);
        }
        assert_eq!(fs::read(&path).unwrap(), b"ours");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn files_get_second_names_and_nothing_is_overwritten() {
        let folder = folder("links");
        let files = ["a.1", "a.2"].map(|name| folder.join(name));
        files.iter().for_each(|file| fs::write(file, "trace").unwrap());
        let first = keep(&files, &folder.join("run.dump-001-x"), 0).unwrap();
        let second = keep(&files, &folder.join("run.dump-001-x"), 0).unwrap();
        assert_eq!((first, second), (folder.join("run.dump-001-x"), folder.join("run.dump-001-x-1")));
        fs::remove_file(&files[0]).unwrap();
        assert_eq!(fs::read(folder.join("run.dump-001-x/a.1")).unwrap(), b"trace");
        // A file in the way has its name for itself.
        fs::write(folder.join("run.dump-002-y"), "somebody's").unwrap();
        assert_eq!(keep(&files[1..], &folder.join("run.dump-002-y"), 0).unwrap(), folder.join("run.dump-002-y-1"));
        let error = keep(&files, &folder.join("run.dump-003-z"), 0).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(
            names,
            ["a.2", "run.dump-001-x", "run.dump-001-x-1", "run.dump-002-y", "run.dump-002-y-1"],
            "nothing is left of what failed"
        );
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_another_process_of_our_pid_is_making_is_left_alone() {
        let folder = folder("same-pid");
        let file = folder.join("a.1");
        fs::write(&file, "ours").unwrap();
        // In another container, with the same folder: process ids and names of hosts may be equal there.
        let theirs = folder.join(format!(".run.dump-001-x.{}.part", std::process::id()));
        fs::create_dir(&theirs).unwrap();
        fs::write(theirs.join("a.1"), "theirs").unwrap();
        assert_eq!(keep(&[file], &folder.join("run.dump-001-x"), 0).unwrap(), folder.join("run.dump-001-x"));
        assert_eq!(fs::read(theirs.join("a.1")).unwrap(), b"theirs");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn where_files_have_one_name_they_are_copied_as_far_as_there_is_room() {
        let folder = folder("copies");
        let (file, other) = (folder.join("file"), folder.join("copy"));
        fs::write(&file, vec![7; 100_000]).unwrap();
        let mut left = 150_000;
        copy(&file, &other, &mut left).unwrap();
        assert_eq!((fs::read(&other).unwrap(), left), (vec![7; 100_000], 50_000));
        let error = copy(&file, &folder.join("another"), &mut left).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
        assert_eq!(copy(&file, &other, &mut 1_000_000).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(has_no_links(&io::Error::from_raw_os_error(libc::EPERM)));
        assert!(!has_no_links(&io::Error::from_raw_os_error(libc::ENOSPC)));
        fs::remove_dir_all(folder).unwrap();
    }
}
