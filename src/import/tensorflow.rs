//! TensorFlow 1.x timelines (`tf.python.client.timeline`).
//!
//! Every lane is a process of its own. `stream:all` repeats what the lanes of single streams have, and `memcpy` what
//! the copying ones have, so only single streams are GPU work; what `/job:…/device:GPU:0` shows is the CPU scheduling
//! work for it.

use super::kineto::document::{Document, End, Visitor};
use super::kineto::event::Event;
use super::kineto::json_tokens::{Tape, Value};
use super::kineto::number::{integer, nanoseconds};
use super::kineto::stray::phase_name;
use super::kineto::tally::Tallies;
use super::kineto::text::unescape;
use super::kineto::{codes, notes, sniff, unpack};
use super::{Head, Importer};
use crate::error::Result;
use crate::numbers::items;
use crate::trace::sink::{Need, ProcessInfo, ProcessIx, Sink, valid_duration};
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::path::Path;
use trace_format::tables::{self, KernelRow, MemcpyRow, RangeRow, ShapeRow, ThreadRow};
use trace_format::vocabulary::range_style::OPERATOR;

/// Reads TensorFlow 1.x timelines.
pub struct TensorFlow;

impl Importer for TensorFlow {
    fn name(&self) -> &'static str {
        "tensorflow"
    }

    fn describes(&self) -> &'static str {
        "TensorFlow 1.x timeline, JSON, plain or gzip"
    }

    fn sniff(&self, head: &Head) -> bool {
        let text = &head.text;
        let has = |sign: &[u8]| text.windows(sign.len()).any(|window| window == sign);
        sniff::is_trace(text, false) && has(b"\"process_name\"") && has(b"/stream:all Compute\"")
    }

    fn read(&self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()> {
        // Which lane a process is has to be known before its first event, wherever the file says so.
        let mut lanes = Lanes::default();
        let (_, _) = unpack::with_text(path, |source| Document::new(source).walk(&mut lanes))?;
        let (walked, failure) = unpack::with_text(path, |source| {
            let mut reader = Reader::new(lanes, need, sink);
            let mut document = Document::new(source);
            let end = document.walk(&mut reader);
            let rest = if let End::Closed(_) = end { document.rest() } else { 0 };
            let has_events = document.has_events;
            reader.finish();
            (reader.found, end, has_events, rest)
        })?;
        let (mut found, end, has_events, rest) = walked;
        if end == End::NotJson || !has_events {
            return Err(notes::no_events(path, end, failure));
        }
        sink.origin = "TensorFlow 1.x timeline".to_owned();
        notes::end(path, sink, &found.tallies, end, failure, rest);
        notes::events(path, sink, &found.tallies, 0);
        found.note(path, sink);
        std::mem::take(&mut found.tallies.unread).note(path, sink, "events", "");
        Ok(())
    }
}

/// 2001-09-09 in nanoseconds since 1970: times before it are no Unix times of any trace.
const SINCE_2001_NS: i64 = 1_000_000_000_000_000_000;

/// Lanes told apart at most.
const LANES: usize = 100_000;

/// What a process of the timeline stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Lane {
    /// One stream of a GPU.
    Stream(u32, u32),
    /// All streams of a GPU together.
    AllStreams(u32),
    /// Copies of a GPU, which are on streams too.
    Copies,
    /// Operators, as the CPU ran or scheduled them.
    Host(Vec<u8>),
    /// Memory of tensors.
    Tensors,
}

impl Lane {
    /// The lane called so.
    fn of(name: &[u8]) -> Option<Lane> {
        if name.ends_with(b" Tensors") || name == b"Allocators" {
            return Some(Lane::Tensors);
        }
        let place = name.strip_suffix(b" Compute")?;
        let (device, last) = match place.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => (&place[..slash], &place[slash + 1..]),
            None => return None,
        };
        // `/device:GPU:0/stream:20`, in older versions `/gpu:0/stream:12`.
        let digits = device.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let gpu = std::str::from_utf8(&device[device.len() - digits..]).ok()?.parse().unwrap_or(0);
        match last.strip_prefix(b"stream:") {
            Some(b"all") => Some(Lane::AllStreams(gpu)),
            Some(stream) => Some(Lane::Stream(gpu, std::str::from_utf8(stream).ok()?.parse().ok()?)),
            None if last == b"memcpy" => Some(Lane::Copies),
            None => Some(Lane::Host(place.to_vec())),
        }
    }
}

