//! Kernels summed by name.

use super::columns::{STATISTICS, frame, statistics, text, texts};
use crate::analysis::labels::Labels;
use crate::analysis::stats::{Stats, Wanted};
use crate::analysis::totals::{Split, kernel_totals};
use crate::demangle::{Demangling, base_name};
use crate::error::Result;
use crate::query::source::{Source, SourceColumn, Trace};
use crate::trace::select::Filter;
use hashbrown::HashMap;
use polars::prelude::DataFrame;
use trace_format::schema::TableSpec;
use trace_format::tables;

/// The view.
pub struct KernelsByName;

impl Source for KernelsByName {
    fn name(&self) -> &'static str {
        "kernels_by_name"
    }
    fn doc(&self) -> &'static str {
        "Kernels by demangled name, the longest total first, with exact percentiles."
    }
    fn columns(&self) -> Vec<SourceColumn> {
        let names = [
            text("name", "Kernel name, demangled."),
            text("base_name", "Without namespaces, arguments and template."),
        ];
        [&names[..], &STATISTICS].concat()
    }
    fn tables(&self) -> Vec<&'static TableSpec> {
        vec![&tables::KERNEL]
    }
    fn read(&self, trace: &Trace, _: &[&str]) -> Result<DataFrame> {
        let labels = Labels::new(&trace.frames, Demangling::On);
        let (split, wanted) = (Split::default(), Wanted { quantiles: true });
        let totals = kernel_totals(&trace.frames, split, wanted, &Filter::everything())?;
        // Kernels that differ in the file may read the same.
        let mut by_name: HashMap<&str, Stats> = HashMap::new();
        for group in totals.groups {
            by_name.entry(labels.kernel(group.key)).or_default().merge(group.stats);
        }
        let mut rows: Vec<(&str, Stats)> = by_name.into_iter().collect();
        rows.sort_unstable_by(|a, b| b.1.total_ns.cmp(&a.1.total_ns).then(a.0.cmp(b.0)));
        let (names, mut stats): (Vec<&str>, Vec<Stats>) = rows.into_iter().unzip();
        let mut columns = vec![
            texts("name", names.iter().copied()),
            texts("base_name", names.iter().map(|name| base_name(name))),
        ];
        columns.extend(statistics(&mut stats));
        frame(names.len(), columns)
    }
}
