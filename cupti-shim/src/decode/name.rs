//! Names that the program gives to streams and threads. `CUpti_ActivityName`.

use cupti_sys::fields::name as f;
use cupti_sys::{CUPTI_ACTIVITY_OBJECT_STREAM, CUPTI_ACTIVITY_OBJECT_THREAD};
use trace_format::schema::RowBuilder as _;
use trace_format::tables::ThreadRow;

use super::record::Record;
use super::{Facts, Kind, NONE, Out};

pub(super) const KIND: Kind =
    Kind { id: f::KIND, start: NONE, end: NONE, correlation: NONE, names: &[f::NAME], defines: true, decode };

/// Processes, devices and contexts can have names too; the trace has no place for those, and nobody gives them.
fn decode(record: Record, _: &Facts, out: &mut Out) {
    let name_id = record.name(f::NAME);
    match record.u32(f::OBJECT_KIND) {
        CUPTI_ACTIVITY_OBJECT_STREAM => {
            let (context, stream) =
                (record.u32(f::OBJECT_ID_DCS_CONTEXT_ID), record.u32(f::OBJECT_ID_DCS_STREAM_ID));
            out.tables.stream.push(out.known.streams.named(context, stream, name_id));
        }
        CUPTI_ACTIVITY_OBJECT_THREAD => {
            out.tables.thread.push(ThreadRow { tid: record.u32(f::OBJECT_ID_PT_THREAD_ID), name_id });
        }
        _ => {}
    }
}
