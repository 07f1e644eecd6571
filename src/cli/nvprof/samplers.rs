//! What is sampled beside the records: where the launcher's samplers come in. One function for each way in and out.

use super::request::Request;
use crate::analysis::cpu_stacks::{self, HostStacks};
use crate::analysis::labels::Labels;
use crate::error::Result;
use crate::report::nvprof::cpu::{Frame, Profile, Stack};
use crate::report::nvprof::system::{DeviceSamples, Measure};
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use std::collections::BTreeMap;
use std::ffi::OsString;
use trace_format::tables;
use trace_format::tables::column::sample;

/// Whether clocks, temperature, power and fans come from CUPTI itself, as nvprof's did: where no launcher stands beside the
/// processes.
pub fn by_cupti(request: &Request) -> bool {
    request.system && request.all_processes
}

/// The flags of `gpuprof record` that start the samplers which `request` asks for.
pub fn flags(request: &Request) -> Vec<OsString> {
    let mut flags: Vec<OsString> = Vec::new();
    if request.system && !by_cupti(request) {
        flags.extend(["--sample".into(), "100ms".into()]);
    }
    if request.cpu.is_on {
        flags.extend(["--cpu-sampling".into(), request.cpu.hertz.to_string().into(), "--native".into()]);
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
/// Fails if a part of a file cannot be read.
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
        &[sample::METRIC_ID, sample::DEVICE, sample::VALUE],
        filter,
        ByDevice::new,
        |found: &mut ByDevice, batch| {
            let (metric, device, value) =
                (batch.get(sample::METRIC_ID), batch.get(sample::DEVICE), batch.get(sample::VALUE));
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

/// The stacks that were sampled of process `pid` (`None`: of all), `hertz` times a second, from the traces of the run.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn cpu_profile(labels: &Labels, filter: &Filter, hertz: u32, pid: Option<u32>) -> Result<Profile> {
    let known = HostStacks::read(labels.frames())?;
    let mut path = Vec::new();
    let samples = cpu_stacks::samples(labels.frames(), filter)?.into_iter();
    let stacks = samples.filter(|(place, _)| pid.is_none_or(|pid| place.pid == pid)).map(|(place, sum)| {
        known.path(place.process, place.stack, &mut path);
        let frames = path.iter().map(|frame| Frame {
            name: cpu_stacks::function_name(labels, *frame).to_owned(),
            library: labels.text(frame.file).to_owned(),
        });
        Stack { thread: u64::from(place.tid), frames: frames.collect(), samples: sum.samples }
    });
    Ok(Profile { stacks: stacks.collect(), hertz })
}
