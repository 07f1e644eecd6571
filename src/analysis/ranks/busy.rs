//! What the GPUs of each rank did: how much of the time was computation, communication and copies, and how much of it until
//! each of some moments. One pass over the work of each process in order of its start, in bounded memory.

use super::who::Who;
use crate::analysis::coverage::Coverage;
use crate::analysis::in_time::{self, InTime, Work};
use crate::analysis::labels::Labels;
use crate::analysis::per_process::each_process;
use crate::analysis::work_class::{Class, CommunicationKernels};
use crate::error::Result;
use crate::trace::select::Filter;
use std::collections::{BTreeMap, BTreeSet};

/// How long anything of some work had run by given moments: unions, so nothing counts twice. Work comes in order of its start.
#[derive(Clone, Debug, Default)]
pub struct BusyBy {
    /// The moments, in order.
    moments_ns: Vec<i64>,
    /// What is known of them so far.
    busy_ns: Vec<i64>,
    total_ns: i64,
    end_ns: Option<i64>,
}

impl BusyBy {
    /// Nothing seen yet. Moments may repeat.
    pub fn new(mut moments_ns: Vec<i64>) -> BusyBy {
        moments_ns.sort_unstable();
        moments_ns.dedup();
        BusyBy { moments_ns, ..BusyBy::default() }
    }

    /// Takes in work.
    pub fn add(&mut self, start_ns: i64, end_ns: i64) {
        self.answer(Some(start_ns));
        let from_ns = self.end_ns.map_or(start_ns, |end| end.max(start_ns));
        self.total_ns = self.total_ns.saturating_add(end_ns.saturating_sub(from_ns).max(0));
        self.end_ns = Some(self.end_ns.map_or(end_ns, |end| end.max(end_ns)));
    }

    /// Nothing that begins later changes what was before a moment up to here.
    fn answer(&mut self, until_ns: Option<i64>) {
        while let Some(&moment) =
            self.moments_ns.get(self.busy_ns.len()).filter(|at| until_ns.is_none_or(|u| **at <= u))
        {
            let ahead = self.end_ns.map_or(0, |end| end.saturating_sub(moment).max(0));
            self.busy_ns.push(self.total_ns.saturating_sub(ahead));
        }
    }

    /// How long it was busy by a moment, which has to be one of those given.
    pub fn by(&mut self, moment_ns: i64) -> Option<i64> {
        self.answer(None);
        let at = self.moments_ns.binary_search(&moment_ns).ok()?;
        self.busy_ns.get(at).copied()
    }
}

/// One rank's GPU work.
#[derive(Clone, Debug, Default)]
pub struct Busy {
    /// By [`Class`].
    pub coverage: Coverage,
    /// Computation, copies and fills by the moments that matter for collectives.
    pub own_work: BusyBy,
    /// Start of the first work.
    pub first_ns: Option<i64>,
    /// End of the last work.
    pub last_ns: Option<i64>,
}

impl Busy {
    /// Takes in work of a class, in order of its start.
    pub fn add(&mut self, class: Class, start_ns: i64, end_ns: i64) {
        self.coverage.add(class as usize, start_ns, end_ns);
        if class != Class::Communication {
            self.own_work.add(start_ns, end_ns);
        }
        self.first_ns = Some(self.first_ns.map_or(start_ns, |first| first.min(start_ns)));
        self.last_ns = Some(self.last_ns.map_or(end_ns, |last| last.max(end_ns)));
    }

    /// Computation ran.
    pub fn compute_ns(&self) -> i64 {
        self.coverage.of(Class::Computation.bit(), 0)
    }

    /// Communication ran.
    pub fn communication_ns(&self) -> i64 {
        self.coverage.of(Class::Communication.bit(), 0)
    }

    /// Communication ran and no computation.
    pub fn exposed_communication_ns(&self) -> i64 {
        self.coverage.of(Class::Communication.bit(), Class::Computation.bit())
    }

    /// Copies or fills ran and no kernel.
    pub fn exposed_memory_ns(&self) -> i64 {
        self.coverage.of(Class::Memory.bit(), Class::Computation.bit() | Class::Communication.bit())
    }
}

/// Reads all work of ranks, several processes at once. `moments_ns` has for each rank the moments at which to look, on its own clock.
/// Gives the ranks' work.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn read(labels: &Labels, filter: &Filter, who: &Who, moments_ns: Vec<Vec<i64>>) -> Result<Vec<Busy>> {
    struct Pass<'a> {
        communication: CommunicationKernels<'a>,
        /// The ranks of the process, by place: the device of each, `None` of one that has all.
        ranks: Vec<(usize, Option<u32>, Busy)>,
    }
    impl InTime for Pass<'_> {
        fn work(&mut self, work: &Work) {
            let is_its = |device: &Option<u32>| device.is_none_or(|device| device == work.device);
            let Some((.., busy)) = self.ranks.iter_mut().find(|(_, device, _)| is_its(device)) else { return };
            let class = self.communication.class_of(work.kind);
            busy.add(class, work.start_ns, work.end_ns);
        }
    }
    let processes: BTreeSet<u32> = who.ranks.iter().map(|rank| rank.process).collect();
    let of_processes = each_process(&processes, |process| {
        let own = who.ranks.iter().enumerate().filter(|(_, rank)| rank.process == process);
        let ranks = own.map(|(at, rank)| {
            let moments = moments_ns.get(at).cloned().unwrap_or_default();
            (at, rank.device, Busy { own_work: BusyBy::new(moments), ..Busy::default() })
        });
        let mut pass = Pass { communication: CommunicationKernels::new(labels), ranks: ranks.collect() };
        in_time::visit_work(labels.frames(), &filter.within_process(process), &mut pass)?;
        let done = pass.ranks.into_iter().map(|(at, _, mut busy)| {
            busy.coverage.finish();
            (at, busy)
        });
        Ok(done.collect::<Vec<_>>())
    })?;
    let mut all: BTreeMap<usize, Busy> = of_processes.into_iter().flatten().collect();
    Ok((0..who.ranks.len()).map(|at| all.remove(&at).unwrap_or_default()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_by_a_moment_is_what_a_look_at_every_nanosecond_finds() {
        let mut state = 7_u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % n) as i64
        };
        for _ in 0..300 {
            let mut work: Vec<(i64, i64)> = (0..below(8))
                .map(|_| {
                    let start = below(50);
                    (start, start + below(25))
                })
                .collect();
            work.sort_unstable();
            let mut busy = BusyBy::new((0..9).map(|_| below(90)).collect());
            work.iter().for_each(|&(start, end)| busy.add(start, end));
            for moment in busy.moments_ns.clone() {
                let runs = |t: &i64| work.iter().any(|w| w.0 <= *t && *t < w.1);
                assert_eq!(busy.by(moment), Some((0..moment).filter(runs).count() as i64), "{work:?} by {moment}");
            }
            assert_eq!(busy.by(1_000), None);
        }
    }
}
