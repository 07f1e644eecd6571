//! GPU work by class: computation, communication and memory, how much of each there is, and how much ran at once.

use super::coverage::Coverage;
use super::in_time::{self, InTime, Place, Work, WorkKind};
use super::labels::Labels;
use super::stats::{Stats, Wanted};
use super::work_class::{Class, CommunicationKernels};
use crate::error::Result;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// What of a device's time HTA's temporal breakdown (`get_temporal_breakdown`, 0.5.0) says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HtaTemporal {
    /// From the first start to the last end.
    pub span_ns: i64,
    /// Nothing ran.
    pub idle_ns: i64,
    /// Computation ran. HTA judges by name alone: what is called `…Sync…` or `…Memcpy…` is none, kernels among it.
    pub compute_ns: i64,
}

impl HtaTemporal {
    /// Something ran, but no computation.
    pub fn non_compute_ns(&self) -> i64 {
        self.span_ns.saturating_sub(self.compute_ns).saturating_sub(self.idle_ns)
    }
}

/// One device.
#[derive(Default)]
pub struct DeviceClasses<'l> {
    coverage: Coverage,
    /// Two classes: what HTA takes for computation, and the rest.
    hta: Coverage,
    /// Durations by class and name.
    pub names: BTreeMap<(Class, &'l str), Stats>,
}

impl DeviceClasses<'_> {
    /// Time in which exactly these classes ran at once, in nanoseconds.
    pub fn exactly_ns(&self, classes: &[Class]) -> i64 {
        let set = classes.iter().fold(0, |set, class| set | class.bit());
        self.coverage.exactly(set)
    }

    /// Time in which anything ran.
    pub fn busy_ns(&self) -> i64 {
        self.coverage.busy_ns()
    }

    /// As HTA says it.
    pub fn hta(&self) -> HtaTemporal {
        let span_ns = self.hta.span_ns();
        let idle_ns = span_ns.saturating_sub(self.hta.busy_ns());
        HtaTemporal { span_ns, idle_ns, compute_ns: self.hta.of(1, 0) }
    }
}

/// Whether HTA takes something of this name for computation.
fn is_computation_to_hta(name: &str) -> bool {
    let is_communication = name.starts_with("nccl") && name.contains("Kernel");
    !is_communication && !name.contains("Memcpy") && !name.starts_with("Memset") && !name.contains("Sync")
}

/// The work of each device: the process that knows it first, and its index there.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn by_class<'l>(labels: &'l Labels, filter: &Filter) -> Result<BTreeMap<Place, DeviceClasses<'l>>> {
    struct Pass<'l> {
        labels: &'l Labels<'l>,
        communication: CommunicationKernels<'l>,
        places: HashMap<Place, Place>,
        /// Positions of the names in `named`, by place and what names depend on.
        known: HashMap<(Place, WorkKind), usize>,
        named: Vec<NameOnDevice<'l>>,
        devices: BTreeMap<Place, DeviceClasses<'l>>,
    }
    /// What is called the same on a device.
    struct NameOnDevice<'l> {
        place: Place,
        class: Class,
        name: &'l str,
        is_computation_to_hta: bool,
        stats: Stats,
    }
    impl InTime for Pass<'_> {
        fn work(&mut self, work: &Work) {
            let known = (work.process, work.device);
            let labels = self.labels;
            let place =
                *self.places.entry(known).or_insert_with(|| labels.frames().device_identity(known.0, known.1));
            let at = *self.known.entry((place, work.kind)).or_insert_with(|| {
                let class = self.communication.class_of(work.kind);
                let name = work.kind.name(labels);
                let is_computation_to_hta = class != Class::Memory && is_computation_to_hta(name);
                let stats = Stats::default();
                self.named.push(NameOnDevice { place, class, name, is_computation_to_hta, stats });
                self.named.len() - 1
            });
            let named = &mut self.named[at];
            named.stats.add(work.duration_ns(), Wanted { quantiles: true });
            let device = self.devices.entry(place).or_default();
            device.coverage.add(named.class as usize, work.start_ns, work.end_ns);
            device.hta.add(usize::from(!named.is_computation_to_hta), work.start_ns, work.end_ns);
        }
    }
    let mut pass = Pass {
        labels,
        communication: CommunicationKernels::new(labels),
        places: HashMap::new(),
        known: HashMap::new(),
        named: Vec::new(),
        devices: BTreeMap::new(),
    };
    in_time::visit_work(labels.frames(), filter, &mut pass)?;
    for named in pass.named {
        if let Some(device) = pass.devices.get_mut(&named.place) {
            device.names.entry((named.class, named.name)).or_default().merge(named.stats);
        }
    }
    for device in pass.devices.values_mut() {
        device.coverage.finish();
        device.hta.finish();
    }
    Ok(pass.devices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hta_judges_by_name() {
        for (name, is) in [
            ("gemm", true),
            ("ncclDevKernel_AllReduce", false),
            ("ncclPadding", true),
            ("void at::native::reduceSync<4>()", false),
            ("MemcpyLikeKernel", false),
            ("fillMemset", true),
            ("MemsetKernel", false),
        ] {
            assert_eq!(is_computation_to_hta(name), is, "{name}");
        }
    }
}