/// The lanes by the process that each is.
#[derive(Default)]
struct Lanes(HashMap<Box<[u8]>, Lane>);

fn text_of(value: Value<'_>) -> &[u8] {
    match value {
        Value::Bare(text) | Value::Text(text) => text,
        Value::Missing | Value::Nested(_) => b"",
    }
}

/// The text of one argument of an event.
fn argument<'t>(event: &Event<'t>, tape: Tape<'t>, wanted: &[u8]) -> Option<&'t [u8]> {
    let Value::Nested(arguments) = event.args else { return None };
    match tape.fields(arguments).filter(|(key, _)| *key == wanted).last() {
        Some((_, Value::Text(text))) => Some(text),
        _ => None,
    }
}

impl Visitor for Lanes {
    fn wants(&mut self, _: &[u8]) -> bool {
        false
    }

    fn header(&mut self, _: &[u8], _: Value, _: Tape) {}

    fn event(&mut self, event: &Event, tape: Tape, _: u64) {
        if event.is(b'M')
            && event.name == Value::Text(b"process_name")
            && self.0.len() < LANES
            && let Some(lane) = argument(event, tape, b"name").and_then(|name| Lane::of(&unescape(name)))
        {
            self.0.insert(text_of(event.pid).into(), lane);
        }
    }

    fn broken(&mut self, _: u64) {}

    fn oversized(&mut self, _: u64) {}
    fn stray_comma(&mut self, _: u64) {}
}

/// What was found, apart from rows.
#[derive(Default)]
struct TensorFlowFacts {
    tallies: Tallies,
    gpu: u64,
    host: u64,
    copies: u64,
    unknown: u64,
}

struct Reader<'r, 's, 'n> {
    sink: &'r mut Sink<'s>,
    need: &'n Need,
    lanes: Lanes,
    /// GPUs of which single streams are known.
    streams: BTreeSet<u32>,
    process: ProcessIx,
    threads: HashMap<(Box<[u8]>, i64), u32>,
    found: TensorFlowFacts,
}

impl<'r, 's, 'n> Reader<'r, 's, 'n> {
    fn new(lanes: Lanes, need: &'n Need, sink: &'r mut Sink<'s>) -> Self {
        let process = sink.process(ProcessInfo::default());
        let streams = lanes.0.values().filter_map(|lane| match lane {
            Lane::Stream(gpu, _) => Some(*gpu),
            _ => None,
        });
        let streams = streams.collect();
        Reader { sink, need, lanes, streams, process, threads: HashMap::new(), found: TensorFlowFacts::default() }
    }

    fn gpu(&mut self, name: &[u8], device: u32, stream: u32, start_ns: i64, duration_ns: Option<i64>) {
        self.found.gpu += 1;
        if let Some(kind) = name.strip_prefix(b"MEMCPY") {
            self.found.copies += 1;
            if self.need.wants(&tables::MEMCPY) {
                let (kind, ..) = codes::copy(&[b"Memcpy ", kind].concat());
                let row = MemcpyRow { start_ns, duration_ns, kind, device, stream, ..MemcpyRow::default() };
                self.sink.push(self.process, row);
            }
        } else if self.need.wants(&tables::KERNEL) {
            let name_id = self.sink.name(name);
            let shape_id =
                self.sink.shape(ShapeRow { name_id, demangled_id: Some(name_id), ..ShapeRow::default() });
            let row = KernelRow { start_ns, duration_ns, shape_id, device, stream, ..KernelRow::default() };
            self.sink.push(self.process, row);
        }
    }

