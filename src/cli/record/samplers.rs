//! What the launcher measures itself while the program runs, as the flags ask.

use super::Args;
use super::place::Place;
use crate::error::Result;
use crate::launch::companion::{Companion, Limits, Sampler};
use crate::launch::sampling::sampler::CpuSampler;
use shim_config::Settings;
use std::ffi::OsString;

/// The launcher's trace with all samplers that were asked for; `None`: none was, and there is no file and no thread.
///
/// # Errors
/// The trace cannot be made.
pub fn companion(args: &Args, settings: &Settings, place: &Place) -> Result<Option<Companion>> {
    let mut samplers: Vec<Box<dyn Sampler>> = Vec::new();
    if let Some(options) = args.host_stacks.options() {
        samplers.push(Box::new(CpuSampler::new(options)));
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
