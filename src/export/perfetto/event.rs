//! One item, one packet.

use super::items::{Item, ItemKind};
use super::names::{Columns, category_iid};
use super::schema::{argument, event, packet};
use super::stage;
use super::wire;
use super::writer::packet;
use crate::analysis::stream_waits::StreamWaits;
use crate::export::Context;
use crate::lines::kind_names;
use crate::lines::links;
use crate::lines::place::{Placed, Slot};
use crate::trace::ordered::Piece;
use std::sync::OnceLock;
use trace_format::columns::{Batch, Values};
use trace_format::schema::{AnyColumn as _, TableSpec};
use trace_format::tables;
use trace_format::tables::column::{any, api, host_call};
use trace_format::vocabulary::{api_domain, host_call_domain, range_style};

/// Launch shapes up to which their arguments are prepared once and kept.
const SHAPES: usize = 100_000;

/// Writes packets.
pub struct Events<'e> {
    /// The traces.
    pub context: &'e Context<'e>,
    /// What every packet begins with.
    pub prefix: &'e [u8],
    /// What is taken from all times, so that none is negative.
    pub shift_ns: i64,
    /// Tracks of slices.
    pub slices: &'e [u64],
    /// Tracks of counters.
    pub counters: &'e [u64],
    /// Arguments of launch shapes.
    pub shapes: &'e [OnceLock<Box<[u8]>>],
    /// Whether work is written as stages of a GPU too.
    pub stages: bool,
    /// What such work waited for.
    pub waits: &'e StreamWaits,
    /// Whether arrows are written.
    pub flows: bool,
}

/// Room for prepared arguments.
pub fn room_for_shapes(count: usize) -> Vec<OnceLock<Box<[u8]>>> {
    (0..if count <= SHAPES { count } else { 0 }).map(|_| OnceLock::new()).collect()
}

impl Events<'_> {
    /// Writes an item.
    pub fn write(&self, out: &mut Vec<u8>, placed: &Placed, columns: &[Columns], item: &Item) {
        let time = item.at_ns.saturating_sub(self.shift_ns).max(0) as u64;
        let counter = |number: u32| self.counters.get(number as usize).copied().unwrap_or(0);
        match item.what {
            ItemKind::End(track) => self.event(out, time, 2, track, |_| {}),
            ItemKind::Count(number, value) => {
                self.event(out, time, 4, counter(number), |out| wire::signed(out, event::COUNTER_VALUE, value));
            }
            ItemKind::Measure(number, value) => {
                self.event(out, time, 4, counter(number), |out| {
                    wire::double(out, event::DOUBLE_COUNTER_VALUE, value);
                });
            }
            ItemKind::Begin(slot, name) | ItemKind::Moment(slot, name) => {
                let slot = &placed.slots[slot as usize];
                let piece = &placed.pieces[slot.piece as usize];
                let columns = &columns[slot.piece as usize];
                let is_begin = matches!(item.what, ItemKind::Begin(..));
                let track = self.slices.get(slot.track as usize).copied().unwrap_or(0);
                self.event(out, time, if is_begin { 1 } else { 3 }, track, |out| {
                    wire::unsigned(out, event::NAME, name);
                    wire::unsigned(out, event::CATEGORY, category(&piece.rows, columns, slot.row as usize));
                    self.details(out, piece, columns, slot);
                });
                if self.stages && is_begin {
                    stage::write(self, out, (piece, columns, slot), (time, name));
                }
            }
        }
    }

    #[inline]
    fn event(&self, out: &mut Vec<u8>, time: u64, kind: u64, track: u64, rest: impl FnOnce(&mut Vec<u8>)) {
        track_event(out, self.prefix, (time, kind, track), rest);
    }

    /// Arrow and arguments.
    fn details(&self, out: &mut Vec<u8>, piece: &Piece, columns: &Columns, slot: &Slot) {
        let i = slot.row as usize;
        let rows = &piece.rows;
        let correlation = columns.correlation.get(i).filter(|&c| c != 0);
        if slot.is_linked && self.flows {
            wire::fixed64(out, event::FLOW, links::arrow(piece.process, correlation.unwrap_or(0)));
        }
        match rows.table {
            table if table == &tables::KERNEL => self.launch(out, columns.shape_id.get(i).unwrap_or(0)),
            table if table == &tables::MEMCPY || table == &tables::MEMSET => {
                annotate(out, argument("bytes"), columns.bytes.get(i));
            }
            table if table == &tables::API => {
                annotate(out, argument("result"), columns.result.get(i).filter(|&r| r != 0));
            }
            table if table == &tables::RANGE => {
                let text = |id| self.context.labels.text(id);
                if let Some(domain) = columns.domain_id.get(i) {
                    annotate_text(out, argument("domain"), text(domain));
                }
                annotate(out, argument("category"), columns.category.get(i));
                annotate(out, argument("payload"), columns.payload_i64.get(i));
                if let Some(payload) = columns.payload_f64.get(i) {
                    wire::message(out, event::ANNOTATION, |out| {
                        wire::unsigned(out, 1, argument("payload"));
                        wire::double(out, 5, payload);
                    });
                }
            }
            table if table == &tables::SYNC => annotate(out, argument("event"), columns.event.get(i)),
            table if table == &tables::OVERHEAD => {}
            _ => return self.all_columns(out, rows, i),
        }
        annotate_id(out, argument("correlation"), correlation);
        annotate(out, argument("graph"), columns.graph_id.get(i));
        annotate_id(out, argument("graph node"), columns.graph_node_id.get(i));
    }

    /// What a kernel was launched with.
    fn launch(&self, out: &mut Vec<u8>, shape: u32) {
        match self.shapes.get(shape as usize) {
            Some(slot) => out.extend_from_slice(slot.get_or_init(|| {
                let mut text = Vec::new();
                self.launch_arguments(&mut text, shape);
                text.into()
            })),
            None => self.launch_arguments(out, shape),
        }
    }

    fn launch_arguments(&self, out: &mut Vec<u8>, shape: u32) {
        let Some(row) = self.context.frames.shape(shape) else { return };
        let triples = [
            ("grid", [row.grid_x, row.grid_y, row.grid_z]),
            ("block", [row.block_x, row.block_y, row.block_z]),
            ("cluster", [row.cluster_x, row.cluster_y, row.cluster_z]),
        ];
        for (name, triple) in triples {
            if let [Some(x), Some(y), Some(z)] = triple {
                annotate_text(out, argument(name), &format!("{x} {y} {z}"));
            }
        }
        annotate(out, argument("registers per thread"), row.registers);
        annotate(out, argument("static shared memory (bytes)"), row.static_smem_bytes);
        annotate(out, argument("dynamic shared memory (bytes)"), row.dynamic_smem_bytes);
    }

    /// Every column of a row, under its name in the registry.
    fn all_columns(&self, out: &mut Vec<u8>, rows: &Batch, i: usize) {
        let times = [any::START_NS, any::DURATION_NS, any::END_NS].map(|column| column.name());
        for (spec, column) in rows.table.columns.iter().zip(&rows.columns) {
            if column.is_null(i) || times.contains(&spec.name) {
                continue;
            }
            wire::message(out, event::ANNOTATION, |out| {
                wire::string(out, 10, spec.name);
                match &column.values {
                    Values::U32(v) if spec.unit.is_name() => wire::string(out, 6, self.context.labels.text(v[i])),
                    Values::U32(v) => wire::unsigned(out, 3, v[i].into()),
                    Values::U64(v) => wire::unsigned(out, 3, v[i]),
                    Values::I64(v) => wire::signed(out, 4, v[i]),
                    Values::F64(v) => wire::double(out, 5, v[i]),
                    Values::Bool(v) => wire::unsigned(out, 2, v[i].into()),
                    Values::Bytes(v) => wire::string(out, 6, &String::from_utf8_lossy(v.get(i))),
                }
            });
        }
    }
}

