//! Which API a call belongs to.

crate::vocabulary! {
    "Runtime or driver API.";
    /// `runtime`.
    RUNTIME = 0, "runtime";
    /// `driver`.
    DRIVER = 1, "driver";
}

/// The API of a call by its name, for readers of formats that do not say it: `cuLaunchKernel` is of the driver.
pub fn of_call(name: &[u8]) -> u32 {
    if name.starts_with(b"cu") && !name.starts_with(b"cuda") { DRIVER } else { RUNTIME }
}
