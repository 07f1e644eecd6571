//! Table `foreign`.

crate::table! {
    /// An entry of a foreign trace that no other table describes: a copy of an annotation on a GPU's stream, a mark, an end of
    /// an arrow. Kept so that an export to the format it came from has it.
    FOREIGN = 34, "foreign", Activity, ForeignRow, ForeignBuilder {
        /// Start, on the trace clock (see `clock`).
        start_ns: i64 = Delta, Time;
        /// End minus start; 0 where the entry is a moment; null: no valid duration.
        duration_ns: Option<i64> = Delta, Length;
        /// What it looks like.
        form: u32 = Dictionary, Coded(foreign_form);
        /// What the trace calls this kind of entry, e.g. `gpu_user_annotation`.
        category_name_id: u32 = Dictionary, Id(string);
        /// Text of the entry.
        name_id: u32 = Dictionary, Id(string);
        /// CUDA device index; null: the entry stands on a thread.
        device: Option<u32> = Dictionary, Id(device);
        /// Stream of that device.
        stream: Option<u32> = Dictionary, Id(stream);
        /// Operating system thread id; null: the entry stands on a device.
        tid: Option<u32> = Dictionary, Id(thread);
        /// Joins the ends of an arrow; 0: none.
        arrow: u64 = Delta, Object;
        /// The arguments that it has, as the fields of a JSON object without the brackets.
        arguments_id: Option<u32> = Delta, Id(string);
    }
}
