//! One row, one event.

use super::gpuprof_argument::GpuprofArgument;
use super::json;
use super::numbering::Head;
use super::prepared::Prepared;
use crate::analysis::cpu_slices::Edge;
use crate::analysis::cpu_stacks::{HostFrame, function_name};
use crate::analysis::labels::Labels;
use crate::export::Context;
use crate::lines::line::Form;
use crate::lines::links;
use crate::lines::place::Slot;
use crate::lines::view::view;
use crate::trace::ordered::Piece;
use trace_format::columns::Batch;
use trace_format::schema::AnyColumn as _;
use trace_format::tables;
use trace_format::tables::column::{any, api, kernel, memcpy, memset, overhead, range, sync};
use trace_format::vocabulary::range_style::PYTHON;

view! {
    /// A kernel.
    Kernels of kernel {
        duration_ns: i64,
        shape_id: u32,
        correlation: u64,
        graph_id: u32,
        graph_node_id: u64,
        queued_ns: i64,
        submitted_ns: i64,
        channel: u32,
        priority: i64,
        flags: u32,
    }
}

view! {
    /// A copy.
    Copies of memcpy {
        duration_ns: i64,
        kind: u32,
        src_kind: u32,
        dst_kind: u32,
        bytes: i64,
        src_device: u32,
        dst_device: u32,
        src_context: u32,
        dst_context: u32,
        correlation: u64,
        graph_id: u32,
        graph_node_id: u64,
        flags: u32,
        channel: u32,
    }
}

view! {
    /// A fill.
    Fills of memset {
        duration_ns: i64,
        value: u32,
        bytes: i64,
        mem_kind: u32,
        correlation: u64,
        graph_id: u32,
        graph_node_id: u64,
        flags: u32,
    }
}

view! {
    /// A call.
    Calls of api {
        duration_ns: i64,
        domain: u32,
        cbid: u32,
        name_id: u32,
        tid: u32,
        correlation: u64,
        result: u32,
    }
}

view! {
    /// A synchronisation.
    Syncs of sync {
        duration_ns: i64,
        kind: u32,
        context: u32,
        stream: u32,
        event: u32,
        correlation: u64,
        result: u32,
    }
}

view! {
    /// Overhead.
    Overheads of overhead {
        duration_ns: i64,
        kind: u32,
        tid: u32,
        correlation: u64,
    }
}

view! {
    /// A range.
    Ranges of range {
        end_ns: i64,
        style: u32,
        range_id: u64,
        domain_id: u32,
        name_id: u32,
        category: u32,
        color: u32,
        payload_i64: i64,
        payload_f64: f64,
        tid: u32,
    }
}

