//! What a trace says that no table of records has columns for: arguments of rows (table `details`), and entries that
//! are neither work nor ranges of the program (table `foreign`). An export to Chrome JSON writes both back.

use super::convert::Converter;
use super::event::Event;
use super::gpuprof_fields::{self, Extra};
use super::json_tokens::{Tape, Value};
use super::number::{integer, nanoseconds};
use super::rows::{Times, lane_stream};
use crate::trace::sink::{ProcessIx, valid_duration};
use trace_format::schema::TableSpec;
use trace_format::tables::{self, DetailsRow, ForeignRow};
use trace_format::vocabulary::foreign_form;

/// Which row arguments belong to.
pub struct RowKey {
    /// The process that the row was pushed into.
    pub process: ProcessIx,
    /// The row's table.
    pub table: &'static TableSpec,
    /// The row's start.
    pub start_ns: i64,
    /// The row's duration.
    pub duration_ns: Option<i64>,
    /// The row's correlation id, or the id of a range.
    pub id: u64,
    /// The row's thread, where its table has one.
    pub tid: Option<u32>,
    /// The name of a range.
    pub name_id: Option<u32>,
}

impl RowKey {
    /// The row of a table that has neither thread nor name.
    pub fn new(process: ProcessIx, table: &'static TableSpec, times: &Times, id: u64) -> RowKey {
        let Times { start_ns, duration_ns } = *times;
        RowKey { process, table, start_ns, duration_ns, id, tid: None, name_id: None }
    }
}

/// What an entry of table `foreign` looks like, as its column `form` has it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Form {
    /// It has a length.
    Slice = foreign_form::SLICE,
    /// It is a moment.
    Mark = foreign_form::MARK,
    /// An arrow begins.
    ArrowBegins = foreign_form::ARROW_BEGINS,
    /// An arrow passes.
    ArrowPasses = foreign_form::ARROW_PASSES,
    /// An arrow ends.
    ArrowEnds = foreign_form::ARROW_ENDS,
}

impl Form {
    /// The form of events of this phase.
    pub fn of(phase: &[u8]) -> Option<Form> {
        match phase {
            b"X" => Some(Form::Slice),
            b"i" | b"I" => Some(Form::Mark),
            b"s" => Some(Form::ArrowBegins),
            b"t" => Some(Form::ArrowPasses),
            b"f" => Some(Form::ArrowEnds),
            _ => None,
        }
    }
}

/// Categories of slices that stand on a stream of a GPU and are no work of it: copies of annotations, and ranges of
/// CUPTI's profiler. As ranges of the CPU they would be counted twice.
pub const ON_STREAMS: &[&[u8]] = &[b"gpu_user_annotation", b"cuda_profiler_range"];

/// Arguments that the columns of a table hold, so that an export writes them without being told.
fn has_column(table: &TableSpec, key: &[u8], value: Value) -> bool {
    let is_place = || matches!(key, b"device" | b"context" | b"stream");
    let is_of_work = || {
        is_place()
            || matches!(key, b"correlation" | b"External id" | b"external id" | b"graph id" | b"graph node id")
    };
    match table {
        table if table == &tables::KERNEL => {
            is_of_work() || matches!(key, b"grid" | b"block" | b"registers per thread" | b"shared memory")
        }
        table if table == &tables::MEMCPY || table == &tables::MEMSET => is_of_work() || key == b"bytes",
        table if table == &tables::API => {
            matches!(key, b"cbid" | b"correlation" | b"External id" | b"external id")
        }
        // CUPTI's largest number stands for none, and traces write it in several ways.
        table if table == &tables::SYNC => {
            (is_place() && integer(value) != Some(u32::MAX.into()))
                || matches!(key, b"correlation" | b"wait_on_cuda_event_id")
        }
        table if table == &tables::RANGE => matches!(key, b"External id" | b"external id"),
        _ => false,
    }
}

/// Whether a bandwidth is that of the bytes of an event in its duration. Old traces counted in another clock.
fn follows(bandwidth: Value, tape: Tape, args: usize, duration_ns: Option<i64>) -> bool {
    let bytes = tape.fields(args).find(|(key, _)| *key == b"bytes").and_then(|(_, value)| integer(value));
    let (Some(bytes), Some(duration_ns @ 1..), Some(written)) =
        (bytes, duration_ns, gpuprof_fields::float(bandwidth))
    else {
        return false;
    };
    let computed = bytes as f64 / duration_ns as f64;
    (written - computed).abs() <= 1e-6 * computed.abs()
}

