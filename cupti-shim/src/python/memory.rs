//! This process's own memory, at first through the kernel, which knows bad addresses.

use crate::output::away_from_the_program;
use std::sync::atomic::{AtomicU8, Ordering};

/// The first page is never mapped: numbers below are not addresses.
const FIRST_ADDRESS: usize = 4096;

/// Whether what is read has proved to be what it is taken for.
#[derive(Debug, Default)]
pub(super) struct Trust(AtomicU8);

impl Trust {
    const YES: u8 = 1;

    /// How to read now.
    pub(super) fn memory(&self) -> Memory {
        if self.0.load(Ordering::Relaxed) == Trust::YES {
            return Memory::Direct;
        }
        // SAFETY: a terminated path; a descriptor or an error.
        let fd = unsafe { libc::open(c"/proc/self/mem".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        Memory::Guarded(if fd < 0 { fd } else { away_from_the_program(fd) })
    }

    /// A whole stack was as it should be.
    pub(super) fn earned(&self) {
        self.0.store(Trust::YES, Ordering::Relaxed);
    }
}

/// A way to read.
pub(super) enum Memory {
    /// Memory is read as any program reads its own.
    Direct,
    /// By a descriptor of `/proc/self/mem`, or below 0 if there is none: then nothing can be read.
    Guarded(i32),
}

impl Memory {
    /// Fills `buffer` from an address. False: it cannot be read.
    ///
    /// # Safety
    /// Once trusted, the address must be one of so many readable bytes that nobody writes to meanwhile.
    #[inline]
    pub(super) unsafe fn read(&self, address: usize, buffer: &mut [u8]) -> bool {
        if address < FIRST_ADDRESS {
            return false;
        }
        match *self {
            Memory::Direct => {
                let from: *const u8 = std::ptr::with_exposed_provenance(address);
                // SAFETY: the caller's promise; the buffer is another one.
                unsafe { std::ptr::copy_nonoverlapping(from, buffer.as_mut_ptr(), buffer.len()) };
                true
            }
            Memory::Guarded(fd) => {
                let Ok(at) = libc::off_t::try_from(address) else { return false };
                // SAFETY: the kernel writes at most so many bytes to the buffer; a bad descriptor or address is an error.
                let read = unsafe { libc::pread(fd, buffer.as_mut_ptr().cast(), buffer.len(), at) };
                usize::try_from(read) == Ok(buffer.len())
            }
        }
    }

    /// A pointer or a number of that size.
    ///
    /// # Safety
    /// As [`Memory::read`].
    #[inline]
    pub(super) unsafe fn word(&self, address: usize) -> Option<usize> {
        let mut bytes = [0; 8];
        // SAFETY: the caller's promise.
        unsafe { self.read(address, &mut bytes) }.then(|| usize::from_ne_bytes(bytes))
    }

    /// A 32-bit number.
    ///
    /// # Safety
    /// As [`Memory::read`].
    #[inline]
    pub(super) unsafe fn number(&self, address: usize) -> Option<u32> {
        let mut bytes = [0; 4];
        // SAFETY: the caller's promise.
        unsafe { self.read(address, &mut bytes) }.then(|| u32::from_ne_bytes(bytes))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Memory::Guarded(fd @ 0..) = *self {
            // SAFETY: ours.
            unsafe { libc::close(fd) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_addresses_are_known_until_trust_is_earned() {
        let trust = Trust::default();
        let value = 0x1234_5678_9abc_def0_usize;
        let address = (&raw const value).expose_provenance();
        let guarded = trust.memory();
        // SAFETY: one address is good; the others are looked at by the kernel alone.
        unsafe {
            assert_eq!(guarded.word(address), Some(value));
            assert_eq!(guarded.word(0x1000), None);
            assert_eq!(guarded.word(usize::MAX - 16), None);
            assert_eq!(guarded.word(8), None);
        }
        trust.earned();
        assert!(matches!(trust.memory(), Memory::Direct));
        // SAFETY: a good address; the other is refused unseen.
        unsafe {
            assert_eq!(trust.memory().number(address), Some(0x9abc_def0));
            assert_eq!(trust.memory().word(8), None);
        }
    }
}
