//! Events of our own Chrome traces to the rows they were made of.

use super::args::Args;
use super::codes;
use super::convert::Converter;
use super::event::{Category, Event};
use super::foreign::RowKey;
use super::gpuprof_fields::{self, Extra};
use super::json_tokens::{Tape, Value};
use super::number::{integer, nanoseconds};
use super::rows::Times;
use super::text::unescape;
use crate::trace::sink::ProcessIx;
use std::borrow::Cow;
use trace_format::schema::TableSpec;
use trace_format::tables::{self, *};
use trace_format::vocabulary::range_style::{ANNOTATION, OPERATOR, PYTHON};

/// What every row has.
struct Base {
    process: ProcessIx,
    start_ns: i64,
    duration_ns: Option<i64>,
    /// What was added to times when they were exported.
    offset_ns: i64,
}

impl Base {
    fn key(&self, table: &'static TableSpec, id: u64) -> RowKey {
        let Base { process, start_ns, duration_ns, .. } = *self;
        RowKey::new(process, table, &Times { start_ns, duration_ns }, id)
    }
}

impl Converter<'_, '_> {
    /// Makes the rows of one event.
    pub fn own_event(&mut self, event: &Event, tape: Tape, offset: u64) {
        self.tallies.kineto += 1;
        if event.is(b'M') {
            if event.name == Value::Text(b"gpuprof_rows") {
                let extra = Extra::of(tape, event.args);
                self.own_list(tape, &extra, event);
            }
            return;
        }
        if !event.is(b'X') && !event.is(b'B') && !event.is(b'i') && !b"stf".iter().any(|&phase| event.is(phase)) {
            return;
        }
        let extra = Extra::of(tape, event.args);
        if extra.has("table") {
            return self.own_list(tape, &extra, event);
        }
        if self.own_foreign(event, tape, &extra) {
            return;
        }
        let category = Category::of(event.category);
        if category == Category::Other || !self.makes(category) {
            return;
        }
        let Some(base) = self.own_base(event, &extra) else {
            self.tallies.no_start.add(offset);
            return;
        };
        match category {
            Category::Kernel => self.own_kernel(base, event, tape, &extra),
            Category::Memcpy => self.own_copy(base, event, tape, &extra),
            Category::Memset => self.own_fill(base, event, tape, &extra),
            Category::Runtime => self.own_call(base, event, tape, &extra, 0),
            Category::Driver => self.own_call(base, event, tape, &extra, 1),
            Category::Operator => self.own_range(base, event, tape, &extra, OPERATOR),
            Category::Annotation => self.own_range(base, event, tape, &extra, ANNOTATION),
            Category::Python => self.own_range(base, event, tape, &extra, PYTHON),
            Category::Sync => self.own_sync(base, event, tape, &extra),
            Category::Overhead => self.own_overhead(base, event, tape, &extra),
            Category::Other => {}
        }
    }

    /// The process an event belongs to, by its ordinal or by the number in the event.
    pub fn own_process(&self, event: &Event, extra: &Extra) -> usize {
        let by_number = || {
            let pid = integer(event.pid);
            self.header.own.as_ref()?.processes.iter().position(|p| p.json_pid.is_some() && p.json_pid == pid)
        };
        let ordinal = extra.number("process").and_then(|n| usize::try_from(n).ok()).or_else(by_number);
        ordinal.filter(|&n| n < self.own_processes.len()).unwrap_or(0)
    }

    /// What was added to the times of a process.
    pub fn own_offset(&self, ordinal: usize) -> i64 {
        let process = self.header.own.as_ref().and_then(|own| own.processes.get(ordinal));
        process.and_then(|process| process.offset_ns).unwrap_or(0)
    }

    /// Process, start and duration of an event.
    pub fn own_times(&self, event: &Event, extra: &Extra) -> Option<(ProcessIx, i64, Option<i64>)> {
        let base = self.own_base(event, extra)?;
        Some((base.process, base.start_ns, base.duration_ns))
    }

    fn own_base(&self, event: &Event, extra: &Extra) -> Option<Base> {
        let ordinal = self.own_process(event, extra);
        let zero_ns = self.header.own.as_ref().map_or(0, |own| own.zero_ns);
        let offset_ns = self.own_offset(ordinal);
        let start = match extra.number("start_ns") {
            Some(start) => start,
            None => nanoseconds(event.ts)?.saturating_add(zero_ns),
        };
        Some(Base {
            process: self.own_processes.get(ordinal).copied().unwrap_or(self.process),
            start_ns: start.saturating_sub(offset_ns),
            duration_ns: extra.or("duration_ns", nanoseconds(event.dur)),
            offset_ns,
        })
    }

