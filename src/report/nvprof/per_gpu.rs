//! `--print-summary-per-gpu`: one summary table per device, idle devices included.

use std::io;

use super::messages::Prefix;
use super::summary::{self, Section};
use super::{Labels, Options, device_label};

/// One device and its sections: GPU activities, and OpenACC where there is any. API calls belong to no device.
#[derive(Clone, Copy, Debug)]
pub struct Device<'a> {
    /// Ordinal of the process.
    pub process: u32,
    /// Device index.
    pub device: u32,
    /// As for [`summary::write`]; percentages are of this device.
    pub sections: &'a [Section<'a>],
}

/// Writes the tables in the order given, which should be by device index.
pub fn write(
    out: &mut dyn io::Write,
    devices: &[Device],
    labels: &dyn Labels,
    prefix: Prefix,
    options: &Options,
) -> io::Result<()> {
    for device in devices {
        writeln!(out)?;
        writeln!(out, "{prefix}Device \"{}\"", device_label(labels, device.process, device.device))?;
        summary::write(out, device.sections, options)?;
    }
    Ok(())
}
