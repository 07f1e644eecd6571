//! GPUs, by a stand-in for the management library: `tests/sim/players/fake_nvml.c` says what it answers.

use super::{Samples, launcher, notes, samples};
use crate::common::gpuprof_in;
use crate::sim::{Ended, Sim, player};
use serde_json::Value;
use trace_format::read::TraceReader;
use trace_format::tables::DeviceRow;

fn sampled(sim: &Sim, variables: &[(&str, &str)], milliseconds: &str) -> Ended {
    let mut run = sim
        .program("sh")
        .args(["-c", "echo $$ > pid; exec \"$@\"", "sh"])
        .arg(player("busy"))
        .args(["2", milliseconds, "1"])
        .env("GPUPROF_NVML", player("fake_nvml"))
        .env("FAKE_NVML_PIDS", "pid")
        .env("FAKE_NVML_LOG", "refused");
    for (name, value) in variables {
        run = run.env(name, value);
    }
    run.record(&super::EVERY_20_MS).run()
}

fn values(samples: &Samples, device: u32, metric: &str) -> Vec<f64> {
    let found = samples.get(&(Some(device), None, metric.to_owned()));
    found.unwrap_or_else(|| panic!("no {metric} of GPU {device}")).iter().map(|(_, value)| *value).collect()
}

/// The row of a metric in the view.
fn row<'d>(document: &'d Value, gpu: u32, metric: &str) -> &'d Value {
    let rows = document["tables"][0]["rows"].as_array().unwrap();
    let found = rows.iter().find(|row| row["Metric"] == metric && row["GPU"] == gpu);
    found.unwrap_or_else(|| panic!("no {metric} of GPU {gpu} in {document}"))
}

fn view(ended: &Ended) -> Value {
    let answer = gpuprof_in(ended.folder(), &["report", "--view", "system", "--format", "json", "run"]);
    assert_eq!(answer.status, 0, "{}", answer.stderr);
    serde_json::from_str(&answer.stdout).unwrap()
}

#[test]
fn every_answer_of_the_library_is_in_the_trace() {
    let sim = Sim::new("12.8");
    let ended = sampled(&sim, &[("FAKE_NVML_DEVICES", "2")], "1500");
    assert_eq!(ended.code(), Some(7), "{}", ended.stderr);
    let path = launcher(&ended);
    let samples = samples(&path);
    for device in 0..2 {
        let count = values(&samples, device, "power_mw").len();
        assert!(count >= 3, "{count} samples in 1.5 s");
        let expected = |f: &dyn Fn(usize) -> f64| (0..count).map(f).collect::<Vec<f64>>();
        let check = |metric: &str, f: &dyn Fn(usize) -> f64| {
            assert_eq!(values(&samples, device, metric), expected(f), "{metric} of GPU {device}");
        };
        check("gpu_utilization_percent", &|n| (n % 101) as f64);
        check("memory_utilization_percent", &|n| (2 * n % 101) as f64);
        // The first was asked for the size of the memory, when the GPU was described.
        check("gpu_memory_used_bytes", &|n| f64::from(1 << 30) + 4096.0 * (n + 1) as f64);
        check("sm_clock_mhz", &|n| 1980.0 - (n % 500) as f64);
        check("memory_clock_mhz", &|_| 2619.0);
        check("power_mw", &|n| 100_000.0 + 10_000.0 * (n % 3) as f64 + f64::from(device));
        check("energy_mj", &|n| 1e9 + 12_345.0 * n as f64);
        check("gpu_temperature_celsius", &|n| 40.0 + (n % 10) as f64);
        check("throttle_gpu_idle_flag", &|_| 0.0);
        check("throttle_sw_power_cap_flag", &|n| (n % 2) as f64);
        check("throttle_sw_thermal_slowdown_flag", &|n| f64::from(u8::from(n % 4 == 3)));
        check("clocks_throttle_reasons_mask", &|n| [0.0, 4.0, 0.0, 36.0][n % 4]);
        let unknown = (Some(device), None, "throttle_sync_boost_flag".to_owned());
        assert!(!samples.contains_key(&unknown), "the GPU does not know that reason");
        let sent = values(&samples, device, "pcie_send_bytes_per_s");
        assert_eq!(sent[0], 1_000_000.0);
        assert_eq!(values(&samples, device, "pcie_receive_bytes_per_s")[0], 2_000_000.0);
        assert!(sent.len() < count, "it takes long to ask, so it is asked seldom");
    }
    // One process of the run uses the first GPU; the other one that does is none of the run's.
    let pid = ended.number("pid") as u32;
    let users: Vec<_> = samples.iter().filter(|((_, _, metric), _)| metric == "process_gpu_memory_bytes").collect();
    assert_eq!(users.len(), 1, "{users:?}");
    assert_eq!((users[0].0.0, users[0].0.1), (Some(0), Some(pid)));
    assert!(users[0].1.iter().all(|(_, bytes)| *bytes == 123_456_789.0));
    // What a GPU cannot tell it is asked once.
    let refused = std::fs::read_to_string(ended.folder().join("refused")).unwrap();
    assert_eq!(refused, "fan 0\nfan 1\n");
    let notes = notes(&path);
    let told: Vec<&String> = notes.iter().filter(|note| note.contains("does not tell: fan (")).collect();
    assert_eq!(told.len(), 2, "{notes:?}");
    assert!(notes.iter().any(|note| note.starts_with("GPUs are sampled by ") && note.ends_with("fake_nvml")));
    let devices = TraceReader::open(&path).unwrap().definitions::<DeviceRow>().rows;
    assert_eq!(devices.len(), 2);
    let uuid: Vec<u8> = (0..16).map(|i| if i == 15 { 1 } else { i * 0x11 }).collect();
    assert_eq!((devices[1].device, devices[1].uuid.as_ref()), (1, Some(&uuid)));
    assert_eq!((devices[1].compute_major, devices[1].memory_bytes), (Some(9), Some(80 << 30)));
}

