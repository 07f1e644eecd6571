//! CPU samples as a timeline: from one sample of a thread to the next, functions that are in both go on.

use super::profiles::event;
use super::spill::{Spill, Stream};
use crate::error::Result;

/// The samples of one thread so far.
#[derive(Default)]
pub(super) struct CpuTimeline {
    /// Its events.
    pub(super) events: Stream,
    /// Functions that are open, outermost first, as places in the table of frames.
    open: Vec<u32>,
    /// Until when the last sample stands.
    until_ns: i64,
}

impl CpuTimeline {
    /// Takes the next sample: what stands from `start_ns` on for `weight_ns`, both on the profile's clock.
    ///
    /// # Errors
    /// The temporary file failed.
    pub(super) fn sample(
        &mut self,
        spill: &mut Spill,
        start_ns: i64,
        weight_ns: i64,
        frames: &[u32],
    ) -> Result<()> {
        // A thread that was asleep or that nobody looked at in time did nothing that is known.
        if start_ns > self.until_ns.saturating_add(weight_ns / 2) {
            self.close(spill)?;
        }
        let same = self.open.iter().zip(frames).take_while(|(a, b)| a == b).count();
        // Samples come a little early or late; nothing may end before it began.
        self.shut(spill, same, start_ns)?;
        for &frame in frames.iter().skip(same) {
            self.write(spill, 'O', frame, start_ns)?;
            self.open.push(frame);
        }
        self.until_ns = start_ns.saturating_add(weight_ns);
        Ok(())
    }

    /// Ends what is open, where the last sample ends.
    ///
    /// # Errors
    /// The temporary file failed.
    pub(super) fn close(&mut self, spill: &mut Spill) -> Result<()> {
        self.shut(spill, 0, self.until_ns)
    }

    fn shut(&mut self, spill: &mut Spill, keep: usize, at_ns: i64) -> Result<()> {
        while self.open.len() > keep {
            if let Some(frame) = self.open.pop() {
                self.write(spill, 'C', frame, at_ns)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, spill: &mut Spill, kind: char, frame: u32, at_ns: i64) -> Result<()> {
        let is_first = self.events.is_empty();
        spill.append(&mut self.events, |out| event(out, is_first, kind, frame, at_ns))
    }
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
