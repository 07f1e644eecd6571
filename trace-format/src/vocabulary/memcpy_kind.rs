//! `CUpti_ActivityMemcpyKind`; 11 to 13 are migrations of unified memory in nsys's numbering.

use super::{Wording, uvm_kind};

crate::vocabulary! {
    "Direction in a word, e.g. `HtoD`.";
    /// `unknown`.
    UNKNOWN = 0, "unknown";
    /// `HtoD`.
    HTOD = 1, "HtoD";
    /// `DtoH`.
    DTOH = 2, "DtoH";
    /// `HtoA`.
    HTOA = 3, "HtoA";
    /// `AtoH`.
    ATOH = 4, "AtoH";
    /// `AtoA`.
    ATOA = 5, "AtoA";
    /// `AtoD`.
    ATOD = 6, "AtoD";
    /// `DtoA`.
    DTOA = 7, "DtoA";
    /// `DtoD`.
    DTOD = 8, "DtoD";
    /// `HtoH`.
    HTOH = 9, "HtoH";
    /// `PtoP`.
    PTOP = 10, "PtoP";
    /// `unified HtoD`.
    UNIFIED_HTOD = 11, "unified HtoD";
    /// `unified DtoH`.
    UNIFIED_DTOH = 12, "unified DtoH";
    /// `unified DtoD`.
    UNIFIED_DTOD = 13, "unified DtoD";
}

/// What nvprof calls copies. Migrations, which nsys records as copies, have the names of nvprof's events of unified memory.
pub static NVPROF: Wording = Wording(&[
    (UNKNOWN, "[CUDA memcpy Unknown]"),
    (HTOD, "[CUDA memcpy HtoD]"),
    (DTOH, "[CUDA memcpy DtoH]"),
    (HTOA, "[CUDA memcpy HtoA]"),
    (ATOH, "[CUDA memcpy AtoH]"),
    (ATOA, "[CUDA memcpy AtoA]"),
    (ATOD, "[CUDA memcpy AtoD]"),
    (DTOA, "[CUDA memcpy DtoA]"),
    (DTOD, "[CUDA memcpy DtoD]"),
    (HTOH, "[CUDA memcpy HtoH]"),
    (PTOP, "[CUDA memcpy PtoP]"),
    (UNIFIED_HTOD, "[Unified Memory Memcpy HtoD]"),
    (UNIFIED_DTOH, "[Unified Memory Memcpy DtoH]"),
    (UNIFIED_DTOD, "[Unified Memory Memcpy DtoD]"),
]);

/// The words that nsys has used since 2023; before, it had those of CUPTI.
pub static NSYS: Wording = Wording(&[
    (UNKNOWN, "Unknown"),
    (HTOD, "Host-to-Device"),
    (DTOH, "Device-to-Host"),
    (HTOA, "Host-to-Array"),
    (ATOH, "Array-to-Host"),
    (ATOA, "Array-to-Array"),
    (ATOD, "Array-to-Device"),
    (DTOA, "Device-to-Array"),
    (DTOD, "Device-to-Device"),
    (HTOH, "Host-to-Host"),
    (PTOP, "Peer-to-Peer"),
    (UNIFIED_HTOD, "Unified Host-to-Device"),
    (UNIFIED_DTOH, "Unified Device-to-Host"),
    (UNIFIED_DTOD, "Unified Device-to-Device"),
]);

/// Migrations of unified memory: a copy of nsys's, and the kind of event that CUPTI makes of the same.
const MIGRATIONS: [(u32, u32); 3] = [
    (UNIFIED_HTOD, uvm_kind::BYTES_HTOD),
    (UNIFIED_DTOH, uvm_kind::BYTES_DTOH),
    (UNIFIED_DTOD, uvm_kind::BYTES_DTOD),
];

/// The kind of event ([`uvm_kind`]) of a copy that is a migration of unified memory.
pub fn migration(copy: u32) -> Option<u32> {
    MIGRATIONS.iter().find(|(known, _)| *known == copy).map(|&(_, event)| event)
}

/// The kind of copy that an event of unified memory is, if it moves memory; the other way round than [`migration`].
pub fn of_migration(event: u32) -> Option<u32> {
    MIGRATIONS.iter().find(|(_, known)| *known == event).map(|&(copy, _)| copy)
}

/// The plain copy of the same direction as a migration; any other copy is its own.
pub fn plain(copy: u32) -> u32 {
    match copy {
        UNIFIED_HTOD => HTOD,
        UNIFIED_DTOH => DTOH,
        UNIFIED_DTOD => DTOD,
        _ => copy,
    }
}
