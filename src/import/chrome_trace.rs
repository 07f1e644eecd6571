//! Chrome traces of any program, py-spy's among them: ranges, marks and counters. PyTorch's have a reader of their own
//! ([`super::kineto`]), which hands traces without a single event of PyTorch's over to this one.

mod open;

use self::open::{Open, OpenRanges};
use super::kineto::document::{Document, End, Visitor};
use super::kineto::event::Event;
use super::kineto::number::{integer, nanoseconds, scaled};
use super::kineto::people::thread_id;
use super::kineto::tally::{Tallies, Tally};
use super::kineto::tape::{Tape, Value};
use super::kineto::text::unescape;
use super::kineto::{notes, sniff, unpack};
use super::{Head, Importer};
use crate::error::Result;
use crate::trace::sink::{Need, ProcessInfo, ProcessIx, Sink, valid_duration};
use hashbrown::{HashMap, HashSet};
use std::path::Path;
use trace_format::tables::{self, RangeRow, SampleRow, ThreadRow};

/// Reads Chrome traces.
pub struct ChromeTrace;

impl Importer for ChromeTrace {
    fn name(&self) -> &'static str {
        "chrome-trace"
    }

    fn describes(&self) -> &'static str {
        "Chrome trace event JSON of any program, plain or gzip (py-spy chrometrace)"
    }

    fn sniff(&self, head: &Head) -> bool {
        let category = br#""cat":"py-spy""#;
        sniff::is_trace(&head.text, false) && head.text.windows(category.len()).any(|window| window == category)
    }

    fn read(&self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()> {
        let (walked, failure) = unpack::with_text(path, |source| {
            let mut reader = Reader::new(need, sink);
            let mut document = Document::new(source);
            let end = document.walk(&mut reader);
            let rest = if let End::Closed(_) = end { document.rest() } else { 0 };
            let has_events = document.has_events;
            reader.finish();
            (reader.found, end, has_events, rest)
        })?;
        let (found, end, has_events, rest) = walked;
        if end == End::NotJson || !has_events {
            return Err(notes::no_events(path, end, failure));
        }
        sink.origin = if found.pyspy > 0 { "py-spy Chrome trace" } else { "Chrome trace" }.to_owned();
        notes::end(path, sink, &found.tallies, end, failure, rest);
        notes::events(path, sink, &found.tallies, 0);
        found.note(path, sink);
        Ok(())
    }
}

/// `range.style` of marks.
const MARK: u32 = 2;
/// `range.style` of ranges that need not nest.
const START_END: u32 = 1;
/// `range.style` of annotations.
const ANNOTATION: u32 = 4;
/// `range.style` of Python functions.
const PYTHON: u32 = 5;

/// 2001-09-09 in nanoseconds since 1970: times before it are no Unix times of any trace.
const SINCE_2001_NS: i64 = 1_000_000_000_000_000_000;

/// So many events tell whether times are Unix times.
const EPOCH_SAMPLE: u64 = 1000;

/// Processes told apart at most; a process costs memory even without rows. The rest are one.
const PROCESSES: usize = 1000;

/// Names of threads kept at most.
const THREADS: usize = 100_000;

/// What was found, apart from rows.
#[derive(Default)]
struct Found {
    tallies: Tallies,
    ranges: u64,
    marks: u64,
    counters: u64,
    pyspy: u64,
    left_open: u64,
    never_opened: Tally,
    others: u64,
    crowded: bool,
}

struct Reader<'r, 's> {
    sink: &'r mut Sink<'s>,
    ranges: bool,
    samples: bool,
    processes: HashMap<Box<[u8]>, ProcessIx>,
    last_process: Option<(Box<[u8]>, ProcessIx)>,
    threads: HashSet<(usize, u32)>,
    open: OpenRanges,
    /// Ranges numbered in the order in which they begin, which tells those of equal times apart.
    begun: u64,
    found: Found,
}

impl<'r, 's> Reader<'r, 's> {
    fn new(need: &Need, sink: &'r mut Sink<'s>) -> Self {
        Reader {
            sink,
            // Ranges are all that such a trace has, so they are read even where operators of PyTorch would not be.
            ranges: need.wants(&tables::RANGE),
            samples: need.wants(&tables::SAMPLE),
            processes: HashMap::new(),
            last_process: None,
            threads: HashSet::new(),
            open: OpenRanges::default(),
            begun: 0,
            found: Found::default(),
        }
    }

