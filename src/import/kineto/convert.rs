//! Decides for each event whether it becomes a row, and completes the process at the end.

use super::document::Visitor;
use super::event::{Category, Event};
use super::header::Header;
use super::json_tokens::{Tape, Value};
use super::number::nanoseconds;
use super::processes::{Pids, Threads};
use super::rows::Times;
use super::tally::Tallies;
use super::text::unescape;
use super::thread_ids::ThreadIds;
use crate::import::chrome_trace::lanes::Lanes;
use crate::import::chrome_trace::open::Edges;
use crate::trace::sink::{Detail, Need, ProcessInfo, ProcessIx, Sink, valid_duration};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use trace_format::columns::Batch;
use trace_format::schema::TableSpec;
use trace_format::tables::{self, DeviceRow, ThreadRow};
use trace_format::vocabulary::range_style::{ANNOTATION, OPERATOR, PYTHON};

/// Which rows the caller wants.
pub struct Wanted {
    kernel: bool,
    memcpy: bool,
    memset: bool,
    /// Runtime and driver calls.
    pub api: bool,
    sync: bool,
    overhead: bool,
    pub range: bool,
    /// Operators, annotations and Python functions among the ranges.
    pub operators: bool,
    /// Counters.
    pub sample: bool,
    /// Entries that no other table has.
    pub foreign: bool,
    /// Arguments that no other table has columns for.
    pub details: bool,
    /// All tables, by themselves.
    pub tables: Vec<&'static TableSpec>,
    /// Not only calls, but where they were called from.
    pub external: bool,
    /// Everything about a row, not only what sums need.
    pub full: bool,
}

/// Makes rows of events and pushes them.
pub struct Converter<'c, 's> {
    /// Where rows go.
    pub sink: &'c mut Sink<'s>,
    /// The one process that a file is of.
    pub process: ProcessIx,
    /// Which rows, and how much of each.
    pub wanted: Wanted,
    /// The header so far; complete after the last byte.
    pub header: Header,
    /// What is remarkable.
    pub tallies: Tallies,
    /// Processes by the events that name them.
    pub pids: Pids,
    threads: Threads,
    /// Names of processes and threads, for the reader that takes over where the trace is another tool's.
    pub lanes: Lanes,
    /// Ranges that begin and end in events of their own.
    pub edges: Edges,
    /// Whether the trace is known to be PyTorch's before its first event, because it was read once.
    pub known: bool,
    /// Ids of threads.
    pub thread_ids: ThreadIds,
    /// Contexts and their devices that have a row already, and the last one met.
    pub contexts: BTreeSet<(u32, u32)>,
    /// See `contexts`.
    pub last_context: Option<(u32, u32)>,
    /// The shape that is nothing but a name, by name id; 0 is none, else one more than the shape's id.
    pub plain_shapes: Vec<u32>,
    /// In our own traces: the processes by ordinal.
    pub own_processes: Vec<ProcessIx>,
    /// In our own traces: shapes by the ids they were written with.
    pub own_shapes: HashMap<u32, u32>,
    /// In our own traces: rows that are written whole, by process ordinal and table.
    pub own_batches: BTreeMap<(usize, u16), Batch>,
}

impl<'c, 's> Converter<'c, 's> {
    /// A converter that pushes into one new process of `sink`.
    pub fn new(need: &Need, sink: &'c mut Sink<'s>) -> Self {
        let process = sink.process(ProcessInfo::default());
        let wanted = Wanted {
            kernel: need.wants(&tables::KERNEL),
            memcpy: need.wants(&tables::MEMCPY),
            memset: need.wants(&tables::MEMSET),
            api: need.wants(&tables::API),
            sync: need.wants(&tables::SYNC),
            overhead: need.wants(&tables::OVERHEAD),
            range: need.wants(&tables::RANGE),
            operators: need.operators,
            sample: need.wants(&tables::SAMPLE),
            foreign: need.wants(&tables::FOREIGN),
            details: need.wants(&tables::DETAILS) && need.detail == Detail::Full,
            tables: need.tables.clone(),
            external: need.wants(&tables::EXTERNAL),
            full: need.detail != Detail::Totals,
        };
        Converter {
            sink,
            process,
            wanted,
            header: Header::default(),
            tallies: Tallies::default(),
            pids: Pids::default(),
            threads: Threads::default(),
            lanes: Lanes::default(),
            edges: Edges::default(),
            known: false,
            thread_ids: ThreadIds::default(),
            contexts: BTreeSet::new(),
            last_context: None,
            plain_shapes: Vec::new(),
            own_processes: Vec::new(),
            own_shapes: HashMap::new(),
            own_batches: BTreeMap::new(),
        }
    }

