//! What nvprof 11.8 made of a mangled name, mistakes included.
//!
//! nvprof's demangler knows the Itanium ABI as of about 2003 and has faults of its own. Its source was not
//! available; everything here was derived from pairs of mangled and printed names. What it cannot read it leaves
//! mangled, so each `Err(Invalid)` is as much a part of its behaviour as the rest. Reading is in `read.rs` and
//! `types.rs`, printing, where the stranger faults are, in `print.rs`.

mod items;
mod print;
mod read;
#[cfg(test)]
mod tests;
mod types;

use self::read::Reader;

/// Bytes nvprof prints of a demangled name: what it has room for, less the terminator.
const MAX_PRINTED: usize = 4095;

/// Demangles as nvprof does; `None` where nvprof leaves the name mangled.
pub(super) fn demangle(name: &[u8]) -> Option<String> {
    let (items, root) = Reader::read(name.strip_prefix(b"_Z")?).ok()?;
    let mut text = print::print(&items, root)?;
    if text.len() > MAX_PRINTED {
        let end = (0..=MAX_PRINTED).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
    }
    Some(text)
}
