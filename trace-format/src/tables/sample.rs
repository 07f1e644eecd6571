//! Table `sample`.

crate::table! {
    /// One system measurement.
    SAMPLE = 44, "sample", Meta, SampleRow, SampleBuilder {
        /// When; of a rate, the beginning of the time over which it was taken.
        start_ns: i64 = Delta, Time;
        /// Name of the metric, with its unit.
        metric_id: u32 = Dictionary, Id(string);
        /// Device; null: the host, or one of its processes.
        device: Option<u32> = Dictionary, Id(device);
        /// The value.
        value: f64 = Plain, Other;
        /// The process that was measured, by its id on that machine; null: the whole host or device.
        of_pid: Option<u32> = Dictionary, Object;
    }
}
