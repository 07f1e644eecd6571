//! OpenACC regions. `CUpti_ActivityOpenAccData`, `…Launch`, `…Other`: the same record up to its last third.

use cupti_sys::fields::{openacc_data as d, openacc_launch as l, openacc_other as f};
use trace_format::schema::RowBuilder as _;
use trace_format::tables::OpenaccRow;

use super::record::{Record, duration};
use super::{Facts, Kind, NONE, Out};

pub(super) const OTHER: Kind = Kind {
    id: f::KIND,
    start: f::START,
    end: f::END,
    correlation: NONE,
    names: &[f::SRC_FILE, f::FUNC_NAME],
    defines: false,
    decode,
};

pub(super) const DATA: Kind = Kind { id: d::KIND, names: &[f::SRC_FILE, f::FUNC_NAME, d::VAR_NAME], ..OTHER };

pub(super) const LAUNCH: Kind = Kind { id: l::KIND, names: &[f::SRC_FILE, f::FUNC_NAME, l::KERNEL_NAME], ..OTHER };

fn decode(record: Record, facts: &Facts, out: &mut Out) {
    let (variable_id, bytes) = match facts.kind {
        d::KIND => (record.some_name(d::VAR_NAME), Some(record.bytes_count(d::BYTES))),
        l::KIND => (record.some_name(l::KERNEL_NAME), None),
        _ => (None, None),
    };
    out.tables.openacc.push(OpenaccRow {
        start_ns: facts.start_ns,
        duration_ns: duration(facts.start_ns as u64, facts.end_ns as u64),
        kind: record.u32(f::EVENT_KIND),
        parent_construct: record.u32(f::PARENT_CONSTRUCT),
        tid: record.u32(f::CU_THREAD_ID),
        // Lines count from 1; 0 where the compiler gave none.
        line: record.nonzero_u32(f::LINE_NO).map(i64::from),
        file_id: record.some_name(f::SRC_FILE),
        function_id: record.some_name(f::FUNC_NAME),
        variable_id,
        bytes,
        implicit: Some(record.u32(f::IMPLICIT) != 0),
        external_id: record.nonzero_u32(f::EXTERNAL_ID),
        device: record.applicable(f::CU_DEVICE_ID),
        context: record.applicable(f::CU_CONTEXT_ID),
        stream: record.applicable(f::CU_STREAM_ID),
    });
}
