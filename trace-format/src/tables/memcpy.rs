//! Table `memcpy`.

crate::table! {
    /// One memory copy, peer-to-peer copies included.
    /// Source: `CUpti_ActivityMemcpy5` and later, `CUpti_ActivityMemcpyPtoP4`.
    MEMCPY = 17, "memcpy", Activity, MemcpyRow, MemcpyBuilder {
        /// Start, on the trace clock (see `clock`). As recorded, even where it is impossible.
        start_ns: i64 = Delta, Ns;
        /// End minus start. Null: no valid times (0/0, end before start, implausible); such a row enters no sum.
        duration_ns: Option<i64> = Delta, Ns;
        /// `CUpti_ActivityMemcpyKind`: 1 HtoD, 2 DtoH, 3 HtoA, 4 AtoH, 5 AtoA, 6 AtoD, 7 DtoA, 8 DtoD, 9 HtoH, 10 PtoP; 11 to 13 unified HtoD, DtoH, DtoD (nsys).
        kind: u32 = Dictionary, Code;
        /// `CUpti_ActivityMemoryKind`: 0 unknown, 1 pageable, 2 pinned, 3 device, 4 array, 5 managed, 6 device static, 7 managed static.
        src_kind: u32 = Dictionary, Code;
        /// As `src_kind`.
        dst_kind: u32 = Dictionary, Code;
        /// Bytes copied.
        bytes: i64 = Delta, Bytes;
        /// CUDA device index as this process saw it.
        device: u32 = Dictionary, Id;
        /// CUPTI context id.
        context: u32 = Dictionary, Id;
        /// CUPTI stream id.
        stream: u32 = Dictionary, Id;
        /// Source device of a peer copy.
        src_device: Option<u32> = Dictionary, Id;
        /// Destination device of a peer copy.
        dst_device: Option<u32> = Dictionary, Id;
        /// Source context of a peer copy.
        src_context: Option<u32> = Dictionary, Id;
        /// Destination context of a peer copy.
        dst_context: Option<u32> = Dictionary, Id;
        /// Joins GPU work to the API call of the same process that caused it.
        correlation: u64 = Delta, Id;
        /// CUDA graph that contains the node; null outside graphs.
        graph_id: Option<u32> = Dictionary, Id;
        /// CUDA graph node; null outside graphs.
        graph_node_id: Option<u64> = Delta, Id;
        /// Bit 0: asynchronous.
        flags: Option<u32> = Dictionary, Code;
        /// Hardware channel.
        channel: Option<u32> = Dictionary, Id;
    }
}
