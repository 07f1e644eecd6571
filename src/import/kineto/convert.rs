//! Events to rows.

use super::args::Args;
use super::codes;
use super::document::Visitor;
use super::event::{Category, Event};
use super::header::Header;
use super::number::{integer, nanoseconds};
use super::people::{Pids, Threads, thread_id};
use super::tape::{Tape, Value};
use super::text::unescape;
use crate::trace::sink::{Detail, Need, ProcessInfo, ProcessIx, Sink, valid_duration};
use trace_format::tables::{self, *};

/// Kineto pushes operators' ids to CUPTI as `CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0`.
const PYTORCH_OPERATOR: u32 = 3;

/// How often something happened and where it first did.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    /// How often.
    pub count: u64,
    /// Byte offset of the first one.
    pub first: u64,
}

impl Tally {
    fn add(&mut self, offset: u64) {
        if self.count == 0 {
            self.first = offset;
        }
        self.count += 1;
    }
}

/// What is remarkable about the events.
#[derive(Default, Debug)]
pub struct Tallies {
    /// Events of any kind.
    pub events: u64,
    /// Events that only a PyTorch trace has.
    pub kineto: u64,
    /// No event where there should be one.
    pub broken: Tally,
    /// Items too large to look at.
    pub oversized: Tally,
    /// Records without a time, which make no row.
    pub no_start: Tally,
    /// Rows without a valid duration.
    pub no_duration: Tally,
    /// Lanes as TensorFlow names them.
    pub tensorflow: u64,
    /// Events of py-spy.
    pub pyspy: u64,
    /// Starts, of the first events, that can be counted from 1970, and those that cannot.
    pub since_epoch: [u64; 2],
}

/// Which rows the caller wants.
struct Wanted {
    kernel: bool,
    memcpy: bool,
    memset: bool,
    api: bool,
    sync: bool,
    overhead: bool,
    range: bool,
    external: bool,
    full: bool,
}

/// Makes rows of events and pushes them.
pub struct Converter<'c, 's> {
    sink: &'c mut Sink<'s>,
    process: ProcessIx,
    wanted: Wanted,
    /// The header so far; complete after the last byte.
    pub header: Header,
    /// What is remarkable.
    pub tallies: Tallies,
    pids: Pids,
    threads: Threads,
    contexts: Vec<(u32, u32)>,
    /// The shape that is nothing but a name, by name id; 0 is none, else one more than the shape's id.
    plain_shapes: Vec<u32>,
}

