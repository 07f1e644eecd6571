//! Names in records: copies that die when the completed callback of their buffer returns.

use std::ffi::c_char;

/// Copies of names, made for one buffer and gone with it.
pub struct Names {
    cache: Box<[(u64, *const c_char); 64]>,
    copies: Vec<(*mut c_char, usize)>,
}

impl Names {
    pub fn new() -> Names {
        Names { cache: Box::new([(0, std::ptr::null()); 64]), copies: Vec::new() }
    }

    /// A copy of `name` that lives as long as the buffer. `key` is one per text.
    pub unsafe fn copy(&mut self, key: u64, name: *const c_char) -> *const c_char {
        if name.is_null() {
            return name;
        }
        let place = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize;
        if let Some(entry) = self.cache.get(place).filter(|entry| entry.0 == key && !entry.1.is_null()) {
            return entry.1;
        }
        let bytes = libc::strlen(name) + 1;
        let copy = libc::malloc(bytes).cast::<c_char>();
        std::ptr::copy_nonoverlapping(name, copy, bytes);
        self.copies.push((copy, bytes));
        if let Some(entry) = self.cache.get_mut(place) {
            *entry = (key, copy);
        }
        copy
    }

    /// Writes over all names and frees them.
    pub unsafe fn die(self) {
        for (name, bytes) in self.copies {
            std::ptr::write_bytes(name.cast::<u8>(), b'#', bytes - 1);
            libc::free(name.cast());
        }
    }
}
