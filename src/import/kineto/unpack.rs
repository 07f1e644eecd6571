//! Reads and unpacks a file in a thread of its own, a chunk ahead of whoever reads the text.
//!
//! Unpacking takes longer than everything else together (0.8 s of 1.2 s for 315 MB of JSON), so it must never wait
//! for the reader; chunks go round in a circle, and there are as many as the memory budget allows.

use crate::error::{Error, Result};
use crate::import::GZIP_MAGIC;
use crate::import::encoding::Decoded;
use flate2::bufread::MultiGzDecoder;
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

/// Calls `read` with a source of the unpacked text of `path`, as UTF-8 whatever it was written in, and returns its
/// result, and what went wrong with the file on the way if anything did; the source then has ended early.
pub fn with_text<T>(
    path: &Path,
    read: impl FnOnce(&mut dyn FnMut(&mut Vec<u8>) -> bool) -> T,
) -> Result<(T, Option<Failure>)> {
    with_content(path, true, read)
}

/// The same of a file that is no text: its bytes as they are.
pub fn with_bytes<T>(
    path: &Path,
    read: impl FnOnce(&mut dyn FnMut(&mut Vec<u8>) -> bool) -> T,
) -> Result<(T, Option<Failure>)> {
    with_content(path, false, read)
}

fn with_content<T>(
    path: &Path,
    is_text: bool,
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
                match (packed, is_text) {
                    (true, true) => fill(Decoded::new(MultiGzDecoder::new(input)), &full, &emptied),
                    (true, false) => fill(MultiGzDecoder::new(input), &full, &emptied),
                    (false, true) => fill(Decoded::new(input), &full, &emptied),
                    (false, false) => fill(input, &full, &emptied),
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

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).and_then(|()| encoder.finish()).expect("packs into memory")
    }

    /// What comes out of a file with this content.
    fn unpacked(name: &str, content: &[u8]) -> (Vec<u8>, Option<Failure>) {
        let path = std::env::temp_dir().join(format!("gpuprof-unpack-{}-{name}", std::process::id()));
        std::fs::write(&path, content).expect("a temporary file");
        let result = with_bytes(&path, |source| {
            let mut text = Vec::new();
            while source(&mut text) {}
            text
        });
        std::fs::remove_file(&path).expect("removes it again");
        result.expect("opens")
    }

    /// A text of several chunks that does not pack into nothing.
    fn long() -> Vec<u8> {
        (0..3 * CHUNK_BYTES as u32 / 4).flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 8).to_le_bytes()).collect()
    }

    #[test]
    fn plain_and_packed_text_come_out_the_same() {
        let text = long();
        assert_eq!(unpacked("plain", &text), (text.clone(), None));
        assert_eq!(unpacked("packed", &packed(&text)), (text.clone(), None));
        let (front, back) = text.split_at(1000);
        assert_eq!(unpacked("members", &[packed(front), packed(b""), packed(back)].concat()), (text, None));
        assert_eq!(unpacked("empty", b""), (vec![], None));
        assert_eq!(unpacked("one byte", b"["), (b"[".to_vec(), None));
    }

    #[test]
    fn what_comes_before_damage_is_kept() {
        let text = long();
        let whole = packed(&text);
        let (front, failure) = unpacked("cut", &whole[..whole.len() / 2]);
        assert!(front.len() > CHUNK_BYTES && text.starts_with(&front));
        assert!(failure.expect("said").is_cut);

        let mut damaged = whole.clone();
        let checksum = damaged.len() - 6;
        damaged[checksum] ^= 1;
        let (all, failure) = unpacked("checksum", &damaged);
        assert_eq!(all, text);
        assert!(!failure.expect("said").is_cut);
    }

    #[test]
    fn a_reader_may_stop_early() {
        let path = std::env::temp_dir().join(format!("gpuprof-unpack-{}-early", std::process::id()));
        std::fs::write(&path, packed(&long())).expect("a temporary file");
        let result = with_text(&path, |source| source(&mut Vec::new()));
        std::fs::remove_file(&path).expect("removes it again");
        assert_eq!(result.expect("opens"), (true, None));
        assert!(with_text(Path::new("/nonexistent"), |_| ()).is_err());
    }
}
