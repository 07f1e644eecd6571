//! Compilations by the driver. `CUpti_ActivityJit` and later.

use cupti_sys::fields::jit as f;
use trace_format::schema::RowBuilder as _;
use trace_format::tables::JitRow;

use super::record::{Record, duration};
use super::{Facts, Kind, Out};

/// The path of the cache has no column, so its name is not read.
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
    out.tables.jit.push(JitRow {
        start_ns: facts.start_ns,
        duration_ns: duration(facts.start_ns as u64, facts.end_ns as u64),
        kind: record.u32(f::JIT_ENTRY_TYPE),
        operation: record.u32(f::JIT_OPERATION_TYPE),
        device: record.u32(f::DEVICE_ID),
        correlation: facts.correlation.unwrap_or(0),
        cache_bytes: record.nonzero_u64(f::CACHE_SIZE).map(|bytes| bytes as i64),
    });
}
