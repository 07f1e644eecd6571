//! Which tables of a database are read, and which describe the recording. All others hold rows that are counted:
//! metrics, events and what was sampled or measured per instruction.

use super::Reader;
use crate::exchange::nvprof_db::{CALLS, EXPORT};
use crate::import::unread_tables;

/// What the names of all tables of records begin with.
const PREFIX: &str = "CUPTI_ACTIVITY_KIND_";

/// Tables whose rows are read, without the prefix.
const READ: &[&str] = &[
    "CDP_KERNEL",
    "CONCURRENT_KERNEL",
    "CUDA_EVENT",
    "DRIVER",
    "ENVIRONMENT",
    "EXTERNAL_CORRELATION",
    "GRAPH_TRACE",
    "JIT",
    "KERNEL",
    "MARKER",
    "MARKER_DATA",
    "MEMCPY",
    "MEMCPY2",
    "MEMORY",
    "MEMORY2",
    "MEMORY_POOL",
    "MEMSET",
    "OPENACC_DATA",
    "OPENACC_LAUNCH",
    "OPENACC_OTHER",
    "OPENMP",
    "OVERHEAD",
    "RUNTIME",
    "SYNCHRONIZATION",
    "UNIFIED_MEMORY_COUNTER",
];

/// Tables about the machine, the program and its objects, which other rows refer to: no measurement is lost with them.
const DESCRIBING: &[&str] = &[
    "CONTEXT",
    "DEVICE",
    "DEVICE_ATTRIBUTE",
    "FUNCTION",
    "MODULE",
    "NAME",
    "NVLINK",
    "PCIE",
    "SOURCE_LOCATOR",
    "STREAM",
];

/// Whether a table is read or describes what is read.
pub(super) fn is_known(table: &str) -> bool {
    let known = |names: &[&str], table: &str| names.iter().any(|name| name.eq_ignore_ascii_case(table));
    match table.get(..PREFIX.len()) {
        Some(start) if start.eq_ignore_ascii_case(PREFIX) => {
            let kind = &table[PREFIX.len()..];
            known(READ, kind) || known(DESCRIBING, kind)
        }
        _ => known(&["Version", "StringTable", EXPORT, CALLS], table) || table.starts_with("sqlite_"),
    }
}

/// Counts the rows of all other tables.
pub(super) fn count_unread(r: &mut Reader) {
    unread_tables::count(r.db, r.tables, r.path, r.sink, &mut r.unread, is_known);
}
