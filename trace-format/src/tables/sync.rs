//! Table `sync`.

crate::table! {
    /// One synchronisation. Source: `CUpti_ActivitySynchronization` and later.
    SYNC = 20, "sync", Activity, SyncRow, SyncBuilder {
        /// Start, on the trace clock (see `clock`). As recorded, even where it is impossible.
        start_ns: i64 = Delta, Time;
        /// End minus start. Null: no valid times (0/0, end before start, implausible); such a row enters no sum.
        duration_ns: Option<i64> = Delta, Length;
        /// `CUpti_ActivitySynchronizationType`: what was waited for.
        kind: u32 = Dictionary, Coded(sync_kind);
        /// Context; null where it does not apply.
        context: Option<u32> = Dictionary, Id(context);
        /// Stream; null where it does not apply.
        stream: Option<u32> = Dictionary, Id(stream);
        /// Event; null where it does not apply.
        event: Option<u32> = Dictionary, Object;
        /// Joins GPU work to the API call of the same process that caused it.
        correlation: u64 = Delta, Id(api);
        /// Result of the call (CUPTI 12.8 and later).
        result: Option<u32> = Dictionary, Code;
    }
}
