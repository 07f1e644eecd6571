//! How much of each GPU was in use from moment to moment: the time from the first start to the last end of all GPUs' work, cut into
//! equal bins, and what of each bin computation, communication and memory had. All GPUs have the same bins, so that they can
//! be compared. Each number is the length of a union: work that runs at once counts once.

use super::coverage::Running;
use super::in_time::{self, InTime, Place, Work};
use super::labels::Labels;
use super::work_class::{Class, CommunicationKernels};
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use std::collections::BTreeMap;

/// Sets of [`Class`]es that can run in a bin.
const SETS: usize = 1 << Class::ALL.len();

/// One bin of one GPU: nanoseconds by the set of classes that ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin([i64; SETS]);

impl Bin {
    /// Time in which anything ran.
    pub fn busy_ns(&self) -> i64 {
        self.sum(|set| set != 0)
    }

    /// Time in which work of this class ran.
    pub fn of_ns(&self, class: Class) -> i64 {
        self.sum(|set| set & class.bit() != 0)
    }

    /// Time in which computation and communication ran at once.
    pub fn hidden_communication_ns(&self) -> i64 {
        let both = Class::Computation.bit() | Class::Communication.bit();
        self.sum(|set| set & both == both)
    }

    fn sum(&self, fits: impl Fn(usize) -> bool) -> i64 {
        // No more than the bin's length altogether.
        (0..SETS).filter(|&set| fits(set)).map(|set| self.0[set]).sum()
    }
}

/// Equal bins over a stretch of time. Their length is rounded up, so the last one may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bins {
    from_ns: i64,
    to_ns: i64,
    length_ns: i64,
}

impl Bins {
    /// At most `count` of them; `None`: there is no time.
    fn new(from_ns: i64, to_ns: i64, count: u32) -> Option<Bins> {
        // Times of a damaged trace may be further apart than 64 bits reach; what lies behind is in no bin.
        let span_ns = to_ns.saturating_sub(from_ns);
        let count = i64::from(count);
        let length_ns = span_ns / count + i64::from(span_ns % count != 0);
        (span_ns > 0).then_some(Bins { from_ns, to_ns: from_ns.saturating_add(span_ns), length_ns })
    }

    fn count(&self) -> usize {
        let span_ns = self.to_ns.saturating_sub(self.from_ns);
        (span_ns / self.length_ns + i64::from(span_ns % self.length_ns != 0)) as usize
    }

    /// Start and end of a bin.
    fn edges(&self, index: usize) -> (i64, i64) {
        let start_ns = self.from_ns.saturating_add(self.length_ns.saturating_mul(index as i64));
        (start_ns, start_ns.saturating_add(self.length_ns).min(self.to_ns))
    }

    /// Calls `part` with each bin that a stretch touches, and how long.
    fn split(&self, from_ns: i64, to_ns: i64, mut part: impl FnMut(usize, i64)) {
        let (mut at_ns, to_ns) = (from_ns.max(self.from_ns), to_ns.min(self.to_ns));
        while at_ns < to_ns {
            let index = (at_ns.saturating_sub(self.from_ns) / self.length_ns) as usize;
            let until_ns = self.edges(index).1.min(to_ns);
            part(index, until_ns - at_ns);
            at_ns = until_ns;
        }
    }
}

/// The map.
pub struct UtilMap {
    bins: Option<Bins>,
    /// Bins of each GPU: the process that knows it first, and its index there.
    pub devices: BTreeMap<Place, Vec<Bin>>,
}

impl UtilMap {
    /// Start and end of a bin.
    pub fn edges(&self, index: usize) -> (i64, i64) {
        self.bins.map_or((0, 0), |bins| bins.edges(index))
    }
}

/// First start and last end of the selected work.
fn span(frames: &Frames, filter: &Filter) -> Result<Option<(i64, i64)>> {
    struct Pass(Option<(i64, i64)>);
    impl InTime for Pass {
        fn work(&mut self, work: &Work) {
            let (_, last_ns) = self.0.get_or_insert((work.start_ns, work.end_ns));
            *last_ns = (*last_ns).max(work.end_ns);
        }
    }
    let mut pass = Pass(None);
    in_time::visit_work(frames, filter, &mut pass)?;
    Ok(pass.0)
}

