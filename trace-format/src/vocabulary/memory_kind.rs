//! `CUpti_ActivityMemoryKind`: the memory that a copy comes from or goes to.

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
