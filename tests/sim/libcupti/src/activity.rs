//! The activity API's entry points.

use crate::abi::{Resource, resource as cb};
use crate::settings;
use crate::subscribers::{GLOBAL, NOT_COMPATIBLE};
use crate::version::{since, stride, version};
use crate::{attributes, buffers, driver, faults, records, subscribers, tables, walker};
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Kinds that the library fills by itself, from others.
const NOT_ENABLEABLE: [u32; 4] = [18, 27, 28, 53];
/// What 11.x refuses even before it looks for a driver.
const REFUSED_BY_11: [u32; 12] = [6, 7, 14, 21, 23, 27, 31, 36, 41, 42, 43, 44];
/// Source-level kinds, which 13.0 no longer has.
const SOURCE_LEVEL: [u32; 8] = [14, 15, 16, 24, 29, 30, 31, 32];

fn enable(place: usize, kind: u32, dump: bool) -> i32 {
    let refusal = faults::argument_refusal("cuptiActivityEnable", kind.into());
    if refusal != 0 {
        settings::log(&format!("enable {kind} -> {refusal}"));
        return refusal;
    }
    if since(1300) && SOURCE_LEVEL.contains(&kind) {
        return 38;
    }
    let refused = version().toolkit < 1200 && REFUSED_BY_11.contains(&kind);
    if stride(kind) == 0
        || NOT_ENABLEABLE.contains(&kind)
        || refused
        || faults::wishes().unknown.is_some_and(|u| u.0 == kind)
    {
        return 21;
    }
    // Where several are allowed, whether graphs are recorded as a whole is decided before any kind is on.
    if kind == 51 && subscribers::are_several() && !attributes::graph_level() {
        return NOT_COMPATIBLE;
    }
    driver::own_process();
    settings::log(&format!("enable {kind}"));
    records::switch(place, kind, true);
    if dump {
        buffers::only(place, || dump_existing(kind));
    }
    0
}

fn dump_existing(kind: u32) {
    unsafe extern "C" fn each(resource: *const Resource, data: *mut c_void) {
        let (resource, kind) = (&*resource, data as usize);
        match (kind, resource.cbid) {
            (8, cb::CONTEXT_CREATED) if resource.first_of_device != 0 => records::device(resource.device),
            (9, cb::CONTEXT_CREATED) => records::context(resource),
            (37, cb::CONTEXT_CREATED) => records::stream(resource, 1),
            (37, cb::STREAM_CREATED) => {
                records::stream(resource, if resource.stream_flags & 1 != 0 { 2 } else { 1 })
            }
            _ => {}
        }
    }
    if let Some(cuda) = driver::driver() {
        // SAFETY: `each` takes its data as a number.
        unsafe { (cuda.list)(each, kind as usize as *mut c_void) };
    }
}

fn disable(place: usize, kind: u32) -> i32 {
    let refusal = faults::argument_refusal("cuptiActivityDisable", kind.into());
    if refusal != 0 {
        return refusal;
    }
    if stride(kind) == 0 {
        return 21;
    }
    settings::log(&format!("disable {kind}"));
    records::switch(place, kind, false);
    buffers::forget_unfinished(place, kind);
    0
}

static REGISTERED: AtomicUsize = AtomicUsize::new(0);

/// Calls that this version has no name for are refused: `CUPTI_ERROR_INVALID_PARAMETER`.
fn switch_call(place: usize, domain: u32, cbid: u32, on: u8) -> i32 {
    let is_known = cbid != 0 && !tables::callback_name(domain, cbid).is_null();
    if is_known && records::switch_call(place, domain, cbid, on != 0) { 0 } else { 1 }
}

fn register(place: usize, request: usize, complete: usize, by_handle: bool) -> i32 {
    if request == 0 || complete == 0 {
        return 1;
    }
    driver::own_process();
    settings::log("register");
    if place == GLOBAL && REGISTERED.fetch_add(1, Ordering::Relaxed) > 0 {
        settings::add(settings::word::INTRUDED, 1);
    }
    buffers::register(place, request, complete, by_handle);
    0
}

unsafe fn dropped(place: usize, out: *mut usize) -> i32 {
    if out.is_null() {
        return 1;
    }
    *out = buffers::take_dropped(place) as usize;
    0
}

/// What a function without a handle does, unless functions with one were used before.
fn global(f: impl FnOnce(usize) -> i32) -> i32 {
    let refusal = subscribers::global(true);
    if refusal != 0 { refusal } else { f(GLOBAL) }
}

