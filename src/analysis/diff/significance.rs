//! Whether two sets of measurements differ by more than measurements differ anyway.
//!
//! Two tests are made. Welch's t-test sees small differences in measurements that scatter evenly, and gives an interval. The
//! rank-sum test of Mann, Whitney and Wilcoxon, exact, still sees a difference where single runs are far off. A difference counts
//! if either is sure: the shares of error that both may make add up to [`ALARMS`]. With a single run on both sides there is
//! nothing to tell noise by, so the difference has to be larger than programs usually differ from run to run.

use std::cmp::Ordering;

/// Of two sets that do not differ, the share that is said to.
const ALARMS: f64 = 0.007;

/// The part of it that the t-test may use up. The rest is for ranks.
const OF_MEANS: f64 = 0.91;

/// Differences below this are not worth a word however sure they are, in percent.
const LEAST_PERCENT: f64 = 0.5;

/// With one run on each side: what whole runs usually differ by, in percent.
const SINGLE_TOTAL_PERCENT: f64 = 5.0;

/// The same of what shares a name.
const SINGLE_ROW_PERCENT: f64 = 10.0;

/// Measurements for which ranks are counted exactly; of more, the t-test alone decides.
const MOST_RANKED: usize = 30;

/// How sure one has to be.
#[derive(Clone, Copy, Debug)]
pub struct Doubt {
    /// The share of sets that do not differ and may be said to.
    alarms: f64,
    single_percent: f64,
}

impl Doubt {
    /// For everything together.
    pub fn total() -> Doubt {
        Doubt { alarms: ALARMS, single_percent: SINGLE_TOTAL_PERCENT }
    }

    /// For one of so many rows, which together are wrong half as often as the total: their alarms come on top of its.
    pub fn row(rows: usize) -> Doubt {
        Doubt { alarms: ALARMS / 2.0 / rows.max(1) as f64, single_percent: SINGLE_ROW_PERCENT }
    }
}

/// Two sets of measurements side by side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Mean before.
    pub before: f64,
    /// Mean after.
    pub after: f64,
    /// The variance of the difference of the means, and its degrees of freedom; `None`: there is one measurement on each side.
    spread: Option<(f64, f64)>,
    /// How often ranks are as far apart by chance; `None`: not counted.
    by_ranks: Option<f64>,
}

impl Comparison {
    /// Compares. Neither side may be empty.
    pub fn of(before: &[f64], after: &[f64]) -> Comparison {
        let [(mean_a, var_a), (mean_b, var_b)] = [before, after].map(mean_and_variance);
        let (n_a, n_b) = (before.len() as f64, after.len() as f64);
        let spread = match (var_a, var_b) {
            (Some(a), Some(b)) => {
                let (a, b) = (a / n_a, b / n_b);
                let freedom = (a + b).powi(2) / (a.powi(2) / (n_a - 1.0) + b.powi(2) / (n_b - 1.0));
                // Without any variance on either side the quotient is none.
                Some((a + b, if freedom.is_finite() { freedom } else { n_a + n_b - 2.0 }))
            }
            // One run is held against several, which tell how much runs differ.
            (Some(variance), None) | (None, Some(variance)) => {
                let n = n_a.max(n_b);
                Some((variance * (1.0 + 1.0 / n), n - 1.0))
            }
            (None, None) => None,
        };
        Comparison { before: mean_a, after: mean_b, spread, by_ranks: by_ranks(before, after) }
    }

    /// The true difference is within the measured one plus or minus this in 95 of 100 cases; `None`: unknown.
    pub fn within(&self) -> Option<f64> {
        self.spread.map(|(variance, freedom)| quantile(freedom) * variance.sqrt())
    }

    /// How often means differ as much by chance.
    fn by_means(&self) -> Option<f64> {
        let difference = self.after - self.before;
        self.spread.map(|(variance, freedom)| match variance > 0.0 {
            true => two_sided(difference / variance.sqrt(), freedom),
            false if difference == 0.0 => 1.0,
            false => 0.0,
        })
    }

    /// Whether the difference is more than noise.
    pub fn is_sure(&self, doubt: Doubt) -> bool {
        let larger = self.before.abs().max(self.after.abs());
        if larger == 0.0 {
            return false;
        }
        let of_before = if self.before == 0.0 { larger } else { self.before.abs() };
        let percent = (self.after - self.before).abs() * 100.0 / of_before;
        let Some(by_means) = self.by_means() else { return percent > doubt.single_percent };
        let is_unlikely = by_means <= doubt.alarms * OF_MEANS
            || self.by_ranks.is_some_and(|by_ranks| by_ranks <= doubt.alarms * (1.0 - OF_MEANS));
        percent >= LEAST_PERCENT && is_unlikely
    }
}

/// The mean, and the variance of the set that the values are a sample of: `None` for a single one.
fn mean_and_variance(values: &[f64]) -> (f64, Option<f64>) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n.max(1.0);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (values.len() > 1).then(|| squares / (n - 1.0)))
}

/// How often Student's t is as far from 0 as `t`, or farther.
fn two_sided(t: f64, freedom: f64) -> f64 {
    regularized_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// How far Student's t is from 0 in 95 of 100 cases at most.
fn quantile(freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided(high, freedom) > 0.05 {
        high *= 2.0;
    }
    // Every turn gives another binary digit.
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        match two_sided(middle, freedom) > 0.05 {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// The regularized incomplete beta function I_x(a, b), by its continued fraction (DLMF 8.17.22), evaluated from the front.
fn regularized_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges quickly on one side only.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - regularized_beta(1.0 - x, b, a);
    }
    let ln_front = a * x.ln() + b * (1.0 - x).ln() + libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
    const TINY: f64 = 1e-300;
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let (mut c, mut fraction) = (1.0, d);
    for m in 1..500 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for term in [even, odd] {
            d = 1.0 / nonzero(1.0 + term * d);
            c = nonzero(1.0 + term / c);
            step = d * c;
            fraction *= step;
        }
        if (step - 1.0_f64).abs() < 1e-15 {
            break;
        }
    }
    ln_front.exp() * fraction / a
}