/// The map of the selected work, in at most `count` bins. Reads the work twice: where the bins lie is known only behind its end.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn util_map(labels: &Labels, filter: &Filter, count: u32) -> Result<UtilMap> {
    struct Device {
        running: Running,
        bins: Vec<Bin>,
    }
    struct Pass<'a> {
        labels: &'a Labels<'a>,
        communication: CommunicationKernels<'a>,
        bins: Bins,
        places: BTreeMap<Place, Place>,
        devices: BTreeMap<Place, Device>,
    }
    impl InTime for Pass<'_> {
        fn work(&mut self, work: &Work) {
            let (known, bins) = ((work.process, work.device), self.bins);
            let frames = self.labels.frames();
            let place = *self.places.entry(known).or_insert_with(|| frames.device_identity(known.0, known.1));
            let class = self.communication.class_of(work.kind);
            let none = || Device { running: Running::default(), bins: vec![Bin::default(); bins.count()] };
            let Device { running, bins: of_device } = self.devices.entry(place).or_insert_with(none);
            running.add(class as usize, work.start_ns, work.end_ns, |set, from, to| {
                count_in(of_device, bins, set, from, to)
            });
        }
    }
    fn count_in(of_device: &mut [Bin], bins: Bins, set: usize, from_ns: i64, to_ns: i64) {
        if set != 0 {
            bins.split(from_ns, to_ns, |index, ns| of_device[index].0[set] += ns);
        }
    }
    let span = span(labels.frames(), filter)?;
    let Some(bins) = span.and_then(|(from_ns, to_ns)| Bins::new(from_ns, to_ns, count.max(1))) else {
        return Ok(UtilMap { bins: None, devices: BTreeMap::new() });
    };
    let communication = CommunicationKernels::new(labels);
    let mut pass = Pass { labels, communication, bins, places: BTreeMap::new(), devices: BTreeMap::new() };
    in_time::visit_work(labels.frames(), filter, &mut pass)?;
    let of_device = |(place, Device { mut running, bins: mut of_device }): (Place, Device)| {
        running.finish(|set, from, to| count_in(&mut of_device, bins, set, from, to));
        (place, of_device)
    };
    Ok(UtilMap { bins: Some(bins), devices: pass.devices.into_iter().map(of_device).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_cover_the_time_and_parts_of_a_stretch_add_up() {
        for (from_ns, to_ns, count) in [(0, 300, 30), (5, 306, 30), (0, 4, 30), (-7, 12, 1), (10, 1_000, 7)] {
            let bins = Bins::new(from_ns, to_ns, count).expect("some time");
            assert!(bins.count() <= count as usize, "{bins:?}");
            let mut until_ns = from_ns;
            for index in 0..bins.count() {
                let (start_ns, end_ns) = bins.edges(index);
                assert!(start_ns == until_ns && end_ns > start_ns, "{bins:?} {index}");
                until_ns = end_ns;
            }
            assert_eq!(until_ns, to_ns);
            for (a, b) in
                [(from_ns, to_ns), (from_ns + 1, to_ns - 1), (from_ns - 9, from_ns + 2), (to_ns, to_ns + 5)]
            {
                let mut total = 0;
                bins.split(a, b, |index, ns| {
                    let (start_ns, end_ns) = bins.edges(index);
                    assert!(ns > 0 && ns <= end_ns - start_ns);
                    total += ns;
                });
                assert_eq!(total, (b.min(to_ns) - a.max(from_ns)).max(0));
            }
        }
        assert_eq!(Bins::new(5, 5, 30), None);
        // What damage makes of times ends nothing.
        let widest = Bins::new(i64::MIN, i64::MAX, 1_000).expect("some time");
        let mut total = 0;
        widest.split(i64::MIN, i64::MAX, |_, ns| total += ns);
        assert_eq!(total, i64::MAX);
    }
}
