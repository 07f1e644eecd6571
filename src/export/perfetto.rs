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
use super::{Columns, Context, Destination, Exporter, KeptTable, KeptTables, Shape};
use crate::error::Result;
use crate::lines::DRAWN;
use crate::lines::definitions::Definitions;
use crate::lines::links::Links;
use crate::lines::naming::Naming;
use crate::lines::place::Placing;
use crate::trace::sink::Need;
use trace_format::schema::{AnyColumn, TableSpec};
use trace_format::tables;
use trace_format::tables::column::{
    api, context, cpu_sample, device, frame, kernel, memcpy, memset, overhead, range, stream, sync,
};

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
    keeps: KeptTables { listed: LISTED, others: |table| DRAWN.contains(&table), note: NOT_READ },
    write,
};

const NOT_READ: &str = "Perfetto reads it, gpuprof does not";

const fn only(table: &'static TableSpec, columns: &'static [&'static dyn AnyColumn]) -> KeptTable {
    KeptTable { table, columns: Columns::Only(columns), note: NOT_READ }
}

/// Tables of which not all columns are written, and definitions; every other table that is drawn is written whole.
const LISTED: &[KeptTable] = &[
    only(&tables::DEVICE, &[device::DEVICE, device::NAME_ID]),
    only(&tables::CONTEXT, &[context::CONTEXT, context::DEVICE]),
    only(&tables::STREAM, &[stream::CONTEXT, stream::STREAM, stream::NAME_ID]),
    KeptTable { table: &tables::THREAD, columns: Columns::All, note: NOT_READ },
    KeptTable {
        table: &tables::KERNEL,
        columns: Columns::Only(&[
            kernel::START_NS,
            kernel::DURATION_NS,
            kernel::SHAPE_ID,
            kernel::DEVICE,
            kernel::CONTEXT,
            kernel::STREAM,
            kernel::CORRELATION,
            kernel::GRAPH_ID,
            kernel::GRAPH_NODE_ID,
        ]),
        note: "Perfetto reads it, gpuprof does not; a slice shorter than 1 ns is 1 ns long, and a record without \
               valid times is a moment",
    },
    only(
        &tables::MEMCPY,
        &[
            memcpy::START_NS,
            memcpy::DURATION_NS,
            memcpy::KIND,
            memcpy::SRC_KIND,
            memcpy::DST_KIND,
            memcpy::BYTES,
            memcpy::DEVICE,
            memcpy::CONTEXT,
            memcpy::STREAM,
            memcpy::CORRELATION,
            memcpy::GRAPH_ID,
            memcpy::GRAPH_NODE_ID,
        ],
    ),
    only(
        &tables::MEMSET,
        &[
            memset::START_NS,
            memset::DURATION_NS,
            memset::BYTES,
            memset::MEM_KIND,
            memset::DEVICE,
            memset::CONTEXT,
            memset::STREAM,
            memset::CORRELATION,
            memset::GRAPH_ID,
            memset::GRAPH_NODE_ID,
        ],
    ),
    only(
        &tables::API,
        &[api::START_NS, api::DURATION_NS, api::DOMAIN, api::NAME_ID, api::TID, api::CORRELATION, api::RESULT],
    ),
    only(
        &tables::SYNC,
        &[
            sync::START_NS,
            sync::DURATION_NS,
            sync::KIND,
            sync::CONTEXT,
            sync::STREAM,
            sync::EVENT,
            sync::CORRELATION,
        ],
    ),
    only(
        &tables::OVERHEAD,
        &[overhead::START_NS, overhead::DURATION_NS, overhead::KIND, overhead::TID, overhead::CORRELATION],
    ),
    only(
        &tables::RANGE,
        &[
            range::START_NS,
            range::END_NS,
            range::DOMAIN_ID,
            range::NAME_ID,
            range::CATEGORY,
            range::PAYLOAD_I64,
            range::PAYLOAD_F64,
            range::TID,
        ],
    ),
    KeptTable {
        table: &tables::CPU_SAMPLE,
        columns: Columns::Only(&[
            cpu_sample::START_NS,
            cpu_sample::OF_PID,
            cpu_sample::TID,
            cpu_sample::STACK_ID,
            cpu_sample::WEIGHT_NS,
        ]),
        note: "Perfetto reads it, gpuprof does not; functions are slices, from the first sample that has them to the \
               end of the last",
    },
    only(&tables::FRAME, &[frame::ID, frame::NAME_ID, frame::FILE_ID, frame::KIND]),
    KeptTable { table: &tables::STACK, columns: Columns::All, note: NOT_READ },
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