/// What a function with a handle does.
fn of(handle: *mut c_void, f: impl FnOnce(usize) -> i32) -> i32 {
    subscribers::of(handle).map_or_else(|code| code, f)
}

cupti! {
    fn cuptiActivityRegisterCallbacks(request: usize, complete: usize) {
        global(|place| register(place, request, complete, false))
    }
    fn cuptiActivityRegisterCallbacks_v2(handle: *mut c_void, request: usize, complete: usize) {
        of(handle, |place| register(place, request, complete, true))
    }
    fn cuptiActivityEnable(kind: u32) { global(|place| enable(place, kind, false)) }
    fn cuptiActivityEnable_v2(handle: *mut c_void, kind: u32, _config: *mut c_void) {
        of(handle, |place| enable(place, kind, false))
    }
    fn cuptiActivityEnableAndDump(kind: u32) { global(|place| enable(place, kind, true)) }
    fn cuptiActivityEnableAndDump_v2(handle: *mut c_void, kind: u32, _config: *mut c_void) {
        of(handle, |place| enable(place, kind, true))
    }
    fn cuptiActivityDisable(kind: u32) { global(|place| disable(place, kind)) }
    fn cuptiActivityDisable_v2(handle: *mut c_void, kind: u32, _config: *mut c_void) {
        of(handle, |place| disable(place, kind))
    }
    fn cuptiActivityEnableContext(_context: *mut c_void, kind: u32) { global(|place| enable(place, kind, false)) }
    fn cuptiActivityDisableContext(_context: *mut c_void, kind: u32) { global(|place| disable(place, kind)) }
    fn cuptiActivityFlushAll(flag: u32) {
        settings::log(&format!("flush {flag}"));
        buffers::flush(flag & 1 != 0)
    }
    fn cuptiActivityFlush(_context: *mut c_void, _stream: u32, flag: u32) { buffers::flush(flag & 1 != 0) }
    fn cuptiActivityFlushPeriod(ms: u32) {
        // Only full and finished buffers, which the worker gives back anyhow.
        settings::log(&format!("flush period {ms}"));
        subscribers::alone()
    }
    fn cuptiActivityGetNextRecord(buffer: *mut u8, valid: usize, record: *mut *mut u8) {
        let refusal = subscribers::global(false);
        if refusal != 0 { refusal } else { walker::next_record(buffer, valid, record) }
    }
    fn cuptiActivityGetNextRecord_v2(handle: *mut c_void, buffer: *mut u8, valid: usize, record: *mut *mut u8) {
        of(handle, |_| walker::next_record(buffer, valid, record))
    }
    fn cuptiActivityGetNumDroppedRecords(_context: *mut c_void, _stream: u32, out: *mut usize) {
        global(|place| dropped(place, out))
    }
    fn cuptiActivityGetNumDroppedRecords_v2(
        handle: *mut c_void,
        _context: *mut c_void,
        _stream: u32,
        out: *mut usize,
    ) {
        of(handle, |place| dropped(place, out))
    }
    fn cuptiActivityEnableRuntimeApi(cbid: u32, on: u8) {
        settings::log(&format!("runtime {cbid} {on}"));
        global(|place| switch_call(place, 2, cbid, on))
    }
    fn cuptiActivityEnableRuntimeApi_v2(handle: *mut c_void, cbid: u32, on: u8) {
        settings::log(&format!("runtime {cbid} {on}"));
        of(handle, |place| switch_call(place, 2, cbid, on))
    }
    fn cuptiActivityEnableDriverApi(cbid: u32, on: u8) {
        settings::log(&format!("driver {cbid} {on}"));
        global(|place| switch_call(place, 1, cbid, on))
    }
    fn cuptiActivityEnableDriverApi_v2(handle: *mut c_void, cbid: u32, on: u8) {
        settings::log(&format!("driver {cbid} {on}"));
        of(handle, |place| switch_call(place, 1, cbid, on))
    }
    fn cuptiActivityConfigureUnifiedMemoryCounter(_configs: *mut c_void, count: u32) {
        // Where several are allowed, as long as there is one.
        if subscribers::are_several() && subscribers::count() > 1 {
            return 27;
        }
        if count == 0 { 1 } else { 0 }
    }
    fn cuptiActivityGetStructSize(kind: u32, past: u32, out: *mut usize) {
        if out.is_null() {
            return 1;
        }
        if past != 0 {
            return 27;
        }
        let bytes = stride(kind);
        if bytes == 0 {
            return 21;
        }
        *out = bytes;
        0
    }
}
