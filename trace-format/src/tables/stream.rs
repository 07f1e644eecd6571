//! Table `stream`.

crate::table! {
    /// One CUDA stream. Source: `CUpti_ActivityStream`, `CUpti_ActivityName`.
    STREAM = 6, "stream", Defining, StreamRow, StreamBuilder {
        /// CUPTI context id.
        context: u32 = Dictionary, Id(context);
        /// CUPTI stream id.
        stream: u32 = Dictionary, Key;
        /// Stream priority; lower numbers go first.
        priority: Option<i64> = Plain, Other;
        /// `CUpti_ActivityStreamFlag`.
        flag: Option<u32> = Plain, Coded(stream_flag);
        /// Name given by the program.
        name_id: Option<u32> = Dictionary, Id(string);
    }
}
