//! Ranges summed by domain and name.

use super::columns::{STATISTICS, frame, statistics, text, texts};
use super::ranges::style;
use crate::analysis::labels::Labels;
use crate::analysis::ranges;
use crate::analysis::stats::{Stats, Wanted};
use crate::demangle::Demangling;
use crate::error::Result;
use crate::query::source::{Source, SourceColumn, Trace};
use crate::trace::select::Filter;
use hashbrown::HashMap;
use polars::prelude::DataFrame;
use trace_format::schema::TableSpec;
use trace_format::tables;

/// The view.
pub struct RangesByName;

impl Source for RangesByName {
    fn name(&self) -> &'static str {
        "ranges_by_name"
    }
    fn doc(&self) -> &'static str {
        "Closed ranges of the program by name, domain and style, the longest total first.\nRanges nest, so their shares do not add up to the time that passed."
    }
    fn columns(&self) -> Vec<SourceColumn> {
        let own = [
            text("name", "Text of the range."),
            text("domain", "NVTX domain; NULL: the default one."),
            text("style", "`push/pop`, `start/end`, `operator` or `annotation`."),
        ];
        [&own[..], &STATISTICS].concat()
    }
    fn tables(&self) -> Vec<&'static TableSpec> {
        vec![&tables::RANGE]
    }
    fn read(&self, trace: &Trace, _: &[&str]) -> Result<DataFrame> {
        let labels = Labels::new(&trace.frames, Demangling::On);
        let mut groups: HashMap<(&str, &str, &str), Stats> = HashMap::new();
        for range in ranges::ranges(&trace.frames, &Filter::everything())? {
            if let Some(ns) = range.duration_ns() {
                let key = (labels.text(range.name), labels.text(range.domain), style(range.style));
                groups.entry(key).or_default().add(ns, Wanted { quantiles: true });
            }
        }
        let mut rows: Vec<_> = groups.into_iter().collect();
        rows.sort_unstable_by(|a, b| b.1.total_ns.cmp(&a.1.total_ns).then(a.0.cmp(&b.0)));
        let mut columns = vec![
            texts("name", rows.iter().map(|row| row.0.0)),
            texts("domain", rows.iter().map(|row| row.0.1)),
            texts("style", rows.iter().map(|row| row.0.2)),
        ];
        let mut stats: Vec<Stats> = rows.into_iter().map(|row| row.1).collect();
        columns.extend(statistics(&mut stats));
        frame(stats.len(), columns)
    }
}
