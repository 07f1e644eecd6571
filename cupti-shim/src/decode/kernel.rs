//! Kernels. `CUpti_ActivityKernel8` and later.

use cupti_sys::fields::{concurrent_kernel as f, kernel};
use trace_format::schema::RowBuilder as _;
use trace_format::tables::KernelRow;

use super::record::{Record, duration};
use super::shapes::{Shape, pair};
use super::{Facts, Kind, Out};

pub(super) const CONCURRENT: Kind = Kind {
    id: f::KIND,
    start: f::START,
    end: f::END,
    correlation: f::CORRELATION_ID,
    names: &[f::NAME],
    defines: false,
    decode,
};

/// The same record, by another way of measuring that lets one kernel run at a time.
pub(super) const SERIALISED: Kind = Kind { id: kernel::KIND, ..CONCURRENT };

/// Bit 0 of `kernel.flags`.
pub(super) const LAUNCHED_BY_DEVICE: u32 = 1;

/// What every kernel record of 11.8 and later has.
const HEAD_BYTES: usize = 176;

fn decode(record: Record, facts: &Facts, out: &mut Out) {
    // Twice the same, but once with a length that the compiler knows: it then needs no check for fields in front.
    match record.0.first_chunk::<HEAD_BYTES>() {
        Some(head) => push(Record(head), record, facts, out),
        None => push(record, record, facts, out),
    }
}

/// `head` is the beginning of `record`.
#[inline(always)]
fn push(head: Record, record: Record, facts: &Facts, out: &mut Out) {
    let shape = Shape([
        head.pair(f::GRID_X, f::GRID_Y),
        head.pair(f::GRID_Z, f::BLOCK_X),
        head.pair(f::BLOCK_Y, f::BLOCK_Z),
        head.pair(f::STATIC_SHARED_MEMORY, f::DYNAMIC_SHARED_MEMORY),
        pair(head.u32(f::LOCAL_MEMORY_PER_THREAD), head.name(f::NAME)),
        record.pair(f::CLUSTER_X, f::CLUSTER_Y),
        pair(record.u32(f::CLUSTER_Z), u32::from(head.u16(f::REGISTERS_PER_THREAD))),
        // The older field holds 32 bits and is no longer filled by everybody since 11.8.
        record.try_u64(f::LOCAL_MEMORY_TOTAL_V2).unwrap_or_else(|| u64::from(head.u32(f::LOCAL_MEMORY_TOTAL))),
    ]);
    let launched_by_device = record.u8(f::IS_DEVICE_LAUNCHED) != 0;
    let shape_id = out.known.shapes.id(&shape, &mut out.tables.shape);
    out.tables.kernel.push(KernelRow {
        start_ns: facts.start_ns,
        duration_ns: duration(facts.start_ns as u64, facts.end_ns as u64),
        shape_id,
        device: head.u32(f::DEVICE_ID),
        context: head.u32(f::CONTEXT_ID),
        stream: head.u32(f::STREAM_ID),
        correlation: facts.correlation.unwrap_or(0),
        graph_id: head.nonzero_u32(f::GRAPH_ID),
        graph_node_id: head.nonzero_u64(f::GRAPH_NODE_ID),
        queued_ns: head.known_time(f::QUEUED),
        submitted_ns: head.known_time(f::SUBMITTED),
        // 0xFFFFFFFF where the device launched it.
        channel: head.applicable(f::CHANNEL_ID),
        priority: record.try_u32(f::PRIORITY).map(|priority| i64::from(priority as i32)),
        flags: launched_by_device.then_some(LAUNCHED_BY_DEVICE),
    });
}
