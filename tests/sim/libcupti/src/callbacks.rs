//! Callbacks: what each subscriber wants to hear, and telling it.

use crate::abi::{ApiCall, DRIVER, RUNTIME, Resource, resource as cb};
use crate::settings::{self, word};
use crate::subscribers::{MOST, place_of, places};
use crate::version::{since, version};
use crate::{driver, external, records, subscribers, tables};
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

static CALLBACK: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
static USER_DATA: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
/// Callbacks that are on: a bit per id, 1024 ids for each of 8 domains, by subscriber.
type Domains = [[AtomicU64; 16]; 8];
static ENABLED: [Domains; MOST] = [const { [const { [const { AtomicU64::new(0) }; 16] }; 8] }; MOST];
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

/// From now on this is who a place belongs to.
pub fn set_callback(place: usize, callback: usize, user_data: *mut c_void) {
    USER_DATA[place].store(user_data as usize, Ordering::Release);
    CALLBACK[place].store(callback, Ordering::Release);
}

/// Nobody any more.
pub fn forget(place: usize) {
    CALLBACK[place].store(0, Ordering::Release);
    for domain in &ENABLED[place] {
        domain.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

fn enabled(place: usize, domain: u32, cbid: u32) -> bool {
    let word = ENABLED[place].get(domain as usize).and_then(|ids| ids.get(cbid as usize / 64));
    word.is_some_and(|word| word.load(Ordering::Relaxed) >> (cbid % 64) & 1 != 0)
}

/// Whether anybody wants to hear of it.
fn is_heard(domain: u32, cbid: u32) -> bool {
    places().any(|place| enabled(place, domain, cbid))
}

fn set(place: usize, domain: u32, cbid: u32, on: bool) {
    if let Some(word) = ENABLED[place].get(domain as usize).and_then(|ids| ids.get(cbid as usize / 64)) {
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

/// Tells each who wants to hear of it.
unsafe fn tell(domain: u32, cbid: u32, data: *const c_void, what: u8) {
    for place in places().filter(|place| enabled(*place, domain, cbid)) {
        let callback = CALLBACK[place].load(Ordering::Acquire);
        if callback == 0 || driver::forked() {
            continue;
        }
        if subscribers::is_counted(place) {
            settings::add(word::CALLBACKS, 1);
        }
        let callback: Callback = std::mem::transmute(callback);
        let user_data = USER_DATA[place].load(Ordering::Acquire) as *mut c_void;
        inside(what, || callback(user_data, domain, cbid, data));
    }
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
    /// The id of the runtime call that this thread is in, and a bit for each place that will have a record of it.
    static RECORDED: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// Whether a call is the driver's part of a runtime call that has a record there: no id has two (seen on an H100 with CUPTI 13.0).
fn is_part_of_recorded(place: usize, call: &ApiCall) -> bool {
    static BOTH: OnceLock<bool> = OnceLock::new();
    let (id, recorded) = RECORDED.get();
    call.domain == DRIVER
        && recorded >> place & 1 != 0
        && id == call.correlation
        && !*BOTH.get_or_init(|| settings::text(c"SIM_NESTED").as_deref() == Some("both"))
}

/// Bits of [`ApiCall::entered`] from here on: the places that will have a record of the call.
const WANTED: u32 = 8;

pub unsafe extern "C" fn api_enter(call: *mut ApiCall) {
    let call = &mut *call;
    let (domain, cbid, kind) = (call.domain, call.cbid, kind(call));
    let is_heard = is_heard(domain, cbid);
    if is_heard || places().any(|place| records::is_intercepted(place, kind, domain, cbid)) {
        settings::add(word::INTERCEPTED, 1);
        static COST_NS: OnceLock<u64> = OnceLock::new();
        settings::cost(*COST_NS.get_or_init(|| settings::number(c"SIM_CALL_COST_NS", 0)));
    }
    let wanted = places()
        .filter(|place| records::api_wanted(*place, kind, domain, cbid) && !is_part_of_recorded(*place, call));
    let wanted = wanted.fold(0, |bits, place| bits | 1 << place);
    call.start_ns = if wanted != 0 { driver::now() } else { 0 };
    call.entered |= wanted << WANTED;
    if wanted != 0 && domain == RUNTIME {
        RECORDED.set((call.correlation, wanted));
    }
    if is_heard {
        call.entered |= 1;
        api(call, 0);
    }
}

pub unsafe extern "C" fn api_exit(call: *mut ApiCall) {
    let call = &mut *call;
    let (domain, cbid, kind) = (call.domain, call.cbid, kind(call));
    // Made up without its enter (a burst).
    let is_made_up = call.entered == 2;
    if domain == RUNTIME && RECORDED.get().0 == call.correlation {
        RECORDED.set((0, 0));
    }
    let is_wanted = |place: &usize| {
        (is_made_up || call.entered >> WANTED >> place & 1 != 0) && records::api_wanted(*place, kind, domain, cbid)
    };
    let wanted = places().filter(is_wanted).fold(0, |bits, place| bits | 1 << place);
    if wanted != 0 && call.start_ns != 0 {
        if !is_made_up {
            call.end_ns = driver::now();
            external::tell(call.correlation);
        }
        records::api(kind, call, wanted);
    }
    // Told even without its enter: the callback may have been switched on in between.
    if !is_made_up && is_heard(domain, cbid) {
        api(call, 1);
    }
}

pub unsafe extern "C" fn resource(resource: *const Resource) {
    let resource = &*resource;
    if resource.cbid == cb::CONTEXT_CREATED {
        CONTEXTS.fetch_add(1, Ordering::Relaxed);
    }
    records::resource(resource, false);
    if is_heard(3, resource.cbid) {
        // Modules and graphs: what the descriptor points to begins with the object.
        let descriptor = [resource.object as usize, 0, 0, 0, 0, 0, 0];
        let pointer = if resource.object.is_null() { std::ptr::null() } else { descriptor.as_ptr().cast() };
        let data = ResourceData { context: resource.context, stream: resource.stream, descriptor: pointer };
        tell(3, resource.cbid, (&raw const data).cast(), RESOURCE);
    }
}

pub unsafe extern "C" fn synchronized(what: u32, resource: *const Resource) {
    if is_heard(4, what) {
        let resource = &*resource;
        let data = SynchronizeData { context: resource.context, stream: resource.stream };
        tell(4, what, (&raw const data).cast(), RESOURCE);
    }
}

cupti! {
    fn cuptiEnableCallback(on: u32, handle: *mut c_void, domain: u32, cbid: u32) {
        let Some(place) = place_of(handle).filter(|_| domain != 0 && domain < domains()) else { return 1 };
        if (domain == DRIVER || domain == RUNTIME) && tables::callback_name(domain, cbid).is_null() {
            return 1;
        }
        settings::log(&format!("callback {domain} {cbid} {on}"));
        set(place, domain, cbid, on != 0);
        0
    }
    fn cuptiEnableDomain(on: u32, handle: *mut c_void, domain: u32) {
        let Some(place) = place_of(handle).filter(|_| domain != 0 && domain < domains()) else { return 1 };
        settings::log(&format!("domain {domain} {on}"));
        if let Some(words) = ENABLED[place].get(domain as usize) {
            words.iter().for_each(|word| word.store(if on != 0 { u64::MAX } else { 0 }, Ordering::Relaxed));
        }
        0
    }
    fn cuptiEnableAllDomains(on: u32, handle: *mut c_void) {
        let Some(place) = place_of(handle) else { return 1 };
        settings::log(&format!("domains {on}"));
        for words in &ENABLED[place] {
            words.iter().for_each(|word| word.store(if on != 0 { u64::MAX } else { 0 }, Ordering::Relaxed));
        }
        0
    }
    fn cuptiGetCallbackState(out: *mut u32, handle: *mut c_void, domain: u32, cbid: u32) {
        let Some(place) = place_of(handle).filter(|_| !out.is_null()) else { return 1 };
        *out = enabled(place, domain, cbid) as u32;
        0
    }
    fn cuptiGetGlobalCallbackState(out: *mut u32) {
        if out.is_null() {
            return 1;
        }
        *out = (subscribers::count() > 0) as u32;
        0
    }
}
