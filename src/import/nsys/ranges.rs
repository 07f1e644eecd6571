//! NVTX ranges and marks.

use super::{Reader, process_part};
use crate::exchange::nsys_sqlite::FOREIGN_DOMAINS;
use crate::exchange::nsys_sqlite::event_type::{self, DOMAIN};
use crate::import::rows::{Col, Fields};
use hashbrown::HashMap;
use trace_format::tables::RangeRow;
use trace_format::vocabulary::range_style;

/// The table that all of them stand in.
const TABLE: &str = "NVTX_EVENTS";

/// Event types of the table. The second of each pair comes from NVTXT text files.
const MARK: [u32; 2] = [event_type::MARK, 65];
const PUSH_POP: [u32; 2] = [event_type::PUSH_POP, 70];
const START_END: [u32; 2] = [event_type::START_END, 71];

/// `range.style` for an event type; null for rows that are no ranges.
fn style(event_type: u32) -> Option<u32> {
    let styles =
        [(PUSH_POP, range_style::PUSH_POP), (START_END, range_style::START_END), (MARK, range_style::MARK)];
    styles.iter().find(|(types, _)| types.contains(&event_type)).map(|&(_, style)| style)
}

/// A text column and its id column: NVTX strings that the program registered are stored once.
#[derive(Clone, Copy)]
struct Text {
    text: Col,
    id: Col,
}

impl Text {
    fn name(&self, r: &mut Reader, row: &Fields) -> u32 {
        match row.bytes(self.text) {
            Some(text) => r.sink.name(text),
            None => r.name(row.int(self.id)),
        }
    }
}

/// Reads ranges and marks; domains first, as nothing says that their rows come first.
pub(super) fn read(r: &mut Reader) {
    let domains = domains(r);
    let foreign: HashMap<u32, u32> = match r.ours {
        true => FOREIGN_DOMAINS.iter().map(|&(style, name)| (r.sink.name(name.as_bytes()), style)).collect(),
        false => HashMap::new(),
    };
    let operators = r.need.operators;
    let Some(mut scan) = r.scan(TABLE) else { return };
    let [start, end, event_type, thread, domain] =
        ["start", "end", "eventType", "globalTid", "domainId"].map(|name| scan.col(name));
    let text = Text { text: scan.col("text"), id: scan.col("textId") };
    let full = r.full();
    let [category, color] = ["category", "color"].map(|name| scan.col_if(full, name));
    let integers = ["int64Value", "uint64Value", "int32Value", "uint32Value"].map(|name| scan.col_if(full, name));
    let reals = ["doubleValue", "floatValue"].map(|name| scan.col_if(full, name));
    let tally = scan.run(|row| {
        let event_type = row.id(event_type).unwrap_or(event_type::PUSH_POP);
        let Some(style) = style(event_type) else {
            // Domains were read before.
            if event_type != DOMAIN {
                r.unread.add(format!("{TABLE} of type {event_type}").as_bytes(), 1);
            }
            return true;
        };
        let Some(start_ns) = row.int(start) else { return false };
        let global = row.int(thread);
        let process = r.process(global);
        let domain = (process_part(global.unwrap_or(0)), row.int(domain).unwrap_or(0));
        let mut domain_id = domains.get(&domain).copied();
        let mut style = style;
        // Ranges of other profilers, which gpuprof has put into domains when it wrote the file.
        if let Some(&was) = domain_id.and_then(|name| foreign.get(&name)) {
            if !operators {
                return true;
            }
            (style, domain_id) = (was, None);
        }
        let range = RangeRow {
            start_ns,
            end_ns: row.int(end),
            style,
            // nsys numbers ranges per process and not at all where they nest; no report refers to its numbers.
            range_id: 0,
            domain_id,
            name_id: text.name(r, row),
            category: row.id(category).filter(|&category| category != 0),
            color: row.id(color),
            payload_i64: integers.iter().find_map(|&col| row.int(col)),
            payload_f64: reals.iter().find_map(|&col| row.real(col)),
            tid: r.thread(global),
        };
        r.sink.push(process, range);
        true
    });
    r.close(tally);
}

/// Names of domains by process and domain id. Domain 0 is the default one and has no name.
fn domains(r: &mut Reader) -> HashMap<(i64, i64), u32> {
    let mut domains = HashMap::new();
    let Some(mut scan) = r.scan(TABLE) else { return domains };
    scan.only("eventType", DOMAIN);
    let [event_type, thread, domain] = ["eventType", "globalTid", "domainId"].map(|name| scan.col(name));
    let text = Text { text: scan.col("text"), id: scan.col("textId") };
    // What cannot be read here cannot be read by the second pass either, which notes it.
    let _ = scan.run(|row| {
        if row.id(event_type) == Some(DOMAIN) {
            let name = text.name(r, row);
            if name != 0 {
                domains.insert((process_part(row.int(thread).unwrap_or(0)), row.int(domain).unwrap_or(0)), name);
            }
        }
        true
    });
    domains
}
