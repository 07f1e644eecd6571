//! Making a selection ready to judge rows: what has to be read of the traces before the first row can be judged.

use super::in_range::InRange;
use super::judge::refers_only;
use super::runtime_calls::RuntimeCalls;
use super::{Filter, Launch, Selection};
use crate::cupti::strip_version;
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::sampling::Sampling;
use crate::trace::stored_shapes::Kernel;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use trace_format::schema::TableSpec;
use trace_format::tables;
use trace_format::tables::column::{any, api, kernel};
use trace_format::vocabulary::api_domain::RUNTIME;

impl Filter {
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
        let mut filter = Filter { process: processes_of(&selection, frames), ..Filter::default() };
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
            filter.launched = Some(Arc::new(filter.launches_of_gpu_work(frames)?));
        }
        // What was found while the filter was half made is not about it.
        filter.without_times = Arc::default();
        Ok(filter)
    }

    /// What launched the selected GPU work.
    fn launches_of_gpu_work(&self, frames: &Frames) -> Result<HashSet<Launch>> {
        let mut launched = HashSet::new();
        for table in [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH] {
            let found = frames.fold(
                table,
                &[any::CORRELATION],
                self,
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
        Ok(launched)
    }

    /// Which launches were calls of a name that was asked for.
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
}

/// Which processes are selected, by ordinal; empty if nobody asked for some of them.
fn processes_of(selection: &Selection, frames: &Frames) -> Vec<bool> {
    if selection.pids.is_empty() && selection.ranks.is_empty() {
        return Vec::new();
    }
    let is_wanted = |asked: &[u32], number: Option<u32>| {
        asked.is_empty() || number.is_some_and(|number| asked.contains(&number))
    };
    let processes = frames.processes.iter().map(|process| &process.info);
    processes.map(|p| is_wanted(&selection.pids, p.pid) && is_wanted(&selection.ranks, p.rank)).collect()
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