    fn process(&mut self, pid: Value) -> ProcessIx {
        let text = match pid {
            Value::Bare(text) | Value::Text(text) => text,
            Value::Missing | Value::Nested(_) => b"",
        };
        if let Some((known, process)) = &self.last_process
            && **known == *text
        {
            return *process;
        }
        let process = match self.processes.get(text) {
            Some(&process) => process,
            None if self.processes.len() >= PROCESSES => {
                self.found.crowded = true;
                ProcessIx(self.sink.processes.len() - 1)
            }
            None => {
                let pid = integer(pid).and_then(|pid| u32::try_from(pid).ok());
                let process = self.sink.process(ProcessInfo { pid, ..ProcessInfo::default() });
                self.processes.insert(text.into(), process);
                process
            }
        };
        self.last_process = Some((text.into(), process));
        process
    }

    fn start(&mut self, event: &Event, offset: u64) -> Option<i64> {
        let Some(start_ns) = nanoseconds(event.ts) else {
            self.found.tallies.no_start.add(offset);
            return None;
        };
        let since_epoch = &mut self.found.tallies.since_epoch;
        if since_epoch[0] + since_epoch[1] < EPOCH_SAMPLE {
            since_epoch[usize::from(start_ns < SINCE_2001_NS)] += 1;
        }
        Some(start_ns)
    }

    fn name(&mut self, event: &Event) -> u32 {
        match event.name {
            Value::Text(raw) => self.sink.name(&unescape(raw)),
            Value::Bare(raw) => self.sink.name(raw),
            Value::Missing | Value::Nested(_) => 0,
        }
    }

    fn push(&mut self, open: &Open, end_ns: Option<i64>, offset: u64) {
        // A range may well begin and end at 0 here.
        let valid =
            end_ns.filter(|&end| (open.start_ns, end) == (0, 0) || valid_duration(open.start_ns, end).is_some());
        if end_ns.is_some() && valid.is_none() {
            self.found.tallies.no_duration.add(offset);
        }
        self.found.ranges += 1;
        if !self.ranges {
            return;
        }
        let row = RangeRow {
            start_ns: open.start_ns,
            end_ns: valid,
            style: open.style,
            range_id: open.id,
            name_id: open.name_id,
            tid: open.tid,
            ..RangeRow::default()
        };
        self.sink.push(ProcessIx(open.process), row);
    }

    /// The range that an event begins.
    fn begin(&mut self, event: &Event, style: u32, offset: u64) -> Option<Open> {
        let start_ns = self.start(event, offset)?;
        let ProcessIx(process) = self.process(event.pid);
        let style = if event.category == Value::Text(b"py-spy") { PYTHON } else { style };
        self.found.pyspy += u64::from(style == PYTHON);
        self.begun += 1;
        let (tid, name_id) = (thread_id(event.tid), self.name(event));
        Some(Open { start_ns, process, tid, name_id, style, id: self.begun })
    }

    /// Remembers a range until it ends; if there are too many, it stays open for good.
    fn remember(&mut self, refused: Option<Open>, offset: u64) {
        if let Some(open) = refused {
            self.found.left_open += 1;
            self.push(&open, None, offset);
        }
    }

    fn end(&mut self, opened: Option<Open>, event: &Event, offset: u64) {
        let Some(end_ns) = self.start(event, offset) else { return };
        match opened {
            Some(open) => self.push(&open, Some(end_ns), offset),
            None => self.found.never_opened.add(offset),
        }
    }

    fn complete(&mut self, event: &Event, offset: u64) {
        let Some(open) = self.begin(event, ANNOTATION, offset) else { return };
        let end_ns = nanoseconds(event.dur).and_then(|duration| open.start_ns.checked_add(duration));
        if end_ns.is_none() {
            self.found.tallies.no_duration.add(offset);
        }
        self.push(&open, end_ns, offset);
    }

    fn mark(&mut self, event: &Event, offset: u64) {
        let Some(open) = self.begin(event, MARK, offset) else { return };
        self.push(&Open { style: MARK, ..open }, None, offset);
        self.found.ranges -= 1;
        self.found.marks += 1;
    }

