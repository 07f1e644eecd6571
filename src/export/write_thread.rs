//! A thread that writes the pieces of an output while the pieces that follow are made.

use crate::error::{Error, Result};
use std::io::Write;
use std::sync::mpsc::{SyncSender, sync_channel};

/// Pieces that may wait to be written. They are megabytes each.
const WAITING: usize = 8;

/// Where pieces go.
pub struct WriteThread {
    pieces: SyncSender<Vec<u8>>,
}

impl WriteThread {
    /// Hands over what comes next; waits while too much waits.
    ///
    /// # Errors
    /// Fails if the output cannot be written. [`writing`] says why.
    pub fn push(&mut self, piece: Vec<u8>) -> Result<()> {
        self.pieces.send(piece).map_err(|_| Error::new("the output cannot be written"))
    }
}

/// Runs `make`, whose pieces are written to `stream` in the order in which it hands them over. All are written when this
/// returns.
///
/// # Errors
/// Fails if the output cannot be written, and with any error that `make` returns.
pub fn writing<T>(stream: &mut (dyn Write + Send), make: impl FnOnce(&mut WriteThread) -> Result<T>) -> Result<T> {
    let (pieces, waiting) = sync_channel::<Vec<u8>>(WAITING);
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || waiting.into_iter().try_for_each(|piece| stream.write_all(&piece)));
        let mut thread = WriteThread { pieces };
        let made = make(&mut thread);
        // Without a sender the writer ends when it has written what waits.
        drop(thread);
        let written = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.map_err(|e| Error::output(&e))?;
        made
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_written_in_order() {
        let mut out = Vec::new();
        let made = writing(&mut out, |thread| {
            (0..100_u8).try_for_each(|i| thread.push(vec![i; usize::from(i)]))?;
            Ok(7)
        });
        assert_eq!(made.unwrap(), 7);
        assert_eq!(out, (0..100_u8).flat_map(|i| vec![i; usize::from(i)]).collect::<Vec<u8>>());
    }

    #[test]
    fn what_the_output_says_is_the_error_and_nothing_waits_for_ever() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let made = writing(&mut Full, |thread| (0..1000).try_for_each(|_| thread.push(vec![1])));
        let expected = Error::output(&std::io::ErrorKind::StorageFull.into());
        assert_eq!(made.unwrap_err().to_string(), expected.to_string());
    }
}
