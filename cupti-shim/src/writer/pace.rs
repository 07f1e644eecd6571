//! How often rows that do not fill a frame are written.
//!
//! A frame costs 2.5 to 4 kB however few rows it has, a row that is not written is lost when the program is killed. So
//! the interval holds while something happens; a program that has been doing little for a while gets fewer, up to one
//! in five seconds, and the interval is back as soon as there is more to write.

/// The longest interval that quiet alone can cause.
const MAX_NS: i64 = 5_000_000_000;
/// Rows per interval below which it counts as quiet.
const FEW: usize = 64;
/// Quiet intervals before the first stretch: short programs never see it.
const PATIENCE: u32 = 10;
/// Quiet intervals of one length before the next.
const STEP: u32 = 5;
/// Rows that are worth a frame before a stretched interval is over.
const MANY: usize = 4_096;

#[derive(Debug)]
pub(super) struct Pace {
    base_ns: i64,
    quiet: u32,
    last_ns: i64,
    /// CUPTI has delivered: what came, or comes in a moment, is written as soon as nothing more is waiting.
    eager: bool,
    /// Quiet changes nothing.
    held: bool,
}

impl Pace {
    pub(super) fn new(base_ns: i64, now_ns: i64) -> Pace {
        Pace { base_ns: base_ns.max(1_000_000), quiet: 0, last_ns: now_ns, eager: false, held: false }
    }

    /// From now on the interval is never stretched: somebody wants to know soon.
    pub(super) fn hold(&mut self) {
        self.held = true;
    }

    /// The interval as it is now.
    pub(super) fn interval_ns(&self) -> i64 {
        if self.held {
            return self.base_ns;
        }
        let doublings = match self.quiet.checked_sub(PATIENCE) {
            None => 0,
            Some(beyond) => (beyond / STEP + 1).min(16),
        };
        self.base_ns.saturating_mul(1 << doublings).min(MAX_NS.max(self.base_ns))
    }

    /// Another interval holds from here on.
    pub(super) fn set_base(&mut self, base_ns: i64) {
        (self.base_ns, self.quiet) = (base_ns.max(1_000_000), 0);
    }

    /// Whether it is time to write, with so many rows pending.
    pub(super) fn is_due(&self, now_ns: i64, pending: usize) -> bool {
        self.left_ns(now_ns, pending) <= 0
    }

    /// How long until it is.
    pub(super) fn left_ns(&self, now_ns: i64, pending: usize) -> i64 {
        if self.eager && pending > 0 {
            return 0;
        }
        let interval_ns = if pending >= MANY { self.base_ns } else { self.interval_ns() };
        self.last_ns.saturating_add(interval_ns) - now_ns
    }

    /// CUPTI has just delivered. It does so twice an interval, and every few milliseconds while a gate drains, so this
    /// leads to writing at most four times an interval.
    pub(super) fn flushed(&mut self, now_ns: i64) {
        self.eager |= now_ns - self.last_ns >= self.interval_ns() / 4;
    }

    /// So many rows were written. With 0 rows: the writer looked for rows and found none.
    pub(super) fn wrote(&mut self, now_ns: i64, rows: usize) {
        self.last_ns = now_ns;
        if rows > 0 {
            self.eager = false;
        }
        self.quiet = if rows < FEW { self.quiet.saturating_add(1) } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn quiet_stretches_the_interval_to_five_seconds_and_work_brings_it_back() {
        let mut pace = Pace::new(500 * MS, 0);
        let mut now = 0;
        let mut intervals = Vec::new();
        for _ in 0..40 {
            intervals.push(pace.interval_ns() / MS);
            now += pace.interval_ns();
            assert!(pace.is_due(now, 1) && !pace.is_due(now - 1, 1));
            pace.wrote(now, 3);
        }
        assert!(intervals[..10].iter().all(|ms| *ms == 500));
        assert_eq!([intervals[10], intervals[15], intervals[20], intervals[39]], [1_000, 2_000, 4_000, 5_000]);
        assert!(pace.is_due(now + 500 * MS, MANY), "much to write does not wait");
        pace.wrote(now, FEW);
        assert_eq!(pace.interval_ns(), 500 * MS);
    }

    #[test]
    fn a_pace_that_is_held_is_not_stretched() {
        let mut pace = Pace::new(500 * MS, 0);
        pace.hold();
        (0..50).for_each(|i| pace.wrote(i, 0));
        assert_eq!(pace.interval_ns(), 500 * MS);
    }

    #[test]
    fn a_long_interval_of_the_user_is_obeyed() {
        let mut pace = Pace::new(60_000 * MS, 0);
        (0..50).for_each(|i| pace.wrote(i, 0));
        assert_eq!(pace.interval_ns(), 60_000 * MS);
    }

    #[test]
    fn what_cupti_delivers_is_written_at_once_but_not_all_the_time() {
        let mut pace = Pace::new(500 * MS, 0);
        pace.flushed(100 * MS);
        assert!(!pace.is_due(100 * MS, 10), "just written");
        pace.flushed(400 * MS);
        assert!(pace.is_due(400 * MS, 10) && !pace.is_due(400 * MS, 0));
        pace.wrote(400 * MS, 10);
        assert!(!pace.is_due(401 * MS, 10));
    }
}
