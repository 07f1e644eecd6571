//! The driver's functions, looked up by name in libcuda.so.1.

use crate::abi::ApiCall;
use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

pub type Ptr = *mut c_void;

macro_rules! driver {
    ($($name:ident: fn($($arg:ty),*) $(-> $out:ty)?;)*) => {
        pub struct Cuda { $(pub $name: unsafe extern "C" fn($($arg),*) $(-> $out)?,)* }

        unsafe fn load(library: Ptr) -> Option<Cuda> {
            Some(Cuda { $($name: {
                let symbol = find(library, concat!(stringify!($name), "\0"))?;
                std::mem::transmute::<Ptr, unsafe extern "C" fn($($arg),*) $(-> $out)?>(symbol)
            },)* })
        }
    };
}

driver! {
    cuInit: fn(u32) -> i32;
    cuDriverGetVersion: fn(*mut i32) -> i32;
    cuDeviceGet: fn(*mut i32, i32) -> i32;
    cuDeviceGetCount: fn(*mut i32) -> i32;
    cuDeviceGetName: fn(*mut c_char, i32, i32) -> i32;
    cuDeviceGetAttribute: fn(*mut i32, i32, i32) -> i32;
    cuDeviceTotalMem_v2: fn(*mut usize, i32) -> i32;
    cuDevicePrimaryCtxRetain: fn(*mut Ptr, i32) -> i32;
    cuDevicePrimaryCtxReset_v2: fn(i32) -> i32;
    cuCtxSetCurrent: fn(Ptr) -> i32;
    cuCtxGetCurrent: fn(*mut Ptr) -> i32;
    cuCtxSynchronize: fn() -> i32;
    cuStreamCreate: fn(*mut Ptr, u32) -> i32;
    cuStreamCreateWithPriority: fn(*mut Ptr, u32, i32) -> i32;
    cuStreamDestroy_v2: fn(Ptr) -> i32;
    cuStreamSynchronize: fn(Ptr) -> i32;
    cuStreamQuery: fn(Ptr) -> i32;
    cuStreamWaitEvent: fn(Ptr, Ptr, u32) -> i32;
    cuStreamBeginCapture_v2: fn(Ptr, i32) -> i32;
    cuStreamEndCapture: fn(Ptr, *mut Ptr) -> i32;
    cuStreamIsCapturing: fn(Ptr, *mut i32) -> i32;
    cuEventCreate: fn(*mut Ptr, u32) -> i32;
    cuEventDestroy_v2: fn(Ptr) -> i32;
    cuEventRecord: fn(Ptr, Ptr) -> i32;
    cuEventSynchronize: fn(Ptr) -> i32;
    cuEventQuery: fn(Ptr) -> i32;
    cuEventElapsedTime: fn(*mut f32, Ptr, Ptr) -> i32;
    cuModuleLoadData: fn(*mut Ptr, *const c_void) -> i32;
    cuModuleGetFunction: fn(*mut Ptr, Ptr, *const c_char) -> i32;
    cuLaunchKernel: fn(Ptr, u32, u32, u32, u32, u32, u32, u32, Ptr, *mut Ptr, *mut Ptr) -> i32;
    cuLaunchHostFunc: fn(Ptr, Option<unsafe extern "C" fn(Ptr)>, Ptr) -> i32;
    cuMemAlloc_v2: fn(*mut u64, usize) -> i32;
    cuMemAllocAsync: fn(*mut u64, usize, Ptr) -> i32;
    cuMemAllocManaged: fn(*mut u64, usize, u32) -> i32;
    cuMemHostAlloc: fn(*mut u64, usize, u32) -> i32;
    cuMemFree_v2: fn(u64) -> i32;
    cuMemFreeAsync: fn(u64, Ptr) -> i32;
    cuMemFreeHost: fn(Ptr) -> i32;
    cuMemGetInfo_v2: fn(*mut usize, *mut usize) -> i32;
    cuMemcpy: fn(u64, u64, usize) -> i32;
    cuMemcpyHtoD_v2: fn(u64, u64, usize) -> i32;
    cuMemcpyDtoH_v2: fn(u64, u64, usize) -> i32;
    cuMemcpyDtoD_v2: fn(u64, u64, usize) -> i32;
    cuMemcpyAsync: fn(u64, u64, usize, Ptr) -> i32;
    cuMemcpyHtoDAsync_v2: fn(u64, u64, usize, Ptr) -> i32;
    cuMemcpyDtoHAsync_v2: fn(u64, u64, usize, Ptr) -> i32;
    cuMemcpyDtoDAsync_v2: fn(u64, u64, usize, Ptr) -> i32;
    cuMemcpyPeerAsync: fn(u64, Ptr, u64, Ptr, usize, Ptr) -> i32;
    cuMemsetD8_v2: fn(u64, u8, usize) -> i32;
    cuMemsetD8Async: fn(u64, u8, usize, Ptr) -> i32;
    cuMemPrefetchAsync: fn(u64, usize, i32, Ptr) -> i32;
    cuGraphInstantiateWithFlags: fn(*mut Ptr, Ptr, u64) -> i32;
    cuGraphLaunch: fn(Ptr, Ptr) -> i32;
    cuGraphExecDestroy: fn(Ptr) -> i32;
    cuGraphDestroy: fn(Ptr) -> i32;
    cuProfilerStart: fn() -> i32;
    cuProfilerStop: fn() -> i32;
    sim_cuda_api_enter: fn(*mut ApiCall);
    sim_cuda_api_exit: fn(*mut ApiCall);
    sim_cuda_refusal: fn() -> i32;
}

unsafe fn find(library: Ptr, name: &str) -> Option<Ptr> {
    let symbol = libc::dlsym(library, name.as_ptr().cast());
    (!symbol.is_null()).then_some(symbol)
}

/// The driver; `None` without one.
pub fn cuda() -> Option<&'static Cuda> {
    static CUDA: OnceLock<Option<Cuda>> = OnceLock::new();
    // SAFETY: the simulator's libcuda has these functions with these types; every other is refused by a missing symbol.
    CUDA.get_or_init(|| unsafe {
        let name: &CStr = c"libcuda.so.1";
        let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW);
        if library.is_null() { None } else { load(library) }
    })
    .as_ref()
}
