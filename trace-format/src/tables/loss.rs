//! Table `loss`.

crate::table! {
    /// Records that are known to be missing.
    LOSS = 41, "loss", Meta, LossRow, LossBuilder {
        /// Begin of the time window in which they were lost.
        start_ns: Option<i64> = Delta, Ns;
        /// End of that window.
        end_ns: Option<i64> = Delta, Ns;
        /// How many; 0: unknown.
        rows: i64 = Plain, Count;
        /// 1 queue full, 2 CUPTI dropped them, 3 unknown record kind, 4 names full, 5 disk full, 6 size limit, 7 CUPTI taken over, 8 flush deadline missed.
        cause: u32 = Dictionary, Code;
        /// What else is known.
        detail_id: Option<u32> = Dictionary, Name;
    }
}
