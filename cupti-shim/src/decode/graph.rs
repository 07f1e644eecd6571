//! Executions of whole graphs. `CUpti_ActivityGraphTrace` and later; `CUpti_ActivityDeviceGraphTrace` where a kernel
//! launched them.

use cupti_sys::fields::{device_graph_trace as d, graph_trace as f};
use trace_format::schema::RowBuilder as _;
use trace_format::tables::GraphRow;

use super::record::{Record, duration};
use super::{Facts, Kind, NONE, Out};

pub(super) const KIND: Kind = Kind {
    id: f::KIND,
    start: f::START,
    end: f::END,
    correlation: f::CORRELATION_ID,
    names: &[],
    defines: false,
    decode,
};

pub(super) const DEVICE_LAUNCHED: Kind = Kind {
    id: d::KIND,
    start: d::START,
    end: d::END,
    correlation: NONE,
    names: &[],
    defines: false,
    decode: decode_device_launched,
};

/// CUPTI's sign that a graph begins or ends on the host (12.3 and later).
const ON_HOST: u32 = i32::MAX as u32;

fn decode(record: Record, facts: &Facts, out: &mut Out) {
    // A graph that begins on the host belongs to the device on which it ends, if it ends on one.
    let either = |start, end| {
        let ends_on = || record.try_u32(end).filter(|&id| id != ON_HOST);
        Some(record.u32(start)).filter(|&id| id != ON_HOST).or_else(ends_on).unwrap_or(ON_HOST)
    };
    out.tables.graph.push(GraphRow {
        start_ns: facts.start_ns,
        duration_ns: duration(facts.start_ns as u64, facts.end_ns as u64),
        graph_id: record.u32(f::GRAPH_ID),
        device: either(f::DEVICE_ID, f::END_DEVICE_ID),
        context: either(f::CONTEXT_ID, f::END_CONTEXT_ID),
        stream: record.u32(f::STREAM_ID),
        correlation: facts.correlation.unwrap_or(0),
    });
}

fn decode_device_launched(record: Record, facts: &Facts, out: &mut Out) {
    out.tables.graph.push(GraphRow {
        start_ns: facts.start_ns,
        duration_ns: duration(facts.start_ns as u64, facts.end_ns as u64),
        graph_id: record.u32(d::GRAPH_ID),
        device: record.u32(d::DEVICE_ID),
        context: record.u32(d::CONTEXT_ID),
        // Eight bytes here, four everywhere else; the ids are the same.
        stream: record.u64(d::STREAM_ID) as u32,
        correlation: 0,
    });
}
