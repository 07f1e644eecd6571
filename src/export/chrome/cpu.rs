//! Events of the program: calls, ranges and the profiler's overhead; and rows that Kineto has no events for.

use super::event::{Calls, Events, Overheads, Ranges, number};
use super::gpuprof_argument::{self, GpuprofArgument};
use super::json;
use super::prepared::begin;
use crate::lines::kind_names::{UNKNOWN_OVERHEAD, described, overhead_word};
use crate::lines::place::Slot;
use crate::trace::ordered::Piece;
use std::borrow::Cow;
use trace_format::columns::Batch;
use trace_format::schema::AnyColumn as _;
use trace_format::tables;
use trace_format::tables::column::{any, api, host_call, overhead, range, sample};
use trace_format::vocabulary::host_call_domain;
use trace_format::vocabulary::{
    api_domain,
    range_style::{ANNOTATION, OPERATOR, PYTHON},
};

impl Events<'_> {
    /// A call.
    pub fn call(&self, out: &mut Vec<u8>, piece: &Piece, columns: &Calls, slot: &Slot, i: usize) {
        let name = columns.name_id.get(i).unwrap_or(0);
        let domain = columns.domain.get(i).unwrap_or(0);
        let correlation = columns.correlation.get(i).unwrap_or(0);
        self.begin(out, slot, if domain == api_domain::DRIVER { b"cuda_driver" } else { b"cuda_runtime" });
        self.prepared.call(out, name);
        self.external_id(out, piece.process, correlation);
        number(out, b"\"cbid\":", columns.cbid.get(i).filter(|&id| id != 0));
        Events::correlation(out, correlation);
        let mut own = GpuprofArgument::new(out);
        self.prepared.call_suffix(&mut own, name);
        self.own_times(&mut own, piece, slot, columns.duration_ns.get(i));
        self.own_thread(&mut own, slot, columns.tid.get(i));
        own.column(
            api::DOMAIN,
            Some(domain).filter(|&domain| !matches!(domain, api_domain::RUNTIME | api_domain::DRIVER)),
        );
        own.column(api::RESULT, columns.result.get(i));
        own.end();
        self.arrow(out, piece, slot, correlation, true);
    }

    /// The thread, where the track has another number.
    fn own_thread(&self, own: &mut GpuprofArgument, slot: &Slot, tid: Option<u32>) {
        match tid {
            Some(tid) if tid == self.head(slot).tid => {}
            Some(tid) => own.column(any::TID, Some(tid)),
            None => own.key(any::TID.name()).extend_from_slice(b"null"),
        }
    }

    /// Overhead of the profiler or the driver.
    pub fn overhead(&self, out: &mut Vec<u8>, piece: &Piece, columns: &Overheads, slot: &Slot, i: usize) {
        let kind = columns.kind.get(i).unwrap_or(0);
        let word = overhead_word(kind);
        self.begin(out, slot, b"overhead");
        begin(out, word.unwrap_or(UNKNOWN_OVERHEAD));
        let mut own = GpuprofArgument::new(out);
        self.own_times(&mut own, piece, slot, columns.duration_ns.get(i));
        self.own_thread(&mut own, slot, columns.tid.get(i));
        own.column(overhead::KIND, Some(kind).filter(|&kind| word.is_none() && kind != 0));
        own.column(overhead::CORRELATION, columns.correlation.get(i).map(|c| c as i64));
        own.end();
    }

    /// A range or mark.
    pub fn range(&self, out: &mut Vec<u8>, piece: &Piece, columns: &Ranges, slot: &Slot, i: usize) {
        let name = columns.name_id.get(i).unwrap_or(0);
        let style = columns.style.get(i).unwrap_or(0);
        let id = columns.range_id.get(i).unwrap_or(0);
        let category: &[u8] = match style {
            OPERATOR => b"cpu_op",
            PYTHON => b"python_function",
            _ => b"user_annotation",
        };
        self.begin(out, slot, category);
        self.prepared.text(out, name);
        let has_external_id = matches!(style, OPERATOR | ANNOTATION);
        number(out, b"\"External id\":", Some(id as i64).filter(|&id| has_external_id && id != 0));
        let mut own = GpuprofArgument::new(out);
        self.prepared.exact_name(&mut own, name);
        own.column(range::STYLE, Some(style).filter(|style| !matches!(style, OPERATOR..=PYTHON)));
        let duration = columns.end_ns.get(i).map(|end| end.saturating_sub(slot.start_ns));
        self.own_times(&mut own, piece, slot, duration);
        self.own_thread(&mut own, slot, columns.tid.get(i));
        own.column(range::RANGE_ID, Some(id as i64).filter(|&id| !has_external_id && id != 0));
        if let Some(domain) = columns.domain_id.get(i) {
            json::exact(own.key(range::DOMAIN_ID.name()), self.context.frames.names.get(domain));
        }
        own.column(range::CATEGORY, columns.category.get(i));
        own.column(range::COLOR, columns.color.get(i));
        own.column(range::PAYLOAD_I64, columns.payload_i64.get(i));
        if let Some(payload) = columns.payload_f64.get(i) {
            json::float(own.key(range::PAYLOAD_F64.name()), payload);
        }
        own.end();
    }

    /// A row of any other table, which comes back by its columns.
    pub fn other(&self, out: &mut Vec<u8>, piece: &Piece, rows: &Batch, slot: &Slot, i: usize) {
        if rows.table == &tables::SAMPLE {
            return self.sample(out, rows, slot, i);
        }
        let (category, name) = match rows.table == &tables::HOST_CALL {
            true => self.host_call(rows, i),
            false => described(rows, i),
        };
        self.begin(out, slot, category);
        begin(out, &name);
        out.extend_from_slice(&self.head(slot).place);
        let correlation = rows.get(any::CORRELATION).get(i).unwrap_or(0);
        Events::correlation(out, correlation);
        number(out, b"\"bytes\":", rows.get(any::BYTES).get(i));
        number(out, b"\"graph id\":", rows.get(any::GRAPH_ID).get(i));
        let mut own = GpuprofArgument::new(out);
        if self.several_processes {
            own.number("process", Some(piece.process));
        }
        json::string(own.key("table"), rows.table.name.as_bytes());
        gpuprof_argument::row(own.key("row"), &self.context.frames.names, rows, i);
        own.end();
        self.arrow(out, piece, slot, correlation, false);
    }
}

