//! Databases in the schema of nvprof: tables of our own, and numbers that both sides know.

/// Where times counted from.
pub const EXPORT: &str = "GPUPROF_EXPORT";

/// Names of calls that differ from what nvprof's numbers stand for.
pub const CALLS: &str = "GPUPROF_CALLS";

/// Nanoseconds since 1970, where the trace has an epoch.
pub const ORIGIN: &str = "origin_ns";

/// What was added to all times of a trace that has none.
pub const SHIFT: &str = "shift_ns";

/// `CUpti_ActivityObjectKind`: what an `objectId` names.
pub mod object_kind {
    /// A process.
    pub const PROCESS: u32 = 1;
    /// A thread of a process.
    pub const THREAD: u32 = 2;
    /// A context of a device.
    pub const CONTEXT: u32 = 4;
    /// A stream of a context.
    pub const STREAM: u32 = 5;
}
