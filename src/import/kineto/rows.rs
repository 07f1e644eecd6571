//! One event to one row, for each kind of row.

use super::args::Args;
use super::codes;
use super::convert::Converter;
use super::event::Event;
use super::foreign::RowKey;
use super::json_tokens::{Tape, Value};
use super::number::integer;
use super::text::unescape;
use trace_format::schema::TableSpec;
use trace_format::tables::{self, *};
use trace_format::vocabulary::external_kind::CUSTOM_0;
use trace_format::vocabulary::range_style::PYTHON;

/// When a record began and how long it took.
pub struct Times {
    /// The start as it was recorded.
    pub start_ns: i64,
    /// `None` if the two times cannot both be right.
    pub duration_ns: Option<i64>,
}

impl Converter<'_, '_> {
    fn args(&self, event: &Event, tape: Tape) -> Args {
        if self.wanted.full { Args::all(tape, event.args) } else { Args::place(tape, event.args) }
    }

    /// The id of what an event is called.
    pub fn event_name(&mut self, event: &Event) -> u32 {
        match event.name {
            Value::Text(raw) => self.sink.name(&unescape(raw)),
            _ => 0,
        }
    }

    /// Device, context and stream of GPU work. Traces without arguments have device and stream as lanes.
    fn place(&mut self, event: &Event, args: &Args) -> (u32, u32, u32) {
        // Where an argument says the stream and none the device, `pid` is the process: ONNX Runtime has no devices.
        let lane = || integer(event.pid)?.try_into().ok();
        let device = args.device.or_else(|| if args.stream.is_none() { lane() } else { None }).unwrap_or(0);
        let stream = args.stream.or_else(|| lane_stream(event.tid)).unwrap_or(0);
        if let Some(context) = args.context
            && self.last_context != Some((context, device))
            && self.contexts.insert((context, device))
        {
            let row = ContextRow { context, device, api_kind: None, null_stream: None, parent_context: None };
            self.sink.push(self.process, row);
        }
        self.last_context = args.context.map(|context| (context, device)).or(self.last_context);
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

    /// A kernel.
    pub fn kernel(&mut self, event: &Event, tape: Tape, times: Times) {
        let args = self.args(event, tape);
        let (device, context, stream) = self.place(event, &args);
        let name_id = self.event_name(event);
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
        self.work_details(event, tape, &tables::KERNEL, &times, args.correlation());
    }

    /// A copy.
    pub fn memcpy(&mut self, event: &Event, tape: Tape, times: Times) {
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
        self.work_details(event, tape, &tables::MEMCPY, &times, args.correlation());
    }

    /// A fill.
    pub fn memset(&mut self, event: &Event, tape: Tape, times: Times) {
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
        self.work_details(event, tape, &tables::MEMSET, &times, args.correlation());
    }

    fn work_details(&mut self, event: &Event, tape: Tape, table: &'static TableSpec, times: &Times, id: u64) {
        self.details(tape, event.args, RowKey::new(self.process, table, times, id));
    }

    /// A call of the runtime (domain 0) or the driver (1), and whose operator it is.
    pub fn api(&mut self, event: &Event, tape: Tape, times: Times, domain: u32) {
        let needs_args = self.wanted.full || self.wanted.external;
        let args = if needs_args { Args::all(tape, event.args) } else { Args::default() };
        if self.wanted.api {
            let tid = self.thread_ids.id(event.tid);
            let row = ApiRow {
                start_ns: times.start_ns,
                duration_ns: times.duration_ns,
                domain,
                cbid: args.cbid.unwrap_or(0),
                name_id: self.event_name(event),
                tid,
                correlation: args.correlation(),
                result: None,
            };
            self.sink.push(self.process, row);
            let key = RowKey::new(self.process, &tables::API, &times, args.correlation());
            self.details(tape, event.args, RowKey { tid: Some(tid), ..key });
        }
        // GPU events repeat the id of their call; one row per call is enough to join by.
        if self.wanted.external
            && let Some(external_id) = args.external_id.filter(|&id| id != 0)
        {
            let external_id = external_id as u64;
            let row = ExternalRow { correlation: args.correlation(), external_kind: CUSTOM_0, external_id };
            self.sink.push(self.process, row);
        }
    }

    /// A synchronisation.
    pub fn sync(&mut self, event: &Event, tape: Tape, times: Times) {
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
        self.work_details(event, tape, &tables::SYNC, &times, args.correlation());
    }

    /// An overhead of CUPTI.
    pub fn overhead(&mut self, event: &Event, tape: Tape, times: Times) {
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
            tid: has_thread.then(|| self.thread_ids.id(event.tid)),
            correlation: None,
        };
        let key = RowKey::new(self.process, &tables::OVERHEAD, &times, 0);
        let key = RowKey { tid: row.tid, ..key };
        self.sink.push(self.process, row);
        self.details(tape, event.args, key);
    }

    /// An operator, an annotation or a Python function.
    pub fn range(&mut self, event: &Event, tape: Tape, times: Times, style: u32) {
        // Operators and annotations are numbered in one sequence, and API calls name the number they belong to.
        let numbered = self.wanted.full && style != PYTHON;
        let args = if numbered { Args::all(tape, event.args) } else { Args::default() };
        let (name_id, range_id) = (self.event_name(event), args.external_id.unwrap_or(0) as u64);
        let tid = self.thread_ids.id(event.tid);
        let key = RowKey::new(self.process, &tables::RANGE, &times, range_id);
        self.push_range(name_id, tid, times, style, range_id);
        self.details(tape, event.args, RowKey { tid: Some(tid), name_id: Some(name_id), ..key });
    }

    /// A range of any kind.
    pub fn push_range(&mut self, name_id: u32, tid: u32, times: Times, style: u32, range_id: u64) {
        let row = RangeRow {
            start_ns: times.start_ns,
            end_ns: times.duration_ns.map(|duration| times.start_ns + duration),
            style,
            range_id,
            domain_id: None,
            name_id,
            category: None,
            color: None,
            payload_i64: None,
            payload_f64: None,
            tid,
        };
        self.sink.push(self.process, row);
    }
}

fn triple(values: Option<[i64; 3]>) -> [Option<i64>; 3] {
    values.map_or([None; 3], |v| v.map(Some))
}

/// The stream of a lane called `7` or `stream 7`.
pub fn lane_stream(tid: Value) -> Option<u32> {
    let number = match tid {
        Value::Text(name) => Value::Text(name.strip_prefix(b"stream ").unwrap_or(name)),
        other => other,
    };
    integer(number)?.try_into().ok()
}
