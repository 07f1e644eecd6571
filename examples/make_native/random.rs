//! Random numbers that are the same on every machine: integers, additions and multiplications only. The platform's
//! `exp` and `ln` differ in the last digit from one C library to the next.

/// Splitmix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An integer below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// One of `choices`.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Nearly normal: a sum of eight uniform 16-bit numbers, scaled to variance 1.
    fn normal(&mut self) -> f64 {
        let mut sum = 0;
        for word in [self.next(), self.next()] {
            sum += (word & 0xffff) + ((word >> 16) & 0xffff) + ((word >> 32) & 0xffff) + (word >> 48);
        }
        // sqrt(12 / 8) / 65536
        (sum as f64 - 8.0 * 32_767.5) * (1.224_744_871_391_589 / 65_536.0)
    }

    /// Log-normal, as durations are.
    pub fn log_normal(&mut self, median: f64, sigma: f64) -> f64 {
        median * exp(sigma * self.normal())
    }
}

/// e^x by its series for x / 1024, squared ten times.
pub fn exp(x: f64) -> f64 {
    let r = x / 1_024.0;
    let mut y = 1.0 + r * (1.0 + r / 2.0 * (1.0 + r / 3.0 * (1.0 + r / 4.0)));
    for _ in 0..10 {
        y *= y;
    }
    y
}

/// Chooses an index by weight.
pub struct Weights(Vec<u64>);

impl Weights {
    pub fn new(weights: impl IntoIterator<Item = u64>) -> Weights {
        let mut sum = 0;
        Weights(
            weights
                .into_iter()
                .map(|w| {
                    sum += w;
                    sum
                })
                .collect(),
        )
    }

    /// The first weighs most, the second half of that, the third a third (Zipf).
    pub fn zipf(n: u64) -> Weights {
        Weights::new((1..=n).map(|rank| (1 << 32) / rank))
    }

    pub fn pick(&self, random: &mut Random) -> usize {
        let at = random.below(self.0.last().copied().unwrap_or(1));
        self.0.partition_point(|&end| end <= at)
    }
}