impl Converter<'_, '_> {
    /// Keeps the arguments of an event that the columns of its row do not hold.
    pub fn details(&mut self, tape: Tape, args: Value, row: RowKey) {
        let Value::Nested(open) = args else { return };
        if !self.wanted.details {
            return;
        }
        let (mut event_index, mut sequence, mut torch_id, mut parent_id) = (None, None, None, None);
        let mut text = Vec::new();
        // Our own exports write what a trace said before all that follows from columns.
        let (is_own, mut follows_columns) = (self.header.own.is_some(), false);
        for (key, value) in tape.fields(open) {
            let number = || integer(value).filter(|_| matches!(value, Value::Bare(_)));
            let column = match key {
                b"gpuprof" => continue,
                // Both follow from the launch and the number of multiprocessors, which a trace may say last.
                b"blocks per SM" | b"warps per SM" if is_own && follows_columns => continue,
                b"memory bandwidth (GB/s)" if follows(value, tape, open, row.duration_ns) => continue,
                _ if has_column(row.table, key, value) => {
                    follows_columns = true;
                    continue;
                }
                // A Python function without a caller.
                b"Python parent id" if value == Value::Bare(b"null") => continue,
                b"Ev Idx" => &mut event_index,
                b"Sequence number" => &mut sequence,
                b"Record function id" | b"Python id" => &mut torch_id,
                b"Python parent id" => &mut parent_id,
                _ => {
                    field(&mut text, tape, key, value);
                    continue;
                }
            };
            match number() {
                Some(number) => *column = Some(number),
                None => field(&mut text, tape, key, value),
            }
        }
        let numbers = [event_index, sequence, torch_id, parent_id];
        if text.is_empty() && numbers.iter().all(Option::is_none) {
            return;
        }
        let details = DetailsRow {
            start_ns: row.start_ns,
            duration_ns: row.duration_ns,
            of_table: row.table.id.into(),
            of_id: row.id,
            tid: row.tid,
            name_id: row.name_id,
            event_index,
            sequence,
            torch_id,
            parent_id,
            arguments_id: (!text.is_empty()).then(|| self.sink.name(&text)),
        };
        self.sink.push(row.process, details);
    }

    /// Keeps an event that no other table has rows for.
    pub fn foreign(&mut self, event: &Event, tape: Tape, offset: u64, form: Form) {
        self.tallies.read += 1;
        if !self.wanted.foreign {
            return;
        }
        let Some(start_ns) = nanoseconds(event.ts) else { return self.tallies.no_start.add(offset) };
        let duration_ns = match form {
            Form::Slice => nanoseconds(event.dur)
                .and_then(|duration| start_ns.checked_add(duration))
                .and_then(|end_ns| valid_duration(start_ns, end_ns)),
            _ => Some(0),
        };
        let stands_on_stream = matches!(event.category, Value::Text(text) if ON_STREAMS.contains(&text));
        let device = integer(event.pid).and_then(|pid| u32::try_from(pid).ok()).filter(|_| stands_on_stream);
        let stream = lane_stream(event.tid).filter(|_| device.is_some());
        let tid = if device.is_none() { Some(self.thread_ids.id(event.tid)) } else { None };
        let process = self.process;
        let row = ForeignRow { start_ns, duration_ns, device, stream, tid, ..ForeignRow::default() };
        self.push_foreign(process, event, tape, form, row);
    }

    /// Takes an entry of our own export back, if the event is one.
    pub fn own_foreign(&mut self, event: &Event, tape: Tape, extra: &Extra) -> bool {
        let Value::Text(phase) = event.phase else { return false };
        let (true, Some(form)) = (extra.has("form"), Form::of(phase)) else { return false };
        if !self.wanted.foreign {
            return true;
        }
        let Some((process, start_ns, duration_ns)) = self.own_times(event, extra) else { return true };
        let row = ForeignRow {
            start_ns,
            duration_ns: if form == Form::Slice { duration_ns } else { Some(0) },
            device: extra.id("device"),
            stream: extra.id("stream"),
            tid: extra.id("tid"),
            ..ForeignRow::default()
        };
        self.push_foreign(process, event, tape, form, row);
        true
    }

    fn push_foreign(&mut self, process: ProcessIx, event: &Event, tape: Tape, form: Form, row: ForeignRow) {
        let mut text = Vec::new();
        if let Value::Nested(open) = event.args {
            for (key, value) in tape.fields(open).filter(|(key, _)| *key != b"gpuprof") {
                field(&mut text, tape, key, value);
            }
        }
        let category_name_id = match event.category {
            Value::Text(_) => {
                gpuprof_fields::bytes(tape, event.category).map_or(0, |category| self.sink.name(&category))
            }
            _ => 0,
        };
        let row = ForeignRow {
            form: form as u32,
            category_name_id,
            name_id: self.event_name(event),
            arrow: arrow(event.id),
            arguments_id: (!text.is_empty()).then(|| self.sink.name(&text)),
            ..row
        };
        self.sink.push(process, row);
    }
}

/// The number of an arrow: its `id`, or one made of that (FNV-1a) where it is a text.
fn arrow(id: Value) -> u64 {
    match (gpuprof_fields::unsigned(id).or(integer(id).map(|number| number as u64)), id) {
        (Some(number), _) => number,
        (None, Value::Text(text)) => {
            text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
        }
        _ => 0,
    }
}

/// Appends a field of a JSON object as it was written.
fn field(out: &mut Vec<u8>, tape: Tape, key: &[u8], value: Value) {
    if !out.is_empty() {
        out.push(b',');
    }
    out.push(b'"');
    out.extend_from_slice(key);
    out.extend_from_slice(b"\":");
    match value {
        // `NaN` and the like are no JSON, which whoever reads the export must get.
        Value::Bare(text) if serde_json::from_slice::<serde_json::Value>(text).is_err() => {
            out.push(b'"');
            out.extend(text.iter().filter(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(byte)));
            out.push(b'"');
        }
        Value::Bare(text) => out.extend_from_slice(text),
        Value::Text(text) => {
            out.push(b'"');
            out.extend_from_slice(text);
            out.push(b'"');
        }
        Value::Nested(open) => out.extend_from_slice(tape.whole(open)),
        Value::Missing => out.extend_from_slice(b"null"),
    }
}
