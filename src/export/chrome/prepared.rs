//! Parts of events that repeat: what a name or a launch shape becomes is written once and copied millions of times.

use super::gpuprof_argument::GpuprofArgument;
use super::json;
use crate::analysis::labels::Labels;
use crate::trace::slots::Slots;
use hashbrown::HashMap;
use std::io::Write as _;
use trace_format::schema::AnyColumn as _;
use trace_format::tables::ShapeRow;
use trace_format::tables::column::any;
use trace_format::vocabulary::external_kind::CUSTOM_0;

/// Launch shapes up to which prepared text is kept. More of them repeat too seldom to be worth their memory.
const SHAPES: usize = 100_000;

/// External ids that events name, at most: each takes memory until the end. All of them are written as rows.
const EXTERNAL_IDS: u64 = 1_000_000;

type Texts = Slots<Box<[u8]>>;

/// Prepared text, and what events need to know about the rest of the trace.
pub struct Prepared<'a> {
    labels: &'a Labels<'a>,
    shapes: Texts,
    texts: Texts,
    calls: Texts,
    call_names: Texts,
    /// Streaming multiprocessors, if all devices have the same number.
    pub multiprocessors: Option<i64>,
    /// Operators' ids by process and correlation id.
    pub external_ids: HashMap<(u32, u64), u64>,
}

/// Whether a trace has few enough external ids for events to name them.
pub fn keeps_external_ids(rows: u64) -> bool {
    rows <= EXTERNAL_IDS
}

/// Whether an external id is an operator's.
pub fn is_operator(external_kind: u32) -> bool {
    external_kind == CUSTOM_0
}

impl<'a> Prepared<'a> {
    /// Nothing prepared yet.
    pub fn new(labels: &'a Labels<'a>) -> Self {
        let names = labels.frames().names.len();
        let shapes = labels.frames().shape_count();
        Prepared {
            labels,
            shapes: Slots::new(if shapes <= SHAPES { shapes } else { 0 }),
            texts: Slots::new(names),
            calls: Slots::new(names),
            call_names: Slots::new(names),
            multiprocessors: None,
            external_ids: HashMap::new(),
        }
    }

    fn copy(out: &mut Vec<u8>, slots: &Texts, at: u32, make: impl Fn(&mut Vec<u8>)) {
        let prepared = slots.get_or_init(at, || {
            let mut text = Vec::new();
            make(&mut text);
            text.into()
        });
        match prepared {
            Some(text) => out.extend_from_slice(text),
            None => make(out),
        }
    }

    /// Name and launch size of a kernel, and the beginning of its arguments.
    pub fn kernel(&self, out: &mut Vec<u8>, shape: u32) {
        Self::copy(out, &self.shapes, shape, |out| {
            begin(out, self.labels.kernel(shape));
            if let Some(row) = self.labels.shape(shape) {
                self.launch(out, &row);
            }
        });
    }

    fn launch(&self, out: &mut Vec<u8>, row: &ShapeRow) {
        let mut number = |key: &[u8], value: Option<i64>| {
            if let Some(value) = value {
                out.extend_from_slice(key);
                json::signed(out, value);
                out.push(b',');
            }
        };
        number(b"\"registers per thread\":", row.registers);
        let memory = match (row.static_smem_bytes, row.dynamic_smem_bytes) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        number(b"\"shared memory\":", memory);
        let [grid, block] =
            [[row.grid_x, row.grid_y, row.grid_z], [row.block_x, row.block_y, row.block_z]].map(triple);
        for (key, values) in [(&b"\"grid\":["[..], grid), (b"\"block\":[", block)] {
            let Some([x, y, z]) = values else { continue };
            out.extend_from_slice(key);
            json::signed(out, x);
            out.push(b',');
            json::signed(out, y);
            out.push(b',');
            json::signed(out, z);
            out.extend_from_slice(b"],");
        }
        // Behind the columns: whoever reads this back must know what follows from them.
        if let (Some(grid), Some(block), Some(sms @ 1..)) = (grid, block, self.multiprocessors) {
            let product = |v: [i64; 3]| v.iter().map(|&n| n as f64).product::<f64>();
            let blocks = product(grid) / sms as f64;
            let warps = blocks * product(block) / 32.0;
            for (key, value) in [("blocks per SM", blocks), ("warps per SM", warps)] {
                // Six decimals, as Kineto has them, without the zeros at their end. Writing to memory cannot fail.
                let _ = write!(out, "\"{key}\":{},", (value * 1e6).round() / 1e6);
            }
        }
    }

    /// The name of a range, and the beginning of its arguments.
    pub fn text(&self, out: &mut Vec<u8>, name: u32) {
        Self::copy(out, &self.texts, name, |out| begin(out, self.labels.text(name)));
    }

    /// The name of a call without its version, and the beginning of its arguments.
    pub fn call(&self, out: &mut Vec<u8>, name: u32) {
        Self::copy(out, &self.calls, name, |out| begin(out, self.labels.api(name)));
    }

    /// What [`Prepared::call`] leaves out of the name.
    pub fn call_suffix(&self, own: &mut GpuprofArgument, name: u32) {
        let make = || {
            let mut text = Vec::new();
            name_beside(&mut text, self.labels.api(name), self.labels.frames().names.get(name));
            text.into()
        };
        match self.call_names.get_or_init(name, make) {
            Some(text) => own.prepared(text),
            None => own.prepared(&make()),
        }
    }

    /// The exact name of a range, if JSON cannot hold it.
    pub fn exact_name(&self, own: &mut GpuprofArgument, name: u32) {
        let bytes = self.labels.frames().names.get(name);
        if std::str::from_utf8(bytes).is_err() {
            json::exact(own.key(any::NAME_ID.name()), bytes);
        }
    }
}

/// Writes what a reader needs beside the printed name to get the recorded one.
fn name_beside(out: &mut Vec<u8>, printed: &str, recorded: &[u8]) {
    match std::str::from_utf8(recorded).ok().and_then(|text| text.strip_prefix(printed)) {
        Some("") => {}
        Some(suffix) => {
            out.extend_from_slice(b"\"suffix\":");
            json::string(out, suffix.as_bytes());
        }
        None => {
            out.extend_from_slice(b"\"name_id\":");
            json::exact(out, recorded);
        }
    }
}

/// A name, and the beginning of the arguments.
pub fn begin(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"name\":");
    json::string(out, name.as_bytes());
    out.extend_from_slice(b",\"args\":{");
}

fn triple(values: [Option<i64>; 3]) -> Option<[i64; 3]> {
    match values {
        [Some(x), Some(y), Some(z)] => Some([x, y, z]),
        _ => None,
    }
}
