//! What a reader reads from.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes at positions, as `pread` gives them. Never a mapping: mapped pages count as memory of the process, and a
/// file that is cut or ringed away under a mapping ends the program with SIGBUS.
pub trait Source: Send + Sync {
    /// Reads some bytes at `offset`, returns how many; 0 at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Length at this moment.
    fn len(&self) -> io::Result<u64>;
    /// Whether there are no bytes at this moment.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

impl Source for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }
    fn len(&self) -> io::Result<u64> {
        self.metadata().map(|m| m.len())
    }
}

impl Source for [u8] {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let bytes = &self[start..self.len().min(start.saturating_add(buffer.len()))];
        buffer[..bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len())
    }
    fn len(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

impl Source for Vec<u8> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        Source::read_at(self.as_slice(), buffer, offset)
    }
    fn len(&self) -> io::Result<u64> {
        Ok(self.as_slice().len() as u64)
    }
}

impl<T: Source + ?Sized> Source for &T {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).read_at(buffer, offset)
    }
    fn len(&self) -> io::Result<u64> {
        (**self).len()
    }
}

impl<T: Source + ?Sized> Source for std::sync::Arc<T> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).read_at(buffer, offset)
    }
    fn len(&self) -> io::Result<u64> {
        (**self).len()
    }
}
