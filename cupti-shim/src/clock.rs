//! Three clocks at one moment: how the reader gets from CUPTI's time to the world's.

use trace_format::tables::ClockRow;

use crate::sys;

/// Readings of which the tightest is kept. The first ones of a process run on cold caches.
const READINGS: usize = 5;

/// One reading of three clocks at the same moment, as well as that can be done from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triple {
    /// The trace clock: CUPTI's.
    pub trace_ns: i64,
    /// CLOCK_REALTIME.
    pub unix_ns: i64,
    /// CLOCK_MONOTONIC.
    pub monotonic_ns: i64,
    /// Taken before CUPTI's clock had settled (13.x does that late).
    pub provisional: bool,
}

impl Triple {
    /// Reads the clocks; `trace_ns` asks CUPTI, and may be refused.
    pub fn read(mut trace_ns: impl FnMut() -> Option<u64>, provisional: bool) -> Option<Triple> {
        tightest(provisional, || {
            let before = sys::monotonic_ns();
            let trace_ns = i64::try_from(trace_ns()?).ok()?;
            Some([before, trace_ns, sys::realtime_ns(), sys::monotonic_ns()])
        })
    }

    /// What to add to a CLOCK_REALTIME time to get a time of the trace.
    pub fn trace_minus_unix_ns(&self) -> i64 {
        self.trace_ns.saturating_sub(self.unix_ns)
    }

    /// The reading as a row.
    pub fn row(&self) -> ClockRow {
        let Triple { trace_ns, unix_ns, monotonic_ns, provisional } = *self;
        ClockRow { trace_ns, unix_ns, monotonic_ns, provisional }
    }
}

/// How far apart readings must be, and how near to each other, for the clock to count as settled.
const APART_NS: i64 = 50_000_000;
const NEAR_NS: i64 = 1_000_000;

/// Finds out when CUPTI's clock has settled: readings that lie some time apart tell the same.
#[derive(Debug, Default)]
pub struct Settling {
    /// The first of the readings that agree so far.
    since: Option<Triple>,
    has_settled: bool,
}

impl Settling {
    /// Takes a reading in; says whether the clock has settled by now.
    pub fn saw(&mut self, now: &Triple) -> bool {
        let off_ns = |since: Triple| (since.trace_minus_unix_ns() - now.trace_minus_unix_ns()).abs();
        match self.since.filter(|since| off_ns(*since) <= NEAR_NS) {
            Some(since) => self.has_settled |= now.monotonic_ns - since.monotonic_ns >= APART_NS,
            None => self.since = Some(*now),
        }
        self.has_settled
    }

    /// There are no readings to be had: none is wanted any more.
    pub fn give_up(&mut self) {
        self.has_settled = true;
    }

    /// When the next reading is worth making, monotonic; none once the clock has settled.
    pub fn wanted_ns(&self) -> Option<i64> {
        self.since.filter(|_| !self.has_settled).map(|since| since.monotonic_ns + APART_NS)
    }
}

/// The best of several readings: monotonic, trace, real, monotonic time again. None if one is refused.
fn tightest(provisional: bool, mut read: impl FnMut() -> Option<[i64; 4]>) -> Option<Triple> {
    let mut best: Option<(i64, Triple)> = None;
    for _ in 0..READINGS {
        let [before, trace_ns, unix_ns, after] = read()?;
        let width = after - before;
        // Whatever stopped this thread in between, the two others were read somewhere inside.
        let triple = Triple { trace_ns, unix_ns, monotonic_ns: before + width / 2, provisional };
        if best.is_none_or(|(narrowest, _)| width < narrowest) {
            best = Some((width, triple));
        }
    }
    best.map(|(_, triple)| triple)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_of_several_readings_is_kept() {
        let mut widths = [900, 40, 8, 30, 8].into_iter();
        let mut call = 0;
        let triple = tightest(true, || {
            call += 1;
            Some([1_000 * call, 70 + call, 80 + call, 1_000 * call + widths.next()?])
        });
        assert_eq!(triple, Some(Triple { trace_ns: 73, unix_ns: 83, monotonic_ns: 3_004, provisional: true }));
    }

    #[test]
    fn a_clock_has_settled_when_readings_some_time_apart_agree() {
        let mut settling = Settling::default();
        let ms = 1_000_000;
        let mut saw = |at_ms: i64, ahead_ns: i64| {
            let (unix_ns, monotonic_ns) = (at_ms * ms, at_ms * ms);
            let settled =
                settling.saw(&Triple { trace_ns: unix_ns + ahead_ns, unix_ns, monotonic_ns, provisional: true });
            (settled, settling.wanted_ns())
        };
        assert_eq!(saw(0, 5_000 * ms), (false, Some(50 * ms)));
        assert_eq!(saw(1, 5_000 * ms), (false, Some(50 * ms)));
        assert_eq!(saw(50, 7), (false, Some(100 * ms)));
        assert_eq!(saw(100, 400), (true, None));
        // The clock of the machine was set, or ours: what is settled stays so.
        assert_eq!(saw(200, 9_000 * ms), (true, None));
    }

    #[test]
    fn a_clock_that_refuses_or_is_absurd_gives_no_reading() {
        assert_eq!(Triple::read(|| None, false), None);
        assert_eq!(Triple::read(|| Some(1 << 63), false), None);
    }

    #[test]
    fn the_clocks_are_read_and_their_difference_is_that_of_trace_and_real_time() {
        let ahead = 5_000_000_000;
        let before = sys::realtime_ns();
        let triple = Triple::read(|| u64::try_from(sys::realtime_ns() + ahead).ok(), false).unwrap();
        let after = sys::realtime_ns();
        assert!((before..=after).contains(&triple.unix_ns));
        let width = after - before;
        assert!((triple.trace_minus_unix_ns() - ahead).abs() <= width, "{triple:?}");
        assert_eq!(triple.row().unix_ns, triple.unix_ns);
    }
}
