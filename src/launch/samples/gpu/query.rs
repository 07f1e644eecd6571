//! What a device is asked, one entry for each call of the library.

use crate::launch::companion::Recorder;
use crate::metrics::name;
use nvml_wrapper::Device;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, PcieUtilCounter, TemperatureSensor};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use trace_format::tables::SampleRow;

/// One question.
pub(super) struct Query {
    /// What it asks for, in the message that says it is refused.
    pub what: &'static str,
    /// Asks, and puts what was said.
    pub ask: fn(&Device, &mut Reading) -> Result<(), NvmlError>,
}

/// What a device has said.
pub(super) struct Reading<'a> {
    device: u32,
    into: &'a Recorder,
    /// The processes of the run.
    pids: &'a [u32],
    pub rows: Vec<SampleRow>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(device: u32, into: &'a Recorder, pids: &'a [u32]) -> Reading<'a> {
        Reading { device, into, pids, rows: Vec::new() }
    }

    fn put(&mut self, metric: &str, value: f64) {
        let metric_id = self.into.name(metric.as_bytes());
        self.rows.push(super::row(self.device, metric_id, self.into.now_ns(), value));
    }
}

/// What is asked every period: all of these answer within microseconds.
pub(super) static QUERIES: &[Query] = &[
    Query {
        what: "utilization",
        ask: |device, out| {
            let shares = device.utilization_rates()?;
            out.put(name::gpu_utilization_percent, shares.gpu.into());
            out.put(name::memory_utilization_percent, shares.memory.into());
            Ok(())
        },
    },
    Query {
        what: "memory",
        ask: |device, out| {
            let memory = device.memory_info()?;
            out.put(name::gpu_memory_used_bytes, memory.used as f64);
            Ok(())
        },
    },
    Query {
        what: "clock of the multiprocessors",
        ask: |device, out| {
            let mhz = device.clock_info(Clock::SM)?;
            out.put(name::sm_clock_mhz, mhz.into());
            Ok(())
        },
    },
    Query {
        what: "clock of the memory",
        ask: |device, out| {
            let mhz = device.clock_info(Clock::Memory)?;
            out.put(name::memory_clock_mhz, mhz.into());
            Ok(())
        },
    },
    Query {
        what: "power",
        ask: |device, out| {
            let milliwatts = device.power_usage()?;
            out.put(name::power_mw, milliwatts.into());
            Ok(())
        },
    },
    Query {
        what: "energy",
        ask: |device, out| {
            let millijoules = device.total_energy_consumption()?;
            out.put(name::energy_mj, millijoules as f64);
            Ok(())
        },
    },
    Query {
        what: "temperature",
        ask: |device, out| {
            let celsius = device.temperature(TemperatureSensor::Gpu)?;
            out.put(name::gpu_temperature_celsius, celsius.into());
            Ok(())
        },
    },
    Query {
        what: "fan",
        ask: |device, out| {
            let percent = device.fan_speed(0)?;
            out.put(name::fan_speed_percent, percent.into());
            Ok(())
        },
    },
    Query { what: "throttle reasons", ask: throttle_reasons },
    Query {
        what: "memory of processes",
        ask: |device, out| {
            // Numbers of processes are those of the driver's namespace: in a container they may be none of ours.
            for process in device.running_compute_processes()? {
                if let (UsedGpuMemory::Used(bytes), true) =
                    (process.used_gpu_memory, out.pids.contains(&process.pid))
                {
                    out.put(name::process_gpu_memory_bytes, bytes as f64);
                    if let Some(row) = out.rows.last_mut() {
                        row.of_pid = Some(process.pid);
                    }
                }
            }
            Ok(())
        },
    },
];

/// What takes 20 ms to answer, each.
pub(super) static SLOW_QUERIES: &[Query] = &[
    Query {
        what: "PCIe throughput, sent",
        ask: |device, out| {
            let kilobytes = device.pcie_throughput(PcieUtilCounter::Send)?;
            out.put(name::pcie_send_bytes_per_s, f64::from(kilobytes) * BYTES_PER_KILOBYTE);
            Ok(())
        },
    },
    Query {
        what: "PCIe throughput, received",
        ask: |device, out| {
            let kilobytes = device.pcie_throughput(PcieUtilCounter::Receive)?;
            out.put(name::pcie_receive_bytes_per_s, f64::from(kilobytes) * BYTES_PER_KILOBYTE);
            Ok(())
        },
    },
];

/// The library says KB/s; nvidia-smi and DCGM take 1000 for it.
const BYTES_PER_KILOBYTE: f64 = 1000.0;

/// Reasons by name. Those that a device does not know are left out.
static REASONS: [(ThrottleReasons, &str); 9] = [
    (ThrottleReasons::GPU_IDLE, name::throttle_gpu_idle_flag),
    (ThrottleReasons::APPLICATIONS_CLOCKS_SETTING, name::throttle_applications_clocks_setting_flag),
    (ThrottleReasons::SW_POWER_CAP, name::throttle_sw_power_cap_flag),
    (ThrottleReasons::HW_SLOWDOWN, name::throttle_hw_slowdown_flag),
    (ThrottleReasons::SYNC_BOOST, name::throttle_sync_boost_flag),
    (ThrottleReasons::SW_THERMAL_SLOWDOWN, name::throttle_sw_thermal_slowdown_flag),
    (ThrottleReasons::HW_THERMAL_SLOWDOWN, name::throttle_hw_thermal_slowdown_flag),
    (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, name::throttle_hw_power_brake_slowdown_flag),
    (ThrottleReasons::DISPLAY_CLOCK_SETTING, name::throttle_display_clock_setting_flag),
];

fn throttle_reasons(device: &Device, out: &mut Reading) -> Result<(), NvmlError> {
    let reasons = device.current_throttle_reasons()?;
    // A driver that cannot say which reasons there are has all of them.
    let supported = device.supported_throttle_reasons().unwrap_or(ThrottleReasons::all());
    out.put(name::clocks_throttle_reasons_mask, reasons.bits() as f64);
    for (reason, metric) in REASONS {
        if supported.contains(reason) {
            out.put(metric, if reasons.contains(reason) { 1.0 } else { 0.0 });
        }
    }
    Ok(())
}
