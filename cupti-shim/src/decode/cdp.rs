//! Kernels launched by kernels. `CUpti_ActivityCdpKernel`, which has a layout of its own.

use cupti_sys::fields::cdp_kernel as f;
use trace_format::schema::RowBuilder as _;
use trace_format::tables::KernelRow;

use super::kernel::LAUNCHED_BY_DEVICE;
use super::record::{Record, duration};
use super::shapes::{Shape, pair};
use super::{Facts, Kind, Out};

pub(super) const KIND: Kind = Kind {
    id: f::KIND,
    start: f::START,
    end: f::END,
    correlation: f::CORRELATION_ID,
    names: &[f::NAME],
    defines: false,
    decode,
};

fn decode(record: Record, facts: &Facts, out: &mut Out) {
    let shape = Shape([
        record.pair(f::GRID_X, f::GRID_Y),
        record.pair(f::GRID_Z, f::BLOCK_X),
        record.pair(f::BLOCK_Y, f::BLOCK_Z),
        record.pair(f::STATIC_SHARED_MEMORY, f::DYNAMIC_SHARED_MEMORY),
        pair(record.u32(f::LOCAL_MEMORY_PER_THREAD), record.name(f::NAME)),
        0,
        pair(0, u32::from(record.u16(f::REGISTERS_PER_THREAD))),
        u64::from(record.u32(f::LOCAL_MEMORY_TOTAL)),
    ]);
    let shape_id = out.known.shapes.id(&shape, &mut out.tables.shape);
    out.tables.kernel.push(KernelRow {
        start_ns: facts.start_ns,
        duration_ns: duration(facts.start_ns as u64, facts.end_ns as u64),
        shape_id,
        device: record.u32(f::DEVICE_ID),
        context: record.u32(f::CONTEXT_ID),
        stream: record.u32(f::STREAM_ID),
        correlation: facts.correlation.unwrap_or(0),
        graph_id: None,
        graph_node_id: None,
        queued_ns: record.known_time(f::QUEUED),
        submitted_ns: record.known_time(f::SUBMITTED),
        channel: None,
        priority: None,
        flags: Some(LAUNCHED_BY_DEVICE),
    });
}
