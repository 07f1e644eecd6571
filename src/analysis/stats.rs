//! Exact statistics over sets of durations: integers to the end, the same in any order.

use super::estimate::Sample;

/// Which of the costlier figures a caller wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// For medians, percentiles and the standard deviation: keep every duration, four bytes each, and their squares.
    pub quantiles: bool,
}

/// Durations of one group, kept for exact quantiles. Nearly every duration fits 32 bits (4.29 s); the others are
/// kept apart, so that 98 M durations take 0.4 GB and not twice that.
///
/// Without any they are one pointer, so that the sums of a million names, of which no quantiles are wanted, stay small.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Durations(Option<Box<ByWidth>>);

#[derive(Clone, Debug, Default, PartialEq)]
struct ByWidth {
    short: Vec<u32>,
    long: Vec<i64>,
}

impl Durations {
    /// Adds one duration in nanoseconds.
    #[inline]
    pub fn push(&mut self, ns: i64) {
        let kept = self.0.get_or_insert_default();
        match u32::try_from(ns) {
            Ok(short) => kept.short.push(short),
            Err(_) => kept.long.push(ns),
        }
    }

    /// Number of durations.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |kept| kept.short.len() + kept.long.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Moves all durations of `other` in here.
    pub fn append(&mut self, other: &mut Durations) {
        let Some(theirs) = &mut other.0 else { return };
        match &mut self.0 {
            None => self.0 = other.0.take(),
            Some(kept) => {
                if kept.short.is_empty() {
                    std::mem::swap(&mut kept.short, &mut theirs.short);
                }
                kept.short.append(&mut theirs.short);
                kept.long.append(&mut theirs.long);
            }
        }
    }

    /// The `k`-th smallest duration, counted from 0. Selects in place, so the order of durations changes.
    pub fn nth_smallest(&mut self, k: usize) -> Option<i64> {
        let kept = self.0.as_mut()?;
        if k < kept.short.len() {
            return Some(i64::from(*kept.short.select_nth_unstable(k).1));
        }
        let k = k - kept.short.len();
        (k < kept.long.len()).then(|| *kept.long.select_nth_unstable(k).1)
    }

    /// Twice the median, so that the mean of two middle durations stays an integer.
    pub fn median_times_2(&mut self) -> Option<i128> {
        let n = self.len();
        let upper = i128::from(self.nth_smallest(n / 2)?);
        Some(if n % 2 == 1 { 2 * upper } else { upper + i128::from(self.largest_before(n / 2)?) })
    }

    /// The largest of the `k` smallest durations, which `nth_smallest(k)` has just put in front of the rest: one look
    /// at them instead of a second selection.
    fn largest_before(&self, k: usize) -> Option<i64> {
        let kept = self.0.as_ref()?;
        match k.checked_sub(kept.short.len()) {
            None | Some(0) => kept.short.get(..k)?.iter().max().map(|&short| i64::from(short)),
            Some(k) => kept.long.get(..k)?.iter().max().copied(),
        }
    }

    /// The smallest duration that at least `percent` of all durations do not exceed (nearest rank).
    pub fn percentile(&mut self, percent: u32) -> Option<i64> {
        let n = self.len() as u64;
        let rank = (n * u64::from(percent)).div_ceil(100).max(1);
        self.nth_smallest(rank as usize - 1)
    }
}

/// Count, sum, extremes and spread of a set of durations in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Stats {
    /// How many durations.
    pub count: u64,
    /// Their sum. 128 bits: durations may be as large as 2^62 each.
    pub total_ns: u128,
    /// The smallest.
    pub min_ns: i64,
    /// The largest.
    pub max_ns: i64,
    /// Sum of squares, if quantiles are wanted; exact for any set whose squares fit, saturating beyond.
    pub sum_squares: u128,
    /// The durations themselves, if quantiles are wanted.
    pub durations: Durations,
    /// Count and sum by recorded step, if those are to stand for all steps.
    pub sample: Option<Box<Sample>>,
}

