//! What happens to memory pools. `CUpti_ActivityMemoryPool2` and later.

use cupti_sys::fields::memory_pool as f;
use trace_format::schema::RowBuilder as _;
use trace_format::tables::MemoryRow;

use super::record::Record;
use super::{Facts, Kind, Out};

pub(super) const KIND: Kind = Kind {
    id: f::KIND,
    start: f::TIMESTAMP,
    end: f::TIMESTAMP,
    correlation: f::CORRELATION_ID,
    names: &[],
    defines: false,
    decode,
};

/// Added to CUPTI's numbers (1 created, 2 destroyed, 3 trimmed), which would else mean allocations and releases in
/// `memory.operation`.
pub(super) use trace_format::vocabulary::memory_operation::OF_POOL;

/// `memory.mem_kind` where none is said: a pool is made of device memory, but CUPTI does not say so.
const UNKNOWN: u32 = 0;

fn decode(record: Record, facts: &Facts, out: &mut Out) {
    out.tables.memory.push(MemoryRow {
        start_ns: facts.start_ns,
        operation: record.u32(f::MEMORY_POOL_OPERATION_TYPE).saturating_add(OF_POOL),
        mem_kind: UNKNOWN,
        address: record.u64(f::ADDRESS),
        bytes: record.bytes_count(f::SIZE),
        device: record.u32(f::DEVICE_ID),
        context: None,
        stream: None,
        correlation: facts.correlation.unwrap_or(0),
        name_id: None,
    });
}
