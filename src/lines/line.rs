//! The lines of a timeline, and the form in which a row is drawn.

use super::lanes::Nesting;
use crate::analysis::cpu_slices::SampledThread;
use crate::trace::sink::valid_duration;
use trace_format::tables::RangeRow;
use trace_format::vocabulary::range_style;

/// Where slices are drawn: a stream of a GPU, a thread of a process, or a place for what is on neither. In order: lines of
/// GPUs come before those of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    /// The record lasts from a start to an end.
    Slice,
    /// From a start to nobody knows when.
    Open,
    /// A moment.
    Moment,
    /// A record whose times cannot be right, or that has none.
    Timeless,
}

/// The GPU on whose line a unified memory event stands: where memory went, or else where it came from. `None`: neither is
/// a GPU.
pub fn migrating_device<T>(to: Option<T>, from: Option<T>) -> Option<T> {
    to.or(from)
}

/// Start and end of a range in nanoseconds; no end where it was still open when the recording ended. `None`: it cannot be
/// drawn with a length, because it is a mark or its times on the trace's own clock, `offset_ns` before these, are impossible.
pub fn range_times(row: &RangeRow, offset_ns: i64) -> Option<(i64, Option<i64>)> {
    let original = |ns: i64| ns.saturating_sub(offset_ns);
    let is_valid = row.end_ns.is_none_or(|end| valid_duration(original(row.start_ns), original(end)).is_some());
    (is_valid && row.style != range_style::MARK).then_some((row.start_ns, row.end_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_a_length_unless_it_is_a_mark_or_ends_before_it_starts() {
        let range = |start_ns, end_ns, style| RangeRow { start_ns, end_ns, style, ..RangeRow::default() };
        assert_eq!(range_times(&range(105, Some(120), range_style::PUSH_POP), 100), Some((105, Some(120))));
        assert_eq!(range_times(&range(105, None, range_style::START_END), 100), Some((105, None)));
        assert_eq!(range_times(&range(105, None, range_style::MARK), 100), None);
        assert_eq!(range_times(&range(105, Some(104), range_style::PUSH_POP), 100), None);
    }

    #[test]
    fn memory_that_moves_stands_on_the_line_of_where_it_goes() {
        assert_eq!(migrating_device(Some(1), Some(2)), Some(1));
        assert_eq!(migrating_device(None, Some(2)), Some(2));
        assert_eq!(migrating_device::<u32>(None, None), None);
    }

    #[test]
    fn lines_of_gpus_come_before_those_of_threads() {
        let stream = Line::Stream { process: 9, device: 9, context: 9, stream: 9 };
        assert!(stream < Line::Thread { process: 0, tid: 0 });
    }
}
