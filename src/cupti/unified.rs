//! Events of unified memory whose ids mean something else than a source and a destination.

/// The devices whose bits are set in the mask of a thrashing event.
pub fn devices_of_mask(mask: Option<u32>) -> impl Iterator<Item = u32> {
    let mask = mask.unwrap_or(0);
    (0..u32::BITS).filter(move |bit| mask >> bit & 1 == 1)
}

/// Whether the CPU takes part in a thrashing or throttling event.
pub fn is_of_cpu(flags: u32) -> bool {
    flags & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_names_each_device_by_its_bit() {
        assert!(devices_of_mask(Some(0b1001)).eq([0, 3]));
        assert!(devices_of_mask(Some(1 << 31)).eq([31]));
        assert_eq!(devices_of_mask(None).count() + devices_of_mask(Some(0)).count(), 0);
        assert!(is_of_cpu(3) && !is_of_cpu(2));
    }
}
