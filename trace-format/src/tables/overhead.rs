//! Table `overhead`.

crate::table! {
    /// Time that the CUDA driver or CUPTI itself took. Source: `CUpti_ActivityOverhead` and later.
    OVERHEAD = 21, "overhead", Activity, OverheadRow, OverheadBuilder {
        /// Start, on the trace clock (see `clock`). As recorded, even where it is impossible.
        start_ns: i64 = Delta, Time;
        /// End minus start. Null: no valid times (0/0, end before start, implausible); such a row enters no sum.
        duration_ns: Option<i64> = Delta, Length;
        /// `CUpti_ActivityOverheadKind`: what took the time.
        kind: u32 = Dictionary, Coded(overhead_kind);
        /// Thread; null where it does not apply.
        tid: Option<u32> = Dictionary, Id(thread);
        /// Call during which it happened (CUPTI 12.3 and later).
        correlation: Option<u64> = Delta, Id(api);
    }
}
