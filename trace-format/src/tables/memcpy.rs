//! Table `memcpy`.

crate::table! {
    /// One memory copy, peer-to-peer copies included.
    /// Source: `CUpti_ActivityMemcpy5` and later, `CUpti_ActivityMemcpyPtoP4`.
    MEMCPY = 17, "memcpy", Activity, MemcpyRow, MemcpyBuilder {
        /// Start, on the trace clock (see `clock`). As recorded, even where it is impossible.
        start_ns: i64 = Delta, Time;
        /// End minus start. Null: no valid times (0/0, end before start, implausible); such a row enters no sum.
        duration_ns: Option<i64> = Delta, Length;
        /// `CUpti_ActivityMemcpyKind`: the direction; 11 to 13 come from nsys.
        kind: u32 = Dictionary, Coded(memcpy_kind);
        /// `CUpti_ActivityMemoryKind` of the source.
        src_kind: u32 = Dictionary, Coded(memory_kind);
        /// `CUpti_ActivityMemoryKind` of the destination.
        dst_kind: u32 = Dictionary, Coded(memory_kind);
        /// Bytes copied.
        bytes: i64 = Delta, Bytes;
        /// CUDA device index as this process saw it.
        device: u32 = Dictionary, Id(device);
        /// CUPTI context id.
        context: u32 = Dictionary, Id(context);
        /// CUPTI stream id.
        stream: u32 = Dictionary, Id(stream);
        /// Source device of a peer copy.
        src_device: Option<u32> = Dictionary, Id(device);
        /// Destination device of a peer copy.
        dst_device: Option<u32> = Dictionary, Id(device);
        /// Source context of a peer copy.
        src_context: Option<u32> = Dictionary, Id(context);
        /// Destination context of a peer copy.
        dst_context: Option<u32> = Dictionary, Id(context);
        /// Joins GPU work to the API call of the same process that caused it.
        correlation: u64 = Delta, Id(api);
        /// CUDA graph that contains the node; null outside graphs.
        graph_id: Option<u32> = Dictionary, Object;
        /// CUDA graph node; null outside graphs.
        graph_node_id: Option<u64> = Delta, Object;
        /// Bit 0: asynchronous.
        flags: Option<u32> = Dictionary, Code;
        /// Hardware channel.
        channel: Option<u32> = Dictionary, Object;
    }
}
