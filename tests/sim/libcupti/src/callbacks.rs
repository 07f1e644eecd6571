//! Callbacks: the one subscriber, what it wants to hear, and telling it.

use crate::abi::{ApiCall, DRIVER, RUNTIME, Resource, resource as cb};
use crate::settings::{self, word};
use crate::version::{since, version};
use crate::{driver, external, records, tables};
use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);

/// `CUpti_CallbackData`, 72 bytes from 11.7 to 13.5.
#[repr(C)]
struct CallbackData {
    site: u32,
    function_name: *const c_char,
    function_params: *const c_void,
    function_return_value: *const c_void,
    symbol_name: *const c_char,
    context: *mut c_void,
    context_uid: u32,
    correlation_data: *mut u64,
    correlation_id: u32,
}
const _: () = assert!(size_of::<CallbackData>() == 72 && std::mem::offset_of!(CallbackData, correlation_id) == 64);

/// `CUpti_ResourceData`.
#[repr(C)]
struct ResourceData {
    context: *mut c_void,
    stream: *mut c_void,
    descriptor: *const c_void,
}

/// `CUpti_SynchronizeData`.
#[repr(C)]
struct SynchronizeData {
    context: *mut c_void,
    stream: *mut c_void,
}

static CALLBACK: AtomicUsize = AtomicUsize::new(0);
static USER_DATA: AtomicUsize = AtomicUsize::new(0);
static SUBSCRIBER: AtomicUsize = AtomicUsize::new(0);
/// Callbacks that are on: a bit per id, 1024 ids for each of 8 domains.
static ENABLED: [[AtomicU64; 16]; 8] = [const { [const { AtomicU64::new(0) }; 16] }; 8];
static CONTEXTS: AtomicU32 = AtomicU32::new(0);

/// Inside which callback a thread is.
pub const BUFFER: u8 = 1;
pub const RESOURCE: u8 = 2;
pub const API: u8 = 3;
thread_local!(static INSIDE: Cell<u8> = const { Cell::new(0) });

pub fn inside<T>(what: u8, f: impl FnOnce() -> T) -> T {
    let old = INSIDE.with(|inside| inside.replace(what));
    let value = f();
    INSIDE.with(|inside| inside.set(old));
    value
}

pub fn is_inside(what: u8) -> bool {
    INSIDE.with(Cell::get) == what
}

/// How many contexts were made so far.
pub fn contexts() -> u32 {
    CONTEXTS.load(Ordering::Relaxed)
}

fn enabled(domain: u32, cbid: u32) -> bool {
    let word = ENABLED.get(domain as usize).and_then(|ids| ids.get(cbid as usize / 64));
    word.is_some_and(|word| word.load(Ordering::Relaxed) >> (cbid % 64) & 1 != 0)
}

fn set(domain: u32, cbid: u32, on: bool) {
    if let Some(word) = ENABLED.get(domain as usize).and_then(|ids| ids.get(cbid as usize / 64)) {
        if on {
            word.fetch_or(1 << (cbid % 64), Ordering::Relaxed);
        } else {
            word.fetch_and(!(1 << (cbid % 64)), Ordering::Relaxed);
        }
    }
}

/// Domains that this version has: 6 is new in 12.2.
fn domains() -> u32 {
    if since(1202) { 7 } else { 6 }
}

unsafe fn tell(domain: u32, cbid: u32, data: *const c_void, what: u8) {
    let callback = CALLBACK.load(Ordering::Acquire);
    if callback == 0 || driver::forked() {
        return;
    }
    settings::add(word::CALLBACKS, 1);
    let callback: Callback = std::mem::transmute(callback);
    let user_data = USER_DATA.load(Ordering::Acquire) as *mut c_void;
    inside(what, || callback(user_data, domain, cbid, data));
}

/// Older versions leave garbage where there is no symbol.
fn symbol(call: &ApiCall) -> *const c_char {
    if call.symbol.is_null() && version().toolkit < 1200 { 0x0bad_5eed as *const c_char } else { call.symbol }
}

