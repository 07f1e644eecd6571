//! OpenMP regions. `CUpti_ActivityOpenMp`.

use cupti_sys::fields::openmp as f;
use trace_format::schema::RowBuilder as _;
use trace_format::tables::OpenmpRow;

use super::record::{Record, duration};
use super::{Facts, Kind, NONE, Out};

pub(super) const KIND: Kind =
    Kind { id: f::KIND, start: f::START, end: f::END, correlation: NONE, names: &[], defines: false, decode };

fn decode(record: Record, facts: &Facts, out: &mut Out) {
    out.tables.openmp.push(OpenmpRow {
        start_ns: facts.start_ns,
        duration_ns: duration(facts.start_ns as u64, facts.end_ns as u64),
        kind: record.u32(f::EVENT_KIND),
        tid: record.u32(f::CU_THREAD_ID),
    });
}
