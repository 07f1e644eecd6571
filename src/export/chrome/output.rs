//! Text goes out in pieces; compressed, each is a gzip member of its own, so that all threads compress.

use crate::error::{Error, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// Where the text goes.
pub struct Output<'o> {
    stream: &'o mut dyn Write,
    gzip: bool,
}

impl<'o> Output<'o> {
    /// Nothing written yet.
    pub fn new(stream: &'o mut dyn Write, gzip: bool) -> Self {
        Output { stream, gzip }
    }

    /// What makes a piece ready to be written, on whatever thread.
    pub fn packing(&self) -> impl Fn(Vec<u8>) -> Result<Vec<u8>> + Sync + use<> {
        let gzip = self.gzip;
        move |text| {
            if !gzip || text.is_empty() {
                return Ok(text);
            }
            let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 8), Compression::new(6));
            encoder.write_all(&text).and_then(|()| encoder.finish()).map_err(|e| Error::output(&e))
        }
    }

    /// Writes a piece that is ready.
    pub fn write(&mut self, packed: &[u8]) -> Result<()> {
        self.stream.write_all(packed).map_err(|e| Error::output(&e))
    }

    /// Writes text.
    pub fn text(&mut self, text: Vec<u8>) -> Result<()> {
        let packed = self.packing()(text)?;
        self.write(&packed)
    }
}
