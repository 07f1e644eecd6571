//! `--print-summary-per-gpu`: one summary table per device, idle devices included, and its unified memory.

use std::io;

use crate::analysis::uvm::UvmProfile;

use super::messages::Prefix;
use super::summary::{self, Section};
use super::{Labels, Options, device_label, uvm};

/// One device and its sections: GPU activities, and OpenACC where there is any. API calls belong to no device.
#[derive(Clone, Debug)]
pub struct Device<'a> {
    /// Ordinal of the process.
    pub process: u32,
    /// Device index.
    pub device: u32,
    /// As for [`summary::write`]; percentages are of this device.
    pub sections: &'a [Section<'a>],
    /// What unified memory did there.
    pub unified: UvmProfile,
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
        uvm::write(out, &device.unified, labels, prefix, options)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{Names, TEXT, written};
    use super::*;
    use crate::analysis::stats::{Stats, Wanted};
    use crate::analysis::summary::SummaryRow;

    #[test]
    fn idle_devices_are_listed_and_unnamed_ones_numbered() {
        let mut stats = Stats::default();
        stats.add(1_792, Wanted::default());
        let rows = [SummaryRow::new("[CUDA memset]", stats)];
        let (busy, idle) = ([Section::gpu(&rows), Section::openacc(&[], false)], [Section::gpu(&[])]);
        let unified = UvmProfile::default;
        let devices = [
            Device { process: 0, device: 0, sections: &busy, unified: unified() },
            Device { process: 0, device: 1, sections: &idle, unified: unified() },
        ];
        assert_eq!(
            written(|out| write(out, &devices, &Names::new(), Prefix(None), &TEXT)),
            "
======== Device \"Tesla V100-SXM2-32GB (0)\"
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
 GPU activities:  100.00%  1.7920us         1  1.7920us  1.7920us  1.7920us  [CUDA memset]

======== Device \"GPU (1)\"
No kernels were profiled.
"
        );
    }
}