/// The columns of a piece, by its table.
pub enum View<'p> {
    /// Kernels.
    Kernels(Kernels<'p>),
    /// Copies.
    Copies(Copies<'p>),
    /// Fills.
    Fills(Fills<'p>),
    /// Calls.
    Calls(Calls<'p>),
    /// Synchronisations.
    Syncs(Syncs<'p>),
    /// Overheads.
    Overheads(Overheads<'p>),
    /// Ranges.
    Ranges(Ranges<'p>),
    /// What Kineto has no events for.
    Other(&'p Batch),
}

impl<'p> View<'p> {
    /// The columns of `piece`.
    pub fn of(piece: &'p Piece) -> Self {
        let rows = &piece.rows;
        match piece.table() {
            table if table == &tables::KERNEL => View::Kernels(Kernels::of(rows)),
            table if table == &tables::MEMCPY => View::Copies(Copies::of(rows)),
            table if table == &tables::MEMSET => View::Fills(Fills::of(rows)),
            table if table == &tables::API => View::Calls(Calls::of(rows)),
            table if table == &tables::SYNC => View::Syncs(Syncs::of(rows)),
            table if table == &tables::OVERHEAD => View::Overheads(Overheads::of(rows)),
            table if table == &tables::RANGE => View::Ranges(Ranges::of(rows)),
            _ => View::Other(rows),
        }
    }

    /// Whether row `i` is a function of Python.
    pub fn is_python(&self, i: usize) -> bool {
        matches!(self, View::Ranges(rows) if rows.style.get(i) == Some(PYTHON))
    }
}

/// Writes events.
pub struct Events<'e> {
    /// The traces.
    pub context: &'e Context<'e>,
    /// What repeats.
    pub prepared: &'e Prepared<'e>,
    /// The time that is written as 0.
    pub zero_ns: i64,
    /// The numbers of the tracks.
    pub heads: &'e [Head],
    /// Whether events must say which process they belong to.
    pub several_processes: bool,
}

impl Events<'_> {
    /// Writes the event of row `slot.row` of `piece`, and its end of an arrow.
    pub fn write(&self, out: &mut Vec<u8>, piece: &Piece, view: &View, slot: &Slot) {
        let i = slot.row as usize;
        match view {
            View::Kernels(columns) => self.kernel(out, piece, columns, slot, i),
            View::Copies(columns) => self.copy(out, piece, columns, slot, i),
            View::Fills(columns) => self.fill(out, piece, columns, slot, i),
            View::Calls(columns) => self.call(out, piece, columns, slot, i),
            View::Syncs(columns) => self.sync(out, piece, columns, slot, i),
            View::Overheads(columns) => self.overhead(out, piece, columns, slot, i),
            View::Ranges(columns) => self.range(out, piece, columns, slot, i),
            View::Other(rows) => self.other(out, piece, rows, slot, i),
        }
    }

    /// Nanoseconds since the beginning of the trace. Viewers cannot show what was before it.
    pub fn relative(&self, ns: i64) -> i64 {
        ns.saturating_sub(self.zero_ns).max(0)
    }

    /// The numbers of the event's track.
    pub fn head(&self, slot: &Slot) -> &Head {
        &self.heads[slot.track as usize]
    }

    /// Phase, category, place and times.
    #[inline]
    pub fn begin(&self, out: &mut Vec<u8>, slot: &Slot, category: &[u8]) {
        out.extend_from_slice(match slot.form {
            Form::Slice => b",\n{\"ph\":\"X\",\"cat\":\"",
            Form::Open => b",\n{\"ph\":\"B\",\"cat\":\"",
            Form::Moment | Form::Timeless => b",\n{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"",
        });
        out.extend_from_slice(category);
        out.extend_from_slice(b"\",");
        out.extend_from_slice(&self.head(slot).ids);
        json::microseconds(out, self.relative(slot.drawn_ns()));
        if slot.form == Form::Slice {
            out.extend_from_slice(b",\"dur\":");
            json::microseconds(out, slot.end_ns.saturating_sub(slot.start_ns));
        }
    }

    /// What the event's own times do not say; `duration_ns` is what was recorded.
    #[inline]
    pub fn own_times(&self, own: &mut GpuprofArgument, piece: &Piece, slot: &Slot, duration_ns: Option<i64>) {
        if self.relative(slot.drawn_ns()).wrapping_add(self.zero_ns) != slot.start_ns {
            own.column(any::START_NS, Some(slot.start_ns));
        }
        let written = (slot.form == Form::Slice).then(|| slot.end_ns.saturating_sub(slot.start_ns));
        if duration_ns != written {
            match duration_ns {
                Some(_) => own.column(any::DURATION_NS, duration_ns),
                None => own.key(any::DURATION_NS.name()).extend_from_slice(b"null"),
            }
        }
        if self.several_processes {
            own.number("process", Some(piece.process));
        }
    }

    /// The id that joins calls and work.
    #[inline]
    pub fn correlation(out: &mut Vec<u8>, correlation: u64) {
        if correlation != 0 {
            out.extend_from_slice(b"\"correlation\":");
            // Signed, for larger numbers are more than most readers take; ours gets the same bits back.
            json::signed(out, correlation as i64);
            out.push(b',');
        }
    }

    /// The operator that a correlation id belongs to.
    #[inline]
    pub fn external_id(&self, out: &mut Vec<u8>, process: u32, correlation: u64) {
        if !self.prepared.external_ids.is_empty()
            && let Some(&id) = self.prepared.external_ids.get(&(process, correlation))
        {
            number(out, b"\"External id\":", Some(id as i64));
        }
    }

    /// One end of the arrow from a call to its work.
    #[inline]
    pub fn arrow(&self, out: &mut Vec<u8>, piece: &Piece, slot: &Slot, correlation: u64, is_call: bool) {
        if !slot.is_linked {
            return;
        }
        out.extend_from_slice(if is_call {
            b",\n{\"ph\":\"s\",\"id\":"
        } else {
            b",\n{\"ph\":\"f\",\"bp\":\"e\",\"id\":"
        });
        json::unsigned(out, links::arrow(piece.process, correlation));
        out.extend_from_slice(b",\"cat\":\"ac2g\",\"name\":\"ac2g\",");
        out.extend_from_slice(&self.head(slot).ids);
        json::microseconds(out, self.relative(slot.start_ns));
        out.push(b'}');
    }
}

/// An argument with a comma behind it, if there is a value.
#[inline]
pub fn number(out: &mut Vec<u8>, key: &[u8], value: Option<impl Into<i64>>) {
    if let Some(value) = value {
        out.extend_from_slice(key);
        json::signed(out, value.into());
        out.push(b',');
    }
}

/// One end of a slice of a function that was seen by CPU samples. Our reader passes over these: the samples are
/// written as rows too.
pub fn stack_edge(out: &mut Vec<u8>, labels: &Labels, head: &Head, zero_ns: i64, edge: &Edge<HostFrame>) {
    out.extend_from_slice(match edge.samples {
        None => b",\n{\"ph\":\"B\",\"cat\":\"cpu_stack\",",
        Some(_) => b",\n{\"ph\":\"E\",\"cat\":\"cpu_stack\",",
    });
    out.extend_from_slice(&head.ids);
    json::microseconds(out, edge.at_ns.saturating_sub(zero_ns).max(0));
    out.extend_from_slice(b",\"name\":");
    json::string(out, function_name(labels, edge.frame).as_bytes());
    out.extend_from_slice(b",\"args\":{");
    match edge.samples {
        None if edge.frame.file != 0 => {
            out.extend_from_slice(b"\"file\":");
            json::string(out, labels.text(edge.frame.file).as_bytes());
        }
        None => {}
        Some(samples) => {
            out.extend_from_slice(b"\"samples\":");
            json::unsigned(out, samples);
        }
    }
    out.extend_from_slice(b"}}");
}