    /// Completes the process. Returns how many processes' API calls the file mixes.
    pub fn finish(&mut self) -> usize {
        if let Some(own) = self.header.own.take() {
            for (index, process) in self.own_processes.iter().zip(&own.processes) {
                self.sink.processes[index.0].info = ProcessInfo {
                    pid: process.pid,
                    rank: process.rank,
                    world_size: process.world_size,
                    host: None,
                    name: process.name.clone(),
                    unix_offset_ns: process.offset_ns,
                    is_launcher: process.launcher,
                    aligned_ns: None,
                    steps: None,
                    budget: None,
                };
            }
            self.header.own = Some(own);
            self.own_finish();
            return 1;
        }
        self.finish_edges();
        for device in std::mem::take(&mut self.header.devices) {
            let name_id = self.sink.name(&device.name);
            self.sink.push(self.process, DeviceRow { name_id, ..device.row });
        }
        self.tallies.shortened = self.thread_ids.shortened();
        let named = self.threads.named(&self.pids);
        // Where nobody gave a name, the number that the trace has and our tables cannot hold.
        let is_named = |tid: u32| named.binary_search_by_key(&tid, |(tid, _)| *tid).is_ok();
        let renamed = self.thread_ids.renamed().into_iter().filter(|(tid, _)| !is_named(*tid));
        let renamed: Vec<_> = renamed.map(|(tid, name)| (tid, name.into_bytes())).collect();
        for (tid, name) in named.into_iter().chain(renamed) {
            let name_id = self.sink.name(&name);
            self.sink.push(self.process, ThreadRow { tid, name_id });
        }
        // Before April 2024 times were counted from 1970 and nothing said so; a file that was cut off before its
        // base cannot be told from one without, but then its times are too small to be counted from 1970.
        let [absolute, relative] = self.tallies.since_epoch;
        let implied = (absolute > relative).then_some(0);
        self.sink.processes[self.process.0].info = ProcessInfo {
            pid: self.pids.main(),
            rank: self.header.rank,
            world_size: self.header.world_size,
            host: None,
            name: self.pids.main_name(),
            unix_offset_ns: self.header.base_ns.filter(|&base| base != 0).or(implied),
            is_launcher: false,
            aligned_ns: None,
            steps: None,
            budget: None,
        };
        self.pids.with_calls()
    }

    /// Whether rows of a category are wanted.
    pub fn makes(&self, category: Category) -> bool {
        match category {
            Category::Kernel => self.wanted.kernel,
            Category::Memcpy => self.wanted.memcpy,
            Category::Memset => self.wanted.memset,
            Category::Runtime | Category::Driver => self.wanted.api || self.wanted.external,
            Category::Operator | Category::Annotation | Category::Python => {
                // Ranges of the program are annotations in our own traces, and not operators.
                self.wanted.range && (self.wanted.operators || self.header.own.is_some())
            }
            Category::Sync => self.wanted.sync,
            Category::Overhead => self.wanted.overhead,
            Category::Other => false,
        }
    }

    /// Start and duration; `None` for a record without a time.
    pub fn times(&mut self, event: &Event, offset: u64) -> Option<Times> {
        let Some(start_ns) = nanoseconds(event.ts) else {
            self.tallies.no_start.add(offset);
            return None;
        };
        let end_ns = nanoseconds(event.dur).and_then(|duration| start_ns.checked_add(duration));
        let duration_ns = end_ns.and_then(|end_ns| valid_duration(start_ns, end_ns));
        if duration_ns.is_none() {
            self.tallies.no_duration.add(offset);
        }
        Some(Times { start_ns, duration_ns })
    }

