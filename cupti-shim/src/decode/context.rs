//! Contexts. `CUpti_ActivityContext` and later.

use cupti_sys::fields::context as f;
use trace_format::schema::RowBuilder as _;
use trace_format::tables::ContextRow;

use super::record::Record;
use super::{Facts, Kind, NONE, Out};

pub(super) const KIND: Kind =
    Kind { id: f::KIND, start: NONE, end: NONE, correlation: NONE, names: &[], defines: true, decode };

fn decode(record: Record, _: &Facts, out: &mut Out) {
    let device = record.u32(f::DEVICE_ID);
    out.known.devices |= 1u64.checked_shl(device).unwrap_or(0);
    let is_green = record.u8(f::IS_GREEN_CONTEXT) != 0;
    out.tables.context.push(ContextRow {
        context: record.u32(f::CONTEXT_ID),
        device,
        api_kind: Some(u32::from(record.u16(f::COMPUTE_API_KIND))),
        null_stream: Some(u32::from(record.u16(f::NULL_STREAM_ID))),
        parent_context: record.applicable(f::PARENT_CONTEXT_ID).filter(|_| is_green),
    });
}
