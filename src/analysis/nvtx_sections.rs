//! What ran inside NVTX ranges: per thread, domain and range name, the GPU work that calls made there launched, and
//! those calls.

use super::activity::{ActivityKind, GpuActivity};
use super::labels::Labels;
use super::ranges::closed_later;
use super::stats::{Stats, Wanted};
use super::summary::{Summary, SummaryRow};
use super::{launches, listing};
use crate::cupti::operation;
use crate::error::Result;
use crate::trace::select::{Filter, Spans};
use crate::trace::sink::valid_duration;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;
use trace_format::tables;
use trace_format::tables::column::range;
use trace_format::vocabulary::range_style;

/// All ranges of one name in one domain on one thread.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeSection {
    /// Ordinal of the process.
    pub process: u32,
    /// Thread id.
    pub tid: u32,
    /// Thread name; empty if unnamed.
    pub thread: String,
    /// Domain; empty for the default one.
    pub domain: String,
    /// The ranges themselves. Ranges that were never closed are not in it.
    pub range: SummaryRow,
    /// GPU work launched inside.
    pub gpu: Summary,
    /// API calls made inside that launched such work; nvprof counts no others.
    pub api: Summary,
}

/// What identifies a section: process, thread, domain, name.
type Key = (u32, u32, u32, u32);

/// The ranges of one section.
#[derive(Default)]
struct Ranges {
    stats: Stats,
    spans: Spans,
    /// Whether any of them is bound to no thread (start/end ranges).
    any_thread: bool,
}

/// Sections, or that there are too many of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sections {
    /// How many there are.
    pub found: usize,
    /// The sections; none if there are more than were asked for.
    pub sections: Vec<RangeSection>,
    /// Ranges that were never closed, or closed before they began. They are in no section.
    pub unclosed: u64,
}

