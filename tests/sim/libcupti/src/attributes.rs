//! Attributes and switches of the activity API.

use crate::settings;
use crate::subscribers::{GLOBAL, MOST, NOT_COMPATIBLE};
use crate::version::since;
use crate::{callbacks, driver, records, subscribers};
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// By whose they are; those of everybody lie at [`GLOBAL`].
static VALUES: [[AtomicU64; 32]; MOST] = [const { [const { AtomicU64::new(u64::MAX) }; 32] }; MOST];
/// What to add to every time: the tool's own clock.
static SHIFT: AtomicU64 = AtomicU64::new(0);

const ZEROED_OUT: i32 = 5;
const PER_THREAD: i32 = 9;
const LATENCY: i32 = 15;
const GRAPH_LEVEL: i32 = 20;
const THREAD_ID_TYPE: i32 = 21;

/// Bytes of each attribute's value, and its default.
fn known(attribute: i32) -> Option<(usize, u64)> {
    Some(match attribute {
        0 => (8, 3_200_000),
        1 => (8, 8 << 20),
        2 => (8, 250),
        3 | 7 => (8, 25_000),
        4 => (8, 250),
        ZEROED_OUT => (1, 0),
        6 => (8, 3),
        8 => (1, if since(1300) { 0 } else { 1 }),
        PER_THREAD if since(1203) => (1, if since(1300) { 1 } else { 0 }),
        10 if since(1209) => (8, 16 << 20),
        THREAD_ID_TYPE if since(1302) => (4, 0),
        22 | 24 if since(1302) => (8, 0),
        11..=23 if since(1302) => (1, 0),
        _ => return None,
    })
}

/// Where its value lies: the headers say of some that they are the subscriber's, so the others are everybody's.
fn owner(place: usize, attribute: i32) -> usize {
    let is_own = matches!(attribute, 11 | 14..=19 | THREAD_ID_TYPE | 22);
    if is_own { place } else { GLOBAL }
}

fn value(place: usize, attribute: i32) -> u64 {
    let own = VALUES[owner(place, attribute)].get(attribute as usize);
    let own = own.map_or(u64::MAX, |value| value.load(Ordering::Relaxed));
    if own != u64::MAX { own } else { known(attribute).map_or(0, |(_, default)| default) }
}

fn store(place: usize, attribute: i32, new: u64) {
    if let Some(value) = VALUES[owner(place, attribute)].get(attribute as usize) {
        value.store(new, Ordering::Relaxed);
    }
}

/// One buffer per thread, or one for all.
#[inline]
pub fn per_thread() -> bool {
    static VERSION_HAS: OnceLock<bool> = OnceLock::new();
    *VERSION_HAS.get_or_init(|| since(1203)) && value(GLOBAL, PER_THREAD) != 0
}

pub fn zeroed_out() -> bool {
    value(GLOBAL, ZEROED_OUT) != 0
}

pub fn latency_timestamps(place: usize) -> bool {
    value(place, LATENCY) != 0
}

/// Whether graphs are recorded as a whole, for all subscribers alike.
pub fn graph_level() -> bool {
    value(GLOBAL, GRAPH_LEVEL) != 0
}

#[inline]
pub fn clock_shift() -> u64 {
    SHIFT.load(Ordering::Relaxed)
}

/// As the records of a subscriber show it: `pthread_self`'s low half, or the kernel's id.
pub fn thread_id(place: usize) -> u32 {
    if value(place, THREAD_ID_TYPE) == 1 || SYSTEM_IDS.load(Ordering::Relaxed) {
        settings::thread_id()
    } else {
        // SAFETY: takes nothing.
        unsafe { libc::pthread_self() as u32 }
    }
}

/// What `cuptiSetThreadIdType` said: before 13.2 there is no attribute.
static SYSTEM_IDS: AtomicBool = AtomicBool::new(false);

