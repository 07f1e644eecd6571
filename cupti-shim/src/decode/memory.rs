//! Allocations and releases. `CUpti_ActivityMemory3` and later: a record for each; `CUpti_ActivityMemory`, which kind 45
//! still brings: one record for both.

use cupti_sys::fields::{memory as o, memory2 as f};
use trace_format::schema::RowBuilder as _;
use trace_format::tables::MemoryRow;
use trace_format::vocabulary::memory_operation::{ALLOCATION, RELEASE};

use super::record::Record;
use super::{Facts, Kind, NONE, Out};

pub(super) const OPERATION: Kind = Kind {
    id: f::KIND,
    start: f::TIMESTAMP,
    end: f::TIMESTAMP,
    correlation: f::CORRELATION_ID,
    names: &[f::NAME],
    defines: false,
    decode,
};

pub(super) const KIND: Kind = Kind {
    id: o::KIND,
    start: o::START,
    end: o::END,
    correlation: NONE,
    names: &[o::NAME],
    defines: false,
    decode: decode_lifetime,
};

fn decode(record: Record, facts: &Facts, out: &mut Out) {
    out.tables.memory.push(MemoryRow {
        start_ns: facts.start_ns,
        operation: record.u32(f::MEMORY_OPERATION_TYPE),
        mem_kind: record.u32(f::MEMORY_KIND),
        address: record.u64(f::ADDRESS),
        bytes: record.bytes_count(f::BYTES),
        device: record.u32(f::DEVICE_ID),
        context: record.applicable(f::CONTEXT_ID),
        stream: record.applicable(f::STREAM_ID),
        correlation: facts.correlation.unwrap_or(0),
        name_id: record.some_name(f::NAME),
    });
}

fn decode_lifetime(record: Record, facts: &Facts, out: &mut Out) {
    let allocation = MemoryRow {
        start_ns: facts.start_ns,
        operation: ALLOCATION,
        mem_kind: record.u32(o::MEMORY_KIND),
        address: record.u64(o::ADDRESS),
        bytes: record.bytes_count(o::BYTES),
        device: record.u32(o::DEVICE_ID),
        context: record.applicable(o::CONTEXT_ID),
        stream: None,
        correlation: 0,
        name_id: record.some_name(o::NAME),
    };
    let released = record.known_time(o::END);
    let release = released.map(|start_ns| MemoryRow { start_ns, operation: RELEASE, ..allocation.clone() });
    out.tables.memory.push(allocation);
    release.into_iter().for_each(|release| out.tables.memory.push(release));
}
