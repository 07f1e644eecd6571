//! What is sampled beside the records: where the launcher's samplers come in. One function for each way in and out.

use super::request::Request;
use crate::cli::record;
use crate::demangle::{Demangling, demangle};
use crate::error::Result;
use crate::report::nvprof::cpu::{Frame, Profile, Stack};
use crate::report::nvprof::system::{DeviceSamples, Measure};
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::sink::Need;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::ffi::OsString;
use trace_format::tables;

/// The launcher's flag for samples of the devices.
const SAMPLE: &str = "--sample";

/// Whether clocks, temperature, power and fans come from CUPTI itself, as nvprof's did: where the launcher takes no such
/// samples.
pub fn by_cupti(request: &Request) -> bool {
    request.system && (request.everyone || !record::knows(SAMPLE.as_ref()))
}

/// The flags of `gpuprof record` that start the samplers which `request` asks for, each with the option that asks. A
/// gpuprof without such a sampler does not know the flag, which is then said.
pub fn flags(request: &Request) -> Vec<(&'static str, Vec<OsString>)> {
    let mut flags = Vec::new();
    if request.system && !by_cupti(request) {
        flags.push(("system-profiling", vec![SAMPLE.into(), "100ms".into()]));
    }
    if request.cpu.is_on {
        let hertz = request.cpu.hertz.to_string();
        flags.push(("cpu-profiling", vec!["--cpu-sampling".into(), hertz.into(), "--native".into()]));
    }
    flags
}

/// What nvprof sums up of table `sample`, by the names that the collector and the launcher give.
const METRICS: [(&[u8], Measure); 5] = [
    (b"sm_clock_mhz", Measure::SmClock),
    (b"memory_clock_mhz", Measure::MemoryClock),
    (b"gpu_temperature_celsius", Measure::Temperature),
    (b"power_mw", Measure::Power),
    (b"fan_speed_percent", Measure::Fan),
];

/// Samples of clocks, temperature, power and fans that the traces hold, by device.
///
/// # Errors
/// A part of a file that cannot be read.
pub fn system_samples(frames: &Frames, filter: &Filter) -> Result<Vec<DeviceSamples>> {
    type ByDevice = BTreeMap<(u32, u32), Vec<(Measure, f64)>>;
    let measures: Vec<(u32, Measure)> = (0..frames.names.len() as u32)
        .filter_map(|id| {
            let known = METRICS.iter().find(|(name, _)| *name == frames.names.get(id));
            known.map(|(_, measure)| (id, *measure))
        })
        .collect();
    if measures.is_empty() {
        return Ok(Vec::new());
    }
    let found = frames.fold(
        &tables::SAMPLE,
        &["metric_id", "device", "value"],
        filter,
        ByDevice::new,
        |found: &mut ByDevice, batch| {
            let (metric, device, value) = (batch.u32("metric_id"), batch.u32("device"), batch.f64("value"));
            batch.for_each_row(|i| {
                let measure = metric.get(i).and_then(|id| measures.iter().find(|(known, _)| *known == id));
                if let (Some((_, measure)), Some(device), Some(value)) = (measure, device.get(i), value.get(i)) {
                    found.entry((batch.process, device)).or_default().push((*measure, value));
                }
            });
        },
        |a, b| b.into_iter().for_each(|(device, mut values)| a.entry(device).or_default().append(&mut values)),
    )?;
    let named = |device: u32| {
        // The sampler's own trace does not name devices; those of the application's processes do.
        let processes = 0..frames.processes.len() as u32;
        processes.into_iter().find(|&process| frames.device_name_id(process, device) != 0)
    };
    let samples =
        |((process, device), values)| DeviceSamples { process: named(device).unwrap_or(process), device, values };
    Ok(found.into_iter().map(samples).collect())
}

/// Stacks that were sampled of the application, and what they are made of. By name: a gpuprof without the sampler has no
/// such tables.
const CPU_TABLES: [&str; 3] = ["frame", "stack", "cpu_sample"];

/// What has to be read for [`cpu_profile`].
pub fn cpu_need() -> Need {
    let known = tables::ALL.iter().filter(|table| CPU_TABLES.contains(&table.name));
    Need::full(&known.copied().collect::<Vec<_>>())
}

/// The stacks that were sampled of process `pid` (`None`: of all), `hertz` times a second, from the traces of the run;
/// `None`: there are no such tables.
///
/// # Errors
/// A part of a file that cannot be read.
pub fn cpu_profile(frames: &Frames, filter: &Filter, hertz: u32, pid: Option<u32>) -> Result<Option<Profile>> {
    let table = |name: &str| tables::ALL.iter().copied().find(|table| table.name == name);
    let [Some(frame), Some(stack), Some(sample)] = CPU_TABLES.map(table) else { return Ok(None) };
    let functions = frames.fold(
        frame,
        &["id", "name_id", "file_id"],
        filter,
        HashMap::new,
        |found: &mut HashMap<(u32, u32), (u32, Option<u32>)>, batch| {
            let [id, name, file] = ["id", "name_id", "file_id"].map(|column| batch.u32(column));
            batch.for_each_row(|i| {
                if let (Some(id), Some(name)) = (id.get(i), name.get(i)) {
                    found.insert((batch.process, id), (name, file.get(i)));
                }
            });
        },
        |a, b| a.extend(b),
    )?;
    let callers = frames.fold(
        stack,
        &["id", "parent_id", "frame_id"],
        filter,
        HashMap::new,
        |found: &mut HashMap<(u32, u32), (Option<u32>, u32)>, batch| {
            let [id, parent, frame] = ["id", "parent_id", "frame_id"].map(|column| batch.u32(column));
            batch.for_each_row(|i| {
                if let (Some(id), Some(frame)) = (id.get(i), frame.get(i)) {
                    found.insert((batch.process, id), (parent.get(i), frame));
                }
            });
        },
        |a, b| a.extend(b),
    )?;
    type Counts = BTreeMap<(u32, u32, u32), u64>;
    let samples = frames.fold(
        sample,
        &["of_pid", "tid", "stack_id"],
        filter,
        Counts::new,
        |found: &mut Counts, batch| {
            let [of_pid, tid, stack] = ["of_pid", "tid", "stack_id"].map(|column| batch.u32(column));
            batch.for_each_row(|i| {
                if let Some(stack) = stack.get(i).filter(|_| pid.is_none() || of_pid.get(i) == pid) {
                    *found.entry((batch.process, tid.get(i).unwrap_or(0), stack)).or_default() += 1;
                }
            });
        },
        |a, b| b.into_iter().for_each(|(key, count)| *a.entry(key).or_default() += count),
    )?;
    let text = |id: u32| demangle(frames.names.get(id), Demangling::On);
    let stacks = samples.into_iter().map(|((process, tid, id), samples)| {
        let mut names = Vec::new();
        let mut at = Some(id);
        // A stack names its caller's, which is a row before it: a longer way round than there are rows is damage.
        while let Some((parent, frame)) = at.and_then(|id| callers.get(&(process, id))) {
            let (name, file) = functions.get(&(process, *frame)).copied().unwrap_or_default();
            names.push(Frame { name: text(name), library: file.map(text).unwrap_or_default() });
            at = parent.filter(|_| names.len() <= callers.len());
        }
        names.reverse();
        Stack { thread: u64::from(tid), frames: names, samples }
    });
    Ok(Some(Profile { stacks: stacks.collect(), hertz }))
}
