//! Pieces of an output that are written while those that follow are made: the disk and the threads work side by side.

use crate::error::{Error, Result};
use std::io::Write;

/// A stream, and what is ready to go there.
pub struct Behind<'o> {
    stream: &'o mut (dyn Write + Send),
    ready: Vec<Vec<u8>>,
    ready_bytes: usize,
}

/// So much is ready at most before it is written, whether anything else is made or not.
const READY_BYTES: usize = 16 << 20;

impl<'o> Behind<'o> {
    /// Nothing written yet.
    pub fn new(stream: &'o mut (dyn Write + Send)) -> Self {
        Behind { stream, ready: Vec::new(), ready_bytes: 0 }
    }

    /// Adds what comes next.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn push(&mut self, piece: Vec<u8>) -> Result<()> {
        if self.ready_bytes >= READY_BYTES {
            self.flush()?;
        }
        self.ready_bytes += piece.len();
        self.ready.push(piece);
        Ok(())
    }

    /// Makes the pieces that come next while those that are ready are written.
    ///
    /// # Errors
    /// The output cannot be written, or what `make` returns.
    pub fn make(&mut self, make: impl FnOnce() -> Result<Vec<Vec<u8>>> + Send) -> Result<()> {
        let Behind { stream, ready, .. } = self;
        let write = || ready.drain(..).try_for_each(|piece| stream.write_all(&piece));
        let (written, made) = rayon::join(write, make);
        written.map_err(|e| Error::output(&e))?;
        self.ready = made?;
        self.ready_bytes = self.ready.iter().map(Vec::len).sum();
        Ok(())
    }

    /// Writes what is ready.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        self.ready_bytes = 0;
        self.ready.drain(..).try_for_each(|piece| self.stream.write_all(&piece)).map_err(|e| Error::output(&e))
    }
}
