//! Initialisation, versions, devices, errors, the profiler's switch.

use crate::results::*;
use crate::{device, init};
use std::ffi::{c_char, c_void};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuInit(flags: u32) -> i32 {
    if flags != 0 {
        return INVALID_VALUE;
    }
    if init::refusal() == 0 {
        return crate::call::driver(1, "cuInit\0", |_| SUCCESS);
    }
    init::initialize()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut i32) -> i32 {
    if version.is_null() {
        return INVALID_VALUE;
    }
    *version = device::driver_version();
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: i32, text: *mut *const c_char) -> i32 {
    let known = crate::results::text(code);
    *text = known.map_or(std::ptr::null(), |(_, text)| text.as_ptr());
    if known.is_some() { SUCCESS } else { INVALID_VALUE }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(code: i32, text: *mut *const c_char) -> i32 {
    let known = crate::results::text(code);
    *text = known.map_or(std::ptr::null(), |(name, _)| name.as_ptr());
    if known.is_some() { SUCCESS } else { INVALID_VALUE }
}

/// The simulator has no private tables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetExportTable(table: *mut *const c_void, _id: *const c_void) -> i32 {
    if !table.is_null() {
        *table = std::ptr::null();
    }
    NOT_FOUND
}

unsafe fn uuid(out: *mut [u8; 16], device: i32) -> i32 {
    if out.is_null() || !is_device(device) {
        return INVALID_DEVICE;
    }
    *out = device::uuid(device as u32);
    SUCCESS
}

fn is_device(device: i32) -> bool {
    device >= 0 && (device as u32) < device::count()
}

driver! {
    3 fn cuDeviceGet(out: *mut i32, ordinal: i32) |_| {
        if !is_device(ordinal) {
            return INVALID_DEVICE;
        }
        *out = ordinal;
        SUCCESS
    }
    4 fn cuDeviceGetCount(out: *mut i32) |_| {
        *out = device::count() as i32;
        SUCCESS
    }
    5 fn cuDeviceGetName(out: *mut c_char, bytes: i32, device: i32) |_| {
        if !is_device(device) || bytes < 1 {
            return INVALID_DEVICE;
        }
        libc::strncpy(out, device::NAME.as_ptr(), bytes as usize - 1);
        *out.add(bytes as usize - 1) = 0;
        SUCCESS
    }
    259 fn cuDeviceTotalMem_v2(out: *mut usize, device: i32) |_| {
        if !is_device(device) {
            return INVALID_DEVICE;
        }
        *out = device::MEMORY_BYTES as usize;
        SUCCESS
    }
    9 fn cuDeviceGetAttribute(out: *mut i32, attribute: i32, device: i32) |_| {
        if !is_device(device) {
            return INVALID_DEVICE;
        }
        *out = device::attribute(attribute, device as u32);
        SUCCESS
    }
    6 fn cuDeviceComputeCapability(major: *mut i32, minor: *mut i32, device: i32) |_| {
        if !is_device(device) {
            return INVALID_DEVICE;
        }
        *major = device::attribute(75, device as u32);
        *minor = device::attribute(76, device as u32);
        SUCCESS
    }
    482 fn cuDeviceGetUuid(out: *mut [u8; 16], device: i32) |_| { uuid(out, device) }
    647 fn cuDeviceGetUuid_v2(out: *mut [u8; 16], device: i32) |_| { uuid(out, device) }
    332 fn cuDeviceGetPCIBusId(out: *mut c_char, bytes: i32, device: i32) |_| {
        if !is_device(device) || bytes < 13 {
            return INVALID_DEVICE;
        }
        let text = format!("0000:{:02X}:00.0\0", device + 1);
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), out, text.len());
        SUCCESS
    }
    312 fn cuDeviceCanAccessPeer(out: *mut i32, device: i32, peer: i32) |_| {
        *out = (is_device(device) && is_device(peer) && device != peer) as i32;
        SUCCESS
    }
    308 fn cuProfilerStart() |_| { SUCCESS }
    309 fn cuProfilerStop() |_| { SUCCESS }
}
