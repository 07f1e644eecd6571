//! Table `event`.

crate::table! {
    /// One CUDA event record. Source: `CUpti_ActivityCudaEvent` and later.
    EVENT = 25, "event", Activity, EventRow, EventBuilder {
        /// Device time of the event (CUPTI 12.8 and later).
        start_ns: Option<i64> = Delta, Time;
        /// The event.
        event: u32 = Dictionary, Object;
        /// CUPTI context id.
        context: u32 = Dictionary, Id(context);
        /// Stream.
        stream: Option<u32> = Dictionary, Id(stream);
        /// Joins GPU work to the API call of the same process that caused it.
        correlation: u64 = Delta, Id(api);
    }
}
