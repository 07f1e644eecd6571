//! `CUpti_OpenAccEventKind`, in the words that nvprof prints after `acc_`.

crate::vocabulary! {
    "What the region is.";
    /// `invalid`.
    INVALID = 0, "invalid";
    /// `device_init`.
    DEVICE_INIT = 1, "device_init";
    /// `device_shutdown`.
    DEVICE_SHUTDOWN = 2, "device_shutdown";
    /// `runtime_shutdown`.
    RUNTIME_SHUTDOWN = 3, "runtime_shutdown";
    /// `enqueue_launch`.
    ENQUEUE_LAUNCH = 4, "enqueue_launch";
    /// `enqueue_upload`.
    ENQUEUE_UPLOAD = 5, "enqueue_upload";
    /// `enqueue_download`.
    ENQUEUE_DOWNLOAD = 6, "enqueue_download";
    /// `wait`.
    WAIT = 7, "wait";
    /// `implicit_wait`.
    IMPLICIT_WAIT = 8, "implicit_wait";
    /// `compute_construct`.
    COMPUTE_CONSTRUCT = 9, "compute_construct";
    /// `update`.
    UPDATE = 10, "update";
    /// `enter_data`.
    ENTER_DATA = 11, "enter_data";
    /// `exit_data`.
    EXIT_DATA = 12, "exit_data";
    /// `create`.
    CREATE = 13, "create";
    /// `delete`.
    DELETE = 14, "delete";
    /// `alloc`.
    ALLOC = 15, "alloc";
    /// `free`.
    FREE = 16, "free";
}

/// The kinds of regions about data. CUPTI has a record of its own for them.
pub const DATA: [u32; 6] = [ENQUEUE_UPLOAD, ENQUEUE_DOWNLOAD, CREATE, DELETE, ALLOC, FREE];

/// `acc_device_t` of NVIDIA's devices, which stands beside the kind in CUPTI's records and in databases of them.
pub const NVIDIA_DEVICE: u32 = 4;
