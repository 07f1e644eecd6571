//! Records of CUDA events. `CUpti_ActivityCudaEvent` and later.

use cupti_sys::fields::cuda_event as f;
use trace_format::schema::RowBuilder as _;
use trace_format::tables::EventRow;

use super::record::Record;
use super::{Facts, Kind, Out};

/// The time exists from 12.8 on, if it was asked for; before, the record ends in front of it.
pub(super) const KIND: Kind = Kind {
    id: f::KIND,
    start: f::DEVICE_TIMESTAMP,
    end: f::DEVICE_TIMESTAMP,
    correlation: f::CORRELATION_ID,
    names: &[],
    defines: false,
    decode,
};

fn decode(record: Record, facts: &Facts, out: &mut Out) {
    out.tables.event.push(EventRow {
        start_ns: record.known_time(f::DEVICE_TIMESTAMP),
        event: record.u32(f::EVENT_ID),
        context: record.u32(f::CONTEXT_ID),
        stream: record.applicable(f::STREAM_ID),
        correlation: facts.correlation.unwrap_or(0),
    });
}
