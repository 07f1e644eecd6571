//! Table `openacc`.

crate::table! {
    /// One OpenACC region. Source: `CUpti_ActivityOpenAcc*`.
    OPENACC = 28, "openacc", Activity, OpenaccRow, OpenaccBuilder {
        /// Start, on the trace clock (see `clock`). As recorded, even where it is impossible.
        start_ns: i64 = Delta, Time;
        /// End minus start. Null: no valid times (0/0, end before start, implausible); such a row enters no sum.
        duration_ns: Option<i64> = Delta, Length;
        /// `CUpti_OpenAccEventKind`: what the region is.
        kind: u32 = Dictionary, Coded(openacc_kind);
        /// `CUpti_OpenAccConstructKind` of the enclosing construct.
        parent_construct: u32 = Dictionary, Coded(openacc_construct);
        /// Thread.
        tid: u32 = Dictionary, Id(thread);
        /// Source line.
        line: Option<i64> = Dictionary, Other;
        /// Source file.
        file_id: Option<u32> = Dictionary, Id(string);
        /// Function.
        function_id: Option<u32> = Dictionary, Id(string);
        /// Variable of a data event or kernel of a launch.
        variable_id: Option<u32> = Dictionary, Id(string);
        /// Bytes of a data event.
        bytes: Option<i64> = Delta, Bytes;
        /// Whether the event was implicit.
        implicit: Option<bool> = Plain, Other;
        /// Id that `external` rows refer to.
        external_id: Option<u32> = Delta, Object;
        /// CUDA device index of the construct.
        device: Option<u32> = Dictionary, Id(device);
        /// CUPTI context id.
        context: Option<u32> = Dictionary, Id(context);
        /// CUPTI stream id.
        stream: Option<u32> = Dictionary, Id(stream);
    }
}
