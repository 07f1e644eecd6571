//! Work of GPUs in the traces of tools that are not PyTorch's profiler: which fields say what.

use super::super::kineto::args::Args;
use super::super::kineto::codes;
use super::super::kineto::event::{Category, Event};
use super::super::kineto::json_tokens::{Tape, Value};
use super::super::kineto::number::{id, integer};
use super::lanes::{LaneKind, number};
use crate::trace::sink::{ProcessIx, Sink};
use trace_format::schema::TableSpec;
use trace_format::tables::{self, KernelRow, MemcpyRow, MemsetRow, ShapeRow};

/// What kind of work it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// A kernel, or whatever a device without kernels runs.
    Kernel,
    /// A copy: its kind and the memories, as CUPTI numbers them.
    Copy(u32, u32, u32),
    /// A fill.
    Fill,
}

/// What a GPU did, its times apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// What kind of work.
    pub kind: WorkKind,
    device: u32,
    stream: u32,
    context: u32,
    correlation: u64,
    bytes: i64,
    shape: ShapeRow,
}

/// What the arguments say that only some tools write.
#[derive(Default)]
pub struct Details {
    /// rocprof's exact times in nanoseconds.
    pub exact: Option<(i64, i64)>,
    /// The process itself, where the event's is a lane.
    pub pid: Option<u32>,
    /// What joins call and work.
    pub correlation: Option<i64>,
    device: Option<u32>,
    stream: Option<u32>,
    bytes: Option<i64>,
    memories: Option<(u32, u32)>,
    grid: Option<[i64; 3]>,
    block: Option<[i64; 3]>,
    registers: Option<i64>,
}

impl Details {
    /// Reads the arguments of an event.
    pub fn of(event: &Event, tape: Tape) -> Details {
        let mut details = Details::default();
        let Value::Nested(open) = event.args else { return details };
        let (mut begin, mut end) = (None, None);
        for (key, value) in tape.fields(open) {
            match key {
                b"BeginNs" => begin = integer(value),
                b"EndNs" => end = integer(value),
                b"pid" => details.pid = id(value),
                b"dev-id" => details.device = id(value),
                b"stream-id" => details.stream = id(value),
                b"correlation_id" | b"correlationId" => details.correlation = integer(value),
                b"memcpy_details" | b"memset_details" => details.words(value),
                b"kernel_details" => details.words(value),
                _ => {}
            }
        }
        details.exact = begin.zip(end);
        details
    }

    /// XLA's words: `kind_src:pageable kind_dst:device size:4096` and `regs:16 grid:64,1,1 block:128,1,1`.
    fn words(&mut self, value: Value) {
        let Value::Text(text) = value else { return };
        let (mut src, mut dst) = (0, 0);
        for word in text.split(u8::is_ascii_whitespace) {
            let Some(colon) = word.iter().position(|&byte| byte == b':') else { continue };
            let (key, value) = (&word[..colon], &word[colon + 1..]);
            match key {
                b"kind_src" => src = codes::memory_word(value),
                b"kind_dst" => dst = codes::memory_word(value),
                b"size" => self.bytes = integer(Value::Bare(value)),
                b"regs" => self.registers = integer(Value::Bare(value)),
                b"grid" => self.grid = super::super::kineto::number::integers(value),
                b"block" => self.block = super::super::kineto::number::integers(value),
                _ => {}
            }
        }
        self.memories = Some((src, dst));
    }
}

impl Work {
    /// The work that an event on a lane of this kind is; `None` if it is none.
    pub fn of(event: &Event, tape: Tape, place: LaneKind, details: &Details) -> Option<Work> {
        let category = Category::of(event.category);
        let by_category = matches!(category, Category::Kernel | Category::Memcpy | Category::Memset);
        let (device, stream) = match place {
            LaneKind::Stream(device, stream) => (Some(device), Some(stream)),
            LaneKind::Copies => (None, None),
            _ if by_category => (lane_number(event.pid), lane_number(event.tid)),
            _ => return None,
        };
        let args = Args::all(tape, event.args);
        let name = match event.name {
            Value::Text(name) => name,
            _ => b"",
        };
        let copy = codes::any_copy(name);
        let kind = match (category, copy) {
            (Category::Memset, _) => WorkKind::Fill,
            (Category::Memcpy, _) | (_, Some(_)) => {
                let (kind, src, dst) = copy.unwrap_or_default();
                let (src, dst) = details.memories.filter(|&memories| memories != (0, 0)).unwrap_or((src, dst));
                WorkKind::Copy(kind, src, dst)
            }
            _ if codes::is_fill(name) => WorkKind::Fill,
            _ if place == LaneKind::Copies => WorkKind::Copy(0, 0, 0),
            _ => WorkKind::Kernel,
        };
        let [grid_x, grid_y, grid_z] = triple(args.grid.or(details.grid));
        let [block_x, block_y, block_z] = triple(args.block.or(details.block));
        Some(Work {
            kind,
            device: details.device.or(args.device).or(device).unwrap_or(0),
            stream: details.stream.or(args.stream).or(stream).unwrap_or(0),
            context: args.context.unwrap_or(0),
            correlation: details.correlation.or(args.correlation).map_or(0, |id| id as u64),
            bytes: args.bytes.or(details.bytes).unwrap_or(0),
            shape: ShapeRow {
                grid_x,
                grid_y,
                grid_z,
                block_x,
                block_y,
                block_z,
                registers: args.registers.or(details.registers),
                ..ShapeRow::default()
            },
        })
    }

    /// The table of its row.
    pub fn table(&self) -> &'static TableSpec {
        match self.kind {
            WorkKind::Kernel => &tables::KERNEL,
            WorkKind::Copy(..) => &tables::MEMCPY,
            WorkKind::Fill => &tables::MEMSET,
        }
    }

    /// Pushes its row.
    pub fn push(self, sink: &mut Sink, process: ProcessIx, name_id: u32, start_ns: i64, duration_ns: Option<i64>) {
        let Work { kind, device, stream, context, correlation, bytes, shape } = self;
        // What the rows of all three tables have, and what is their own.
        macro_rules! row {
            ($row:ident { $($own:ident),* }) => {
                $row { start_ns, duration_ns, device, context, stream, correlation, $($own,)* ..$row::default() }
            };
        }
        match kind {
            WorkKind::Kernel => {
                let shape_id = sink.shape(ShapeRow { name_id, ..shape });
                sink.push(process, row!(KernelRow { shape_id }));
            }
            WorkKind::Copy(kind, src_kind, dst_kind) => {
                sink.push(process, row!(MemcpyRow { kind, src_kind, dst_kind, bytes }));
            }
            WorkKind::Fill => sink.push(process, row!(MemsetRow { bytes })),
        }
    }
}

/// The number of a lane that is one or is called by one: 7, `Stream 7`.
fn lane_number(lane: Value) -> Option<u32> {
    match lane {
        Value::Text(text) | Value::Bare(text) => number(text),
        Value::Missing | Value::Nested(_) => None,
    }
}

fn triple(values: Option<[i64; 3]>) -> [Option<i64>; 3] {
    values.map_or([None; 3], |v| v.map(Some))
}
