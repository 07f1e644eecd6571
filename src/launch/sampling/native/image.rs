//! ELF files: what unwinding and naming need of one. Read once per file, whatever number of processes map it.

use object::elf::PF_X;
use object::read::ReadCache;
use object::{Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _, SegmentFlags, SymbolKind};
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

/// A section: where it belongs in memory, and its bytes.
#[derive(Clone, Debug)]
pub struct Section {
    /// Addresses as the file states them.
    pub range: Range<u64>,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
}

/// What is kept of a file.
#[derive(Debug, Default)]
pub struct Image {
    /// Loadable segments with code: place in the file, length there, address.
    segments: Vec<(u64, u64, u64)>,
    /// Unwind tables.
    pub eh_frame: Option<Section>,
    /// Their index.
    pub eh_frame_hdr: Option<Section>,
    /// Where `.text` belongs.
    pub text: Option<Range<u64>>,
    /// Functions by address: address, length, place of the name in `names`.
    functions: Vec<(u64, u64, u32)>,
    names: Vec<u8>,
}

impl Image {
    /// Reads a file. What it lacks is left out; a file that is no ELF file has nothing.
    pub fn read(file: File) -> Image {
        let cache = ReadCache::new(file);
        object::File::parse(&cache).map(|elf| Image::of(&elf)).unwrap_or_default()
    }

    /// Reads what is in memory as a file would be: the kernel's own page of functions.
    pub fn of_bytes(bytes: &[u8]) -> Image {
        object::File::parse(bytes).map(|elf| Image::of(&elf)).unwrap_or_default()
    }

    fn of<'d, R: object::ReadRef<'d>>(elf: &object::File<'d, R>) -> Image {
        let section = |name: &str| {
            let section = elf.section_by_name(name)?;
            let bytes = section.data().ok()?;
            let range = section.address()..section.address().saturating_add(section.size());
            (!bytes.is_empty()).then(|| Section { range, bytes: bytes.into() })
        };
        let mut image = Image {
            segments: elf
                .segments()
                .filter(|segment| match segment.flags() {
                    SegmentFlags::Elf { p_flags, .. } => p_flags.0 & PF_X.0 != 0,
                    _ => false,
                })
                .map(|segment| {
                    let (offset, length) = segment.file_range();
                    (offset, length, segment.address())
                })
                .collect(),
            eh_frame: section(".eh_frame"),
            eh_frame_hdr: section(".eh_frame_hdr"),
            text: elf.section_by_name(".text").map(|s| s.address()..s.address().saturating_add(s.size())),
            ..Image::default()
        };
        for symbol in elf.symbols().chain(elf.dynamic_symbols()) {
            if symbol.kind() != SymbolKind::Text || symbol.is_undefined() || symbol.address() == 0 {
                continue;
            }
            let (Ok(name), Ok(place)) = (symbol.name_bytes(), u32::try_from(image.names.len())) else { continue };
            // Names end with a zero byte, which none has inside.
            image.names.extend_from_slice(name);
            image.names.push(0);
            image.functions.push((symbol.address(), symbol.size(), place));
        }
        // Of several names for one address the one that says how long the function is, then the first in the file.
        image.functions.sort_by_key(|&(address, length, _)| (address, std::cmp::Reverse(length)));
        image.functions.dedup_by_key(|&mut (address, ..)| address);
        image
    }

    /// The address that the file states for the byte at `offset` in it, where a mapping with code begins.
    pub fn address_at(&self, offset: u64) -> Option<u64> {
        // A mapping begins at a whole page, the segment perhaps within it; the page's beginning is then the end of the
        // segment before, which may lie elsewhere in memory (LLVM's linker moves it by a page).
        let begins = self.segments.iter().find(|(at, ..)| *at & !0xfff == offset);
        let within = |&&(at, length, _): &&(u64, u64, u64)| at <= offset && offset - at < length.max(1);
        let (at, _, address) = begins.or_else(|| self.segments.iter().find(within))?;
        Some(address.wrapping_add(offset).wrapping_sub(*at))
    }

    /// The function at an address as the file states it.
    pub fn function(&self, address: u64) -> Option<&[u8]> {
        let after = self.functions.partition_point(|&(start, ..)| start <= address);
        let &(start, length, place) = self.functions.get(after.checked_sub(1)?)?;
        // Functions written in assembler often have no length: theirs reaches to the next.
        if length != 0 && address - start >= length {
            return None;
        }
        self.names.get(place as usize..)?.split(|b| *b == 0).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_program_has_tables_and_this_function() {
        #[inline(never)]
        fn known_to_the_symbol_table() -> u64 {
            std::hint::black_box(known_to_the_symbol_table as fn() -> u64 as usize as u64)
        }
        let here = known_to_the_symbol_table();
        let image = Image::read(File::open("/proc/self/exe").unwrap());
        assert!(image.eh_frame.is_some() && image.eh_frame_hdr.is_some() && image.text.is_some());
        let maps = super::super::maps::executable(std::process::id()).unwrap();
        let map = maps.iter().find(|m| m.start <= here && here < m.end).unwrap();
        let address = image.address_at(map.offset).unwrap() + (here - map.start);
        let name = String::from_utf8_lossy(image.function(address).unwrap()).into_owned();
        assert!(name.contains("known_to_the_symbol_table"), "{name}");
        assert_eq!(image.function(1), None);
    }

    #[test]
    fn what_is_no_program_has_nothing() {
        let image = Image::of_bytes(b"#!/bin/sh\n");
        assert!(image.eh_frame.is_none() && image.function(0x1000).is_none() && image.address_at(0).is_none());
    }
}
