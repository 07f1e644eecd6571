//! The rows of a page, as nvvp had them: which row shows a record, and what rows are called.

use trace_format::vocabulary::{api_domain, host_call_domain, memcpy_kind, range_style, uvm_kind};

/// What a row shows; named as nvvp named its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowKind {
    /// Heading: a process.
    Process,
    /// Heading: a thread of the program.
    Thread,
    /// Calls of the runtime API.
    Runtime,
    /// Calls of the driver API.
    Driver,
    /// Calls of the operating system or of MPI.
    HostCalls,
    /// Ranges of the program.
    Nvtx,
    /// Marks of the program.
    Markers,
    /// OpenACC and OpenMP regions.
    Directives,
    /// Functions of the CPU, from samples.
    Functions,
    /// What the driver and CUPTI took.
    Overhead,
    /// Synchronisations.
    Sync,
    /// Heading: a GPU.
    Device,
    /// Unified memory events.
    Migration,
    /// Heading: a context.
    Context,
    /// Copies in one direction.
    Memcpy,
    /// Fills.
    Memset,
    /// Whole CUDA graphs.
    Graph,
    /// All kernels.
    Compute,
    /// Kernels of one name.
    Kernel,
    /// Heading: all streams.
    Streams,
    /// What ran in one stream.
    Stream,
    /// A quantity over time.
    Counter,
}

impl RowKind {
    /// The word for it in the page, and the set of colours it is drawn in.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            RowKind::Process => ("process", "other"),
            RowKind::Thread => ("thread", "other"),
            RowKind::Runtime => ("runtime", "runtime"),
            RowKind::Driver => ("driver", "driver"),
            RowKind::HostCalls => ("host_calls", "functions"),
            RowKind::Nvtx => ("nvtx", "nvtx"),
            RowKind::Markers => ("markers", "nvtx"),
            RowKind::Directives => ("directives", "nvtx"),
            RowKind::Functions => ("functions", "functions"),
            RowKind::Overhead => ("overhead", "overhead"),
            RowKind::Sync => ("sync", "sync"),
            RowKind::Device => ("device", "kernel"),
            RowKind::Migration => ("migration", "migration"),
            RowKind::Context => ("context", "kernel"),
            RowKind::Memcpy => ("memcpy", "memcpy"),
            RowKind::Memset => ("memset", "memset"),
            RowKind::Graph => ("graph", "kernel"),
            RowKind::Compute => ("compute", "kernel"),
            RowKind::Kernel => ("kernel", "kernel"),
            RowKind::Streams => ("streams", "kernel"),
            RowKind::Stream => ("stream", "kernel"),
            RowKind::Counter => ("counter", "other"),
        }
    }
}

/// What a counter row counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// How much of the time the GPU was busy.
    Busy,
    /// Kernels that were launched and have not ended.
    Queue,
    /// How fast copies are.
    Copies,
    /// Memory in use.
    Memory,
    /// A metric that was sampled; the row's label names it.
    Sample {
        /// Its unit.
        unit: &'static str,
    },
}

impl Quantity {
    /// Its name and unit.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Quantity::Busy => ("GPU busy", "%"),
            Quantity::Queue => ("Queue length", "kernels"),
            Quantity::Copies => ("Copies", "GB/s"),
            Quantity::Memory => ("Memory in use", "bytes"),
            Quantity::Sample { unit } => ("Sample", unit),
        }
    }
}

/// Number of table `kernel` in field `table` of GPU work; copies, fills and graphs follow.
pub const KERNELS: u64 = 0;
/// Number of table `memcpy` there.
pub const COPIES: u64 = 1;
const FILLS: u64 = 2;

/// What tells rows of GPU work in one context apart, in the order in which nvvp had them: copies by direction, fills,
/// graphs, kernels.
pub fn work_key(table: Option<u64>, kind: u32) -> (u32, u32) {
    match table {
        Some(COPIES) => (0, kind),
        Some(FILLS) => (1, 0),
        Some(KERNELS) | None => (3, 0),
        Some(_) => (2, 0),
    }
}

/// Kind and label of the row of GPU work with this key.
pub fn work_row((place, direction): (u32, u32)) -> (RowKind, String) {
    match place {
        0 => (RowKind::Memcpy, copy_label(direction)),
        1 => (RowKind::Memset, FILLS_LABEL.to_owned()),
        2 => (RowKind::Graph, "Graphs".to_owned()),
        _ => (RowKind::Compute, COMPUTE_LABEL.to_owned()),
    }
}

/// What rows of kernels are called, here and in pictures.
pub const COMPUTE_LABEL: &str = "Compute";

/// What rows of fills are called, here and in pictures.
pub const FILLS_LABEL: &str = "MemSet";

/// Kind, label and table of the row of a thread's calls in this domain.
pub fn call_row(domain: u32) -> (RowKind, &'static str, &'static str) {
    match domain {
        api_domain::DRIVER => (RowKind::Driver, "Driver API", "api"),
        host_call_domain::OS_RUNTIME => (RowKind::HostCalls, "OS Runtime", "host_call"),
        host_call_domain::MPI => (RowKind::HostCalls, "MPI", "host_call"),
        _ => (RowKind::Runtime, "Runtime API", "api"),
    }
}

/// Rows of a thread's directives, OpenACC first.
pub const DIRECTIVE_ROWS: [&str; 2] = ["OpenACC", "OpenMP"];

/// Rows of ranges, marks and other profilers' operators.
pub const RANGE_ROWS: [(RowKind, &str); 5] = [
    (RowKind::Nvtx, "NVTX ranges"),
    (RowKind::Markers, "Markers"),
    (RowKind::Nvtx, "Annotations"),
    (RowKind::Nvtx, "Operators"),
    (RowKind::Nvtx, "Python functions"),
];

/// Which of [`RANGE_ROWS`] shows a style. Push/pop and start/end ranges share one.
pub fn range_row(style: u32) -> usize {
    match style {
        range_style::MARK => 1,
        range_style::OPERATOR => 3,
        range_style::ANNOTATION => 2,
        range_style::PYTHON => 4,
        _ => 0,
    }
}

fn copy_label(kind: u32) -> String {
    match memcpy_kind::VOCABULARY.word(kind) {
        Some(direction) => format!("MemCpy ({direction})"),
        None => format!("MemCpy (kind {kind})"),
    }
}

/// A unified memory row, in nvvp's words where it had some.
pub fn migration_label(kind: u32) -> String {
    uvm_kind::NVVP.word(kind).map_or_else(|| format!("Unified Memory ({kind})"), str::to_owned)
}
