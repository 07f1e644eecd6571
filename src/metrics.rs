//! The registry of measurements: what the numbers in table `sample` are, by the names that `sample.metric_id` gives.
//!
//! Names carry their units, and values are in them as they were measured: a percentage is 0 to 100, power is in
//! milliwatts as the driver has it. A name that is not here is legal (other tools have their own); then only its ending
//! says what it counts.

/// What a metric is measured of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The whole machine.
    Host,
    /// One process of the run.
    Process,
    /// One GPU.
    Device,
    /// One process on one GPU.
    ProcessOnDevice,
}

/// One metric.
#[derive(Debug)]
pub struct Metric {
    /// The name, with the unit in it.
    pub name: &'static str,
    /// The unit, for people.
    pub unit: &'static str,
    /// What it is measured of.
    pub of: Of,
    /// What it means.
    pub doc: &'static str,
}

macro_rules! metrics {
    ($($of:ident $name:ident $unit:literal $doc:literal;)+) => {
        /// Every metric that gpuprof takes, in the order in which they are shown.
        pub static METRICS: &[Metric] = &[$(
            Metric { name: stringify!($name), unit: $unit, of: Of::$of, doc: $doc },
        )+];

        /// The names, so that a slip of the pen does not compile.
        #[allow(non_upper_case_globals, missing_docs, reason = "named after what they stand for")]
        pub mod name {
            $(pub const $name: &str = stringify!($name);)+
        }
    };
}

metrics! {
    Host host_cpu_busy_percent "%" "Time that the machine's CPUs did not idle or wait for disks; 100: all of them.";
    Host host_load_1min_tasks "tasks" "Tasks that run or wait to, mean of the last minute as the system has it.";
    Host host_memory_used_bytes "bytes" "Memory that could not be had without swapping: total less available.";
    Host host_network_receive_bytes_per_s "bytes/s" "Received through all interfaces but the loopback.";
    Host host_network_send_bytes_per_s "bytes/s" "Sent through all interfaces but the loopback.";
    Process process_cpu_percent "%" "Time on CPUs, in the program and in the system for it; 100: one CPU.";
    Process process_rss_bytes "bytes" "Memory that is in RAM, what is shared with others included.";
    Process process_threads "threads" "Threads.";
    Process process_read_bytes_per_s "bytes/s" "Read by system calls: files, pipes, sockets, cached or not.";
    Process process_write_bytes_per_s "bytes/s" "Written by system calls.";
    Process process_disk_read_bytes_per_s "bytes/s" "Fetched from disks for it.";
    Process process_disk_write_bytes_per_s "bytes/s" "Sent to disks for it, or to be sent.";
    Device gpu_utilization_percent "%" "Time in which at least one kernel ran; says nothing of how full the GPU was.";
    Device memory_utilization_percent "%" "Time in which GPU memory was read or written.";
    Device gpu_memory_used_bytes "bytes" "GPU memory in use by anybody.";
    Device sm_clock_mhz "MHz" "Clock of the multiprocessors.";
    Device memory_clock_mhz "MHz" "Clock of the memory.";
    Device power_mw "mW" "Power of the board; on newer GPUs the mean of the last second.";
    Device power_limit_mw "mW" "What power may rise to.";
    Device energy_mj "mJ" "Energy since the driver was loaded: a counter.";
    Device gpu_temperature_celsius "C" "Temperature of the GPU.";
    Device fan_speed_percent "%" "What the fan is asked for, of its maximum.";
    Device clocks_throttle_reasons_mask "" "Why clocks are held down, as the driver's bits.";
    Device throttle_gpu_idle_flag "" "1: clocks are low because nothing runs.";
    Device throttle_applications_clocks_setting_flag "" "1: clocks are held by the setting of application clocks.";
    Device throttle_sw_power_cap_flag "" "1: clocks are held down to keep within the power limit.";
    Device throttle_hw_slowdown_flag "" "1: the hardware halves clocks or worse: heat, power brake or a power surge.";
    Device throttle_sync_boost_flag "" "1: clocks follow a slower GPU of the same group.";
    Device throttle_sw_thermal_slowdown_flag "" "1: clocks are held down because of heat.";
    Device throttle_hw_thermal_slowdown_flag "" "1: the hardware halves clocks or worse because of heat.";
    Device throttle_hw_power_brake_slowdown_flag "" "1: the hardware halves clocks or worse as the power supply asks.";
    Device throttle_display_clock_setting_flag "" "1: clocks are held by the setting of display clocks.";
    Device pcie_send_bytes_per_s "bytes/s" "Sent by the GPU over PCIe, measured over 20 ms.";
    Device pcie_receive_bytes_per_s "bytes/s" "Received by the GPU over PCIe, measured over 20 ms.";
    Device pcie_link_gen "" "PCIe generation at which the link runs.";
    Device pcie_link_width_lanes "lanes" "Lanes with which the link runs.";
    ProcessOnDevice process_gpu_memory_bytes "bytes" "GPU memory of a process, where the driver tells.";
}

/// The metric called `name`.
pub fn by_name(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// The unit of a metric; of one that is not in the registry, what its name ends in: ours end in `_percent`, those of
/// Nsight Systems in `[Throughput %]`.
pub fn unit_of(name: &str) -> &'static str {
    const ENDINGS: [(&str, &str); 12] = [
        ("%]", "%"),
        ("[MHz]", "MHz"),
        ("_bytes_per_s", "bytes/s"),
        ("_bytes", "bytes"),
        ("_percent", "%"),
        ("_mhz", "MHz"),
        ("_mw", "mW"),
        ("_mj", "mJ"),
        ("_celsius", "C"),
        ("_ns", "ns"),
        ("_ms", "ms"),
        ("_tasks", "tasks"),
    ];
    let by_ending = || ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map_or("", |(_, unit)| *unit);
    by_name(name).map_or_else(by_ending, |metric| metric.unit)
}

/// Where a metric stands among others; unknown ones come last.
pub fn rank(name: &str) -> usize {
    METRICS.iter().position(|metric| metric.name == name).unwrap_or(METRICS.len())
}

/// The registry as a table in Markdown.
pub fn to_markdown() -> String {
    let mut out = String::from("| metric | of | unit | meaning |\n|---|---|---|---|\n");
    for Metric { name, unit, of, doc } in METRICS {
        let of = match of {
            Of::Host => "host",
            Of::Process => "process",
            Of::Device => "GPU",
            Of::ProcessOnDevice => "process on a GPU",
        };
        out.push_str(&format!("| `{name}` | {of} | {unit} | {doc} |\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_units_agree_with_them() {
        for (i, metric) in METRICS.iter().enumerate() {
            assert_eq!(rank(metric.name), i, "{} is there twice", metric.name);
            assert!(metric.doc.ends_with('.'), "{}", metric.name);
        }
        assert_eq!(unit_of(name::power_mw), "mW");
        assert_eq!(unit_of("other_power_mw"), "mW");
        assert_eq!(unit_of("nobody knows"), "");
        assert_eq!([unit_of("SMs Active [Throughput %]"), unit_of("GPC Clock Frequency [MHz]")], ["%", "MHz"]);
        assert_eq!(rank("nobody knows"), METRICS.len());
    }

    #[test]
    fn the_page_lists_every_metric() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/system-samples.md")).unwrap();
        assert!(page.contains(&to_markdown()), "docs/system-samples.md must have:\n{}", to_markdown());
    }
}
