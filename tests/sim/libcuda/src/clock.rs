//! The virtual clock, in nanoseconds since 1970.
//!
//! `SIM_CLOCK=real` (default): the wall clock of the process's start, driven on by the monotonic one, so that it never
//! steps. `SIM_CLOCK=virtual`: moves only when work is done: each API call costs `SIM_CALL_NS` (1000), waiting for
//! work jumps to its end; the same program gives the same times on every machine (base: `SIM_EPOCH_NS`).

use crate::settings;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

struct Clock {
    is_virtual: bool,
    /// Real: what to add to the monotonic clock.
    base_ns: u64,
    call_ns: u64,
}

static VIRTUAL_NS: AtomicU64 = AtomicU64::new(0);

pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to a local value.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn clock() -> &'static Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    CLOCK.get_or_init(|| {
        let is_virtual = settings::text(c"SIM_CLOCK").as_deref() == Some("virtual");
        let realtime_ns = read(libc::CLOCK_REALTIME);
        VIRTUAL_NS.store(settings::number(c"SIM_EPOCH_NS", realtime_ns), Ordering::Relaxed);
        let base_ns = realtime_ns.wrapping_sub(monotonic_ns());
        Clock { is_virtual, base_ns, call_ns: settings::number(c"SIM_CALL_NS", 1000) }
    })
}

/// The time now.
pub fn now() -> u64 {
    let clock = clock();
    if clock.is_virtual {
        return VIRTUAL_NS.load(Ordering::Relaxed);
    }
    clock.base_ns.wrapping_add(monotonic_ns())
}

/// An API call was made.
pub fn spend_call() {
    let clock = clock();
    if clock.is_virtual {
        VIRTUAL_NS.fetch_add(clock.call_ns, Ordering::Relaxed);
    }
}

/// Waits until work is done.
pub fn wait_until(time_ns: u64) {
    if clock().is_virtual {
        if time_ns != u64::MAX {
            VIRTUAL_NS.fetch_max(time_ns, Ordering::Relaxed);
            return;
        }
        // Work that never ends.
        loop {
            sleep(1_000_000_000);
        }
    }
    loop {
        let now = now();
        if now >= time_ns {
            return;
        }
        let left = time_ns - now;
        if left > 60_000 {
            sleep(left.min(1_000_000_000) - 50_000);
        } else {
            std::hint::spin_loop();
        }
    }
}

fn sleep(ns: u64) {
    let time = libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
    // SAFETY: reads a local value; interrupted sleeps are repeated by the caller.
    unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
}

/// For libcupti.
#[unsafe(no_mangle)]
pub extern "C" fn sim_cuda_now() -> u64 {
    now()
}
