//! How much of the time may be recorded: a bucket into which time flows, a share of all that passes, and out of which each
//! window takes what it costs.
//!
//! How long a window will be is decided before it opens, from what windows cost before, and never by what happens in it: a
//! window that closed as soon as it is expensive would hold less of what is expensive. What it cost too much is paid by the
//! next ones. For the same reason nothing about the moments is regular: a program that repeats itself must not meet windows
//! at the same point each time.

/// This part of the share is not spent, so that a minute that begins with a full bucket stays below it too.
const RESERVE: f64 = 0.025;
/// The bucket holds what so much time brings.
const FULL_NS: f64 = 1.5e9;
/// So nearly full is full: it never stays at the brim, because threads take something all the time.
const NEARLY: f64 = 0.95;
/// A window that is open is closed early when it has cost so much more than there was: what so much time brings. Only a
/// program whose calls became many times more frequent comes to that.
const MOST_DEBT_NS: f64 = 5e9;
/// Windows come about so often: more of them make estimates better, and each costs the time of opening and closing it.
const PERIOD_NS: f64 = 400e6;
/// The first come sooner, lest a short run has none; each takes twice as long as the one before.
const FIRST_PERIOD_NS: f64 = 50e6;
/// The longest period, which must leave room in the bucket: one and a half of it may have to come in.
const MOST_PERIOD_NS: f64 = 0.9e9;
/// At most this part of a period's time goes into opening and closing.
const MOST_UPKEEP: f64 = 0.25;
/// The shortest window, and the first one, of which nobody knows what it will cost.
const LEAST_NS: f64 = 10e6;
/// The longest window that is decided upon at once.
const MOST_NS: f64 = 5e9;

/// Time is in nanoseconds, of the program's threads or of ours.
#[derive(Debug)]
pub(super) struct Bucket {
    /// What flows in, per nanosecond that passes.
    share: f64,
    tokens_ns: f64,
    /// Up to when the bucket is filled, monotonic.
    filled_ns: i64,
    /// The next window opens when there is so much.
    threshold_ns: f64,
    period_ns: f64,
    /// What a nanosecond of an open window costs. None: no window was measured yet.
    rate: Option<f64>,
    /// What opening and closing a window costs.
    upkeep_ns: f64,
    /// What the last window has cost so far, and opening and closing it.
    window_cost_ns: f64,
    window_upkeep_ns: f64,
    /// How long it was; 0: it is open, or there was none.
    window_ns: i64,
    random: u64,
}

impl Bucket {
    /// An empty one. `share` of the time may be spent; `seed` is any number.
    pub(super) fn new(share: f64, seed: u64, now_ns: i64) -> Bucket {
        let mut bucket = Bucket {
            share: share * (1.0 - RESERVE),
            tokens_ns: 0.0,
            filled_ns: now_ns,
            threshold_ns: 0.0,
            period_ns: FIRST_PERIOD_NS,
            rate: None,
            upkeep_ns: 0.0,
            window_cost_ns: 0.0,
            window_upkeep_ns: 0.0,
            window_ns: 0,
            random: seed,
        };
        bucket.draw();
        bucket
    }