    fn own_kernel(&mut self, base: Base, event: &Event, tape: Tape, extra: &Extra) {
        let args = &Args::all(tape, event.args);
        let time = |key| extra.number(key).map(|ns| ns.saturating_sub(base.offset_ns));
        let shape = extra.id("shape_id").and_then(|id| self.own_shapes.get(&id).copied());
        // A shape that was not written before its kernel is none of ours.
        let Some(shape_id) = shape else { return self.tallies.broken.add(0) };
        let row = KernelRow {
            start_ns: base.start_ns,
            duration_ns: base.duration_ns,
            shape_id,
            device: args.device.unwrap_or(0),
            context: args.context.unwrap_or(0),
            stream: args.stream.unwrap_or(0),
            correlation: args.correlation(),
            graph_id: args.graph_id,
            graph_node_id: node(args, extra),
            queued_ns: time("queued_ns"),
            submitted_ns: time("submitted_ns"),
            channel: extra.id("channel"),
            priority: extra.number("priority"),
            flags: extra.id("flags"),
        };
        let key = base.key(&tables::KERNEL, args.correlation());
        self.sink.push(base.process, row);
        self.details(tape, event.args, key);
    }

    fn own_copy(&mut self, base: Base, event: &Event, tape: Tape, extra: &Extra) {
        let args = &Args::all(tape, event.args);
        let (kind, src_kind, dst_kind) = match event.name {
            Value::Text(name) => codes::copy(name),
            _ => (0, 0, 0),
        };
        let row = MemcpyRow {
            start_ns: base.start_ns,
            duration_ns: base.duration_ns,
            kind: extra.id("kind").unwrap_or(kind),
            src_kind: extra.id("src_kind").unwrap_or(src_kind),
            dst_kind: extra.id("dst_kind").unwrap_or(dst_kind),
            bytes: args.bytes.unwrap_or(0),
            device: args.device.unwrap_or(0),
            context: args.context.unwrap_or(0),
            stream: args.stream.unwrap_or(0),
            src_device: extra.id("src_device"),
            dst_device: extra.id("dst_device"),
            src_context: extra.id("src_context"),
            dst_context: extra.id("dst_context"),
            correlation: args.correlation(),
            graph_id: args.graph_id,
            graph_node_id: node(args, extra),
            flags: extra.id("flags"),
            channel: extra.id("channel"),
        };
        let key = base.key(&tables::MEMCPY, args.correlation());
        self.sink.push(base.process, row);
        self.details(tape, event.args, key);
    }

    fn own_fill(&mut self, base: Base, event: &Event, tape: Tape, extra: &Extra) {
        let args = &Args::all(tape, event.args);
        let mem_kind = match event.name {
            Value::Text(name) => codes::fill(name),
            _ => 0,
        };
        let row = MemsetRow {
            start_ns: base.start_ns,
            duration_ns: base.duration_ns,
            value: extra.id("value").unwrap_or(0),
            bytes: args.bytes.unwrap_or(0),
            mem_kind: extra.id("mem_kind").unwrap_or(mem_kind),
            device: args.device.unwrap_or(0),
            context: args.context.unwrap_or(0),
            stream: args.stream.unwrap_or(0),
            correlation: args.correlation(),
            graph_id: args.graph_id,
            graph_node_id: node(args, extra),
            flags: extra.id("flags"),
        };
        let key = base.key(&tables::MEMSET, args.correlation());
        self.sink.push(base.process, row);
        self.details(tape, event.args, key);
    }

    fn own_call(&mut self, base: Base, event: &Event, tape: Tape, extra: &Extra, domain: u32) {
        if !self.wanted.api {
            return;
        }
        let args = Args::all(tape, event.args);
        let row = ApiRow {
            start_ns: base.start_ns,
            duration_ns: base.duration_ns,
            domain: extra.id("domain").unwrap_or(domain),
            cbid: args.cbid.unwrap_or(0),
            name_id: self.own_name(event, tape, extra),
            tid: extra.id("tid").unwrap_or_else(|| self.thread_ids.id(event.tid)),
            correlation: args.correlation(),
            result: extra.id("result"),
        };
        let key = RowKey { tid: Some(row.tid), ..base.key(&tables::API, args.correlation()) };
        self.sink.push(base.process, row);
        self.details(tape, event.args, key);
    }

