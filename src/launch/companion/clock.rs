//! The clock of the launcher's trace: Unix nanoseconds as of the launcher's start, counted on by CLOCK_MONOTONIC. It
//! does not jump when the system's clock is set, just as the GPU's clock does not.

use crate::os::clock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use trace_format::tables::ClockRow;

/// Readings of which the tightest is kept.
const READINGS: usize = 5;

/// A clock that began at some moment.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    instant: Instant,
    unix_ns: i64,
}

impl Clock {
    /// Begins now.
    pub fn start() -> Clock {
        let (instant, unix_ns) = tightest();
        Clock { instant, unix_ns }
    }

    /// Now, in nanoseconds since 1970.
    pub fn now_ns(&self) -> i64 {
        self.ns_of(Instant::now())
    }

    /// The time of a moment.
    pub fn ns_of(&self, moment: Instant) -> i64 {
        let after = moment.saturating_duration_since(self.instant).as_nanos();
        let before = self.instant.saturating_duration_since(moment).as_nanos();
        let since = |ns: u128| i64::try_from(ns).unwrap_or(i64::MAX);
        self.unix_ns.saturating_add(since(after)).saturating_sub(since(before))
    }

    /// The clocks when this one began, when it was the system's: a reader that goes by this adds nothing to its times.
    pub fn first_reading(&self) -> ClockRow {
        let (trace_ns, unix_ns) = (self.unix_ns, self.unix_ns);
        ClockRow { trace_ns, unix_ns, monotonic_ns: monotonic_ns(self.instant), provisional: false }
    }

    /// This clock, the system's and CLOCK_MONOTONIC at one moment.
    pub fn reading(&self) -> ClockRow {
        let (instant, unix_ns) = tightest();
        ClockRow { trace_ns: self.ns_of(instant), unix_ns, monotonic_ns: monotonic_ns(instant), provisional: false }
    }
}

/// A moment and the system's time at it: the best of several readings.
fn tightest() -> (Instant, i64) {
    let mut best: Option<(Duration, Instant, i64)> = None;
    for _ in 0..READINGS {
        let before = Instant::now();
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let width = before.elapsed();
        let unix_ns = i64::try_from(unix.as_nanos()).unwrap_or(i64::MAX);
        if best.is_none_or(|(narrowest, ..)| width < narrowest) {
            best = Some((width, before + width / 2, unix_ns));
        }
    }
    best.map_or_else(|| (Instant::now(), 0), |(_, instant, unix_ns)| (instant, unix_ns))
}

/// CLOCK_MONOTONIC at `moment`.
fn monotonic_ns(moment: Instant) -> i64 {
    let now = clock::monotonic_ns();
    now.saturating_sub(i64::try_from(moment.elapsed().as_nanos()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_before_and_after_the_start_have_their_places() {
        let clock = Clock::start();
        let at = clock.instant;
        assert_eq!(clock.ns_of(at + Duration::from_nanos(5)) - clock.ns_of(at), 5);
        assert_eq!(clock.ns_of(at) - clock.ns_of(at - Duration::from_millis(2)), 2_000_000);
    }

    #[test]
    fn the_clock_is_the_systems_at_its_start() {
        let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
        let clock = Clock::start();
        let row = clock.reading();
        let after = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
        assert!((before..=after).contains(&row.unix_ns));
        assert!((row.trace_ns - row.unix_ns).abs() <= after - before, "{row:?}");
        assert!(row.monotonic_ns > 0 && !row.provisional);
    }
}
