//! Synchronisations summed by kind.

use super::columns::{STATISTICS, frame, statistics, text, texts};
use crate::analysis::stats::{Stats, Wanted};
use crate::analysis::totals::{Split, totals};
use crate::error::Result;
use crate::query::source::{Source, SourceColumn, Trace};
use crate::trace::select::Filter;
use polars::prelude::DataFrame;
use trace_format::schema::TableSpec;
use trace_format::tables;
use trace_format::tables::column::sync;
use trace_format::vocabulary::sync_kind;

/// The view.
pub struct SyncsByKind;

impl Source for SyncsByKind {
    fn name(&self) -> &'static str {
        "syncs_by_kind"
    }
    fn doc(&self) -> &'static str {
        "Synchronisations by what was waited for, the longest total first."
    }
    fn columns(&self) -> Vec<SourceColumn> {
        [&[text("kind", "What was waited for, e.g. `stream`.")][..], &STATISTICS].concat()
    }
    fn tables(&self) -> Vec<&'static TableSpec> {
        vec![&tables::SYNC]
    }
    fn read(&self, trace: &Trace, _: &[&str]) -> Result<DataFrame> {
        let (split, wanted) = (Split::default(), Wanted { quantiles: true });
        let all = Filter::everything();
        let mut groups = totals(&trace.frames, &tables::SYNC, Some(sync::KIND), split, wanted, &all)?.groups;
        groups.sort_by(|a, b| b.stats.total_ns.cmp(&a.stats.total_ns).then(a.key.cmp(&b.key)));
        let word = |code: u32| sync_kind::VOCABULARY.text(code).into_owned();
        let words: Vec<String> = groups.iter().map(|group| word(group.key)).collect();
        let mut columns = vec![texts("kind", words.iter().map(String::as_str))];
        let mut stats: Vec<Stats> = groups.into_iter().map(|group| group.stats).collect();
        columns.extend(statistics(&mut stats));
        frame(stats.len(), columns)
    }
}
