//! Contexts.

use crate::context;
use crate::results::*;
use crate::{clock, device, memory};
use std::ffi::c_void;
use std::sync::atomic::Ordering;

fn is_device(device: i32) -> bool {
    device >= 0 && (device as u32) < device::count()
}

unsafe fn create(out: *mut *mut c_void, flags: u32, device: i32) -> i32 {
    if !is_device(device) {
        return INVALID_DEVICE;
    }
    let context = context::create(device as u32, flags, false);
    context::push(context.cast());
    *out = context.cast();
    SUCCESS
}

unsafe fn destroy(handle: *mut c_void) -> i32 {
    let Some(context) = context::of_handle(handle) else { return INVALID_CONTEXT };
    let result = context::destroy(context);
    if context::current_handle().0 == handle {
        context::pop();
    }
    result
}

fn synchronize(correlation: u32) -> i32 {
    let Some(context) = context::current() else { return INVALID_CONTEXT };
    let start = clock::now();
    context::synchronize(context);
    memory::tell_sync(4, start, context.uid, u32::MAX, (u32::MAX, 0), correlation);
    SUCCESS
}

driver! {
    10 fn cuCtxCreate(out: *mut *mut c_void, flags: u32, device: i32) |_| { create(out, flags, device) }
    235 fn cuCtxCreate_v2(out: *mut *mut c_void, flags: u32, device: i32) |_| { create(out, flags, device) }
    645 fn cuCtxCreate_v3(out: *mut *mut c_void, _affinity: *mut c_void, _n: i32, flags: u32, device: i32) |_| {
        create(out, flags, device)
    }
    757 fn cuCtxCreate_v4(out: *mut *mut c_void, _params: *mut c_void, flags: u32, device: i32) |_| {
        create(out, flags, device)
    }
    322 fn cuCtxDestroy_v2(handle: *mut c_void) |_| { destroy(handle) }
    303 fn cuCtxSetCurrent(handle: *mut c_void) |_| { context::set_current(handle) }
    304 fn cuCtxGetCurrent(out: *mut *mut c_void) |_| {
        *out = context::current_handle().0;
        SUCCESS
    }
    323 fn cuCtxPushCurrent_v2(handle: *mut c_void) |_| { context::push(handle) }
    324 fn cuCtxPopCurrent_v2(out: *mut *mut c_void) |_| {
        let old = context::pop();
        if !out.is_null() {
            *out = old;
        }
        SUCCESS
    }
    16 fn cuCtxGetDevice(out: *mut i32) |_| {
        let Some(context) = context::current() else { return INVALID_CONTEXT };
        *out = context.device as i32;
        SUCCESS
    }
    17 fn cuCtxSynchronize() |call| { synchronize(call.correlation) }
    391 fn cuCtxGetFlags(out: *mut u32) |_| {
        *out = context::current().map_or(0, |context| context.flags.load(Ordering::Relaxed));
        SUCCESS
    }
    705 fn cuCtxSetFlags(flags: u32) |_| {
        let Some(context) = context::current() else { return INVALID_CONTEXT };
        context.flags.store(flags, Ordering::Relaxed);
        SUCCESS
    }
    296 fn cuCtxGetApiVersion(_context: *mut c_void, version: *mut u32) |_| {
        *version = 3020;
        SUCCESS
    }
    370 fn cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) |_| {
        if !least.is_null() {
            *least = 0;
        }
        if !greatest.is_null() {
            *greatest = -5;
        }
        SUCCESS
    }
    136 fn cuCtxSetLimit(_limit: i32, _value: usize) |_| { SUCCESS }
    137 fn cuCtxGetLimit(out: *mut usize, _limit: i32) |_| {
        *out = 1 << 20;
        SUCCESS
    }
    299 fn cuCtxGetCacheConfig(out: *mut i32) |_| {
        *out = 0;
        SUCCESS
    }
    300 fn cuCtxSetCacheConfig(_config: i32) |_| { SUCCESS }
    313 fn cuCtxEnablePeerAccess(_peer: *mut c_void, _flags: u32) |_| { SUCCESS }
    386 fn cuDevicePrimaryCtxRetain(out: *mut *mut c_void, device: i32) |_| {
        if !is_device(device) {
            return INVALID_DEVICE;
        }
        *out = context::retain_primary(device as u32).cast();
        SUCCESS
    }
    387 fn cuDevicePrimaryCtxRelease(device: i32) |_| { context::release_primary(device as u32, false) }
    544 fn cuDevicePrimaryCtxRelease_v2(device: i32) |_| { context::release_primary(device as u32, false) }
    545 fn cuDevicePrimaryCtxReset_v2(device: i32) |_| { context::release_primary(device as u32, true) }
    546 fn cuDevicePrimaryCtxSetFlags_v2(_device: i32, _flags: u32) |_| { SUCCESS }
    392 fn cuDevicePrimaryCtxGetState(device: i32, flags: *mut u32, active: *mut i32) |_| {
        let (of, is) = context::primary_state(device as u32);
        *flags = of;
        *active = is as i32;
        SUCCESS
    }
}
