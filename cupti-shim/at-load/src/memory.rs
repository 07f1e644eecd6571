//! Memory that stays: pages of our own, because before `main` a program's allocator may not be ready.

use core::mem::align_of;
use core::ptr::null_mut;

/// A block that is filled from its beginning and never given back.
pub struct Block {
    at: *mut u8,
    left: usize,
}

impl Block {
    /// One for so many bytes. None: the kernel has no memory.
    pub(crate) fn new(bytes: usize) -> Option<Block> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh anonymous mapping touches nothing that exists.
        let at = unsafe { libc::mmap(null_mut(), bytes, protection, flags, -1, 0) };
        (at != libc::MAP_FAILED).then_some(Block { at: at.cast(), left: bytes })
    }

    /// Whether so many bytes are left.
    pub(crate) fn has(&self, bytes: usize) -> bool {
        self.left >= bytes
    }

    /// Room for `count` of `T`, zeroed; the null pointer where there is none left.
    pub(crate) fn room<T>(&mut self, count: usize) -> *mut T {
        let skip = self.at.align_offset(align_of::<T>());
        let bytes = count.wrapping_mul(size_of::<T>());
        let Some(left) = self.left.checked_sub(skip).and_then(|left| left.checked_sub(bytes)) else {
            return null_mut();
        };
        self.left = left;
        let room = self.at.wrapping_add(skip);
        self.at = room.wrapping_add(bytes);
        room.cast()
    }

    /// Puts `bytes` at the end of what is there; false where there is no room.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> bool {
        let to = self.room::<u8>(bytes.len());
        if !to.is_null() {
            // SAFETY: as much room, just taken, which nobody else knows.
            unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
        !to.is_null()
    }

    /// Where the next byte would go.
    pub(crate) fn end(&self) -> *mut u8 {
        self.at
    }
}
