//! NVTX ranges and marks. CUPTI records the two ends of a range apart, under one id; only the first has the name.

use super::Reader;
use super::target::Object;
use crate::exchange::nvprof_db::object_kind::THREAD;
use hashbrown::HashMap;
use trace_format::tables::RangeRow;
use trace_format::vocabulary::range_style;

/// `CUpti_ActivityFlag` of a marker.
const INSTANTANEOUS: u32 = 1;
const START: u32 = 2;
const END: u32 = 4;
/// Of a marker's data: the colour counts.
const COLOR_ARGB: u32 = 2;

/// `CUpti_MetricValueKind` of a payload.
const DOUBLE: u32 = 0;
const UINT64: u32 = 1;
const INT64: u32 = 4;

/// What the program attached to a marker.
#[derive(Clone, Copy, Default)]
struct Data {
    category: Option<u32>,
    color: Option<u32>,
    payload_i64: Option<i64>,
    payload_f64: Option<f64>,
}

/// Reads markers and pairs them.
pub(super) fn read(r: &mut Reader) {
    let data = data(r);
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_MARKER") else { return };
    let [flags, time, id, kind, object] =
        ["flags", "timestamp", "id", "objectKind", "objectId"].map(|name| scan.col(name));
    let [name, domain] = ["name", "domain"].map(|name| scan.col(name));
    // Ranges in the order of their beginnings, and the ends, which another thread may have stored first.
    let mut ranges: Vec<(Option<u32>, i64, RangeRow)> = Vec::new();
    let mut ends: HashMap<i64, (i64, u32)> = HashMap::new();
    let tally = scan.run(|row| {
        let (Some(time), Some(id)) = (row.int(time), row.int(id)) else { return false };
        let flags = row.id_or_0(flags);
        let object = Object::of(row, object);
        let tid = object.as_ref().filter(|_| row.id(kind) == Some(THREAD)).map_or(0, Object::tid);
        if flags & END != 0 {
            if ends.contains_key(&id) {
                r.unread.add(b"CUPTI_ACTIVITY_KIND_MARKER that end what has ended", 1);
            } else {
                ends.insert(id, (time, tid));
            }
            return true;
        }
        if flags & (START | INSTANTANEOUS) == 0 {
            r.unread.add(b"CUPTI_ACTIVITY_KIND_MARKER that neither begin nor end", 1);
            return true;
        }
        let Data { category, color, payload_i64, payload_f64 } = data.get(&id).copied().unwrap_or_default();
        let range = RangeRow {
            start_ns: time,
            end_ns: None,
            style: if flags & INSTANTANEOUS != 0 { range_style::MARK } else { range_style::PUSH_POP },
            range_id: 0,
            domain_id: r.name_if_any(row.int(domain)),
            name_id: r.name(row.int(name)),
            category,
            color,
            payload_i64,
            payload_f64,
            tid,
        };
        ranges.push((object.map(|object| object.pid()), id, range));
        true
    });
    r.close(tally);
    for (pid, id, mut range) in ranges {
        if range.style == range_style::PUSH_POP
            && let Some((end_ns, tid)) = ends.remove(&id)
        {
            range.end_ns = Some(end_ns);
            // Markers do not say how a range was made; one that ends on another thread was not pushed.
            if tid != range.tid {
                range.style = range_style::START_END;
            }
        }
        let process = r.process(pid);
        r.sink.push(process, range);
    }
    // Ends that some beginning has taken are gone from here.
    r.unread.add(b"CUPTI_ACTIVITY_KIND_MARKER that end what did not begin", ends.len() as u64);
}

fn data(r: &mut Reader) -> HashMap<i64, Data> {
    let mut all = HashMap::new();
    if !r.full() {
        return all;
    }
    let Some(mut scan) = r.scan("CUPTI_ACTIVITY_KIND_MARKER_DATA") else { return all };
    let [id, flags, color, category] = ["id", "flags", "color", "category"].map(|name| scan.col(name));
    let [kind, payload] = ["payloadKind", "payload"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let Some(id) = row.int(id) else { return false };
        let bits = row.bytes(payload).and_then(|bytes| bytes.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b));
        let kind = row.id_or_0(kind);
        let data = Data {
            category: row.id(category).filter(|&category| category != 0),
            color: row.id(color).filter(|_| row.id_or_0(flags) & COLOR_ARGB != 0),
            // No payload looks like the double 0.
            payload_i64: (kind == UINT64 || kind == INT64).then_some(bits as i64),
            payload_f64: (kind == DOUBLE && bits != 0).then_some(f64::from_bits(bits)),
        };
        all.insert(id, data);
        true
    });
    r.close(tally);
    all
}