    /// The exact name, or the printed one and what was cut off its end.
    fn own_name(&mut self, event: &Event, tape: Tape, extra: &Extra) -> u32 {
        if let Some(name) = gpuprof_fields::bytes(tape, extra.get("name_id")) {
            return self.sink.name(&name);
        }
        let text = |value| match value {
            Value::Text(raw) => unescape(raw),
            _ => Cow::Borrowed(&b""[..]),
        };
        let name = text(event.name);
        match text(extra.get("suffix")) {
            suffix if suffix.is_empty() => self.sink.name(&name),
            suffix => self.sink.name(&[&*name, &*suffix].concat()),
        }
    }

    fn own_range(&mut self, base: Base, event: &Event, tape: Tape, extra: &Extra, style: u32) {
        let style = extra.id("style").unwrap_or(style);
        if matches!(style, OPERATOR..=PYTHON) && !self.wanted.operators {
            return;
        }
        let args = Args::all(tape, event.args);
        let range_id = extra.or("range_id", args.external_id);
        let domain = gpuprof_fields::bytes(tape, extra.get("domain_id"));
        let row = RangeRow {
            start_ns: base.start_ns,
            end_ns: base.duration_ns.map(|duration| base.start_ns.saturating_add(duration)),
            style,
            range_id: range_id.unwrap_or(0) as u64,
            domain_id: domain.map(|domain| self.sink.name(&domain)),
            name_id: self.own_name(event, tape, extra),
            category: extra.id("category"),
            color: extra.id("color"),
            payload_i64: extra.number("payload_i64"),
            payload_f64: gpuprof_fields::float(extra.get("payload_f64")),
            tid: extra.id("tid").unwrap_or_else(|| self.thread_ids.id(event.tid)),
        };
        let key =
            RowKey { tid: Some(row.tid), name_id: Some(row.name_id), ..base.key(&tables::RANGE, row.range_id) };
        self.sink.push(base.process, row);
        self.details(tape, event.args, key);
    }

    fn own_sync(&mut self, base: Base, event: &Event, tape: Tape, extra: &Extra) {
        let args = &Args::all(tape, event.args);
        let kind = match event.name {
            Value::Text(name) => codes::sync(name),
            _ => 0,
        };
        let row = SyncRow {
            start_ns: base.start_ns,
            duration_ns: base.duration_ns,
            kind: extra.id("kind").unwrap_or(kind),
            context: extra.or("context", args.context),
            // The original's way to write that there is none may stand in the place of ours.
            stream: extra.or("stream", args.stream.filter(|&stream| stream != u32::MAX)),
            event: extra.or("event", args.event),
            correlation: args.correlation(),
            result: extra.id("result"),
        };
        let key = base.key(&tables::SYNC, args.correlation());
        self.sink.push(base.process, row);
        // The largest number is one that a row had, not an original's way to write that it had none.
        let is_largest = extra.id("stream") == Some(u32::MAX) || extra.id("context") == Some(u32::MAX);
        if !is_largest {
            self.details(tape, event.args, key);
        }
    }

    fn own_overhead(&mut self, base: Base, event: &Event, tape: Tape, extra: &Extra) {
        let kind = match event.name {
            Value::Text(name) => codes::overhead(name),
            _ => 0,
        };
        let row = OverheadRow {
            start_ns: base.start_ns,
            duration_ns: base.duration_ns,
            kind: extra.id("kind").unwrap_or(kind),
            tid: extra.or("tid", Some(self.thread_ids.id(event.tid))),
            correlation: extra.number("correlation").map(|c| c as u64),
        };
        let key = RowKey { tid: row.tid, ..base.key(&tables::OVERHEAD, 0) };
        self.sink.push(base.process, row);
        self.details(tape, event.args, key);
    }
}

/// The graph node; its id may be too large for what Kineto's readers take.
fn node(args: &Args, extra: &Extra) -> Option<u64> {
    gpuprof_fields::unsigned(extra.get("graph_node_id")).or(args.graph_node_id)
}
