//! `CUpti_ActivityUnifiedMemoryCounterKind`.

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
