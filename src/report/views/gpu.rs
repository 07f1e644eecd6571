//! Everything the GPU did by name, with and without the calls of the API.

use super::lines::Lines;
use super::named::Named;
use super::nsys_names::KERNEL_NAMES;
use super::{api, kernels, memory};
use crate::analysis::activity::ActivityKind;
use crate::analysis::listing;
use crate::error::Result;
use crate::render::table::Table;
use crate::report::Context;
use crate::trace::sink::Detail;
use trace_format::tables;

/// `cuda_gpu_sum`.
pub(super) static CUDA_GPU_SUM: Named = Named {
    name: "cuda_gpu_sum",
    aliases: &["gpusum"],
    title: "CUDA GPU Summary (Kernels/MemOps)",
    tables: &[&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH, &tables::UVM],
    detail: Detail::Totals,
    arguments: KERNEL_NAMES,
    key: &["Category", "Operation"],
    make: |view, context| summary(view, context, false),
};

/// `cuda_api_gpu_sum`.
pub(super) static CUDA_API_GPU_SUM: Named = Named {
    name: "cuda_api_gpu_sum",
    aliases: &["apigpusum"],
    title: "CUDA Summary (API/Kernels/MemOps)",
    tables: &[&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH, &tables::UVM, &tables::API],
    detail: Detail::Totals,
    arguments: KERNEL_NAMES,
    key: &["Category", "Operation"],
    make: |view, context| summary(view, context, true),
};

fn summary(view: &Named, context: &Context, with_api: bool) -> Result<Table> {
    let mut lines = Lines::default();
    kernels::add_kernels(&mut lines, context, "CUDA_KERNEL")?;
    memory::add_operations(&mut lines, context, &["MEMORY_OPER"])?;
    for graph in listing::whole_graphs(context.frames, context.filter)? {
        if let (ActivityKind::Graph { graph }, Some(ns)) = (graph.what, graph.duration_ns) {
            lines.add(vec!["CUDA_GRAPH".to_owned(), context.labels.graph(graph).to_owned()], ns);
        }
    }
    if with_api {
        api::add_calls(&mut lines, context, &["CUDA_API"])?;
    }
    Ok(lines.table(view, "Instances", &["Category", "Operation"]))
}
