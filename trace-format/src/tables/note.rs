//! Table `note`.

crate::table! {
    /// A remark of the user or of the recorder.
    NOTE = 43, "note", Meta, NoteRow, NoteBuilder {
        /// When; null: about the whole file.
        start_ns: Option<i64> = Delta, Time;
        /// The remark.
        text_id: u32 = Delta, Id(string);
        /// More about it, in the words of who made it.
        detail_id: Option<u32> = Delta, Id(string);
    }
}
