//! When nothing ran on a device.

use super::columns::{PROCESS, frame, id_of, ns, text, texts, time};
use crate::analysis::activity::{ActivityKind, GpuActivity};
use crate::analysis::labels::Labels;
use crate::analysis::listing;
use crate::cupti::operation;
use crate::demangle::Demangling;
use crate::error::Result;
use crate::query::source::{Source, SourceColumn, Trace};
use crate::trace::select::Filter;
use polars::prelude::{Column, DataFrame};
use std::collections::BTreeMap;
use std::fmt;
use trace_format::schema::TableSpec;
use trace_format::tables;

/// The view.
pub struct Gaps;

/// Time between two pieces of work; indices of the last one to end before it and the first one to start after it.
struct Gap {
    place: (u32, u32),
    start_ns: i64,
    end_ns: i64,
    before: usize,
    after: usize,
}

impl Source for Gaps {
    fn name(&self) -> &'static str {
        "gaps"
    }
    fn doc(&self) -> &'static str {
        "Idle time of each device: no kernel, copy, fill or graph of any process ran on it. In order of devices and time.\nTime before the first and after the last piece of work is no gap. One GPU seen by several processes is one device, under the first process that knows it."
    }
    fn columns(&self) -> Vec<SourceColumn> {
        vec![
            PROCESS,
            id_of(&tables::DEVICE, "device", "CUDA device index as that process saw it."),
            time("start_ns", "End of the work before."),
            time("end_ns", "Start of the work after."),
            ns("duration_ns", "How long the device was idle."),
            text("from_time", "The start, counted from the first record, as `--from` takes it."),
            text("to_time", "The end, counted from the first record, as `--to` takes it."),
            text("before", "Name of the last work to end before the gap."),
            text("after", "Name of the first work to start after it."),
        ]
    }
    fn tables(&self) -> Vec<&'static TableSpec> {
        // Times count from the first record, which may be a call.
        vec![&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH, &tables::API]
    }
    fn read(&self, trace: &Trace, _: &[&str]) -> Result<DataFrame> {
        let frames = &trace.frames;
        let labels = Labels::new(frames, Demangling::On);
        let work = listing::gpu_activities(frames, &Filter::everything(), false)?;
        let mut identities = BTreeMap::new();
        let gaps = gaps(&work, |process, device| {
            *identities.entry((process, device)).or_insert_with(|| frames.device_identity(process, device))
        });
        let first_ns = frames.time_span()?.map_or(0, |(start, _)| start);
        let after = |ns: i64| After(ns.saturating_sub(first_ns)).to_string();
        let from: Vec<String> = gaps.iter().map(|g| after(g.start_ns)).collect();
        let to: Vec<String> = gaps.iter().map(|g| after(g.end_ns)).collect();
        let name = |i: usize| match work[i].what {
            ActivityKind::Kernel { shape } => labels.kernel(shape),
            ActivityKind::Memcpy { kind, .. } => operation::memcpy_name(kind),
            ActivityKind::Graph { graph } => labels.graph(graph),
            _ => operation::MEMSET,
        };
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
            values!("duration_ns", |g| g.end_ns.saturating_sub(g.start_ns)),
            texts("from_time", from.iter().map(String::as_str)),
            texts("to_time", to.iter().map(String::as_str)),
            texts("before", gaps.iter().map(|g| name(g.before))),
            texts("after", gaps.iter().map(|g| name(g.after))),
        ];
        frame(gaps.len(), columns)
    }
}

/// The gaps in `work`, which is in order of start.
fn gaps(work: &[GpuActivity], mut identity: impl FnMut(u32, u32) -> (u32, u32)) -> Vec<Gap> {
    let mut latest: BTreeMap<(u32, u32), (i64, usize)> = BTreeMap::new();
    let mut out = Vec::new();
    for (i, activity) in work.iter().enumerate() {
        let Some(ns) = activity.duration_ns else { continue };
        let place = identity(activity.process, activity.device);
        let end_ns = activity.start_ns.saturating_add(ns);
        let (last, before) = latest.entry(place).or_insert((activity.start_ns, i));
        if activity.start_ns > *last {
            out.push(Gap { place, start_ns: *last, end_ns: activity.start_ns, before: *before, after: i });
        }
        if end_ns >= *last {
            (*last, *before) = (end_ns, i);
        }
    }
    out.sort_by_key(|gap| (gap.place, gap.start_ns));
    out
}

/// Nanoseconds after the first record, as `--from` and `--to` read them: `1.204857123s`.
struct After(i64);

impl fmt::Display for After {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let ns = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:09}s", ns / 1_000_000_000, ns % 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_they_are_read() {
        assert_eq!(After(1_204_857_123).to_string(), "1.204857123s");
        assert_eq!((After(0).to_string(), After(-5).to_string()), ("0.000000000s".into(), "-0.000000005s".into()));
    }

    fn work(device: u32, start_ns: i64, duration_ns: Option<i64>) -> GpuActivity {
        GpuActivity {
            start_ns,
            duration_ns,
            process: 0,
            device,
            context: 1,
            stream: 7,
            correlation: 0,
            graph_node: None,
            what: ActivityKind::Memset { mem_kind: 0, bytes: 0 },
        }
    }

    #[test]
    fn overlaps_nests_and_impossible_times_make_no_gap() {
        let all = [
            work(0, 0, Some(100)),
            work(1, 10, Some(10)),
            work(0, 20, Some(10)),
            work(0, 100, Some(5)),
            work(0, 120, None),
            work(1, 130, Some(1)),
            work(0, 150, Some(1)),
        ];
        let found: Vec<_> = gaps(&all, |process, device| (process, device))
            .iter()
            .map(|g| (g.place.1, g.start_ns, g.end_ns, g.before, g.after))
            .collect();
        assert_eq!(found, [(0, 105, 150, 3, 6), (1, 20, 130, 1, 5)]);
    }
}
