//! Table `loss`.

crate::table! {
    /// Records that are known to be missing.
    LOSS = 41, "loss", Meta, LossRow, LossBuilder {
        /// Begin of the time window in which they were lost.
        start_ns: Option<i64> = Delta, Time;
        /// End of that window.
        end_ns: Option<i64> = Delta, Time;
        /// How many; 0: unknown.
        rows: i64 = Plain, Count;
        /// Why they are missing.
        cause: u32 = Dictionary, Coded(loss_cause);
        /// What else is known.
        detail_id: Option<u32> = Dictionary, Id(string);
    }
}
