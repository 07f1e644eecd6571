//! The unified memory section, after the summary.

use std::fmt::Write as _;
use std::io;

use crate::analysis::uvm::{UvmEvent, UvmProfile, UvmTotals};

use super::fmt::{self, SIZE, TIME};
use super::messages::Prefix;
use super::{Labels, Options, device_label};

/// Writes the section; nothing if no unified memory was used.
///
/// nvprof's own CSV is broken here and not copied: its total time is always `0.000000` and the count of fault groups
/// stands in the column of total sizes. Ours has both where the header says.
pub fn write(
    out: &mut dyn io::Write,
    profile: &UvmProfile,
    labels: &dyn Labels,
    prefix: Prefix,
    options: &Options,
) -> io::Result<()> {
    if profile.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    writeln!(out, "{prefix}Unified Memory profiling result:")?;
    if options.csv && !profile.devices.is_empty() {
        out.write_all(
            b"\"Device\",\"Count\",\"Avg Size\",\"Min Size\",\"Max Size\",\"Total Size\",\"Total Time\",\"\"\n",
        )?;
    }
    for (&(process, device), events) in &profile.devices {
        let device = device_label(labels, process, device);
        if !options.csv {
            writeln!(out, "Device \"{device}\"")?;
            out.write_all(b"   Count  Avg Size  Min Size  Max Size  Total Size  Total Time  Name\n")?;
        }
        for (&event, totals) in events {
            let line = if options.csv {
                csv_row(&device, event, totals, options)
            } else {
                text_row(event, totals, options)
            };
            out.write_all(line.as_bytes())?;
        }
    }
    for (what, count) in [
        ("CPU Page faults", profile.cpu_faults),
        ("CPU thrashes", profile.cpu_thrashes),
        ("CPU throttles", profile.cpu_throttles),
        ("remote mappings from CPU", profile.remote_maps_from_cpu),
        ("remote mappings to CPU", profile.remote_maps_to_cpu),
    ] {
        if count > 0 {
            writeln!(out, "Total {what}: {count}")?;
        }
    }
    Ok(())
}

/// Sizes and times name their unit whatever `-u` says; a forced unit holds for the times, and stands behind the cell.
fn text_row(event: UvmEvent, totals: &UvmTotals, options: &Options) -> String {
    let dash = || "-".to_owned();
    let size = |bytes: f64| if event.has_bytes() { fmt::size(bytes, 8) } else { dash() };
    let total_size = if event.has_bytes() { fmt::total(totals.total_bytes as f64, &SIZE) } else { dash() };
    let time = totals.total_ns.map_or_else(dash, |ns| match options.unit.fixed() {
        None => fmt::total(ns as f64, &TIME),
        Some(unit) => {
            let mut cell = String::new();
            fmt::push_in_unit(&mut cell, ns as f64, unit, 10);
            format!("{cell:>10}{}", unit.name)
        }
    });
    format!(
        "{:>8}  {:>8}  {:>8}  {:>8}  {total_size:>10}  {time:>10}  {}\n",
        totals.count,
        size(totals.mean_bytes() as f64),
        size(totals.min_bytes as f64),
        size(totals.max_bytes as f64),
        name(event),
    )
}

fn csv_row(device: &str, event: UvmEvent, totals: &UvmTotals, options: &Options) -> String {
    let mut line = String::new();
    fmt::push_quoted(&mut line, device);
    let _ = write!(line, ",{}", totals.count);
    let sizes =
        [totals.mean_bytes() as f64, totals.min_bytes as f64, totals.max_bytes as f64, totals.total_bytes as f64];
    let with_unit = |line: &mut String, value, unit: &fmt::Unit| {
        fmt::push_csv(line, value, unit);
        line.push_str(unit.name);
    };
    for bytes in sizes {
        line.push(',');
        if event.has_bytes() {
            with_unit(&mut line, bytes, fmt::suited(bytes, &SIZE));
        }
    }
    line.push(',');
    if let Some(ns) = totals.total_ns {
        let ns = ns as f64;
        with_unit(&mut line, ns, options.unit.fixed().unwrap_or_else(|| fmt::suited(ns, &TIME)));
    }
    let _ = writeln!(line, ",\"{}\"", name(event));
    line
}