impl Default for Stats {
    fn default() -> Self {
        Stats {
            count: 0,
            total_ns: 0,
            min_ns: i64::MAX,
            max_ns: 0,
            sum_squares: 0,
            durations: Durations::default(),
            sample: None,
        }
    }
}

impl Stats {
    /// The statistics of durations in order of their length, which are kept.
    pub fn of_sorted(durations: Vec<u32>) -> Stats {
        let (Some(&min), Some(&max)) = (durations.first(), durations.last()) else { return Stats::default() };
        let square = |&ns: &u32| u128::from(u64::from(ns) * u64::from(ns));
        Stats {
            count: durations.len() as u64,
            total_ns: durations.iter().map(|&ns| u64::from(ns)).sum::<u64>().into(),
            min_ns: min.into(),
            max_ns: max.into(),
            sum_squares: durations.iter().map(square).sum(),
            durations: Durations(Some(Box::new(ByWidth { short: durations, long: Vec::new() }))),
            sample: None,
        }
    }

    /// The statistics of durations that somebody else has added up. Of their quantiles only the median can be asked: `median_times_2`
    /// is twice that.
    pub fn of_sums(
        count: u64,
        total_ns: u128,
        sum_squares: u128,
        (min_ns, max_ns): (i64, i64),
        median_times_2: i64,
    ) -> Stats {
        let mut durations = Durations::default();
        // Two durations with the same middle.
        durations.push(median_times_2 / 2);
        durations.push(median_times_2 - median_times_2 / 2);
        Stats { count, total_ns, min_ns, max_ns, sum_squares, durations, sample: None }
    }

    /// Adds one valid duration (never negative).
    #[inline]
    pub fn add(&mut self, ns: i64, wanted: Wanted) {
        let unsigned = ns as u64;
        self.count += 1;
        self.total_ns += u128::from(unsigned);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        if wanted.quantiles {
            self.sum_squares = self.sum_squares.saturating_add(u128::from(unsigned) * u128::from(unsigned));
            self.durations.push(ns);
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, mut other: Stats) {
        self.count += other.count;
        self.total_ns += other.total_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_squares = self.sum_squares.saturating_add(other.sum_squares);
        self.durations.append(&mut other.durations);
        match (&mut self.sample, other.sample) {
            (Some(sample), Some(theirs)) => sample.merge(*theirs),
            (sample, theirs) => *sample = sample.take().or(theirs),
        }
    }

    /// The mean in whole nanoseconds, rounded down: what nvprof prints.
    pub fn floor_mean_ns(&self) -> u128 {
        self.total_ns.checked_div(u128::from(self.count)).unwrap_or(0)
    }

    /// The mean.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total_ns as f64 / self.count as f64 }
    }

    /// The sample standard deviation (n - 1), if quantiles were wanted; 0 for one duration, as nsys prints it. The sums are exact, so the
    /// result does not depend on the order of the durations.
    pub fn sample_stddev_ns(&self) -> f64 {
        sample_stddev(self.count, self.total_ns, self.sum_squares)
    }
}

/// The sample standard deviation of `count` numbers with these sums; 0 for one.
fn sample_stddev(count: u64, sum: u128, sum_squares: u128) -> f64 {
    if count < 2 {
        return 0.0;
    }
    let n = u128::from(count);
    // n * Σx² - (Σx)² is exact while it fits; beyond 2^128 the f64 form is good to 15 digits still.
    let numerator = match (sum_squares.checked_mul(n), sum.checked_mul(sum)) {
        (Some(a), Some(b)) => a.saturating_sub(b) as f64,
        _ => (sum_squares as f64 * n as f64 - (sum as f64).powi(2)).max(0.0),
    };
    (numerator / (n as f64 * (n - 1) as f64)).sqrt()
}

/// Lengths of time that may be negative, kept for exact statistics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signed(Vec<i64>);

