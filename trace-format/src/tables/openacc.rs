//! Table `openacc`.

crate::table! {
    /// One OpenACC region. Source: `CUpti_ActivityOpenAcc*`.
    OPENACC = 28, "openacc", Activity, OpenaccRow, OpenaccBuilder {
        /// Start, on the trace clock (see `clock`). As recorded, even where it is impossible.
        start_ns: i64 = Delta, Ns;
        /// End minus start. Null: no valid times (0/0, end before start, implausible); such a row enters no sum.
        duration_ns: Option<i64> = Delta, Ns;
        /// `CUpti_OpenAccEventKind`: 1 device init, 2 device shutdown, 3 runtime shutdown, 4 enqueue launch, 5 enqueue upload, 6 enqueue download, 7 wait, 8 implicit wait, 9 compute construct, 10 update, 11 enter data, 12 exit data, 13 create, 14 delete, 15 alloc, 16 free.
        kind: u32 = Dictionary, Code;
        /// `CUpti_OpenAccConstructKind` of the enclosing construct.
        parent_construct: u32 = Dictionary, Code;
        /// Thread.
        tid: u32 = Dictionary, Id;
        /// Source line.
        line: Option<i64> = Dictionary, Other;
        /// Source file.
        file_id: Option<u32> = Dictionary, Name;
        /// Function.
        function_id: Option<u32> = Dictionary, Name;
        /// Variable of a data event or kernel of a launch.
        variable_id: Option<u32> = Dictionary, Name;
        /// Bytes of a data event.
        bytes: Option<i64> = Delta, Bytes;
        /// Whether the event was implicit.
        implicit: Option<bool> = Plain, Other;
        /// Id that `external` rows refer to.
        external_id: Option<u32> = Delta, Id;
        /// CUDA device index of the construct.
        device: Option<u32> = Dictionary, Id;
        /// CUPTI context id.
        context: Option<u32> = Dictionary, Id;
        /// CUPTI stream id.
        stream: Option<u32> = Dictionary, Id;
    }
}
