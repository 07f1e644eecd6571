//! Memory, copies and fills.

use crate::context::{self, Context};
use crate::graph::{self, Op};
use crate::memory::{self, Copy, Fill, Node};
use crate::results::*;
use crate::stream::{self, Stream};
use crate::{clock, device};
use std::ffi::c_void;

unsafe fn allocate(out: *mut u64, bytes: usize, kind: u32, on: Option<&Stream>, correlation: u32) -> i32 {
    let Some(context) = context::current() else { return INVALID_CONTEXT };
    if bytes == 0 {
        return INVALID_VALUE;
    }
    let limit = crate::settings::number(c"SIM_DEVICE_BYTES", device::MEMORY_BYTES);
    if memory::used_bytes() + bytes as u64 > limit {
        return OUT_OF_MEMORY;
    }
    let address = memory::allocate(bytes, kind, context);
    if address.is_null() {
        return OUT_OF_MEMORY;
    }
    *out = address as u64;
    memory::tell(1, kind, address as usize, bytes, on, correlation);
    SUCCESS
}

unsafe fn free(address: u64, on: Option<&Stream>, correlation: u32) -> i32 {
    if address == 0 {
        return SUCCESS;
    }
    let Some((start, block)) = memory::find(address as usize).filter(|(start, _)| *start == address as usize)
    else {
        return INVALID_VALUE;
    };
    memory::tell(2, block.kind, start, block.bytes, on, correlation);
    if memory::free(start).is_some() { SUCCESS } else { INVALID_VALUE }
}

/// A copy on a stream: captured, given to the stream, or waited for.
unsafe fn copy(copy: Copy, on: *mut c_void, correlation: u32) -> i32 {
    let Some(stream) = stream::of_handle(on) else { return INVALID_CONTEXT };
    if let Some(capture) = stream.capture() {
        if !copy.is_async {
            return STREAM_CAPTURE_IMPLICIT;
        }
        graph::record(&capture, Op::Copy(copy));
        return SUCCESS;
    }
    if copy.bytes == 0 {
        return SUCCESS;
    }
    let end = memory::copy(copy, stream, correlation, Node::default());
    if !copy.is_async {
        clock::wait_until(end);
    }
    SUCCESS
}

unsafe fn set(fill: Fill, on: *mut c_void, correlation: u32) -> i32 {
    let Some(stream) = stream::of_handle(on) else { return INVALID_CONTEXT };
    if let Some(capture) = stream.capture() {
        graph::record(&capture, Op::Set(fill));
        return SUCCESS;
    }
    memory::set(fill, stream, correlation, Node::default());
    SUCCESS
}

const fn fill(dst: u64, value: u32, width: usize, count: usize, is_async: bool) -> Fill {
    Fill { dst: dst as usize, value, width, count, is_async }
}

const fn plain(dst: u64, src: u64, bytes: usize, is_async: bool) -> Copy {
    Copy { dst: dst as usize, src: src as usize, bytes, is_async, peer: false }
}

const NULL: *mut c_void = std::ptr::null_mut();

fn pool() -> *mut c_void {
    static POOL: u8 = 0;
    (&raw const POOL).cast_mut().cast()
}