/// Writes an event of a track: its time, type and track are given, `rest` writes everything else.
#[inline]
pub fn track_event(
    out: &mut Vec<u8>,
    prefix: &[u8],
    (time, kind, track): (u64, u64, u64),
    rest: impl FnOnce(&mut Vec<u8>),
) {
    packet(out, prefix, Some(time), |out| {
        wire::message(out, packet::TRACK_EVENT, |out| {
            wire::unsigned(out, event::TYPE, kind);
            wire::unsigned(out, event::TRACK, track);
            rest(out);
        });
    });
}

fn category(rows: &Batch, columns: &Columns, i: usize) -> u64 {
    let table = rows.table;
    let domain = match table {
        table if table == &tables::API => rows.get(api::DOMAIN).get(i),
        table if table == &tables::HOST_CALL => rows.get(host_call::DOMAIN).get(i),
        _ => None,
    };
    category_iid(category_name(table, domain, columns.style.get(i)))
}

/// The category of a row by its table, the domain of a call and the style of a range.
fn category_name(table: &TableSpec, domain: Option<u32>, style: Option<u32>) -> &'static str {
    match table {
        table if table == &tables::KERNEL => "kernel",
        table if table == &tables::API => match domain {
            Some(api_domain::DRIVER) => "cuda_driver",
            _ => "cuda_runtime",
        },
        table if table == &tables::HOST_CALL => match domain {
            Some(host_call_domain::MPI) => "mpi",
            _ => "os_runtime",
        },
        table if table == &tables::RANGE => match style {
            Some(range_style::OPERATOR) => "cpu_op",
            Some(range_style::PYTHON) => "python_function",
            _ => "user_annotation",
        },
        table => kind_names::category(table).unwrap_or(kind_names::OTHER),
    }
}

/// An argument that is a number, if there is one.
pub fn annotate(out: &mut Vec<u8>, name: u64, value: Option<impl Into<i64>>) {
    if let Some(value) = value {
        wire::message(out, event::ANNOTATION, |out| {
            wire::unsigned(out, 1, name);
            wire::signed(out, 4, value.into());
        });
    }
}

fn annotate_id(out: &mut Vec<u8>, name: u64, value: Option<u64>) {
    if let Some(value) = value {
        wire::message(out, event::ANNOTATION, |out| {
            wire::unsigned(out, 1, name);
            wire::unsigned(out, 3, value);
        });
    }
}

/// An argument that is text.
pub fn annotate_text(out: &mut Vec<u8>, name: u64, value: &str) {
    wire::message(out, event::ANNOTATION, |out| {
        wire::unsigned(out, 1, name);
        wire::string(out, 6, value);
    });
}

#[cfg(test)]
mod tests {
    use super::super::names::CATEGORIES;
    use super::*;

    #[test]
    fn every_slice_has_a_category_of_its_own() {
        let codes = || [None].into_iter().chain((0..8).map(Some));
        // Measurements are counters.
        for table in crate::lines::DRAWN.iter().filter(|table| **table != &tables::SAMPLE) {
            for (domain, style) in codes().flat_map(|domain| codes().map(move |style| (domain, style))) {
                let name = category_name(table, domain, style);
                let place = "put it into CATEGORIES (src/export/perfetto/names.rs) and category_name";
                let is_known = name != kind_names::OTHER && CATEGORIES.contains(&name);
                assert!(is_known, "table {}, category {name}: {place}", table.name);
            }
        }
        assert_eq!(CATEGORIES.last(), Some(&kind_names::OTHER));
    }
}
