//! Ranges of the program, closed ones in place of the open ones they replace.

use super::columns::{PROCESS, count, frame, id_of, id64, ns, text, texts, time};
use crate::analysis::labels::Labels;
use crate::analysis::ranges;
use crate::demangle::Demangling;
use crate::error::Result;
use crate::query::source::{Source, SourceColumn, Trace};
use crate::trace::select::Filter;
use polars::prelude::{Column, DataFrame};
use trace_format::schema::TableSpec;
use trace_format::tables;
use trace_format::vocabulary::range_style;

/// The view.
pub struct Ranges;

/// `range.style` in a word.
pub(super) fn style(style: u32) -> &'static str {
    range_style::VOCABULARY.word(style).unwrap_or("other")
}

impl Source for Ranges {
    fn name(&self) -> &'static str {
        "ranges"
    }
    fn doc(&self) -> &'static str {
        "Named ranges of the program in order of time: NVTX, PyTorch's operators and annotations.\nMarks and Python functions are in table `range` alone."
    }
    fn columns(&self) -> Vec<SourceColumn> {
        vec![
            PROCESS,
            id_of(&tables::THREAD, "tid", "Thread that started it."),
            text("name", "Text of the range."),
            text("domain", "NVTX domain; NULL: the default one."),
            text("style", "`push/pop`, `start/end`, `operator` or `annotation`."),
            time("start_ns", "Start."),
            time("end_ns", "End; NULL: still open when the recording ended."),
            ns("duration_ns", "End minus start; NULL while it is open."),
            count("level", "How many ranges of its thread enclose it."),
            ns("self_ns", "`duration_ns` without the ranges directly inside it; NULL while it is open."),
            id64("range_id", "The producer's number of it; 0: none."),
        ]
    }
    fn tables(&self) -> Vec<&'static TableSpec> {
        vec![&tables::RANGE]
    }
    fn read(&self, trace: &Trace, wanted: &[&str]) -> Result<DataFrame> {
        let labels = Labels::new(&trace.frames, Demangling::On);
        let rows = ranges::ranges(&trace.frames, &Filter::everything())?;
        let nests = wanted.iter().any(|name| ["level", "self_ns"].contains(name));
        let nesting = if nests { ranges::nesting(&rows) } else { Vec::new() };
        let mut columns = Vec::new();
        for column in self.columns().iter().filter(|c| wanted.contains(&c.name)) {
            macro_rules! values {
                ($value:expr) => {
                    Column::new(column.name.into(), rows.iter().map($value).collect::<Vec<_>>())
                };
            }
            let own = |(i, r): (usize, &ranges::Range)| r.duration_ns().map(|ns| ns - nesting[i].children_ns);
            columns.push(match column.name {
                "process" => values!(|r| r.process),
                "tid" => values!(|r| r.tid),
                "name" => texts("name", rows.iter().map(|r| labels.text(r.name))),
                "domain" => texts("domain", rows.iter().map(|r| labels.text(r.domain))),
                "style" => texts("style", rows.iter().map(|r| style(r.style))),
                "start_ns" => values!(|r| r.start_ns),
                "end_ns" => values!(|r| r.end_ns),
                "duration_ns" => values!(|r| r.duration_ns()),
                "level" => {
                    Column::new("level".into(), nesting.iter().map(|n| i64::from(n.level)).collect::<Vec<_>>())
                }
                "self_ns" => Column::new("self_ns".into(), rows.iter().enumerate().map(own).collect::<Vec<_>>()),
                _ => values!(|r| r.id),
            });
        }
        frame(rows.len(), columns)
    }
}
