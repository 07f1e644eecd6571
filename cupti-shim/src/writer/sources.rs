//! Where the writer gets what does not come in CUPTI's buffers: from the other parts of this process, or from a test.

use serde_json::Value;
use trace_format::own_cost::OwnCost;

use crate::calls::{self, Heard};
use crate::nvtx::{self, CallCounts, Event};
use crate::python::{self, FrameDef, Launch, StackDef};
use crate::{flight, own_cost};

/// Takes the Python stacks of launches: launches, frames and stacks, each with a function of its own.
pub(super) type Drain = fn(&mut dyn FnMut(Launch), &mut dyn FnMut(u32, FrameDef), &mut dyn FnMut(u32, StackDef));

/// The functions that the writer calls for it.
#[derive(Clone, Copy)]
pub(super) struct Sources {
    /// The next NVTX call.
    pub pop_event: fn() -> Option<Event>,
    /// NVTX calls that found the queue full since the last time.
    pub take_lost_events: fn() -> Option<nvtx::Lost>,
    /// The next API call of which the record is made here.
    pub pop_call: fn() -> Option<Heard>,
    /// Such calls that found the queue full since the last time.
    pub take_lost_calls: fn() -> Option<calls::Lost>,
    /// How NVTX calls fared so far.
    pub event_counts: fn() -> CallCounts,
    /// Stacks of launches since the last time.
    pub drain_launches: Drain,
    /// How many launches have no stack, because there was no time or no room for it.
    pub skipped_launches: fn() -> u64,
    /// What the closing frame says about stacks of launches.
    pub launch_facts: fn() -> Value,
    /// Asks for the dump of a signal that came.
    pub ask_for_signal: fn(),
    /// What our own threads took so far; the nanoseconds are those since the recording began.
    pub own_cost: fn(i64) -> OwnCost,
}

impl Sources {
    /// Those of this process.
    pub(super) const OF_PROCESS: Sources = Sources {
        pop_event: nvtx::pop,
        take_lost_events: nvtx::take_lost,
        pop_call: calls::pop,
        take_lost_calls: calls::take_lost,
        event_counts: nvtx::counts,
        drain_launches: |launch, frame, stack| python::drain(launch, frame, stack),
        skipped_launches: python::skipped,
        launch_facts: python::facts,
        ask_for_signal: flight::ask_for_signal,
        own_cost: own_cost::taken,
    };

    /// Those of a test that has none of all this.
    #[cfg(test)]
    pub(super) const NONE: Sources = Sources {
        pop_event: || None,
        take_lost_events: || None,
        pop_call: || None,
        take_lost_calls: || None,
        event_counts: CallCounts::default,
        drain_launches: |_, _, _| (),
        skipped_launches: || 0,
        launch_facts: || Value::Null,
        ask_for_signal: || (),
        own_cost: |_| OwnCost::default(),
    };
}
