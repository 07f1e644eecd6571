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
    /// Moments on the trace clock that lie in it.
    pub(super) fn times(&self) -> (i64, i64) {
        (self.start_ns, self.end_ns.unwrap_or(i64::MAX))
    }

    /// Correlation ids of the calls that lie in it; none where only times tell.
    pub(super) fn ids(&self) -> Option<(u64, u64)> {
        let before = self.before.or(self.end_ns.is_none().then_some(u64::MAX))?;
        Some((self.after? + 1, before))
    }

    /// Whether these windows leave nothing out: there is one, from the first call on, that never closed.
    pub(super) fn hold_everything(windows: &[Window]) -> bool {
        matches!(windows, [w] if w.after == Some(0) && w.end_ns.is_none())
    }

    /// The window as the row that the trace has of it.
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
