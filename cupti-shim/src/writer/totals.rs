//! Totals: how many records came, and what became of them.

use serde_json::{Value, json};

/// Counts of a whole run. `delivered = written + excluded + lost + dropped by a ring`, always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// Records that CUPTI had for us, those it says it dropped included, and those that are made here.
    pub delivered: u64,
    /// Of those, records of API calls that CUPTI called us back for.
    pub heard: u64,
    /// Rows of calls and GPU work that were written: records that define nothing.
    pub activity: u64,
    /// Records outside the windows, and of kinds that have no table.
    pub excluded: u64,
    /// Of those, records of kinds that have no table.
    pub ignored: u64,
    /// Records that should be in the file and are not; each is in a row of `loss`.
    pub lost: u64,
    /// Of those, records that CUPTI says it dropped.
    pub dropped_by_cupti: u64,
    /// Records that were in the file and went with the oldest part of a ring.
    pub dropped_by_ring: u64,
    /// Bytes behind records of unknown kinds: each such place counts as one record, for nobody can tell how many.
    pub unknown_bytes: u64,
    /// Rows of `range` that are in the file.
    pub ranges_written: u64,
    /// Ranges outside the windows.
    pub ranges_excluded: u64,
    /// Rows of `range` that went with the oldest part of a ring.
    pub ranges_dropped: u64,
    /// Ranges, or calls that begin or end one, that are missing.
    pub ranges_lost: u64,
}

impl Totals {
    /// Records in the file.
    pub(super) fn written(&self) -> u64 {
        let missing = self.excluded + self.lost + self.dropped_by_ring;
        self.delivered.saturating_sub(missing)
    }

    /// What the closing frame says.
    pub(super) fn to_json(self) -> Value {
        let mut totals = json!({
            "delivered": self.delivered,
            "written": self.written(),
            "excluded": self.excluded,
            "lost": self.lost,
            "dropped_by_ring": self.dropped_by_ring,
            "ignored": self.ignored,
            "dropped_by_cupti": self.dropped_by_cupti,
            "unknown_bytes": self.unknown_bytes,
            "ranges": {
                "written": self.ranges_written.saturating_sub(self.ranges_dropped),
                "excluded": self.ranges_excluded,
                "lost": self.ranges_lost,
                "dropped_by_ring": self.ranges_dropped,
            },
        });
        if let (Some(totals), 1..) = (totals.as_object_mut(), self.heard) {
            totals.insert("heard".to_owned(), json!(self.heard));
        }
        totals
    }
}
