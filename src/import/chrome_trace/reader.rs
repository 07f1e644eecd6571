//! One event to one row, in traces of any program.

use super::lanes::{LaneKind, Lanes};
use super::open::{self, Closed, Edge, Edges, Lane, Open};
use super::work::{Details, Work};
use super::{ChromeFacts, Counts};
use crate::import::kineto::document::Visitor;
use crate::import::kineto::event::Event;
use crate::import::kineto::json_tokens::{Tape, Value};
use crate::import::kineto::number::{integer, nanoseconds};
use crate::import::kineto::stray::{counter_values, phase_name};
use crate::import::kineto::text::unescape;
use crate::import::kineto::thread_ids::ThreadIds;
use crate::trace::sink::{Need, ProcessInfo, ProcessIx, Sink, valid_duration};
use hashbrown::{HashMap, HashSet};
use trace_format::tables::{self, RangeRow, SampleRow, ThreadRow};
use trace_format::vocabulary::range_style::{ANNOTATION, MARK, PYTHON, START_END};

/// 2001-09-09 in nanoseconds since 1970: times before it are no Unix times of any trace.
const SINCE_2001_NS: i64 = 1_000_000_000_000_000_000;

/// So many events tell whether times are Unix times.
const EPOCH_SAMPLE: u64 = 1000;

/// Processes told apart at most; a process costs memory even without rows. The rest are one.
pub(super) const PROCESSES: usize = 1000;

/// Names of threads kept at most.
const THREADS: usize = 100_000;

/// Makes rows of events and pushes them.
pub(super) struct Reader<'r, 's> {
    pub(super) sink: &'r mut Sink<'s>,
    pub(super) need: &'r Need,
    ranges: bool,
    samples: bool,
    pub(super) lanes: Lanes,
    /// What to add to times to get Unix nanoseconds, if the trace says so.
    base_ns: Option<i64>,
    /// Where work goes whose process is not known, made when it is needed.
    strays: Option<ProcessIx>,
    processes: HashMap<Box<[u8]>, ProcessIx>,
    last_process: Option<(Box<[u8]>, ProcessIx)>,
    threads: HashSet<(usize, u32)>,
    last_thread: Option<(usize, u32)>,
    pub(super) thread_ids: ThreadIds,
    /// Threads whose ids are not the trace's own, by process.
    renamed: HashSet<(usize, u32)>,
    edges: Edges,
    /// Ranges numbered in the order in which they begin, which tells those of equal times apart.
    begun: u64,
    /// What was found so far.
    pub(super) found: ChromeFacts,
}

impl<'r, 's> Reader<'r, 's> {
    pub(super) fn new(need: &'r Need, sink: &'r mut Sink<'s>, lanes: Lanes) -> Self {
        Reader {
            sink,
            need,
            lanes,
            base_ns: None,
            strays: None,
            // Ranges are all that such a trace has, so they are read even where operators of PyTorch would not be.
            ranges: need.wants(&tables::RANGE),
            samples: need.wants(&tables::SAMPLE),
            processes: HashMap::new(),
            last_process: None,
            threads: HashSet::new(),
            last_thread: None,
            thread_ids: ThreadIds::default(),
            renamed: HashSet::new(),
            edges: Edges::default(),
            begun: 0,
            found: ChromeFacts::default(),
        }
    }