/// The names of nvprof 9 and later.
fn name(event: UvmEvent) -> &'static str {
    match event {
        UvmEvent::HostToDevice => "Host To Device",
        UvmEvent::DeviceToHost => "Device To Host",
        UvmEvent::GpuFaultGroups => "Gpu page fault groups",
        UvmEvent::Thrashes => "Memory thrashes",
        UvmEvent::Throttles => "Page throttles",
        UvmEvent::RemoteMapFromDevice => "Remote mapping from device",
        UvmEvent::RemoteMapToDevice => "Remote mapping to device",
        UvmEvent::FromDevice => "Transfers from Device",
        UvmEvent::ToDevice => "Transfers to Device",
    }
}

#[cfg(test)]
mod tests {
    use super::super::TimeUnit;
    use super::super::fixtures::{CSV, Names, TEXT, gpu, uvm, written};
    use super::*;

    fn profile() -> UvmProfile {
        let mut rows = vec![
            gpu(0, 1_635_000, uvm(1, 4_096, None, Some(0), None)),
            gpu(1, 900, uvm(1, 1_040_384, None, Some(0), None)),
            gpu(2, 699_179, uvm(2, 1_044_480, Some(0), None, None)),
            gpu(3, 12_247_350, uvm(4, 49, Some(0), None, None)),
            gpu(4, None, uvm(5, 65_536, Some(1), None, None)),
            gpu(5, None, uvm(7, 2 << 20, Some(0), None, None)),
        ];
        rows.extend((0..72).map(|i| gpu(6 + i, None, uvm(3, 1, None, None, Some(0x4034d6)))));
        UvmProfile::new(&rows)
    }

    #[test]
    fn text_has_two_more_digits_in_the_totals() {
        assert_eq!(
            written(|out| write(out, &profile(), &Names::new(), Prefix(Some(26325)), &TEXT)),
            "
==26325== Unified Memory profiling result:
Device \"Tesla V100-SXM2-32GB (0)\"
   Count  Avg Size  Min Size  Max Size  Total Size  Total Time  Name
       2  510.00KB  4.0000KB  0.9922MB  0.996094MB  1.635900ms  Host To Device
       1  0.9961MB  0.9961MB  0.9961MB  0.996094MB  699.1790us  Device To Host
       1         -         -         -           -  12.24735ms  Gpu page fault groups
       1  64.000KB  64.000KB  64.000KB  64.00000KB           -  Memory thrashes
       1  2.0000MB  2.0000MB  2.0000MB  2.000000MB           -  Remote mapping from device
Total CPU Page faults: 72
Total remote mappings to CPU: 1
"
        );
    }

    #[test]
    fn a_forced_unit_is_named_in_every_cell() {
        let options = Options { unit: TimeUnit::Ms, ..TEXT };
        let row = gpu(0, 33_056, uvm(1, 4_096, None, Some(0), None));
        let text = written(|out| write(out, &UvmProfile::new([&row]), &Names::new(), Prefix(None), &options));
        assert!(text.ends_with("4.000000KB    0.033056ms  Host To Device\n"), "{text}");
    }

    #[test]
    fn csv_has_times_and_counts_in_their_own_columns() {
        let text = written(|out| write(out, &profile(), &Names::new(), Prefix(None), &CSV));
        assert!(text.starts_with(
            "
======== Unified Memory profiling result:
\"Device\",\"Count\",\"Avg Size\",\"Min Size\",\"Max Size\",\"Total Size\",\"Total Time\",\"\"
\"Tesla V100-SXM2-32GB (0)\",2,510.000000KB,4.000000KB,0.992188MB,0.996094MB,1.635900ms,\"Host To Device\"
"
        ));
        assert!(
            text.contains("\n\"Tesla V100-SXM2-32GB (0)\",1,,,,,12.247350ms,\"Gpu page fault groups\"\n"),
            "{text}"
        );
    }

    #[test]
    fn without_unified_memory_there_is_no_section() {
        assert_eq!(written(|out| write(out, &UvmProfile::default(), &Names::new(), Prefix(None), &TEXT)), "");
    }
}
