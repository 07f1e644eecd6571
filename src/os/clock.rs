//! Clocks that the standard library does not show the numbers of.

use std::mem::MaybeUninit;
use std::time::Duration;

/// CLOCK_MONOTONIC, in nanoseconds.
pub fn monotonic_ns() -> i64 {
    // The clock always exists.
    let time = read(libc::CLOCK_MONOTONIC).unwrap_or(libc::timespec { tv_sec: 0, tv_nsec: 0 });
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

/// Time that this thread has spent on CPUs: what a piece of work costs, however busy the machine is.
pub fn thread_cpu() -> Duration {
    read(libc::CLOCK_THREAD_CPUTIME_ID).and_then(duration).unwrap_or_default()
}

/// Time that all threads of process `pid` have spent on CPUs; `None` if there is no such process or it is not ours to
/// look at.
pub fn process_cpu(pid: u32) -> Option<Duration> {
    // As clock_getcpuclockid(3) makes it: the number inverted, and 2 for the scheduler's clock of a whole process.
    let clock = (!libc::clockid_t::try_from(pid).ok()? << 3) | 2;
    read(clock).and_then(duration)
}

fn duration(time: libc::timespec) -> Option<Duration> {
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

fn read(clock: libc::clockid_t) -> Option<libc::timespec> {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the structure is ours, and all zeros is a valid value of it; a clock that does not exist is an answer.
    unsafe { (libc::clock_gettime(clock, time.as_mut_ptr()) == 0).then(|| time.assume_init()) }
}
