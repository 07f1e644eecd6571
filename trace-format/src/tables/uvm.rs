//! Table `uvm`.

crate::table! {
    /// One unified memory event. Source: `CUpti_ActivityUnifiedMemoryCounter2` and later.
    UVM = 24, "uvm", Activity, UvmRow, UvmBuilder {
        /// Start, on the trace clock (see `clock`). As recorded, even where it is impossible.
        start_ns: i64 = Delta, Time;
        /// How long it took; null for events without a duration.
        duration_ns: Option<i64> = Delta, Length;
        /// `CUpti_ActivityUnifiedMemoryCounterKind`: what was counted.
        kind: u32 = Dictionary, Coded(uvm_kind);
        /// Bytes for kinds 1, 2, 8; fault count for 3 and 4; bytes concerned for 5 to 7.
        value: i64 = Delta, Other;
        /// Virtual address.
        address: u64 = Delta, Other;
        /// Source; null: the CPU. Of thrashing (kind 5) a mask of the devices that take part.
        src_device: Option<u32> = Dictionary, Id(device);
        /// Destination; null: the CPU.
        dst_device: Option<u32> = Dictionary, Id(device);
        /// Stream that caused it.
        stream: Option<u32> = Dictionary, Id(stream);
        /// CUPTI's flags for the kind.
        flags: Option<u32> = Dictionary, Code;
        /// CPU instruction that faulted (kind 3).
        pc: Option<u64> = Plain, Other;
    }
}
