//! `CUpti_ActivityUnifiedMemoryCounterKind`.

use super::Wording;

crate::vocabulary! {
    "What was counted.";
    /// `unknown`.
    UNKNOWN = 0, "unknown";
    /// `bytes HtoD`.
    BYTES_HTOD = 1, "bytes HtoD";
    /// `bytes DtoH`.
    BYTES_DTOH = 2, "bytes DtoH";
    /// `CPU page faults`.
    CPU_PAGE_FAULTS = 3, "CPU page faults";
    /// `GPU page faults`.
    GPU_PAGE_FAULTS = 4, "GPU page faults";
    /// `thrashing`.
    THRASHING = 5, "thrashing";
    /// `throttling`.
    THROTTLING = 6, "throttling";
    /// `remote map`.
    REMOTE_MAP = 7, "remote map";
    /// `bytes DtoD`.
    BYTES_DTOD = 8, "bytes DtoD";
}

/// What nvprof calls such an event in its lists.
pub static NVPROF: Wording = Wording(&[
    (BYTES_HTOD, "[Unified Memory Memcpy HtoD]"),
    (BYTES_DTOH, "[Unified Memory Memcpy DtoH]"),
    (CPU_PAGE_FAULTS, "[Unified Memory CPU page faults]"),
    (GPU_PAGE_FAULTS, "[Unified Memory GPU page faults]"),
    (THRASHING, "[Unified Memory page thrash]"),
    (THROTTLING, "[Unified Memory page throttle]"),
    (REMOTE_MAP, "[Unified Memory remote map]"),
    (BYTES_DTOD, "[Unified Memory Memcpy DtoD]"),
]);

/// What nvvp calls the row of such events on its timeline.
pub static NVVP: Wording = Wording(&[
    (BYTES_HTOD, "Data Migration (HtoD)"),
    (BYTES_DTOH, "Data Migration (DtoH)"),
    (CPU_PAGE_FAULTS, "CPU Page Faults"),
    (GPU_PAGE_FAULTS, "GPU Page Faults"),
    (THRASHING, "Memory Thrashing"),
    (THROTTLING, "Memory Throttling"),
    (REMOTE_MAP, "Remote Map"),
    (BYTES_DTOD, "Data Migration (DtoD)"),
]);
