//! Text goes out in pieces; compressed, each is a gzip member of its own, so that all threads compress.

use crate::error::{Error, Result};
use crate::export::write_thread::WriteThread;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// Where the text goes.
pub struct Output<'o> {
    thread: &'o mut WriteThread,
    gzip: bool,
}

impl<'o> Output<'o> {
    /// Nothing written yet.
    pub fn new(thread: &'o mut WriteThread, gzip: bool) -> Self {
        Output { thread, gzip }
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
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn write(&mut self, packed: Vec<u8>) -> Result<()> {
        self.thread.push(packed)
    }

    /// Writes text.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn text(&mut self, text: Vec<u8>) -> Result<()> {
        let packed = self.packing()(text)?;
        self.write(packed)
    }
}
