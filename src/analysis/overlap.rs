//! What of a GPU's time was idle, computation, communication and copies, and how much of these ran at once.
//!
//! Kernels of NCCL and RCCL are communication, all other kernels and graphs traced whole are computation, copies and fills are
//! memory. Every number is the length of a union, so nothing counts twice. `non_compute_ns` is what Holistic Trace Analysis calls so:
//! the busy time in which no computation ran. One GPU that several processes use is one device. Records without valid times
//! are left out; notes about partial traces count them.

use super::activity::WORK_TABLES;
use super::coverage::Coverage;
use super::in_time::{self, InTime, Work};
use super::labels::Labels;
use super::per_process::{processes_with, several_at_once, sharing_devices};
use super::work_class::{Class, CommunicationKernels};
use crate::error::Result;
use crate::trace::select::Filter;
use std::collections::BTreeMap;

/// One device's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakdown {
    /// From the first start to the last end.
    pub span_ns: i64,
    /// Nothing ran.
    pub idle_ns: i64,
    /// Computation ran.
    pub compute_ns: i64,
    /// Something ran, but no computation.
    pub non_compute_ns: i64,
    /// Communication ran.
    pub communication_ns: i64,
    /// Communication and computation ran at once.
    pub hidden_communication_ns: i64,
    /// Copies or fills ran.
    pub memory_ns: i64,
    /// Copies or fills and kernels ran at once.
    pub hidden_memory_ns: i64,
    /// Some kernel ran.
    pub kernels_ns: i64,
    /// Two kernels or more ran at once.
    pub concurrent_ns: i64,
}

/// Time in which two or more pieces of work ran, of work in order of its start. Nothing that is seen later begins before
/// what was seen, so behind the latest start two run until the second latest of all ends.
#[derive(Clone, Copy, Debug)]
struct TwoAtOnce {
    latest_ns: i64,
    second_ns: i64,
    total_ns: i64,
}

impl Default for TwoAtOnce {
    fn default() -> Self {
        TwoAtOnce { latest_ns: i64::MIN, second_ns: i64::MIN, total_ns: 0 }
    }
}

impl TwoAtOnce {
    fn add(&mut self, start_ns: i64, end_ns: i64) {
        // What of this work runs beside other work and was not counted yet.
        let from_ns = start_ns.max(self.second_ns);
        let to_ns = end_ns.min(self.latest_ns);
        if to_ns > from_ns {
            self.total_ns = self.total_ns.saturating_add(to_ns.saturating_sub(from_ns));
        }
        if end_ns > self.latest_ns {
            self.second_ns = self.latest_ns;
            self.latest_ns = end_ns;
        } else {
            self.second_ns = self.second_ns.max(end_ns);
        }
    }
}

#[derive(Default)]
struct Device {
    coverage: Coverage,
    kernels: TwoAtOnce,
}

impl Device {
    fn breakdown(&self) -> Breakdown {
        let c = &self.coverage;
        let [compute, communication, memory] = Class::ALL.map(Class::bit);
        let busy_ns = c.busy_ns();
        let communication_ns = c.of(communication, 0);
        let memory_ns = c.of(memory, 0);
        Breakdown {
            span_ns: c.span_ns(),
            idle_ns: c.span_ns().saturating_sub(busy_ns),
            compute_ns: c.of(compute, 0),
            non_compute_ns: c.of(communication | memory, compute),
            communication_ns,
            hidden_communication_ns: communication_ns - c.of(communication, compute),
            memory_ns,
            hidden_memory_ns: memory_ns - c.of(memory, compute | communication),
            kernels_ns: c.of(compute | communication, 0),
            concurrent_ns: self.kernels.total_ns,
        }
    }
}

/// The time of each device: the process that knows it first, and its index there.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn breakdowns(labels: &Labels, filter: &Filter) -> Result<BTreeMap<(u32, u32), Breakdown>> {
    struct Pass<'a> {
        labels: &'a Labels<'a>,
        communication: CommunicationKernels<'a>,
        places: BTreeMap<(u32, u32), (u32, u32)>,
        devices: BTreeMap<(u32, u32), Device>,
    }
    impl InTime for Pass<'_> {
        fn work(&mut self, work: &Work) {
            let known = (work.process, work.device);
            let frames = self.labels.frames();
            let place = *self.places.entry(known).or_insert_with(|| frames.device_identity(known.0, known.1));
            let class = self.communication.class_of(work.kind);
            let device = self.devices.entry(place).or_default();
            device.coverage.add(class as usize, work.start_ns, work.end_ns);
            if class != Class::Memory {
                device.kernels.add(work.start_ns, work.end_ns);
            }
        }
    }
    let processes = processes_with(labels.frames(), &WORK_TABLES, filter);
    let together = sharing_devices(labels.frames(), processes);
    let devices = several_at_once(together, |processes| {
        let communication = CommunicationKernels::new(labels);
        let mut pass = Pass { labels, communication, places: BTreeMap::new(), devices: BTreeMap::new() };
        in_time::visit_work(labels.frames(), &filter.within_processes(&processes), &mut pass)?;
        Ok(pass.devices)
    })?;
    let breakdown = |(place, mut device): ((u32, u32), Device)| {
        device.coverage.finish();
        (place, device.breakdown())
    };
    Ok(devices.into_iter().flatten().map(breakdown).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_at_once_is_what_a_look_at_every_nanosecond_finds() {
        let mut state = 11_u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % n) as i64
        };
        for _ in 0..500 {
            let mut work: Vec<(i64, i64)> = (0..below(9) + 1)
                .map(|_| {
                    let start = below(50);
                    (start, start + below(25))
                })
                .collect();
            work.sort_unstable();
            let mut two = TwoAtOnce::default();
            work.iter().for_each(|&(start, end)| two.add(start, end));
            let at_once = |t: i64| work.iter().filter(|w| w.0 <= t && t < w.1).count();
            assert_eq!(two.total_ns, (0..80).filter(|&t| at_once(t) >= 2).count() as i64, "{work:?}");
        }
    }
}
