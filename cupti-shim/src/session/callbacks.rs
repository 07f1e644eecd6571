//! What CUPTI calls: on the program's threads, and on one of its own.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use cupti_sys::{
    CUPTI_API_ENTER, CUPTI_API_EXIT, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RESOURCE,
    CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED,
    CUpti_CallbackData, cbid,
};

use super::{CBID_DEVICE_GET_COUNT, Session, current};
use crate::cupti::Buffers;
use crate::gate::GATE;
use crate::{calls, cupti, guard, python, sys, writer};

/// CUPTI's callback: API calls that somebody here listens to, contexts.
pub(super) unsafe extern "C" fn on_callback(_user: *mut c_void, domain: u32, id: u32, data: *const c_void) {
    guard("a CUPTI callback", || {
        let Some(session) = current() else { return };
        match domain {
            CUPTI_CB_DOMAIN_DRIVER_API | CUPTI_CB_DOMAIN_RUNTIME_API if !data.is_null() => {
                // SAFETY: the data of both domains is a CUpti_CallbackData, the same in all versions; unaligned is allowed.
                let call = unsafe { data.cast::<CUpti_CallbackData>().read_unaligned() };
                // A clock that does not answer costs no record: by default it is the system's (seen from 11.7 to 12.9).
                let now_ns = || session.cupti.timestamp_ns().unwrap_or_else(sys::realtime_ns);
                let now_ns = || cupti::may_call().then(now_ns);
                // What the others do here is no part of the call: it ends before, and begins after.
                if call.callbackSite == CUPTI_API_EXIT {
                    calls::exit(domain, id, &call, now_ns);
                }
                if domain == CUPTI_CB_DOMAIN_DRIVER_API {
                    on_driver_call(session, id, &call);
                }
                if call.callbackSite == CUPTI_API_ENTER {
                    calls::enter(domain, id, &call, now_ns);
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

/// A driver call that the gate or the stacks of launches listen to.
fn on_driver_call(session: &Session, id: u32, call: &CUpti_CallbackData) {
    let (site, correlation) = (call.callbackSite, call.correlationId);
    match id {
        cbid::driver::PROFILER_START if site == CUPTI_API_EXIT => GATE.profiler_start(session, correlation),
        cbid::driver::PROFILER_STOP if site == CUPTI_API_ENTER => GATE.profiler_stop(session, correlation),
        _ if site == CUPTI_API_ENTER && python::is_launch(id) && GATE.is_open() => python::on_launch(correlation),
        CBID_DEVICE_GET_COUNT
            if site == CUPTI_API_ENTER && session.probe_thread.load(Ordering::Acquire) == sys::gettid() =>
        {
            session.probe_id.store(correlation, Ordering::Release);
        }
        _ => {}
    }
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
