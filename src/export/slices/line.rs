//! The lines of a timeline, and the form in which a row is drawn.

use crate::analysis::cpu_slices::SampledThread;
use crate::export::lanes::Nesting;

/// Where slices are drawn: a stream of a GPU, a thread of a process, or a place for what is on neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// Kernels, copies, fills and event records of a stream.
    Stream {
        /// Ordinal of the process.
        process: u32,
        /// CUDA device index.
        device: u32,
        /// CUPTI context id.
        context: u32,
        /// CUPTI stream id.
        stream: u32,
    },
    /// Whole graphs of a stream, which contain their kernels.
    Graphs {
        /// Ordinal of the process.
        process: u32,
        /// CUDA device index.
        device: u32,
        /// CUPTI context id.
        context: u32,
        /// CUPTI stream id.
        stream: u32,
    },
    /// Waiting for a stream, which is no work of it.
    Sync {
        /// Ordinal of the process.
        process: u32,
        /// CUDA device index.
        device: u32,
        /// CUPTI context id.
        context: u32,
        /// CUPTI stream id; `None`: waiting for a whole context.
        stream: Option<u32>,
    },
    /// Unified memory events of a device, or (`None`) of the processor.
    UnifiedMemory {
        /// Ordinal of the process.
        process: u32,
        /// CUDA device index.
        device: Option<u32>,
    },
    /// Allocations and releases of a device's memory.
    Memory {
        /// Ordinal of the process.
        process: u32,
        /// CUDA device index.
        device: u32,
    },
    /// Calls and ranges of a thread.
    Thread {
        /// Ordinal of the process.
        process: u32,
        /// Thread id.
        tid: u32,
    },
    /// Functions of a thread, from CPU samples.
    Stacks {
        /// Ordinal of the process; of the one that looked, if the thread's own has no trace.
        process: u32,
        /// The number of the thread's process, if that has no trace.
        untraced_pid: Option<u32>,
        /// Thread id.
        tid: u32,
    },
    /// Ranges that are bound to no thread.
    Ranges {
        /// Ordinal of the process.
        process: u32,
    },
    /// Overhead of no thread in particular.
    Overhead {
        /// Ordinal of the process.
        process: u32,
    },
    /// Just-in-time compilation.
    Compiler {
        /// Ordinal of the process.
        process: u32,
    },
}

impl From<SampledThread> for Line {
    fn from(SampledThread { process, untraced_pid, tid }: SampledThread) -> Self {
        Line::Stacks { process, untraced_pid, tid }
    }
}

impl Line {
    /// Ordinal of the process.
    pub fn process(self) -> u32 {
        match self {
            Line::Stream { process, .. }
            | Line::Graphs { process, .. }
            | Line::Sync { process, .. }
            | Line::UnifiedMemory { process, .. }
            | Line::Memory { process, .. }
            | Line::Thread { process, .. }
            | Line::Stacks { process, .. }
            | Line::Ranges { process }
            | Line::Overhead { process }
            | Line::Compiler { process } => process,
        }
    }

    /// The GPU whose line this is.
    pub fn device(self) -> Option<u32> {
        match self {
            Line::Stream { device, .. }
            | Line::Graphs { device, .. }
            | Line::Sync { device, .. }
            | Line::Memory { device, .. } => Some(device),
            Line::UnifiedMemory { device, .. } => device,
            Line::Thread { .. }
            | Line::Stacks { .. }
            | Line::Ranges { .. }
            | Line::Overhead { .. }
            | Line::Compiler { .. } => None,
        }
    }

    /// The context whose line this is.
    pub fn context(self) -> Option<u32> {
        match self {
            Line::Stream { context, .. } | Line::Graphs { context, .. } | Line::Sync { context, .. } => {
                Some(context)
            }
            _ => None,
        }
    }

    /// How its slices lie to each other.
    pub fn nesting(self) -> Nesting {
        match self {
            Line::Thread { .. } | Line::Stacks { .. } => Nesting::Nested,
            _ => Nesting::Flat,
        }
    }

    /// Where it stands among the lines of its device or process, from above.
    pub fn rank(self) -> u64 {
        let (stream, kind) = match self {
            Line::Stream { stream, .. } => (u64::from(stream), 0),
            Line::Graphs { stream, .. } => (u64::from(stream), 1),
            Line::Sync { stream, .. } => (stream.map_or(1 << 32, u64::from), 2),
            Line::Thread { tid, .. } => (u64::from(tid), 0),
            Line::Stacks { tid, .. } => (u64::from(tid), 1),
            Line::UnifiedMemory { .. } | Line::Ranges { .. } => (1 << 33, 0),
            Line::Memory { .. } | Line::Overhead { .. } => (1 << 33, 1),
            Line::Compiler { .. } => (1 << 33, 2),
        };
        stream * 4 + kind
    }
}

/// How a row is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// From a start to an end.
    Slice,
    /// From a start to nobody knows when.
    Open,
    /// A moment.
    Moment,
    /// A record whose times cannot be right, or that has none.
    Timeless,
}
