//! What summaries and listings call operations that have no name of their own.

use trace_format::vocabulary::{memcpy_kind, memory_kind, openmp_kind, uvm_kind};

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
    memcpy_kind::NVPROF.word(kind).unwrap_or("[CUDA memcpy]")
}

/// An event of unified memory, by `CUpti_ActivityUnifiedMemoryCounterKind`, in nvprof's words.
pub fn uvm_name(kind: u32) -> &'static str {
    uvm_kind::NVPROF.word(kind).unwrap_or("[Unified Memory]")
}

/// An OpenMP region, by `CUpti_OpenMpEventKind`, in nvprof's words.
pub fn openmp_name(kind: u32) -> &'static str {
    openmp_kind::NVPROF.word(kind).unwrap_or("omp_unknown")
}

/// The last `CUpti_ActivityMemoryKind` that nvprof 11.8 has a word for.
pub const LAST_NAMED_BY_NVPROF: u32 = memory_kind::MANAGED;

/// `CUpti_ActivityMemoryKind` in nvprof's words.
pub fn memory_kind(kind: u32) -> &'static str {
    memory_kind::NVPROF.word(kind).unwrap_or("Unknown")
}
