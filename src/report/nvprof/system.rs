//! `--system-profiling on`: what clocks, temperature, power and fans did, per device.
//!
//! Compared with what nvprof 11.8 prints of a database with such records.

use super::messages::{Message, Prefix};
use super::{Labels, Options, device_label, fmt};
use std::io;

/// What nvprof sums up, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Clock of the multiprocessors, MHz.
    SmClock,
    /// Clock of the memory, MHz.
    MemoryClock,
    /// Temperature, degrees Celsius.
    Temperature,
    /// Power, mW.
    Power,
    /// Fan, percent of its fastest.
    Fan,
}

impl Measure {
    /// All of them, in the order of their rows.
    pub const ALL: [Measure; 5] =
        [Measure::SmClock, Measure::MemoryClock, Measure::Temperature, Measure::Power, Measure::Fan];

    fn title(self) -> &'static str {
        match self {
            Measure::SmClock => "SM Clock (MHz)",
            Measure::MemoryClock => "Memory Clock (MHz)",
            Measure::Temperature => "Temperature (C)",
            Measure::Power => "Power (mW)",
            Measure::Fan => "Fan (%)",
        }
    }
}

/// The samples of one device: what was measured, and the values.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceSamples {
    /// Ordinal of the process that the device's name is known from.
    pub process: u32,
    /// Device index.
    pub device: u32,
    /// Measured values, in any order. What a device does not have (a fan, say) is not among them.
    pub values: Vec<(Measure, f64)>,
}

/// Writes the section. Nothing without samples.
pub fn write(
    out: &mut dyn io::Write,
    devices: &[DeviceSamples],
    labels: &dyn Labels,
    prefix: Prefix,
    options: &Options,
) -> io::Result<()> {
    if devices.iter().all(|device| device.values.is_empty()) {
        return Ok(());
    }
    writeln!(out)?;
    Message::SystemResult.write(out, prefix)?;
    if options.csv {
        writeln!(out, "\"\",\"Device\",\"Count\",\"Avg\",\"Min\",\"Max\"")?;
    }
    for device in devices {
        let label = device_label(labels, device.process, device.device);
        if !options.csv {
            writeln!(out, "Device \"{label}\"")?;
            writeln!(out, "{:20}  {:>8}  {:>10}  {:>10}  {:>10}", "", "Count", "Avg", "Min", "Max")?;
        }
        for measure in Measure::ALL {
            let values = device.values.iter().filter(|(what, _)| *what == measure).map(|(_, value)| *value);
            let Some((count, sum, min, max)) = sums(values) else { continue };
            let (title, average) = (measure.title(), sum / count as f64);
            if options.csv {
                let mut name = String::new();
                fmt::push_quoted(&mut name, &label);
                writeln!(out, "\"{title}\",{name},{count},{average:.6},{min:.6},{max:.6}")?;
            } else {
                writeln!(out, "{title:>20}  {count:>8}  {average:>10.2}  {min:>10.2}  {max:>10.2}")?;
            }
        }
    }
    Ok(())
}

/// Number, sum, smallest and largest; `None` of nothing.
fn sums(values: impl Iterator<Item = f64>) -> Option<(u64, f64, f64, f64)> {
    values.fold(None, |sums, value| {
        let (count, sum, min, max) = sums.unwrap_or((0, 0.0, f64::INFINITY, f64::NEG_INFINITY));
        Some((count + 1, sum + value, value.min(min), value.max(max)))
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{CSV, Names, TEXT, written};
    use super::*;

    fn samples() -> Vec<DeviceSamples> {
        let values = |with_fan: bool| {
            let mut values = Vec::new();
            for i in 0..5 {
                let i = f64::from(i);
                values.push((Measure::Power, 52_123.0 + i * 1000.0));
                values.push((Measure::SmClock, 1300.0 + i * 7.0));
                values.push((Measure::MemoryClock, 877.0));
                values.push((Measure::Temperature, 40.0 + i));
                if with_fan {
                    values.push((Measure::Fan, 30.0 + i));
                }
            }
            values
        };
        vec![
            DeviceSamples { process: 0, device: 0, values: values(true) },
            DeviceSamples { process: 0, device: 1, values: values(false) },
        ]
    }

    /// As printed by nvprof 11.8 of these very samples, put into a database, the second device's name apart.
    #[test]
    fn a_table_for_each_device_and_no_row_for_what_it_lacks() {
        assert_eq!(
            written(|out| write(out, &samples(), &Names::new(), Prefix(None), &TEXT)),
            "
======== System profiling result:
Device \"Tesla V100-SXM2-32GB (0)\"
                         Count         Avg         Min         Max
      SM Clock (MHz)         5     1314.00     1300.00     1328.00
  Memory Clock (MHz)         5      877.00      877.00      877.00
     Temperature (C)         5       42.00       40.00       44.00
          Power (mW)         5    54123.00    52123.00    56123.00
             Fan (%)         5       32.00       30.00       34.00
Device \"GPU (1)\"
                         Count         Avg         Min         Max
      SM Clock (MHz)         5     1314.00     1300.00     1328.00
  Memory Clock (MHz)         5      877.00      877.00      877.00
     Temperature (C)         5       42.00       40.00       44.00
          Power (mW)         5    54123.00    52123.00    56123.00
"
        );
    }

    #[test]
    fn csv_has_the_device_in_every_row() {
        assert_eq!(
            written(|out| write(out, &samples()[..1], &Names::new(), Prefix(Some(7)), &CSV)),
            "
==7== System profiling result:
\"\",\"Device\",\"Count\",\"Avg\",\"Min\",\"Max\"
\"SM Clock (MHz)\",\"Tesla V100-SXM2-32GB (0)\",5,1314.000000,1300.000000,1328.000000
\"Memory Clock (MHz)\",\"Tesla V100-SXM2-32GB (0)\",5,877.000000,877.000000,877.000000
\"Temperature (C)\",\"Tesla V100-SXM2-32GB (0)\",5,42.000000,40.000000,44.000000
\"Power (mW)\",\"Tesla V100-SXM2-32GB (0)\",5,54123.000000,52123.000000,56123.000000
\"Fan (%)\",\"Tesla V100-SXM2-32GB (0)\",5,32.000000,30.000000,34.000000
"
        );
        assert_eq!(written(|out| write(out, &[], &Names::new(), Prefix(None), &TEXT)), "");
    }
}