    fn counter(&mut self, event: &Event, tape: Tape, offset: u64) {
        let Some(start_ns) = self.start(event, offset) else { return };
        let Value::Nested(arguments) = event.args else { return };
        let process = self.process(event.pid);
        let name = match event.name {
            Value::Text(raw) => unescape(raw).into_owned(),
            _ => Vec::new(),
        };
        for (key, value) in tape.fields(arguments) {
            let (Value::Bare(digits) | Value::Text(digits)) = value else { continue };
            let number = std::str::from_utf8(digits).ok().and_then(|text| text.trim().parse::<f64>().ok());
            let Some(value) = number.filter(|value| value.is_finite() && scaled(digits.trim_ascii(), 0).is_some())
            else {
                continue;
            };
            self.found.counters += 1;
            if self.samples {
                // Several values of one event are series of one counter.
                let metric = [&name[..], b" ", &unescape(key)].concat();
                let metric_id = self.sink.name(metric.trim_ascii());
                self.sink.push(process, SampleRow { start_ns, metric_id, device: None, value, of_pid: None });
            }
        }
    }

    fn metadata(&mut self, event: &Event, tape: Tape) {
        let (Value::Text(b"thread_name"), Value::Nested(arguments)) = (event.name, event.args) else { return };
        let name = tape.fields(arguments).filter(|(key, _)| key == b"name").last();
        let Some((_, Value::Text(name))) = name else { return };
        let process = self.process(event.pid);
        let tid = thread_id(event.tid);
        if self.threads.len() < THREADS && self.threads.insert((process.0, tid)) {
            let name_id = self.sink.name(&unescape(name));
            self.sink.push(process, ThreadRow { tid, name_id });
        }
    }

    fn finish(&mut self) {
        for open in self.open.take_all() {
            self.found.left_open += 1;
            self.push(&open, None, 0);
        }
        let [absolute, relative] = self.found.tallies.since_epoch;
        if absolute > relative {
            for process in &mut self.sink.processes {
                process.info.unix_offset_ns = Some(0);
            }
        }
    }
}

impl Visitor for Reader<'_, '_> {
    fn wants(&mut self, _: &[u8]) -> bool {
        false
    }

    fn header(&mut self, _: &[u8], _: Value, _: Tape) {}

    fn event(&mut self, event: &Event, tape: Tape, offset: u64) {
        self.found.tallies.events += 1;
        let phase = match event.phase {
            Value::Text([phase]) => *phase,
            _ => 0,
        };
        match phase {
            b'X' => self.complete(event, offset),
            b'B' => {
                if let Some(open) = self.begin(event, ANNOTATION, offset) {
                    let refused = self.open.begin(open);
                    self.remember(refused, offset);
                }
            }
            b'E' => {
                let ProcessIx(process) = self.process(event.pid);
                let opened = self.open.end(process, thread_id(event.tid));
                self.end(opened, event, offset);
            }
            // The older letters for the same: S and F.
            b'b' | b'S' => {
                if let Some(open) = self.begin(event, START_END, offset) {
                    let refused = self.open.begin_async(open::key(event, tape), open);
                    self.remember(refused, offset);
                }
            }
            b'e' | b'F' => {
                let opened = self.open.end_async(&open::key(event, tape));
                self.end(opened, event, offset);
            }
            b'i' | b'I' | b'R' | b'n' => self.mark(event, offset),
            b'C' => self.counter(event, tape, offset),
            b'M' => self.metadata(event, tape),
            _ => self.found.others += 1,
        }
    }

    fn broken(&mut self, offset: u64) {
        self.found.tallies.broken.add(offset);
    }

    fn oversized(&mut self, offset: u64) {
        self.found.tallies.oversized.add(offset);
    }
}

impl Found {
    fn note(&self, path: &Path, sink: &mut Sink) {
        let path = path.display();
        let Found { ranges, marks, counters, left_open, others, never_opened, .. } = *self;
        let what = if self.pyspy > 0 {
            "what py-spy sampled: functions of Python that lasted from one sample to another"
        } else {
            "a Chrome trace of the CPU"
        };
        sink.note(
            "no-gpu-records",
            format!(
                "{path}: {what}, {ranges} ranges, {marks} marks, {counters} values of counters; nothing of a GPU"
            ),
        );
        if left_open > 0 {
            sink.note("left-open", format!("{path}: {left_open} ranges have no end and are in no sum"));
        }
        if never_opened.count > 0 {
            let (count, first) = (never_opened.count, never_opened.first);
            sink.note(
                "left-out",
                format!("{path}: {count} ends of ranges that did not begin are left out; the first at byte {first} of the text"),
            );
        }
        if others > 0 {
            sink.note(
                "left-out",
                format!("{path}: {others} events of other kinds (flows, objects, samples) are left out"),
            );
        }
        if self.crowded {
            sink.note("left-out", format!("{path}: only {PROCESSES} processes are told apart"));
        }
    }
}
