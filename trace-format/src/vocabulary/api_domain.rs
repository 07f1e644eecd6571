//! Which API a call belongs to.

crate::vocabulary! {
    "Runtime or driver API.";
    /// `runtime`.
    RUNTIME = 0, "runtime";
    /// `driver`.
    DRIVER = 1, "driver";
}
