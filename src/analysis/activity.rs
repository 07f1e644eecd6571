//! Single activities, as listings show them: GPU work and API calls in one order.

use trace_format::schema::TableSpec;
use trace_format::tables;

/// Where work on the GPU stands: kernels, copies, fills and graphs traced whole.
pub const WORK_TABLES: [&TableSpec; 4] = [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH];

/// What a GPU activity is, with what only that kind has.
#[derive(Clone, Debug, PartialEq)]
pub enum ActivityKind {
    /// A kernel; its launch shape (name, grid, block, registers, memory) by id.
    Kernel {
        /// Id into the trace's shapes.
        shape: u32,
    },
    /// A memory copy. Codes as in table `memcpy`.
    Memcpy {
        /// `CUpti_ActivityMemcpyKind`.
        kind: u32,
        /// `CUpti_ActivityMemoryKind` of the source.
        src_kind: u32,
        /// `CUpti_ActivityMemoryKind` of the destination.
        dst_kind: u32,
        /// Bytes copied.
        bytes: i64,
        /// Devices and contexts of a peer copy: source device, source context, destination device and context.
        peer: Option<[u32; 4]>,
    },
    /// A memory fill.
    Memset {
        /// `CUpti_ActivityMemoryKind`.
        mem_kind: u32,
        /// Bytes filled.
        bytes: i64,
    },
    /// A whole CUDA graph whose nodes were not traced one by one.
    Graph {
        /// The graph.
        graph: u32,
    },
    /// A unified memory event. Codes as in table `uvm`.
    Uvm {
        /// `CUpti_ActivityUnifiedMemoryCounterKind`.
        kind: u32,
        /// Bytes, or a count of faults.
        value: i64,
        /// Virtual address.
        address: u64,
        /// Source device, `None`: the CPU. Of thrashing it is a mask: the devices that take part, bit by bit.
        src_device: Option<u32>,
        /// Destination device; `None`: the CPU.
        dst_device: Option<u32>,
        /// Instruction of a CPU page fault.
        pc: Option<u64>,
        /// CUPTI's flags. Of thrashing and throttling the lowest says that it is the CPU that takes part.
        flags: u32,
    },
}

/// One activity on a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuActivity {
    /// Start: Unix nanoseconds where the trace has an epoch, else relative.
    pub start_ns: i64,
    /// Duration; null for impossible times and for events without one.
    pub duration_ns: Option<i64>,
    /// Ordinal of the process.
    pub process: u32,
    /// CUDA device index in that process.
    pub device: u32,
    /// Context id; 0 where none applies.
    pub context: u32,
    /// Stream id; 0 where none applies.
    pub stream: u32,
    /// Correlation id in that process; 0: none.
    pub correlation: u64,
    /// Graph node, for the total order.
    pub graph_node: Option<u64>,
    /// What it is.
    pub what: ActivityKind,
}

/// One CUDA API call.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiCall {
    /// Start, as in [`GpuActivity`].
    pub start_ns: i64,
    /// Duration; null for impossible times.
    pub duration_ns: Option<i64>,
    /// Ordinal of the process.
    pub process: u32,
    /// Thread id.
    pub tid: u32,
    /// Correlation id in that process; 0: none.
    pub correlation: u64,
    /// Name id, version suffix included.
    pub name: u32,
    /// 0 runtime, 1 driver.
    pub domain: u32,
    /// Result code; null: not recorded.
    pub result: Option<u32>,
}

/// One OpenACC region.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenaccRegion {
    /// Start, as in [`GpuActivity`].
    pub start_ns: i64,
    /// Duration; null for impossible times.
    pub duration_ns: Option<i64>,
    /// Ordinal of the process.
    pub process: u32,
    /// Thread id.
    pub tid: u32,
    /// `CUpti_OpenAccEventKind`.
    pub kind: u32,
    /// Source line.
    pub line: Option<i64>,
    /// Name id of the source file; 0: none.
    pub file: u32,
    /// Name id of the variable or kernel; 0: none.
    pub variable: u32,
    /// Bytes of a data event.
    pub bytes: Option<i64>,
    /// Device, context and stream, where recorded.
    pub place: Option<(u32, u32, u32)>,
}
