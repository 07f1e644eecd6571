//! What the gate, the flush thread and the exit handler tell the writer thread.

use std::borrow::Cow;

use serde_json::Value;
pub use trace_format::tables::CaptureRow;
use trace_format::vocabulary::loss_cause;

use crate::clock::Triple;

/// Why records are missing: `loss.cause` of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Cause {
    /// No block was left, or a queue was full: the writer did not keep up.
    QueueFull = loss_cause::QUEUE_FULL,
    /// CUPTI dropped them itself.
    Cupti = loss_cause::CUPTI_DROPPED,
    /// A kind of record that the stride probe did not find; what lies behind it in its block is lost as well.
    UnknownKind = loss_cause::UNKNOWN_KIND,
    /// Names were refused; the records are there, without their names.
    NamesFull = loss_cause::NAMES_FULL,
    /// The disk, or the file system, refused.
    DiskFull = loss_cause::DISK_FULL,
    /// The size limit was reached.
    SizeLimit = loss_cause::SIZE_LIMIT,
    /// Another tool took CUPTI over.
    TakenOver = loss_cause::TAKEN_OVER,
    /// CUPTI did not flush in time at the end.
    FlushDeadline = loss_cause::FLUSH_DEADLINE,
}

/// Records known to be missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Begin of the window in which they were lost, on the trace clock; none: not known.
    pub start_ns: Option<i64>,
    /// End of the window.
    pub end_ns: Option<i64>,
    /// How many; 0: not known.
    pub rows: u64,
    /// Why.
    pub cause: Cause,
    /// What else is known, in words.
    pub detail: Option<Cow<'static, str>>,
}

/// What was set while the program ran, as far as the writer has to know: all of it each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adjustment {
    /// How often rows are written at least.
    pub flush_ms: u64,
    /// Most bytes of a trace that is one file; none: no limit.
    pub limit_bytes: Option<u64>,
    /// Share of the disk that stays free.
    pub min_free_percent: u64,
    /// Whether every flush reaches the disk itself.
    pub fsync: bool,
}

/// One message to the writer thread.
#[derive(Clone, Debug)]
pub enum Message {
    /// The clocks were read.
    Clock(Triple),
    /// A window of the gate, at its end; or still open, at the end of the run.
    Capture(CaptureRow),
    /// Records are known to be missing.
    Loss(Loss),
    /// A remark, at a time on the trace clock or about the whole run.
    Note {
        /// When.
        start_ns: Option<i64>,
        /// The remark.
        text: Cow<'static, str>,
    },
    /// A remark of the user's, made while the program runs.
    Mark {
        /// When, on the trace clock.
        start_ns: i64,
        /// The remark.
        text: String,
        /// More about it.
        detail: Option<String>,
    },
    /// Settings were changed.
    Adjust(Adjustment),
    /// Facts about the process; replaces those written before.
    #[allow(dead_code, reason = "for facts that are known only later, such as a driver's version")]
    Process(Value),
    /// CUPTI has just delivered all that it will: a good moment to write.
    Flushed,
    /// Write everything that was queued before the ticket was taken, then answer it.
    Flush {
        /// The ticket that [`crate::writer::Shared::ask`] gave.
        ticket: u32,
    },
    /// Write everything, close the file, answer the ticket, end.
    Close {
        /// From [`crate::writer::Shared::ask`].
        ticket: u32,
        /// How the run ended, for the closing frame: `exit`, `signal`, ...
        reason: &'static str,
    },
}