unsafe fn set(place: usize, attribute: i32, bytes: *mut usize, from: *const c_void) -> i32 {
    if bytes.is_null() || from.is_null() {
        return 1;
    }
    let Some((size, _)) = known(attribute) else { return 1 };
    if *bytes < size {
        return 10;
    }
    if (matches!(attribute, 3 | 4 | 7) && since(1203)) || attribute == 12 {
        return 27;
    }
    // Device buffers are made with the first context.
    if matches!(attribute, 0 | 1 | 2 | 6 | 8) && callbacks::contexts() > 0 {
        settings::log(&format!("attribute {attribute} set after the first context: no effect"));
    }
    let new = match size {
        1 => u64::from(from.cast::<u8>().read()),
        4 => u64::from(from.cast::<u32>().read_unaligned()),
        _ => from.cast::<u64>().read_unaligned(),
    };
    if attribute == PER_THREAD && subscribers::count() > 1 {
        settings::violation("attribute 9 was changed while another subscriber may record: undefined");
    }
    if attribute == GRAPH_LEVEL && subscribers::are_several() {
        // Before anybody switches a kind on; the first value holds.
        let is_locked = VALUES[GLOBAL][GRAPH_LEVEL as usize].load(Ordering::Relaxed) != u64::MAX;
        if records::any_on() || (is_locked && value(GLOBAL, GRAPH_LEVEL) != new) {
            return NOT_COMPATIBLE;
        }
    }
    settings::log(&format!("attribute {attribute} = {new}"));
    store(place, attribute, new);
    0
}

unsafe fn get(place: usize, attribute: i32, bytes: *mut usize, to: *mut c_void) -> i32 {
    if bytes.is_null() || to.is_null() {
        return 1;
    }
    let Some((size, _)) = known(attribute) else { return 1 };
    if *bytes < size {
        return 10;
    }
    let value = if attribute == 12 { subscribers::several_state().into() } else { value(place, attribute) };
    match size {
        1 => to.cast::<u8>().write(value as u8),
        4 => to.cast::<u32>().write_unaligned(value as u32),
        _ => to.cast::<u64>().write_unaligned(value),
    }
    *bytes = size;
    0
}

cupti! {
    fn cuptiActivitySetAttribute(attribute: i32, bytes: *mut usize, from: *mut c_void) {
        let refusal = subscribers::global(true);
        if refusal != 0 { refusal } else { set(GLOBAL, attribute, bytes, from) }
    }
    fn cuptiActivityGetAttribute(attribute: i32, bytes: *mut usize, to: *mut c_void) {
        let refusal = subscribers::global(false);
        if refusal != 0 { refusal } else { get(GLOBAL, attribute, bytes, to) }
    }
    fn cuptiActivitySetAttribute_v2(handle: *mut c_void, attribute: i32, bytes: *mut usize, from: *mut c_void) {
        subscribers::of(handle).map_or_else(|code| code, |place| set(place, attribute, bytes, from))
    }
    fn cuptiActivityGetAttribute_v2(handle: *mut c_void, attribute: i32, bytes: *mut usize, to: *mut c_void) {
        // Who has not subscribed yet may ask whether several are allowed.
        let place = if handle.is_null() && attribute == 12 { Ok(GLOBAL) } else { subscribers::of(handle) };
        place.map_or_else(|code| code, |place| get(place, attribute, bytes, to))
    }
    fn cuptiSetThreadIdType(kind: i32) {
        if !(0..=1).contains(&kind) {
            return 1;
        }
        let refusal = subscribers::alone();
        if refusal == 0 {
            SYSTEM_IDS.store(kind == 1, Ordering::Relaxed);
        }
        refusal
    }
    fn cuptiGetThreadIdType(out: *mut i32) {
        if out.is_null() {
            return 1;
        }
        *out = SYSTEM_IDS.load(Ordering::Relaxed).into();
        subscribers::alone()
    }
    fn cuptiActivityEnableLatencyTimestamps(on: u8) {
        let refusal = subscribers::alone();
        if refusal == 0 {
            store(GLOBAL, LATENCY, (on != 0).into());
        }
        refusal
    }
    fn cuptiActivityEnableLaunchAttributes(_on: u8) { 0 }
    fn cuptiActivityEnableAllSyncRecords(_on: u8) { subscribers::alone() }
    fn cuptiActivityEnableCudaEventDeviceTimestamps(_on: u8) { subscribers::alone() }
    fn cuptiActivityEnableAllocationSource(_on: u8) { subscribers::alone() }
    fn cuptiActivityEnableDeviceGraph(_on: u8) { subscribers::alone() }
    fn cuptiActivityEnableHWTrace(_on: u8) { 27 }
    fn cuptiActivityRegisterTimestampCallback(callback: Option<unsafe extern "C" fn() -> u64>) {
        let Some(callback) = callback else { return 1 };
        SHIFT.store(callback().wrapping_sub(driver::now()), Ordering::Relaxed);
        settings::log("timestamp callback");
        0
    }
}
