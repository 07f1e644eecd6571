//! Attributes and switches of the activity API.

use crate::settings;
use crate::version::since;
use crate::{callbacks, driver};
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

static VALUES: [AtomicU64; 32] = [const { AtomicU64::new(u64::MAX) }; 32];
static THREAD_ID_TYPE: AtomicU8 = AtomicU8::new(0);
static LATENCY: AtomicBool = AtomicBool::new(false);
/// What to add to every time: the tool's own clock.
static SHIFT: AtomicU64 = AtomicU64::new(0);

/// Bytes of each attribute's value, and its default.
fn known(attribute: i32) -> Option<(usize, u64)> {
    Some(match attribute {
        0 => (8, 3_200_000),
        1 => (8, 8 << 20),
        2 => (8, 250),
        3 | 7 => (8, 25_000),
        4 => (8, 250),
        5 => (1, 0),
        6 => (8, 3),
        8 => (1, if since(1300) { 0 } else { 1 }),
        9 if since(1203) => (1, if since(1300) { 1 } else { 0 }),
        10 if since(1209) => (8, 16 << 20),
        11..=24 if since(1302) => (8, 0),
        _ => return None,
    })
}

fn value(attribute: i32) -> u64 {
    let own = VALUES.get(attribute as usize).map_or(u64::MAX, |value| value.load(Ordering::Relaxed));
    if own != u64::MAX { own } else { known(attribute).map_or(0, |(_, default)| default) }
}

/// One buffer per thread, or one for all.
#[inline]
pub fn per_thread() -> bool {
    static VERSION_HAS: OnceLock<bool> = OnceLock::new();
    *VERSION_HAS.get_or_init(|| since(1203)) && value(9) != 0
}

pub fn zeroed_out() -> bool {
    value(5) != 0
}

pub fn latency_timestamps() -> bool {
    LATENCY.load(Ordering::Relaxed)
}

#[inline]
pub fn clock_shift() -> u64 {
    SHIFT.load(Ordering::Relaxed)
}

/// As the records show it: `pthread_self`'s low half, or the kernel's id.
pub fn thread_id() -> u32 {
    if THREAD_ID_TYPE.load(Ordering::Relaxed) == 1 {
        settings::thread_id()
    } else {
        // SAFETY: takes nothing.
        unsafe { libc::pthread_self() as u32 }
    }
}

unsafe fn set(attribute: i32, bytes: *mut usize, from: *const c_void) -> i32 {
    if bytes.is_null() || from.is_null() {
        return 1;
    }
    let Some((size, _)) = known(attribute) else { return 1 };
    if *bytes < size {
        return 10;
    }
    if matches!(attribute, 3 | 4 | 7) && since(1203) {
        return 27;
    }
    // Device buffers are made with the first context.
    if matches!(attribute, 0 | 1 | 2 | 6 | 8) && callbacks::contexts() > 0 {
        settings::log(&format!("attribute {attribute} set after the first context: no effect"));
    }
    let new = if size == 1 { u64::from(from.cast::<u8>().read()) } else { from.cast::<u64>().read_unaligned() };
    settings::log(&format!("attribute {attribute} = {new}"));
    if let Some(value) = VALUES.get(attribute as usize) {
        value.store(new, Ordering::Relaxed);
    }
    0
}

unsafe fn get(attribute: i32, bytes: *mut usize, to: *mut c_void) -> i32 {
    if bytes.is_null() || to.is_null() {
        return 1;
    }
    let Some((size, _)) = known(attribute) else { return 1 };
    if *bytes < size {
        return 10;
    }
    if size == 1 {
        to.cast::<u8>().write(value(attribute) as u8);
    } else {
        to.cast::<u64>().write_unaligned(value(attribute));
    }
    *bytes = size;
    0
}

cupti! {
    fn cuptiActivitySetAttribute(attribute: i32, bytes: *mut usize, from: *mut c_void) { set(attribute, bytes, from) }
    fn cuptiActivityGetAttribute(attribute: i32, bytes: *mut usize, to: *mut c_void) { get(attribute, bytes, to) }
    fn cuptiActivitySetAttribute_v2(_handle: *mut c_void, attribute: i32, bytes: *mut usize, from: *mut c_void) {
        set(attribute, bytes, from)
    }
    fn cuptiActivityGetAttribute_v2(_handle: *mut c_void, attribute: i32, bytes: *mut usize, to: *mut c_void) {
        get(attribute, bytes, to)
    }
    fn cuptiSetThreadIdType(kind: i32) {
        if !(0..=1).contains(&kind) {
            return 1;
        }
        THREAD_ID_TYPE.store(kind as u8, Ordering::Relaxed);
        0
    }
    fn cuptiGetThreadIdType(out: *mut i32) {
        if out.is_null() {
            return 1;
        }
        *out = THREAD_ID_TYPE.load(Ordering::Relaxed).into();
        0
    }
    fn cuptiActivityEnableLatencyTimestamps(on: u8) {
        LATENCY.store(on != 0, Ordering::Relaxed);
        0
    }
    fn cuptiActivityEnableLaunchAttributes(_on: u8) { 0 }
    fn cuptiActivityEnableAllSyncRecords(_on: u8) { 0 }
    fn cuptiActivityEnableCudaEventDeviceTimestamps(_on: u8) { 0 }
    fn cuptiActivityEnableAllocationSource(_on: u8) { 0 }
    fn cuptiActivityEnableDeviceGraph(_on: u8) { 0 }
    fn cuptiActivityEnableHWTrace(_on: u8) { 27 }
    fn cuptiActivityRegisterTimestampCallback(callback: Option<unsafe extern "C" fn() -> u64>) {
        let Some(callback) = callback else { return 1 };
        SHIFT.store(callback().wrapping_sub(driver::now()), Ordering::Relaxed);
        settings::log("timestamp callback");
        0
    }
}
