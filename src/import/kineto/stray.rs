//! Events that are none of Kineto's own complete ones: what profilers of other accelerators and other tools add to a
//! trace, counters, arrows, marks, and ranges that begin and end in events of their own. What rows can be made of
//! becomes rows, what says nothing that rows do not is passed over, and the rest is counted by category.

use super::args::Args;
use super::convert::Converter;
use super::event::{Category, Event};
use super::foreign::{Form, ON_STREAMS};
use super::json_tokens::{Tape, Value};
use super::number::{nanoseconds, scaled};
use super::rows::Times;
use super::text::unescape;
use crate::import::chrome_trace::open::{Closed, Edge, Lane, Open};
use crate::trace::sink::valid_duration;
use trace_format::tables::SampleRow;
use trace_format::vocabulary::range_style::ANNOTATION;

/// Arrows that repeat what ids say: from a call to its work.
const ARROWS: &[&[u8]] = &[b"ac2g", b"async", b"async_npu", b"async_gpu", b"async_task_queue"];

/// The trace's own span and what it marks on it.
const SPAN: &[u8] = b"Trace";

/// What the profiler itself marks.
const MARKS: &[&[u8]] = &[b"Iteration Start", b"Record Window End"];

impl Converter<'_, '_> {
    /// Takes a complete event of a category that is not Kineto's.
    pub fn stray(&mut self, event: &Event, tape: Tape, offset: u64) {
        let category = text(event.category);
        if category == SPAN || ON_STREAMS.contains(&category) {
            // Only asked of traces that have not shown yet whose they are.
            if self.tallies.kineto == 0 {
                self.tallies.pytorch += 1;
            }
            if category == SPAN {
                self.tallies.repeats += 1;
            } else {
                self.foreign(event, tape, offset, Form::Slice);
            }
            return;
        }
        if !self.is_ours() {
            return self.early(event);
        }
        let made_by = match ascend_task(event, tape) {
            Some(kind) => {
                self.tallies.ascend += 1;
                kind
            }
            None => {
                if category == b"Session" || category == b"Node" {
                    self.tallies.onnx += 1;
                    self.pids.count(Category::Operator, event.pid);
                }
                Category::Annotation
            }
        };
        self.tallies.read += 1;
        if self.makes(made_by) {
            self.row(made_by, event, tape, offset);
        }
    }

    /// Whether something has shown by now that PyTorch's profiler, or one that writes as it does, made the trace.
    fn is_ours(&self) -> bool {
        self.known || self.tallies.kineto + self.tallies.pytorch > 0 || self.header.schema.is_some()
    }

    /// Takes an event that comes before any that tells whose the trace is. If it proves to be ours, the trace is read
    /// once more; most such traces are another tool's, and its reader begins anew.
    fn early(&mut self, event: &Event) {
        self.tallies.early += 1;
        self.tallies.pyspy += u64::from(text(event.category) == b"py-spy");
    }

    /// Takes an event that is not a complete one.
    pub fn other_phase(&mut self, event: &Event, tape: Tape, offset: u64) {
        let category = text(event.category);
        let phase = text(event.phase);
        match phase {
            b"M" => {
                self.tallies.repeats += 1;
                self.metadata(event, tape);
            }
            b"s" | b"t" | b"f" if ARROWS.contains(&category) => self.tallies.repeats += 1,
            b"i" | b"I" if category.is_empty() && is_own_mark(event) => self.tallies.repeats += 1,
            _ if !self.is_ours() => self.early(event),
            b"C" => self.counter(event, tape, offset),
            b"B" | b"E" => self.edge(event, offset, phase == b"B"),
            _ => match Form::of(phase) {
                Some(form) => self.foreign(event, tape, offset, form),
                None => {
                    let name = if category.is_empty() { phase_name(phase) } else { category };
                    self.tallies.unread.add(name, 1);
                }
            },
        }
    }

    /// A counter: each of its values is a sample of a metric.
    fn counter(&mut self, event: &Event, tape: Tape, offset: u64) {
        let values = counter_values(event, tape);
        if values.is_empty() {
            return self.tallies.unread.add(b"counters without a number", 1);
        }
        self.tallies.read += 1;
        let Some(start_ns) = nanoseconds(event.ts) else { return self.tallies.no_start.add(offset) };
        if !self.wanted.sample {
            return;
        }
        let device = Args::place(tape, event.args).device;
        for (metric, value) in values {
            let metric_id = self.sink.name(&metric);
            self.sink.push(self.process, SampleRow { start_ns, metric_id, device, value, of_pid: None });
        }
    }

