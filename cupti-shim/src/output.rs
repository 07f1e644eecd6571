//! The trace file on disk: created without ever overwriting, complete with its header from its first moment, written
//! through a descriptor that stays out of the program's way.
//!
//! Programs close all descriptors they do not know, and then open files of their own under the same numbers: before
//! every write the file behind ours is compared with the one that we created.

mod create;
mod dump;
mod error;
mod files;

use std::cell::{Cell, RefCell};
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use trace_format::write::Output;

pub use create::{away_from_the_program, forget};
pub use error::{CreateError, DescriptorTaken};
pub use files::TraceFiles;

use crate::log::identity;

/// Our descriptors are not below this: shells, redirections and daemons use the low ones.
pub const LOWEST_FD: i32 = 64;
/// Where the length of the header stands in it, and how long that field is.
const HEADER_LENGTH_AT: std::ops::Range<usize> = 12..16;

/// A trace file being written. It appears under its name as soon as its header is complete.
#[derive(Debug)]
pub struct TraceFile {
    fd: i32,
    identity: (u64, u64),
    name: Rc<Name>,
    header: HeaderProgress,
}

/// Where a file will be, or is. Shared with [`TraceFiles`]: a clash is found, and the name changed, while writing.
#[derive(Debug)]
struct Name {
    path: RefCell<PathBuf>,
    stage: Cell<Stage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It has no name yet (O_TMPFILE).
    Unnamed,
    /// It has the temporary name.
    Temporary,
    /// It is where it belongs.
    Published,
}

#[derive(Debug, Default)]
struct HeaderProgress {
    length: Option<u64>,
    written: u64,
}

impl TraceFile {
    /// Opens a file for the trace at `path`, or, where that exists, at the first free of `NAME-1`, `NAME-2`, ...
    ///
    /// Missing folders are made. Errors: see [`CreateError`], whose text names the remedy.
    pub fn create(path: &Path) -> Result<TraceFile, CreateError> {
        create::open(path, true)
    }

    /// Where the file is.
    pub fn path(&self) -> PathBuf {
        self.name.path.borrow().clone()
    }

    /// Whether it can be found under [`TraceFile::path`].
    pub fn is_published(&self) -> bool {
        self.name.stage.get() == Stage::Published
    }

    /// Free and total bytes of the file system, for this user.
    pub fn space(&self) -> Option<Space> {
        let mut facts = std::mem::MaybeUninit::<libc::statfs>::zeroed();
        // SAFETY: `facts` is writable; all zeros is a valid value of it.
        let (rc, facts) = unsafe { (libc::fstatfs(self.fd, facts.as_mut_ptr()), facts.assume_init()) };
        let block = u64::try_from(facts.f_bsize).ok()?;
        (rc == 0 && facts.f_blocks > 0).then(|| Space {
            free: facts.f_bavail.saturating_mul(block),
            total: facts.f_blocks.saturating_mul(block),
        })
    }

    /// Brings everything written to the disk.
    pub fn sync_data(&self) -> io::Result<()> {
        self.check()?;
        // SAFETY: takes a number only.
        match unsafe { libc::fdatasync(self.fd) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Errors: the descriptor is no longer ours.
    fn check(&self) -> io::Result<()> {
        if identity(self.fd) == Some(self.identity) {
            return Ok(());
        }
        Err(io::Error::other(DescriptorTaken))
    }

    /// Gives the file its name once its header is whole.
    fn publish_when_ready(&mut self, written_to: u64) -> io::Result<()> {
        self.header.written = self.header.written.max(written_to);
        if self.header.length.is_some_and(|length| self.header.written >= length) {
            create::publish(self)?;
        }
        Ok(())
    }
}

/// Room on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes that this user may still take.
    pub free: u64,
    /// Bytes in all.
    pub total: u64,
}

impl Output for TraceFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.check()?;
        if offset == 0
            && let Some(length) = bytes.get(HEADER_LENGTH_AT).and_then(|b| b.first_chunk())
        {
            self.header.length = Some(u64::from(u32::from_le_bytes(*length)));
        }
        let at = i64::try_from(offset).map_err(io::Error::other)?;
        // SAFETY: the buffer is readable for its length.
        let written = unsafe { libc::pwrite(self.fd, bytes.as_ptr().cast(), bytes.len(), at) };
        // Negative: an error.
        let written = usize::try_from(written).map_err(|_| io::Error::last_os_error())?;
        if self.name.stage.get() != Stage::Published {
            self.publish_when_ready(offset + written as u64)?;
        }
        Ok(written)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.check()?;
        let len = i64::try_from(len).map_err(io::Error::other)?;
        // SAFETY: takes numbers only.
        match unsafe { libc::ftruncate(self.fd, len) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

impl Drop for TraceFile {
    fn drop(&mut self) {
        if self.name.stage.get() == Stage::Temporary
            && let Some(temporary) = create::temporary_path(&self.name.path.borrow())
        {
            // SAFETY: a terminated path.
            unsafe { libc::unlink(temporary.as_ptr()) };
        }
        if self.check().is_ok() {
            // SAFETY: still the descriptor that we opened.
            unsafe { libc::close(self.fd) };
        }
    }
}

fn c_path(path: &Path) -> Option<CString> {
    CString::new(path.as_os_str().as_bytes()).ok()
}

#[cfg(test)]
mod tests;