    /// Anything from 0 to 1 (SplitMix64).
    fn chance(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Decides when the next window opens: when so much more has come in, by a chance that nothing that happened bears upon.
    fn draw(&mut self) {
        let more_ns = self.share * self.period_ns * (0.5 + self.chance());
        self.threshold_ns = (self.tokens_ns.max(0.0) + more_ns).min(self.share * FULL_NS * NEARLY);
    }

    /// Lets in what the time up to `now_ns` (monotonic) brings.
    pub(super) fn fill(&mut self, now_ns: i64) {
        let passed_ns = now_ns.saturating_sub(self.filled_ns).max(0);
        self.filled_ns = self.filled_ns.max(now_ns);
        self.tokens_ns = (self.tokens_ns + passed_ns as f64 * self.share).min(self.share * FULL_NS);
    }

    /// Takes out what recording cost.
    pub(super) fn spend(&mut self, ns: f64) {
        self.tokens_ns -= ns;
        self.window_cost_ns += ns;
    }

    /// Takes out what our threads took, or what the program waited for. `of_window`: a window is open or drains, so that it
    /// was for that.
    pub(super) fn spend_upkeep(&mut self, ns: f64, of_window: bool) {
        self.tokens_ns -= ns;
        if of_window {
            self.window_upkeep_ns += ns;
        }
    }

    /// Whether there is enough for a window.
    pub(super) fn has_enough(&self) -> bool {
        self.tokens_ns >= self.threshold_ns
    }

    /// How long it takes at least until there is.
    pub(super) fn wait_ns(&self) -> i64 {
        ((self.threshold_ns - self.tokens_ns) / self.share).clamp(1e6, 60e9) as i64
    }

    /// A window opens; returns how long it is to be.
    pub(super) fn open(&mut self) -> i64 {
        if self.window_ns > 0 {
            let rate = self.window_cost_ns / self.window_ns as f64;
            self.rate = Some(self.rate.map_or(rate, |old| (old + rate) / 2.0));
            self.upkeep_ns = (self.upkeep_ns + self.window_upkeep_ns) / 2.0;
        }
        (self.window_cost_ns, self.window_upkeep_ns, self.window_ns) = (0.0, 0.0, 0);
        self.plan()
    }

    /// How long the window that opens now is to be: as long as what has come in lasts.
    fn plan(&mut self) -> i64 {
        let upkeep_ns = self.upkeep_ns.min(self.threshold_ns * 0.75);
        let length_ns = match self.rate {
            None => LEAST_NS,
            Some(rate) => ((self.threshold_ns - upkeep_ns) / rate.max(1e-9)).clamp(LEAST_NS, MOST_NS),
        };
        let period_ns = PERIOD_NS.max(self.upkeep_ns / (self.share * MOST_UPKEEP)).min(MOST_PERIOD_NS);
        self.period_ns = (self.period_ns * 2.0).min(period_ns);
        length_ns as i64
    }

    /// How much longer the open window is to be, now that its time is over. None: it closes. It goes on only where the bucket
    /// is full: one that went on because nothing expensive was in it yet would end in something expensive.
    pub(super) fn goes_on(&mut self) -> Option<i64> {
        if self.tokens_ns < self.share * FULL_NS * NEARLY {
            return None;
        }
        self.threshold_ns = self.share * FULL_NS * NEARLY;
        Some(self.plan())
    }

    /// Whether the open window has to close though its time is not over.
    pub(super) fn is_overdrawn(&self) -> bool {
        self.tokens_ns < -self.share * MOST_DEBT_NS
    }

    /// The window closed, after so long.
    pub(super) fn close(&mut self, window_ns: i64) {
        self.window_ns = window_ns.max(1);
        self.draw();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a bucket beside a program for `seconds`; `rate` says what a nanosecond of an open window costs at a time.
    /// Returns spans that were recorded, and what was spent, by millisecond.
    fn play(share: f64, seed: u64, seconds: i64, rate: impl Fn(i64) -> f64) -> (Vec<(i64, i64)>, Vec<f64>) {
        const MS: i64 = 1_000_000;
        let mut bucket = Bucket::new(share, seed, 0);
        let (mut windows, mut spent) = (Vec::new(), Vec::new());
        let mut open: Option<(i64, i64)> = None;
        for ms in 1..=seconds * 1_000 {
            let now_ns = ms * MS;
            bucket.fill(now_ns);
            let mut cost = 0.0;
            if let Some((since_ns, until_ns)) = open {
                cost = rate(now_ns - MS / 2) * MS as f64;
                bucket.spend(cost);
                if now_ns >= until_ns || bucket.is_overdrawn() {
                    match bucket.goes_on().filter(|_| !bucket.is_overdrawn()) {
                        Some(more) => open = Some((since_ns, now_ns + more)),
                        None => {
                            bucket.close(now_ns - since_ns);
                            windows.push((since_ns, now_ns));
                            // Opening and closing.
                            bucket.spend_upkeep(300_000.0, true);
                            cost += 300_000.0;
                            open = None;
                        }
                    }
                }
            } else if bucket.has_enough() {
                open = Some((now_ns, now_ns + bucket.open()));
            }
            spent.push(cost);
        }
        windows.extend(open.map(|(since_ns, _)| (since_ns, seconds * 1_000 * MS)));
        (windows, spent)
    }

    fn most_of_a_minute(spent: &[f64]) -> f64 {
        let minute = 60_000;
        let mut sum: f64 = spent.iter().take(minute).sum();
        let mut most = sum;
        for (gone, new) in spent.iter().zip(spent.iter().skip(minute)) {
            sum += new - gone;
            most = most.max(sum);
        }
        most / 60e9
    }

    #[test]
    fn a_steady_program_costs_what_it_may_and_no_minute_costs_more() {
        for (share, rate) in [(0.02, 0.3), (0.02, 2.0), (0.005, 0.1), (0.1, 0.4)] {
            for seed in 0..3 {
                let (windows, spent) = play(share, seed, 180, |_| rate);
                let all = spent.iter().sum::<f64>() / 180e9;
                assert!(all > 0.9 * share && all < share, "{share} at {rate}: {all}");
                assert!(most_of_a_minute(&spent) < share, "{share} at {rate}: {}", most_of_a_minute(&spent));
                assert!(windows.len() > 60, "{share} at {rate}: {}", windows.len());
                assert!(windows[0].0 < 1_000_000_000, "a short run has some, too: {:?}", windows[0]);
            }
        }
    }

    #[test]
    fn a_program_that_costs_little_is_recorded_nearly_whole() {
        let (windows, _) = play(0.02, 1, 60, |_| 0.005);
        let recorded: i64 = windows.iter().map(|(since, until)| until - since).sum();
        assert!(recorded > 58_000_000_000, "{windows:?}");
    }

    #[test]
    fn a_program_that_becomes_expensive_is_paid_for_in_the_same_minute() {
        // Nearly nothing for a minute, in which windows become long, and then as much as can be.
        let (_, spent) = play(0.02, 5, 180, |ns| if ns < 60_000_000_000 { 0.01 } else { 1.0 });
        assert!(most_of_a_minute(&spent) < 0.02 * 1.1, "{}", most_of_a_minute(&spent));
    }

    #[test]
    fn windows_meet_every_part_of_what_repeats_itself() {
        // A step of 100 ms, the first tenth of which costs much. Each part of it is recorded as often as any other.
        let (windows, _) = play(0.02, 9, 600, |ns| if ns % 100_000_000 < 10_000_000 { 2.0 } else { 0.01 });
        let mut met = [0i64; 10];
        for ms in windows.iter().flat_map(|(since, until)| (since / 1_000_000)..(until / 1_000_000)) {
            met[(ms % 100 / 10) as usize] += 1;
        }
        let mean = met.iter().sum::<i64>() / 10;
        assert!(met.iter().all(|met| (met - mean).abs() * 10 < mean), "{met:?}");
    }
}
