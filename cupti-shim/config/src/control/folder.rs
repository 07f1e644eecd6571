//! The folder of the sockets: opened without following a link, and refused where somebody else could put a socket of his
//! own into it.
#![allow(unsafe_code, reason = "std offers neither fstat without statx nor O_NOFOLLOW with a reason")]

use std::ffi::{CStr, CString};
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Why a folder is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not there, or cannot be opened: the system's error number.
    Cannot(i32),
    /// It is a symbolic link.
    Link,
    /// It is something else than a folder.
    NoFolder,
    /// It belongs to another user.
    Foreign(u32),
    /// Others may write to it: its mode.
    Writable(u32),
}

impl Refusal {
    /// Whether somebody must have meant it: a folder that is merely missing is no reason for a word.
    pub fn is_suspicious(&self) -> bool {
        !matches!(self, Refusal::Cannot(_))
    }
}

impl fmt::Display for Refusal {
    /// The end of a sentence that begins with the path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Cannot(errno) => write!(f, "cannot be used: {}", io::Error::from_raw_os_error(*errno)),
            Refusal::Link => write!(f, "is a symbolic link"),
            Refusal::NoFolder => write!(f, "is no folder"),
            Refusal::Foreign(uid) => write!(f, "belongs to another user (uid {uid})"),
            Refusal::Writable(mode) => write!(f, "may be written to by others (mode {:04o})", mode & 0o7777),
        }
    }
}

/// A folder that is ours alone.
#[derive(Debug)]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    descriptor: Descriptor,
}

/// A descriptor in a process that is not ours: the program may close it, and open a file of its own under its number. So it
/// is closed only while it is what was opened; the standard library's would end the program, or close the program's file.
#[derive(Debug)]
struct Descriptor {
    fd: RawFd,
    device: u64,
    inode: u64,
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if facts(self.fd).is_some_and(|now| (now.st_dev, now.st_ino) == (self.device, self.inode)) {
            // SAFETY: still the descriptor that was opened.
            unsafe { libc::close(self.fd) };
        }
    }
}

impl Folder {
    /// Opens the folder at `path` if it belongs to `owner` and nobody else may write to it. `owner` none: to anybody,
    /// for root, who was told where to look.
    ///
    /// # Errors
    /// Fails if the folder is refused. The error says why.
    pub fn open(path: &Path, owner: Option<u32>) -> Result<Folder, Refusal> {
        let name = c_path(path)?;
        let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // Without O_DIRECTORY, which would make a link look like a file. Never waits: nothing but a folder passes.
        // SAFETY: a terminated path.
        let fd = unsafe { libc::open(name.as_ptr(), flags | libc::O_NONBLOCK) };
        if fd < 0 {
            return Err(match errno() {
                libc::ELOOP => Refusal::Link,
                // What opening a socket gives.
                libc::ENXIO | libc::ENOTDIR => Refusal::NoFolder,
                other => Refusal::Cannot(other),
            });
        }
        // Without them it was closed by somebody else meanwhile.
        let facts = facts(fd).ok_or_else(|| Refusal::Cannot(errno()))?;
        let descriptor = Descriptor { fd, device: facts.st_dev, inode: facts.st_ino };
        judge(facts.st_mode, facts.st_uid, owner)?;
        Ok(Folder { path: path.to_owned(), descriptor })
    }

    /// As [`Folder::open`]; makes the folder, mode 0700, and those above it, where they are missing.
    ///
    /// # Errors
    /// Fails if the folder is refused. The error says why.
    pub fn open_or_make(path: &Path, owner: u32) -> Result<Folder, Refusal> {
        match Folder::open(path, Some(owner)) {
            Err(Refusal::Cannot(libc::ENOENT)) => {}
            other => return other,
        }
        make(path)?;
        Folder::open(path, Some(owner))
    }

    /// The open folder.
    pub fn fd(&self) -> RawFd {
        self.descriptor.fd
    }

    /// The folder's descriptor in exchange for another of the same: the caller wants it elsewhere.
    pub fn with_fd(mut self, exchange: impl FnOnce(RawFd) -> RawFd) -> Folder {
        self.descriptor.fd = exchange(self.descriptor.fd);
        self
    }

    /// Names of the files in it.
    pub fn names(&self) -> Vec<Vec<u8>> {
        let mut names = Vec::new();
        // SAFETY: a descriptor of its own goes to the stream, which closes it; an entry is read before the next is asked
        // for, and its name ends in a zero.
        unsafe {
            // Not below ours: the low numbers are the program's.
            let fd = libc::fcntl(self.fd(), libc::F_DUPFD_CLOEXEC, self.fd());
            let stream = if fd < 0 { std::ptr::null_mut() } else { libc::fdopendir(fd) };
            if stream.is_null() {
                if fd >= 0 {
                    libc::close(fd);
                }
                return names;
            }
            libc::rewinddir(stream);
            loop {
                let entry = libc::readdir(stream);
                if entry.is_null() {
                    break;
                }
                names.push(CStr::from_ptr((*entry).d_name.as_ptr()).to_bytes().to_vec());
            }
            libc::closedir(stream);
        }
        names
    }

    /// Gives the file `from` in it the name `to`. False: it could not be.
    pub fn rename(&self, from: &str, to: &str) -> bool {
        let (Ok(from), Ok(to)) = (CString::new(from), CString::new(to)) else { return false };
        // SAFETY: terminated paths; numbers.
        unsafe { libc::renameat(self.fd(), from.as_ptr(), self.fd(), to.as_ptr()) == 0 }
    }

