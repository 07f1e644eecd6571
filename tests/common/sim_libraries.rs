//! Part of the simulator's harness: one built file becomes the library of any version, by writing over its names.

use super::built;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

const EXPORTS: &str = include_str!("../../cupti-shim/cupti-sys/tables/exports.csv");

/// `12.10` is after `12.9`.
pub fn toolkit(version: &str) -> (u32, u32) {
    let mut numbers = version.split('.').map(|n| n.trim().parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// As much of an ELF file as is needed to change its names. The tests run unoptimised, so nothing here searches the
/// whole file.
struct Elf {
    bytes: Vec<u8>,
    /// Where the names of dynamic symbols lie.
    names: std::ops::Range<usize>,
    /// Where the dynamic symbols lie.
    symbols: std::ops::Range<usize>,
}

impl Elf {
    fn read(path: &Path) -> Elf {
        let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut elf = Elf { bytes, names: 0..0, symbols: 0..0 };
        let (sections, count) = (elf.number(40, 8), elf.number(60, 2));
        let section = |i: usize| sections + 64 * i;
        let at = |elf: &Elf, i: usize| {
            let start = elf.number(section(i) + 24, 8);
            start..start + elf.number(section(i) + 32, 8)
        };
        // SHT_DYNSYM
        let dynamic = (0..count).find(|&i| elf.number(section(i) + 4, 4) == 11).expect("dynamic symbols");
        elf.symbols = at(&elf, dynamic);
        elf.names = at(&elf, elf.number(section(dynamic) + 40, 4));
        elf
    }

    fn number(&self, at: usize, bytes: usize) -> usize {
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(&self.bytes[at..at + bytes]);
        usize::from_le_bytes(word)
    }

    fn name_at(&self, at: usize) -> &[u8] {
        let rest = &self.bytes[self.names.start + at..self.names.end];
        &rest[..rest.iter().position(|&b| b == 0).unwrap_or(rest.len())]
    }

    /// The entry of a dynamic symbol.
    fn symbol(&self, name: &str) -> Option<usize> {
        let entries = self.symbols.clone().step_by(24);
        entries.into_iter().find(|&at| self.name_at(self.number(at, 4)) == name.as_bytes())
    }

    /// Hides an exported function: the hash table still leads to its place, but no name is there that anyone asks for.
    fn hide(&mut self, name: &str) {
        if let Some(at) = self.symbol(name) {
            let at = self.names.start + self.number(at, 4);
            self.bytes[at] = b'X';
        }
    }

    /// Writes a shorter name over the SONAME, which lies among the names.
    fn set_soname(&mut self, from: &str, to: &str) {
        let pattern = [b"\0", from.as_bytes(), b"\0"].concat();
        let names = &self.bytes[self.names.clone()];
        let found = names.windows(pattern.len()).position(|window| window == pattern);
        let at = self.names.start + found.unwrap_or_else(|| panic!("no SONAME {from} to write over")) + 1;
        self.bytes[at..at + from.len()].fill(0);
        self.bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }

    /// Writes text behind the marker with which an exported variable begins.
    fn set_marker(&mut self, symbol: &str, marker: &str, text: &str) {
        let entry = self.symbol(symbol).unwrap_or_else(|| panic!("no {symbol} in the library"));
        let address = self.number(entry + 8, 8);
        // The segment that is loaded there.
        let (headers, count) = (self.number(32, 8), self.number(56, 2));
        let offset = (0..count).map(|i| headers + 56 * i).find_map(|header| {
            let (start, from) = (self.number(header + 16, 8), self.number(header + 8, 8));
            let inside =
                self.number(header, 4) == 1 && (start..start + self.number(header + 32, 8)).contains(&address);
            inside.then_some(address.wrapping_sub(start) + from)
        });
        let at = offset.expect("a loaded segment");
        assert!(self.bytes[at..].starts_with(marker.as_bytes()), "{symbol} does not begin with {marker}");
        let room = &mut self.bytes[at + marker.len()..at + marker.len() + 16];
        room.fill(0);
        room[..text.len()].copy_from_slice(text.as_bytes());
    }
}

/// The SONAME of a version's libcupti.
pub fn cupti_soname(version: &str) -> String {
    match toolkit(version) {
        (11, minor) => format!("libcupti.so.11.{minor}"),
        (major, _) => format!("libcupti.so.{major}"),
    }
}

pub fn cudart_soname(version: &str) -> String {
    match toolkit(version) {
        (11, _) => "libcudart.so.11.0".into(),
        (major, _) => format!("libcudart.so.{major}"),
    }
}

/// A libcupti of that version: its SONAME, its version, and without what that version did not export.
pub fn write_cupti(version: &str, path: &Path) {
    let mut elf = Elf::read(&built("libsim_cupti.so"));
    elf.set_marker("SIM_CUPTI_FILE_VERSION", "SIM-CUPTI-FILE-VERSION=", version);
    elf.set_soname("libcupti.so.SIMULATED", &cupti_soname(version));
    for line in EXPORTS.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let (function, first, last) = (fields[0], toolkit(fields[1]), toolkit(fields[2]));
        if toolkit(version) < first || toolkit(version) > last {
            elf.hide(function);
        }
    }
    write_new(path, &elf.bytes);
}

/// A libcudart of that version.
pub fn write_cudart(version: &str, path: &Path) {
    let mut elf = Elf::read(&built("libsim_cudart.so"));
    let (major, minor) = toolkit(version);
    elf.set_marker("SIM_CUDART_FILE_VERSION", "SIM-CUDART-FILE-VERSION=", &(major * 1000 + minor * 10).to_string());
    elf.set_soname("libcudart.so.SIMULATED", &cudart_soname(version));
    if major < 13 {
        elf.hide("__cudaLaunchKernel");
    }
    write_new(path, &elf.bytes);
}

/// Complete from the first moment: other tests may look at the same time.
pub fn write_new(path: &Path, bytes: &[u8]) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let temporary =
        path.with_extension(format!("new-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    std::fs::write(&temporary, bytes).expect("a library");
    std::fs::rename(&temporary, path).expect("a library in its place");
}
