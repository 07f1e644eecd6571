//! Names are written once and referred to by number from then on.

use super::schema::interned;
use super::stage::Stages;
use super::wire;
use crate::analysis::cpu_stacks::{HostFrame, function_name};
use crate::analysis::labels::Labels;
use crate::lines::kind_names::described;
use crate::lines::view::view;
use hashbrown::HashMap;
use trace_format::columns::Batch;
use trace_format::tables;
use trace_format::tables::column::{any, kernel, memcpy, range, sample};

view! {
    /// The columns that names and arguments are made of, of whatever table.
    Columns {
        duration_ns: i64 = any::DURATION_NS,
        shape_id: u32 = kernel::SHAPE_ID,
        name_id: u32 = any::NAME_ID,
        device: u32 = any::DEVICE,
        kind: u32 = any::KIND,
        src_kind: u32 = memcpy::SRC_KIND,
        dst_kind: u32 = memcpy::DST_KIND,
        mem_kind: u32 = any::MEM_KIND,
        operation: u32 = any::OPERATION,
        graph_id: u32 = any::GRAPH_ID,
        graph_node_id: u64 = any::GRAPH_NODE_ID,
        event: u32 = any::EVENT,
        correlation: u64 = any::CORRELATION,
        bytes: i64 = any::BYTES,
        address: u64 = any::ADDRESS,
        result: u32 = any::RESULT,
        style: u32 = range::STYLE,
        domain_id: u32 = range::DOMAIN_ID,
        category: u32 = range::CATEGORY,
        payload_i64: i64 = range::PAYLOAD_I64,
        payload_f64: f64 = range::PAYLOAD_F64,
        metric_id: u32 = sample::METRIC_ID,
        of_pid: u32 = any::OF_PID,
        value: f64 = sample::VALUE,
    }
}

/// The categories; the number of each is its position, counted from 1.
pub static CATEGORIES: &[&str] = &[
    "kernel",
    "gpu_memcpy",
    "gpu_memset",
    "cuda_runtime",
    "cuda_driver",
    "cuda_sync",
    "overhead",
    "cpu_op",
    "user_annotation",
    "python_function",
    "cuda_graph",
    "unified_memory",
    "memory",
    "cuda_event",
    "jit",
    "openacc",
    "openmp",
    "os_runtime",
    "mpi",
    "cpu_stack",
    "other",
];

/// The number of a category; that of the last one, `other`, for one that is not listed.
pub fn category_iid(category: &str) -> u64 {
    CATEGORIES.iter().position(|c| *c == category).unwrap_or(CATEGORIES.len() - 1) as u64 + 1
}

/// Kinds of names that come from the table of names, each with numbers of its own.
#[derive(Clone, Copy)]
enum Source {
    Kernel,
    Call,
    Text,
}

/// Numbers below this stand for nothing; 0 is invalid in Perfetto.
const FIRST: u64 = 4;

/// Gives names numbers.
pub struct Names<'a> {
    labels: &'a Labels<'a>,
    /// Which names have been written, by source and name id.
    written: [Vec<bool>; 3],
    /// Names made of codes, by table and codes.
    coded: HashMap<(u16, u32, u32), u64>,
    /// Entries not yet written.
    new: Vec<u8>,
    /// Names that are stages of GPUs and shapes that are kernels, if stages are written.
    stages: Option<Stages>,
}

impl<'a> Names<'a> {
    /// No names yet.
    pub fn new(labels: &'a Labels<'a>, with_stages: bool) -> Self {
        let written = [0; 3].map(|_| vec![false; labels.frames().names.len()]);
        let stages = with_stages.then(Stages::default);
        Names { labels, written, coded: HashMap::new(), new: Vec::new(), stages }
    }

    /// The number of the name of row `i`.
    pub fn of(&mut self, rows: &Batch, columns: &Columns, i: usize) -> u64 {
        let number = self.number_of(rows, columns, i);
        if let Some(stages) = &mut self.stages {
            stages.describe(&mut self.new, self.labels, (rows, i), columns, number);
        }
        number
    }

    fn number_of(&mut self, rows: &Batch, columns: &Columns, i: usize) -> u64 {
        let labels = self.labels;
        match rows.table {
            table if table == &tables::KERNEL => {
                let shape = columns.shape_id.get(i).unwrap_or(0);
                match labels.frames().kernel(shape) {
                    Some(row) if row.name_id != 0 => {
                        self.number(Source::Kernel, row.name_id, || labels.kernel(shape))
                    }
                    Some(row) => {
                        let id = row.demangled_id.unwrap_or(0);
                        self.number(Source::Text, id, || labels.text(id))
                    }
                    None => self.number(Source::Text, 0, || ""),
                }
            }
            table if table == &tables::API => {
                let id = columns.name_id.get(i).unwrap_or(0);
                self.number(Source::Call, id, || labels.api(id))
            }
            table if table == &tables::RANGE || table == &tables::HOST_CALL => {
                let id = columns.name_id.get(i).unwrap_or(0);
                self.number(Source::Text, id, || labels.text(id))
            }
            _ => self.coded(rows, columns, i),
        }
    }

    fn number(&mut self, source: Source, id: u32, text: impl FnOnce() -> &'a str) -> u64 {
        let number = u64::from(id) * 4 + source as u64 + FIRST;
        if let Some(written) = self.written[source as usize].get_mut(id as usize)
            && !std::mem::replace(written, true)
        {
            entry(&mut self.new, interned::NAME, number, text());
        }
        number
    }

    fn coded(&mut self, rows: &Batch, columns: &Columns, i: usize) -> u64 {
        let code = |column: crate::lines::view::Col<u32>| column.get(i).unwrap_or(0);
        let codes = match rows.table {
            table if table == &tables::MEMCPY => {
                (code(columns.kind), code(columns.src_kind) << 16 | code(columns.dst_kind) & 0xffff)
            }
            table if table == &tables::MEMSET => (code(columns.mem_kind), 0),
            table if table == &tables::GRAPH => (code(columns.graph_id), 0),
            table if table == &tables::MEMORY => (code(columns.operation), 0),
            table if table == &tables::EVENT => (code(columns.event), 0),
            _ => (code(columns.kind), 0),
        };
        let next = self.coded.len() as u64 * 4 + 3 + FIRST;
        let new = &mut self.new;
        *self.coded.entry((rows.table.id, codes.0, codes.1)).or_insert_with(|| {
            entry(new, interned::NAME, next, &described(rows, i).1);
            next
        })
    }

    /// The number of a function's name.
    pub fn function(&mut self, frame: HostFrame) -> u64 {
        let next = self.coded.len() as u64 * 4 + 3 + FIRST;
        let (labels, new) = (self.labels, &mut self.new);
        *self.coded.entry((tables::CPU_SAMPLE.id, frame.kind, frame.name)).or_insert_with(|| {
            entry(new, interned::NAME, next, function_name(labels, frame));
            next
        })
    }

    /// What has to be written before the numbers given out since are used.
    pub fn take_new(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.new)
    }
}

/// An entry of interned data.
pub fn entry(out: &mut Vec<u8>, field: u32, iid: u64, name: &str) {
    wire::message(out, field, |out| {
        wire::unsigned(out, 1, iid);
        wire::string(out, 2, name);
    });
}
