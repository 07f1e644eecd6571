//! Table `openmp`.

crate::table! {
    /// One OpenMP region. Source: `CUpti_ActivityOpenMp`.
    OPENMP = 29, "openmp", Activity, OpenmpRow, OpenmpBuilder {
        /// Start, on the trace clock (see `clock`). As recorded, even where it is impossible.
        start_ns: i64 = Delta, Time;
        /// End minus start. Null: no valid times (0/0, end before start, implausible); such a row enters no sum.
        duration_ns: Option<i64> = Delta, Length;
        /// `CUpti_OpenMpEventKind`: what the region is.
        kind: u32 = Dictionary, Coded(openmp_kind);
        /// Operating system thread id; a foreign trace may give another stable 32-bit id.
        tid: u32 = Dictionary, Id(thread);
    }
}
