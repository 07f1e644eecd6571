//! What summaries and listings call operations that have no name of their own.

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
        0 => "[CUDA memcpy Unknown]",
        1 => "[CUDA memcpy HtoD]",
        2 => "[CUDA memcpy DtoH]",
        3 => "[CUDA memcpy HtoA]",
        4 => "[CUDA memcpy AtoH]",
        5 => "[CUDA memcpy AtoA]",
        6 => "[CUDA memcpy AtoD]",
        7 => "[CUDA memcpy DtoA]",
        8 => "[CUDA memcpy DtoD]",
        9 => "[CUDA memcpy HtoH]",
        10 => "[CUDA memcpy PtoP]",
        11 => "[Unified Memory Memcpy HtoD]",
        12 => "[Unified Memory Memcpy DtoH]",
        13 => "[Unified Memory Memcpy DtoD]",
        _ => "[CUDA memcpy]",
    }
}

/// An OpenMP region, by `CUpti_OpenMpEventKind`, in nvprof's words.
pub fn openmp_name(kind: u32) -> &'static str {
    match kind {
        1 => "omp_parallel",
        2 => "omp_task",
        3 => "omp_thread",
        4 => "omp_idle",
        5 => "omp_wait_barrier",
        6 => "omp_wait_taskwait",
        _ => "omp_unknown",
    }
}

/// The last `CUpti_ActivityMemoryKind` that nvprof 11.8 has a word for.
pub const LAST_NAMED_BY_NVPROF: u32 = 5;

/// `CUpti_ActivityMemoryKind` in words.
pub fn memory_kind(kind: u32) -> &'static str {
    match kind {
        1 => "Pageable",
        2 => "Pinned",
        3 => "Device",
        4 => "Array",
        5 => "Managed",
        6 => "Device Static",
        7 => "Managed Static",
        _ => "Unknown",
    }
}
