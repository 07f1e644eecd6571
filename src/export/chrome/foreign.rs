//! What foreign traces said that no table of records has columns for: arguments of rows (table `details`), which go back
//! into the events of those rows, and entries of their own (table `foreign`), which become events as they were.

use super::event::View;
use super::gpuprof_argument::GpuprofArgument;
use super::json;
use super::numbering::Numbering;
use super::prepared::Prepared;
use crate::lines::line::Line;
use crate::lines::place::{Slot, Track};
use crate::lines::view::{Col, view};
use crate::trace::names::Names;
use crate::trace::ordered::{Chunk, Piece};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use trace_format::schema::AnyColumn as _;
use trace_format::schema::{Row, TableSpec};
use trace_format::tables::column::{any, foreign};
use trace_format::tables::{self, DetailsRow};
use trace_format::vocabulary::foreign_form::{ARROW_BEGINS, ARROW_PASSES, MARK, SLICE};

/// The tables that this module takes.
pub static TABLES: &[&TableSpec] = &[&tables::FOREIGN, &tables::DETAILS];

/// Which row some arguments belong to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    process: u32,
    table: u32,
    start_ns: i64,
    duration_ns: Option<i64>,
    id: u64,
    tid: Option<u32>,
    name_id: Option<u32>,
}

/// The row of table `details` that belongs to a slot.
pub type Details = Option<DetailsRow>;

/// Arguments that wait for their rows. Both have the same start, so what waits is what starts together.
#[derive(Default)]
pub struct Waiting {
    rows: HashMap<Key, VecDeque<DetailsRow>>,
    /// Arguments whose rows never came.
    dropped: u64,
}

impl Waiting {
    /// Takes arguments out of a chunk, and returns the entries of table `foreign` and the rows that are left.
    pub fn sort_out<'c>(&mut self, chunk: &'c Chunk) -> (Vec<(Arc<Piece>, usize)>, Cow<'c, Chunk>) {
        if chunk.pieces.iter().all(|piece| !TABLES.contains(&piece.table())) {
            return (Vec::new(), Cow::Borrowed(chunk));
        }
        let mut entries = Vec::new();
        let mut order = Vec::with_capacity(chunk.order.len());
        for &(at, row) in &chunk.order {
            let piece = &chunk.pieces[at as usize];
            match piece.table() {
                table if table == &tables::FOREIGN => entries.push((piece.clone(), row as usize)),
                table if table == &tables::DETAILS => {
                    let details = DetailsRow::from_batch(&piece.rows, row as usize);
                    let key = Key {
                        process: piece.process,
                        table: details.of_table,
                        start_ns: details.start_ns,
                        duration_ns: details.duration_ns,
                        id: details.of_id,
                        tid: details.tid,
                        name_id: details.name_id,
                    };
                    self.rows.entry(key).or_default().push_back(details);
                }
                _ => order.push((at, row)),
            }
        }
        (entries, Cow::Owned(Chunk { pieces: chunk.pieces.clone(), order }))
    }

    /// The arguments of each slot; nothing at all if none of them has any.
    pub fn of_slots(&mut self, pieces: &[Arc<Piece>], views: &[View], slots: &[Slot]) -> Vec<Details> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let found = slots.iter().map(|slot| {
            let (piece, i) = (&pieces[slot.piece as usize], slot.row as usize);
            let key = key(piece, &views[slot.piece as usize], i)?;
            let hashbrown::hash_map::Entry::Occupied(mut waiting) = self.rows.entry(key) else { return None };
            let details = waiting.get_mut().pop_front();
            if waiting.get().is_empty() {
                waiting.remove();
            }
            details
        });
        let found: Vec<Details> = found.collect();
        // Rows that a filter leaves out never come for theirs. Those without a duration come at the end of all.
        if let Some(last) = slots.last().map(|slot| slot.start_ns) {
            let dropped = &mut self.dropped;
            self.rows.retain(|key, rows| {
                let may_come = key.start_ns >= last || key.duration_ns.is_none();
                *dropped += if may_come { 0 } else { rows.len() as u64 };
                may_come
            });
        }
        found
    }

    /// How many arguments belong to no row that was written.
    pub fn left_over(&self) -> u64 {
        self.dropped + self.rows.values().map(|rows| rows.len() as u64).sum::<u64>()
    }
}

