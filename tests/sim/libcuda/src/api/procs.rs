//! `cuGetProcAddress`: functions by name, the newest version that the simulator has.

use crate::results::*;
use std::ffi::{CStr, CString, c_char, c_void};

unsafe fn own(name: &CStr) -> *mut c_void {
    let mut info: libc::Dl_info = std::mem::zeroed();
    let here: unsafe extern "C" fn(*const c_char, *mut *mut c_void, i32, u64) -> i32 = cuGetProcAddress;
    if libc::dladdr(here as *const c_void, &mut info) == 0 {
        return std::ptr::null_mut();
    }
    let library = libc::dlopen(info.dli_fname, libc::RTLD_NOW | libc::RTLD_NOLOAD);
    if library.is_null() { std::ptr::null_mut() } else { libc::dlsym(library, name.as_ptr()) }
}

unsafe fn find(name: *const c_char) -> *mut c_void {
    let plain = CStr::from_ptr(name);
    // Whose `_v2` takes other arguments than programs of CUDA 11 pass.
    let plain_only = ["cuMemPrefetchAsync", "cuMemAdvise", "cuCtxCreate", "cuEventElapsedTime"];
    if !plain_only.contains(&plain.to_str().unwrap_or_default()) {
        let mut newer = plain.to_bytes().to_vec();
        newer.extend(b"_v2");
        if let Ok(newer) = CString::new(newer) {
            let found = own(&newer);
            if !found.is_null() {
                return found;
            }
        }
    }
    own(plain)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetProcAddress(
    name: *const c_char,
    out: *mut *mut c_void,
    _version: i32,
    _flags: u64,
) -> i32 {
    *out = find(name);
    if (*out).is_null() { NOT_FOUND } else { SUCCESS }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetProcAddress_v2(
    name: *const c_char,
    out: *mut *mut c_void,
    version: i32,
    flags: u64,
    status: *mut i32,
) -> i32 {
    let result = cuGetProcAddress(name, out, version, flags);
    if !status.is_null() {
        // CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
        *status = (result != SUCCESS) as i32;
    }
    result
}
