//! Which rows take part: the filters of the command line, resolved against one set of traces.

mod in_range;
mod judge;
mod resolve;
mod runtime_calls;
mod selection;

pub use in_range::{Spans, name_pattern};
pub use selection::Selection;

use super::frames::Frames;
use super::sampling::Sampling;
use in_range::InRange;
use runtime_calls::RuntimeCalls;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex};
use trace_format::schema::TableSpec;

/// A correlation id of one process. 0 is none, and never in a set of launches: it would join what has nothing in common.
type Launch = (u32, u64);

/// A selection made ready to judge rows ([`Filter::resolve`], [`Filter::apply`]).
#[derive(Clone, Default)]
pub struct Filter {
    selection: Selection,
    /// Which processes are selected, by ordinal; empty means all.
    process: Vec<bool>,
    /// Which launch shapes are selected, by id; empty means all.
    shape: Vec<bool>,
    /// The wanted range; `None`: no range was asked for.
    in_range: Option<Arc<InRange>>,
    /// By name id, whether an API call of that name is wanted; empty: all are.
    api: Vec<bool>,
    /// Calls of a wanted name, which select the GPU work; `None`: GPU work is not restricted so.
    called: Option<Arc<HashSet<Launch>>>,
    /// Launches of selected GPU work, which select the API calls; `None`: API calls are not restricted so.
    launched: Option<Arc<HashSet<Launch>>>,
    /// Ids of the runtime's calls, whose driver calls are left out; `None`: they are not.
    runtime_calls: Option<Arc<RuntimeCalls>>,
    /// Of each process, the least and the greatest correlation id of what is selected: rows that have no time of their
    /// own, such as the stack of a launch, are selected between them. `None`: they are judged like all others.
    referred: Option<Arc<BTreeMap<u32, (u64, u64)>>>,
    /// Selected rows without valid times by table number, for the tables whose durations have been read with this
    /// filter: who wants to know afterwards need not read them again.
    without_times: Arc<Mutex<BTreeMap<u16, u64>>>,
    /// What the selected records stand for, where only some of a program's steps were recorded and that is wanted.
    sampling: Option<Arc<Sampling>>,
}

impl Filter {
    /// A filter that selects everything.
    pub fn everything() -> Self {
        Filter::default()
    }

    /// The same selection without rows that took no time.
    pub fn without_instants(mut self) -> Filter {
        self.selection.min_duration_ns = Some(self.selection.min_duration_ns.unwrap_or(0).max(1));
        self.without_times = Arc::default();
        self
    }

    /// Whether every row is selected.
    pub fn is_everything(&self) -> bool {
        self.selection.is_everything() && self.runtime_calls.is_none()
    }

    /// From when, and up to when, rows are selected by their start.
    pub fn times(&self) -> (Option<i64>, Option<i64>) {
        (self.selection.from_ns, self.selection.to_ns)
    }

    /// Whether rows are chosen by something that calls and GPU work have, and ranges of the program have not.
    pub fn chooses_work(&self) -> bool {
        self.selection.needs_correlation()
    }

    /// Whether of the selected times and processes every record takes part, so that what lies between two records is known.
    pub fn takes_whole_stretches(&self) -> bool {
        let s = &self.selection;
        !s.needs_correlation() && s.min_duration_ns.is_none() && s.top_kernels.is_none()
    }

    /// When a range that was asked for was open, in whichever process, on the clock of [`Frames::offset_ns`]; `None`:
    /// no range was asked for.
    pub fn range_times(&self, frames: &Frames) -> Option<Spans> {
        let range = self.in_range.as_ref()?;
        let mut spans = Spans::default();
        for ((process, _), open) in &range.open {
            let offset_ns = frames.offset_ns(*process);
            for (start, end) in open.as_slice() {
                spans.push(start.saturating_add(offset_ns), end.saturating_add(offset_ns));
            }
        }
        spans.unite();
        Some(spans)
    }

    /// Launches that fall into the time of a range that was asked for and were made by other threads than its own.
    pub fn launches_of_other_threads(&self) -> u64 {
        self.in_range.as_ref().map_or(0, |range| range.of_other_threads)
    }

    /// A filter that selects everything of the processes that this one looks into.
    pub fn whole_processes(&self) -> Filter {
        Filter { process: self.process.clone(), ..Filter::default() }
    }

    /// Restricts the selection to one process.
    pub fn within_process(&self, process: u32) -> Filter {
        self.within_processes(&BTreeSet::from([process]))
    }

    /// Restricts the selection to some processes.
    pub fn within_processes(&self, processes: &BTreeSet<u32>) -> Filter {
        let mut only = vec![false; processes.last().map_or(1, |last| *last as usize + 1)];
        processes.iter().for_each(|process| only[*process as usize] = self.takes_process(*process));
        Filter { process: only, without_times: Arc::default(), ..self.clone() }
    }

    /// Selected rows of `table` without valid times, if their durations have been read with this filter.
    pub fn rows_without_times(&self, table: &TableSpec) -> Option<u64> {
        self.without_times.lock().unwrap_or_else(|e| e.into_inner()).get(&table.id).copied()
    }

    /// Notes what [`Filter::rows_without_times`] gives.
    pub(super) fn found_without_times(&self, table: &TableSpec, rows: u64) {
        self.without_times.lock().unwrap_or_else(|e| e.into_inner()).insert(table.id, rows);
    }

    /// What the selected records stand for.
    pub fn sampling(&self) -> Option<&Arc<Sampling>> {
        self.sampling.as_ref()
    }

    /// Whether rows of this process can be selected at all.
    pub fn takes_process(&self, process: u32) -> bool {
        self.process.is_empty() || self.process.get(process as usize).copied().unwrap_or(false)
    }

    /// This filter for samples, which the launcher took of all processes: [`Filter::takes_pid`] judges whose they are.
    pub fn for_samples(&self) -> Filter {
        Filter { process: Vec::new(), ..self.clone() }
    }

    /// Whether samples of the process with this number take part.
    pub fn takes_pid(&self, pid: u32) -> bool {
        self.selection.pids.is_empty() || self.selection.pids.contains(&pid)
    }
}
