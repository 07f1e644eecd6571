//! Perfetto's own format: packets of protocol buffers, as `TrackEvent`s on tracks with names and places of their own.
//! It holds exact nanoseconds, arrows and counters, and is the smallest thing that Perfetto reads.
//!
//! The encoder is written by hand (`wire`, `schema`): it needs three kinds of fields. The tests decode it with the
//! descriptors that Perfetto publishes.

mod event;
mod items;
mod names;
mod schema;
mod stage;
mod tracks;
mod wire;
mod writer;

use self::writer::{Extras, Writer};
use super::write_thread;
use super::{Columns, Context, Destination, Exporter, Keeps, Shape};
use crate::error::Result;
use crate::lines::definitions::Definitions;
use crate::lines::links::Links;
use crate::lines::naming::Naming;
use crate::lines::place::Placing;
use crate::trace::sink::Need;

/// Perfetto's protobuf trace.
pub static PERFETTO: Exporter = Exporter {
    name: "perfetto",
    extension: "perfetto-trace",
    other_endings: &["pftrace", "perfetto"],
    binary: true,
    doc: "Perfetto trace (protobuf): a track per process, thread, GPU, context and stream, arrows, counters",
    shape: Shape::Stream,
    need: Need::all,
    options: &[
        ("flows", "no: no arrows from calls to the work they caused (default: yes)"),
        ("counters", "no: no counters of busy GPUs, queue, copies, memory (default: yes)"),
        ("gpu-stages", "yes: work as stages of the GPU as well, for Perfetto's table gpu_slice (default: no)"),
    ],
    keeps: KEEPS,
    write,
};

const NOT_READ: &str = "Perfetto reads it, gpuprof does not";

const fn only(table: &'static str, columns: &'static [&'static str]) -> Keeps {
    Keeps { table, columns: Columns::Only(columns), note: NOT_READ }
}

const fn all(table: &'static str) -> Keeps {
    Keeps { table, columns: Columns::All, note: NOT_READ }
}

const KEEPS: &[Keeps] = &[
    only("device", &["device", "name_id"]),
    only("context", &["context", "device"]),
    only("stream", &["context", "stream", "name_id"]),
    all("thread"),
    Keeps {
        table: "kernel",
        columns: Columns::Only(&[
            "start_ns",
            "duration_ns",
            "shape_id",
            "device",
            "context",
            "stream",
            "correlation",
            "graph_id",
            "graph_node_id",
        ]),
        note: "Perfetto reads it, gpuprof does not; a slice shorter than 1 ns is 1 ns long, and a record without \
               valid times is a moment",
    },
    only(
        "memcpy",
        &[
            "start_ns",
            "duration_ns",
            "kind",
            "src_kind",
            "dst_kind",
            "bytes",
            "device",
            "context",
            "stream",
            "correlation",
            "graph_id",
            "graph_node_id",
        ],
    ),
    only(
        "memset",
        &[
            "start_ns",
            "duration_ns",
            "bytes",
            "mem_kind",
            "device",
            "context",
            "stream",
            "correlation",
            "graph_id",
            "graph_node_id",
        ],
    ),
    only("api", &["start_ns", "duration_ns", "domain", "name_id", "tid", "correlation", "result"]),
    only("sync", &["start_ns", "duration_ns", "kind", "context", "stream", "event", "correlation"]),
    only("overhead", &["start_ns", "duration_ns", "kind", "tid", "correlation"]),
    all("graph"),
    all("memory"),
    all("uvm"),
    all("event"),
    all("jit"),
    all("openacc"),
    all("openmp"),
    all("host_call"),
    only("range", &["start_ns", "end_ns", "domain_id", "name_id", "category", "payload_i64", "payload_f64", "tid"]),
    all("sample"),
    Keeps {
        table: "cpu_sample",
        columns: Columns::Only(&["start_ns", "of_pid", "tid", "stack_id", "weight_ns"]),
        note: "Perfetto reads it, gpuprof does not; functions are slices, from the first sample that has them to the \
               end of the last",
    },
    only("frame", &["id", "name_id", "file_id", "kind"]),
    all("stack"),
];

fn write(context: &Context, destination: &mut Destination) -> Result<()> {
    let options = context.options;
    let extras = Extras {
        flows: options.flag("flows", true)?,
        counters: options.flag("counters", true)?,
        stages: options.flag("gpu-stages", false)?,
    };
    let links = match extras.flows || extras.counters {
        true => Some(Links::find(context.frames, context.filter)?),
        false => None,
    };
    let definitions = Definitions::read(context.frames, context.filter, |_| Ok(()))?;
    let mut naming = Naming::new(context.labels, &definitions);
    write_thread::writing(destination.stream()?, |thread| {
        let mut writer = Writer::new(context, thread, &mut naming, Placing::new(&definitions, links), extras)?;
        context.rows_in_order(crate::lines::DRAWN, |chunk| writer.chunk(chunk))?;
        writer.finish()?;
        writer.stacks()
    })
}