unsafe fn api(call: &mut ApiCall, site: u32) {
    static PARAMS: [u64; 32] = [0; 32];
    let data = CallbackData {
        site,
        function_name: call.name,
        function_params: PARAMS.as_ptr().cast(),
        function_return_value: if site == 1 { (&raw const call.result).cast() } else { std::ptr::null() },
        symbol_name: symbol(call),
        context: call.context,
        context_uid: call.context_uid,
        correlation_data: &raw mut call.correlation_data,
        correlation_id: call.correlation,
    };
    tell(call.domain, call.cbid, (&raw const data).cast(), API);
}

/// Kind of the record of an API call.
fn kind(call: &ApiCall) -> u32 {
    if call.domain == DRIVER { 4 } else { 5 }
}

thread_local! {
    /// The id of the runtime call that this thread is in, if it will have a record.
    static RECORDED: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Whether a call is the driver's part of a runtime call that has a record: no id has two (seen on an H100 with CUPTI 13.0).
fn is_part_of_recorded(call: &ApiCall) -> bool {
    static BOTH: OnceLock<bool> = OnceLock::new();
    call.domain == DRIVER
        && RECORDED.get() == Some(call.correlation)
        && !*BOTH.get_or_init(|| settings::text(c"SIM_NESTED").as_deref() == Some("both"))
}

pub unsafe extern "C" fn api_enter(call: *mut ApiCall) {
    let call = &mut *call;
    let is_heard = enabled(call.domain, call.cbid);
    if is_heard || records::is_intercepted(kind(call), call.domain, call.cbid) {
        settings::add(word::INTERCEPTED, 1);
        static COST_NS: OnceLock<u64> = OnceLock::new();
        settings::cost(*COST_NS.get_or_init(|| settings::number(c"SIM_CALL_COST_NS", 0)));
    }
    let wanted = records::api_wanted(kind(call), call.domain, call.cbid) && !is_part_of_recorded(call);
    call.start_ns = if wanted { driver::now() } else { 0 };
    if wanted && call.domain == RUNTIME {
        RECORDED.set(Some(call.correlation));
    }
    if is_heard {
        api(call, 0);
        call.entered = 1;
    }
}

pub unsafe extern "C" fn api_exit(call: *mut ApiCall) {
    let call = &mut *call;
    let wanted = call.start_ns != 0 && records::api_wanted(kind(call), call.domain, call.cbid);
    if call.domain == RUNTIME && RECORDED.get() == Some(call.correlation) {
        RECORDED.set(None);
    }
    if wanted {
        if call.entered != 2 {
            call.end_ns = driver::now();
            external::tell(call.correlation);
        }
        records::api(kind(call), call);
    }
    // Told even without its enter: the callback may have been switched on in between.
    if call.entered != 2 && enabled(call.domain, call.cbid) {
        api(call, 1);
    }
}

pub unsafe extern "C" fn resource(resource: *const Resource) {
    let resource = &*resource;
    if resource.cbid == cb::CONTEXT_CREATED {
        CONTEXTS.fetch_add(1, Ordering::Relaxed);
    }
    records::resource(resource, false);
    if enabled(3, resource.cbid) {
        // Modules and graphs: what the descriptor points to begins with the object.
        let descriptor = [resource.object as usize, 0, 0, 0, 0, 0, 0];
        let pointer = if resource.object.is_null() { std::ptr::null() } else { descriptor.as_ptr().cast() };
        let data = ResourceData { context: resource.context, stream: resource.stream, descriptor: pointer };
        tell(3, resource.cbid, (&raw const data).cast(), RESOURCE);
    }
}

pub unsafe extern "C" fn synchronized(what: u32, resource: *const Resource) {
    if enabled(4, what) {
        let resource = &*resource;
        let data = SynchronizeData { context: resource.context, stream: resource.stream };
        tell(4, what, (&raw const data).cast(), RESOURCE);
    }
}

unsafe fn subscribe(out: *mut *mut c_void, callback: usize, user_data: *mut c_void, several: bool) -> i32 {
    if out.is_null() {
        return 1;
    }
    driver::own_process();
    settings::add(word::SUBSCRIBES, 1);
    let Some(cuda) = driver::driver() else { return 15 };
    if SUBSCRIBER.load(Ordering::Acquire) != 0 || (!several && (cuda.take_slot)(&raw const driver::TOOL) == 0) {
        return 39;
    }
    CALLBACK.store(callback, Ordering::Release);
    USER_DATA.store(user_data as usize, Ordering::Release);
    let handle = Box::into_raw(Box::new(0x5ab5_c1be_u64));
    SUBSCRIBER.store(handle as usize, Ordering::Release);
    *out = handle.cast();
    settings::log("subscribed");
    0
}

/// The handle of the one subscriber.
fn is_handle(handle: *mut c_void) -> bool {
    !handle.is_null() && SUBSCRIBER.load(Ordering::Acquire) == handle as usize
}

/// Somebody subscribed: activity calls without a subscription take over what another tool set up.
pub fn subscribed() -> bool {
    SUBSCRIBER.load(Ordering::Acquire) != 0
}

cupti! {
    fn cuptiSubscribe(out: *mut *mut c_void, callback: usize, user_data: *mut c_void) {
        subscribe(out, callback, user_data, false)
    }
    fn cuptiSubscribe_v2(out: *mut *mut c_void, callback: usize, user_data: *mut c_void, params: *const c_void) {
        // structSize@0 … allowMultipleSubscribers (13.2+): several only with a new enough driver.
        let _ = params;
        subscribe(out, callback, user_data, false)
    }
    fn cuptiUnsubscribe(handle: *mut c_void) {
        if !is_handle(handle) {
            return 1;
        }
        CALLBACK.store(0, Ordering::Release);
        SUBSCRIBER.store(0, Ordering::Release);
        for domain in &ENABLED {
            domain.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        }
        if let Some(cuda) = driver::driver() {
            (cuda.take_slot)(std::ptr::null());
        }
        settings::log("unsubscribed");
        0
    }
    fn cuptiEnableCallback(on: u32, handle: *mut c_void, domain: u32, cbid: u32) {
        if !is_handle(handle) || domain == 0 || domain >= domains() {
            return 1;
        }
        if (domain == DRIVER || domain == RUNTIME) && tables::callback_name(domain, cbid).is_null() {
            return 1;
        }
        settings::log(&format!("callback {domain} {cbid} {on}"));
        set(domain, cbid, on != 0);
        0
    }
    fn cuptiEnableDomain(on: u32, handle: *mut c_void, domain: u32) {
        if !is_handle(handle) || domain == 0 || domain >= domains() {
            return 1;
        }
        settings::log(&format!("domain {domain} {on}"));
        if let Some(words) = ENABLED.get(domain as usize) {
            words.iter().for_each(|word| word.store(if on != 0 { u64::MAX } else { 0 }, Ordering::Relaxed));
        }
        0
    }
    fn cuptiEnableAllDomains(on: u32, handle: *mut c_void) {
        if !is_handle(handle) {
            return 1;
        }
        settings::log(&format!("domains {on}"));
        for words in &ENABLED {
            words.iter().for_each(|word| word.store(if on != 0 { u64::MAX } else { 0 }, Ordering::Relaxed));
        }
        0
    }
    fn cuptiGetCallbackState(out: *mut u32, handle: *mut c_void, domain: u32, cbid: u32) {
        if !is_handle(handle) || out.is_null() {
            return 1;
        }
        *out = enabled(domain, cbid) as u32;
        0
    }
    fn cuptiGetGlobalCallbackState(out: *mut u32) {
        if out.is_null() {
            return 1;
        }
        *out = subscribed() as u32;
        0
    }
}
