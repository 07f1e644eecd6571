//! Which tables of an export are read, and which describe the recording. All others hold rows that are counted.

use super::Reader;
use crate::import::unread_tables;

/// Tables whose rows are read.
const READ: &[&str] = &[
    "COMPOSITE_EVENTS",
    "CUDA_GPU_MEMORY_POOL_EVENTS",
    "CUDA_GPU_MEMORY_USAGE_EVENTS",
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "CUPTI_ACTIVITY_KIND_JIT",
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_OPENACC_DATA",
    "CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH",
    "CUPTI_ACTIVITY_KIND_OPENACC_OTHER",
    "CUPTI_ACTIVITY_KIND_OVERHEAD",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "DIAGNOSTIC_EVENT",
    "GPU_METRICS",
    "MPI_COLLECTIVES_EVENTS",
    "MPI_OTHER_EVENTS",
    "MPI_P2P_EVENTS",
    "MPI_START_WAIT_EVENTS",
    "NVTX_EVENTS",
    "OPENMP_EVENT_KIND_PARALLEL",
    "OPENMP_EVENT_KIND_SYNC_REGION_WAIT",
    "OPENMP_EVENT_KIND_TASK",
    "OPENMP_EVENT_KIND_THREAD",
    "OSRT_API",
    "PROFILER_OVERHEAD",
    "SAMPLING_CALLCHAINS",
];

/// Tables about the machine, the recording and what numbers mean. What of them is needed is read; the rest is of no
/// use here or private (environment, users, other processes, what the program printed), and is no loss.
const DESCRIBING: &[&str] = &[
    "EXPORT_META_DATA",
    "MPI_COMMUNICATORS",
    "MPI_RANKS",
    "PROCESSES",
    "ProcessStreams",
    "StringIds",
    "ThreadNames",
    "UnwindMethodType",
];

/// Beginnings of the names of more such tables.
const DESCRIBING_FAMILIES: &[&str] =
    &["ANALYSIS_", "ENUM_", "META_DATA_", "NVTX_PAYLOAD_", "TARGET_INFO_", "sqlite_"];

/// Whether a table is read or describes what is read.
pub(super) fn is_known(table: &str) -> bool {
    let begins = |start: &&str| table.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start));
    READ.iter().chain(DESCRIBING).any(|known| known.eq_ignore_ascii_case(table))
        || DESCRIBING_FAMILIES.iter().any(begins)
}

/// Counts the rows of all other tables.
pub(super) fn count_unread(r: &mut Reader) {
    let tables = r.tables;
    let is_read = |table: &str| is_known(tables.plain_name(table));
    unread_tables::count(r.db, tables, r.path, r.sink, &mut r.unread, is_read);
}
