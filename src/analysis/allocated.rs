//! How much memory of each GPU is allocated at a time, from the records of table `memory` in the order of time.
//!
//! What was allocated before the recording began is not known. So only what was seen to be allocated is counted, and
//! releasing something else changes nothing: the sum never falls below zero.

use hashbrown::HashMap;
use trace_format::vocabulary::{memory_kind, memory_operation};

/// Process and device.
pub type Device = (u32, u32);

/// Memory of GPUs that is allocated.
#[derive(Debug, Default)]
pub struct Allocated {
    sums: HashMap<Device, i64>,
    /// Bytes by what was allocated: device and address.
    live: HashMap<(Device, u64), i64>,
}

/// Whether memory of this `CUpti_ActivityMemoryKind` is a GPU's, managed memory included. Pinned memory is the host's.
pub fn is_on_device(mem_kind: u32) -> bool {
    matches!(mem_kind, memory_kind::DEVICE..=memory_kind::MANAGED_STATIC)
}

impl Allocated {
    /// Takes in one record; `operation` is a `CUpti_ActivityMemoryOperationType`. Returns by how many bytes the sum of
    /// the device changes, and what the sum is then. Returns `None` if the sum stays the same.
    pub fn take(&mut self, device: Device, operation: u32, address: u64, bytes: i64) -> Option<(i64, i64)> {
        let bytes = bytes.max(0);
        let change = match operation {
            // An address that is allocated again was released in between, and no record said so.
            memory_operation::ALLOCATION => bytes - self.live.insert((device, address), bytes).unwrap_or(0),
            memory_operation::RELEASE => -self.live.remove(&(device, address))?,
            _ => 0,
        };
        if change == 0 {
            return None;
        }
        let sum = self.sums.entry(device).or_default();
        *sum = sum.saturating_add(change);
        Some((change, *sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_seen_to_be_allocated_is_released() {
        let mut allocated = Allocated::default();
        assert_eq!(allocated.take((0, 0), 2, 0x10, 500), None, "allocated before the recording began");
        assert_eq!(allocated.take((0, 0), 1, 0x20, 100), Some((100, 100)));
        assert_eq!(allocated.take((0, 1), 1, 0x20, 7), Some((7, 7)), "another device has addresses of its own");
        assert_eq!(allocated.take((0, 0), 1, 0x30, 50), Some((50, 150)));
        assert_eq!(allocated.take((0, 0), 2, 0x20, 1), Some((-100, 50)), "what it was allocated with counts");
        assert_eq!(allocated.take((0, 0), 2, 0x20, 100), None, "released twice");
        assert_eq!(allocated.take((0, 0), 1, 0x30, 60), Some((10, 60)));
        assert_eq!(allocated.take((0, 0), 0, 0x40, 60), None);
    }
}
