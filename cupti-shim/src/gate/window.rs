//! One window, and what lies in it.

use crate::messages::CaptureRow;

/// One span in which records are kept.
#[derive(Clone, Debug)]
pub struct Window {
    /// Correlation ids above this one belong; none: decided by time.
    pub(super) after: Option<u64>,
    /// Correlation ids below this one belong; none: still open, or decided by time.
    pub(super) before: Option<u64>,
    /// On the trace clock.
    pub(super) start_ns: i64,
    /// None: still open.
    pub(super) end_ns: Option<i64>,
    pub(super) starts: i64,
    pub(super) stops: i64,
}

impl Window {
    /// Whether a moment on the trace clock lies in it.
    pub(super) fn holds_time(&self, ns: i64) -> bool {
        ns >= self.start_ns && self.end_ns.is_none_or(|end| ns < end)
    }

    /// Whether a call lies in it.
    pub(super) fn holds(&self, correlation: u64) -> bool {
        let closed_by_time = self.before.is_none() && self.end_ns.is_some();
        self.after.is_some_and(|after| correlation > after)
            && !closed_by_time
            && self.before.is_none_or(|before| correlation < before)
    }

    /// Whether calls are told by their ids.
    pub(super) fn has_ids(&self) -> bool {
        self.after.is_some() && (self.before.is_some() || self.end_ns.is_none())
    }

    /// As the trace has it.
    pub(super) fn row(&self) -> CaptureRow {
        CaptureRow {
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            first_correlation: self.after,
            last_correlation: self.before,
            starts: self.starts,
            stops: self.stops,
            excluded_rows: 0,
        }
    }
}
