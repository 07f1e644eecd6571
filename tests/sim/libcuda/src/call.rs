//! Every API call: its correlation id, its nesting, and what the tools hear of it.

use crate::abi::{ApiCall, DRIVER};
use crate::{clock, init, settings, tool};
use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

thread_local!(static CURRENT: Cell<*mut ApiCall> = const { Cell::new(std::ptr::null_mut()) });

/// The process's one counter. It wraps, as the real one does; `SIM_CORRELATION_START` brings that near.
static CORRELATION: AtomicU32 = AtomicU32::new(0);

pub fn set_correlation_start() {
    CORRELATION.store(settings::number(c"SIM_CORRELATION_START", 0) as u32, Ordering::Relaxed);
}

/// The next id; never 0.
pub fn next_correlation() -> u32 {
    loop {
        let id = CORRELATION.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        if id != 0 {
            return id;
        }
    }
}

/// Takes `n` ids at once; gives the first.
pub fn take_correlations(n: u32) -> u32 {
    CORRELATION.fetch_add(n, Ordering::Relaxed).wrapping_add(1)
}

/// Driver calls below a runtime call have the runtime call's id, as the kernel that both launched has; with
/// `SIM_CORRELATION=own` every call takes the next one.
fn own_ids() -> bool {
    static OWN: OnceLock<bool> = OnceLock::new();
    *OWN.get_or_init(|| settings::text(c"SIM_CORRELATION").as_deref() == Some("own"))
}

fn begin(call: &mut ApiCall) {
    CURRENT.with(|current| {
        call.outer = current.get();
        current.set(call);
    });
    // SAFETY: an outer call is further up on this thread's stack.
    let outer = unsafe { call.outer.as_ref() };
    call.correlation = match outer {
        Some(outer) if !own_ids() => outer.correlation,
        _ => next_correlation(),
    };
    let (context, uid) = crate::context::current_handle();
    call.context = context;
    call.context_uid = uid;
    tool::api_enter(call);
}

fn end(call: &mut ApiCall) {
    clock::spend_call();
    if call.context.is_null() {
        let (context, uid) = crate::context::current_handle();
        call.context = context;
        call.context_uid = uid;
    }
    tool::api_exit(call);
    CURRENT.with(|current| current.set(call.outer));
}

fn empty(domain: u32, cbid: u32, name: *const c_char, symbol: *const c_char) -> ApiCall {
    ApiCall {
        domain,
        cbid,
        name,
        correlation: 0,
        result: 0,
        start_ns: 0,
        end_ns: 0,
        symbol,
        context: std::ptr::null_mut::<c_void>(),
        context_uid: 0,
        entered: 0,
        correlation_data: 0,
        outer: std::ptr::null_mut(),
    }
}

/// One call of the driver API. `name` ends in NUL.
pub fn driver(cbid: u32, name: &'static str, body: impl FnOnce(&mut ApiCall) -> i32) -> i32 {
    launch(cbid, name, std::ptr::null(), body)
}

/// The same with the name of the kernel that is launched.
pub fn launch(cbid: u32, name: &'static str, symbol: *const c_char, body: impl FnOnce(&mut ApiCall) -> i32) -> i32 {
    let refused = init::refusal();
    if refused != 0 {
        return refused;
    }
    let mut call = empty(DRIVER, cbid, name.as_ptr().cast(), symbol);
    begin(&mut call);
    call.result = body(&mut call);
    let result = call.result;
    end(&mut call);
    result
}

/// For libcudart: the enter of a runtime call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sim_cuda_api_enter(call: *mut ApiCall) {
    begin(&mut *call);
}

/// And its exit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sim_cuda_api_exit(call: *mut ApiCall) {
    end(&mut *call);
}
