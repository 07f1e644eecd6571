//! What CUPTI calls: on the program's threads, and on one of its own.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use cupti_sys::{
    CUPTI_API_ENTER, CUPTI_API_EXIT, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RESOURCE,
    CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, CUpti_CallbackData, cbid,
};

use super::{CBID_DEVICE_GET_COUNT, current};
use crate::cupti::Buffers;
use crate::gate::GATE;
use crate::{guard, python, sys, writer};

/// CUPTI's callback: API calls that the gate listens to, contexts.
pub(super) unsafe extern "C" fn on_callback(_user: *mut c_void, domain: u32, id: u32, data: *const c_void) {
    guard("a CUPTI callback", || {
        let Some(session) = current() else { return };
        match domain {
            CUPTI_CB_DOMAIN_DRIVER_API if !data.is_null() => {
                // SAFETY: this domain's data is a CUpti_CallbackData, the same in all versions; unaligned is allowed.
                let call = unsafe { data.cast::<CUpti_CallbackData>().read_unaligned() };
                let (site, correlation) = (call.callbackSite, call.correlationId);
                match id {
                    cbid::driver::PROFILER_START if site == CUPTI_API_EXIT => {
                        GATE.profiler_start(session, correlation);
                    }
                    cbid::driver::PROFILER_STOP if site == CUPTI_API_ENTER => {
                        GATE.profiler_stop(session, correlation);
                    }
                    _ if site == CUPTI_API_ENTER && python::is_launch(id) && GATE.is_open() => {
                        python::on_launch(correlation);
                    }
                    CBID_DEVICE_GET_COUNT
                        if site == CUPTI_API_ENTER
                            && session.probe_thread.load(Ordering::Acquire) == sys::gettid() =>
                    {
                        session.probe_id.store(correlation, Ordering::Release);
                    }
                    _ => {}
                }
            }
            CUPTI_CB_DOMAIN_RESOURCE if id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED => {
                session.contexts.fetch_add(1, Ordering::Relaxed);
                session.start();
            }
            CUPTI_CB_DOMAIN_RESOURCE if id == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED => session.driver_is_ready(),
            _ => {}
        }
    });
}

/// The blocks of the recording.
pub(super) struct Blocks;

impl Buffers for Blocks {
    fn requested() -> (*mut u8, usize) {
        // Whatever happened to us: before 12.9 CUPTI may crash on no buffer, so it gets one as long as there are any.
        // Nothing in here can panic: no index, no arithmetic that overflows, no allocation that fails loudly.
        if sys::is_ours() { writer::shared().request() } else { (std::ptr::null_mut(), 0) }
    }

    unsafe fn completed(buffer: *mut u8, size: usize, valid: usize) {
        guard("a completed buffer", || {
            if buffer.is_null() {
                return;
            }
            if let Some(session) = current() {
                // SAFETY: as promised by the caller.
                unsafe { session.shared.complete(buffer, valid.min(size), &session.strides) };
            }
        });
    }
}
