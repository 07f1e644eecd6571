//! `CUpti_ActivityMemoryKind`: the memory that a copy comes from or goes to.

use super::Wording;

crate::vocabulary! {
    "Kind of memory, e.g. `pinned`.";
    /// `unknown`.
    UNKNOWN = 0, "unknown";
    /// `pageable`.
    PAGEABLE = 1, "pageable";
    /// `pinned`.
    PINNED = 2, "pinned";
    /// `device`.
    DEVICE = 3, "device";
    /// `array`.
    ARRAY = 4, "array";
    /// `managed`.
    MANAGED = 5, "managed";
    /// `device static`.
    DEVICE_STATIC = 6, "device static";
    /// `managed static`.
    MANAGED_STATIC = 7, "managed static";
}

/// The words of nvprof, which nsys and Kineto have taken over.
pub static NVPROF: Wording = Wording(&[
    (UNKNOWN, "Unknown"),
    (PAGEABLE, "Pageable"),
    (PINNED, "Pinned"),
    (DEVICE, "Device"),
    (ARRAY, "Array"),
    (MANAGED, "Managed"),
    (DEVICE_STATIC, "Device Static"),
    (MANAGED_STATIC, "Managed Static"),
]);