    fn host(&mut self, lane: &[u8], event: &Event, name: &[u8], start_ns: i64, duration_ns: Option<i64>) {
        self.found.host += 1;
        if !(self.need.wants(&tables::RANGE) && self.need.operators) {
            return;
        }
        // Operators that overlap stand on rows of one lane, numbered from 0 in each: a thread is a lane and a row.
        let row = integer(event.tid).unwrap_or(0);
        let next = self.threads.len() as u32;
        let tid = match self.threads.get(&(lane.into(), row)) {
            Some(&tid) => tid,
            None if self.threads.len() >= LANES => next,
            None => {
                self.threads.insert((lane.into(), row), next);
                let name_id = self.sink.name(lane);
                self.sink.push(self.process, ThreadRow { tid: next, name_id });
                next
            }
        };
        let name_id = self.sink.name(name);
        let end_ns = duration_ns.map(|duration| start_ns.saturating_add(duration));
        self.sink.push(
            self.process,
            RangeRow { start_ns, end_ns, style: OPERATOR, name_id, tid, ..RangeRow::default() },
        );
    }

    fn finish(&mut self) {
        let [absolute, relative] = self.found.tallies.since_epoch;
        self.sink.processes[self.process.0].info.unix_offset_ns = (absolute > relative).then_some(0);
    }
}

impl Visitor for Reader<'_, '_, '_> {
    fn wants(&mut self, _: &[u8]) -> bool {
        false
    }

    fn header(&mut self, _: &[u8], _: Value, _: Tape) {}

    fn event(&mut self, event: &Event, tape: Tape, offset: u64) {
        self.found.tallies.events += 1;
        if !event.is(b'X') {
            // Names of lanes were read before.
            if !event.is(b'M') {
                self.found.tallies.unread.add(phase_name(text_of(event.phase)), 1);
            }
            return;
        }
        let Some(lane) = self.lanes.0.get(text_of(event.pid)).cloned() else {
            self.found.unknown += 1;
            return;
        };
        let place = match lane {
            Lane::Stream(gpu, stream) => Some((gpu, stream)),
            Lane::AllStreams(gpu) if !self.streams.contains(&gpu) => Some((gpu, 0)),
            // They repeat what single streams have.
            Lane::AllStreams(_) | Lane::Copies => return,
            Lane::Tensors => return self.found.tallies.unread.add(b"lanes of tensors", 1),
            Lane::Host(_) => None,
        };
        let Some(start_ns) = nanoseconds(event.ts) else {
            self.found.tallies.no_start.add(offset);
            return;
        };
        self.found.tallies.since_epoch[usize::from(start_ns < SINCE_2001_NS)] += 1;
        let end_ns = nanoseconds(event.dur).and_then(|duration| start_ns.checked_add(duration));
        let duration_ns = end_ns.and_then(|end_ns| valid_duration(start_ns, end_ns));
        if duration_ns.is_none() {
            self.found.tallies.no_duration.add(offset);
        }
        let name = argument(event, tape, b"op").unwrap_or(match event.name {
            Value::Text(name) => name,
            _ => b"",
        });
        let name = unescape(name);
        match (place, lane) {
            (Some((gpu, stream)), _) => self.gpu(&name, gpu, stream, start_ns, duration_ns),
            (None, Lane::Host(lane)) => self.host(&lane, event, &name, start_ns, duration_ns),
            (None, _) => {}
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

impl TensorFlowFacts {
    fn note(&self, path: &Path, sink: &mut Sink) {
        let path = path.display();
        let TensorFlowFacts { gpu, host, copies, unknown, .. } = *self;
        let sizes = if copies > 0 { ", sizes of copies" } else { "" };
        sink.note(
            "operators-for-kernels",
            format!(
                "{path}: a TensorFlow timeline has no names of kernels{sizes}, devices or API calls: {}, {}",
                items(
                    gpu,
                    "record of a GPU stream has the name of its operator",
                    "records of GPU streams have the names of their operators"
                ),
                items(
                    host,
                    "record of an operator on the CPU is a range",
                    "records of operators on the CPU are ranges"
                ),
            ),
        );
        if unknown > 0 {
            sink.note(
                "left-out",
                format!(
                    "{path}: {} left out",
                    items(unknown, "event of a lane without a name is", "events of lanes without a name are")
                ),
            );
        }
    }
}
