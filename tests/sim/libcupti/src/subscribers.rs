//! Who subscribed: one tool, or from 13.3 on several that each have a handle of `cuptiSubscribe_v2`.
//!
//! Everything that a tool may choose for itself is kept by *place*: place 0 is that of the functions without a handle,
//! each subscriber of `cuptiSubscribe_v2` has another. The rules are those of NVIDIA's page "Multiple Subscribers" (13.4), of
//! the headers 13.3 to 13.5, and of the texts in those libraries:
//!
//! - several only with a driver of 13.3 (r610) or newer, only if all ask for it, and only with functions that take a handle;
//! - `allowMultipleSubscribers` of the first holds for the rest of the process;
//! - 39 for who subscribes in the other way than the first, 14 for an activity function of the other family.

use crate::settings::{self, word};
use crate::version::since;
use crate::{buffers, callbacks, driver, records};
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

/// Places; the first is [`GLOBAL`].
pub const MOST: usize = 4;
/// The place of the functions that take no handle, and of who subscribed with `cuptiSubscribe`.
pub const GLOBAL: usize = 0;

/// `CUPTI_ERROR_NOT_COMPATIBLE`.
pub const NOT_COMPATIBLE: i32 = 14;
const MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED: i32 = 39;
/// `CUPTI_ERROR_NOT_SUPPORTED`: what the headers call an API that is not supported when several are allowed.
const NOT_SUPPORTED: i32 = 27;

/// Nobody has said yet whether several are allowed.
const UNSET: u8 = 2;

static HANDLES: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
/// Its records are not in the totals: `SIM_ASIDE` names it.
static ASIDE: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];
/// A bit per place in use. That of the functions without a handle always is: who never subscribed may call them too.
static ACTIVE: AtomicU8 = AtomicU8::new(1);
/// `allowMultipleSubscribers` of the first.
static SEVERAL: AtomicU8 = AtomicU8::new(UNSET);
/// Which family of activity functions was used: 0 none, 1 without a handle, 2 with one.
static FAMILY: AtomicU8 = AtomicU8::new(0);

/// The places in use.
#[inline]
pub fn places() -> impl Iterator<Item = usize> {
    let active = ACTIVE.load(Ordering::Acquire);
    (0..MOST).filter(move |place| active >> place & 1 != 0)
}

/// Whether the totals count what this place gets.
#[inline]
pub fn is_counted(place: usize) -> bool {
    !ASIDE.get(place).is_some_and(|aside| aside.load(Ordering::Relaxed))
}

/// Whether several are allowed.
pub fn are_several() -> bool {
    SEVERAL.load(Ordering::Acquire) == 1
}

/// What `CUPTI_ACTIVITY_ATTR_MULTIPLE_SUBSCRIBER_STATE` says.
pub fn several_state() -> u8 {
    SEVERAL.load(Ordering::Acquire)
}

/// How many have subscribed.
pub fn count() -> usize {
    HANDLES.iter().filter(|handle| handle.load(Ordering::Acquire) != 0).count()
}

/// The place of a handle.
pub fn place_of(handle: *mut c_void) -> Option<usize> {
    let found = HANDLES.iter().position(|own| own.load(Ordering::Acquire) == handle as usize);
    found.filter(|_| !handle.is_null())
}

/// An activity function that takes no handle: 0 if it may be called.
pub fn global(changes: bool) -> i32 {
    if !since(1303) {
        return 0;
    }
    if FAMILY.load(Ordering::Acquire) == 2 {
        settings::log("functions without a handle after those with one");
        return NOT_COMPATIBLE;
    }
    if changes {
        FAMILY.store(1, Ordering::Release);
    }
    0
}

/// An activity function that takes a handle: the place it is about, or what it returns.
pub fn of(handle: *mut c_void) -> Result<usize, i32> {
    if since(1303) && FAMILY.load(Ordering::Acquire) == 1 {
        settings::log("functions with a handle after those without one");
        return Err(NOT_COMPATIBLE);
    }
    let place = place_of(handle).ok_or(1)?;
    FAMILY.store(2, Ordering::Release);
    Ok(place)
}

/// A function for which there is only an attribute where several are allowed: 0 if it may be called.
pub fn alone() -> i32 {
    if are_several() { NOT_SUPPORTED } else { 0 }
}

