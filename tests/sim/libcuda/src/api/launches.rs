//! Launches.

use crate::graph::Op;
use crate::launch::{self, Shape};
use crate::results::*;
use crate::{call, clock, graph, stream};
use std::ffi::c_void;
use std::sync::atomic::Ordering;

/// `CUlaunchConfig`.
#[repr(C)]
pub struct LaunchConfig {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: *mut c_void,
    attributes: *const LaunchAttribute,
    attribute_count: u32,
}

/// `CUlaunchAttribute`: 4 is the cluster's dimension.
#[repr(C)]
pub struct LaunchAttribute {
    id: u32,
    pad: u32,
    value: [u32; 16],
}

#[allow(clippy::too_many_arguments, reason = "CUDA's own signature")]
unsafe fn plain(
    cbid: u32,
    name: &'static str,
    f: *mut c_void,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: *mut c_void,
    params: *mut *mut c_void,
) -> i32 {
    call::launch(cbid, name, launch::symbol(f), |call| {
        let shape = Shape { grid, block, cluster: [0; 3], shared };
        launch::kernel(call, f, shape, stream, params.cast_const().cast())
    })
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's own signature")]
pub unsafe extern "C" fn cuLaunchKernel(
    f: *mut c_void,
    gx: u32,
    gy: u32,
    gz: u32,
    bx: u32,
    by: u32,
    bz: u32,
    shared: u32,
    stream: *mut c_void,
    params: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> i32 {
    plain(307, "cuLaunchKernel\0", f, [gx, gy, gz], [bx, by, bz], shared, stream, params)
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's own signature")]
pub unsafe extern "C" fn cuLaunchKernel_ptsz(
    f: *mut c_void,
    gx: u32,
    gy: u32,
    gz: u32,
    bx: u32,
    by: u32,
    bz: u32,
    shared: u32,
    stream: *mut c_void,
    params: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> i32 {
    plain(442, "cuLaunchKernel_ptsz\0", f, [gx, gy, gz], [bx, by, bz], shared, stream, params)
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's own signature")]
pub unsafe extern "C" fn cuLaunchCooperativeKernel(
    f: *mut c_void,
    gx: u32,
    gy: u32,
    gz: u32,
    bx: u32,
    by: u32,
    bz: u32,
    shared: u32,
    stream: *mut c_void,
    params: *mut *mut c_void,
) -> i32 {
    plain(477, "cuLaunchCooperativeKernel\0", f, [gx, gy, gz], [bx, by, bz], shared, stream, params)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernelEx(
    config: *const LaunchConfig,
    f: *mut c_void,
    params: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> i32 {
    let Some(config) = config.as_ref() else { return INVALID_VALUE };
    call::launch(652, "cuLaunchKernelEx\0", launch::symbol(f), |call| {
        let mut cluster = [0; 3];
        for i in 0..config.attribute_count as usize {
            let attribute = &*config.attributes.add(i);
            if attribute.id == 4 {
                cluster = [attribute.value[0], attribute.value[1], attribute.value[2]];
            }
        }
        let shape = Shape { grid: config.grid, block: config.block, cluster, shared: config.shared };
        launch::kernel(call, f, shape, config.stream, params.cast_const().cast())
    })
}

driver! {
    527 fn cuLaunchHostFunc(on: *mut c_void, function: Option<unsafe extern "C" fn(*mut c_void)>, data: *mut c_void) |_| {
        let (Some(stream), Some(function)) = (stream::of_handle(on), function) else { return INVALID_HANDLE };
        if let Some(capture) = stream.capture() {
            graph::record(&capture, Op::Host { function, data: data as usize });
            return SUCCESS;
        }
        // Real host functions run on a thread of the driver, when the stream gets there.
        let (time, data) = (stream.tail_ns.load(Ordering::Acquire), data as usize);
        let worker = std::thread::spawn(move || {
            clock::wait_until(time);
            function(data as *mut c_void);
        });
        let _ = worker.join();
        SUCCESS
    }
}