/// How often two sets are as far apart in ranks by chance, both directions together. `None` with a single value on a side, with
/// more values than are counted, and where values are equal, which have no ranks of their own.
fn by_ranks(before: &[f64], after: &[f64]) -> Option<f64> {
    let (n, m) = (before.len(), after.len());
    if n < 2 || m < 2 || n + m > MOST_RANKED {
        return None;
    }
    let mut larger = 0;
    for a in before {
        for b in after {
            match a.partial_cmp(b)? {
                Ordering::Less => {}
                Ordering::Equal => return None,
                Ordering::Greater => larger += 1,
            }
        }
    }
    let smaller_side = larger.min(n * m - larger);
    let ways = rank_sums(n, m);
    let all: f64 = ways.iter().sum();
    let as_far: f64 = ways[..=smaller_side].iter().sum();
    Some((2.0 * as_far / all).min(1.0))
}

/// In how many orders of `n` and `m` values there are so many pairs of which the first is larger, by that number.
fn rank_sums(n: usize, m: usize) -> Vec<f64> {
    // ways[j][u]: with j values of the second set so far; one value of the first set after another.
    let mut ways = vec![vec![0.0; n * m + 1]; m + 1];
    ways.iter_mut().for_each(|ways| ways[0] = 1.0);
    for _ in 0..n {
        // The largest value of all is of the second set, or of the first, and then larger than all j of the second.
        let previous = ways.clone();
        for j in 0..=m {
            for u in 0..=n * m {
                let of_second = if j > 0 { ways[j - 1][u] } else { 0.0 };
                let of_first = if u >= j { previous[j][u - j] } else { 0.0 };
                ways[j][u] = of_second + of_first;
            }
        }
    }
    ways.swap_remove(m)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 * b.abs().max(1e-3)
    }

    #[test]
    fn students_t_is_as_in_tables() {
        // Critical values of two-sided tests at 5 %, as in every table.
        for (freedom, expected) in
            [(1.0, 12.706_204_7), (2.0, 4.302_652_7), (5.0, 2.570_581_8), (12.0, 2.178_812_8), (100.0, 1.983_971_5)]
        {
            assert!(near(quantile(freedom), expected), "{freedom}: {}", quantile(freedom));
        }
        // One degree of freedom is Cauchy's distribution: half of it lies within 1.
        assert!(near(two_sided(1.0, 1.0), 0.5));
        assert!(near(two_sided(0.0, 7.0), 1.0));
        // t = 3.055 at 12 degrees is 1 %.
        assert!(near(two_sided(3.054_539_589, 12.0), 0.01), "{}", two_sided(3.054_539_589, 12.0));
    }

    #[test]
    fn ranks_are_counted() {
        // Of the 6 orders of 2 and 2 values: 1, 1, 2, 1, 1 by the number of such pairs.
        assert_eq!(rank_sums(2, 2), [1.0, 1.0, 2.0, 1.0, 1.0]);
        assert_eq!(rank_sums(7, 7).iter().sum::<f64>(), 3432.0);
        let apart = by_ranks(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], &[8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 99.0]);
        assert!(near(apart.expect("ranks"), 2.0 / 3432.0));
        assert_eq!(by_ranks(&[1.0, 2.0], &[1.5, 2.5]), Some(2.0 * 2.0 / 6.0));
        assert_eq!(by_ranks(&[1.0, 2.0], &[2.0, 3.0]), None);
        assert_eq!(by_ranks(&[1.0], &[2.0, 3.0]), None);
    }

    #[test]
    fn welch_is_as_computed_by_hand() {
        // Means 2 and 5, variances 1 and 4, three values each: t = 3 / sqrt(5/3), 2.941... degrees of freedom.
        let comparison = Comparison::of(&[1.0, 2.0, 3.0], &[3.0, 5.0, 7.0]);
        let (variance, freedom) = (5.0_f64 / 3.0, (5.0_f64 / 3.0).powi(2) / (1.0 / 18.0 + 16.0 / 18.0));
        assert!(near(comparison.by_means().expect("p"), two_sided(3.0 / variance.sqrt(), freedom)));
        assert!(near(comparison.within().expect("an interval"), quantile(freedom) * variance.sqrt()));
    }

    #[test]
    fn single_runs_need_a_large_difference_and_equal_ones_none() {
        let sure = |a: &[f64], b: &[f64]| Comparison::of(a, b).is_sure(Doubt::total());
        assert!(!sure(&[100.0], &[105.0]) && sure(&[100.0], &[105.1]) && sure(&[100.0], &[94.0]));
        assert!(!sure(&[0.0], &[0.0]) && sure(&[0.0], &[1.0]));
        assert!(!sure(&[100.0, 100.0], &[100.0, 100.0]) && sure(&[100.0, 100.0], &[101.0, 101.0]));
        assert!(!sure(&[100.0, 100.0], &[100.1, 100.1]), "too small to matter");
        // One run that is far from seven that differ little.
        let seven = [100.0, 100.4, 99.7, 100.1, 99.9, 100.3, 99.6];
        assert!(sure(&seven, &[103.0]) && !sure(&seven, &[100.9]));
        // Ranks see what an outlier hides from the means.
        let outlier = [103.0, 103.4, 102.7, 103.1, 102.9, 103.3, 190.0];
        assert!(Comparison::of(&seven, &outlier).by_means().expect("p") > 0.2 && sure(&seven, &outlier));
    }
}