driver! {
    242 fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) |_| {
        *total = device::MEMORY_BYTES as usize;
        *free = (device::MEMORY_BYTES - memory::used_bytes().min(device::MEMORY_BYTES)) as usize;
        SUCCESS
    }
    243 fn cuMemAlloc_v2(out: *mut u64, bytes: usize) |call| { allocate(out, bytes, memory::DEVICE, None, call.correlation) }
    244 fn cuMemAllocPitch_v2(out: *mut u64, pitch: *mut usize, width: usize, height: usize, _element: u32) |call| {
        *pitch = width.next_multiple_of(512);
        allocate(out, *pitch * height, memory::DEVICE, None, call.correlation)
    }
    245 fn cuMemFree_v2(address: u64) |call| {
        // Freeing waits for the device.
        if let Some(context) = context::current() {
            wait(context);
        }
        free(address, None, call.correlation)
    }
    598 fn cuMemAllocAsync(out: *mut u64, bytes: usize, on: *mut c_void) |call| {
        allocate(out, bytes, memory::DEVICE, stream::of_handle(on), call.correlation)
    }
    611 fn cuMemAllocFromPoolAsync(out: *mut u64, bytes: usize, _pool: *mut c_void, on: *mut c_void) |call| {
        allocate(out, bytes, memory::DEVICE, stream::of_handle(on), call.correlation)
    }
    600 fn cuMemFreeAsync(address: u64, on: *mut c_void) |call| { free(address, stream::of_handle(on), call.correlation) }
    371 fn cuMemAllocManaged(out: *mut u64, bytes: usize, _flags: u32) |call| {
        allocate(out, bytes, memory::MANAGED, None, call.correlation)
    }
    294 fn cuMemAllocHost_v2(out: *mut u64, bytes: usize) |call| { allocate(out, bytes, memory::PINNED, None, call.correlation) }
    39 fn cuMemHostAlloc(out: *mut u64, bytes: usize, _flags: u32) |call| {
        allocate(out, bytes, memory::PINNED, None, call.correlation)
    }
    38 fn cuMemFreeHost(address: *mut c_void) |call| { free(address as u64, None, call.correlation) }
    247 fn cuMemHostGetDevicePointer_v2(out: *mut u64, address: *mut c_void, _flags: u32) |_| {
        *out = address as u64;
        SUCCESS
    }
    379 fn cuMemHostRegister_v2(address: *mut c_void, bytes: usize, _flags: u32) |_| {
        let Some(context) = context::current() else { return INVALID_CONTEXT };
        memory::register(address as usize, bytes, context);
        SUCCESS
    }
    302 fn cuMemHostUnregister(address: *mut c_void) |_| {
        memory::unregister(address as usize);
        SUCCESS
    }
    246 fn cuMemGetAddressRange_v2(start: *mut u64, bytes: *mut usize, address: u64) |_| {
        let Some((at, block)) = memory::find(address as usize) else { return INVALID_VALUE };
        if !start.is_null() {
            *start = at as u64;
        }
        if !bytes.is_null() {
            *bytes = block.bytes;
        }
        SUCCESS
    }
    310 fn cuPointerGetAttribute(out: *mut c_void, attribute: i32, address: u64) |_| {
        let Some((_, block)) = memory::find(address as usize) else { return INVALID_VALUE };
        // 1 the context, 2 memory type, 3 device pointer, 9 device ordinal
        match attribute {
            1 => *out.cast::<*mut c_void>() = context::current_handle().0,
            2 => *out.cast::<u32>() = if block.kind == memory::PINNED { 1 } else { 2 },
            3 => *out.cast::<u64>() = address,
            9 => *out.cast::<i32>() = block.device as i32,
            _ => return INVALID_VALUE,
        }
        SUCCESS
    }
    276 fn cuMemcpyHtoD_v2(dst: u64, src: u64, bytes: usize) |call| { copy(plain(dst, src, bytes, false), NULL, call.correlation) }
    278 fn cuMemcpyDtoH_v2(dst: u64, src: u64, bytes: usize) |call| { copy(plain(dst, src, bytes, false), NULL, call.correlation) }
    280 fn cuMemcpyDtoD_v2(dst: u64, src: u64, bytes: usize) |call| { copy(plain(dst, src, bytes, true), NULL, call.correlation) }
    277 fn cuMemcpyHtoDAsync_v2(dst: u64, src: u64, bytes: usize, on: *mut c_void) |call| {
        copy(plain(dst, src, bytes, true), on, call.correlation)
    }
    279 fn cuMemcpyDtoHAsync_v2(dst: u64, src: u64, bytes: usize, on: *mut c_void) |call| {
        copy(plain(dst, src, bytes, true), on, call.correlation)
    }
    281 fn cuMemcpyDtoDAsync_v2(dst: u64, src: u64, bytes: usize, on: *mut c_void) |call| {
        copy(plain(dst, src, bytes, true), on, call.correlation)
    }
    305 fn cuMemcpy(dst: u64, src: u64, bytes: usize) |call| { copy(plain(dst, src, bytes, false), NULL, call.correlation) }
    306 fn cuMemcpyAsync(dst: u64, src: u64, bytes: usize, on: *mut c_void) |call| {
        copy(plain(dst, src, bytes, true), on, call.correlation)
    }
    318 fn cuMemcpyPeer(dst: u64, _to: *mut c_void, src: u64, _from: *mut c_void, bytes: usize) |call| {
        copy(Copy { peer: true, ..plain(dst, src, bytes, true) }, NULL, call.correlation)
    }
    319 fn cuMemcpyPeerAsync(dst: u64, _to: *mut c_void, src: u64, _from: *mut c_void, bytes: usize, on: *mut c_void) |call| {
        copy(Copy { peer: true, ..plain(dst, src, bytes, true) }, on, call.correlation)
    }
    249 fn cuMemsetD8_v2(dst: u64, value: u8, count: usize) |call| { set(fill(dst, value.into(), 1, count, false), NULL, call.correlation) }
    250 fn cuMemsetD16_v2(dst: u64, value: u16, count: usize) |call| { set(fill(dst, value.into(), 2, count, false), NULL, call.correlation) }
    251 fn cuMemsetD32_v2(dst: u64, value: u32, count: usize) |call| { set(fill(dst, value, 4, count, false), NULL, call.correlation) }
    216 fn cuMemsetD8Async(dst: u64, value: u8, count: usize, on: *mut c_void) |call| {
        set(fill(dst, value.into(), 1, count, true), on, call.correlation)
    }
    218 fn cuMemsetD16Async(dst: u64, value: u16, count: usize, on: *mut c_void) |call| {
        set(fill(dst, value.into(), 2, count, true), on, call.correlation)
    }
    220 fn cuMemsetD32Async(dst: u64, value: u32, count: usize, on: *mut c_void) |call| {
        set(fill(dst, value, 4, count, true), on, call.correlation)
    }
    467 fn cuMemPrefetchAsync(address: u64, bytes: usize, to: i32, on: *mut c_void) |_| { prefetch(address, bytes, to >= 0, on) }
    716 fn cuMemPrefetchAsync_v2(address: u64, bytes: usize, to_kind: i32, _to_id: i32, on: *mut c_void) |_| {
        prefetch(address, bytes, to_kind == 1, on)
    }
    457 fn cuMemAdvise(_address: u64, _bytes: usize, _advice: i32, _device: i32) |_| { SUCCESS }
    715 fn cuMemAdvise_v2(_address: u64, _bytes: usize, _advice: i32, _kind: i32, _id: i32) |_| { SUCCESS }
    606 fn cuDeviceGetDefaultMemPool(out: *mut *mut c_void, _device: i32) |_| {
        *out = pool();
        SUCCESS
    }
    610 fn cuDeviceGetMemPool(out: *mut *mut c_void, _device: i32) |_| {
        *out = pool();
        SUCCESS
    }
    609 fn cuDeviceSetMemPool(_device: i32, _pool: *mut c_void) |_| { SUCCESS }
    607 fn cuMemPoolCreate(out: *mut *mut c_void, _properties: *const c_void) |_| {
        *out = pool();
        SUCCESS
    }
    608 fn cuMemPoolDestroy(_pool: *mut c_void) |_| { SUCCESS }
    602 fn cuMemPoolTrimTo(_pool: *mut c_void, _bytes: usize) |_| { SUCCESS }
    603 fn cuMemPoolSetAttribute(_pool: *mut c_void, _attribute: i32, _value: *mut c_void) |_| { SUCCESS }
    604 fn cuMemPoolGetAttribute(_pool: *mut c_void, _attribute: i32, value: *mut u64) |_| {
        *value = 0;
        SUCCESS
    }
}

fn wait(context: &Context) {
    let tail = context.tail_ns.load(std::sync::atomic::Ordering::Acquire);
    if tail != u64::MAX {
        clock::wait_until(tail);
    }
}

unsafe fn prefetch(address: u64, bytes: usize, to_device: bool, on: *mut c_void) -> i32 {
    let (Some(stream), Some(context)) = (stream::of_handle(on), context::current()) else { return INVALID_CONTEXT };
    memory::tell_uvm(address as usize, bytes, to_device, context, stream);
    SUCCESS
}
