//! When nothing ran on a device, and why.

use super::columns::{PROCESS, frame, id_of, ns, text, texts, time};
use crate::analysis::gap_causes::{Gap, as_option, each_gap};
use crate::analysis::labels::Labels;
use crate::demangle::Demangling;
use crate::error::Result;
use crate::query::source::{Source, SourceColumn, Trace};
use crate::trace::select::Filter;
use polars::prelude::{Column, DataFrame};
use trace_format::schema::TableSpec;
use trace_format::tables;

/// The view.
pub struct Gaps;

impl Source for Gaps {
    fn name(&self) -> &'static str {
        "gaps"
    }
    fn doc(&self) -> &'static str {
        "Idle time of each device: no kernel, copy, fill or graph of any process ran on it. In order of devices and time.\nTime before the first and after the last piece of work is no gap. One GPU seen by several processes is one device, under the first process that knows it.\nThe cause is what the thread that launched the next work did for most of the gap: `host` (outside of CUDA), `synchronization` (it had waited for the device), `launch` (it launched one piece of work after the other), `blocking copy`, `asynchronous copy`, `allocation`, `module loading`, `other call`; `device`: the work was launched in time and held back on the device; `not recorded`: the recording was off; `unknown`: the call was not recorded."
    }
    fn columns(&self) -> Vec<SourceColumn> {
        vec![
            PROCESS,
            id_of(&tables::DEVICE, "device", "CUDA device index as that process saw it."),
            time("start_ns", "End of the work before."),
            time("end_ns", "Start of the work after."),
            ns("duration_ns", "How long the device was idle."),
            text("cause", "Why, as said above."),
            text("from_time", "The start, counted from the first record, as `--from` takes it."),
            text("to_time", "The end, counted from the first record, as `--to` takes it."),
            text("before", "Name of the last work to end before the gap."),
            text("after", "Name of the first work to start after it."),
        ]
    }
    fn tables(&self) -> Vec<&'static TableSpec> {
        // Times count from the first record, which may be a call; calls say the cause.
        vec![&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH, &tables::API, &tables::CAPTURE]
    }
    fn read(&self, trace: &Trace, _: &[&str]) -> Result<DataFrame> {
        let frames = &trace.frames;
        let labels = Labels::new(frames, Demangling::On);
        let mut gaps: Vec<Gap> = Vec::new();
        each_gap(frames, &Filter::everything(), |gap| gaps.push(gap))?;
        gaps.sort_by_key(|gap| (gap.place, gap.start_ns));
        let first_ns = frames.time_span()?.map_or(0, |(start, _)| start);
        let after = |ns: i64| as_option(ns.saturating_sub(first_ns));
        let from: Vec<String> = gaps.iter().map(|g| after(g.start_ns)).collect();
        let to: Vec<String> = gaps.iter().map(|g| after(g.end_ns)).collect();
        macro_rules! values {
            ($name:literal, $value:expr) => {
                Column::new($name.into(), gaps.iter().map($value).collect::<Vec<_>>())
            };
        }
        let columns = vec![
            values!("process", |g| g.place.0),
            values!("device", |g| g.place.1),
            values!("start_ns", |g| g.start_ns),
            values!("end_ns", |g| g.end_ns),
            values!("duration_ns", |g| g.duration_ns()),
            texts("cause", gaps.iter().map(|g| g.cause.name())),
            texts("from_time", from.iter().map(String::as_str)),
            texts("to_time", to.iter().map(String::as_str)),
            texts("before", gaps.iter().map(|g| g.before.kind.name(&labels))),
            texts("after", gaps.iter().map(|g| g.after.kind.name(&labels))),
        ];
        frame(gaps.len(), columns)
    }
}
