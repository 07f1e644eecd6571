//! A trace whose streams wait for each other by events.

use super::{Native, NativeWriter, Story};
use trace_format::tables::*;

/// What waits for what, by correlation ids, in the order of time.
pub const WAITS: [(u64, u64); 2] = [(14, 10), (19, 12)];

/// A process whose streams wait for each other, in every way that can and cannot be followed.
pub fn waiting_streams() -> Vec<u8> {
    let mut file = Vec::new();
    let mut w = NativeWriter::begin(&mut file, &Story::empty(), Native::default());
    let name = w.string(b"k");
    w.define();
    w.rows(vec![ShapeRow { id: 1, name_id: name, ..ShapeRow::default() }]);
    let at = |correlation: u64| 1_000 * correlation as i64;
    let kernel = |correlation: u64, stream: u32| KernelRow {
        start_ns: at(correlation),
        duration_ns: Some(100),
        shape_id: 1,
        context: 1,
        stream,
        correlation,
        ..KernelRow::default()
    };
    let record = |correlation: u64, stream: u32, event: u32| EventRow {
        event,
        context: 1,
        stream: Some(stream),
        correlation,
        ..EventRow::default()
    };
    let wait = |correlation: u64, stream: u32, event: u32| SyncRow {
        start_ns: at(correlation),
        duration_ns: Some(10),
        kind: 2,
        context: Some(1),
        stream: Some(stream),
        event: Some(event),
        correlation,
        ..SyncRow::default()
    };
    // Later rows first: the order of the file says nothing.
    w.rows(vec![kernel(25, 20), kernel(14, 20)]);
    w.rows(vec![kernel(12, 21), kernel(10, 21), kernel(5, 20)]);
    let copy =
        MemcpyRow { start_ns: at(19), duration_ns: Some(50), context: 1, stream: 22, ..MemcpyRow::default() };
    w.rows(vec![MemcpyRow { correlation: 19, ..copy }]);
    let fill =
        MemsetRow { start_ns: at(22), duration_ns: Some(50), context: 1, stream: 22, ..MemsetRow::default() };
    w.rows(vec![MemsetRow { correlation: 22, ..fill }]);
    // Event 5 is recorded twice; 7 in the stream that waits for it; 8 where nothing was done before; 6 never.
    w.rows(vec![record(16, 21, 5), record(11, 21, 5), record(20, 22, 7), record(23, 30, 8)]);
    w.rows(vec![
        wait(13, 20, 5),
        wait(15, 20, 6),
        wait(17, 22, 5),
        wait(18, 22, 5),
        wait(21, 22, 7),
        wait(24, 20, 8),
        // Behind which nothing comes.
        wait(26, 20, 5),
    ]);
    // No wait of a stream for an event, but of the host.
    w.rows(vec![SyncRow { kind: 1, ..wait(27, 20, 5) }]);
    w.close();
    drop(w);
    file
}
