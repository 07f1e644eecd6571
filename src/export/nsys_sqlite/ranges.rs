//! Ranges and marks: table NVTX_EVENTS.

use super::{Writer, schema};
use crate::error::Result;
use crate::exchange::nsys_sqlite::FOREIGN_DOMAINS;
use crate::exchange::nsys_sqlite::event_type::{DOMAIN, MARK, PUSH_POP, START_END};
use crate::export::database::{Rows, Value};
use hashbrown::HashMap;
use trace_format::tables::RangeRow;
use trace_format::vocabulary::range_style;

/// What makes a domain: process, and style and name id.
type DomainKey = (u32, u32, u32);

pub(super) fn write(writer: &mut Writer) -> Result<()> {
    let mut rows = Rows::new(
        writer.database,
        &schema::NVTX,
        &[
            "start",
            "end",
            "eventType",
            "rangeId",
            "category",
            "color",
            "text",
            "globalTid",
            "domainId",
            "int64Value",
            "doubleValue",
        ],
    );
    let mut domains: HashMap<DomainKey, u32> = HashMap::new();
    writer.each(|writer, process, range: RangeRow| {
        let start = writer.clock.at(range.start_ns);
        let thread = writer.ids.thread(process, range.tid);
        let foreign = FOREIGN_DOMAINS.iter().find(|(style, _)| *style == range.style).map(|&(_, name)| name);
        let given = range.domain_id.filter(|&name| name != 0).filter(|_| foreign.is_none());
        let domain = if foreign.is_none() && given.is_none() {
            0
        } else {
            let key = (process, if foreign.is_some() { range.style } else { 0 }, given.unwrap_or(0));
            match domains.get(&key) {
                Some(&known) => known,
                None => {
                    // Domain 0 is the default one.
                    let id = domains.len() as u32 + 1;
                    domains.insert(key, id);
                    let text = given.map(|name| writer.strings.text_of(name));
                    let text = foreign.or(text.as_deref());
                    rows.add([
                        start.into(),
                        Value::Null,
                        DOMAIN.into(),
                        Value::Null,
                        Value::Null,
                        Value::Null,
                        text.into(),
                        thread.into(),
                        id.into(),
                        Value::Null,
                        Value::Null,
                    ])?;
                    id
                }
            }
        };
        let kind = match range.style {
            range_style::START_END => START_END,
            range_style::MARK => MARK,
            _ => PUSH_POP,
        };
        rows.add([
            start.into(),
            range.end_ns.map(|end| writer.clock.at(end)).into(),
            kind.into(),
            // nsys numbers ranges that need not nest, and no others.
            Some(range.range_id).filter(|&id| id != 0 && range.style == range_style::START_END).into(),
            range.category.into(),
            range.color.into(),
            (&*writer.strings.text_of(range.name_id)).into(),
            thread.into(),
            domain.into(),
            range.payload_i64.into(),
            range.payload_f64.into(),
        ])
    })
}
