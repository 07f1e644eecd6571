//! What a writer writes to.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes at positions, as `pwrite` takes them.
///
/// The writer keeps its own offset: whoever else moves the descriptor's position, or shares it after a fork, does
/// not move our bytes.
pub trait Output {
    /// Writes some of `bytes` at `offset`, returns how many.
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// Cuts the output to `len` bytes.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
    /// Brings everything written to the disk.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for File {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

impl Output for Vec<u8> {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let end = start.checked_add(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        if self.len() < end {
            self.resize(end, 0);
        }
        self[start..end].copy_from_slice(bytes);
        Ok(bytes.len())
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        Vec::truncate(self, usize::try_from(len).unwrap_or(usize::MAX));
        Ok(())
    }
}

impl<T: Output + ?Sized> Output for &mut T {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        (**self).write_at(bytes, offset)
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        (**self).truncate(len)
    }
    fn sync(&mut self) -> io::Result<()> {
        (**self).sync()
    }
}

impl<T: Output + ?Sized> Output for Box<T> {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        (**self).write_at(bytes, offset)
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        (**self).truncate(len)
    }
    fn sync(&mut self) -> io::Result<()> {
        (**self).sync()
    }
}
