//! Judging rows by a filter that is ready.

use super::Filter;
use crate::trace::batch::Batch;
use trace_format::schema::{AnyColumn, Role, TableSpec};
use trace_format::tables;
use trace_format::tables::column::{any, api, kernel};
use trace_format::vocabulary::api_domain::RUNTIME;

impl Filter {
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

    /// Whether a call of this name is one of those that were asked for by name.
    pub(super) fn wants_call(&self, name: Option<u32>) -> bool {
        name.is_some_and(|id| self.api.get(id as usize).copied().unwrap_or(false))
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
pub(super) fn refers_only(table: &TableSpec) -> bool {
    table.role == Role::Activity
        && table.column_index(any::START_NS.name()).is_none()
        && table.column_index(any::CORRELATION.name()).is_some()
}
