//! Ids of somebody else that belong to a call. `CUpti_ActivityExternalCorrelation`.

use cupti_sys::fields::external_correlation as f;
use trace_format::schema::RowBuilder as _;
use trace_format::tables::ExternalRow;

use super::record::Record;
use super::{Facts, Kind, NONE, Out};

pub(super) const KIND: Kind = Kind {
    id: f::KIND,
    start: NONE,
    end: NONE,
    correlation: f::CORRELATION_ID,
    names: &[],
    defines: false,
    decode,
};

fn decode(record: Record, facts: &Facts, out: &mut Out) {
    out.tables.external.push(ExternalRow {
        correlation: facts.correlation.unwrap_or(0),
        external_kind: record.u32(f::EXTERNAL_KIND),
        external_id: record.u64(f::EXTERNAL_ID),
    });
}