/// At most `most` sections, one per thread, domain and name, in that order; if there are more, only their number, and
/// what ran inside them is not even read. NVTX ranges alone (push/pop and start/end): operators and
/// annotations of other profilers have views of their own.
///
/// A call belongs to every range that was open on its thread when it began, to a start/end range of any thread; a
/// kernel belongs to the ranges of the call that launched it, wherever the range ended meanwhile.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn sections(labels: &Labels, filter: &Filter, most: usize) -> Result<Sections> {
    let frames = labels.frames();
    if frames.rows(&tables::RANGE) == 0 {
        return Ok(Sections::default());
    }
    let closed_later = closed_later(frames, filter)?;
    let (ranges, unclosed): (BTreeMap<Key, Ranges>, u64) = frames.fold(
        &tables::RANGE,
        &[
            range::START_NS,
            range::END_NS,
            range::STYLE,
            range::RANGE_ID,
            range::DOMAIN_ID,
            range::NAME_ID,
            range::TID,
        ],
        filter,
        Default::default,
        |(found, unclosed): &mut (BTreeMap<Key, Ranges>, u64), batch| {
            let (start, end) = (batch.get(range::START_NS), batch.get(range::END_NS));
            let (style, domain) = (batch.get(range::STYLE), batch.get(range::DOMAIN_ID));
            let (name, tid, id) = (batch.get(range::NAME_ID), batch.get(range::TID), batch.get(range::RANGE_ID));
            batch.for_each_row(|i| {
                let (Some(from), Some(style @ (0 | 1))) = (start.get(i), style.get(i)) else { return };
                let closed = end.get(i).and_then(|to| Some((to, valid_duration(from, to)?)));
                let Some((to, duration)) = closed else {
                    let key = (batch.process, id.get(i).unwrap_or(0));
                    *unclosed += u64::from(end.get(i).is_some() || !closed_later.contains(&key));
                    return;
                };
                let name = frames.names.first(name.get(i).unwrap_or(0));
                let key = (batch.process, tid.get(i).unwrap_or(0), domain.get(i).unwrap_or(0), name);
                let ranges = found.entry(key).or_default();
                ranges.stats.add(duration, Wanted::default());
                let offset = batch.offset_ns;
                ranges.spans.push(from.saturating_add(offset), to.saturating_add(offset));
                ranges.any_thread |= style == range_style::START_END;
            });
        },
        |(all, unclosed), (other, more)| {
            *unclosed += more;
            for (key, mut ranges) in other {
                let mine = all.entry(key).or_default();
                mine.stats.merge(ranges.stats);
                mine.spans.append(&mut ranges.spans);
                mine.any_thread |= ranges.any_thread;
            }
        },
    )?;
    // Where work was chosen, only sections that hold some of it count, and that shows after they are made.
    if ranges.is_empty() || (ranges.len() > most && !filter.chooses_work()) {
        return Ok(Sections { found: ranges.len(), sections: Vec::new(), unclosed });
    }
    let calls = listing::api_calls(frames, filter)?;
    let activities = listing::gpu_activities(frames, filter, false)?;
    let mut launched: HashMap<(u32, u64), Vec<&GpuActivity>> = HashMap::new();
    for activity in activities.iter().filter(|a| a.correlation != 0) {
        launched.entry((activity.process, activity.correlation)).or_default().push(activity);
    }
    let threads = launches::thread_names(frames)?;
    let mut out = Vec::new();
    for ((process, tid, domain, name), mut ranges) in ranges {
        ranges.spans.unite();
        let (mut gpu, mut api) = (ByName::default(), ByName::default());
        // A driver call inside a runtime call has its id, and launched nothing more.
        let mut seen = HashSet::new();
        for &(from, to) in ranges.spans.as_slice() {
            // Calls are in order of their start, so those inside a span stand together.
            let first = calls.partition_point(|c| c.start_ns < from);
            for call in calls[first..].iter().take_while(|c| c.start_ns < to) {
                if call.process != process || !(ranges.any_thread || call.tid == tid) {
                    continue;
                }
                if !launched.contains_key(&(process, call.correlation)) {
                    continue;
                }
                api.add(labels.api(call.name), call.duration_ns);
                if !seen.insert(call.correlation) {
                    continue;
                }
                for activity in launched.get(&(process, call.correlation)).into_iter().flatten() {
                    gpu.add(activity_name(labels, &activity.what), activity.duration_ns);
                }
            }
        }
        out.push(RangeSection {
            process,
            tid,
            thread: threads.get(&(process, tid)).map_or(String::new(), |&id| labels.text(id).to_owned()),
            domain: labels.text(domain).to_owned(),
            range: SummaryRow::new(labels.text(name), ranges.stats),
            gpu: gpu.into_summary(),
            api: api.into_summary(),
        });
    }
    // Ranges have no kernel, device or stream to be chosen by: those count in which something was chosen.
    out.retain(|s| !filter.chooses_work() || !s.gpu.rows.is_empty() || !s.api.rows.is_empty());
    // The domain without a name comes last.
    out.sort_by(|a, b| {
        let key = |s: &RangeSection| (s.process, s.tid, s.domain.is_empty());
        key(a).cmp(&key(b)).then_with(|| (&a.domain, &a.range.name).cmp(&(&b.domain, &b.range.name)))
    });
    let found = out.len();
    if found > most {
        out.clear();
    }
    Ok(Sections { found, sections: out, unclosed })
}

fn activity_name<'a>(labels: &'a Labels, what: &ActivityKind) -> &'a str {
    match what {
        ActivityKind::Kernel { shape } => labels.kernel(*shape),
        ActivityKind::Memcpy { kind, .. } => operation::memcpy_name(*kind),
        ActivityKind::Graph { graph } => labels.graph(*graph),
        ActivityKind::Memset { .. } | ActivityKind::Uvm { .. } => operation::MEMSET,
    }
}

#[derive(Default)]
struct ByName<'a>(HashMap<&'a str, Stats>, u64);

impl<'a> ByName<'a> {
    fn add(&mut self, name: &'a str, duration_ns: Option<i64>) {
        match duration_ns {
            Some(ns) => self.0.entry(name).or_default().add(ns, Wanted::default()),
            None => self.1 += 1,
        }
    }

    fn into_summary(self) -> Summary {
        let rows = self.0.into_iter().map(|(name, stats)| SummaryRow::new(name, stats)).collect();
        let mut summary = Summary { rows, invalid: self.1 };
        summary.sort();
        summary
    }
}
