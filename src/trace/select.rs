//! Which rows take part: the filters of the command line, resolved against one set of traces.

mod in_range;
mod runtime_calls;

pub use in_range::Spans;

use super::batch::Batch;
use super::frames::Frames;
use super::sampling::Sampling;
use super::stored_shapes::Kernel;
use crate::cupti::strip_version;
use crate::error::Result;
use in_range::InRange;
use regex::Regex;
use runtime_calls::RuntimeCalls;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};
use trace_format::schema::{AnyColumn, Role, TableSpec};
use trace_format::tables;
use trace_format::tables::column::{any, api, kernel};
use trace_format::vocabulary::api_domain::RUNTIME;

/// What the user asked for. The default selects everything.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Kernels whose demangled name matches, and the calls that launched them.
    pub kernel_name: Option<Regex>,
    /// API calls whose name matches, and the GPU work that they launched.
    pub api_name: Option<Regex>,
    /// Kernels whose demangled name matches, the calls that launched them, and API calls whose name matches.
    pub kernel_or_api: Option<Regex>,
    /// Device indices; empty: all.
    pub devices: Vec<u32>,
    /// Stream ids; empty: all.
    pub streams: Vec<u32>,
    /// Processes by pid; empty: all.
    pub pids: Vec<u32>,
    /// Processes by rank; empty: all.
    pub ranks: Vec<u32>,
    /// Rows that start at this time or later, in the trace's own time.
    pub from_ns: Option<i64>,
    /// Rows that start before this time.
    pub to_ns: Option<i64>,
    /// API calls made inside a range of this name, and the GPU work they launched. In the name `*` stands for anything.
    pub range: Option<String>,
    /// Rows that last so long or longer. Rows without a duration are no part of this question and stay.
    pub min_duration_ns: Option<i64>,
    /// Of the kernels, those of so many names with the most time.
    pub top_kernels: Option<usize>,
}

impl Selection {
    /// Whether rows are chosen by something that only GPU work has.
    fn by_gpu_property(&self) -> bool {
        self.kernel_pattern().is_some() || !self.devices.is_empty() || !self.streams.is_empty()
    }

    /// What names of kernels have to match.
    fn kernel_pattern(&self) -> Option<&Regex> {
        self.kernel_name.as_ref().or(self.kernel_or_api.as_ref())
    }

    /// Whether every row is selected.
    pub fn is_everything(&self) -> bool {
        !self.by_gpu_property()
            && self.api_name.is_none()
            && self.pids.is_empty()
            && self.ranks.is_empty()
            && self.from_ns.is_none()
            && self.to_ns.is_none()
            && self.range.is_none()
            && self.min_duration_ns.is_none()
            && self.top_kernels.is_none()
    }

    /// Whether resolving needs the API calls and their correlation ids, beyond what a summary needs.
    pub fn needs_correlation(&self) -> bool {
        self.by_gpu_property() || self.api_name.is_some() || self.range.is_some()
    }
}

/// A correlation id of one process. 0 is none, and never in a set of launches: it would join what has nothing in common.
type Launch = (u32, u64);