/// `CUpti_SubscriberParams`: 32 bytes in 13.0 and 13.1, 40 from 13.2 on.
#[repr(C)]
struct Params {
    size: usize,
    name: *const c_char,
    old_name: *mut c_char,
    old_name_bytes: usize,
    several: u8,
}

unsafe fn text(name: *const c_char) -> String {
    if name.is_null() { String::new() } else { CStr::from_ptr(name).to_string_lossy().into_owned() }
}

/// Gives a place to who asks.
unsafe fn add(place: usize, name: &str, out: *mut *mut c_void, callback: usize, user_data: *mut c_void) -> i32 {
    let Some(cuda) = driver::driver() else { return 15 };
    // The process's one slot for a libcupti: another copy of it, or another tool of NVIDIA's, may have it.
    if count() == 0 && (cuda.take_slot)(&raw const driver::TOOL) == 0 {
        return MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    let names = settings::text(c"SIM_ASIDE").unwrap_or_default();
    let aside = !name.is_empty() && names.split(',').any(|aside| aside == name);
    ASIDE[place].store(aside, Ordering::Relaxed);
    callbacks::set_callback(place, callback, user_data);
    let handle = Box::into_raw(Box::new(0x5ab5_c1be_u64));
    HANDLES[place].store(handle as usize, Ordering::Release);
    ACTIVE.fetch_or(1 << place, Ordering::AcqRel);
    *out = handle.cast();
    settings::log(&format!("subscribed {name} at {place}"));
    0
}

unsafe fn subscribe_alone(out: *mut *mut c_void, callback: usize, user_data: *mut c_void) -> i32 {
    // The first decides for the rest of the process.
    if count() > 0 || are_several() {
        return MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    add(GLOBAL, "", out, callback, user_data)
}

unsafe fn subscribe_by_handle(
    out: *mut *mut c_void,
    callback: usize,
    user_data: *mut c_void,
    params: *const Params,
) -> i32 {
    let (mut name, mut several) = (String::new(), false);
    if !params.is_null() {
        let size = (*params).size;
        if size != 32 && (size != 40 || !since(1302)) {
            return 1;
        }
        name = text((*params).name);
        several = size == 40 && (*params).several != 0;
    }
    let driver_version = driver::driver().map_or(0, |driver| driver.version);
    let is_refused = several && (!since(1303) || driver_version < 13030);
    let state = several_state();
    if is_refused || (state != UNSET && state != u8::from(several)) || (!several && count() > 0) {
        return MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    // Somebody who subscribed without saying anything of others.
    if HANDLES[GLOBAL].load(Ordering::Acquire) != 0 {
        return MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    let Some(place) = (1..MOST).find(|place| HANDLES[*place].load(Ordering::Acquire) == 0) else { return 8 };
    let code = add(place, &name, out, callback, user_data);
    if code == 0 {
        SEVERAL.store(u8::from(several), Ordering::Release);
    }
    code
}

cupti! {
    fn cuptiSubscribe(out: *mut *mut c_void, callback: usize, user_data: *mut c_void) {
        if out.is_null() {
            return 1;
        }
        driver::own_process();
        settings::add(word::SUBSCRIBES, 1);
        subscribe_alone(out, callback, user_data)
    }
    fn cuptiSubscribe_v2(out: *mut *mut c_void, callback: usize, user_data: *mut c_void, params: *const c_void) {
        if out.is_null() {
            return 1;
        }
        driver::own_process();
        settings::add(word::SUBSCRIBES, 1);
        subscribe_by_handle(out, callback, user_data, params.cast())
    }
    fn cuptiUnsubscribe(handle: *mut c_void) {
        let Some(place) = place_of(handle) else { return 1 };
        HANDLES[place].store(0, Ordering::Release);
        callbacks::forget(place);
        if place != GLOBAL {
            // What it did not fetch before is lost to it. The functions without a handle go on without a subscriber.
            ACTIVE.fetch_and(!(1 << place), Ordering::AcqRel);
            records::forget(place);
            buffers::forget(place);
        }
        if count() == 0
            && let Some(cuda) = driver::driver()
        {
            (cuda.take_slot)(std::ptr::null());
        }
        settings::log(&format!("unsubscribed {place}"));
        0
    }
    fn cuptiIsTracingSessionRunning(out: *mut u8) {
        if out.is_null() {
            return 1;
        }
        *out = (count() > 0) as u8;
        0
    }
}