/// When a record began and how long it took.
struct Times {
    start_ns: i64,
    duration_ns: Option<i64>,
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
            external: need.wants(&tables::EXTERNAL),
            full: need.detail == Detail::Full,
        };
        Converter {
            sink,
            process,
            wanted,
            header: Header::default(),
            tallies: Tallies::default(),
            pids: Pids::default(),
            threads: Threads::default(),
            contexts: Vec::new(),
            plain_shapes: Vec::new(),
        }
    }

    /// Completes the process. Returns how many processes' API calls the file mixes.
    pub fn finish(&mut self) -> usize {
        for (tid, name) in self.threads.named(&self.pids) {
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
            unix_offset_ns: self.header.base_ns.filter(|&base| base != 0).or(implied),
        };
        self.pids.with_calls()
    }

    fn makes(&self, category: Category) -> bool {
        match category {
            Category::Kernel => self.wanted.kernel,
            Category::Memcpy => self.wanted.memcpy,
            Category::Memset => self.wanted.memset,
            Category::Runtime | Category::Driver => self.wanted.api || self.wanted.external,
            Category::Operator | Category::Annotation | Category::Python => self.wanted.range,
            Category::Sync => self.wanted.sync,
            Category::Overhead => self.wanted.overhead,
            Category::Other => false,
        }
    }

    /// Start and duration; `None` for a record without a time.
    fn times(&mut self, event: &Event, offset: u64) -> Option<Times> {
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

    fn args(&self, event: &Event, tape: Tape) -> Args {
        if self.wanted.full { Args::all(tape, event.args) } else { Args::place(tape, event.args) }
    }

    fn name(&mut self, event: &Event) -> u32 {
        match event.name {
            Value::Text(raw) => self.sink.name(&unescape(raw)),
            _ => 0,
        }
    }

    /// Device, context and stream of GPU work. Traces without arguments have device and stream as lanes.
    fn place(&mut self, event: &Event, args: &Args) -> (u32, u32, u32) {
        let device = args.device.or_else(|| integer(event.pid)?.try_into().ok()).unwrap_or(0);
        let stream = args.stream.or_else(|| lane_stream(event.tid)).unwrap_or(0);
        if let Some(context) = args.context
            && self.contexts.last() != Some(&(context, device))
            && !self.contexts.contains(&(context, device))
        {
            self.contexts.push((context, device));
            let row = ContextRow { context, device, api_kind: None, null_stream: None, parent_context: None };
            self.sink.push(self.process, row);
        }
        (device, args.context.unwrap_or(0), stream)
    }

    fn shape(&mut self, name_id: u32, args: &Args) -> u32 {
        let [grid_x, grid_y, grid_z] = triple(args.grid);
        let [block_x, block_y, block_z] = triple(args.block);
        let row = ShapeRow {
            id: 0,
            name_id,
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            cluster_x: None,
            cluster_y: None,
            cluster_z: None,
            registers: args.registers,
            static_smem_bytes: None,
            // Kineto writes the sum of both; the dynamic part is the one that occupancy usually hangs on.
            dynamic_smem_bytes: args.shared_memory,
            local_mem_per_thread_bytes: None,
            local_mem_total_bytes: None,
            demangled_id: None,
            base_id: None,
        };
        if self.wanted.full {
            return self.sink.shape(row);
        }
        let index = name_id as usize;
        if self.plain_shapes.len() <= index {
            self.plain_shapes.resize(index + 1, 0);
        }
        if self.plain_shapes[index] == 0 {
            self.plain_shapes[index] = self.sink.shape(row) + 1;
        }
        self.plain_shapes[index] - 1
    }

    fn kernel(&mut self, event: &Event, tape: Tape, times: Times) {
        let args = self.args(event, tape);
        let (device, context, stream) = self.place(event, &args);
        let name_id = self.name(event);
        let row = KernelRow {
            start_ns: times.start_ns,
            duration_ns: times.duration_ns,
            shape_id: self.shape(name_id, &args),
            device,
            context,
            stream,
            correlation: args.correlation(),
            graph_id: args.graph_id,
            graph_node_id: args.graph_node_id,
            queued_ns: None,
            submitted_ns: None,
            channel: None,
            priority: None,
            flags: None,
        };
        self.sink.push(self.process, row);
    }

    fn memcpy(&mut self, event: &Event, tape: Tape, times: Times) {
        let args = self.args(event, tape);
        let (device, context, stream) = self.place(event, &args);
        let (kind, src_kind, dst_kind) = match event.name {
            Value::Text(name) => codes::copy(name),
            _ => (0, 0, 0),
        };
        let row = MemcpyRow {
            start_ns: times.start_ns,
            duration_ns: times.duration_ns,
            kind,
            src_kind,
            dst_kind,
            bytes: args.bytes.unwrap_or(0),
            device,
            context,
            stream,
            src_device: None,
            dst_device: None,
            src_context: None,
            dst_context: None,
            correlation: args.correlation(),
            graph_id: args.graph_id,
            graph_node_id: args.graph_node_id,
            flags: None,
            channel: None,
        };
        self.sink.push(self.process, row);
    }

    fn memset(&mut self, event: &Event, tape: Tape, times: Times) {
        let args = self.args(event, tape);
        let (device, context, stream) = self.place(event, &args);
        let mem_kind = match event.name {
            Value::Text(name) => codes::fill(name),
            _ => 0,
        };
        let row = MemsetRow {
            start_ns: times.start_ns,
            duration_ns: times.duration_ns,
            value: 0,
            bytes: args.bytes.unwrap_or(0),
            mem_kind,
            device,
            context,
            stream,
            correlation: args.correlation(),
            graph_id: args.graph_id,
            graph_node_id: args.graph_node_id,
            flags: None,
        };
        self.sink.push(self.process, row);
    }

    fn api(&mut self, event: &Event, tape: Tape, times: Times, domain: u32) {
        let needs_args = self.wanted.full || self.wanted.external;
        let args = if needs_args { Args::all(tape, event.args) } else { Args::default() };
        if self.wanted.api {
            let row = ApiRow {
                start_ns: times.start_ns,
                duration_ns: times.duration_ns,
                domain,
                cbid: args.cbid.unwrap_or(0),
                name_id: self.name(event),
                tid: thread_id(event.tid),
                correlation: args.correlation(),
                result: None,
            };
            self.sink.push(self.process, row);
        }
        // GPU events repeat the id of their call; one row per call is enough to join by.
        if self.wanted.external
            && let Some(external_id) = args.external_id.filter(|&id| id != 0)
        {
            let external_id = external_id as u64;
            let row = ExternalRow { correlation: args.correlation(), external_kind: PYTORCH_OPERATOR, external_id };
            self.sink.push(self.process, row);
        }
    }

    fn sync(&mut self, event: &Event, tape: Tape, times: Times) {
        let args = Args::all(tape, event.args);
        let kind = match event.name {
            Value::Text(name) => codes::sync(name),
            _ => 0,
        };
        let row = SyncRow {
            start_ns: times.start_ns,
            duration_ns: times.duration_ns,
            kind,
            context: args.context.filter(|&c| c != u32::MAX),
            stream: args.stream.filter(|&s| s != u32::MAX),
            event: args.event.filter(|&e| e != u32::MAX),
            correlation: args.correlation(),
            result: None,
        };
        self.sink.push(self.process, row);
    }

    fn overhead(&mut self, event: &Event, times: Times) {
        let kind = match event.name {
            Value::Text(name) => codes::overhead(name),
            _ => 0,
        };
        // Overheads of no thread are written as thread 0 of process -1.
        let has_thread = integer(event.pid).is_some_and(|pid| pid >= 0);
        let row = OverheadRow {
            start_ns: times.start_ns,
            duration_ns: times.duration_ns,
            kind,
            tid: has_thread.then(|| thread_id(event.tid)),
            correlation: None,
        };
        self.sink.push(self.process, row);
    }

    fn range(&mut self, event: &Event, tape: Tape, times: Times, style: u32) {
        // Operators and annotations are numbered in one sequence, and API calls name the number they belong to.
        let numbered = self.wanted.full && style != PYTHON;
        let args = if numbered { Args::all(tape, event.args) } else { Args::default() };
        let row = RangeRow {
            start_ns: times.start_ns,
            end_ns: times.duration_ns.map(|duration| times.start_ns + duration),
            style,
            range_id: args.external_id.unwrap_or(0) as u64,
            domain_id: None,
            name_id: self.name(event),
            category: None,
            color: None,
            payload_i64: None,
            payload_f64: None,
            tid: thread_id(event.tid),
        };
        self.sink.push(self.process, row);
    }

    fn metadata(&mut self, event: &Event, tape: Tape) {
        let Value::Nested(open) = event.args else { return };
        let Some(name) = tape.fields(open).filter(|(key, _)| key == b"name").last() else { return };
        let (_, Value::Text(name)) = name else { return };
        match event.name {
            Value::Text(b"thread_name") => self.threads.name(event, unescape(name).into_owned()),
            // TensorFlow's lanes: `/job:localhost/replica:0/task:0/device:GPU:0 Compute`, `/gpu:0/stream:all Compute`.
            Value::Text(b"process_name") => {
                let is_lane = name.starts_with(b"/") && (name.ends_with(b" Compute") || name.ends_with(b" Tensors"));
                self.tallies.tensorflow += u64::from(is_lane);
            }
            _ => {}
        }
    }
}