#[test]
fn energy_is_the_counters_where_there_is_one() {
    let sim = Sim::new("12.8");
    let ended = sampled(&sim, &[], "700");
    let samples = samples(&launcher(&ended));
    let counter = values(&samples, 0, "energy_mj");
    let joules = (counter[counter.len() - 1] - counter[0]) / 1000.0;
    let document = view(&ended);
    for metric in ["power_mw", "energy_mj"] {
        let shown = row(&document, 0, metric)["Energy (J)"].as_f64().unwrap();
        assert!((shown - joules).abs() <= 0.001, "{metric}: {shown} and {joules}");
    }
    assert!(row(&document, 0, "energy_mj")["Mean"].is_null());
    assert!(row(&document, 0, "sm_clock_mhz")["Energy (J)"].is_null());
    assert_eq!(row(&document, 0, "power_mw")["Unit"], "mW");
}

#[test]
fn energy_is_the_integral_of_power_where_there_is_no_counter() {
    let sim = Sim::new("12.8");
    let ended = sampled(&sim, &[("FAKE_NVML_NO_ENERGY", "1")], "700");
    let samples = samples(&launcher(&ended));
    let power = &samples[&(Some(0), None, "power_mw".to_owned())];
    // Exact: doubled milliwatts times nanoseconds.
    let doubled: i128 =
        power.windows(2).map(|p| i128::from((p[0].1 + p[1].1) as i64) * i128::from(p[1].0 - p[0].0)).sum();
    let joules = doubled as f64 / 2e12;
    let shown = row(&view(&ended), 0, "power_mw")["Energy (J)"].as_f64().unwrap();
    assert!((shown - joules).abs() <= 0.001, "{shown} and {joules}");
    let refused = std::fs::read_to_string(ended.folder().join("refused")).unwrap();
    assert_eq!(refused.matches("energy 0").count(), 1, "asked once: {refused}");
}

#[test]
fn a_gpu_that_is_lost_is_said_once_and_the_others_go_on() {
    let sim = Sim::new("12.8");
    let ended = sampled(&sim, &[("FAKE_NVML_DEVICES", "2"), ("FAKE_NVML_LOST", "3")], "1500");
    let said: Vec<&str> = ended.stderr.lines().filter(|line| line.contains("GPU 0")).collect();
    assert_eq!(said.len(), 1, "{}", ended.stderr);
    assert!(said[0].starts_with("gpuprof: GPU 0 gave no more samples: device fell off the bus"), "{said:?}");
    let samples = samples(&launcher(&ended));
    assert_eq!(values(&samples, 0, "power_mw").len(), 3);
    assert!(values(&samples, 1, "power_mw").len() > 3);
    assert_eq!(ended.code(), Some(7));
}

#[test]
fn a_library_that_does_not_start_is_said_once() {
    let sim = Sim::new("12.8");
    for (code, words) in [("9", "NVIDIA driver is not loaded"), ("4", "does not have permission")] {
        let ended = sampled(&sim, &[("FAKE_NVML_INIT", code)], "200");
        let said: Vec<&str> = ended.stderr.lines().filter(|line| line.contains("no samples of GPUs")).collect();
        assert_eq!(said.len(), 1, "{}", ended.stderr);
        assert!(said[0].contains(words), "{said:?}");
    }
    let ended = sampled(&sim, &[("FAKE_NVML_DEVICES", "0")], "200");
    assert_eq!(ended.stderr.matches("it knows no GPU").count(), 1, "{}", ended.stderr);
}
