//! Table `range`.

crate::table! {
    /// One named range or mark of the program: NVTX, PyTorch annotations and operators.
    /// A range still open when it was written has a null `end_ns`; a later row with the same `range_id` replaces it.
    RANGE = 30, "range", Activity, RangeRow, RangeBuilder {
        /// Start, on the trace clock (see `clock`). As recorded, even where it is impossible.
        start_ns: i64 = Delta, Time;
        /// End; null: still open, or (style 2) a mark.
        end_ns: Option<i64> = Delta, Time;
        /// What the range is: the first three of NVTX, the others of PyTorch.
        style: u32 = Dictionary, Coded(range_style);
        /// Unique in the file; 0: none.
        range_id: u64 = Delta, Object;
        /// NVTX domain name; null: the default domain.
        domain_id: Option<u32> = Dictionary, Id(string);
        /// Text of the range.
        name_id: u32 = Dictionary, Id(string);
        /// NVTX category.
        category: Option<u32> = Dictionary, Other;
        /// ARGB.
        color: Option<u32> = Dictionary, Other;
        /// Integer payload.
        payload_i64: Option<i64> = Plain, Other;
        /// Floating point payload.
        payload_f64: Option<f64> = Plain, Other;
        /// Operating system thread id; a foreign trace may give another stable 32-bit id.
        tid: u32 = Dictionary, Id(thread);
    }
}
