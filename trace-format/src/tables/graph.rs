//! Table `graph`.

crate::table! {
    /// One execution of a whole CUDA graph. Source: `CUpti_ActivityGraphTrace`.
    GRAPH = 22, "graph", Activity, GraphRow, GraphBuilder {
        /// Start, on the trace clock (see `clock`). As recorded, even where it is impossible.
        start_ns: i64 = Delta, Time;
        /// End minus start. Null: no valid times (0/0, end before start, implausible); such a row enters no sum.
        duration_ns: Option<i64> = Delta, Length;
        /// The graph.
        graph_id: u32 = Dictionary, Object;
        /// CUDA device index as this process saw it.
        device: u32 = Dictionary, Id(device);
        /// CUPTI context id.
        context: u32 = Dictionary, Id(context);
        /// CUPTI stream id.
        stream: u32 = Dictionary, Id(stream);
        /// Joins GPU work to the API call of the same process that caused it.
        correlation: u64 = Delta, Id(api);
    }
}
