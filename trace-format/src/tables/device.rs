//! Table `device`.

crate::table! {
    /// One GPU. Source: `CUpti_ActivityDevice4` and later.
    DEVICE = 4, "device", Defining, DeviceRow, DeviceBuilder {
        /// CUDA device index as this process saw it.
        device: u32 = Dictionary, Key;
        /// Device name, e.g. "NVIDIA H100 80GB HBM3".
        name_id: u32 = Dictionary, Id(string);
        /// Compute capability, major.
        compute_major: Option<u32> = Plain, Other;
        /// Compute capability, minor.
        compute_minor: Option<u32> = Plain, Other;
        /// Streaming multiprocessors.
        multiprocessors: Option<i64> = Plain, Count;
        /// Core clock, kHz.
        core_clock_khz: Option<i64> = Plain, Other;
        /// Global memory.
        memory_bytes: Option<i64> = Plain, Bytes;
        /// Theoretical memory bandwidth, kilobytes (1000 bytes) per second.
        memory_bandwidth_kb_per_s: Option<i64> = Plain, Other;
        /// L2 cache.
        l2_cache_bytes: Option<i64> = Plain, Bytes;
        /// Resident warps per multiprocessor at most.
        max_warps_per_multiprocessor: Option<i64> = Plain, Count;
        /// The 16 bytes of the device UUID.
        uuid: Option<Vec<u8>> = Plain, Other;
        /// PCI address as text, e.g. `0000:3b:00.0`.
        pci_bus_id: Option<Vec<u8>> = Plain, Other;
    }
}
