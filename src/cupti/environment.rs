//! Clocks, temperature, power and fans of GPUs, as CUPTI has them (`CUpti_ActivityEnvironment`) and databases of nvprof
//! keep them: one record of one kind has several numbers, in a union of 20 bytes.

use crate::metrics::name;

/// Length of the union.
pub const DATA_BYTES: usize = 20;

/// A number of a record.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// `CUpti_ActivityEnvironmentKind`: 1 clocks and link, 2 temperature, 3 power, 4 fan.
    pub kind: u32,
    /// Where it stands in the union: four bytes, little-endian.
    pub offset: usize,
    /// What it is called in table `sample`; the units are CUPTI's own.
    pub metric: &'static str,
}

const fn field(kind: u32, offset: usize, metric: &'static str) -> Field {
    Field { kind, offset, metric }
}

/// All numbers.
pub static FIELDS: [Field; 9] = [
    field(1, 0, name::sm_clock_mhz),
    field(1, 4, name::memory_clock_mhz),
    field(1, 8, name::pcie_link_gen),
    field(1, 12, name::pcie_link_width_lanes),
    field(1, 16, name::clocks_throttle_reasons_mask),
    field(2, 0, name::gpu_temperature_celsius),
    field(3, 0, name::power_mw),
    field(3, 4, name::power_limit_mw),
    field(4, 0, name::fan_speed_percent),
];

impl Field {
    /// The number in a union; none where that is too short.
    pub fn read(&self, data: &[u8]) -> Option<u32> {
        let bytes = data.get(self.offset..self.offset + 4)?;
        Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Puts the number into a union.
    pub fn write(&self, data: &mut [u8; DATA_BYTES], value: u32) {
        data[self.offset..self.offset + 4].copy_from_slice(&value.to_le_bytes());
    }
}
