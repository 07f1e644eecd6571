//! Table `memset`.

crate::table! {
    /// One memory fill. Source: `CUpti_ActivityMemset4` and later.
    MEMSET = 18, "memset", Activity, MemsetRow, MemsetBuilder {
        /// Start, on the trace clock (see `clock`). As recorded, even where it is impossible.
        start_ns: i64 = Delta, Time;
        /// End minus start. Null: no valid times (0/0, end before start, implausible); such a row enters no sum.
        duration_ns: Option<i64> = Delta, Length;
        /// Value written.
        value: u32 = Dictionary, Other;
        /// Bytes filled.
        bytes: i64 = Delta, Bytes;
        /// `CUpti_ActivityMemoryKind`.
        mem_kind: u32 = Dictionary, Coded(memory_kind);
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
        /// Bit 0: asynchronous.
        flags: Option<u32> = Dictionary, Code;
    }
}
