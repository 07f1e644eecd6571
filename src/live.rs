//! Traces that are still being written: which there are, and what is new in them.
//!
//! Everything comes from files: the program that is recorded is never asked. [`file::Growing`] follows one file from
//! its last whole frame on; [`recording::Recording`] the files of one process, which under the ring policy are many;
//! [`watch::Watch`] all recordings that somebody named, new ones included; [`pid`] finds the traces of a process.

pub mod file;
pub mod pid;
pub mod recording;
pub mod watch;

use serde_json::Value;
use trace_format::columns::Batch;
use trace_format::frame::FrameInfo;
use trace_format::schema::{AnyColumn, TableSpec};

/// Who wants to know what is new in a recording.
pub trait Listener {
    /// A recording begins, or begins anew because its file was replaced: what was heard before is void. `newest_ns` is
    /// the latest end of anything in it so far, `oldest_ns` the earliest start, on the trace clock.
    fn begin(&mut self, oldest_ns: Option<i64>, newest_ns: Option<i64>);
    /// Who was recorded.
    fn process(&mut self, process: &Value);
    /// A frame of a known table, repetitions left out: the columns that are wanted of it; none: its rows are only
    /// counted.
    fn frame(&mut self, table: &'static TableSpec, frame: &FrameInfo) -> Option<&'static [&'static dyn AnyColumn]>;
    /// The rows of a frame whose columns were wanted.
    fn rows(&mut self, batch: &Batch);
    /// Rows that cannot be read.
    fn damaged(&mut self, rows: u64);
}
