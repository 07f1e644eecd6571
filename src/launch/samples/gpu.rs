//! The GPUs, as NVIDIA's management library tells.

mod library;
pub mod pcie;
mod query;

use crate::launch::companion::{Processes, Recorder, Sampler};
use library::Library;
use nvml_wrapper::Device;
use nvml_wrapper::error::NvmlError;
use query::{QUERIES, Query, Reading};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;
use trace_format::tables::{DeviceRow, SampleRow};

/// The sampler of everything that is cheap to ask.
pub struct Gpu {
    period: Duration,
    path: Option<OsString>,
    library: Option<Library>,
    devices: Devices,
}

impl Gpu {
    /// Samples every `period`; `path`: another library than the driver's.
    pub fn new(period: Duration, path: Option<OsString>) -> Gpu {
        Gpu { period, path, library: None, devices: Devices::new(QUERIES) }
    }
}

impl Sampler for Gpu {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn period(&self) -> Duration {
        self.period
    }

    fn begin(&mut self, _processes: &Processes, into: &Recorder) -> bool {
        self.library = Library::open(self.path.as_deref(), into);
        let Some(library) = &self.library else { return false };
        into.note(None, &format!("GPUs are sampled by {}", library.name.display()));
        library.each(|index, device| {
            if let Ok(device) = device {
                describe(index, &device, into);
            }
        });
        true
    }

    fn sample(&mut self, processes: &Processes, into: &Recorder) {
        if let Some(library) = &self.library {
            let pids: Vec<u32> = processes.members().iter().map(|member| member.pid).collect();
            library.each(|index, device| self.devices.sample(index, device, &pids, into));
        }
    }

    fn closing(&mut self, processes: &Processes, into: &Recorder, _missed: u64) {
        // Energy counts to the end.
        self.sample(processes, into);
    }
}

/// The devices, and what each has refused to tell.
struct Devices {
    queries: &'static [Query],
    known: BTreeMap<u32, Known>,
}

#[derive(Default)]
struct Known {
    /// By query: how often it has failed since it last succeeded, and whether it is not asked any more.
    failures: Vec<(u32, bool)>,
    /// It has fallen off the bus.
    is_lost: bool,
}

/// A query that has failed this often in a row, whatever the reason, is not asked again.
const MOST_FAILURES: u32 = 10;

impl Devices {
    fn new(queries: &'static [Query]) -> Devices {
        Devices { queries, known: BTreeMap::new() }
    }

    /// Asks a device everything that it has not refused before.
    fn sample(&mut self, index: u32, device: Result<Device, NvmlError>, pids: &[u32], into: &Recorder) {
        let known = self.known.entry(index).or_default();
        known.failures.resize(self.queries.len(), (0, false));
        if known.is_lost {
            return;
        }
        let lost = |error: &NvmlError| into.remark(&format!("GPU {index} gave no more samples: {error}"));
        let device = match device {
            Ok(device) => device,
            Err(error) => {
                known.is_lost = library::is_lost(&error);
                if known.is_lost {
                    lost(&error);
                }
                return;
            }
        };
        let mut rows = Vec::new();
        let mut refused = Vec::new();
        for (query, (failures, is_refused)) in self.queries.iter().zip(&mut known.failures) {
            if *is_refused {
                continue;
            }
            let mut reading = Reading::new(index, into, pids);
            match (query.ask)(&device, &mut reading) {
                Ok(()) => {
                    *failures = 0;
                    rows.append(&mut reading.rows);
                }
                Err(error) if library::is_lost(&error) => {
                    lost(&error);
                    known.is_lost = true;
                    break;
                }
                Err(error) => {
                    *failures += 1;
                    *is_refused = library::is_final(&error) || *failures >= MOST_FAILURES;
                    if *is_refused {
                        refused.push(format!("{} ({error})", query.what));
                    }
                }
            }
        }
        into.push_all(rows);
        if !refused.is_empty() {
            into.note(None, &format!("GPU {index} does not tell: {}", refused.join(", ")));
        }
    }
}

/// Writes what the device is, so that readers find the same GPU in the traces of the processes.
fn describe(index: u32, device: &Device, into: &Recorder) {
    let name_id = device.name().map_or(0, |name| into.name(name.as_bytes()));
    let capability = device.cuda_compute_capability().ok();
    let part = |part: i32| u32::try_from(part).ok();
    into.push(DeviceRow {
        device: index,
        name_id,
        compute_major: capability.as_ref().and_then(|c| part(c.major)),
        compute_minor: capability.as_ref().and_then(|c| part(c.minor)),
        memory_bytes: device.memory_info().ok().and_then(|memory| i64::try_from(memory.total).ok()),
        uuid: device.uuid().ok().and_then(|text| uuid_bytes(&text)),
        pci_bus_id: device.pci_info().ok().map(|pci| short_bus_id(&pci.bus_id).into_bytes()),
        ..DeviceRow::default()
    });
}

/// `GPU-` and 32 digits with dashes between them, as the 16 bytes that CUPTI gives.
fn uuid_bytes(text: &str) -> Option<Vec<u8>> {
    let digits: String = text.strip_prefix("GPU-")?.chars().filter(|c| *c != '-').collect();
    let byte = |i: usize| u8::from_str_radix(digits.get(2 * i..2 * i + 2)?, 16).ok();
    (digits.len() == 32).then(|| (0..16).map(byte).collect())?
}

/// `00000000:3B:00.0` as `0000:3b:00.0`.
fn short_bus_id(text: &str) -> String {
    let text = text.to_lowercase();
    match text.split_once(':') {
        Some((domain, rest)) if domain.len() == 8 => format!("{}:{rest}", &domain[4..]),
        _ => text,
    }
}

/// A row about a device.
fn row(index: u32, metric_id: u32, start_ns: i64, value: f64) -> SampleRow {
    SampleRow { start_ns, metric_id, device: Some(index), value, of_pid: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_devices_are_written_as_the_collector_writes_them() {
        let bytes = uuid_bytes("GPU-00112233-4455-6677-8899-aabbccddeeff").unwrap();
        assert_eq!(bytes, (0..16).map(|i| i * 0x11).collect::<Vec<u8>>());
        for wrong in ["MIG-0", "GPU-0011", "GPU-zz112233-4455-6677-8899-aabbccddeeff", "GPU-€€€€€€€€€€€"]
        {
            assert_eq!(uuid_bytes(wrong), None, "{wrong}");
        }
        assert_eq!(short_bus_id("00000000:3B:00.0"), "0000:3b:00.0");
        assert_eq!(short_bus_id("0001:AF:00.0"), "0001:af:00.0");
        assert_eq!(short_bus_id("odd"), "odd");
    }
}