    /// One end of a range. Kineto writes none, so the two are matched as those of any program are.
    fn edge(&mut self, event: &Event, offset: u64, begins: bool) {
        if Category::of(event.category) != Category::Other {
            // Work of the GPU must not become a range of the CPU.
            return self.tallies.unread.add(&[b"separate begin and end of ", text(event.category)].concat(), 1);
        }
        self.tallies.read += 1;
        let Some(time_ns) = nanoseconds(event.ts) else { return self.tallies.no_start.add(offset) };
        if !(self.wanted.range && self.wanted.operators) {
            return;
        }
        let (tid, name_id) = (self.thread_ids.id(event.tid), self.event_name(event));
        let lane = Lane::Thread(0, tid);
        let closed = if begins {
            let id = self.tallies.read;
            let open = Open { start_ns: time_ns, process: 0, tid, name_id, style: ANNOTATION, id, work: None };
            self.edges.add(lane, Edge::begin(open, offset))
        } else {
            self.edges.add(lane, Edge::end(time_ns, name_id, offset))
        };
        self.close(closed);
    }

    /// Matches the ends of ranges that are still waiting.
    pub fn finish_edges(&mut self) {
        let closed = self.edges.finish();
        self.close(closed);
    }

    fn close(&mut self, closed: Vec<Closed>) {
        for Closed { open, end_ns, offset } in closed {
            let valid = end_ns.filter(|&end| valid_duration(open.start_ns, end).is_some());
            if valid.is_none() {
                self.tallies.no_duration.add(offset);
            }
            let times = Times { start_ns: open.start_ns, duration_ns: valid.map(|end| end - open.start_ns) };
            self.push_range(open.name_id, open.tid, times, open.style, 0);
        }
    }
}

/// The values of a counter by their names: its own, and the key where it has several series.
pub fn counter_values(event: &Event, tape: Tape) -> Vec<(Vec<u8>, f64)> {
    let Value::Nested(arguments) = event.args else { return Vec::new() };
    let name = match event.name {
        Value::Text(raw) => unescape(raw).into_owned(),
        _ => Vec::new(),
    };
    let mut values = Vec::new();
    for (key, value) in tape.fields(arguments) {
        let (Value::Bare(digits) | Value::Text(digits)) = value else { continue };
        let number = std::str::from_utf8(digits).ok().and_then(|text| text.trim().parse::<f64>().ok());
        let Some(value) = number.filter(|value| value.is_finite() && scaled(digits.trim_ascii(), 0).is_some())
        else {
            continue;
        };
        // Several values of one event are series of one counter.
        let metric = [&name[..], b" ", &unescape(key)].concat();
        values.push((metric.trim_ascii().to_vec(), value));
    }
    values
}

/// What kind of work a task of Huawei's Ascend is; its rows have no category and an argument `Task Type` instead.
fn ascend_task(event: &Event, tape: Tape) -> Option<Category> {
    let Value::Nested(arguments) = event.args else { return None };
    let (_, task) = tape.fields(arguments).find(|(key, _)| *key == b"Task Type")?;
    let task = text(task).to_ascii_uppercase();
    let has = |word: &[u8]| task.windows(word.len()).any(|part| part == word);
    Some(match () {
        // One stream waits for another, or records that it has come so far: no work.
        () if has(b"WAIT") || has(b"RECORD") || has(b"NOTIFY") => Category::Sync,
        () if has(b"MEMCPY") || has(b"SDMA") => Category::Memcpy,
        () if has(b"MEMSET") => Category::Memset,
        () => Category::Kernel,
    })
}

fn is_own_mark(event: &Event) -> bool {
    MARKS.iter().any(|mark| text(event.name).starts_with(mark))
}

fn text<'t>(value: Value<'t>) -> &'t [u8] {
    match value {
        Value::Text(text) | Value::Bare(text) => text,
        Value::Missing | Value::Nested(_) => b"",
    }
}

/// What events of a phase are, for those that have no category.
pub fn phase_name(phase: &[u8]) -> &'static [u8] {
    match phase {
        b"b" | b"e" | b"n" | b"S" | b"T" | b"F" | b"p" => b"asynchronous ranges",
        b"s" | b"t" | b"f" => b"arrows",
        b"i" | b"I" | b"R" => b"marks",
        b"N" | b"O" | b"D" => b"objects",
        b"P" => b"samples",
        b"v" | b"V" => b"memory dumps",
        b"" => b"no phase",
        _ => b"other phases",
    }
}
