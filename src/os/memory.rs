//! Another process's memory.

use std::io;

/// Pieces that one call reads: partial reads end at the border of a piece, so pages are pieces.
const PAGE: usize = 4096;
const MOST_PIECES: usize = 64;

/// Reads from `address` on as much of `buffer` as there is; returns how many bytes.
///
/// # Errors
/// Fails if nothing can be read at this address, or if this user may not read it.
pub fn read(pid: u32, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let length = buffer.len().min(PAGE * (MOST_PIECES - 1));
    let mut pieces: Vec<libc::iovec> = Vec::with_capacity(MOST_PIECES);
    let (mut at, end) = (address, address.saturating_add(length as u64));
    while at < end && pieces.len() < MOST_PIECES {
        let next = ((at / PAGE as u64 + 1) * PAGE as u64).min(end);
        let base = std::ptr::without_provenance_mut(at as usize);
        pieces.push(libc::iovec { iov_base: base, iov_len: (next - at) as usize });
        at = next;
    }
    let own = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: length };
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::ErrorKind::NotFound)?;
    // SAFETY: `own` is the first `length` bytes of `buffer`; the other pieces are addresses in the other process, which
    // the kernel checks; the counts are those of the two arrays.
    let read = unsafe {
        libc::process_vm_readv(pid, &raw const own, 1, pieces.as_ptr(), pieces.len() as libc::c_ulong, 0)
    };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// A number at `address`; `None` where it cannot be read whole.
pub fn word(pid: u32, address: u64) -> Option<u32> {
    let mut bytes = [0; 4];
    (read(pid, address, &mut bytes).ok()? == bytes.len()).then(|| u32::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_read_and_what_is_not_is_an_error() {
        let source: Vec<u8> = (0..30_000_u32).map(|i| i as u8).collect();
        let address = source.as_ptr().addr() as u64;
        let mut buffer = vec![0; source.len()];
        assert_eq!(read(std::process::id(), address, &mut buffer).unwrap(), source.len());
        assert_eq!(buffer, source);
        assert_eq!(word(std::process::id(), address), Some(u32::from_ne_bytes([0, 1, 2, 3])));
        assert!(read(std::process::id(), 16, &mut buffer).is_err());
        assert_eq!(word(std::process::id(), 16), None);
    }
}
