//! Calls that only ask a question and are over at once. PyTorch makes nine of them for every launch: on an H100 they
//! were 91 % of all API records and most of what recording cost (docs/hardware). They are left out where CUPTI can do
//! so (12.5 and later), and the trace says that they were.

use cupti_sys::cbid::{driver, runtime};
use cupti_sys::{CUPTI_CB_DOMAIN_DRIVER_API as DRIVER, CUPTI_CB_DOMAIN_RUNTIME_API as RUNTIME};

/// Of each domain a call that hardly any program makes: it stays on where calls are switched one by one, because a CUPTI
/// that records none of an API when a context is made goes on to record none (seen on one GPU, in public).
pub const RARE: [(u32, u32, &str); 2] =
    [(DRIVER, 330, "cuIpcCloseMemHandle"), (RUNTIME, 180, "cudaIpcCloseMemHandle")];

/// Domain, callback id and name of each such call.
pub static CALLS: &[(u32, u32, &str)] = &[
    (RUNTIME, runtime::GET_DEVICE, "cudaGetDevice"),
    (RUNTIME, runtime::GET_LAST_ERROR, "cudaGetLastError"),
    (RUNTIME, runtime::PEEK_AT_LAST_ERROR, "cudaPeekAtLastError"),
    (RUNTIME, 200, "cudaDeviceGetAttribute"),
    (RUNTIME, 151, "cudaPointerGetAttributes"),
    (RUNTIME, 317, "cudaStreamIsCapturing"),
    (RUNTIME, 318, "cudaStreamIsCapturing_ptsz"),
    (RUNTIME, 409, "cudaStreamGetCaptureInfo_v2"),
    (RUNTIME, 410, "cudaStreamGetCaptureInfo_v2_ptsz"),
    (RUNTIME, 461, "cudaStreamGetCaptureInfo_v3"),
    (RUNTIME, 462, "cudaStreamGetCaptureInfo_v3_ptsz"),
    (DRIVER, 9, "cuDeviceGetAttribute"),
    (DRIVER, driver::CTX_GET_DEVICE, "cuCtxGetDevice"),
    (DRIVER, driver::CTX_GET_CURRENT, "cuCtxGetCurrent"),
    (DRIVER, 310, "cuPointerGetAttribute"),
    (DRIVER, driver::DEVICE_PRIMARY_CTX_GET_STATE, "cuDevicePrimaryCtxGetState"),
    (DRIVER, 450, "cuPointerGetAttributes"),
    (DRIVER, driver::STREAM_IS_CAPTURING, "cuStreamIsCapturing"),
    (DRIVER, driver::STREAM_IS_CAPTURING_PTSZ, "cuStreamIsCapturing_ptsz"),
    (DRIVER, driver::GET_PROC_ADDRESS, "cuGetProcAddress"),
    (DRIVER, 629, "cuStreamGetCaptureInfo_v2"),
    (DRIVER, 630, "cuStreamGetCaptureInfo_v2_ptsz"),
    (DRIVER, driver::GET_PROC_ADDRESS_V2, "cuGetProcAddress_v2"),
    (DRIVER, 683, "cuKernelGetFunction"),
    (DRIVER, driver::KERNEL_GET_ATTRIBUTE, "cuKernelGetAttribute"),
    (DRIVER, 718, "cuFuncGetName"),
    (DRIVER, 719, "cuKernelGetName"),
    (DRIVER, 729, "cuStreamGetCaptureInfo_v3"),
    (DRIVER, 730, "cuStreamGetCaptureInfo_v3_ptsz"),
    (DRIVER, 795, "cuCtxGetDevice_v2"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers and names of all calls, from which `src/cupti/cbid.rs` is made as well.
    const CALLBACKS: &str = include_str!("../cupti-sys/tables/cbids.csv");

    #[test]
    fn every_number_is_that_of_the_call_it_is_taken_for() {
        for (domain, id, name) in CALLS.iter().chain(&RARE) {
            let api = if *domain == DRIVER { "driver" } else { "runtime" };
            let begins = format!("{api},{id},");
            let line = CALLBACKS.lines().find(|line| line.starts_with(&begins)).expect(name);
            // What it is called now, and what it was called in which toolkit: `12.3:cudaStreamGetCaptureInfo_v3_v12030`.
            let mut names = line.split([',', ':', ';']).skip(3);
            // Of the runtime the version of CUDA stands behind it; variants are their own calls.
            let is_version = |rest: &str| rest.strip_prefix("_v").is_some_and(|v| v.len() >= 4);
            let is_it =
                |found: &str| found.strip_prefix(name).is_some_and(|rest| rest.is_empty() || is_version(rest));
            assert!(names.any(is_it), "{name}: {line}");
        }
    }
}