    /// The process that an event is of: the one that it names, or, of work, the one that it says it was done for.
    pub(super) fn process_of(&mut self, event: &Event, details: &Details, is_work: bool) -> ProcessIx {
        match details.pid {
            // rocprof has a lane for a process, and the process among the arguments.
            Some(pid) if details.exact.is_some() => {
                let digits = pid.to_string();
                self.process(Value::Bare(digits.as_bytes()))
            }
            _ if is_work => {
                let sink = &mut *self.sink;
                *self.strays.get_or_insert_with(|| sink.process(ProcessInfo::default()))
            }
            _ => self.process(event.pid),
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

    pub(super) fn start(&mut self, event: &Event, offset: u64) -> Option<i64> {
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

    pub(super) fn name(&mut self, event: &Event) -> u32 {
        match event.name {
            Value::Text(raw) => self.sink.name(&unescape(raw)),
            Value::Bare(raw) => self.sink.name(raw),
            Value::Missing | Value::Nested(_) => 0,
        }
    }

    fn push(&mut self, open: Open, end_ns: Option<i64>, offset: u64) {
        // A range may well begin and end at 0 here.
        let valid =
            end_ns.filter(|&end| (open.start_ns, end) == (0, 0) || valid_duration(open.start_ns, end).is_some());
        if end_ns.is_some() && valid.is_none() {
            self.found.tallies.no_duration.add(offset);
        }
        let process = ProcessIx(open.process);
        if let Some(work) = open.work {
            self.found.work += 1;
            if self.need.wants(work.table()) {
                let duration_ns = valid.map(|end| end - open.start_ns);
                work.push(self.sink, process, open.name_id, open.start_ns, duration_ns);
            }
            return;
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
        self.sink.push(process, row);
    }

    /// The range or the work that an event begins.
    fn begin(&mut self, event: &Event, tape: Tape, style: u32, details: &Details, offset: u64) -> Option<Open> {
        let start_ns = match details.exact {
            Some((begin, _)) => begin,
            None => self.start(event, offset)?,
        };
        let place = self.lanes.place(event);
        let work = Work::of(event, tape, place, details).map(Box::new);
        let ProcessIx(process) = self.process_of(event, details, work.is_some() || place == LaneKind::About);
        let style = if event.category == Value::Text(b"py-spy") { PYTHON } else { style };
        self.found.pyspy += u64::from(style == PYTHON);
        self.begun += 1;
        let (tid, name_id) = (self.thread_ids.id(event.tid), self.name(event));
        if work.is_none() {
            self.name_thread(ProcessIx(process), tid, event);
        }
        Some(Open { start_ns, process, tid, name_id, style, id: self.begun, work })
    }

    fn close(&mut self, closed: Vec<Closed>) {
        for Closed { open, end_ns, offset } in closed {
            self.push(open, end_ns, offset);
        }
    }

    /// One end of a range that nests in a lane.
    fn edge(&mut self, lane: Lane, begins: Option<Open>, event: &Event, offset: u64) {
        let edge = match begins {
            Some(open) => Edge::begin(open, offset),
            None => {
                let Some(end_ns) = self.start(event, offset) else { return };
                let name_id = self.name(event);
                Edge::end(end_ns, name_id, offset)
            }
        };
        let closed = self.edges.add(lane, edge);
        self.close(closed);
    }

    /// The lane of a thread, as events name it.
    fn lane(&mut self, event: &Event) -> Lane {
        let text = |value| match value {
            Value::Bare(text) | Value::Text(text) => text,
            Value::Missing | Value::Nested(_) => &b""[..],
        };
        let ProcessIx(process) = match self.lanes.place(event) {
            // Work of all lanes goes to one process, whose lanes would then be mixed up.
            LaneKind::Host => self.process(event.pid),
            _ => return Lane::Id([text(event.pid), b"\0", text(event.tid)].concat().into()),
        };
        Lane::Thread(process, self.thread_ids.id(event.tid))
    }

    fn complete(&mut self, event: &Event, tape: Tape, offset: u64) {
        let details = Details::of(event, tape);
        if self.is_call(event, &details) {
            return self.call(event, &details, offset);
        }
        let Some(open) = self.begin(event, tape, ANNOTATION, &details, offset) else { return };
        let end_ns = match details.exact {
            Some((_, end)) => Some(end),
            None => nanoseconds(event.dur).and_then(|duration| open.start_ns.checked_add(duration)),
        };
        if end_ns.is_none() {
            self.found.tallies.no_duration.add(offset);
        }
        self.push(open, end_ns, offset);
    }

    /// Keeps what a thread is called where its first event comes before its name, or where its id is a name.
    pub(super) fn name_thread(&mut self, process: ProcessIx, tid: u32, event: &Event) {
        if self.last_thread == Some((process.0, tid)) {
            return;
        }
        self.last_thread = Some((process.0, tid));
        if self.thread_ids.is_renamed(tid) && self.renamed.len() < THREADS {
            self.renamed.insert((process.0, tid));
        }
        if self.threads.contains(&(process.0, tid)) || self.threads.len() >= THREADS {
            return;
        }
        if let Some(name) = self.lanes.thread_name(event) {
            self.threads.insert((process.0, tid));
            let name_id = self.sink.name(&name);
            self.sink.push(process, ThreadRow { tid, name_id });
        }
    }

    fn mark(&mut self, event: &Event, tape: Tape, offset: u64) {
        let Some(open) = self.begin(event, tape, MARK, &Details::default(), offset) else { return };
        self.push(Open { style: MARK, work: None, ..open }, None, offset);
        self.found.ranges -= 1;
        self.found.marks += 1;
    }

    fn counter(&mut self, event: &Event, tape: Tape, offset: u64) {
        let Some(start_ns) = self.start(event, offset) else { return };
        let values = counter_values(event, tape);
        if values.is_empty() {
            return self.found.tallies.unread.add(b"counters without a number", 1);
        }
        let process = self.process(event.pid);
        self.found.counters += values.len() as u64;
        if !self.samples {
            return;
        }
        for (metric, value) in values {
            let metric_id = self.sink.name(&metric);
            self.sink.push(process, SampleRow { start_ns, metric_id, device: None, value, of_pid: None });
        }
    }

    fn metadata(&mut self, event: &Event, tape: Tape) {
        self.lanes.metadata(event, tape);
        // Lanes of GPUs are no threads, and naming one would make a process of it.
        let (Value::Text(b"thread_name"), LaneKind::Host) = (event.name, self.lanes.place(event)) else { return };
        let process = self.process(event.pid);
        let tid = self.thread_ids.id(event.tid);
        self.name_thread(process, tid, event);
    }

    pub(super) fn finish(&mut self) {
        let closed = self.edges.finish();
        self.close(closed);
        let Edges { left_open, never_opened, first_never_opened, misnamed, .. } = self.edges;
        self.found.edges = Counts { left_open, never_opened, first_never_opened, misnamed };
        self.found.tallies.shortened = self.thread_ids.shortened();
        self.name_renamed();
        self.settle_strays();
        let [absolute, relative] = self.found.tallies.since_epoch;
        let implied = (absolute > relative).then_some(0);
        let offset_ns = self.base_ns.filter(|&base| base != 0).or(implied);
        for process in &mut self.sink.processes {
            process.info.unix_offset_ns = offset_ns;
        }
    }

    /// Names threads by the numbers that the trace has for them, where nothing else names them.
    fn name_renamed(&mut self) {
        for (tid, name) in self.thread_ids.renamed() {
            let unnamed = |process: &usize| {
                self.renamed.contains(&(*process, tid)) && !self.threads.contains(&(*process, tid))
            };
            let name_id = self.sink.name(name.as_bytes());
            for process in (0..self.sink.processes.len()).filter(unnamed).collect::<Vec<_>>() {
                self.sink.push(ProcessIx(process), ThreadRow { tid, name_id });
            }
        }
    }

    /// Gives work whose process nothing names to the only process there is, so that it meets its calls.
    fn settle_strays(&mut self) {
        let Some(ProcessIx(strays)) = self.strays else { return };
        if self.sink.processes.len() != 2 {
            return;
        }
        self.sink.finish();
        let kept = std::mem::take(&mut self.sink.processes[strays].kept);
        self.sink.processes[1 - strays].kept.extend(kept);
        self.sink.processes.remove(strays);
    }
}

impl Visitor for Reader<'_, '_> {
    fn wants(&mut self, key: &[u8]) -> bool {
        key == b"baseTimeNanoseconds"
    }

    fn header(&mut self, key: &[u8], value: Value, _: Tape) {
        if key == b"baseTimeNanoseconds" {
            self.base_ns = integer(value);
        }
    }

    fn event(&mut self, event: &Event, tape: Tape, offset: u64) {
        self.found.tallies.events += 1;
        let phase = match event.phase {
            Value::Text([phase]) => *phase,
            _ => 0,
        };
        match phase {
            b'X' => self.complete(event, tape, offset),
            b'B' => {
                let lane = self.lane(event);
                if let Some(open) = self.begin(event, tape, ANNOTATION, &Details::of(event, tape), offset) {
                    self.edge(lane, Some(open), event, offset);
                }
            }
            b'E' => {
                let lane = self.lane(event);
                self.edge(lane, None, event, offset);
            }
            // The older letters for the same: S and F.
            b'b' | b'S' => {
                if let Some(open) = self.begin(event, tape, START_END, &Details::default(), offset) {
                    self.edge(open::key(event, tape), Some(open), event, offset);
                }
            }
            b'e' | b'F' => self.edge(open::key(event, tape), None, event, offset),
            b'i' | b'I' | b'R' | b'n' => self.mark(event, tape, offset),
            b'C' => self.counter(event, tape, offset),
            b'M' => self.metadata(event, tape),
            // Some tools end a list, or begin it, with an event without a single field.
            0 if *event == Event::default() => {}
            phase => self.found.tallies.unread.add(phase_name(&[phase]), 1),
        }
    }

    fn broken(&mut self, offset: u64) {
        self.found.tallies.broken.add(offset);
    }

    fn oversized(&mut self, offset: u64) {
        self.found.tallies.oversized.add(offset);
    }

    fn stray_comma(&mut self, offset: u64) {
        self.found.tallies.stray_commas.add(offset);
    }
}
