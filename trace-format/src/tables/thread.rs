//! Table `thread`.

crate::table! {
    /// One thread of the process.
    THREAD = 7, "thread", Defining, ThreadRow, ThreadBuilder {
        /// Operating system thread id; a foreign trace may give another stable 32-bit id.
        tid: u32 = Dictionary, Key;
        /// Thread name, from NVTX or the system.
        name_id: u32 = Dictionary, Id(string);
    }
}
