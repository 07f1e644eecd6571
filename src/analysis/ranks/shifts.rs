//! What to add to the times of each process so that collectives end everywhere at once: for timelines and exports, where every process
//! has one constant offset and durations are never scaled.

use super::together::Together;
use crate::analysis::labels::Labels;
use crate::error::Result;
use crate::numbers::short_time;
use crate::trace::select::Filter;
use crate::trace::sink::Need;
use std::collections::BTreeMap;
use trace_format::tables;

/// The answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shifts {
    /// What to add to the times of a process, by its ordinal.
    pub by_process: BTreeMap<u32, i64>,
    /// Whether the first rank, on whose clock all times then are, counts from 1970.
    pub has_epoch: bool,
    /// What is left of the differences, in sentences.
    pub notes: Vec<String>,
}

impl Shifts {
    /// What has to be read of traces.
    pub fn need() -> Need {
        Need::full(&[&tables::KERNEL, &tables::DETAILS])
    }

    /// Finds them. Offsets are those in the middle of the run, so that a drift does least harm. Processes without a rank move with
    /// a rank of their host.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read. The inner error says why there is no time for all.
    pub fn of(labels: &Labels) -> Result<std::result::Result<Shifts, String>> {
        let frames = labels.frames();
        let together = Together::find(labels, &Filter::everything())?;
        let mut notes = together.notes();
        let alignment = match together.alignment {
            Ok(alignment) => alignment,
            Err(why) => return Ok(Err(why)),
        };
        let last_ns = together.timed.iter().map(|c| c.end_ns).max().unwrap_or(alignment.from_ns);
        let half_ns = last_ns.saturating_sub(alignment.from_ns) / 2;
        let middle_ns = alignment.from_ns.saturating_add(half_ns);
        let mut by_process = BTreeMap::new();
        let mut most_ns = 0;
        for rank in &together.who.ranks {
            let Some(shown) = alignment.shown_ns(rank.clock, middle_ns) else { continue };
            by_process.insert(rank.process, middle_ns.saturating_sub(shown));
            let drift_ppm =
                alignment.clocks.get(rank.clock).copied().flatten().map_or(0.0, |clock| clock.drift_ppm);
            most_ns = most_ns.max((half_ns as f64 * drift_ppm.abs() * 1e-6).round() as i64);
        }
        for ordinal in 0..frames.processes.len() as u32 {
            let of_host = together.who.ranks.iter().filter(|rank| {
                let has_host = frames.processes.get(ordinal as usize).is_some_and(|p| p.info.host.is_some());
                has_host && frames.share_host(ordinal, rank.process)
            });
            if let Some(shift) = of_host.filter_map(|rank| by_process.get(&rank.process)).copied().next() {
                by_process.entry(ordinal).or_insert(shift);
            }
        }
        notes.push(format!(
            "times are those of rank {}: other clocks are moved so that collectives end everywhere at once, {} from their middle at the median; drift leaves up to {} at the ends",
            together.who.ranks.first().map_or(0, |rank| rank.number),
            short_time(alignment.residual_ns),
            short_time(most_ns)
        ));
        let first = together.who.ranks.first().and_then(|rank| frames.processes.get(rank.process as usize));
        let has_epoch = first.is_some_and(|process| process.info.epoch_ns().is_some());
        Ok(Ok(Shifts { by_process, has_epoch, notes }))
    }
}
