//! System samples: what the machine, the program's processes and its GPUs do meanwhile, measured from outside.
//!
//! [`host`] reads what the kernel says in `/proc`; [`gpu`] asks NVIDIA's management library, which is loaded when the
//! program runs, and lived without where it is missing. Metrics and their units: [`crate::metrics`].

pub mod gpu;
pub mod host;
mod paced;
mod procfs;

use super::companion::Sampler;
use std::ffi::OsString;
use std::time::Duration;

/// Least and most time between samples.
pub const PERIODS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(3600));

/// The samplers of system samples, each `period`; `nvml`: another library than the driver's `libnvidia-ml.so.1`.
pub fn samplers(period: Duration, nvml: Option<OsString>) -> Vec<Box<dyn Sampler>> {
    vec![
        Box::new(host::Host::new(period)),
        Box::new(gpu::Gpu::new(period, nvml.clone())),
        Box::new(gpu::pcie::Pcie::new(period, nvml)),
    ]
}
