//! Text goes out in pieces; compressed, each is a gzip member of its own, so that all threads compress.

use crate::error::{Error, Result};
use crate::export::behind::Behind;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// Where the text goes.
pub struct Output<'o> {
    behind: Behind<'o>,
    gzip: bool,
}

impl<'o> Output<'o> {
    /// Nothing written yet.
    pub fn new(stream: &'o mut (dyn Write + Send), gzip: bool) -> Self {
        Output { behind: Behind::new(stream), gzip }
    }

    /// Makes pieces of text, each ready to be written on whatever thread it was made, while those before are written.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn make(&mut self, make: impl FnOnce(&Packing) -> Result<Vec<Vec<u8>>> + Send) -> Result<()> {
        let packing = Packing { gzip: self.gzip };
        self.behind.make(|| make(&packing))
    }

    /// Writes text.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn text(&mut self, text: Vec<u8>) -> Result<()> {
        self.behind.push(Packing { gzip: self.gzip }.pack(text)?)
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(&mut self) -> Result<()> {
        self.behind.flush()
    }
}

/// What makes a piece of text ready to be written.
pub struct Packing {
    gzip: bool,
}

impl Packing {
    /// The piece, packed if asked for.
    ///
    /// # Errors
    /// None that a text can cause.
    pub fn pack(&self, text: Vec<u8>) -> Result<Vec<u8>> {
        if !self.gzip || text.is_empty() {
            return Ok(text);
        }
        let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 8), Compression::new(6));
        encoder.write_all(&text).and_then(|()| encoder.finish()).map_err(|e| Error::output(&e))
    }
}
