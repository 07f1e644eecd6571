//! Runtime calls: lazy initialisation, the callback around them, the last error.

use crate::abi::{ApiCall, RUNTIME};
use crate::driver::{Cuda, cuda};
use crate::info;
use std::cell::Cell;
use std::ffi::c_char;
use std::sync::atomic::{AtomicBool, Ordering};

pub const INSUFFICIENT_DRIVER: i32 = 35;

thread_local!(static LAST_ERROR: Cell<i32> = const { Cell::new(0) });
thread_local!(static DEVICE: Cell<i32> = const { Cell::new(0) });
// The device whose context this thread was given.
thread_local!(static BOUND: Cell<i32> = const { Cell::new(-1) });

pub fn last_error(clear: bool) -> i32 {
    LAST_ERROR.with(|last| if clear { last.replace(0) } else { last.get() })
}

pub fn device() -> i32 {
    DEVICE.with(Cell::get)
}

pub fn set_device(device: i32) {
    DEVICE.with(|current| current.set(device));
}

/// After a reset every thread binds anew.
pub fn unbind() {
    BOUND.with(|bound| bound.set(-1));
}

/// Codes of the driver as the runtime has them: the same numbers but for a few.
fn code(driver: i32) -> i32 {
    match driver {
        3 | 304 => 3,
        4 => 4,
        500 => 98,
        _ => driver,
    }
}

/// `cuInit`, once per process and again as long as it fails. A runtime newer than the driver does not come so far.
fn initialize() -> Result<&'static Cuda, i32> {
    let Some(cuda) = cuda() else { return Err(INSUFFICIENT_DRIVER) };
    static READY: AtomicBool = AtomicBool::new(false);
    if READY.load(Ordering::Acquire) {
        // SAFETY: takes nothing. In a forked child, and after the driver's end, nothing works any more.
        return match unsafe { (cuda.sim_cuda_refusal)() } {
            0 => Ok(cuda),
            result => Err(code(result)),
        };
    }
    // SAFETY: the driver's functions.
    unsafe {
        let mut version = 0;
        (cuda.cuDriverGetVersion)(&mut version);
        if version / 1000 < info::runtime_version() / 1000 {
            return Err(INSUFFICIENT_DRIVER);
        }
        match (cuda.cuInit)(0) {
            0 => READY.store(true, Ordering::Release),
            result => return Err(code(result)),
        }
    }
    Ok(cuda)
}

/// Gives this thread the primary context of its device.
fn bind(cuda: &Cuda) -> i32 {
    let device = device();
    if BOUND.with(Cell::get) == device {
        return 0;
    }
    // SAFETY: the driver's functions.
    unsafe {
        let mut context = std::ptr::null_mut();
        // A context that the program set by itself stays.
        (cuda.cuCtxGetCurrent)(&mut context);
        if context.is_null() || BOUND.with(Cell::get) >= 0 {
            let result = (cuda.cuDevicePrimaryCtxRetain)(&mut context, device);
            if result != 0 {
                return result;
            }
            (cuda.cuCtxSetCurrent)(context);
        }
    }
    BOUND.with(|bound| bound.set(device));
    0
}

/// One runtime call. `context`: it needs one.
pub fn runtime(
    cbid: u32,
    name: &'static str,
    symbol: *const c_char,
    context: bool,
    body: impl FnOnce(&Cuda) -> i32,
) -> i32 {
    let cuda = match initialize() {
        Ok(cuda) => cuda,
        Err(code) => {
            LAST_ERROR.with(|last| last.set(code));
            return code;
        }
    };
    let mut call = ApiCall {
        domain: RUNTIME,
        cbid,
        name: name.as_ptr().cast(),
        correlation: 0,
        result: 0,
        start_ns: 0,
        end_ns: 0,
        symbol,
        context: std::ptr::null_mut(),
        context_uid: 0,
        entered: 0,
        correlation_data: 0,
        outer: std::ptr::null_mut(),
    };
    // SAFETY: the call outlives both.
    unsafe { (cuda.sim_cuda_api_enter)(&mut call) };
    let mut result = if context { bind(cuda) } else { 0 };
    if result == 0 {
        result = body(cuda);
    }
    call.result = code(result);
    let result = call.result;
    // SAFETY: as above.
    unsafe { (cuda.sim_cuda_api_exit)(&mut call) };
    let asks_for_errors = matches!(cbid, 10 | 11);
    if result != 0 && result != 600 && !asks_for_errors {
        LAST_ERROR.with(|last| last.set(result));
    }
    result
}
