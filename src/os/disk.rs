//! File systems and files, as far as the standard library does not show them.

use rustix::fs::{StatVfsMountFlags, getxattr_query, statvfs};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// Room on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes that we may still write.
    pub free_bytes: u64,
    /// Bytes in all.
    pub total_bytes: u64,
    /// Whether programs may not be run and libraries not be loaded from there.
    pub noexec: bool,
    /// Whether nothing can be written at all.
    pub read_only: bool,
}

impl Room {
    /// How much is free for us, in percent; `None` where the file system has no size.
    pub fn free_percent(&self) -> Option<u64> {
        let percent = (u128::from(self.free_bytes) * 100).checked_div(u128::from(self.total_bytes))?;
        u64::try_from(percent).ok()
    }
}

/// Room on the file system that `path` lies on.
///
/// # Errors
/// Fails if there is no such path, or if it cannot be looked at.
pub fn room(path: &Path) -> io::Result<Room> {
    let about = statvfs(path)?;
    let flags = about.f_flag;
    Ok(Room {
        free_bytes: about.f_bavail.saturating_mul(about.f_frsize),
        total_bytes: about.f_blocks.saturating_mul(about.f_frsize),
        noexec: flags.contains(StatVfsMountFlags::NOEXEC),
        read_only: flags.contains(StatVfsMountFlags::RDONLY),
    })
}

/// So many names are tried for a new folder; each is free with near certainty.
const ATTEMPTS: u32 = 100;

/// Makes a new folder in `parent`, which nobody else may look into: its name is `begin` and six characters.
///
/// # Errors
/// Fails if there is no such parent, or if nothing can be made in it.
pub fn private_folder(parent: &Path, begin: &str) -> io::Result<PathBuf> {
    for _ in 0..ATTEMPTS {
        let mut random = [0; 3];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let [a, b, c] = random;
        let path = parent.join(format!("{begin}{a:02x}{b:02x}{c:02x}"));
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| path),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// A new file in the folder for temporary files. It has no name any more, so it goes with us, however we end.
///
/// # Errors
/// Fails if it cannot be made there.
pub fn unnamed_file() -> io::Result<File> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let path = std::env::temp_dir().join(format!("gpuprof-{:016x}.tmp", u64::from_ne_bytes(random)));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Whether a program file has capabilities of its own, which make the loader careful.
pub fn has_capabilities(path: &Path) -> bool {
    getxattr_query(path, c"security.capability").is_ok_and(|bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_of_any_size_are_counted() {
        let room = |free_bytes, total_bytes| Room { free_bytes, total_bytes, noexec: false, read_only: false };
        assert_eq!(room(1, 3).free_percent(), Some(33));
        assert_eq!(room(u64::MAX, u64::MAX).free_percent(), Some(100));
        assert_eq!(room(0, 0).free_percent(), None);
    }

    #[test]
    fn a_private_folder_is_new_and_ours_alone() {
        use std::os::unix::fs::MetadataExt as _;
        let made = private_folder(&std::env::temp_dir(), "gpuprof-test-").unwrap();
        let mode = made.metadata().unwrap().mode();
        std::fs::remove_dir(&made).unwrap();
        assert_eq!(mode & 0o777, 0o700);
        assert!(private_folder(Path::new("/no such folder"), "x").is_err());
    }
}
