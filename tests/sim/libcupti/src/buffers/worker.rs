//! CUPTI's own thread.

use super::{DELIVERY, FULL, NEWS, SEALED, deliver, take_full, take_sealed};
use crate::driver;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub fn start_worker() {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::AcqRel) {
        return;
    }
    // SAFETY: masks live here; CUPTI's thread takes no signals.
    unsafe {
        let (mut all, mut old): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        // Not by the standard library, which waits for the loader's lock: this is called while a context is made.
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        let mut thread: libc::pthread_t = std::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setstacksize(&mut attributes, 256 << 10);
        libc::pthread_attr_setdetachstate(&mut attributes, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_create(&mut thread, &attributes, run_worker, std::ptr::null_mut());
        libc::pthread_attr_destroy(&mut attributes);
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
    }
}

extern "C" fn run_worker(_: *mut c_void) -> *mut c_void {
    // SAFETY: a terminated name.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"cupti-worker".as_ptr()) };
    worker();
    std::ptr::null_mut()
}

/// CUPTI's own thread: gives back full buffers when their records are finished.
fn worker() {
    loop {
        let delivery = DELIVERY.lock();
        let mut idle = true;
        // What was sealed while there was a driver comes, though that may be gone by now.
        while let Some(sealed) = take_sealed() {
            deliver(sealed.buffer, sealed.forced);
            idle = false;
        }
        let awaits = SEALED.lock().is_ok_and(|sealed| !sealed.is_empty());
        if driver::gone() && !awaits {
            return;
        }
        let ready = if driver::gone() { Vec::new() } else { take_full(false, driver::now()) };
        idle &= ready.is_empty();
        for buffer in ready {
            deliver(buffer, false);
        }
        drop(delivery);
        if idle {
            let Ok(full) = FULL.lock() else { return };
            let timeout = if full.is_empty() && !awaits { 50 } else { 1 };
            let _ = NEWS.wait_timeout(full, Duration::from_millis(timeout));
        }
    }
}
