//! Table `api`.

crate::table! {
    /// One call of the CUDA runtime or driver API. Source: `CUpti_ActivityAPI`.
    API = 19, "api", Activity, ApiRow, ApiBuilder {
        /// Start, on the trace clock (see `clock`). As recorded, even where it is impossible.
        start_ns: i64 = Delta, Time;
        /// End minus start. Null: no valid times (0/0, end before start, implausible); such a row enters no sum.
        duration_ns: Option<i64> = Delta, Length;
        /// Which API it belongs to.
        domain: u32 = Dictionary, Coded(api_domain);
        /// CUPTI callback id in its domain; 0 where the producer gave a name only.
        cbid: u32 = Dictionary, Code;
        /// Name with its version suffix, e.g. `cudaLaunchKernel_v7000`.
        name_id: u32 = Dictionary, Id(string);
        /// Operating system thread id; a foreign trace may give another stable 32-bit id.
        tid: u32 = Dictionary, Id(thread);
        /// Joins GPU work to the API call of the same process that caused it.
        correlation: u64 = Delta, Key;
        /// `cudaError_t` or `CUresult`; 0 is success.
        result: Option<u32> = Dictionary, Code;
    }
}
