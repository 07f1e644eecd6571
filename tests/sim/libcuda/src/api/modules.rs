//! Modules, libraries, functions, occupancy.

use crate::module::{self, Module};
use crate::results::*;
use crate::{context, device, launch};
use std::ffi::{CStr, CString, c_char, c_void};

unsafe fn load(out: *mut *mut c_void, image: *const c_void) -> i32 {
    if image.is_null() {
        return INVALID_VALUE;
    }
    if context::current().is_none() {
        return INVALID_CONTEXT;
    }
    let module = module::load(image);
    if module.is_null() {
        return INVALID_IMAGE;
    }
    *out = module.cast();
    SUCCESS
}

unsafe fn function(out: *mut *mut c_void, module: *mut c_void, name: *const c_char) -> i32 {
    if module.is_null() || name.is_null() {
        return INVALID_VALUE;
    }
    let module = &*module.cast::<Module>();
    match module.functions.get(CStr::from_ptr(name).to_bytes()) {
        Some(function) => *out = (*function).cast(),
        None => return NOT_FOUND,
    }
    SUCCESS
}

driver! {
    19 fn cuModuleLoadData(out: *mut *mut c_void, image: *const c_void) |_| { load(out, image) }
    20 fn cuModuleLoadDataEx(out: *mut *mut c_void, image: *const c_void, _n: u32, _options: *mut i32, _values: *mut *mut c_void) |_| {
        load(out, image)
    }
    21 fn cuModuleLoadFatBinary(out: *mut *mut c_void, image: *const c_void) |_| { load(out, image) }
    18 fn cuModuleLoad(out: *mut *mut c_void, path: *const c_char) |_| {
        let path = CStr::from_ptr(path).to_string_lossy().into_owned();
        let Ok(text) = std::fs::read(path) else { return FILE_NOT_FOUND };
        let Ok(text) = CString::new(text) else { return INVALID_IMAGE };
        load(out, text.as_ptr().cast())
    }
    22 fn cuModuleUnload(module: *mut c_void) |_| {
        if module.is_null() {
            return INVALID_HANDLE;
        }
        module::unload(module.cast());
        SUCCESS
    }
    23 fn cuModuleGetFunction(out: *mut *mut c_void, module: *mut c_void, name: *const c_char) |_| {
        function(out, module, name)
    }
    241 fn cuModuleGetGlobal_v2(_address: *mut u64, _bytes: *mut usize, _module: *mut c_void, _name: *const c_char) |_| {
        NOT_FOUND
    }
    678 fn cuLibraryLoadData(out: *mut *mut c_void, code: *const c_void, _a: *mut i32, _b: *mut *mut c_void, _n: u32, _c: *mut i32, _d: *mut *mut c_void, _m: u32) |_| {
        load(out, code)
    }
    680 fn cuLibraryUnload(module: *mut c_void) |_| {
        module::unload(module.cast());
        SUCCESS
    }
    681 fn cuLibraryGetKernel(out: *mut *mut c_void, library: *mut c_void, name: *const c_char) |_| {
        function(out, library, name)
    }
    682 fn cuLibraryGetModule(out: *mut *mut c_void, library: *mut c_void) |_| {
        *out = library;
        SUCCESS
    }
    683 fn cuKernelGetFunction(out: *mut *mut c_void, kernel: *mut c_void) |_| {
        *out = kernel;
        SUCCESS
    }
    718 fn cuFuncGetName(out: *mut *const c_char, handle: *mut c_void) |_| {
        let Some(function) = launch::function(handle) else { return INVALID_HANDLE };
        *out = function.name;
        SUCCESS
    }
    85 fn cuFuncGetAttribute(out: *mut i32, attribute: i32, handle: *mut c_void) |_| {
        let Some(function) = launch::function(handle) else { return INVALID_HANDLE };
        // CU_FUNC_ATTRIBUTE_*: threads, shared, const, local, registers, PTX and binary version.
        *out = match attribute {
            0 => 1024,
            4 => function.registers as i32,
            5 | 6 => device::attribute(75, 0) * 10 + device::attribute(76, 0),
            8 => 49152,
            _ => 0,
        };
        SUCCESS
    }
    481 fn cuFuncSetAttribute(_function: *mut c_void, _attribute: i32, _value: i32) |_| { SUCCESS }
    86 fn cuFuncSetCacheConfig(_function: *mut c_void, _config: i32) |_| { SUCCESS }
    338 fn cuFuncSetSharedMemConfig(_function: *mut c_void, _config: i32) |_| { SUCCESS }
    374 fn cuOccupancyMaxActiveBlocksPerMultiprocessor(out: *mut i32, _f: *mut c_void, block: i32, _shared: usize) |_| {
        *out = 2048 / block.clamp(1, 2048);
        SUCCESS
    }
    451 fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out: *mut i32, _f: *mut c_void, block: i32, _shared: usize, _flags: u32) |_| {
        *out = 2048 / block.clamp(1, 2048);
        SUCCESS
    }
    384 fn cuOccupancyMaxPotentialBlockSize(grid: *mut i32, block: *mut i32, _f: *mut c_void, _of: *mut c_void, _shared: usize, limit: i32) |_| {
        *block = if limit > 0 { limit.min(1024) } else { 1024 };
        *grid = device::MULTIPROCESSORS as i32 * 2;
        SUCCESS
    }
    452 fn cuOccupancyMaxPotentialBlockSizeWithFlags(grid: *mut i32, block: *mut i32, _f: *mut c_void, _of: *mut c_void, _shared: usize, limit: i32, _flags: u32) |_| {
        *block = if limit > 0 { limit.min(1024) } else { 1024 };
        *grid = device::MULTIPROCESSORS as i32 * 2;
        SUCCESS
    }
    543 fn cuOccupancyAvailableDynamicSMemPerBlock(out: *mut usize, _f: *mut c_void, _blocks: i32, _size: i32) |_| {
        *out = 49152;
        SUCCESS
    }
    673 fn cuModuleGetLoadingMode(out: *mut i32) |_| {
        *out = 2;
        SUCCESS
    }
}
