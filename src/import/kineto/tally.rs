//! What is remarkable about a trace's events, counted while they pass.

use super::thread_ids::Shortened;
use crate::import::unread::Unread;

/// How often something happened and where it first did.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    /// How often.
    pub count: u64,
    /// Byte offset of the first one.
    pub first: u64,
}

impl Tally {
    /// Counts one more.
    pub fn add(&mut self, offset: u64) {
        if self.count == 0 {
            self.first = offset;
        }
        self.count += 1;
    }
}

/// What is remarkable about the events.
#[derive(Default, Debug)]
pub struct Tallies {
    /// Events of any kind.
    pub events: u64,
    /// Events that only a PyTorch trace has.
    pub kineto: u64,
    /// Events that only a PyTorch trace has and that make no rows, before the first that does.
    pub pytorch: u64,
    /// No event where there should be one.
    pub broken: Tally,
    /// Items too large to look at.
    pub oversized: Tally,
    /// Commas in the list of events without an item before them.
    pub stray_commas: Tally,
    /// Records without a time, which make no row.
    pub no_start: Tally,
    /// Rows without a valid duration.
    pub no_duration: Tally,
    /// Lanes as TensorFlow names them.
    pub tensorflow: u64,
    /// Events of py-spy.
    pub pyspy: u64,
    /// Events of ONNX Runtime.
    pub onnx: u64,
    /// Events of Huawei's Ascend.
    pub ascend: u64,
    /// Events of categories that PyTorch does not write, before the first that it does: they may be another tool's.
    pub early: u64,
    /// Events that are rows, wanted or not.
    pub read: u64,
    /// Events that say nothing that rows do not: names of lanes, arrows from calls to their work, the trace's own span.
    pub repeats: u64,
    /// Events that no row is made of, by category.
    pub unread: Unread,
    /// Threads whose ids were shortened.
    pub shortened: Shortened,
    /// Starts, of the first events, that can be counted from 1970, and those that cannot.
    pub since_epoch: [u64; 2],
}
