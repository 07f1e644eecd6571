//! Copies. `CUpti_ActivityMemcpy5` and later, and `CUpti_ActivityMemcpyPtoP4` between devices.

use cupti_sys::fields::{memcpy as f, memcpy2 as p};
use trace_format::schema::RowBuilder as _;
use trace_format::tables::MemcpyRow;

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

pub(super) const PEER: Kind = Kind {
    id: p::KIND,
    start: p::START,
    end: p::END,
    correlation: p::CORRELATION_ID,
    names: &[],
    defines: false,
    decode: decode_peer,
};

fn decode(record: Record, facts: &Facts, out: &mut Out) {
    out.tables.memcpy.push(MemcpyRow {
        start_ns: facts.start_ns,
        duration_ns: duration(facts.start_ns as u64, facts.end_ns as u64),
        kind: u32::from(record.u8(f::COPY_KIND)),
        src_kind: u32::from(record.u8(f::SRC_KIND)),
        dst_kind: u32::from(record.u8(f::DST_KIND)),
        bytes: record.bytes_count(f::BYTES),
        device: record.u32(f::DEVICE_ID),
        context: record.u32(f::CONTEXT_ID),
        stream: record.u32(f::STREAM_ID),
        src_device: None,
        dst_device: None,
        src_context: None,
        dst_context: None,
        correlation: facts.correlation.unwrap_or(0),
        graph_id: record.nonzero_u32(f::GRAPH_ID),
        graph_node_id: record.nonzero_u64(f::GRAPH_NODE_ID),
        flags: Some(u32::from(record.u8(f::FLAGS))),
        channel: record.applicable(f::CHANNEL_ID),
    });
}

fn decode_peer(record: Record, facts: &Facts, out: &mut Out) {
    out.tables.memcpy.push(MemcpyRow {
        start_ns: facts.start_ns,
        duration_ns: duration(facts.start_ns as u64, facts.end_ns as u64),
        kind: u32::from(record.u8(p::COPY_KIND)),
        src_kind: u32::from(record.u8(p::SRC_KIND)),
        dst_kind: u32::from(record.u8(p::DST_KIND)),
        bytes: record.bytes_count(p::BYTES),
        device: record.u32(p::DEVICE_ID),
        context: record.u32(p::CONTEXT_ID),
        stream: record.u32(p::STREAM_ID),
        src_device: record.applicable(p::SRC_DEVICE_ID),
        dst_device: record.applicable(p::DST_DEVICE_ID),
        src_context: record.applicable(p::SRC_CONTEXT_ID),
        dst_context: record.applicable(p::DST_CONTEXT_ID),
        correlation: facts.correlation.unwrap_or(0),
        graph_id: record.nonzero_u32(p::GRAPH_ID),
        graph_node_id: record.nonzero_u64(p::GRAPH_NODE_ID),
        flags: Some(u32::from(record.u8(p::FLAGS))),
        channel: record.applicable(p::CHANNEL_ID),
    });
}
