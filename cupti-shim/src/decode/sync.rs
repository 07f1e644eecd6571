//! Synchronisations. `CUpti_ActivitySynchronization` and later.

use cupti_sys::fields::synchronization as f;
use trace_format::schema::RowBuilder as _;
use trace_format::tables::SyncRow;

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
    out.tables.sync.push(SyncRow {
        start_ns: facts.start_ns,
        duration_ns: duration(facts.start_ns as u64, facts.end_ns as u64),
        kind: record.u32(f::TYPE),
        context: record.applicable(f::CONTEXT_ID),
        stream: record.applicable(f::STREAM_ID),
        event: record.applicable(f::CUDA_EVENT_ID),
        correlation: facts.correlation.unwrap_or(0),
        result: record.try_u32(f::RETURN_VALUE),
    });
}