    /// Removes the file `name` in it. False: it could not be.
    pub fn remove(&self, name: &str) -> bool {
        let Ok(name) = CString::new(name) else { return false };
        // SAFETY: a terminated path; numbers.
        unsafe { libc::unlinkat(self.fd(), name.as_ptr(), 0) == 0 }
    }
}

/// Whether a folder of this mode and owner serves.
fn judge(mode: u32, uid: u32, owner: Option<u32>) -> Result<(), Refusal> {
    if mode & libc::S_IFMT != libc::S_IFDIR {
        return Err(Refusal::NoFolder);
    }
    if owner.is_some_and(|owner| owner != uid) {
        return Err(Refusal::Foreign(uid));
    }
    if mode & 0o022 != 0 {
        return Err(Refusal::Writable(mode));
    }
    Ok(())
}

fn make(path: &Path) -> Result<(), Refusal> {
    let name = c_path(path)?;
    let mkdir = |name: &CStr| {
        // SAFETY: a terminated path.
        if unsafe { libc::mkdir(name.as_ptr(), 0o700) } == 0 { Ok(()) } else { Err(errno()) }
    };
    match mkdir(&name) {
        // Another process of ours was first.
        Ok(()) | Err(libc::EEXIST) => Ok(()),
        Err(libc::ENOENT) => match path.parent().filter(|above| !above.as_os_str().is_empty()) {
            Some(above) => {
                make(above)?;
                mkdir(&name).or_else(|e| if e == libc::EEXIST { Ok(()) } else { Err(Refusal::Cannot(e)) })
            }
            None => Err(Refusal::Cannot(libc::ENOENT)),
        },
        Err(other) => Err(Refusal::Cannot(other)),
    }
}

/// A path for the system; without slashes at its end, which would follow a link there.
fn c_path(path: &Path) -> Result<CString, Refusal> {
    let mut bytes = path.as_os_str().as_bytes();
    while let [rest @ .., b'/'] = bytes
        && !rest.is_empty()
    {
        bytes = rest;
    }
    CString::new(bytes).map_err(|_| Refusal::Cannot(libc::EINVAL))
}

fn facts(fd: RawFd) -> Option<libc::stat> {
    let mut facts = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: `facts` is writable; all zeros is a valid value of it.
    let (rc, facts) = unsafe { (libc::fstat(fd, facts.as_mut_ptr()), facts.assume_init()) };
    (rc == 0).then_some(facts)
}

fn errno() -> i32 {
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn own() -> u32 {
        // SAFETY: cannot fail.
        unsafe { libc::geteuid() }
    }

    #[test]
    fn a_number_that_the_program_took_over_is_left_alone() {
        let base = std::env::temp_dir().join(format!("gpuprof-taken-{}", std::process::id()));
        // SAFETY: takes nothing.
        let uid = unsafe { libc::geteuid() };
        let folder = Folder::open_or_make(&base, uid).expect("a folder");
        let number = folder.fd();
        // SAFETY: plain calls with numbers and a terminated path; the descriptor is the test's.
        unsafe {
            let file = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            assert_eq!(libc::dup3(file, number, libc::O_CLOEXEC), number);
            drop(folder);
            assert_eq!(libc::fcntl(number, libc::F_GETFD), libc::FD_CLOEXEC, "still open");
            libc::close(file);
            libc::close(number);
        }
        let folder = Folder::open_or_make(&base, uid).expect("a folder");
        // SAFETY: takes a number only.
        unsafe { libc::close(folder.fd()) };
        drop(folder);
        std::fs::remove_dir(base).expect("empty");
    }

    #[test]
    fn a_folder_is_made_for_its_owner_alone_and_a_hostile_one_is_refused() {
        let base = std::env::temp_dir().join(format!("gpuprof-folder-{}", std::process::id()));
        let path = base.join("deep").join("er");
        let made = Folder::open_or_make(&path, own()).expect("a new folder");
        assert_eq!(path.metadata().expect("a folder").permissions().mode() & 0o777, 0o700);
        std::fs::write(path.join("x"), b"").expect("a file");
        let is_x = |names: Vec<Vec<u8>>| names.iter().filter(|name| !name.starts_with(b".")).eq([b"x"]);
        assert!(is_x(made.names()) && is_x(made.names()));
        assert!(made.rename("x", "y") && !made.rename("x", "y") && made.rename("y", "x"));
        assert!(made.remove("x") && !made.remove("x") && !is_x(made.names()));
        let open = |path: &Path, owner| Folder::open(path, owner).map(|_| ());
        assert_eq!(open(&path, Some(own())), Ok(()));
        assert_eq!(open(&path, Some(own() + 1)), Err(Refusal::Foreign(own())));
        assert_eq!(open(&path, None), Ok(()));
        symlink(&path, base.join("link")).expect("a link");
        assert_eq!(open(&base.join("link"), Some(own())), Err(Refusal::Link));
        assert_eq!(open(&base.join("link/"), Some(own())), Err(Refusal::Link), "a slash follows no link");
        std::fs::write(base.join("file"), b"").expect("a file");
        assert_eq!(open(&base.join("file"), Some(own())), Err(Refusal::NoFolder));
        assert_eq!(Folder::open_or_make(&base.join("file/in"), own()).map(|_| ()), Err(Refusal::NoFolder));
        assert_eq!(open(&base.join("missing"), Some(own())), Err(Refusal::Cannot(libc::ENOENT)));
        for mode in [0o770, 0o707, 0o1777] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("a mode");
            assert_eq!(open(&path, Some(own())), Err(Refusal::Writable(mode | libc::S_IFDIR)));
        }
        std::fs::remove_dir_all(base).expect("all of it");
    }
}
