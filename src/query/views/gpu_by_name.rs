//! All GPU work summed by name, as nvprof's summary has it.

use super::columns::{STATISTICS, frame, statistics, text, texts};
use crate::analysis::grouping::{Grouping, gpu_summary};
use crate::analysis::labels::Labels;
use crate::analysis::stats::{Stats, Wanted};
use crate::demangle::Demangling;
use crate::error::Result;
use crate::query::source::{Source, SourceColumn, Trace};
use crate::trace::select::Filter;
use polars::prelude::DataFrame;
use trace_format::schema::TableSpec;
use trace_format::tables;

/// The view.
pub struct GpuByName;

impl Source for GpuByName {
    fn name(&self) -> &'static str {
        "gpu_by_name"
    }
    fn doc(&self) -> &'static str {
        "Kernels, copies and fills by name, the longest total first: the GPU activities of `gpuprof report`."
    }
    fn columns(&self) -> Vec<SourceColumn> {
        [&[text("name", "Kernel name, or `[CUDA memcpy HtoD]` and the like.")][..], &STATISTICS].concat()
    }
    fn tables(&self) -> Vec<&'static TableSpec> {
        vec![&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH]
    }
    fn read(&self, trace: &Trace, _: &[&str]) -> Result<DataFrame> {
        let labels = Labels::new(&trace.frames, Demangling::On);
        let wanted = Wanted { quantiles: true };
        let summary = gpu_summary(&labels, Grouping::default(), wanted, &Filter::everything())?;
        let (names, mut stats): (Vec<String>, Vec<Stats>) =
            summary.rows.into_iter().map(|row| (row.name, row.stats)).unzip();
        let mut columns = vec![texts("name", names.iter().map(String::as_str))];
        columns.extend(statistics(&mut stats));
        frame(names.len(), columns)
    }
}
