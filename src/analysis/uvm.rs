//! Unified memory: what moved, faulted and thrashed, per device.

use std::collections::BTreeMap;

use super::activity::{ActivityKind, GpuActivity};
use crate::cupti::unified::{devices_of_mask, is_of_cpu};
use trace_format::vocabulary::uvm_kind::{
    BYTES_DTOD, BYTES_DTOH, BYTES_HTOD, CPU_PAGE_FAULTS, GPU_PAGE_FAULTS, REMOTE_MAP, THRASHING, THROTTLING,
};

/// What a row of the section counts, in the order in which the rows stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UvmEvent {
    /// Pages that moved to the device from the host.
    HostToDevice,
    /// Pages that moved to the host.
    DeviceToHost,
    /// Groups of page faults on the device.
    GpuFaultGroups,
    /// Times the device was made to wait so that pages stay.
    Throttles,
    /// Pages that moved back and forth.
    Thrashes,
    /// Pages of this device that another processor mapped.
    RemoteMapFromDevice,
    /// Pages of another processor that this device mapped.
    RemoteMapToDevice,
    /// Pages that moved to another device.
    FromDevice,
    /// Pages that moved to this device from another.
    ToDevice,
}

impl UvmEvent {
    /// Whether the records of this event carry bytes.
    pub fn has_bytes(self) -> bool {
        !matches!(self, UvmEvent::GpuFaultGroups | UvmEvent::Throttles)
    }
}

/// Sums over the records of one event on one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UvmTotals {
    /// How many records.
    pub count: u64,
    /// Bytes of all.
    pub total_bytes: u128,
    /// Bytes of the smallest.
    pub min_bytes: i64,
    /// Bytes of the largest.
    pub max_bytes: i64,
    /// Their durations; `None` where no record has one.
    pub total_ns: Option<u128>,
}

impl UvmTotals {
    const NONE: UvmTotals =
        UvmTotals { count: 0, total_bytes: 0, min_bytes: i64::MAX, max_bytes: 0, total_ns: None };

    fn add(&mut self, bytes: i64, duration_ns: Option<i64>) {
        self.count += 1;
        self.total_bytes += bytes.max(0) as u128;
        self.min_bytes = self.min_bytes.min(bytes);
        self.max_bytes = self.max_bytes.max(bytes);
        if let Some(ns) = duration_ns {
            self.total_ns = Some(self.total_ns.unwrap_or(0) + ns.max(0) as u128);
        }
    }

    /// Mean bytes per record, rounded down as nvprof does.
    pub fn mean_bytes(&self) -> u128 {
        self.total_bytes.checked_div(u128::from(self.count)).unwrap_or(0)
    }
}

/// Everything unified memory did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UvmProfile {
    /// Totals by process and device, then by event.
    pub devices: BTreeMap<(u32, u32), BTreeMap<UvmEvent, UvmTotals>>,
    /// Page faults on the CPU.
    pub cpu_faults: u64,
    /// Thrashes in which the CPU took part.
    pub cpu_thrashes: u64,
    /// Times the CPU was made to wait.
    pub cpu_throttles: u64,
    /// Pages of a device mapped into the CPU.
    pub remote_maps_to_cpu: u64,
    /// Pages of the CPU mapped into a device.
    pub remote_maps_from_cpu: u64,
}

