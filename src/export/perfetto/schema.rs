//! Numbers of the fields that are written, from Perfetto's `.proto` files (checked against version 59.1), and the
//! fixed vocabulary.

/// `Trace.packet`.
pub const TRACE_PACKET: u32 = 1;

/// Fields of `TracePacket`.
pub mod packet {
    /// `clock_snapshot`.
    pub const CLOCK_SNAPSHOT: u32 = 6;
    /// `timestamp`.
    pub const TIMESTAMP: u32 = 8;
    /// `trusted_packet_sequence_id`.
    pub const SEQUENCE_ID: u32 = 10;
    /// `track_event`.
    pub const TRACK_EVENT: u32 = 11;
    /// `interned_data`.
    pub const INTERNED_DATA: u32 = 12;
    /// `sequence_flags`: 1 incremental state cleared, 2 needs incremental state.
    pub const SEQUENCE_FLAGS: u32 = 13;
    /// `gpu_render_stage_event`.
    pub const GPU_RENDER_STAGE_EVENT: u32 = 53;
    /// `track_descriptor`.
    pub const TRACK_DESCRIPTOR: u32 = 60;
    /// `first_packet_on_sequence`.
    pub const FIRST_ON_SEQUENCE: u32 = 87;
}

/// Fields of `TrackDescriptor`.
pub mod track {
    /// `uuid`.
    pub const UUID: u32 = 1;
    /// `name`.
    pub const NAME: u32 = 2;
    /// `process`: fields `pid` 1, `process_name` 6.
    pub const PROCESS: u32 = 3;
    /// `thread`: fields `pid` 1, `tid` 2, `thread_name` 5.
    pub const THREAD: u32 = 4;
    /// `parent_uuid`.
    pub const PARENT: u32 = 5;
    /// `counter`: fields `unit` 3, `unit_name` 6.
    pub const COUNTER: u32 = 8;
    /// `child_ordering`; 3 is explicit.
    pub const CHILD_ORDERING: u32 = 11;
    /// `sibling_order_rank`.
    pub const RANK: u32 = 12;
}

/// Fields of `TrackEvent`.
pub mod event {
    /// `category_iids`.
    pub const CATEGORY: u32 = 3;
    /// `debug_annotations`: fields `name_iid` 1, `uint_value` 3, `int_value` 4, `double_value` 5, `string_value` 6,
    /// `name` 10.
    pub const ANNOTATION: u32 = 4;
    /// `type`: 1 begin, 2 end, 3 instant, 4 counter.
    pub const TYPE: u32 = 9;
    /// `name_iid`.
    pub const NAME: u32 = 10;
    /// `track_uuid`.
    pub const TRACK: u32 = 11;
    /// `counter_value`.
    pub const COUNTER_VALUE: u32 = 30;
    /// `double_counter_value`.
    pub const DOUBLE_COUNTER_VALUE: u32 = 44;
    /// `flow_ids`.
    pub const FLOW: u32 = 47;
}

/// Fields of `InternedData`; every entry has `iid` 1 and `name` 2.
pub mod interned {
    /// `event_categories`.
    pub const CATEGORY: u32 = 1;
    /// `event_names`.
    pub const NAME: u32 = 2;
    /// `debug_annotation_names`.
    pub const ANNOTATION: u32 = 3;
    /// `graphics_contexts`: fields `pid` 2, `api` 3 (4 is CUDA).
    pub const CONTEXT: u32 = 23;
    /// `gpu_specifications`: fields `description` 3, `category` 4 (2 is compute).
    pub const SPECIFICATION: u32 = 24;
    /// `compute_kernels`, an extension: field `demangled_name` 3.
    pub const COMPUTE_KERNEL: u32 = 1000;
}

/// Fields of `GpuRenderStageEvent`.
pub mod stage {
    /// `event_id`.
    pub const ID: u32 = 1;
    /// `duration`.
    pub const DURATION: u32 = 2;
    /// `context`.
    pub const CONTEXT: u32 = 5;
    /// `gpu_id`.
    pub const GPU: u32 = 11;
    /// `hw_queue_iid`.
    pub const QUEUE: u32 = 13;
    /// `stage_iid`.
    pub const STAGE: u32 = 14;
    /// `event_wait_ids`: those of `event_id` that this waited for.
    pub const WAITED_FOR: u32 = 18;
    /// `kernel_iid`.
    pub const KERNEL: u32 = 19;
    /// `name_iid`. Version 52 does not read it, and takes the name of the stage.
    pub const NAME: u32 = 20;
    /// `launch`: fields `grid_size` 1 and `workgroup_size` 2 (both with `x` 1, `y` 2, `z` 3), and `args` 3 (with `name` 2,
    /// `int_value` 3).
    pub const LAUNCH: u32 = 21;
}

/// Names of arguments; the number of each is its position, counted from 1.
pub static ARGUMENTS: &[&str] = &[
    "correlation",
    "grid",
    "block",
    "cluster",
    "registers per thread",
    "static shared memory (bytes)",
    "dynamic shared memory (bytes)",
    "graph",
    "graph node",
    "bytes",
    "result",
    "domain",
    "category",
    "payload",
    "event",
    "file",
    "samples",
];

/// The number of an argument's name.
pub const fn argument(name: &str) -> u64 {
    let mut at = 0;
    while at < ARGUMENTS.len() {
        if is_same(ARGUMENTS[at].as_bytes(), name.as_bytes()) {
            return at as u64 + 1;
        }
        at += 1;
    }
    0
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}
