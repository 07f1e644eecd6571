//! The SONAME of a shared object, read from its dynamic section.
//!
//! File names do not tell: a toolkit's `libcupti.so.12` is a link to `libcupti.so.2025.2.1`, which is what
//! `/proc/self/maps` shows. Every number in the file is distrusted; anything odd is "no SONAME".

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const DT_NULL: u64 = 0;
const DT_STRTAB: u64 = 5;
const DT_SONAME: u64 = 14;

/// No library has more; a damaged header may claim 65,535.
const MOST_SEGMENTS: u16 = 64;
/// Entries of 16 bytes. The real libraries have around 30.
const MOST_DYNAMIC_BYTES: u64 = 16 * 1024;
/// Longer than any file name may be.
const MOST_NAME_BYTES: usize = 256;

/// The SONAME of the 64-bit little-endian shared object at `path`; `None` if it has none or is no such object.
pub fn soname(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    let mut header = [0u8; 64];
    file.read_exact_at(&mut header, 0).ok()?;
    if header[..6] != *b"\x7fELF\x02\x01" {
        return None;
    }
    let segments_at = u64_at(&header, 32)?;
    let segment_bytes = u16::from_le_bytes([header[54], header[55]]);
    let segment_count = u16::from_le_bytes([header[56], header[57]]).min(MOST_SEGMENTS);
    if segment_bytes < 56 {
        return None;
    }
    let mut loads = Vec::new();
    let mut dynamic = None;
    for i in 0..segment_count {
        let mut segment = [0u8; 56];
        let at = segments_at.checked_add(u64::from(i) * u64::from(segment_bytes))?;
        file.read_exact_at(&mut segment, at).ok()?;
        let kind = u32::from_le_bytes([segment[0], segment[1], segment[2], segment[3]]);
        let (offset, address, bytes) = (u64_at(&segment, 8)?, u64_at(&segment, 16)?, u64_at(&segment, 32)?);
        match kind {
            PT_LOAD => loads.push((address, bytes, offset)),
            PT_DYNAMIC => dynamic = Some((offset, bytes.min(MOST_DYNAMIC_BYTES))),
            _ => {}
        }
    }
    let (dynamic_at, dynamic_bytes) = dynamic?;
    let mut entries = vec![0u8; usize::try_from(dynamic_bytes).ok()?];
    file.read_exact_at(&mut entries, dynamic_at).ok()?;
    let (mut strings_address, mut name_at) = (None, None);
    for entry in entries.chunks_exact(16) {
        let (tag, value) = (u64_at(entry, 0)?, u64_at(entry, 8)?);
        match tag {
            DT_NULL => break,
            DT_STRTAB => strings_address = Some(value),
            DT_SONAME => name_at = Some(value),
            _ => {}
        }
    }
    let name_address = strings_address?.checked_add(name_at?)?;
    let (address, _, offset) =
        loads.into_iter().find(|&(address, bytes, _)| name_address >= address && name_address - address < bytes)?;
    let mut name = [0u8; MOST_NAME_BYTES];
    let read = file.read_at(&mut name, offset.checked_add(name_address - address)?).ok()?;
    let end = name[..read].iter().position(|&b| b == 0)?;
    (end > 0).then(|| String::from_utf8(name[..end].to_vec()).ok())?
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}
