//! Table `clock`.

crate::table! {
    /// One reading of three clocks at the same moment; the reader takes Unix time from these.
    CLOCK = 42, "clock", Meta, ClockRow, ClockBuilder {
        /// The trace clock (CUPTI's).
        trace_ns: i64 = Delta, Time;
        /// CLOCK_REALTIME.
        unix_ns: i64 = Delta, Time;
        /// CLOCK_MONOTONIC.
        monotonic_ns: i64 = Delta, Time;
        /// Taken before CUPTI's clock had settled.
        provisional: bool = Plain, Other;
    }
}
