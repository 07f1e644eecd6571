//! The arguments of an event, as far as rows have columns for them.

use super::json_tokens::{Tape, Value};
use super::number::{id, integer, integers};

/// What the arguments of a GPU event, an API call or a synchronisation say.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct Args {
    /// CUDA or HIP device index.
    pub device: Option<u32>,
    /// Context; ROCm has none.
    pub context: Option<u32>,
    /// Stream.
    pub stream: Option<u32>,
    /// Bytes copied or filled; ROCm may not say.
    pub bytes: Option<i64>,
    /// Joins GPU work and call.
    pub correlation: Option<i64>,
    /// The operator's id.
    pub external_id: Option<i64>,
    /// CUPTI's callback id. ROCm's `cid` counts other functions.
    pub cbid: Option<u32>,
    /// Grid size.
    pub grid: Option<[i64; 3]>,
    /// Block size.
    pub block: Option<[i64; 3]>,
    /// Registers per thread.
    pub registers: Option<i64>,
    /// Static and dynamic shared memory together; Kineto adds them up.
    pub shared_memory: Option<i64>,
    /// CUDA graph.
    pub graph_id: Option<u32>,
    /// Node of it.
    pub graph_node_id: Option<u64>,
    /// Event that was waited for.
    pub event: Option<u32>,
}

impl Args {
    /// Where work ran and how many bytes it moved: all that totals need.
    pub fn place(tape: Tape, args: Value) -> Args {
        let mut found = Args::default();
        if let Value::Nested(open) = args {
            for (key, value) in tape.fields(open) {
                found.set_place(key, value);
            }
        }
        found
    }

    /// All of them.
    pub fn all(tape: Tape, args: Value) -> Args {
        let mut found = Args::default();
        if let Value::Nested(open) = args {
            for (key, value) in tape.fields(open) {
                if !found.set_place(key, value) {
                    found.set_other(tape, key, value);
                }
            }
        }
        found
    }

    #[inline]
    fn set_place(&mut self, key: &[u8], value: Value) -> bool {
        match key {
            b"device" => self.device = id(value),
            // Intel's queues and Ascend's streams are what streams are to CUDA.
            b"stream" | b"sycl queue" | b"Stream Id" | b"Physic Stream Id" => self.stream = id(value),
            b"context" => self.context = id(value),
            b"bytes" => self.bytes = integer(value),
            _ => return false,
        }
        true
    }

    fn set_other(&mut self, tape: Tape, key: &[u8], value: Value) {
        let triple = || match value {
            Value::Nested(open) => integers(tape.inner(open)),
            _ => None,
        };
        match key {
            b"correlation" => self.correlation = integer(value),
            b"External id" | b"external id" => self.external_id = integer(value),
            b"cbid" => self.cbid = id(value),
            b"grid" => self.grid = triple(),
            b"block" => self.block = triple(),
            b"registers per thread" => self.registers = integer(value),
            b"shared memory" => self.shared_memory = integer(value),
            b"graph id" => self.graph_id = id(value),
            b"graph node id" => self.graph_node_id = id(value),
            b"wait_on_cuda_event_id" => self.event = id(value),
            _ => self.set_size(key, value),
        }
    }

    /// ONNX Runtime writes each number of a launch apart: `grid_x` to `block_z`.
    fn set_size(&mut self, key: &[u8], value: Value) {
        let (size, axis) = match key {
            [b'g', b'r', b'i', b'd', b'_', axis] => (&mut self.grid, axis),
            [b'b', b'l', b'o', b'c', b'k', b'_', axis] => (&mut self.block, axis),
            _ => return,
        };
        if let (Some(number), Some(axis)) = (integer(value), b"xyz".iter().position(|name| name == axis)) {
            size.get_or_insert([1; 3])[axis] = number;
        }
    }

    /// The correlation id; 0 where there is none.
    pub fn correlation(&self) -> u64 {
        self.correlation.map_or(0, |c| c as u64)
    }
}
