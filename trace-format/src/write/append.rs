//! Appending to an output that may fail half-way.

use std::io;

use super::output::Output;
use crate::frame::HEADER_BYTES;

/// An output and the end of what is whole in it.
pub(super) struct Appender<W> {
    pub output: W,
    /// Where the next bytes go.
    pub offset: u64,
    /// Where a write that failed may have left bytes; above `offset` only then.
    dirty_end: u64,
}

impl<W: Output> Appender<W> {
    pub(super) fn new(output: W) -> Self {
        Appender { output, offset: 0, dirty_end: 0 }
    }

    /// Writes `bytes` at the end, all or nothing.
    ///
    /// Errors: the output refused, nothing was appended; what it left of the bytes is cut off, now or later.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.cut();
        let head = bytes.len().min(HEADER_BYTES);
        let written = if self.dirty_end > self.offset {
            // Leftovers of a failed write cannot be cut off. A good header over an old body would look like a
            // damaged frame, so there is no header until the body is whole.
            self.write_at(&[0; HEADER_BYTES][..head], 0)
                .and_then(|()| self.write_at(&bytes[head..], head as u64))
                .and_then(|()| self.write_at(&bytes[..head], 0))
        } else {
            self.write_at(bytes, 0)
        };
        if written.is_ok() {
            self.offset += bytes.len() as u64;
        }
        self.cut();
        written
    }

    /// Writes `bytes` at some distance behind the end, however many calls that takes.
    fn write_at(&mut self, bytes: &[u8], distance: u64) -> io::Result<()> {
        let start = self.offset + distance;
        let mut done = 0;
        while done < bytes.len() {
            match self.output.write_at(&bytes[done..], start + done as u64) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    done = bytes.len().min(done + n);
                    self.dirty_end = self.dirty_end.max(start + done as u64);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Cuts off what a failed write left, if anything.
    fn cut(&mut self) {
        if self.dirty_end > self.offset && self.output.truncate(self.offset).is_ok() {
            self.dirty_end = self.offset;
        }
    }
}
