//! Fills. `CUpti_ActivityMemset4` and later.

use cupti_sys::fields::memset as f;
use trace_format::schema::RowBuilder as _;
use trace_format::tables::MemsetRow;

use super::record::{Record, duration};
use super::{Facts, Kind, Out};

pub(super) const KIND: Kind = Kind {
    id: f::KIND,
    start: f::START,
    end: f::END,
    correlation: f::CORRELATION_ID,
    names: &[],
    defines: false,
    decode,
};

fn decode(record: Record, facts: &Facts, out: &mut Out) {
    out.tables.memset.push(MemsetRow {
        start_ns: facts.start_ns,
        duration_ns: duration(facts.start_ns as u64, facts.end_ns as u64),
        value: record.u32(f::VALUE),
        bytes: record.bytes_count(f::BYTES),
        mem_kind: u32::from(record.u16(f::MEMORY_KIND)),
        device: record.u32(f::DEVICE_ID),
        context: record.u32(f::CONTEXT_ID),
        stream: record.u32(f::STREAM_ID),
        correlation: facts.correlation.unwrap_or(0),
        graph_id: record.nonzero_u32(f::GRAPH_ID),
        graph_node_id: record.nonzero_u64(f::GRAPH_NODE_ID),
        flags: Some(u32::from(record.u16(f::FLAGS))),
    });
}
