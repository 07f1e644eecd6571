//! Events of the GPU: kernels, copies, fills and synchronisations.

use super::event::{Copies, Events, Fills, Kernels, Syncs, number};
use super::gpuprof_argument::GpuprofArgument;
use super::json;
use super::prepared::begin;
use crate::cupti::operation::memory_kind;
use crate::lines::kind_names::{UNKNOWN_SYNC, copy_word, sync_word};
use crate::lines::place::Slot;
use crate::lines::view::Col;
use crate::trace::ordered::Piece;
use std::io::Write as _;
use trace_format::schema::AnyColumn as _;
use trace_format::tables::column::{any, kernel, memcpy, memset, sync};
use trace_format::vocabulary::memory_kind::NVPROF;

/// Memory kinds that have a name of their own.
fn has_name(kind: u32) -> bool {
    NVPROF.word(kind).is_some()
}

impl Events<'_> {
    /// A kernel.
    pub fn kernel(&self, out: &mut Vec<u8>, piece: &Piece, columns: &Kernels, slot: &Slot, i: usize) {
        let shape = columns.shape_id.get(i).unwrap_or(0);
        let correlation = columns.correlation.get(i).unwrap_or(0);
        self.begin(out, slot, b"kernel");
        self.prepared.kernel(out, shape);
        self.work(out, piece, slot, correlation, (columns.graph_id, columns.graph_node_id), i);
        let mut own = GpuprofArgument::new(out);
        own.column(kernel::SHAPE_ID, Some(shape));
        self.own_times(&mut own, piece, slot, columns.duration_ns.get(i));
        own_node(&mut own, columns.graph_node_id.get(i));
        own.column(kernel::QUEUED_NS, columns.queued_ns.get(i));
        own.column(kernel::SUBMITTED_NS, columns.submitted_ns.get(i));
        own.column(kernel::CHANNEL, columns.channel.get(i));
        own.column(kernel::PRIORITY, columns.priority.get(i));
        own.column(kernel::FLAGS, columns.flags.get(i));
        own.end();
        self.arrow(out, piece, slot, correlation, false);
    }

    /// What all work of a GPU has.
    fn work(
        &self,
        out: &mut Vec<u8>,
        piece: &Piece,
        slot: &Slot,
        correlation: u64,
        (graph_id, node): (Col<u32>, Col<u64>),
        i: usize,
    ) {
        self.external_id(out, piece.process, correlation);
        out.extend_from_slice(&self.head(slot).place);
        Events::correlation(out, correlation);
        number(out, b"\"graph id\":", graph_id.get(i));
        if let Some(node) = node.get(i) {
            out.extend_from_slice(b"\"graph node id\":");
            json::unsigned(out, node);
            out.push(b',');
        }
    }

    /// Bytes, and bytes per nanosecond, which are gigabytes per second. Divided as Kineto divides them, and written so
    /// that a reader gets the same number.
    fn bytes(out: &mut Vec<u8>, bytes: i64, duration_ns: Option<i64>) {
        number(out, b"\"bytes\":", Some(bytes));
        if let (0.., Some(duration @ 1..)) = (bytes, duration_ns) {
            out.extend_from_slice(b"\"memory bandwidth (GB/s)\":");
            // Writing to memory cannot fail.
            let _ = write!(out, "{},", bytes as f64 / duration as f64);
        }
    }

    /// A copy.
    pub fn copy(&self, out: &mut Vec<u8>, piece: &Piece, columns: &Copies, slot: &Slot, i: usize) {
        let [kind, src, dst] = [columns.kind, columns.src_kind, columns.dst_kind].map(|c| c.get(i).unwrap_or(0));
        let correlation = columns.correlation.get(i).unwrap_or(0);
        let duration = columns.duration_ns.get(i);
        let (word, is_exact) = copy_word(kind);
        self.begin(out, slot, b"gpu_memcpy");
        out.extend_from_slice(b",\"name\":\"Memcpy ");
        out.extend_from_slice(word.as_bytes());
        out.extend_from_slice(b" (");
        out.extend_from_slice(memory_kind(src).as_bytes());
        out.extend_from_slice(b" -> ");
        out.extend_from_slice(memory_kind(dst).as_bytes());
        out.extend_from_slice(b")\",\"args\":{");
        self.work(out, piece, slot, correlation, (columns.graph_id, columns.graph_node_id), i);
        Events::bytes(out, columns.bytes.get(i).unwrap_or(0), duration);
        let mut own = GpuprofArgument::new(out);
        self.own_times(&mut own, piece, slot, duration);
        own_node(&mut own, columns.graph_node_id.get(i));
        own.column(memcpy::KIND, Some(kind).filter(|_| !is_exact));
        own.column(memcpy::SRC_KIND, Some(src).filter(|&kind| !has_name(kind)));
        own.column(memcpy::DST_KIND, Some(dst).filter(|&kind| !has_name(kind)));
        own.column(memcpy::SRC_DEVICE, columns.src_device.get(i));
        own.column(memcpy::DST_DEVICE, columns.dst_device.get(i));
        own.column(memcpy::SRC_CONTEXT, columns.src_context.get(i));
        own.column(memcpy::DST_CONTEXT, columns.dst_context.get(i));
        own.column(memcpy::FLAGS, columns.flags.get(i));
        own.column(memcpy::CHANNEL, columns.channel.get(i));
        own.end();
        self.arrow(out, piece, slot, correlation, false);
    }

    /// A fill.
    pub fn fill(&self, out: &mut Vec<u8>, piece: &Piece, columns: &Fills, slot: &Slot, i: usize) {
        let kind = columns.mem_kind.get(i).unwrap_or(0);
        let correlation = columns.correlation.get(i).unwrap_or(0);
        let duration = columns.duration_ns.get(i);
        self.begin(out, slot, b"gpu_memset");
        out.extend_from_slice(b",\"name\":\"Memset (");
        out.extend_from_slice(memory_kind(kind).as_bytes());
        out.extend_from_slice(b")\",\"args\":{");
        self.work(out, piece, slot, correlation, (columns.graph_id, columns.graph_node_id), i);
        Events::bytes(out, columns.bytes.get(i).unwrap_or(0), duration);
        let mut own = GpuprofArgument::new(out);
        self.own_times(&mut own, piece, slot, duration);
        own_node(&mut own, columns.graph_node_id.get(i));
        own.column(memset::VALUE, columns.value.get(i).filter(|&value| value != 0));
        own.column(memset::MEM_KIND, Some(kind).filter(|&kind| !has_name(kind)));
        own.column(memset::FLAGS, columns.flags.get(i));
        own.end();
        self.arrow(out, piece, slot, correlation, false);
    }

    /// A synchronisation.
    pub fn sync(&self, out: &mut Vec<u8>, piece: &Piece, columns: &Syncs, slot: &Slot, i: usize) {
        let kind = columns.kind.get(i).unwrap_or(0);
        let word = sync_word(kind);
        self.begin(out, slot, b"cuda_sync");
        begin(out, word.unwrap_or(UNKNOWN_SYNC));
        out.extend_from_slice(&self.head(slot).place);
        Events::correlation(out, columns.correlation.get(i).unwrap_or(0));
        let event = columns.event.get(i);
        number(out, b"\"wait_on_cuda_event_id\":", event);
        let mut own = GpuprofArgument::new(out);
        self.own_times(&mut own, piece, slot, columns.duration_ns.get(i));
        own.column(sync::KIND, Some(kind).filter(|&kind| word.is_none() && kind != 0));
        // Kineto's -1 for none is CUPTI's largest id.
        let is_none = |value: Option<u32>| value == Some(u32::MAX);
        match columns.context.get(i) {
            None => own.key(sync::CONTEXT.name()).extend_from_slice(b"null"),
            context => own.column(sync::CONTEXT, context.filter(|_| is_none(context))),
        }
        own.column(sync::STREAM, columns.stream.get(i).filter(|&v| is_none(Some(v))));
        own.column(sync::EVENT, event.filter(|&v| is_none(Some(v))));
        own.column(sync::RESULT, columns.result.get(i));
        own.end();
    }
}

/// A node's id, where it is more than a signed number holds.
fn own_node(own: &mut GpuprofArgument, node: Option<u64>) {
    if let Some(node) = node.filter(|&node| i64::try_from(node).is_err()) {
        json::unsigned(own.key(any::GRAPH_NODE_ID.name()), node);
    }
}