impl UvmProfile {
    /// Sums all unified memory events among `rows`; other activities are passed over.
    pub fn new<'a>(rows: impl IntoIterator<Item = &'a GpuActivity>) -> UvmProfile {
        let mut profile = UvmProfile::default();
        for row in rows {
            profile.add(row);
        }
        profile
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        *self == UvmProfile::default()
    }

    /// The part of it that is about one device. What is the CPU's is in none.
    pub fn of_device(&self, process: u32, device: u32) -> UvmProfile {
        let place = (process, device);
        let events = self.devices.get(&place).map(|events| (place, events.clone()));
        UvmProfile { devices: events.into_iter().collect(), ..UvmProfile::default() }
    }

    fn add(&mut self, row: &GpuActivity) {
        use UvmEvent::*;
        let ActivityKind::Uvm { kind, value, src_device, dst_device, flags, .. } = row.what else { return };
        match kind {
            BYTES_HTOD => self.on(row, dst_device.unwrap_or(row.device), HostToDevice, value),
            BYTES_DTOH => self.on(row, src_device.unwrap_or(row.device), DeviceToHost, value),
            CPU_PAGE_FAULTS => self.cpu_faults += value.max(1) as u64,
            GPU_PAGE_FAULTS => self.on(row, src_device.or(dst_device).unwrap_or(row.device), GpuFaultGroups, value),
            THRASHING => {
                self.cpu_thrashes += u64::from(is_of_cpu(flags));
                for device in devices_of_mask(src_device) {
                    self.on(row, device, Thrashes, value);
                }
            }
            THROTTLING => match src_device.filter(|_| !is_of_cpu(flags)) {
                None => self.cpu_throttles += 1,
                Some(device) => self.on(row, device, Throttles, value),
            },
            REMOTE_MAP => {
                self.remote_maps_from_cpu += u64::from(src_device.is_none());
                self.remote_maps_to_cpu += u64::from(dst_device.is_none());
                if let Some(device) = src_device {
                    self.on(row, device, RemoteMapFromDevice, value);
                }
                if let Some(device) = dst_device {
                    self.on(row, device, RemoteMapToDevice, value);
                }
            }
            BYTES_DTOD => {
                if let Some(device) = src_device {
                    self.on(row, device, FromDevice, value);
                }
                if let Some(device) = dst_device.or(src_device.is_none().then_some(row.device)) {
                    self.on(row, device, ToDevice, value);
                }
            }
            _ => {}
        }
    }

    fn on(&mut self, row: &GpuActivity, device: u32, event: UvmEvent, bytes: i64) {
        let device = self.devices.entry((row.process, device)).or_default();
        device.entry(event).or_insert(UvmTotals::NONE).add(bytes, row.duration_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: u32, value: i64, duration_ns: Option<i64>, src: Option<u32>, dst: Option<u32>) -> GpuActivity {
        flagged(kind, value, duration_ns, [src, dst], 0)
    }

    fn flagged(
        kind: u32,
        value: i64,
        duration_ns: Option<i64>,
        [src, dst]: [Option<u32>; 2],
        flags: u32,
    ) -> GpuActivity {
        GpuActivity {
            start_ns: 0,
            duration_ns,
            process: 0,
            device: 0,
            context: 0,
            stream: 0,
            correlation: 0,
            graph_node: None,
            what: ActivityKind::Uvm {
                kind,
                value,
                address: 0x1000,
                src_device: src,
                dst_device: dst,
                pc: None,
                flags,
            },
        }
    }

    #[test]
    fn copies_count_on_the_device_that_takes_part() {
        let profile = UvmProfile::new(&[
            event(1, 4096, Some(1000), None, Some(1)),
            event(1, 65_536, Some(7000), None, Some(1)),
            event(2, 8192, Some(2000), Some(0), None),
        ]);
        let to = &profile.devices[&(0, 1)][&UvmEvent::HostToDevice];
        assert_eq!((to.count, to.total_bytes, to.mean_bytes()), (2, 69_632, 34_816));
        assert_eq!((to.min_bytes, to.max_bytes, to.total_ns), (4096, 65_536, Some(8000)));
        assert_eq!(profile.devices[&(0, 0)][&UvmEvent::DeviceToHost].count, 1);
    }

    #[test]
    fn faults_count_faults_on_the_cpu_and_groups_on_the_gpu() {
        let profile = UvmProfile::new(&[
            event(3, 1, None, None, None),
            event(3, 5, None, None, None),
            event(4, 49, Some(398_850), Some(0), None),
            event(4, 1, Some(38_880), Some(0), None),
        ]);
        assert_eq!(profile.cpu_faults, 6);
        let groups = &profile.devices[&(0, 0)][&UvmEvent::GpuFaultGroups];
        assert_eq!((groups.count, groups.total_ns), (2, Some(437_730)));
    }

    #[test]
    fn a_pair_counts_on_both_sides() {
        let profile = UvmProfile::new(&[
            event(7, 4096, None, Some(0), None),
            event(7, 4096, None, None, Some(1)),
            event(8, 4096, Some(10), Some(0), Some(1)),
        ]);
        let count = |device, event| profile.devices[&(0, device)][&event].count;
        assert_eq!((profile.remote_maps_to_cpu, profile.remote_maps_from_cpu), (1, 1));
        assert_eq!((count(0, UvmEvent::RemoteMapFromDevice), count(1, UvmEvent::RemoteMapToDevice)), (1, 1));
        assert_eq!((count(0, UvmEvent::FromDevice), count(1, UvmEvent::ToDevice)), (1, 1));
        assert!(profile.of_device(0, 0).devices.keys().eq([&(0, 0)]));
    }

    #[test]
    fn thrashing_names_its_devices_by_a_mask_and_the_cpu_by_a_flag() {
        let profile = UvmProfile::new(&[
            event(5, 4096, None, Some(0b01), Some(0)),
            event(5, 4096, None, Some(0b10), Some(7)),
            flagged(5, 4096, None, [Some(0b11), Some(0)], 1),
            flagged(5, 8192, None, [Some(0), Some(0)], 1),
        ]);
        let thrashes = |device| profile.devices[&(0, device)][&UvmEvent::Thrashes].count;
        assert_eq!((thrashes(0), thrashes(1), profile.cpu_thrashes), (2, 2, 2));
        assert_eq!(profile.devices.len(), 2);
    }

    #[test]
    fn a_flag_says_that_it_is_the_cpu_that_is_throttled() {
        let profile = UvmProfile::new(&[
            event(6, 0, Some(10), Some(1), Some(0)),
            flagged(6, 0, Some(10), [Some(0), Some(0)], 1),
            event(6, 0, Some(10), None, None),
        ]);
        assert_eq!((profile.cpu_throttles, profile.devices[&(0, 1)][&UvmEvent::Throttles].count), (2, 1));
    }

    #[test]
    fn nothing_is_empty() {
        assert!(UvmProfile::new(&[]).is_empty());
    }
}
