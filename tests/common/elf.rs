//! As much of an ELF library as its contract is about: what it needs, exports, asks for and promises. Our own reader,
//! so that the tests need no binutils.
#![allow(dead_code, missing_docs, reason = "each test binary uses some of it")]

use std::path::Path;

/// A 64-bit little-endian shared library.
pub struct Elf {
    bytes: Vec<u8>,
    /// Tag and value of each entry of the dynamic section.
    dynamic: Vec<(u64, u64)>,
}

/// A symbol that the loader sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    /// Defined here, else asked for.
    pub defined: bool,
    pub weak: bool,
    /// The version that is asked for, e.g. `GLIBC_2.17`.
    pub version: Option<String>,
}

/// A segment: type, flags, size in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub kind: u32,
    pub flags: u32,
    pub memory_bytes: u64,
    offset: u64,
    address: u64,
    file_bytes: u64,
}

pub const PT_LOAD: u32 = 1;
pub const PT_TLS: u32 = 7;
pub const PT_GNU_STACK: u32 = 0x6474_e551;
pub const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
pub const DT_SONAME: u64 = 14;
pub const DT_RPATH: u64 = 15;
pub const DT_TEXTREL: u64 = 22;
pub const DT_RUNPATH: u64 = 29;
pub const DT_FLAGS: u64 = 30;
pub const DT_FLAGS_1: u64 = 0x6fff_fffb;
pub const DF_STATIC_TLS: u64 = 0x10;
pub const DF_1_NODELETE: u64 = 0x8;
const DT_NEEDED: u64 = 1;
const DT_PLTRELSZ: u64 = 2;
const DT_RELASZ: u64 = 8;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_VERNEED: u64 = 0x6fff_fffe;
const DT_VERNEEDNUM: u64 = 0x6fff_ffff;
const SHT_DYNSYM: u64 = 11;

impl Elf {
    pub fn read(path: &Path) -> Elf {
        let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(bytes.starts_with(b"\x7fELF\x02\x01"), "{}: no 64-bit ELF", path.display());
        let mut elf = Elf { bytes, dynamic: Vec::new() };
        let dynamic = elf.segments().into_iter().find(|s| s.kind == 2).expect("a dynamic section");
        let entries = (0..dynamic.file_bytes / 16).map(|i| (dynamic.offset + 16 * i) as usize);
        elf.dynamic = entries.map(|at| (elf.word(at, 8), elf.word(at + 8, 8))).take_while(|e| e.0 != 0).collect();
        elf
    }

    pub fn len_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn word(&self, at: usize, size: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&self.bytes[at..at + size]);
        u64::from_le_bytes(bytes)
    }

    pub fn segments(&self) -> Vec<Segment> {
        let (table, size, count) = (self.word(32, 8), self.word(54, 2), self.word(56, 2));
        let headers = (0..count).map(|i| (table + size * i) as usize);
        let segment = |at: usize| Segment {
            kind: self.word(at, 4) as u32,
            flags: self.word(at + 4, 4) as u32,
            offset: self.word(at + 8, 8),
            address: self.word(at + 16, 8),
            file_bytes: self.word(at + 32, 8),
            memory_bytes: self.word(at + 40, 8),
        };
        headers.map(segment).collect()
    }

    /// Value of the dynamic section's entry `tag`.
    pub fn dynamic(&self, tag: u64) -> Option<u64> {
        self.dynamic.iter().find(|e| e.0 == tag).map(|e| e.1)
    }

    /// Where in the file the byte lies that is loaded at `address`.
    fn offset_of(&self, address: u64) -> usize {
        let segments = self.segments();
        let holds = |s: &&Segment| s.kind == PT_LOAD && (s.address..s.address + s.file_bytes).contains(&address);
        let segment = segments.iter().find(holds).expect("an address that is loaded");
        (address - segment.address + segment.offset) as usize
    }

    fn string(&self, index: u64) -> String {
        let at = self.offset_of(self.dynamic(DT_STRTAB).expect("strings")) + index as usize;
        let end = self.bytes[at..].iter().position(|b| *b == 0).expect("the end of a string");
        String::from_utf8_lossy(&self.bytes[at..at + end]).into_owned()
    }

    /// How many addresses the loader fills in.
    pub fn relocations(&self) -> u64 {
        [DT_RELASZ, DT_PLTRELSZ].iter().filter_map(|tag| self.dynamic(*tag)).sum::<u64>() / 24
    }

    /// Libraries that are loaded with it.
    pub fn needed(&self) -> Vec<String> {
        self.dynamic.iter().filter(|e| e.0 == DT_NEEDED).map(|e| self.string(e.1)).collect()
    }

    /// Every version that it asks for: number in the symbols' table, library, name.
    pub fn versions(&self) -> Vec<(u64, String, String)> {
        let mut versions = Vec::new();
        let Some(first) = self.dynamic(DT_VERNEED) else { return versions };
        let mut at = self.offset_of(first);
        for _ in 0..self.dynamic(DT_VERNEEDNUM).unwrap_or(0) {
            let library = self.string(self.word(at + 4, 4));
            let mut entry = at + self.word(at + 8, 4) as usize;
            for _ in 0..self.word(at + 2, 2) {
                let name = self.string(self.word(entry + 8, 4));
                versions.push((self.word(entry + 6, 2), library.clone(), name));
                entry += self.word(entry + 12, 4) as usize;
            }
            at += self.word(at + 12, 4) as usize;
        }
        versions
    }

    /// Every symbol that the loader sees.
    pub fn symbols(&self) -> Vec<Symbol> {
        let (sections, size, count) = (self.word(40, 8), self.word(58, 2), self.word(60, 2));
        let mut headers = (0..count).map(|i| (sections + size * i) as usize);
        let dynsym = headers.find(|at| self.word(at + 4, 4) == SHT_DYNSYM).expect("a table of dynamic symbols");
        let symbols = self.word(dynsym + 32, 8) / 24;
        let table = self.offset_of(self.dynamic(DT_SYMTAB).expect("symbols"));
        let numbers = self.dynamic(DT_VERSYM).map(|address| self.offset_of(address));
        let versions = self.versions();
        let symbol = |i: u64| {
            let at = table + 24 * i as usize;
            let number = numbers.map_or(0, |numbers| self.word(numbers + 2 * i as usize, 2) & 0x7fff);
            Symbol {
                name: self.string(self.word(at, 4)),
                defined: self.word(at + 6, 2) != 0,
                weak: self.bytes[at + 4] >> 4 == 2,
                version: versions.iter().find(|v| v.0 == number).map(|v| v.2.clone()),
            }
        };
        (1..symbols).map(symbol).filter(|symbol| !symbol.name.is_empty()).collect()
    }

    /// The newest glibc that it asks for, e.g. `(2, 17)`.
    pub fn newest_glibc(&self) -> (u32, u32) {
        let names = self.versions().into_iter().filter_map(|v| {
            let mut numbers = v.2.strip_prefix("GLIBC_")?.split('.').map(|n| n.parse::<u32>().unwrap_or(u32::MAX));
            Some((numbers.next()?, numbers.next().unwrap_or(0)))
        });
        names.max().expect("a version of glibc")
    }
}
