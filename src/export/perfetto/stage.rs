//! Kernels, copies and fills as stages of a GPU, for the table `gpu_slice` and the viewer's page about compute.

use super::event::Events;
use super::names::Columns;
use super::schema::{interned, packet, stage};
use super::wire;
use super::writer::packet;
use crate::analysis::labels::Labels;
use crate::lines::kind_names::described;
use crate::lines::links;
use crate::lines::place::Slot;
use crate::trace::ordered::Piece;
use hashbrown::HashSet;
use trace_format::columns::Batch;
use trace_format::schema::TableSpec;
use trace_format::tables::{self, ShapeRow};

/// The tables of such work, and what it is called in general.
static WORK: [(&TableSpec, &str); 3] =
    [(&tables::KERNEL, "kernel"), (&tables::MEMCPY, "copy"), (&tables::MEMSET, "fill")];

/// Numbers of stages begin here, above those of the hardware queues, with which they share a list.
const FIRST_STAGE: u64 = 1 << 40;

/// `InternedGpuRenderStageSpecification.RenderStageCategory.COMPUTE`.
const COMPUTE: u64 = 2;

fn word_for(table: &TableSpec) -> Option<&'static str> {
    WORK.iter().find(|(work, _)| *work == table).map(|(_, word)| *word)
}

/// The number of the hardware queue that a track stands for; 0 is invalid in Perfetto.
pub fn queue_iid(track: u32) -> u64 {
    u64::from(track) + 1
}

/// The number of a launch shape as a kernel.
fn kernel_iid(shape: u32) -> u64 {
    u64::from(shape) + 1
}

/// What was described so far.
#[derive(Default)]
pub struct Stages {
    names: HashSet<u64>,
    shapes: HashSet<u32>,
}

impl Stages {
    /// Describes row `i` of `rows` as a stage, and its launch shape as a kernel, where they are new. Every name is a stage
    /// of its own: version 52 of Perfetto knows no other name of a slice than that of its stage.
    pub fn describe(
        &mut self,
        out: &mut Vec<u8>,
        labels: &Labels,
        (rows, i): (&Batch, usize),
        columns: &Columns,
        name: u64,
    ) {
        let Some(word) = word_for(rows.table) else { return };
        let is_kernel = rows.table == &tables::KERNEL;
        let shape = columns.shape_id.get(i).unwrap_or(0);
        if self.names.insert(name) {
            wire::message(out, interned::SPECIFICATION, |out| {
                wire::unsigned(out, 1, FIRST_STAGE + name);
                match is_kernel {
                    true => wire::string(out, 2, labels.kernel(shape)),
                    false => wire::string(out, 2, &described(rows, i).1),
                }
                wire::string(out, 3, word);
                wire::unsigned(out, 4, COMPUTE);
            });
        }
        if is_kernel && self.shapes.insert(shape) {
            let mangled = labels.frames().kernel(shape).map_or("", |kernel| labels.text(kernel.name_id));
            wire::message(out, interned::COMPUTE_KERNEL, |out| {
                wire::unsigned(out, 1, kernel_iid(shape));
                wire::string(out, 2, mangled);
                wire::string(out, 3, labels.kernel(shape));
            });
        }
    }
}

/// Writes a row as a stage, unless it is no such work.
pub fn write(
    events: &Events,
    out: &mut Vec<u8>,
    (piece, columns, slot): (&Piece, &Columns, &Slot),
    (time, name): (u64, u64),
) {
    if word_for(piece.table()).is_none() {
        return;
    }
    let i = slot.row as usize;
    let process = piece.process;
    let correlation = columns.correlation.get(i).unwrap_or(0);
    let id = |correlation| links::arrow(process, correlation);
    packet(out, events.prefix, Some(time), |out| {
        wire::message(out, packet::GPU_RENDER_STAGE_EVENT, |out| {
            wire::unsigned(out, stage::ID, id(correlation));
            wire::signed(out, stage::DURATION, slot.end_ns.saturating_sub(slot.start_ns));
            wire::unsigned(out, stage::GPU, columns.device.get(i).unwrap_or(0).into());
            wire::unsigned(out, stage::CONTEXT, queue_iid(slot.track));
            wire::unsigned(out, stage::QUEUE, queue_iid(slot.track));
            wire::unsigned(out, stage::STAGE, FIRST_STAGE + name);
            wire::unsigned(out, stage::NAME, name);
            for &awaited in events.waits.awaited(process, correlation) {
                wire::unsigned(out, stage::WAITED_FOR, id(awaited));
            }
            if piece.table() == &tables::KERNEL {
                let shape = columns.shape_id.get(i).unwrap_or(0);
                wire::unsigned(out, stage::KERNEL, kernel_iid(shape));
                if let Some(row) = events.context.frames.shape(shape) {
                    wire::message(out, stage::LAUNCH, |out| launch(out, &row));
                }
            }
        });
    });
}

/// The launch parameters as numbers, under the names that Perfetto's page about compute knows.
fn launch(out: &mut Vec<u8>, row: &ShapeRow) {
    let sizes = [(1, [row.grid_x, row.grid_y, row.grid_z]), (2, [row.block_x, row.block_y, row.block_z])];
    for (field, size) in sizes {
        wire::message(out, field, |out| {
            for (axis, value) in (1..).zip(size) {
                if let Some(value) = value.and_then(|value| u64::try_from(value).ok()) {
                    wire::unsigned(out, axis, value);
                }
            }
        });
    }
    let arguments = [
        ("registers_per_thread", row.registers),
        ("shared_mem_static", row.static_smem_bytes),
        ("shared_mem_dynamic", row.dynamic_smem_bytes),
    ];
    for (name, value) in arguments {
        if let Some(value) = value {
            wire::message(out, 3, |out| {
                wire::string(out, 2, name);
                wire::signed(out, 3, value);
            });
        }
    }
}
