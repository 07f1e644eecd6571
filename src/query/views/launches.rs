//! Kernels with the calls that launched them.

use super::columns::{PROCESS, frame, id_of, id64_of, ns, text, texts, time};
use crate::analysis::labels::Labels;
use crate::analysis::launches::{self, KernelLaunch, kernel_launch};
use crate::analysis::listing;
use crate::demangle::Demangling;
use crate::error::Result;
use crate::query::source::{Source, SourceColumn, Trace};
use crate::trace::select::Filter;
use polars::prelude::{Column, DataFrame};
use trace_format::schema::TableSpec;
use trace_format::tables;

/// The view.
pub struct Launches;

impl Source for Launches {
    fn name(&self) -> &'static str {
        "launches"
    }
    fn doc(&self) -> &'static str {
        "Every kernel whose launching call was recorded, joined to that call, in order of time.\nKernels of a CUDA graph share the call that launched the graph."
    }
    fn columns(&self) -> Vec<SourceColumn> {
        vec![
            PROCESS,
            id64_of(&tables::API, "correlation", "Joins the two."),
            id_of(&tables::THREAD, "tid", "Thread that called."),
            text("api", "Name of the call, without version suffix."),
            time("api_start_ns", "Start of the call."),
            ns("api_duration_ns", "Duration of the call."),
            text("name", "Kernel name, demangled."),
            text("base_name", "Kernel name without namespaces, arguments and template."),
            id_of(&tables::SHAPE, "shape_id", "Launch shape, joins with `shape.id`."),
            id_of(&tables::DEVICE, "device", "CUDA device index as the process saw it."),
            id_of(&tables::CONTEXT, "context", "CUPTI context id."),
            id_of(&tables::STREAM, "stream", "CUPTI stream id."),
            time("start_ns", "Start of the kernel."),
            ns("duration_ns", "Duration of the kernel."),
            ns("queue_ns", "From the end of the call to the start of the kernel; NULL where it did not wait."),
            ns(
                "delay_ns",
                "From the end of the call to the start of the kernel; negative where it began before the call returned.",
            ),
            ns("latency_ns", "From the start of the call to the start of the kernel."),
            ns("total_ns", "From the start of the call to the end of the later of the two."),
        ]
    }
    fn tables(&self) -> Vec<&'static TableSpec> {
        vec![&tables::API, &tables::KERNEL]
    }
    fn read(&self, trace: &Trace, wanted: &[&str]) -> Result<DataFrame> {
        let labels = Labels::new(&trace.frames, Demangling::On);
        let calls = launches::Launches::read(&trace.frames, &Filter::everything())?;
        let work = listing::work(&trace.frames, &[&tables::KERNEL], &Filter::everything())?;
        let rows: Vec<KernelLaunch> = work.iter().filter_map(|work| kernel_launch(&calls, work)).collect();
        let mut columns = Vec::new();
        for column in self.columns().iter().filter(|c| wanted.contains(&c.name)) {
            macro_rules! values {
                ($value:expr) => {
                    Column::new(column.name.into(), rows.iter().map($value).collect::<Vec<_>>())
                };
            }
            columns.push(match column.name {
                "process" => values!(|r| r.kernel.process),
                "correlation" => values!(|r| r.kernel.correlation),
                "tid" => values!(|r| r.call.tid),
                "api" => texts("api", rows.iter().map(|r| labels.api(r.call.name))),
                "api_start_ns" => values!(|r| r.call.start_ns),
                "api_duration_ns" => values!(|r| r.times.call_ns),
                "name" => texts("name", rows.iter().map(|r| labels.kernel(r.shape))),
                "base_name" => texts("base_name", rows.iter().map(|r| labels.kernel_base(r.shape))),
                "shape_id" => values!(|r| r.shape),
                "device" => values!(|r| r.kernel.device),
                "context" => values!(|r| r.kernel.context),
                "stream" => values!(|r| r.kernel.stream),
                "start_ns" => values!(|r| r.kernel.start_ns),
                "duration_ns" => values!(|r| r.times.work_ns),
                "queue_ns" => values!(|r| r.times.queue_ns()),
                "delay_ns" => values!(|r| r.times.delay_ns),
                "latency_ns" => values!(|r| r.times.latency_ns),
                _ => values!(|r| r.times.total_ns),
            });
        }
        frame(rows.len(), columns)
    }
}
