//! The runtime's exported functions.

use crate::driver::Ptr;
use crate::fatbin::{self, Dim3};
use crate::{call, info};
use std::ffi::{c_char, c_void};

#[allow(clippy::too_many_arguments, reason = "what a launch is")]
unsafe fn launch(
    cbid: u32,
    name: &'static str,
    host: *const c_void,
    grid: Dim3,
    block: Dim3,
    params: *mut Ptr,
    shared: usize,
    stream: Ptr,
) -> i32 {
    call::runtime(cbid, name, fatbin::symbol(host), true, |cuda| {
        let function = match fatbin::function(cuda, host) {
            Ok(function) => function,
            Err(code) => return code,
        };
        let (grid, block) = (grid.sides(), block.sides());
        (cuda.cuLaunchKernel)(
            function,
            grid[0],
            grid[1],
            grid[2],
            block[0],
            block[1],
            block[2],
            shared as u32,
            stream,
            params,
            std::ptr::null_mut(),
        )
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLaunchKernel(
    host: *const c_void,
    grid: Dim3,
    block: Dim3,
    params: *mut Ptr,
    shared: usize,
    stream: Ptr,
) -> i32 {
    launch(211, "cudaLaunchKernel\0", host, grid, block, params, shared, stream)
}

/// What `<<<>>>` becomes with nvcc 13. The harness takes it out of older runtimes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaLaunchKernel(
    host: *const c_void,
    grid: Dim3,
    block: Dim3,
    params: *mut Ptr,
    shared: usize,
    stream: Ptr,
) -> i32 {
    launch(505, "__cudaLaunchKernel\0", host, grid, block, params, shared, stream)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLaunchCooperativeKernel(
    host: *const c_void,
    grid: Dim3,
    block: Dim3,
    params: *mut Ptr,
    shared: usize,
    stream: Ptr,
) -> i32 {
    launch(269, "cudaLaunchCooperativeKernel\0", host, grid, block, params, shared, stream)
}

/// A runtime function that makes no context.
macro_rules! light {
    ($($cbid:literal fn $name:ident($($arg:ident: $type:ty),* $(,)?) |$cuda:pat_param| $body:block)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> i32 {
            call::runtime($cbid, concat!(stringify!($name), "\0"), std::ptr::null(), false, |$cuda| $body)
        }
    )*};
}

light! {
    1 fn cudaDriverGetVersion(out: *mut i32) |cuda| { (cuda.cuDriverGetVersion)(out) }
    2 fn cudaRuntimeGetVersion(out: *mut i32) |_| {
        *out = info::runtime_version();
        0
    }
    3 fn cudaGetDeviceCount(out: *mut i32) |cuda| { (cuda.cuDeviceGetCount)(out) }
    10 fn cudaGetLastError() |_| { call::last_error(true) }
    11 fn cudaPeekAtLastError() |_| { call::last_error(false) }
    16 fn cudaSetDevice(device: i32) |cuda| {
        let mut ordinal = 0;
        let result = (cuda.cuDeviceGet)(&mut ordinal, device);
        if result == 0 {
            call::set_device(device);
        }
        result
    }
    17 fn cudaGetDevice(out: *mut i32) |_| {
        *out = call::device();
        0
    }
    200 fn cudaDeviceGetAttribute(out: *mut i32, attribute: i32, device: i32) |cuda| {
        (cuda.cuDeviceGetAttribute)(out, attribute, device)
    }
    164 fn cudaDeviceReset() |cuda| {
        let device = call::device();
        let result = (cuda.cuDevicePrimaryCtxReset_v2)(device);
        fatbin::forget(device);
        call::unbind();
        result
    }
    171 fn cudaProfilerStart() |cuda| { (cuda.cuProfilerStart)() }
    172 fn cudaProfilerStop() |cuda| { (cuda.cuProfilerStop)() }
    133 fn cudaEventCreate(out: *mut Ptr) |cuda| { (cuda.cuEventCreate)(out, 0) }
}

/// The first 256 bytes of `cudaDeviceProp` are the name; of the rest only the memory's size is filled.
unsafe fn properties(cbid: u32, name: &'static str, out: *mut c_char, device: i32) -> i32 {
    call::runtime(cbid, name, std::ptr::null(), false, |cuda| {
        let result = (cuda.cuDeviceGetName)(out, 256, device);
        if result != 0 {
            return result;
        }
        // name[256], uuid[16], luid[8], luidDeviceNodeMask, then totalGlobalMem@288.
        (cuda.cuDeviceTotalMem_v2)(out.add(288).cast(), device)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceProperties(out: *mut c_char, device: i32) -> i32 {
    properties(4, "cudaGetDeviceProperties\0", out, device)
}

/// As the headers of 12 have it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceProperties_v2(out: *mut c_char, device: i32) -> i32 {
    properties(440, "cudaGetDeviceProperties_v2\0", out, device)
}

const HOST_TO_DEVICE: i32 = 1;
const DEVICE_TO_HOST: i32 = 2;
const DEVICE_TO_DEVICE: i32 = 3;

runtime! {
    20 fn cudaMalloc(out: *mut u64, bytes: usize) |cuda| {
        if bytes == 0 {
            *out = 0;
            return 0;
        }
        (cuda.cuMemAlloc_v2)(out, bytes)
    }
    206 fn cudaMallocManaged(out: *mut u64, bytes: usize, flags: u32) |cuda| { (cuda.cuMemAllocManaged)(out, bytes, flags) }
    25 fn cudaMallocHost(out: *mut u64, bytes: usize) |cuda| { (cuda.cuMemHostAlloc)(out, bytes, 0) }
    27 fn cudaHostAlloc(out: *mut u64, bytes: usize, flags: u32) |cuda| { (cuda.cuMemHostAlloc)(out, bytes, flags) }
    373 fn cudaMallocAsync(out: *mut u64, bytes: usize, stream: Ptr) |cuda| { (cuda.cuMemAllocAsync)(out, bytes, stream) }
    22 fn cudaFree(address: u64) |cuda| { if address == 0 { 0 } else { (cuda.cuMemFree_v2)(address) } }
    26 fn cudaFreeHost(address: Ptr) |cuda| { (cuda.cuMemFreeHost)(address) }
    375 fn cudaFreeAsync(address: u64, stream: Ptr) |cuda| { (cuda.cuMemFreeAsync)(address, stream) }
    30 fn cudaMemGetInfo(free: *mut usize, total: *mut usize) |cuda| { (cuda.cuMemGetInfo_v2)(free, total) }
    31 fn cudaMemcpy(dst: u64, src: u64, bytes: usize, kind: i32) |cuda| {
        match kind {
            HOST_TO_DEVICE => (cuda.cuMemcpyHtoD_v2)(dst, src, bytes),
            DEVICE_TO_HOST => (cuda.cuMemcpyDtoH_v2)(dst, src, bytes),
            DEVICE_TO_DEVICE => (cuda.cuMemcpyDtoD_v2)(dst, src, bytes),
            _ => (cuda.cuMemcpy)(dst, src, bytes),
        }
    }
    41 fn cudaMemcpyAsync(dst: u64, src: u64, bytes: usize, kind: i32, stream: Ptr) |cuda| {
        match kind {
            HOST_TO_DEVICE => (cuda.cuMemcpyHtoDAsync_v2)(dst, src, bytes, stream),
            DEVICE_TO_HOST => (cuda.cuMemcpyDtoHAsync_v2)(dst, src, bytes, stream),
            DEVICE_TO_DEVICE => (cuda.cuMemcpyDtoDAsync_v2)(dst, src, bytes, stream),
            _ => (cuda.cuMemcpyAsync)(dst, src, bytes, stream),
        }
    }
    161 fn cudaMemcpyPeerAsync(dst: u64, _to: i32, src: u64, _from: i32, bytes: usize, stream: Ptr) |cuda| {
        (cuda.cuMemcpyPeerAsync)(dst, std::ptr::null_mut(), src, std::ptr::null_mut(), bytes, stream)
    }
    49 fn cudaMemset(dst: u64, value: i32, bytes: usize) |cuda| { (cuda.cuMemsetD8_v2)(dst, value as u8, bytes) }
    51 fn cudaMemsetAsync(dst: u64, value: i32, bytes: usize, stream: Ptr) |cuda| {
        (cuda.cuMemsetD8Async)(dst, value as u8, bytes, stream)
    }
    252 fn cudaMemPrefetchAsync(address: u64, bytes: usize, device: i32, stream: Ptr) |cuda| {
        (cuda.cuMemPrefetchAsync)(address, bytes, device, stream)
    }
    129 fn cudaStreamCreate(out: *mut Ptr) |cuda| { (cuda.cuStreamCreate)(out, 0) }
    198 fn cudaStreamCreateWithFlags(out: *mut Ptr, flags: u32) |cuda| { (cuda.cuStreamCreate)(out, flags) }
    202 fn cudaStreamCreateWithPriority(out: *mut Ptr, flags: u32, priority: i32) |cuda| {
        (cuda.cuStreamCreateWithPriority)(out, flags, priority)
    }
    201 fn cudaStreamDestroy(stream: Ptr) |cuda| { (cuda.cuStreamDestroy_v2)(stream) }
    131 fn cudaStreamSynchronize(stream: Ptr) |cuda| { (cuda.cuStreamSynchronize)(stream) }
    132 fn cudaStreamQuery(stream: Ptr) |cuda| { (cuda.cuStreamQuery)(stream) }
    147 fn cudaStreamWaitEvent(stream: Ptr, event: Ptr, flags: u32) |cuda| { (cuda.cuStreamWaitEvent)(stream, event, flags) }
    315 fn cudaStreamBeginCapture(stream: Ptr, mode: i32) |cuda| { (cuda.cuStreamBeginCapture_v2)(stream, mode) }
    319 fn cudaStreamEndCapture(stream: Ptr, out: *mut Ptr) |cuda| { (cuda.cuStreamEndCapture)(stream, out) }
    317 fn cudaStreamIsCapturing(stream: Ptr, out: *mut i32) |cuda| { (cuda.cuStreamIsCapturing)(stream, out) }
    284 fn cudaLaunchHostFunc(stream: Ptr, function: Option<unsafe extern "C" fn(Ptr)>, data: Ptr) |cuda| {
        (cuda.cuLaunchHostFunc)(stream, function, data)
    }
    134 fn cudaEventCreateWithFlags(out: *mut Ptr, flags: u32) |cuda| { (cuda.cuEventCreate)(out, flags) }
    135 fn cudaEventRecord(event: Ptr, stream: Ptr) |cuda| { (cuda.cuEventRecord)(event, stream) }
    136 fn cudaEventDestroy(event: Ptr) |cuda| { (cuda.cuEventDestroy_v2)(event) }
    137 fn cudaEventSynchronize(event: Ptr) |cuda| { (cuda.cuEventSynchronize)(event) }
    138 fn cudaEventQuery(event: Ptr) |cuda| { (cuda.cuEventQuery)(event) }
    139 fn cudaEventElapsedTime(out: *mut f32, from: Ptr, to: Ptr) |cuda| { (cuda.cuEventElapsedTime)(out, from, to) }
    165 fn cudaDeviceSynchronize() |cuda| { (cuda.cuCtxSynchronize)() }
    310 fn cudaGraphInstantiate(out: *mut Ptr, graph: Ptr, _node: Ptr, _log: *mut c_char, _bytes: usize) |cuda| {
        (cuda.cuGraphInstantiateWithFlags)(out, graph, 0)
    }
    418 fn cudaGraphInstantiateWithFlags(out: *mut Ptr, graph: Ptr, flags: u64) |cuda| {
        (cuda.cuGraphInstantiateWithFlags)(out, graph, flags)
    }
    311 fn cudaGraphLaunch(exec: Ptr, stream: Ptr) |cuda| { (cuda.cuGraphLaunch)(exec, stream) }
    313 fn cudaGraphExecDestroy(exec: Ptr) |cuda| { (cuda.cuGraphExecDestroy)(exec) }
    314 fn cudaGraphDestroy(graph: Ptr) |cuda| { (cuda.cuGraphDestroy)(graph) }
}