/// 2001-09-09 in nanoseconds since 1970: times before it are no Unix times of any trace.
const SINCE_2001_NS: i64 = 1_000_000_000_000_000_000;

/// So many events tell whether times are Unix times, whichever of them are wanted; a few may have broken times.
const EPOCH_SAMPLE: u64 = 1000;

/// `range.style` of operators.
const OPERATOR: u32 = 3;
/// `range.style` of annotations.
const ANNOTATION: u32 = 4;
/// `range.style` of Python functions.
const PYTHON: u32 = 5;

fn triple(values: Option<[i64; 3]>) -> [Option<i64>; 3] {
    values.map_or([None; 3], |v| v.map(Some))
}

/// The stream of a lane called `7` or `stream 7`.
fn lane_stream(tid: Value) -> Option<u32> {
    let number = match tid {
        Value::Text(name) => Value::Text(name.strip_prefix(b"stream ").unwrap_or(name)),
        other => other,
    };
    integer(number)?.try_into().ok()
}

impl Visitor for Converter<'_, '_> {
    fn wants(&mut self, key: &[u8]) -> bool {
        Header::wants(key)
    }

    fn header(&mut self, key: &[u8], value: Value, tape: Tape) {
        for device in self.header.set(key, value, tape) {
            let name_id = self.sink.name(&device.name);
            self.sink.push(self.process, DeviceRow { name_id, ..device.row });
        }
    }

    fn event(&mut self, event: &Event, tape: Tape, offset: u64) {
        self.tallies.events += 1;
        if !event.is(b'X') {
            match event.phase {
                Value::Text(b"M") => self.metadata(event, tape),
                _ => self.tallies.pyspy += u64::from(event.category == Value::Text(b"py-spy")),
            }
            return;
        }
        let category = Category::of(event.category);
        if category == Category::Other {
            return;
        }
        self.tallies.kineto += 1;
        self.pids.count(category, event.pid);
        if self.tallies.kineto <= EPOCH_SAMPLE
            && let Some(start_ns) = nanoseconds(event.ts)
        {
            self.tallies.since_epoch[usize::from(start_ns < SINCE_2001_NS)] += 1;
        }
        if !self.makes(category) {
            return;
        }
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
            Category::Overhead => self.overhead(event, times),
            Category::Other => {}
        }
    }

    fn broken(&mut self, offset: u64) {
        self.tallies.broken.add(offset);
    }

    fn oversized(&mut self, offset: u64) {
        self.tallies.oversized.add(offset);
    }
}
