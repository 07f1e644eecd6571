//! The samples of one thread as a profile of events.

use super::profiles::event;
use super::spill::{Spill, Stream};
use crate::analysis::cpu_slices::{Edge, OpenStack};
use crate::error::Result;

/// The samples of one thread so far.
#[derive(Default)]
pub(super) struct CpuTimeline {
    /// Its events.
    pub(super) events: Stream,
    /// What goes on, as places in the table of frames.
    stack: OpenStack<u32>,
}

impl CpuTimeline {
    /// Takes the next sample: what stands from `start_ns` on for `weight_ns`, both on the profile's clock.
    ///
    /// # Errors
    /// Fails if the temporary file cannot be written.
    pub(super) fn sample(
        &mut self,
        spill: &mut Spill,
        start_ns: i64,
        weight_ns: i64,
        frames: &[u32],
    ) -> Result<()> {
        let events = &mut self.events;
        self.stack.sample(start_ns, weight_ns, frames, |edge| write(spill, events, &edge))
    }

    /// Ends what is open, where the last sample ends.
    ///
    /// # Errors
    /// Fails if the temporary file cannot be written.
    pub(super) fn close(&mut self, spill: &mut Spill) -> Result<()> {
        let events = &mut self.events;
        self.stack.close(|edge| write(spill, events, &edge))
    }
}

fn write(spill: &mut Spill, events: &mut Stream, edge: &Edge<u32>) -> Result<()> {
    let is_first = events.is_empty();
    let kind = if edge.samples.is_none() { 'O' } else { 'C' };
    spill.append(events, |out| event(out, is_first, kind, edge.frame, edge.at_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_two_samples_goes_on_and_a_gap_ends_it() {
        let (mut timeline, mut spill) = (CpuTimeline::default(), Spill::default());
        for (start, frames) in [(0, &[1, 2][..]), (10, &[1, 2]), (20, &[1, 3]), (50, &[1])] {
            timeline.sample(&mut spill, start, 10, frames).unwrap();
        }
        timeline.close(&mut spill).unwrap();
        let mut out = Vec::new();
        spill.copy(&timeline.events, &mut out).unwrap();
        let events: Vec<serde_json::Value> =
            serde_json::from_str(&format!("[{}]", String::from_utf8(out).unwrap())).unwrap();
        let text = |e: &serde_json::Value| format!("{}{}@{}", e["type"].as_str().unwrap(), e["frame"], e["at"]);
        assert_eq!(
            events.iter().map(text).collect::<Vec<_>>().join(" "),
            "O1@0 O2@0 C2@20 O3@20 C3@30 C1@30 O1@50 C1@60"
        );
    }
}
