//! Result codes of the driver.

pub const SUCCESS: i32 = 0;
pub const INVALID_VALUE: i32 = 1;
pub const OUT_OF_MEMORY: i32 = 2;
pub const NOT_INITIALIZED: i32 = 3;
pub const DEINITIALIZED: i32 = 4;
pub const NO_DEVICE: i32 = 100;
pub const INVALID_DEVICE: i32 = 101;
pub const INVALID_IMAGE: i32 = 200;
pub const INVALID_CONTEXT: i32 = 201;
pub const NO_BINARY_FOR_GPU: i32 = 209;
pub const FILE_NOT_FOUND: i32 = 301;
pub const OPERATING_SYSTEM: i32 = 304;
pub const INVALID_HANDLE: i32 = 400;
pub const NOT_FOUND: i32 = 500;
pub const NOT_READY: i32 = 600;
pub const ILLEGAL_ADDRESS: i32 = 700;
pub const STREAM_CAPTURE_UNSUPPORTED: i32 = 900;
pub const STREAM_CAPTURE_IMPLICIT: i32 = 906;
pub const NOT_SUPPORTED: i32 = 801;

/// Name and description.
pub fn text(code: i32) -> Option<(&'static std::ffi::CStr, &'static std::ffi::CStr)> {
    Some(match code {
        0 => (c"CUDA_SUCCESS", c"no error"),
        1 => (c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
        2 => (c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
        3 => (c"CUDA_ERROR_NOT_INITIALIZED", c"initialization error"),
        4 => (c"CUDA_ERROR_DEINITIALIZED", c"driver shutting down"),
        100 => (c"CUDA_ERROR_NO_DEVICE", c"no CUDA-capable device is detected"),
        101 => (c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal"),
        200 => (c"CUDA_ERROR_INVALID_IMAGE", c"device kernel image is invalid"),
        201 => (c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context"),
        301 => (c"CUDA_ERROR_FILE_NOT_FOUND", c"file not found"),
        304 => (c"CUDA_ERROR_OPERATING_SYSTEM", c"OS call failed or operation not supported on this OS"),
        400 => (c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle"),
        500 => (c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
        600 => (c"CUDA_ERROR_NOT_READY", c"device not ready"),
        700 => (c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered"),
        801 => (c"CUDA_ERROR_NOT_SUPPORTED", c"operation not supported"),
        900 => (c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", c"operation not permitted when stream is capturing"),
        906 => (
            c"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
            c"operation would make the legacy stream depend on a capturing blocking stream",
        ),
        _ => return None,
    })
}
