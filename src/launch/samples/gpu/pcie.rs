//! What goes over PCIe: the library measures for 20 ms when it is asked, so it is asked seldom and on a thread apart.

use super::Devices;
use super::library::Library;
use super::query::SLOW_QUERIES;
use crate::launch::companion::{Processes, Recorder, Sampler};
use std::ffi::OsString;
use std::time::Duration;

/// No sooner again than this: with eight GPUs one round takes a third of a second.
const LEAST_PERIOD: Duration = Duration::from_secs(1);

/// The sampler of PCIe throughput.
pub struct Pcie {
    period: Duration,
    path: Option<OsString>,
    library: Option<Library>,
    devices: Devices,
}

impl Pcie {
    /// Samples every `period`, but once a second at most; `path`: another library than the driver's.
    pub fn new(period: Duration, path: Option<OsString>) -> Pcie {
        let period = period.max(LEAST_PERIOD);
        Pcie { period, path, library: None, devices: Devices::new(SLOW_QUERIES) }
    }
}

impl Sampler for Pcie {
    fn name(&self) -> &'static str {
        "pcie"
    }

    fn period(&self) -> Duration {
        self.period
    }

    fn begin(&mut self, _processes: &Processes, into: &Recorder) -> bool {
        self.library = Library::open(self.path.as_deref(), into);
        self.library.is_some()
    }

    fn sample(&mut self, _processes: &Processes, into: &Recorder) {
        if let Some(library) = &self.library {
            library.each(|index, device| self.devices.sample(index, device, &[], into));
        }
    }
}
