//! File systems and files, as far as the standard library does not show them.

use std::ffi::{CString, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
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
    let path = c_string(path)?;
    let mut about = MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: a terminated string and a structure of ours, of which all zeros is a valid value.
    let about = unsafe {
        if libc::statvfs(path.as_ptr(), about.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        about.assume_init()
    };
    let unit = about.f_frsize as u64;
    Ok(Room {
        free_bytes: (about.f_bavail as u64).saturating_mul(unit),
        total_bytes: (about.f_blocks as u64).saturating_mul(unit),
        noexec: about.f_flag & libc::ST_NOEXEC != 0,
        read_only: about.f_flag & libc::ST_RDONLY != 0,
    })
}

/// Makes a new folder in `parent`, which nobody else may look into: its name is `begin` and six characters.
///
/// # Errors
/// Fails if there is no such parent, or if nothing can be made in it.
pub fn private_folder(parent: &Path, begin: &str) -> io::Result<PathBuf> {
    let mut path = c_string(&parent.join(format!("{begin}XXXXXX")))?.into_bytes_with_nul();
    // SAFETY: a C string of our own, which the function overwrites in place.
    if unsafe { libc::mkdtemp(path.as_mut_ptr().cast()) }.is_null() {
        return Err(io::Error::last_os_error());
    }
    path.pop();
    Ok(PathBuf::from(OsString::from_vec(path)))
}

/// Whether a program file has capabilities of its own, which make the loader careful.
pub fn has_capabilities(path: &Path) -> bool {
    let Ok(path) = c_string(path) else { return false };
    // SAFETY: both are C strings; with no room given only the size is returned.
    unsafe { libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

fn c_string(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
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