fn key(piece: &Piece, view: &View, i: usize) -> Option<Key> {
    let start_ns = piece.rows.get(any::START_NS).get(i)?;
    let of = |duration_ns: Col<i64>, correlation: Option<Col<u64>>, tid: Option<Col<u32>>| Key {
        process: piece.process,
        table: piece.table().id.into(),
        start_ns,
        duration_ns: duration_ns.get(i),
        id: correlation.and_then(|ids| ids.get(i)).unwrap_or(0),
        tid: tid.and_then(|tids| tids.get(i)),
        name_id: None,
    };
    Some(match view {
        View::Kernels(rows) => of(rows.duration_ns, Some(rows.correlation), None),
        View::Copies(rows) => of(rows.duration_ns, Some(rows.correlation), None),
        View::Fills(rows) => of(rows.duration_ns, Some(rows.correlation), None),
        View::Calls(rows) => of(rows.duration_ns, Some(rows.correlation), Some(rows.tid)),
        View::Syncs(rows) => of(rows.duration_ns, Some(rows.correlation), None),
        View::Overheads(rows) => of(rows.duration_ns, None, Some(rows.tid)),
        View::Ranges(rows) => Key {
            process: piece.process,
            table: piece.table().id.into(),
            start_ns,
            duration_ns: rows.end_ns.get(i).map(|end_ns| end_ns.saturating_sub(start_ns)),
            id: rows.range_id.get(i).unwrap_or(0),
            tid: rows.tid.get(i),
            name_id: rows.name_id.get(i),
        },
        View::Other(_) => return None,
    })
}

/// Arguments that an event has from its columns, and that give way to what the original said.
const REPLACED: [&str; 5] = ["stream", "context", "blocks per SM", "warps per SM", "memory bandwidth (GB/s)"];

/// Puts arguments into the event that was written to `out` from `begin` on.
pub fn insert(out: &mut Vec<u8>, begin: usize, details: &DetailsRow, names: &Names, of_python: bool) {
    let find = |out: &[u8], from: usize, what: &[u8]| {
        out[from..].windows(what.len()).position(|window| window == what).map(|at| from + at)
    };
    // Quotes inside of names are escaped, so that this is no part of one.
    const ARGUMENTS: &[u8] = b"\"args\":{";
    let Some(at) = find(out, begin, ARGUMENTS).map(|at| at + ARGUMENTS.len()) else { return };
    let mut text = Vec::new();
    if let Some(id) = details.arguments_id {
        arguments(&mut text, names.get(id));
    }
    for key in REPLACED {
        let quoted = format!("\"{key}\":");
        let is_given =
            text.starts_with(quoted.as_bytes()) || find(&text, 0, format!(",{quoted}").as_bytes()).is_some();
        if let (true, Some(from)) = (is_given, find(out, at, quoted.as_bytes())) {
            let end =
                out[from..].iter().position(|&byte| matches!(byte, b',' | b'}')).map_or(out.len(), |n| from + n);
            // With the comma behind it, or the one before it if it is the last.
            let is_last = out.get(end) != Some(&b',');
            let before = usize::from(is_last && out[from - 1] == b',');
            out.drain(from - before..end + usize::from(!is_last));
        }
    }
    let mut number = |key: &str, value: Option<i64>| {
        if let Some(value) = value {
            text.extend_from_slice(format!("\"{key}\":{value},").as_bytes());
        }
    };
    number("Ev Idx", details.event_index);
    number("Sequence number", details.sequence);
    number(if of_python { "Python id" } else { "Record function id" }, details.torch_id);
    number("Python parent id", details.parent_id);
    if of_python && details.torch_id.is_some() && details.parent_id.is_none() {
        text.extend_from_slice(b"\"Python parent id\":null,");
    }
    if out.get(at) == Some(&b'}') {
        text.pop();
    }
    out.splice(at..at, text);
}

/// Appends arguments as a trace had them, with a comma behind. What is no JSON becomes one argument that is a text.
fn arguments(out: &mut Vec<u8>, text: &[u8]) {
    if serde_json::from_slice::<serde::de::IgnoredAny>(&[b"{", text, b"}"].concat()).is_ok() {
        out.extend_from_slice(text);
    } else {
        out.extend_from_slice(b"\"arguments\":");
        json::string(out, text);
    }
    out.push(b',');
}

view! {
    /// Entries of table `foreign`.
    Entries of foreign {
        start_ns: i64,
        duration_ns: i64,
        form: u32,
        category_name_id: u32,
        name_id: u32,
        device: u32,
        stream: u32,
        tid: u32,
        arrow: u64,
        arguments_id: u32,
    }
}

/// Writes entries where the original had them: on the lanes of streams and threads, whatever else is there.
#[derive(Default)]
pub struct Lanes {
    /// Process, number and name of lanes that had no track when they were asked for.
    without_track: BTreeMap<(u32, u32), String>,
}

