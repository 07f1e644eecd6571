//! Chrome trace event JSON as the PyTorch profiler (Kineto) writes it: for Perfetto's and Chrome's viewers, for HTA,
//! and for whatever else reads traces of PyTorch.
//!
//! Rows come in order of time ([`Frames::in_order`](crate::trace::frames::Frames::in_order)), get their place
//! ([`crate::lines`]), and become text on all threads. What Kineto's events have no field for stands in one
//! argument of its own (`own`), which our reader of such traces understands, so that nothing is lost on the way
//! there and back.

mod cpu;
mod event;
mod foreign;
mod gpu;
mod gpuprof_argument;
mod head;
mod json;
mod numbering;
mod output;
mod prepared;
mod writer;

use self::output::Output;
use self::writer::Writer;
use super::write_thread;
use super::{Columns, Context, Destination, Exporter, KeptTable, KeptTables, Shape, has_records};
use crate::error::Result;
use crate::lines::definitions::Definitions;
use crate::lines::links::Links;
use crate::lines::naming::Naming;
use crate::lines::place::Placing;
use crate::trace::sink::Need;
use trace_format::schema::{Role, TableSpec};
use trace_format::tables;

/// Chrome trace event JSON.
pub static CHROME: Exporter = Exporter {
    name: "chrome",
    extension: "json",
    other_endings: &[],
    binary: false,
    doc: "Chrome trace JSON as the PyTorch profiler writes it: Perfetto, chrome://tracing, HTA",
    shape: Shape::Stream,
    need: Need::all,
    options: &[(
        "flows",
        "yes: arrows from calls to the work they caused; they nearly double the file (default: no)",
    )],
    keeps: KeptTables { listed: LISTED, others: is_written_whole, note: "our reader alone understands it" },
    write,
};

const fn all(table: &'static TableSpec, note: &'static str) -> KeptTable {
    KeptTable { table, columns: Columns::All, note }
}

/// What others than our reader understand of tables; of the rest they see a slice at most, with the row in it.
const LISTED: &[KeptTable] = &[
    all(&tables::SHAPE, "those that a kernel has"),
    all(&tables::DEVICE, ""),
    all(&tables::CONTEXT, ""),
    all(&tables::STREAM, ""),
    all(&tables::THREAD, ""),
    all(&tables::KERNEL, "a slice shorter than 1 ns is drawn 1 ns long; what was recorded stands in its arguments"),
    all(&tables::MEMCPY, ""),
    all(&tables::MEMSET, ""),
    all(&tables::API, "other readers get names without version suffix"),
    all(&tables::SYNC, ""),
    all(&tables::OVERHEAD, ""),
    all(&tables::MEMORY, "our reader alone understands it; others see a counter"),
    all(&tables::EXTERNAL, "other readers get operators' ids, as `External id`, if there are at most a million"),
    all(&tables::HOST_CALL, "other readers see slices of their threads"),
    all(&tables::RANGE, "other readers see no domain, colour or payload"),
    all(&tables::SAMPLE, "other readers see counters"),
    all(
        &tables::CPU_SAMPLE,
        "other readers see functions as slices, from the first sample that has them to the end of the last",
    ),
    all(&tables::FOREIGN, ""),
    all(&tables::DETAILS, ""),
];

/// Rows are written whole, in slices or in lists, but what is about the recording itself.
fn is_written_whole(table: &TableSpec) -> bool {
    has_records(table) && table.role != Role::Meta
}

/// Rows that are written as rows alone.
static IN_LISTS: &[&TableSpec] = &[
    &tables::EXTERNAL,
    &tables::SAMPLE,
    &tables::FRAME,
    &tables::STACK,
    &tables::LAUNCH_STACK,
    &tables::CPU_SAMPLE,
];

fn write(context: &Context, destination: &mut Destination) -> Result<()> {
    write_thread::writing(destination.stream()?, |thread| {
        write_document(context, &mut Output::new(thread, context.options.gzip))
    })
}

fn write_document(context: &Context, output: &mut Output) -> Result<()> {
    let links = match context.options.flag("flows", false)? {
        true => Some(Links::find(context.frames, context.filter)?),
        false => None,
    };
    let mut defining = Vec::new();
    let definitions = Definitions::read(context.frames, context.filter, |chunk| {
        defining
            .extend(chunk.order.iter().map(|&(piece, row)| (chunk.pieces[piece as usize].clone(), row as usize)));
        Ok(())
    })?;
    let mut naming = Naming::new(context.labels, &definitions);
    let mut writer = Writer::new(context, &mut naming, Placing::new(&definitions, links), defining)?;
    let drawn = [crate::lines::DRAWN, foreign::TABLES].concat();
    context.rows_in_order(&drawn, |chunk| writer.chunk(chunk, output))?;
    writer.rest(output)?;
    writer.stacks(output)?;
    context.rows_in_order(IN_LISTS, |chunk| writer.listed(chunk, output))?;
    writer.finish(output)
}
