//! Table `memory`.

crate::table! {
    /// One allocation, release or pool operation. Source: `CUpti_ActivityMemory3` and later.
    MEMORY = 23, "memory", Activity, MemoryRow, MemoryBuilder {
        /// When it happened.
        start_ns: i64 = Delta, Time;
        /// `CUpti_ActivityMemoryOperationType`; of a memory pool `CUpti_ActivityMemoryPoolOperationType` and 16.
        operation: u32 = Dictionary, Coded(memory_operation);
        /// `CUpti_ActivityMemoryKind`.
        mem_kind: u32 = Dictionary, Coded(memory_kind);
        /// Address.
        address: u64 = Plain, Other;
        /// Bytes.
        bytes: i64 = Delta, Bytes;
        /// CUDA device index.
        device: u32 = Dictionary, Id(device);
        /// Context.
        context: Option<u32> = Dictionary, Id(context);
        /// Stream of an asynchronous operation.
        stream: Option<u32> = Dictionary, Id(stream);
        /// The API call.
        correlation: u64 = Delta, Id(api);
        /// Name of a static variable.
        name_id: Option<u32> = Dictionary, Id(string);
    }
}
