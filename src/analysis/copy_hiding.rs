//! How much of each copy ran behind kernels.

use super::in_time::{self, InTime, Place, Work, WorkKind};
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use std::collections::BTreeMap;

/// A copy and what of it was hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HiddenCopy {
    /// The copy.
    pub copy: Work,
    /// Time in which some kernel ran on the same GPU, whoever launched it.
    pub hidden_ns: i64,
}

impl HiddenCopy {
    /// Time in which no kernel ran.
    pub fn exposed_ns(&self) -> i64 {
        self.copy.duration_ns().saturating_sub(self.hidden_ns)
    }

    /// Whether no more than so many percent of it are hidden.
    pub fn is_hidden_at_most(&self, percent: u32) -> bool {
        i128::from(self.hidden_ns) * 100 <= i128::from(self.copy.duration_ns()) * i128::from(percent)
    }
}

/// When kernels ran on one GPU: stretches that do not touch, each with the time in all stretches before it.
#[derive(Default)]
struct Kernels {
    stretches: Vec<(i64, i64, i64)>,
}

impl Kernels {
    /// Adds a kernel, which begins no sooner than those before.
    fn add(&mut self, start_ns: i64, end_ns: i64) {
        match self.stretches.last_mut() {
            Some(last) if start_ns <= last.1 => last.1 = last.1.max(end_ns),
            last => {
                let before_ns = last.map_or(0, |last| last.2.saturating_add(last.1.saturating_sub(last.0)));
                self.stretches.push((start_ns, end_ns, before_ns));
            }
        }
    }

    /// How long kernels ran up to a moment.
    fn until(&self, ns: i64) -> i64 {
        let begun = self.stretches.partition_point(|stretch| stretch.0 <= ns);
        let Some(&(start_ns, end_ns, before_ns)) = begun.checked_sub(1).and_then(|at| self.stretches.get(at))
        else {
            return 0;
        };
        before_ns.saturating_add(ns.min(end_ns).saturating_sub(start_ns))
    }
}

/// All copies that took at least `least_ns`, in order of their start. Graphs traced whole may hold kernels and copies, and count as neither.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn hidden_copies(frames: &Frames, filter: &Filter, least_ns: i64) -> Result<Vec<HiddenCopy>> {
    struct Pass<'a> {
        frames: &'a Frames,
        least_ns: i64,
        places: BTreeMap<Place, Place>,
        kernels: BTreeMap<Place, Kernels>,
        copies: Vec<(Place, Work)>,
    }
    impl InTime for Pass<'_> {
        fn work(&mut self, work: &Work) {
            let known = (work.process, work.device);
            let frames = self.frames;
            let place = *self.places.entry(known).or_insert_with(|| frames.device_identity(known.0, known.1));
            match work.kind {
                WorkKind::Kernel(_) => self.kernels.entry(place).or_default().add(work.start_ns, work.end_ns),
                WorkKind::Memcpy { .. } if work.duration_ns() >= self.least_ns => self.copies.push((place, *work)),
                _ => {}
            }
        }
    }
    let (places, kernels, copies) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    let mut pass = Pass { frames, least_ns, places, kernels, copies };
    in_time::visit_work(frames, filter, &mut pass)?;
    let none = Kernels::default();
    let hidden = |(place, copy): &(Place, Work)| {
        let kernels = pass.kernels.get(place).unwrap_or(&none);
        let hidden_ns = kernels.until(copy.end_ns).saturating_sub(kernels.until(copy.start_ns));
        HiddenCopy { copy: *copy, hidden_ns }
    };
    Ok(pass.copies.iter().map(hidden).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_between_two_moments_is_known() {
        let mut kernels = Kernels::default();
        for (start, end) in [(10, 20), (12, 15), (20, 30), (40, 50)] {
            kernels.add(start, end);
        }
        let covered = |t: i64| (10..30).contains(&t) || (40..50).contains(&t);
        for until in 0..60 {
            let expected = (0..until).filter(|&t| covered(t)).count() as i64;
            assert_eq!(kernels.until(until), expected, "{until}");
        }
    }
}