impl Signed {
    /// Adds one.
    pub fn add(&mut self, ns: i64) {
        self.0.push(ns);
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, mut other: Signed) {
        self.0.append(&mut other.0);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// How many are negative.
    pub fn negative(&self) -> u64 {
        self.0.iter().filter(|&&ns| ns < 0).count() as u64
    }

    /// Their sum.
    pub fn total_ns(&self) -> i128 {
        self.0.iter().map(|&ns| i128::from(ns)).sum()
    }

    /// The smallest and the largest.
    pub fn extremes(&self) -> Option<(i64, i64)> {
        Some((*self.0.iter().min()?, *self.0.iter().max()?))
    }

    /// Twice the median, so that the mean of two middle ones stays an integer.
    pub fn median_times_2(&mut self) -> Option<i128> {
        let n = self.0.len();
        if n == 0 {
            return None;
        }
        let (before, &mut upper, _) = self.0.select_nth_unstable(n / 2);
        let upper = i128::from(upper);
        Some(if n % 2 == 1 { 2 * upper } else { upper + before.iter().max().map_or(upper, |&lower| lower.into()) })
    }

    /// The sample standard deviation (n - 1); 0 for one. It is that of the distances from the smallest, whose sums are exact.
    pub fn sample_stddev_ns(&self) -> f64 {
        let Some((min, _)) = self.extremes() else { return 0.0 };
        let distances = self.0.iter().map(|&ns| u128::from(ns.abs_diff(min)));
        let (sum, squares) =
            distances.fold((0_u128, 0_u128), |(sum, squares), d| (sum + d, squares.saturating_add(d * d)));
        sample_stddev(self.count(), sum, squares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(durations: &[i64]) -> Stats {
        let mut s = Stats::default();
        durations.iter().for_each(|&d| s.add(d, Wanted { quantiles: true }));
        s
    }

    #[test]
    fn spread_of_two_is_what_nsys_prints() {
        assert_eq!(format!("{:.1}", stats(&[173_694, 174_109]).sample_stddev_ns()), "293.4");
        assert_eq!(format!("{:.1}", stats(&[374_915, 381_475]).sample_stddev_ns()), "4638.6");
        assert_eq!(stats(&[5]).sample_stddev_ns(), 0.0);
    }

    #[test]
    fn quantiles_are_exact_across_the_32_bit_border() {
        let mut s = stats(&[1, 5_000_000_000, 2, 6_000_000_000]);
        assert_eq!(s.durations.median_times_2(), Some(5_000_000_002));
        assert_eq!(s.durations.percentile(50), Some(2));
        assert_eq!(s.durations.percentile(75), Some(5_000_000_000));
        assert_eq!(s.durations.percentile(99), Some(6_000_000_000));
        assert_eq!(stats(&[7, 3, 9, 1]).durations.median_times_2(), Some(10));
        assert_eq!(stats(&[7_000_000_000, 5_000_000_000]).durations.median_times_2(), Some(12_000_000_000));
        assert_eq!(
            stats(&[6_000_000_000, 4, 7_000_000_000, 5_000_000_000]).durations.median_times_2(),
            Some(11_000_000_000)
        );
        assert_eq!(Durations::default().median_times_2(), None);
    }

    #[test]
    fn lengths_below_zero_have_the_same_statistics_as_above() {
        let mut signed = Signed::default();
        assert_eq!((signed.median_times_2(), signed.extremes(), signed.sample_stddev_ns()), (None, None, 0.0));
        [-5, 3, -1, 11].into_iter().for_each(|ns| signed.add(ns));
        // Sorted -5, -1, 3, 11: the mean is 2, the squares of the distances from it are 49, 9, 1 and 81.
        assert_eq!((signed.count(), signed.negative(), signed.total_ns()), (4, 2, 8));
        assert_eq!((signed.median_times_2(), signed.extremes()), (Some(2), Some((-5, 11))));
        assert!((signed.sample_stddev_ns() - (140.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        signed.merge({
            let mut one = Signed::default();
            one.add(i64::MIN);
            one
        });
        assert_eq!((signed.median_times_2(), signed.negative()), (Some(-2), 3));
    }

    #[test]
    fn sums_of_the_longest_durations_do_not_wrap() {
        let s = stats(&[1 << 62; 100]);
        assert_eq!(s.total_ns, 100 * (1_u128 << 62));
        assert_eq!(s.floor_mean_ns(), 1 << 62);
    }
}
