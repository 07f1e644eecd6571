//! Table `capture`.

crate::table! {
    /// One window in which records were kept.
    CAPTURE = 40, "capture", Meta, CaptureRow, CaptureBuilder {
        /// When the gate opened.
        start_ns: i64 = Delta, Time;
        /// When it closed; null: still open.
        end_ns: Option<i64> = Delta, Time;
        /// Correlation id at which it opened.
        first_correlation: Option<u64> = Delta, Object;
        /// Correlation id at which it closed.
        last_correlation: Option<u64> = Delta, Object;
        /// Start requests in the window, the opening one included.
        starts: i64 = Plain, Count;
        /// Stop requests, the closing one included.
        stops: i64 = Plain, Count;
        /// Records collected and left out since the window before.
        excluded_rows: i64 = Plain, Count;
    }
}
