//! Which runtime this file is, and names of errors.

use std::ffi::{CStr, c_char};

/// Followed by the version (12080) and a NUL; the harness writes over it.
#[used]
#[unsafe(no_mangle)]
pub static SIM_CUDART_FILE_VERSION: [u8; 40] = *b"SIM-CUDART-FILE-VERSION=12080\0\0\0\0\0\0\0\0\0\0\0";

/// 12080 is 12.8.
pub fn runtime_version() -> i32 {
    // SAFETY: reads a static that the harness may have changed in the file, which the compiler must not know.
    let bytes = unsafe { std::ptr::read_volatile(&raw const SIM_CUDART_FILE_VERSION) };
    let digits = bytes.iter().skip(24).take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number, digit| number * 10 + i32::from(digit - b'0'))
}

pub fn text(code: i32) -> (&'static CStr, &'static CStr) {
    match code {
        0 => (c"cudaSuccess", c"no error"),
        1 => (c"cudaErrorInvalidValue", c"invalid argument"),
        2 => (c"cudaErrorMemoryAllocation", c"out of memory"),
        3 => (c"cudaErrorInitializationError", c"initialization error"),
        4 => (c"cudaErrorCudartUnloading", c"driver shutting down"),
        35 => (c"cudaErrorInsufficientDriver", c"CUDA driver version is insufficient for CUDA runtime version"),
        98 => (c"cudaErrorInvalidDeviceFunction", c"invalid device function"),
        100 => (c"cudaErrorNoDevice", c"no CUDA-capable device is detected"),
        101 => (c"cudaErrorInvalidDevice", c"invalid device ordinal"),
        400 => (c"cudaErrorInvalidResourceHandle", c"invalid resource handle"),
        600 => (c"cudaErrorNotReady", c"device not ready"),
        700 => (c"cudaErrorIllegalAddress", c"an illegal memory access was encountered"),
        _ => (c"cudaErrorUnknown", c"unknown error"),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetErrorString(code: i32) -> *const c_char {
    text(code).1.as_ptr()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetErrorName(code: i32) -> *const c_char {
    text(code).0.as_ptr()
}
