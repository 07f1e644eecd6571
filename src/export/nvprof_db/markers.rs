//! NVTX ranges and marks. CUPTI records the two ends of a range apart, under one id.

use super::{Writer, process_object, schema};
use crate::error::Result;
use crate::exchange::nvprof_db::object_kind::THREAD;
use crate::export::database::{Rows, Value};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use trace_format::tables::RangeRow;
use trace_format::vocabulary::range_style::{MARK, PUSH_POP, START_END};

/// `CUpti_ActivityFlag` of a marker.
const INSTANTANEOUS: u32 = 1;
const START: u32 = 2;
const END: u32 = 4;
/// Of a marker's data: whether it has a colour.
const COLOR_NONE: u32 = 1;
const COLOR_ARGB: u32 = 2;

/// `CUpti_MetricValueKind` of a payload.
const DOUBLE: u32 = 0;
const INT64: u32 = 4;

/// An end that is to come: when, number of the marker, thread, number of the domain.
type PendingEnd = Reverse<(i64, i64, u32, i64)>;

struct Markers<'a> {
    rows: Rows<'a>,
    data: Rows<'a>,
    ends: BinaryHeap<PendingEnd>,
    next: i64,
}

pub(super) fn write(writer: &mut Writer) -> Result<()> {
    let marker = &["flags", "timestamp", "id", "objectKind", "objectId", "name", "domain"];
    let data = &["flags", "id", "payloadKind", "payload", "color", "category"];
    let mut markers = Markers {
        rows: Rows::of_existing(writer.database, &schema::MARKER, marker),
        data: Rows::of_existing(writer.database, &schema::MARKER_DATA, data),
        ends: BinaryHeap::new(),
        next: 1,
    };
    writer.each(|writer, range: RangeRow| match range.style {
        PUSH_POP | START_END | MARK => markers.add(writer, &range),
        _ => Ok(()),
    })?;
    markers.ends_until(writer, i64::MAX)
}

impl Markers<'_> {
    fn add(&mut self, writer: &mut Writer, range: &RangeRow) -> Result<()> {
        let time = writer.at(range.start_ns);
        self.ends_until(writer, time)?;
        let id = self.next;
        self.next += 1;
        let (name, domain) = (writer.name(Some(range.name_id))?, writer.name(range.domain_id)?);
        let is_mark = range.style == MARK;
        let object = process_object(writer.pid, range.tid);
        self.rows.add([
            if is_mark { INSTANTANEOUS } else { START }.into(),
            time.into(),
            id.into(),
            THREAD.into(),
            Value::Blob(&object),
            name.into(),
            domain.into(),
        ])?;
        if let Some(end) = range.end_ns.filter(|_| !is_mark) {
            // Nobody knows which thread ended a range that need not nest. Such an end gets the thread 0, because
            // markers show in no other way how a range was made than by an end on another thread.
            let thread = if range.style == START_END { 0 } else { range.tid };
            self.ends.push(Reverse((writer.at(end), id, thread, domain)));
        }
        self.add_data(id, range)
    }

    fn add_data(&mut self, id: i64, range: &RangeRow) -> Result<()> {
        if range.category.is_none()
            && range.color.is_none()
            && range.payload_i64.or(range.payload_f64.map(|_| 0)).is_none()
        {
            return Ok(());
        }
        let (kind, bits) = match (range.payload_i64, range.payload_f64) {
            (Some(value), _) => (INT64, value as u64),
            (None, Some(value)) => (DOUBLE, value.to_bits()),
            (None, None) => (DOUBLE, 0),
        };
        self.data.add([
            if range.color.is_some() { COLOR_ARGB } else { COLOR_NONE }.into(),
            id.into(),
            kind.into(),
            Value::Blob(&bits.to_le_bytes()),
            range.color.unwrap_or(0).into(),
            range.category.unwrap_or(0).into(),
        ])
    }

    /// Writes the ends up to a time, so that markers stand in the order in which they happened.
    fn ends_until(&mut self, writer: &Writer, time_ns: i64) -> Result<()> {
        while let Some(&Reverse((end, id, tid, domain))) = self.ends.peek() {
            if end > time_ns {
                break;
            }
            self.ends.pop();
            let object = process_object(writer.pid, tid);
            self.rows.add([
                END.into(),
                end.into(),
                id.into(),
                THREAD.into(),
                Value::Blob(&object),
                Value::Int(0),
                domain.into(),
            ])?;
        }
        Ok(())
    }
}