    /// Makes the row of one event.
    pub fn row(&mut self, category: Category, event: &Event, tape: Tape, offset: u64) {
        let Some(times) = self.times(event, offset) else { return };
        match category {
            Category::Kernel => self.kernel(event, tape, times),
            Category::Memcpy => self.memcpy(event, tape, times),
            Category::Memset => self.memset(event, tape, times),
            Category::Runtime => self.api(event, tape, times, 0),
            Category::Driver => self.api(event, tape, times, 1),
            Category::Operator => self.range(event, tape, times, OPERATOR),
            Category::Annotation => self.range(event, tape, times, ANNOTATION),
            Category::Python => self.range(event, tape, times, PYTHON),
            Category::Sync => self.sync(event, tape, times),
            Category::Overhead => self.overhead(event, tape, times),
            Category::Other => {}
        }
    }

    /// Takes note of what a lane is called.
    pub fn metadata(&mut self, event: &Event, tape: Tape) {
        if self.tallies.kineto == 0 {
            self.lanes.metadata(event, tape);
        }
        let Value::Nested(open) = event.args else { return };
        let Some(name) = tape.fields(open).filter(|(key, _)| key == b"name").last() else { return };
        let (_, Value::Text(name)) = name else { return };
        match event.name {
            Value::Text(b"thread_name") => {
                let tid = self.thread_ids.id(event.tid);
                self.threads.name(event, tid, unescape(name).into_owned());
            }
            // TensorFlow's lanes: `/job:localhost/task:0/device:GPU:0 Compute`, `/gpu:0/stream:all Tensors`.
            Value::Text(b"process_name") => {
                let is_lane =
                    name.starts_with(b"/") && (name.ends_with(b" Compute") || name.ends_with(b" Tensors"));
                self.tallies.tensorflow += u64::from(is_lane);
                self.pids.name(event, name);
            }
            _ => {}
        }
    }
}

/// 2001-09-09 in nanoseconds since 1970: times before it are no Unix times of any trace.
const SINCE_2001_NS: i64 = 1_000_000_000_000_000_000;

/// So many events tell whether times are Unix times, whichever of them are wanted; a few may have broken times.
const EPOCH_SAMPLE: u64 = 1000;

impl Visitor for Converter<'_, '_> {
    fn wants(&mut self, key: &[u8]) -> bool {
        Header::wants(key)
    }

    fn header(&mut self, key: &[u8], value: Value, tape: Tape) {
        self.header.set(key, value, tape);
        if key == b"gpuprof" && self.own_processes.is_empty() && self.tallies.events == 0 {
            let count = self.header.own.as_ref().map_or(0, |own| own.processes.len());
            self.own_processes.push(self.process);
            for _ in 1..count {
                self.own_processes.push(self.sink.process(ProcessInfo::default()));
            }
        } else if key == b"gpuprof" {
            // Behind its events it comes too late to explain them.
            self.header.own = None;
        }
    }

    fn event(&mut self, event: &Event, tape: Tape, offset: u64) {
        self.tallies.events += 1;
        if self.header.own.is_some() {
            return self.own_event(event, tape, offset);
        }
        if !event.is(b'X') {
            return self.other_phase(event, tape, offset);
        }
        let category = Category::of(event.category);
        if category == Category::Other {
            return self.stray(event, tape, offset);
        }
        self.tallies.kineto += 1;
        self.pids.count(category, event.pid);
        if self.tallies.kineto <= EPOCH_SAMPLE
            && let Some(start_ns) = nanoseconds(event.ts)
        {
            self.tallies.since_epoch[usize::from(start_ns < SINCE_2001_NS)] += 1;
        }
        self.tallies.read += 1;
        if self.makes(category) {
            self.row(category, event, tape, offset);
        }
    }

    fn broken(&mut self, offset: u64) {
        self.tallies.broken.add(offset);
    }

    fn oversized(&mut self, offset: u64) {
        self.tallies.oversized.add(offset);
    }

    fn stray_comma(&mut self, offset: u64) {
        self.tallies.stray_commas.add(offset);
    }
}
