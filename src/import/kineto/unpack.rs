//! Reads and unpacks a file in a thread of its own, a chunk ahead of whoever reads the text.
//!
//! Unpacking takes longer than everything else together (0.8 s of 1.2 s for 315 MB of JSON), so it must never wait
//! for the reader; chunks go round in a circle, and there are as many as the memory budget allows.

use crate::error::{Error, Result};
use crate::import::GZIP_MAGIC;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Bytes per chunk. Small enough that text, tokens and the inflate window stay in the cache of two cores together,
/// large enough that handing one over costs nothing.
const CHUNK_BYTES: usize = 256 << 10;

/// Chunks under way. A few milliseconds of either side standing still are evened out.
const CHUNKS: usize = 8;

/// Why the text ended before the file did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What the system or the unpacker said.
    pub reason: String,
    /// Whether the file just ends too early, as after a killed copy.
    pub is_cut: bool,
}

/// Calls `read` with a source of the unpacked text of `path` and returns its result, and what went wrong with the
/// file on the way if anything did; the source then has ended early.
pub fn with_text<T>(
    path: &Path,
    read: impl FnOnce(&mut dyn FnMut(&mut Vec<u8>) -> bool) -> T,
) -> Result<(T, Option<Failure>)> {
    let mut file = File::open(path).map_err(|e| Error::at(path, format_args!("cannot be opened: {e}")))?;
    let mut magic = [0; 2];
    let packed = file.read_exact(&mut magic).is_ok() && magic == GZIP_MAGIC;
    file.rewind().map_err(|e| Error::at(path, format_args!("cannot be read from its beginning: {e}")))?;

    let (full, filled) = sync_channel::<io::Result<Vec<u8>>>(CHUNKS);
    let (empty, emptied) = sync_channel::<Vec<u8>>(CHUNKS);
    for _ in 0..CHUNKS {
        let _ = empty.send(Vec::with_capacity(CHUNK_BYTES));
    }
    thread::scope(|scope| {
        thread::Builder::new()
            .name("unpack".into())
            .spawn_scoped(scope, move || {
                let input = BufReader::with_capacity(CHUNK_BYTES, file);
                if packed {
                    fill(flate2::bufread::MultiGzDecoder::new(input), &full, &emptied);
                } else {
                    fill(input, &full, &emptied);
                }
            })
            .map_err(|e| Error::at(path, format_args!("cannot be unpacked: no thread could be started: {e}")))?;
        let mut failure = None;
        let result = read(&mut |text| match filled.recv() {
            Ok(Ok(chunk)) => {
                text.extend_from_slice(&chunk);
                let _ = empty.send(chunk);
                true
            }
            Ok(Err(e)) => {
                failure = Some(Failure { reason: e.to_string(), is_cut: e.kind() == ErrorKind::UnexpectedEof });
                false
            }
            Err(_) => false,
        });
        // A reader that had enough lets the other side's next send fail, which ends that thread.
        drop((filled, empty));
        Ok((result, failure))
    })
}

/// Sends all of `input`, chunk by chunk. What came before an error is sent before it.
fn fill(mut input: impl Read, full: &SyncSender<io::Result<Vec<u8>>>, emptied: &Receiver<Vec<u8>>) {
    while let Ok(mut chunk) = emptied.recv() {
        chunk.clear();
        let outcome = input.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut chunk);
        let ended = outcome.as_ref().is_ok_and(|&bytes| bytes == 0);
        let sent = chunk.is_empty() || full.send(Ok(chunk)).is_ok();
        if let Err(e) = outcome {
            let _ = full.send(Err(e));
            return;
        }
        if ended || !sent {
            return;
        }
    }
}