impl Events<'_> {
    /// Category and name of a call that is not CUDA's.
    fn host_call(&self, rows: &Batch, i: usize) -> (&'static [u8], Cow<'_, str>) {
        let number = |column| rows.get(column).get(i).unwrap_or(0);
        let category: &[u8] =
            if number(host_call::DOMAIN) == host_call_domain::MPI { b"mpi" } else { b"os_runtime" };
        (category, self.context.labels.text(number(host_call::NAME_ID)).into())
    }

    /// A measurement, as a counter. It comes back from the list of rows.
    fn sample(&self, out: &mut Vec<u8>, rows: &Batch, slot: &Slot, i: usize) {
        let metric = rows.get(sample::METRIC_ID).get(i).unwrap_or(0);
        let value = rows.get(sample::VALUE).get(i).filter(|value| value.is_finite());
        let Some(value) = value else { return };
        // Viewers tell counters apart by their names alone.
        let mut name = self.context.labels.text(metric).to_owned();
        if let Some(device) = rows.get(sample::DEVICE).get(i) {
            name.push_str(&format!(" GPU {device}"));
        }
        if let Some(pid) = rows.get(sample::OF_PID).get(i) {
            name.push_str(&format!(" process {pid}"));
        }
        self.counter(out, slot, &name, |out| json::float(out, value));
    }

    /// The value of a counter from now on.
    pub fn counter(&self, out: &mut Vec<u8>, slot: &Slot, name: &str, value: impl FnOnce(&mut Vec<u8>)) {
        out.extend_from_slice(b",\n{\"ph\":\"C\",\"name\":");
        json::string(out, name.as_bytes());
        out.push(b',');
        out.extend_from_slice(&self.head(slot).ids);
        json::microseconds(out, self.relative(slot.start_ns));
        out.extend_from_slice(b",\"args\":{\"value\":");
        value(out);
        out.extend_from_slice(b"}}");
    }
}
