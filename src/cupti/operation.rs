//! What summaries and listings call operations that have no name of their own.

use trace_format::vocabulary::{memcpy_kind, memory_kind, openmp_kind};

/// A fill.
pub const MEMSET: &str = "[CUDA memset]";

/// A whole graph, where its number is of no use.
pub const GRAPH: &str = "[CUDA graph]";

/// A whole graph by its number.
pub fn graph_name(graph: u32) -> String {
    format!("[CUDA graph {graph}]")
}

/// A copy, by `CUpti_ActivityMemcpyKind`, in nvprof's words; 11 to 13 are migrations as nsys records them.
pub fn memcpy_name(kind: u32) -> &'static str {
    match kind {
        memcpy_kind::UNKNOWN => "[CUDA memcpy Unknown]",
        memcpy_kind::HTOD => "[CUDA memcpy HtoD]",
        memcpy_kind::DTOH => "[CUDA memcpy DtoH]",
        memcpy_kind::HTOA => "[CUDA memcpy HtoA]",
        memcpy_kind::ATOH => "[CUDA memcpy AtoH]",
        memcpy_kind::ATOA => "[CUDA memcpy AtoA]",
        memcpy_kind::ATOD => "[CUDA memcpy AtoD]",
        memcpy_kind::DTOA => "[CUDA memcpy DtoA]",
        memcpy_kind::DTOD => "[CUDA memcpy DtoD]",
        memcpy_kind::HTOH => "[CUDA memcpy HtoH]",
        memcpy_kind::PTOP => "[CUDA memcpy PtoP]",
        memcpy_kind::UNIFIED_HTOD => "[Unified Memory Memcpy HtoD]",
        memcpy_kind::UNIFIED_DTOH => "[Unified Memory Memcpy DtoH]",
        memcpy_kind::UNIFIED_DTOD => "[Unified Memory Memcpy DtoD]",
        _ => "[CUDA memcpy]",
    }
}

/// An OpenMP region, by `CUpti_OpenMpEventKind`, in nvprof's words.
pub fn openmp_name(kind: u32) -> &'static str {
    match kind {
        openmp_kind::PARALLEL => "omp_parallel",
        openmp_kind::TASK => "omp_task",
        openmp_kind::THREAD => "omp_thread",
        openmp_kind::IDLE => "omp_idle",
        openmp_kind::WAIT_BARRIER => "omp_wait_barrier",
        openmp_kind::WAIT_TASKWAIT => "omp_wait_taskwait",
        _ => "omp_unknown",
    }
}

/// The last `CUpti_ActivityMemoryKind` that nvprof 11.8 has a word for.
pub const LAST_NAMED_BY_NVPROF: u32 = memory_kind::MANAGED;

/// `CUpti_ActivityMemoryKind` in nvprof's words.
pub fn memory_kind(kind: u32) -> &'static str {
    memory_kind::NVPROF.word(kind).unwrap_or("Unknown")
}
