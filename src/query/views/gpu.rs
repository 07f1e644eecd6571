//! All GPU work, whatever its kind.

use super::columns::{PROCESS, bytes, failed, id, id_of, id64, id64_of, ns, text, time};
use crate::cupti::operation;
use crate::error::Result;
use crate::query::source::{Source, SourceColumn, Trace};
use crate::query::tables::{TableSource, word_column};
use polars::prelude::*;
use trace_format::schema::TableSpec;
use trace_format::tables;
use trace_format::vocabulary::{memcpy_kind, memory_kind};

/// The view.
pub struct Gpu;

const COLUMNS: [SourceColumn; 20] = [
    PROCESS,
    text("kind", "`kernel`, `memcpy`, `memset`, or `graph` for one traced whole."),
    text("name", "Demangled kernel name, or `[CUDA memcpy HtoD]` and the like."),
    text("base_name", "As `name`, kernels without namespaces, arguments and template."),
    time("start_ns", "Start."),
    time("end_ns", "End; NULL where the duration is."),
    ns("duration_ns", "End minus start; NULL: no valid times."),
    id_of(&tables::DEVICE, "device", "CUDA device index as the process saw it."),
    id_of(&tables::CONTEXT, "context", "CUPTI context id."),
    id_of(&tables::STREAM, "stream", "CUPTI stream id."),
    id64_of(&tables::API, "correlation", "Joins with `api.correlation` of the same process."),
    bytes("bytes", "Bytes copied or filled; NULL for kernels."),
    text("copy_kind", "Direction of a copy, e.g. `HtoD`."),
    text("src_kind", "Kind of memory a copy reads, e.g. `pinned`."),
    text("dst_kind", "Kind of memory a copy or fill writes."),
    id_of(&tables::SHAPE, "shape_id", "Launch shape of a kernel, joins with `shape.id`."),
    id("graph_id", "CUDA graph; NULL outside graphs."),
    id64("graph_node_id", "Node in that graph."),
    id("channel", "Hardware channel."),
    id("flags", "As in the table of the kind."),
];

impl Source for Gpu {
    fn name(&self) -> &'static str {
        "gpu"
    }
    fn doc(&self) -> &'static str {
        "All GPU work: every kernel, copy, fill and graph traced whole.\nOne table after the other, each in the order of the file; ORDER BY start_ns for a timeline."
    }
    fn columns(&self) -> Vec<SourceColumn> {
        COLUMNS.to_vec()
    }
    fn tables(&self) -> Vec<&'static TableSpec> {
        vec![&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH]
    }
    fn read(&self, trace: &Trace, wanted: &[&str]) -> Result<DataFrame> {
        let mut all: Option<DataFrame> = None;
        for table in self.tables() {
            let part = part(trace, table, wanted)?;
            match &mut all {
                None => all = Some(part),
                Some(all) => {
                    all.vstack_mut(&part).map_err(failed)?;
                }
            }
        }
        Ok(all.unwrap_or_default())
    }
}

/// The wanted columns of one table's rows.
fn part(trace: &Trace, table: &'static TableSpec, wanted: &[&str]) -> Result<DataFrame> {
    let source = TableSource(table);
    let own: Vec<&str> = source.columns().iter().map(|c| c.name).collect();
    // What a column of the view is made from, where it is not simply there.
    let mut needed: Vec<&str> = wanted.iter().copied().filter(|c| own.contains(c)).collect();
    let is = |other: &TableSpec| table == other;
    for column in wanted {
        needed.extend(match *column {
            "end_ns" => &["start_ns", "duration_ns"][..],
            "name" | "base_name" | "copy_kind" if is(&tables::MEMCPY) => &["kind"],
            "dst_kind" if is(&tables::MEMSET) => &["mem_kind"],
            "name" | "base_name" if is(&tables::GRAPH) => &["graph_id"],
            _ => &[],
        });
    }
    needed.sort_unstable();
    needed.dedup();
    let rows = source.read(trace, &needed)?;
    let height = rows.height();
    let mut columns = Vec::new();
    for spec in COLUMNS.iter().filter(|c| wanted.contains(&c.name)) {
        let label = |text: &str| Column::new_scalar(spec.name.into(), Scalar::from(PlSmallStr::from(text)), height);
        let from = |name: &str| rows.column(name);
        let column = match spec.name {
            "kind" => label(table.name),
            "end_ns" => from("start_ns").and_then(|start| start + from("duration_ns")?).map_err(failed)?,
            "name" | "base_name" if is(&tables::MEMCPY) => {
                let kinds = from("kind").and_then(|kinds| kinds.u32().cloned()).map_err(failed)?;
                let names: StringChunked = kinds.iter().map(|kind| kind.map(operation::memcpy_name)).collect();
                names.into_column()
            }
            "name" | "base_name" if is(&tables::MEMSET) => label(operation::MEMSET),
            "name" | "base_name" if is(&tables::GRAPH) => {
                let graphs = from("graph_id").and_then(|graphs| graphs.u32().cloned()).map_err(failed)?;
                let names: StringChunked = graphs.iter().map(|graph| graph.map(operation::graph_name)).collect();
                names.into_column()
            }
            "copy_kind" if is(&tables::MEMCPY) => from("kind")
                .and_then(|kinds| word_column("copy_kind", &memcpy_kind::VOCABULARY, kinds))
                .map_err(failed)?,
            "src_kind" | "dst_kind" if is(&tables::MEMCPY) => from(spec.name)
                .and_then(|kinds| word_column("kind", &memory_kind::VOCABULARY, kinds))
                .map_err(failed)?,
            "dst_kind" if is(&tables::MEMSET) => from("mem_kind")
                .and_then(|kinds| word_column("kind", &memory_kind::VOCABULARY, kinds))
                .map_err(failed)?,
            other if own.contains(&other) => from(other).map_err(failed)?.clone(),
            other => Column::full_null(other.into(), height, &spec.ty.data_type()),
        };
        columns.push(column.with_name(spec.name.into()));
    }
    DataFrame::new(height, columns).map_err(failed)
}
