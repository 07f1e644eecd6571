//! Streams. `CUpti_ActivityStream`.

use std::collections::HashMap;

use cupti_sys::fields::stream as f;
use trace_format::schema::RowBuilder as _;
use trace_format::tables::StreamRow;

use super::record::Record;
use super::{Facts, Kind, NONE, Out};

/// The creation of a stream has a correlation id but no time of its own, and defines something: it is kept whatever
/// call it belongs to.
pub(super) const KIND: Kind =
    Kind { id: f::KIND, start: NONE, end: NONE, correlation: NONE, names: &[], defines: true, decode };

fn decode(record: Record, _: &Facts, out: &mut Out) {
    let row = StreamRow {
        context: record.u32(f::CONTEXT_ID),
        stream: record.u32(f::STREAM_ID),
        priority: Some(i64::from(record.u32(f::PRIORITY) as i32)),
        flag: record.try_u32(f::FLAG),
        name_id: None,
    };
    out.known.streams.remember(&row);
    out.tables.stream.push(row);
}

/// What is known of streams, by context and stream: names come in records of their own, and a row says all.
#[derive(Default)]
pub(super) struct Streams(HashMap<(u32, u32), (Option<i64>, Option<u32>)>);

impl Streams {
    /// Programs that make streams without end do not name them.
    const MOST: usize = 16_384;

    fn remember(&mut self, row: &StreamRow) {
        if self.0.len() < Self::MOST {
            self.0.insert((row.context, row.stream), (row.priority, row.flag));
        }
    }

    /// The row of a stream that has been given a name.
    pub(super) fn named(&self, context: u32, stream: u32, name_id: u32) -> StreamRow {
        let (priority, flag) = self.0.get(&(context, stream)).copied().unwrap_or_default();
        StreamRow { context, stream, priority, flag, name_id: Some(name_id) }
    }
}
