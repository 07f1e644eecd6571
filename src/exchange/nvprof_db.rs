//! Tables of our own in databases in the schema of nvprof.

/// Where times counted from.
pub const EXPORT: &str = "GPUPROF_EXPORT";

/// Names of calls that differ from what nvprof's numbers stand for.
pub const CALLS: &str = "GPUPROF_CALLS";

/// Nanoseconds since 1970, where the trace has an epoch.
pub const ORIGIN: &str = "origin_ns";

/// What was added to all times of a trace that has none.
pub const SHIFT: &str = "shift_ns";
