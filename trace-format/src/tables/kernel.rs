//! Table `kernel`.

crate::table! {
    /// One GPU kernel execution.
    /// Source: `CUpti_ActivityKernel8` and later; graph fields only where the running CUPTI has them.
    KERNEL = 16, "kernel", Activity, KernelRow, KernelBuilder {
        /// Start, on the trace clock (see `clock`). As recorded, even where it is impossible.
        start_ns: i64 = Delta, Time;
        /// End minus start. Null: no valid times (0/0, end before start, implausible); such a row enters no sum.
        duration_ns: Option<i64> = Delta, Length;
        /// Launch shape, see `shape`.
        shape_id: u32 = Delta, Id(shape);
        /// CUDA device index as this process saw it.
        device: u32 = Dictionary, Id(device);
        /// CUPTI context id.
        context: u32 = Dictionary, Id(context);
        /// CUPTI stream id.
        stream: u32 = Dictionary, Id(stream);
        /// Joins GPU work to the API call of the same process that caused it.
        correlation: u64 = Delta, Id(api);
        /// CUDA graph that contains the node; null outside graphs.
        graph_id: Option<u32> = Dictionary, Object;
        /// CUDA graph node; null outside graphs.
        graph_node_id: Option<u64> = Delta, Object;
        /// When the launch was queued; null unless latency timestamps were on.
        queued_ns: Option<i64> = Delta, Time;
        /// When the launch was submitted to the GPU; null unless latency timestamps were on.
        submitted_ns: Option<i64> = Delta, Time;
        /// Hardware channel.
        channel: Option<u32> = Dictionary, Object;
        /// Priority of the launch (CUPTI 13.1 and later).
        priority: Option<i64> = Dictionary, Other;
        /// Bit 0: launched by the device (CDP or device graph).
        flags: Option<u32> = Dictionary, Code;
    }
}
