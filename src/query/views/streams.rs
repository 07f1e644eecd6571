//! Streams and how busy they were.

use super::columns::{PROCESS, count, frame, id_of, ns, plain, text, texts, time};
use crate::analysis::labels::Labels;
use crate::analysis::listing;
use crate::demangle::Demangling;
use crate::error::Result;
use crate::query::source::{Source, SourceColumn, Trace, Type};
use crate::trace::select::Filter;
use polars::prelude::{Column, DataFrame};
use std::collections::BTreeMap;
use trace_format::schema::TableSpec;
use trace_format::tables;

/// The view.
pub struct Streams;

/// What ran on one stream.
#[derive(Default)]
struct Lane {
    count: i64,
    busy_ns: i64,
    first_ns: Option<i64>,
    last_ns: i64,
    /// The priority, which rows of `stream` have.
    priority: Option<i64>,
    name: u32,
}

/// Process, device, context, stream.
type StreamKey = (u32, u32, u32, u32);

impl Source for Streams {
    fn name(&self) -> &'static str {
        "streams"
    }
    fn doc(&self) -> &'static str {
        "Streams on which work ran, with how long they were busy.\n`busy_ns` counts time once where work of one stream overlaps, as work of one graph can."
    }
    fn columns(&self) -> Vec<SourceColumn> {
        vec![
            PROCESS,
            id_of(&tables::DEVICE, "device", "CUDA device index as the process saw it."),
            id_of(&tables::CONTEXT, "context", "CUPTI context id."),
            id_of(&tables::STREAM, "stream", "CUPTI stream id, unique in its context."),
            text("name", "Name given by the program."),
            plain("priority", Type::Int, "Priority; lower numbers go first."),
            count("count", "Kernels, copies, fills and graphs traced whole, with valid times."),
            ns("busy_ns", "Time in which one of them ran."),
            time("first_start_ns", "Start of the first."),
            time("last_end_ns", "End of the last."),
        ]
    }
    fn tables(&self) -> Vec<&'static TableSpec> {
        vec![&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH, &tables::STREAM]
    }
    fn read(&self, trace: &Trace, _: &[&str]) -> Result<DataFrame> {
        let frames = &trace.frames;
        let labels = Labels::new(frames, Demangling::On);
        let mut lanes: BTreeMap<StreamKey, Lane> = BTreeMap::new();
        for work in listing::gpu_activities(frames, &Filter::everything(), false)? {
            let Some(ns) = work.duration_ns else { continue };
            let end_ns = work.start_ns.saturating_add(ns);
            let lane = lanes.entry((work.process, work.device, work.context, work.stream)).or_default();
            // Work comes in order of start.
            let from_ns = lane.first_ns.map_or(work.start_ns, |_| work.start_ns.max(lane.last_ns));
            lane.last_ns = lane.first_ns.map_or(end_ns, |_| lane.last_ns.max(end_ns));
            lane.first_ns.get_or_insert(work.start_ns);
            lane.count += 1;
            lane.busy_ns = lane.busy_ns.saturating_add(end_ns.saturating_sub(from_ns).max(0));
        }
        let rows = frames.read(&tables::STREAM, &["context", "stream", "priority", "name_id"])?;
        let mut described: BTreeMap<(u32, u32, u32), (Option<i64>, u32)> = BTreeMap::new();
        let failed = super::columns::failed;
        let ids = |name: &str| rows.column(name).and_then(|c| c.u32().cloned()).map_err(failed);
        let (process, context, stream, name) = (ids("process")?, ids("context")?, ids("stream")?, ids("name_id")?);
        let priority = rows.column("priority").and_then(|c| c.i64().cloned()).map_err(failed)?;
        for i in 0..rows.height() {
            if let (Some(process), Some(context), Some(stream)) = (process.get(i), context.get(i), stream.get(i)) {
                let known = described.entry((process, context, stream)).or_default();
                // A stream is described again when it is named.
                known.0 = priority.get(i).or(known.0);
                known.1 = name.get(i).filter(|id| *id != 0).unwrap_or(known.1);
            }
        }
        for ((process, _, context, stream), lane) in &mut lanes {
            if let Some((priority, name)) = described.get(&(*process, *context, *stream)) {
                (lane.priority, lane.name) = (*priority, *name);
            }
        }
        macro_rules! values {
            ($name:literal, $value:expr) => {
                Column::new($name.into(), lanes.iter().map($value).collect::<Vec<_>>())
            };
        }
        let columns = vec![
            values!("process", |(place, _)| place.0),
            values!("device", |(place, _)| place.1),
            values!("context", |(place, _)| place.2),
            values!("stream", |(place, _)| place.3),
            texts("name", lanes.values().map(|lane| labels.text(lane.name))),
            values!("priority", |(_, lane)| lane.priority),
            values!("count", |(_, lane)| lane.count),
            values!("busy_ns", |(_, lane)| lane.busy_ns),
            values!("first_start_ns", |(_, lane)| lane.first_ns),
            values!("last_end_ns", |(_, lane)| lane.last_ns),
        ];
        frame(lanes.len(), columns)
    }
}
