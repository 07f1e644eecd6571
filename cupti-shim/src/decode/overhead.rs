//! Time that the driver or CUPTI took. `CUpti_ActivityOverhead` and later.

use cupti_sys::CUPTI_ACTIVITY_OBJECT_THREAD;
use cupti_sys::fields::overhead as f;
use trace_format::schema::RowBuilder as _;
use trace_format::tables::OverheadRow;

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
    let is_thread = record.u32(f::OBJECT_KIND) == CUPTI_ACTIVITY_OBJECT_THREAD;
    out.tables.overhead.push(OverheadRow {
        start_ns: facts.start_ns,
        duration_ns: duration(facts.start_ns as u64, facts.end_ns as u64),
        kind: record.u32(f::OVERHEAD_KIND),
        tid: is_thread.then(|| record.u32(f::OBJECT_ID_PT_THREAD_ID)),
        correlation: facts.correlation,
    });
}
