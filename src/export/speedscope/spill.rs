//! Many streams written at once and read back one after another: profiles follow each other in the file, while their
//! slices come in the order of time. What does not fit into memory goes through one temporary file.

use crate::error::{Error, Result};
use crate::os::disk;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

/// Bytes that a stream holds in memory before they go to the temporary file.
const HELD_BYTES: usize = 64 * 1024;

/// One of the streams.
#[derive(Default)]
pub(super) struct Stream {
    held: Vec<u8>,
    /// Where in the temporary file the bytes before `held` are: offset and length.
    pieces: Vec<(u64, usize)>,
}

impl Stream {
    /// Whether nothing was written to it.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty() && self.pieces.is_empty()
    }
}

/// The temporary file, made when first needed. It has no name any more, so it goes with us, however we end.
#[derive(Default)]
pub(super) struct Spill {
    file: Option<File>,
    length: u64,
}

impl Spill {
    /// Appends to `stream` what `write` writes.
    ///
    /// # Errors
    /// Fails if the temporary file cannot be made or written.
    pub(super) fn append(&mut self, stream: &mut Stream, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        write(&mut stream.held);
        if stream.held.len() < HELD_BYTES {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(disk::unnamed_file().map_err(Error::temporary)?),
        };
        file.seek(SeekFrom::Start(self.length))
            .and_then(|_| file.write_all(&stream.held))
            .map_err(Error::temporary)?;
        stream.pieces.push((self.length, stream.held.len()));
        self.length += stream.held.len() as u64;
        stream.held.clear();
        Ok(())
    }

    /// Writes all of `stream` to `out`.
    ///
    /// # Errors
    /// Fails if the temporary file cannot be read, or if the output cannot be written.
    pub(super) fn copy(&mut self, stream: &Stream, out: &mut dyn Write) -> Result<()> {
        let mut piece = Vec::new();
        for &(offset, length) in &stream.pieces {
            let Some(file) = &mut self.file else { break };
            piece.resize(length, 0);
            file.seek(SeekFrom::Start(offset))
                .and_then(|_| file.read_exact(&mut piece))
                .map_err(Error::temporary)?;
            out.write_all(&piece).map_err(|e| Error::output(&e))?;
        }
        out.write_all(&stream.held).map_err(|e| Error::output(&e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_come_back_whole_however_they_were_mixed() {
        let mut spill = Spill::default();
        let mut streams: Vec<Stream> = (0..3).map(|_| Stream::default()).collect();
        let mut expected = vec![Vec::new(); 3];
        for i in 0..60_000_u32 {
            let which = (i * i % 7 % 3) as usize;
            let text = format!("{i},");
            expected[which].extend_from_slice(text.as_bytes());
            spill.append(&mut streams[which], |out| out.extend_from_slice(text.as_bytes())).unwrap();
        }
        assert!(spill.length > 0, "the temporary file was used");
        for (stream, expected) in streams.iter().zip(expected) {
            let mut out = Vec::new();
            spill.copy(stream, &mut out).unwrap();
            assert_eq!(out, expected);
        }
    }
}
