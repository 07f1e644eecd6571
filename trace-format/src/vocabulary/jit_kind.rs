//! `CUpti_ActivityJitEntryType`: what was compiled into what.

crate::vocabulary! {
    "What was compiled into what.";
    /// `invalid`.
    INVALID = 0, "invalid";
    /// PTX was compiled for a device.
    PTX_TO_CUBIN = 1, "PTX to cubin";
    /// NVVM IR was compiled to PTX.
    NVVM_IR_TO_PTX = 2, "NVVM IR to PTX";
}
