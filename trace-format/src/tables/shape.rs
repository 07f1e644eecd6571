//! Table `shape`.

crate::table! {
    /// One launch shape: everything about a kernel launch that repeats from launch to launch.
    /// Source: `CUpti_ActivityKernel8` and later, launch fields.
    SHAPE = 3, "shape", Defining, ShapeRow, ShapeBuilder {
        /// The id, unique in this file; a repeated shape may get a second id.
        id: u32 = Delta, Key;
        /// Kernel name as the producer gave it (mangled by CUPTI).
        name_id: u32 = Delta, Id(string);
        /// Grid size in blocks, x.
        grid_x: Option<i64> = Dictionary, Count;
        /// Grid size in blocks, y.
        grid_y: Option<i64> = Dictionary, Count;
        /// Grid size in blocks, z.
        grid_z: Option<i64> = Dictionary, Count;
        /// Block size in threads, x.
        block_x: Option<i64> = Dictionary, Count;
        /// Block size in threads, y.
        block_y: Option<i64> = Dictionary, Count;
        /// Block size in threads, z.
        block_z: Option<i64> = Dictionary, Count;
        /// Cluster size in blocks, x; null without clusters.
        cluster_x: Option<i64> = Dictionary, Count;
        /// Cluster size in blocks, y; null without clusters.
        cluster_y: Option<i64> = Dictionary, Count;
        /// Cluster size in blocks, z; null without clusters.
        cluster_z: Option<i64> = Dictionary, Count;
        /// Registers per thread.
        registers: Option<i64> = Dictionary, Count;
        /// Static shared memory per block.
        static_smem_bytes: Option<i64> = Dictionary, Bytes;
        /// Dynamic shared memory per block.
        dynamic_smem_bytes: Option<i64> = Dictionary, Bytes;
        /// Local memory per thread.
        local_mem_per_thread_bytes: Option<i64> = Dictionary, Bytes;
        /// Local memory reserved for the launch.
        local_mem_total_bytes: Option<i64> = Dictionary, Bytes;
        /// Demangled name, where the producer stored one of its own.
        demangled_id: Option<u32> = Dictionary, Id(string);
        /// Name without namespace, arguments and template, where the producer stored one.
        base_id: Option<u32> = Dictionary, Id(string);
    }
}
