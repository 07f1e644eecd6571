//! `CUpti_ActivityMemoryOperationType`.

crate::vocabulary! {
    "What was done.";
    /// `invalid`.
    INVALID = 0, "invalid";
    /// `allocation`.
    ALLOCATION = 1, "allocation";
    /// `release`.
    RELEASE = 2, "release";
}
