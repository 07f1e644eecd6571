//! nsys's tables of enumerations, as far as the tables that are written refer to them. Symbols and labels are nsys's own,
//! slips of the pen included, as people's SQL compares with them.

use crate::error::Result;
use crate::export::database::{Database, Rows, Table};

/// The columns of all these tables.
const COLUMNS: &[(&str, &str)] = &[("id", "INTEGER NOT NULL PRIMARY KEY"), ("name", "TEXT"), ("label", "TEXT")];

/// Writes all of them: other exports have them whether anything refers to them or not.
pub(super) fn write(database: &Database) -> Result<()> {
    for (table, entries) in ENUMS {
        let mut rows = Rows::new(database, table, &["id", "name", "label"]);
        for &(id, name, label) in *entries {
            rows.add([id.into(), name.into(), label.into()])?;
        }
    }
    Ok(())
}

/// nsys's name of a value of one of the tables.
pub(super) fn label(table: &str, id: i64) -> &'static str {
    let entries = ENUMS.iter().find(|(t, _)| t.name == table).map_or(&[][..], |(_, entries)| entries);
    entries.iter().find(|entry| entry.0 == id).map_or("", |entry| entry.2)
}

/// Number, symbol, label.
type Entry = (i64, &'static str, &'static str);

#[rustfmt::skip]
static ENUMS: &[(Table, &[Entry])] = &[
    (Table { name: "ENUM_NSYS_EVENT_TYPE", columns: COLUMNS }, &[
        (33, "NvtxCategory", "NvtxCategory"),
        (34, "NvtxMark", "NvtxMark"),
        (39, "NvtxThread", "NvtxThread"),
        (59, "NvtxPushPopRange", "NvtxPushPopRange"),
        (60, "NvtxStartEndRange", "NvtxStartEndRange"),
        (75, "NvtxDomainCreate", "NvtxDomainCreate"),
    ]),
    (Table { name: "ENUM_NSYS_EVENT_CLASS", columns: COLUMNS }, &[
        (0, "TRACE_PROCESS_EVENT_CUDA_RUNTIME", "CUDA runtime"),
        (1, "TRACE_PROCESS_EVENT_CUDA_DRIVER", "CUDA driver"),
        (26, "TRACE_PROCESS_EVENT_CUDA_API", "CUDA API"),
        (27, "TRACE_PROCESS_EVENT_OS_RUNTIME", "OSRT runtime"),
        (48, "TRACE_PROCESS_EVENT_OPENACC", "OpenACC"),
        (67, "TRACE_PROCESS_EVENT_CUDABACKTRACE", "CUDA backtrace"),
        (78, "TRACE_PROCESS_EVENT_OPENMP", "OpenMP"),
        (102, "TRACE_PROCESS_EVENT_CUDA_JIT", "CUDA JIT"),
        (103, "TRACE_PROCESS_EVENT_CUDA_OVERHEAD", "CUDA overhead"),
    ]),
    (Table { name: "ENUM_CUDA_MEMCPY_OPER", columns: COLUMNS }, &[
        (0, "CUDA_MEMCPY_KIND_UNKNOWN", "Unknown"),
        (1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"),
        (2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host"),
        (3, "CUDA_MEMCPY_KIND_HTOA", "Host-to-Array"),
        (4, "CUDA_MEMCPY_KIND_ATOH", "Array-to-Host"),
        (5, "CUDA_MEMCPY_KIND_ATOA", "Array-to-Array"),
        (6, "CUDA_MEMCPY_KIND_ATOD", "Array-to-Device"),
        (7, "CUDA_MEMCPY_KIND_DTOA", "Device-to-Array"),
        (8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device"),
        (9, "CUDA_MEMCPY_KIND_HTOH", "Host-to-Host"),
        (10, "CUDA_MEMCPY_KIND_PTOP", "Peer-to-Peer"),
        (11, "CUDA_MEMCPY_KIND_UVM_HTOD", "Unified Host-to-Device"),
        (12, "CUDA_MEMCPY_KIND_UVM_DTOH", "Unified Device-to-Host"),
        (13, "CUDA_MEMCPY_KIND_UVM_DTOD", "Unified Device-to-Device"),
    ]),
    (Table { name: "ENUM_CUDA_MEM_KIND", columns: COLUMNS }, &[
        (0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"),
        (1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"),
        (2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"),
        (3, "CUDA_MEMOPR_MEMORY_KIND_ARRAY", "Array"),
        (4, "CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed"),
        (5, "CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC", "Device Static"),
        (6, "CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC", "Managed Static"),
        (7, "CUDA_MEMOPR_MEMORY_KIND_UNKNOWN", "Unknown"),
    ]),
    (Table { name: "ENUM_CUDA_MEMPOOL_TYPE", columns: COLUMNS }, &[
        (0, "CUDA_MEMPOOL_TYPE_INVALID", "Invalid"),
        (1, "CUDA_MEMPOOL_TYPE_LOCAL", "Local"),
        (2, "CUDA_MEMPOOL_TYPE_IMPORTED", "Imported"),
    ]),
    (Table { name: "ENUM_CUDA_MEMPOOL_OPER", columns: COLUMNS }, &[
        (0, "CUDA_MEMPOOL_OPERATION_TYPE_INVALID", "Invalid"),
        (1, "CUDA_MEMPOOL_OPERATION_TYPE_CREATED", "Created"),
        (2, "CUDA_MEMPOOL_OPERATION_TYPE_DESTROYED", "Destroyed"),
        (3, "CUDA_MEMPOOL_OPERATION_TYPE_TRIMMED", "Trimmed"),
    ]),
    (Table { name: "ENUM_CUDA_DEV_MEM_EVENT_OPER", columns: COLUMNS }, &[
        (0, "CUDA_DEV_MEM_EVENT_OPR_ALLOCATION", "Allocation"),
        (1, "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION", "Deallocation"),
    ]),
    (Table { name: "ENUM_CUDA_KERNEL_LAUNCH_TYPE", columns: COLUMNS }, &[
        (0, "CUDA_KERNEL_LAUNCH_TYPE_UNKNOWN", "Unknown"),
        (1, "CUDA_KERNEL_LAUNCH_TYPE_REGULAR", "Regular"),
        (2, "CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE", "Coop Single Device"),
        (3, "CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE", "Coop Multi Device"),
    ]),
    (Table { name: "ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG", columns: COLUMNS }, &[
        (0, "CUDA_SHARED_MEM_LIMIT_DEFAULT", "Default"),
        (1, "CUDA_SHARED_MEM_LIMIT_OPTIN", "Opt in"),
    ]),
    (Table { name: "ENUM_CUDA_UNIF_MEM_MIGRATION", columns: COLUMNS }, &[
        (0, "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_UNKNOWN", "Unknown"),
        (1, "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_USER", "User prefetch"),
        (2, "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE", "Page fault"),
        (3, "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_PREFETCH", "Speculative prefecth"),
        (4, "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_EVICTION", "Eviction"),
        (5, "CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_ACCESS_COUNTERS", "Access counters"),
    ]),
    (Table { name: "ENUM_CUDA_UNIF_MEM_ACCESS_TYPE", columns: COLUMNS }, &[
        (0, "CUDA_UNIFIED_MEMORY_ACCESS_TYPE_UNKNOWN", "Unknown"),
        (1, "CUDA_UNIFIED_MEMORY_ACCESS_TYPE_READ", "Read"),
        (2, "CUDA_UNIFIED_MEMORY_ACCESS_TYPE_WRITE", "Write"),
        (3, "CUDA_UNIFIED_MEMORY_ACCESS_TYPE_ATOMIC", "Atomic"),
        (4, "CUDA_UNIFIED_MEMORY_ACCESS_TYPE_PREFETCH", "Prefetch"),
    ]),
    (Table { name: "ENUM_CUDA_FUNC_CACHE_CONFIG", columns: COLUMNS }, &[
        (0, "CU_FUNC_CACHE_PREFER_NONE", "None"),
        (1, "CU_FUNC_CACHE_PREFER_SHARED", "Shared"),
        (2, "CU_FUNC_CACHE_PREFER_L1", "L1"),
        (3, "CU_FUNC_CACHE_PREFER_EQUAL", "Equal"),
    ]),
    (Table { name: "ENUM_CUPTI_STREAM_TYPE", columns: COLUMNS }, &[
        (0, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_UNKNOWN", "Unknown stream type"),
        (1, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT", "Default stream"),
        (2, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING", "Non-blocking stream"),
        (3, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL", "Null stream"),
    ]),
    (Table { name: "ENUM_CUPTI_SYNC_TYPE", columns: COLUMNS }, &[
        (0, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN", "Unknown"),
        (1, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE", "Event sync"),
        (2, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT", "Stream wait sync"),
        (3, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE", "Stream sync"),
        (4, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE", "Context sync"),
    ]),
    (Table { name: "ENUM_CUPTI_OVERHEAD_TYPE", columns: COLUMNS }, &[
        (0, "OVERHEAD_UNDEFINED", "Undefined"),
        (1, "OVERHEAD_UNKNOWN", "Unknown"),
        (2, "OVERHEAD_DRIVER_COMPILER", "Driver JIT compiler (CUDA)"),
        (3, "OVERHEAD_CUPTI_BUFFER_FLUSH", "Buffer flush (Profiler)"),
        (4, "OVERHEAD_CUPTI_INSTRUMENTATION", "Instrumentation (Profiler)"),
        (5, "OVERHEAD_CUPTI_RESOURCE", "Resource creation/destruction (Profiler)"),
        (6, "OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING", "Runtime module loading (CUDA)"),
        (7, "OVERHEAD_LAZY_FUNCTION_LOADING", "Lazy function loading (CUDA)"),
        (8, "OVERHEAD_COMMAND_BUFFER_FULL", "Command buffer full (CUDA)"),
    ]),
    (Table { name: "ENUM_OPENACC_DEVICE", columns: COLUMNS }, &[
        (0, "acc_device_none", "None"),
        (1, "acc_device_default", "Default"),
        (2, "acc_device_host", "Host"),
        (3, "acc_device_not_host", "Not host"),
        (4, "acc_device_nvidia", "NVIDIA"),
        (5, "acc_device_radeon", "Radeon"),
        (6, "acc_device_xeonphi", "Xeon Phi"),
        (7, "acc_device_pgi_opencl", "PGI OpenCL"),
        (8, "acc_device_nvidia_opencl", "NVIDIA OpenCL"),
        (9, "acc_device_opencl", "OpenCL"),
    ]),
    (Table { name: "ENUM_OPENACC_EVENT_KIND", columns: COLUMNS }, &[
        (0, "CUPTI_OPENACC_EVENT_KIND_INVALID", "Invalid"),
        (1, "CUPTI_OPENACC_EVENT_KIND_DEVICE_INIT", "Device init"),
        (2, "CUPTI_OPENACC_EVENT_KIND_DEVICE_SHUTDOWN", "Device shutdown"),
        (3, "CUPTI_OPENACC_EVENT_KIND_RUNTIME_SHUTDOWN", "Runtime shutdown"),
        (4, "CUPTI_OPENACC_EVENT_KIND_ENQUEUE_LAUNCH", "Enqueue launch"),
        (5, "CUPTI_OPENACC_EVENT_KIND_ENQUEUE_UPLOAD", "Enqueue upload"),
        (6, "CUPTI_OPENACC_EVENT_KIND_ENQUEUE_DOWNLOAD", "Enqueue download"),
        (7, "CUPTI_OPENACC_EVENT_KIND_WAIT", "Wait"),
        (8, "CUPTI_OPENACC_EVENT_KIND_IMPLICIT_WAIT", "Implicit wait"),
        (9, "CUPTI_OPENACC_EVENT_KIND_COMPUTE_CONSTRUCT", "Compute construct"),
        (10, "CUPTI_OPENACC_EVENT_KIND_UPDATE", "UPDATE"),
        (11, "CUPTI_OPENACC_EVENT_KIND_ENTER_DATA", "Enter data"),
        (12, "CUPTI_OPENACC_EVENT_KIND_EXIT_DATA", "Exit data"),
        (13, "CUPTI_OPENACC_EVENT_KIND_CREATE", "Create"),
        (14, "CUPTI_OPENACC_EVENT_KIND_DELETE", "Delete"),
        (15, "CUPTI_OPENACC_EVENT_KIND_ALLOC", "Alloc"),
        (16, "CUPTI_OPENACC_EVENT_KIND_FREE", "Free"),
    ]),
    (Table { name: "ENUM_OPENMP_EVENT_KIND", columns: COLUMNS }, &[
        (0, "OPENMP_EVENT_KIND_INVALID", "Invalid"),
        (1, "OPENMP_EVENT_KIND_THREAD_BEGIN", "Thread begin"),
        (2, "OPENMP_EVENT_KIND_THREAD_END", "Thread end"),
        (3, "OPENMP_EVENT_KIND_PARALLEL_BEGIN", "Parallel begin"),
        (4, "OPENMP_EVENT_KIND_PARALLEL_END", "Parallel End"),
        (5, "OPENMP_EVENT_KIND_SYNC_REGION_WAIT_BEGIN", "Sync region wait begin"),
        (6, "OPENMP_EVENT_KIND_SYNC_REGION_WAIT_END", "Sync region wait end"),
        (7, "OPENMP_EVENT_KIND_SYNC_REGION_BEGIN", "Sync region begin"),
        (8, "OPENMP_EVENT_KIND_SYNC_REGION_END", "Sync region end"),
        (9, "OPENMP_EVENT_KIND_TASK_BEGIN", "Task begin"),
        (10, "OPENMP_EVENT_KIND_TASK_END", "Task end"),
        (11, "OPENMP_EVENT_KIND_MASTER_BEGIN", "Master begin"),
        (12, "OPENMP_EVENT_KIND_MASTER_END", "Master end"),
        (13, "OPENMP_EVENT_KIND_REDUCTION_BEGIN", "Reduction begin"),
        (14, "OPENMP_EVENT_KIND_REDUCTION_END", "Reduction end"),
        (15, "OPENMP_EVENT_KIND_TASK_CREATE", "Task create"),
        (16, "OPENMP_EVENT_KIND_TASK_SCHEDULE", "Task schedule"),
        (17, "OPENMP_EVENT_KIND_CANCEL", "Cancel"),
        (18, "OPENMP_EVENT_KIND_MUTEX_ACQUIRE", "Mutex acquire"),
        (19, "OPENMP_EVENT_KIND_MUTEX_ACQUIRED", "Mutex acquired"),
        (20, "OPENMP_EVENT_KIND_MUTEX_RELEASED", "Mutex released"),
        (21, "OPENMP_EVENT_KIND_LOCK_INIT", "Lock init"),
        (22, "OPENMP_EVENT_KIND_LOCK_DESTROY", "Lock destroy"),
        (23, "OPENMP_EVENT_KIND_WORKSHARE_BEGIN", "Workshare begin"),
        (24, "OPENMP_EVENT_KIND_WORKSHARE_END", "Workshare end"),
        (25, "OPENMP_EVENT_KIND_DISPATCH", "Dispatch"),
        (26, "OPENMP_EVENT_KIND_FLUSH", "Flush"),
        (27, "OPENMP_EVENT_KIND_THREAD", "Thread"),
        (28, "OPENMP_EVENT_KIND_PARALLEL", "Parallel"),
        (29, "OPENMP_EVENT_KIND_SYNC_REGION_WAIT", "Sync region wait"),
        (30, "OPENMP_EVENT_KIND_SYNC_REGION", "Sync region"),
        (31, "OPENMP_EVENT_KIND_TASK", "Task"),
        (32, "OPENMP_EVENT_KIND_MASTER", "Master"),
        (33, "OPENMP_EVENT_KIND_REDUCTION", "Reduction"),
        (34, "OPENMP_EVENT_KIND_MUTEX_WAIT", "Mutex wait"),
        (35, "OPENMP_EVENT_KIND_CRITICAL_SECTION", "Critical section"),
        (36, "OPENMP_EVENT_KIND_WORKSHARE", "Workshare"),
    ]),
    (Table { name: "ENUM_OPENMP_THREAD", columns: COLUMNS }, &[
        (1, "ompt_thread_initial", "Initial"),
        (2, "ompt_thread_worker", "Worker"),
        (3, "ompt_thread_other", "Internal"),
        (4, "ompt_thread_unknown", "Unknown"),
    ]),
    (Table { name: "ENUM_OPENMP_SYNC_REGION", columns: COLUMNS }, &[
        (1, "ompt_sync_region_barrier", "Barrier"),
        (2, "ompt_sync_region_barrier_implicit", "Implicit barrier"),
        (3, "ompt_sync_region_barrier_explicit", "Explicit barrier"),
        (4, "ompt_sync_region_barrier_implementation", "Implementation barrier"),
        (5, "ompt_sync_region_taskwait", "Task wait"),
        (6, "ompt_sync_region_taskgroup", "Task group"),
        (7, "ompt_sync_region_reduction", "Reduction"),
    ]),
    (Table { name: "ENUM_OPENMP_TASK_FLAG", columns: COLUMNS }, &[
        (1, "ompt_task_initial", "Initial"),
        (2, "ompt_task_implicit", "Implitic"),
        (4, "ompt_task_explicit", "Explicit"),
        (8, "ompt_task_target", "Target"),
        (134217728, "ompt_task_undeferred", "Undeferred"),
        (268435456, "ompt_task_untied", "United"),
        (536870912, "ompt_task_final", "Final"),
        (1073741824, "ompt_task_mergeable", "Mergeable"),
        (2147483648, "ompt_task_merged", "Merged"),
    ]),
    (Table { name: "ENUM_DIAGNOSTIC_SEVERITY_LEVEL", columns: COLUMNS }, &[
        (0, "UnknownLevel", "Unknown"),
        (1, "Info", "Info"),
        (2, "Warning", "Warning"),
        (3, "Error", "Error"),
        (4, "Verbose", "Verbose"),
    ]),
    (Table { name: "ENUM_DIAGNOSTIC_SOURCE_TYPE", columns: COLUMNS }, &[
        (0, "UnknownSource", "Unknown source"),
        (1, "Injection", "Injection"),
        (2, "Daemon", "Daemon"),
        (3, "Analysis", "Analysis"),
    ]),
    (Table { name: "ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE", columns: COLUMNS }, &[
        (0, "UnknownTimestamp", "Unknown timestamp"),
        (1, "TargetTimestamp", "Target timestamp"),
        (2, "HostTimestamp", "Host timestamp"),
    ]),
];

#[cfg(test)]
mod tests {
    use super::label;
    use crate::exchange::nsys_sqlite::memory_kind::to_nsys;
    use crate::exchange::nsys_sqlite::{event_class, event_type};
    use trace_format::vocabulary::{memcpy_kind, memory_kind};

    #[test]
    fn labels_are_the_words_by_which_importers_and_reports_know_nsys() {
        for &(kind, word) in memcpy_kind::NSYS.0 {
            assert_eq!(label("ENUM_CUDA_MEMCPY_OPER", kind.into()), word);
        }
        for &(kind, word) in memory_kind::NVPROF.0 {
            assert_eq!(label("ENUM_CUDA_MEM_KIND", to_nsys(kind).into()), word);
        }
        let types = [event_type::MARK, event_type::PUSH_POP, event_type::START_END, event_type::DOMAIN];
        let labels = types.map(|number| label("ENUM_NSYS_EVENT_TYPE", number.into()));
        assert_eq!(labels, ["NvtxMark", "NvtxPushPopRange", "NvtxStartEndRange", "NvtxDomainCreate"]);
        let classes = [event_class::RUNTIME, event_class::DRIVER];
        let labels = classes.map(|number| label("ENUM_NSYS_EVENT_CLASS", number.into()));
        assert_eq!(labels, ["CUDA runtime", "CUDA driver"]);
    }
}
