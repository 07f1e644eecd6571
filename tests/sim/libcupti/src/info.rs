//! Versions, names, clocks, ids, and the function that nobody may call.

use crate::settings;
use crate::version::version;
use crate::{callbacks, driver, subscribers, tables};
use std::ffi::{c_char, c_void};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub fn realtime_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to a local value.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// `SIM_CLOCK_PROVISIONAL_NS`: how far the clock is off before the first context, and for `SIM_CLOCK_SETTLES_MS` after the
/// first question that follows it.
fn provisional_ns() -> u64 {
    static OFF: OnceLock<(u64, Duration)> = OnceLock::new();
    static SINCE: OnceLock<Instant> = OnceLock::new();
    let (off, late) = *OFF.get_or_init(|| {
        let late = Duration::from_millis(settings::number(c"SIM_CLOCK_SETTLES_MS", 0));
        (settings::number(c"SIM_CLOCK_PROVISIONAL_NS", 0), late)
    });
    let settled = off == 0 || callbacks::contexts() > 0 && SINCE.get_or_init(Instant::now).elapsed() >= late;
    if settled { 0 } else { off }
}

unsafe fn timestamp(out: *mut u64) -> i32 {
    if out.is_null() {
        return 1;
    }
    *out = driver::now().wrapping_add(crate::attributes::clock_shift()).wrapping_add(provisional_ns());
    0
}

unsafe fn result_string(code: i32, out: *mut *const c_char) -> i32 {
    if out.is_null() {
        return 1;
    }
    let name = tables::result_name(code);
    *out = name.unwrap_or(c"<unknown>").as_ptr();
    if name.is_some() { 0 } else { 1 }
}

/// Compute capabilities that this version accepts.
fn accepts(major: u32, minor: u32) -> bool {
    let own = major * 10 + minor;
    let toolkit = version().toolkit;
    match toolkit {
        ..1108 => (35..=86).contains(&own),
        1108..=1200 => (35..=90).contains(&own),
        1201..1208 => (50..=90).contains(&own),
        1208 => (50..=90).contains(&own) || own == 100 || own == 120,
        1209..1300 => (50..=90).contains(&own) || matches!(own, 100 | 120 | 121),
        _ => (75..=90).contains(&own) || matches!(own, 100 | 103 | 110 | 120 | 121),
    }
}

/// Whether this version knows the first device: if not, it stays silent about its work.
pub fn knows_device() -> bool {
    static KNOWS: OnceLock<bool> = OnceLock::new();
    *KNOWS.get_or_init(|| driver::device(0).is_none_or(|facts| accepts(facts.major, facts.minor)))
}

cupti! {
    fn cuptiGetVersion(out: *mut u32) {
        if out.is_null() {
            return 1;
        }
        *out = version().api;
        0
    }
    fn cuptiGetTimestamp(out: *mut u64) {
        let refusal = subscribers::global(false);
        if refusal != 0 { refusal } else { timestamp(out) }
    }
    fn cuptiGetTimestamp_v2(handle: *mut c_void, out: *mut u64) {
        subscribers::of(handle).map_or_else(|code| code, |_| timestamp(out))
    }
    fn cuptiGetResultString(code: i32, out: *mut *const c_char) { result_string(code, out) }
    fn cuptiGetErrorMessage(code: i32, out: *mut *const c_char) { result_string(code, out) }
    fn cuptiGetLastError() { 0 }
    fn cuptiGetCallbackName(domain: u32, cbid: u32, out: *mut *const c_char) {
        let name = tables::callback_name(domain, cbid);
        if out.is_null() || name.is_null() {
            return 1;
        }
        *out = name;
        0
    }
    fn cuptiComputeCapabilitySupported(major: i32, minor: i32, out: *mut i32) {
        if out.is_null() {
            return 1;
        }
        *out = accepts(major as u32, minor as u32) as i32;
        0
    }
    fn cuptiDeviceSupported(device: i32, out: *mut i32) {
        if out.is_null() {
            return 1;
        }
        let Some(facts) = driver::device(device as u32) else { return 2 };
        *out = accepts(facts.major, facts.minor) as i32;
        0
    }
    fn cuptiDeviceVirtualizationMode(_device: i32, out: *mut i32) {
        *out = 0;
        0
    }
    fn cuptiSupportedDomains(count: *mut usize, _domains: *mut *const u32) {
        *count = 6;
        0
    }
    fn cuptiGetDeviceId(_context: *mut c_void, out: *mut u32) {
        *out = 0;
        0
    }
    fn cuptiFinalize() {
        settings::fatal("cuptiFinalize was called: it races with the program's threads and crashes")
    }
}