/// A selection made ready to judge rows.
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

    /// Resolves `selection`; `kernel_text` gives the name of a kernel as it is printed.
    ///
    /// A filter on kernels, devices or streams keeps those API calls that launched the work it selects: a call has
    /// no device of its own. A range keeps the calls made inside it, on its thread for push/pop ranges, and the
    /// work they launched.
    ///
    /// # Errors
    /// Whatever reading the traces meets.
    pub fn resolve(
        selection: Selection,
        frames: &Frames,
        kernel_text: impl Fn(Kernel) -> String,
    ) -> Result<Filter> {
        let mut filter = Filter::default();
        if !selection.pids.is_empty() || !selection.ranks.is_empty() {
            filter.process = frames
                .processes
                .iter()
                .map(|p| {
                    let by_pid =
                        selection.pids.is_empty() || p.info.pid.is_some_and(|v| selection.pids.contains(&v));
                    let by_rank =
                        selection.ranks.is_empty() || p.info.rank.is_some_and(|v| selection.ranks.contains(&v));
                    by_pid && by_rank
                })
                .collect();
        }
        if let Some(pattern) = selection.api_name.as_ref().or(selection.kernel_or_api.as_ref()) {
            let names = 0..frames.names.len() as u32;
            filter.api = names.map(|id| pattern.is_match(strip_version(&frames.names.text(id)))).collect();
        }
        if let Some(pattern) = selection.kernel_pattern() {
            let kernels: Vec<bool> =
                frames.kernels().iter().map(|kernel| pattern.is_match(&kernel_text(*kernel))).collect();
            filter.shape = shapes_of(frames, &kernels);
        }
        if let Some(name) = &selection.range {
            filter.in_range = Some(Arc::new(InRange::find(frames, name)?));
        }
        let by_gpu = selection.by_gpu_property();
        filter.selection = selection;
        if filter.selection.api_name.is_some() {
            filter.called = Some(Arc::new(filter.calls_of_wanted_names(frames)?));
        }
        if let Some(most) = filter.selection.top_kernels {
            filter.shape = top_kernels(frames, &filter, most, kernel_text)?;
        }
        if by_gpu {
            let mut launched = HashSet::new();
            for table in [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH] {
                let found = frames.fold(
                    table,
                    &[any::CORRELATION],
                    &filter,
                    HashSet::new,
                    |set: &mut HashSet<Launch>, batch| {
                        let correlation = batch.get(any::CORRELATION);
                        batch.for_each_row(|i| {
                            set.extend(correlation.get(i).filter(|&c| c != 0).map(|c| (batch.process, c)));
                        });
                    },
                    |a, b| a.extend(b),
                )?;
                launched.extend(found);
            }
            filter.launched = Some(Arc::new(launched));
        }
        // What was found while the filter was half made is not about it.
        filter.without_times = Arc::default();
        Ok(filter)
    }

    fn calls_of_wanted_names(&self, frames: &Frames) -> Result<HashSet<Launch>> {
        frames.fold(
            &tables::API,
            &[api::NAME_ID, api::CORRELATION],
            &Filter::everything(),
            HashSet::new,
            |set: &mut HashSet<Launch>, batch| {
                let (name, correlation) = (batch.get(api::NAME_ID), batch.get(api::CORRELATION));
                batch.for_each_row(|i| {
                    if self.wants_call(name.get(i)) {
                        set.extend(correlation.get(i).filter(|&c| c != 0).map(|c| (batch.process, c)));
                    }
                });
            },
            |a, b| a.extend(b),
        )
    }

    /// Whether a call of this name is one of those that were asked for by name.
    fn wants_call(&self, name: Option<u32>) -> bool {
        name.is_some_and(|id| self.api.get(id as usize).copied().unwrap_or(false))
    }

    /// The same selection without the driver calls that the runtime made for its own calls, as nvprof recorded none. They
    /// have the correlation id of the runtime's call.
    ///
    /// # Errors
    /// A part of a file that cannot be read.
    pub fn without_nested_calls(mut self, frames: &Frames) -> Result<Filter> {
        self.runtime_calls = None;
        let calls = frames.fold(
            &tables::API,
            &[api::DOMAIN, api::CORRELATION],
            &self,
            RuntimeCalls::default,
            |calls, batch| {
                let (domain, correlation) = (batch.get(api::DOMAIN), batch.get(api::CORRELATION));
                batch.for_each_row(|i| {
                    if let (Some(RUNTIME), Some(id)) = (domain.get(i), correlation.get(i)) {
                        calls.insert(batch.process, id);
                    }
                });
            },
            RuntimeCalls::merge,
        )?;
        self.runtime_calls = Some(Arc::new(calls));
        self.without_times = Arc::default();
        Ok(self)
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

    /// The same selection with the rows that belong to what it selects and have no time of their own: ids of operators
    /// and stacks of launches, which only their correlation ids tie to a call. Ids rise with time, so those between
    /// the least and the greatest are taken: a few too many, in memory that does not grow with the trace.
    ///
    /// # Errors
    /// A part of a file that cannot be read.
    pub fn with_what_refers(mut self, frames: &Frames) -> Result<Filter> {
        let refers = |table: &&&TableSpec| refers_only(table) && frames.rows(table) > 0;
        if self.is_everything() || !tables::ALL.iter().any(|table| refers(&table)) {
            return Ok(self);
        }
        let mut referred: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        let widen = |all: &mut BTreeMap<u32, (u64, u64)>, process: u32, (least, greatest): (u64, u64)| {
            let span = all.entry(process).or_insert((least, greatest));
            *span = (span.0.min(least), span.1.max(greatest));
        };
        for table in [&tables::API, &tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH] {
            let found = frames.fold(
                table,
                &[any::CORRELATION],
                &self,
                BTreeMap::new,
                |spans, batch| {
                    let correlation = batch.get(any::CORRELATION);
                    batch.for_each_row(|i| {
                        if let Some(id) = correlation.get(i).filter(|&id| id != 0) {
                            widen(spans, batch.process, (id, id));
                        }
                    });
                },
                |all, more| more.into_iter().for_each(|(process, span)| widen(all, process, span)),
            )?;
            found.into_iter().for_each(|(process, span)| widen(&mut referred, process, span));
        }
        self.referred = Some(Arc::new(referred));
        self.without_times = Arc::default();
        Ok(self)
    }

    /// From when, and up to when, rows are selected by their start.
    pub fn times(&self) -> (Option<i64>, Option<i64>) {
        (self.selection.from_ns, self.selection.to_ns)
    }

    /// Whether rows are chosen by something that calls and GPU work have, and ranges of the program have not.
    pub fn chooses_work(&self) -> bool {
        self.selection.needs_correlation()
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

    /// Restricts the selection to one process.
    pub fn within_process(&self, process: u32) -> Filter {
        let taken = self.takes_process(process);
        let mut only = vec![false; process as usize + 1];
        only[process as usize] = taken;
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

    /// The filter, under which sums stand for all steps of the program and not for the recorded ones alone. What selects by
    /// time selects some of the steps, whose sums are what they are.
    ///
    /// # Errors
    /// A part of a file that cannot be read.
    pub fn standing_for_all(mut self, frames: &Frames) -> Result<Filter> {
        let is_by_time = self.selection.from_ns.is_some() || self.selection.to_ns.is_some();
        if !is_by_time && self.in_range.is_none() {
            self.sampling = Sampling::of(frames)?;
        }
        Ok(self)
    }

    /// What the selected records stand for.
    pub fn sampling(&self) -> Option<&Arc<Sampling>> {
        self.sampling.as_ref()
    }

    /// Whether rows of this process can be selected at all.
    pub fn takes_process(&self, process: u32) -> bool {
        self.process.is_empty() || self.process.get(process as usize).copied().unwrap_or(false)
    }

    /// The columns of `table` that judging its rows needs.
    pub fn columns(&self, table: &TableSpec) -> Vec<&'static str> {
        let s = &self.selection;
        let mut out = Vec::new();
        let mut need = |wanted: bool, column: &dyn AnyColumn| {
            if wanted && table.column_index(column.name()).is_some() {
                out.push(column.name());
            }
        };
        need(s.from_ns.is_some() || s.to_ns.is_some() || s.min_duration_ns.is_some(), any::START_NS);
        need(s.min_duration_ns.is_some(), any::DURATION_NS);
        need(s.min_duration_ns.is_some(), any::END_NS);
        need(!s.devices.is_empty(), any::DEVICE);
        need(!s.streams.is_empty(), any::STREAM);
        need(!self.shape.is_empty(), kernel::SHAPE_ID);
        let by_launch = self.in_range.is_some()
            || self.launched.is_some()
            || self.called.is_some()
            || (self.referred.is_some() && refers_only(table));
        need(by_launch, any::CORRELATION);
        if table == &tables::API {
            need(!self.api.is_empty(), api::NAME_ID);
            need(self.in_range.is_some(), api::START_NS);
            need(self.in_range.is_some(), api::TID);
            need(self.runtime_calls.is_some(), api::CORRELATION);
            need(self.runtime_calls.is_some(), api::DOMAIN);
        }
        out
    }

    /// This filter for samples, which the launcher took of all processes: [`Filter::takes_pid`] judges whose they are.
    pub fn for_samples(&self) -> Filter {
        Filter { process: Vec::new(), ..self.clone() }
    }

    /// Whether samples of the process with this number take part.
    pub fn takes_pid(&self, pid: u32) -> bool {
        self.selection.pids.is_empty() || self.selection.pids.contains(&pid)
    }

    /// Marks the selected rows of `batch`, unless that is all of them.
    pub fn apply(&self, table: &TableSpec, batch: &mut Batch) {
        let s = &self.selection;
        // Which clock the trace has is true of any piece of it.
        if table == &tables::CLOCK {
            return;
        }
        if let Some(referred) = self.referred.as_ref().filter(|_| refers_only(table)) {
            let (span, correlation) = (referred.get(&batch.process), batch.get(any::CORRELATION));
            let within = |id: u64| span.is_some_and(|&(least, greatest)| (least..=greatest).contains(&id));
            let kept =
                (0..batch.rows as u32).filter(|&i| correlation.get(i as usize).is_some_and(within)).collect();
            batch.selected = Some(kept);
            return;
        }
        let is_kernel = table == &tables::KERNEL;
        let is_api = table == &tables::API;
        let by_time = s.from_ns.is_some() || s.to_ns.is_some();
        let by_device = !s.devices.is_empty() && table.column_index(any::DEVICE.name()).is_some();
        let by_stream = !s.streams.is_empty() && table.column_index(any::STREAM.name()).is_some();
        let has_launch = table.column_index(any::CORRELATION.name()).is_some();
        let has_name_filter = s.kernel_pattern().is_some();
        if has_name_filter && !is_kernel && !is_api && has_launch {
            // Copies and fills have no kernel name, so none of them matches one.
            batch.selected = Some(Vec::new());
            return;
        }
        let launched = self.launched.as_ref().filter(|_| is_api);
        let called = self.called.as_ref().filter(|_| !is_api && has_launch);
        let by_call = is_api && !self.api.is_empty();
        let in_range = self.in_range.as_ref().filter(|_| has_launch);
        let by_name = !self.shape.is_empty() && is_kernel;
        let by_duration = s.min_duration_ns.is_some();
        let runtime_calls = self.runtime_calls.as_ref().filter(|_| is_api);
        let restricted = by_duration
            || by_time
            || by_device
            || by_stream
            || by_name
            || launched.is_some()
            || called.is_some()
            || by_call
            || in_range.is_some()
            || runtime_calls.is_some();
        if !restricted {
            return;
        }
        let (start, device, stream) = (batch.get(any::START_NS), batch.get(any::DEVICE), batch.get(any::STREAM));
        let correlation = batch.get(any::CORRELATION);
        let shape = is_kernel.then(|| batch.get(kernel::SHAPE_ID));
        let (name, tid) = (batch.get(any::NAME_ID), batch.get(any::TID));
        let domain = is_api.then(|| batch.get(api::DOMAIN));
        let (duration, end) = (batch.get(any::DURATION_NS), batch.get(any::END_NS));
        let lasts = |i: usize| duration.get(i).or_else(|| Some(end.get(i)?.saturating_sub(start.get(i)?)));
        // What was lost or remarked at no known time may concern any piece of the trace.
        let stays_without_time = table.role == Role::Meta;
        let keeps = |i: usize| {
            let launch = || correlation.get(i).map(|c| (batch.process, c));
            let in_time = !by_time
                || start.get(i).map_or(stays_without_time, |t| {
                    let t = t.saturating_add(batch.offset_ns);
                    s.from_ns.is_none_or(|from| from <= t) && s.to_ns.is_none_or(|to| t < to)
                });
            in_time
                && s.min_duration_ns.is_none_or(|least| lasts(i).is_none_or(|ns| ns >= least))
                && (!by_device || device.get(i).is_some_and(|d| s.devices.contains(&d)))
                && (!by_stream || stream.get(i).is_some_and(|v| s.streams.contains(&v)))
                && (!by_name
                    || shape
                        .and_then(|shape| shape.get(i))
                        .is_some_and(|id| self.shape.get(id as usize).copied().unwrap_or(false)))
                && called.is_none_or(|set| launch().is_some_and(|l| set.contains(&l)))
                && (!is_api || {
                    let launches = || launched.is_none_or(|set| launch().is_some_and(|l| set.contains(&l)));
                    match (by_call, s.kernel_or_api.is_some()) {
                        (false, _) => launches(),
                        // One expression for both kinds of names: either may match.
                        (true, true) => self.wants_call(name.get(i)) || launches(),
                        (true, false) => self.wants_call(name.get(i)) && launches(),
                    }
                })
                && runtime_calls.is_none_or(|calls| {
                    domain.and_then(|domain| domain.get(i)) == Some(RUNTIME)
                        || !launch().is_some_and(|(process, id)| calls.contains(process, id))
                })
                && in_range.is_none_or(|range| match is_api {
                    true => start.get(i).is_some_and(|at| range.holds_call(batch.process, tid.get(i), at)),
                    false => launch().is_some_and(|l| range.launches.contains(&l)),
                })
        };
        let kept = (0..batch.rows as u32).filter(|&i| keeps(i as usize)).collect();
        batch.selected = Some(kept);
    }
}

/// Whether rows of `table` have no time, and a correlation id alone says what they belong to.
fn refers_only(table: &TableSpec) -> bool {
    table.role == Role::Activity
        && table.column_index(any::START_NS.name()).is_none()
        && table.column_index(any::CORRELATION.name()).is_some()
}

/// Which shapes are of the `most` kernel names with the most time among what `filter` selects.
fn top_kernels(
    frames: &Frames,
    filter: &Filter,
    most: usize,
    kernel_text: impl Fn(Kernel) -> String,
) -> Result<Vec<bool>> {
    let (numbers, kernels) = (frames.kernel_numbers(), frames.kernels());
    let totals = frames.fold(
        &tables::KERNEL,
        &[kernel::SHAPE_ID, kernel::DURATION_NS],
        filter,
        || vec![0u128; kernels.len()],
        |totals: &mut Vec<u128>, batch| {
            let (shape, duration) = (batch.get(kernel::SHAPE_ID), batch.get(kernel::DURATION_NS));
            batch.for_each_row(|i| {
                if let (Some(id), Some(ns)) = (shape.get(i), duration.get(i))
                    && let Some(&kernel) = numbers.get(id as usize)
                    && let Some(total) = totals.get_mut(kernel as usize)
                {
                    *total += ns.unsigned_abs() as u128;
                }
            });
        },
        |a, b| a.iter_mut().zip(b).for_each(|(a, b)| *a += b),
    )?;
    let names: Vec<String> = kernels.iter().map(|kernel| kernel_text(*kernel)).collect();
    let mut by_name: BTreeMap<&str, u128> = BTreeMap::new();
    for (name, total) in names.iter().zip(totals) {
        *by_name.entry(name).or_default() += total;
    }
    let mut ranked: Vec<(std::cmp::Reverse<u128>, &str)> =
        by_name.into_iter().map(|(name, total)| (std::cmp::Reverse(total), name)).collect();
    ranked.sort_unstable();
    let chosen: HashSet<&str> = ranked.into_iter().take(most).map(|(_, name)| name).collect();
    let kernels: Vec<bool> = names.iter().map(|name| chosen.contains(name.as_str())).collect();
    Ok(shapes_of(frames, &kernels))
}

/// Which shapes are of kernels that are marked.
fn shapes_of(frames: &Frames, kernels: &[bool]) -> Vec<bool> {
    frames.kernel_numbers().into_iter().map(|kernel| kernels[kernel as usize]).collect()
}
