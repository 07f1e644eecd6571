//! What the launcher measures itself while the program runs, as the flags ask.

use super::Args;
use super::run_folder::RunFolder;
use crate::cli::times::Length;
use crate::error::{Error, Result};
use crate::launch::companion::{Companion, Limits, Sampler};
use crate::launch::samples;
use crate::launch::sampling::sampler::CpuSampler;
use shim_config::Settings;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

/// The launcher's trace with all samplers that were asked for; `None`: none was, and there is no file and no thread.
///
/// # Errors
/// Fails if the trace cannot be made.
pub fn companion(args: &Args, settings: &Settings, place: &RunFolder) -> Result<Option<Companion>> {
    let mut samplers: Vec<Box<dyn Sampler>> = Vec::new();
    if let Some(options) = args.host_stacks.options() {
        samplers.push(Box::new(CpuSampler::new(options)));
    }
    if let Some(period) = args.sample {
        let nvml = settings.nvml.as_deref().map(|path| OsStr::from_bytes(path).to_owned());
        samplers.extend(samples::samplers(period, nvml));
    }
    if samplers.is_empty() {
        return Ok(None);
    }
    let path = place.launcher_trace(&args.command[0])?;
    // No other run has this list of processes.
    let mut mark = OsString::from("GPUPROF_SEEN=");
    mark.push(&place.seen);
    let limits = Limits { size_bytes: settings.size_limit_bytes, min_free_percent: settings.min_free_percent };
    Companion::prepare(path, &args.command, mark, limits, samplers).map(Some)
}

/// The period of `--sample`.
///
/// # Errors
/// Fails if the text is not a length of time, or if the length is out of range.
pub fn period(text: &str) -> Result<Duration> {
    let (least, most) = samples::PERIODS;
    let Length(ns) = text.parse()?;
    let period = Duration::from_nanos(u64::try_from(ns).unwrap_or(0));
    if period < least || period > most {
        return Err(Error::new(format!("\"{text}\" is not within 10ms to 3600s")).remedy("write 100ms, say"));
    }
    Ok(period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_have_a_unit_and_bounds() {
        assert_eq!(period("100ms").unwrap(), Duration::from_millis(100));
        assert_eq!(period("1.5s").unwrap(), Duration::from_millis(1_500));
        for wrong in ["", "x", "9ms", "3601s", "-1s", "100"] {
            assert!(period(wrong).is_err(), "{wrong}");
        }
    }
}
