//! Table `jit`.

crate::table! {
    /// One just-in-time compilation or cache access. Source: `CUpti_ActivityJit` and later.
    JIT = 27, "jit", Activity, JitRow, JitBuilder {
        /// Start, on the trace clock (see `clock`). As recorded, even where it is impossible.
        start_ns: i64 = Delta, Time;
        /// End minus start. Null: no valid times (0/0, end before start, implausible); such a row enters no sum.
        duration_ns: Option<i64> = Delta, Length;
        /// `CUpti_ActivityJitEntryType`: what was compiled into what.
        kind: u32 = Dictionary, Coded(jit_kind);
        /// `CUpti_ActivityJitOperationType`: what was done.
        operation: u32 = Dictionary, Coded(jit_operation);
        /// CUDA device index as this process saw it.
        device: u32 = Dictionary, Id(device);
        /// Joins GPU work to the API call of the same process that caused it.
        correlation: u64 = Delta, Id(api);
        /// Size of the cache entry.
        cache_bytes: Option<i64> = Plain, Bytes;
    }
}
