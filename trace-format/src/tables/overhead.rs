//! Table `overhead`.

crate::table! {
    /// Time that the CUDA driver or CUPTI itself took. Source: `CUpti_ActivityOverhead` and later.
    OVERHEAD = 21, "overhead", Activity, OverheadRow, OverheadBuilder {
        /// Start, on the trace clock (see `clock`). As recorded, even where it is impossible.
        start_ns: i64 = Delta, Ns;
        /// End minus start. Null: no valid times (0/0, end before start, implausible); such a row enters no sum.
        duration_ns: Option<i64> = Delta, Ns;
        /// `CUpti_ActivityOverheadKind`: 1 driver compiler, 65536 buffer flush, 131072 instrumentation, 196608 resource, 262144 module loading, 327680 lazy function loading, 393216 command buffer full, 458752 activity buffer request, 524288 UVM activity.
        kind: u32 = Dictionary, Code;
        /// Thread; null where it does not apply.
        tid: Option<u32> = Dictionary, Id;
        /// Call during which it happened (CUPTI 12.3 and later).
        correlation: Option<u64> = Delta, Id;
    }
}