impl Lanes {
    /// Writes entry `i` of `piece`.
    #[allow(clippy::too_many_arguments, reason = "they are what the document consists of")]
    pub fn write(
        &mut self,
        out: &mut Vec<u8>,
        (piece, i): (&Piece, usize),
        tracks: &[Track],
        numbering: &mut Numbering,
        prepared: &Prepared,
        names: &Names,
        zero_ns: i64,
    ) {
        let rows = Entries::of(&piece.rows);
        let Some(start_ns) = rows.start_ns.get(i) else { return };
        let (pid, tid) = self.lane(out, piece.process, &rows, i, tracks, numbering);
        let phase: &[u8] = match rows.form.get(i).unwrap_or(SLICE) {
            SLICE => b"\"X\"",
            MARK => b"\"i\",\"s\":\"t\"",
            ARROW_BEGINS => b"\"s\"",
            ARROW_PASSES => b"\"t\"",
            _ => b"\"f\",\"bp\":\"e\"",
        };
        out.extend_from_slice(b",\n{\"ph\":");
        out.extend_from_slice(phase);
        out.extend_from_slice(b",\"cat\":");
        json::string(out, names.get(rows.category_name_id.get(i).unwrap_or(0)));
        if rows.form.get(i) > Some(MARK) {
            out.extend_from_slice(b",\"id\":");
            json::unsigned(out, rows.arrow.get(i).unwrap_or(0));
        }
        out.extend_from_slice(format!(",\"pid\":{pid},\"tid\":{tid},\"ts\":").as_bytes());
        let drawn_ns = start_ns.saturating_sub(zero_ns).max(0);
        json::microseconds(out, drawn_ns);
        let duration_ns = rows.duration_ns.get(i);
        if rows.form.get(i) == Some(SLICE) {
            out.extend_from_slice(b",\"dur\":");
            json::microseconds(out, duration_ns.unwrap_or(0));
        }
        let name_id = rows.name_id.get(i).unwrap_or(0);
        prepared.text(out, name_id);
        if let Some(id) = rows.arguments_id.get(i) {
            arguments(out, names.get(id));
        }
        let mut own = GpuprofArgument::new(out);
        own.column(foreign::FORM, rows.form.get(i));
        prepared.exact_name(&mut own, name_id);
        if drawn_ns.wrapping_add(zero_ns) != start_ns {
            own.column(foreign::START_NS, Some(start_ns));
        }
        if duration_ns.is_none() {
            own.key(foreign::DURATION_NS.name()).extend_from_slice(b"null");
        }
        own.number("process", Some(piece.process));
        own.column(foreign::DEVICE, rows.device.get(i));
        own.column(foreign::STREAM, rows.stream.get(i));
        own.column(foreign::TID, rows.tid.get(i));
        own.end();
    }

    /// Process and thread of an entry, by the numbers that the document has for them.
    fn lane(
        &mut self,
        out: &mut Vec<u8>,
        process: u32,
        rows: &Entries,
        i: usize,
        tracks: &[Track],
        numbering: &mut Numbering,
    ) -> (u32, u32) {
        let (device, stream, tid) = (rows.device.get(i), rows.stream.get(i), rows.tid.get(i));
        let is_it = |line: Line| match line {
            Line::Stream { process: p, device: d, stream: s, .. } => {
                (p, Some(d), Some(s)) == (process, device, stream)
            }
            Line::Thread { process: p, tid: t } => device.is_none() && (p, Some(t)) == (process, tid),
            _ => false,
        };
        let pid = match device {
            Some(device) => numbering.device(process, device, out),
            None => numbering.pid(process),
        };
        let opened = tracks.iter().zip(&numbering.heads).find(|(track, _)| track.lane == 0 && is_it(track.line));
        if let Some((_, head)) = opened {
            return (pid, head.tid);
        }
        let number = stream.or(tid).unwrap_or(0);
        let kind = if device.is_some() { "stream" } else { "thread" };
        self.without_track.entry((pid, number)).or_insert_with(|| format!("{kind} {number}"));
        (pid, number)
    }

    /// Names the lanes on which there is nothing but entries.
    pub fn finish(&self, out: &mut Vec<u8>, numbering: &Numbering) {
        for ((pid, tid), name) in self.without_track.iter().filter(|(lane, _)| !numbering.is_taken(**lane)) {
            super::numbering::describe(out, "thread_name", *pid, *tid, |out| {
                out.extend_from_slice(b"\"name\":");
                json::string(out, name.as_bytes());
            });
        }
    }
}
