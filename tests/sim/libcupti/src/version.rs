//! Which CUPTI this file is. The harness writes the version into the file; without it `SIM_CUPTI` says, else 13.5.

use crate::{settings, tables};
use std::sync::OnceLock;

/// Followed by the version and a NUL; the harness looks for the text and writes over what follows.
#[used]
#[unsafe(no_mangle)]
pub static SIM_CUPTI_FILE_VERSION: [u8; 48] =
    *b"SIM-CUPTI-FILE-VERSION=\0unset\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

pub struct Version {
    /// As in `strides_all_packages.csv`.
    pub package: String,
    /// 1108, 1200, … 1305: toolkit 11.8, 12.0, … 13.5.
    pub toolkit: u32,
    /// What `cuptiGetVersion` says.
    pub api: u32,
    /// Bytes of a record by kind; 0: the walker does not know it.
    pub strides: [u16; 128],
}

/// Package, answer of `cuptiGetVersion`.
const PACKAGES: [(&str, u32); 28] = [
    ("11.7.101", 17),
    ("11.8.87", 18),
    ("12.0.90", 18),
    ("12.0.146", 18),
    ("12.1.62", 18),
    ("12.1.105", 18),
    ("12.2.142", 20),
    ("12.3.101", 21),
    ("12.4.127", 22),
    ("12.5.82", 23),
    ("12.6.37", 24),
    ("12.6.80", 24),
    ("12.8.57", 26),
    ("12.8.90", 26),
    ("12.9.19", 27),
    ("12.9.79", 28),
    ("13.0.48", 130_000),
    ("13.0.85", 130_001),
    ("13.1.75", 130_100),
    ("13.1.115", 130_101),
    ("13.2.23", 130_200),
    ("13.2.75", 130_201),
    ("13.2.86", 130_202),
    ("13.3.35", 130_300),
    ("13.3.75", 130_301),
    ("13.4.58", 130_400),
    ("13.4.92", 130_401),
    ("13.5.25", 130_500),
];

/// `13.2` means the newest package of 13.2.
fn package(wanted: &str) -> Option<(&'static str, u32)> {
    let exact = PACKAGES.iter().find(|(name, _)| *name == wanted);
    let prefix = format!("{wanted}.");
    exact.or_else(|| PACKAGES.iter().rev().find(|(name, _)| name.starts_with(&prefix))).copied()
}

fn of_file() -> Option<String> {
    // SAFETY: reads a static that the harness may have changed in the file, which the compiler must not know.
    let bytes = unsafe { std::ptr::read_volatile(&raw const SIM_CUPTI_FILE_VERSION) };
    let text = bytes.get(23..)?.split(|&b| b == 0).next()?;
    let text = String::from_utf8_lossy(text).into_owned();
    (!text.is_empty()).then_some(text)
}

pub fn version() -> &'static Version {
    static VERSION: OnceLock<Version> = OnceLock::new();
    VERSION.get_or_init(|| {
        let wanted = of_file().or_else(|| settings::text(c"SIM_CUPTI")).unwrap_or_else(|| "13.5".to_owned());
        let Some((name, api)) = package(&wanted) else {
            settings::fatal(&format!("no CUPTI version {wanted:?} in the tables"))
        };
        let mut numbers = name.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
        let toolkit = numbers.next().unwrap_or(0) * 100 + numbers.next().unwrap_or(0);
        let mut strides = tables::strides(name);
        // A kind of a later CUPTI: the walker knows it, the tool does not.
        if let Some((kind, bytes)) = crate::faults::unknown_kind()
            && let Some(stride) = strides.get_mut(kind as usize)
        {
            *stride = bytes;
        }
        Version { package: name.to_owned(), toolkit, api, strides }
    })
}

/// True from that toolkit on, e.g. `since(1208)`.
pub fn since(toolkit: u32) -> bool {
    version().toolkit >= toolkit
}

/// Bytes of a record of that kind; 0: unknown.
#[inline]
pub fn stride(kind: u32) -> usize {
    version().strides.get(kind as usize).copied().unwrap_or(0).into()
}
