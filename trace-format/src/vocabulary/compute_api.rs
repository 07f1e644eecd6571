//! `CUpti_ActivityComputeApiKind`: the API that a context was made for.

crate::vocabulary! {
    "API of the context, e.g. `CUDA`.";
    /// `unknown`.
    UNKNOWN = 0, "unknown";
    /// CUDA without a server between processes.
    CUDA = 1, "CUDA";
    /// CUDA under MPS, which lets processes share a device.
    MPS = 2, "CUDA under MPS";
}
