//! Calls of a GPU's API in traces of other tools.

use super::lanes::LaneKind;
use super::reader::Reader;
use super::work::Details;
use crate::import::kineto::event::{Category, Event};
use crate::import::kineto::json_tokens::Value;
use crate::import::kineto::number::nanoseconds;
use crate::trace::sink::valid_duration;
use trace_format::tables::{self, ApiRow};
use trace_format::vocabulary::api_domain;

impl Reader<'_, '_> {
    /// Whether an event is a call of a GPU's API, by its lane, its category, or its name beside a correlation id.
    pub(super) fn is_call(&mut self, event: &Event, details: &Details) -> bool {
        let by_category = matches!(event.category, Value::Text(b"cuda_api" | b"hip_api"))
            || matches!(Category::of(event.category), Category::Runtime | Category::Driver);
        by_category
            || (details.correlation.is_some() && call_domain(event).is_some())
            || self.lanes.place(event) == LaneKind::Calls
    }

    /// Makes the row of a call.
    pub(super) fn call(&mut self, event: &Event, details: &Details, offset: u64) {
        let times = match details.exact {
            Some((begin, end)) => Some((begin, Some(end))),
            None => self
                .start(event, offset)
                .map(|start| (start, nanoseconds(event.dur).and_then(|duration| start.checked_add(duration)))),
        };
        let Some((start_ns, end_ns)) = times else { return };
        let duration_ns = end_ns.and_then(|end| valid_duration(start_ns, end));
        if duration_ns.is_none() {
            self.found.tallies.no_duration.add(offset);
        }
        self.found.calls += 1;
        let process = self.process_of(event, details, false);
        let tid = self.thread_ids.id(event.tid);
        self.name_thread(process, tid, event);
        if !self.need.wants(&tables::API) {
            return;
        }
        let row = ApiRow {
            start_ns,
            duration_ns,
            domain: call_domain(event).unwrap_or(0),
            cbid: 0,
            name_id: self.name(event),
            tid,
            correlation: details.correlation.map_or(0, |id| id as u64),
            result: None,
        };
        self.sink.push(process, row);
    }
}

/// The domain of a call by its name: `cuLaunchKernel` is of the driver, `cudaMalloc` and `hipMalloc` of the runtime.
fn call_domain(event: &Event) -> Option<u32> {
    let Value::Text(name) = event.name else { return None };
    let begins =
        |start: &[u8]| name.strip_prefix(start).and_then(<[u8]>::first).is_some_and(u8::is_ascii_uppercase);
    match () {
        () if begins(b"cu") => Some(api_domain::DRIVER),
        () if begins(b"cuda") || begins(b"hip") => Some(api_domain::RUNTIME),
        () => None,
    }
}
