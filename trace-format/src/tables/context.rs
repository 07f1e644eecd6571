//! Table `context`.

crate::table! {
    /// One CUDA context. Source: `CUpti_ActivityContext` and later.
    CONTEXT = 5, "context", Defining, ContextRow, ContextBuilder {
        /// CUPTI context id.
        context: u32 = Dictionary, Key;
        /// CUDA device index as this process saw it.
        device: u32 = Dictionary, Id(device);
        /// `CUpti_ActivityComputeApiKind`: the API that it was made for.
        api_kind: Option<u32> = Plain, Coded(compute_api);
        /// Stream id of the context's default stream.
        null_stream: Option<u32> = Plain, Id(stream);
        /// Parent of a green context.
        parent_context: Option<u32> = Plain, Id(context);
    }
}
