//! Table `sample`.

crate::table! {
    /// One system measurement.
    SAMPLE = 44, "sample", Meta, SampleRow, SampleBuilder {
        /// When.
        start_ns: i64 = Delta, Ns;
        /// Name of the metric, with its unit.
        metric_id: u32 = Dictionary, Name;
        /// Device; null: the host.
        device: Option<u32> = Dictionary, Id;
        /// The value.
        value: f64 = Plain, Other;
    }
}
