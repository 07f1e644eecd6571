//! Sums over some of what a program did as estimates of sums over all of it.
//!
//! The blocks of [`Sampling`] are the observations. Block `i` stands for `w` steps (or nanoseconds), and its records, each
//! counted as often as its window says, have a sum of `x`. The estimate of one process that did `W` in all is the ratio
//! estimator `W * Σx / Σw`, and its variance `n (W/Σw)² (1 - f)` times the variance of the residuals `x - w * Σx/Σw` over `n`
//! blocks, where `f` is the recorded share (Cochran, "Sampling Techniques", chapter 6; where steps are recorded by cycles all
//! weights are 1 and `f` is `Σw/W`). Processes are independent of each other, so estimates and variances add up. The interval
//! is that of Student's distribution, with the degrees of freedom of Welch and Satterthwaite.
//!
//! With a budget windows stand for spans that follow each other, so that a slow change of the program is in the estimate and
//! not in its error. It is in the spread of the residuals all the same: the interval is then too wide, never too narrow.
//!
//! What this takes for granted: steps that are recorded are like those that are not. A program in which every hundredth
//! step is another one, recorded by cycles of a hundred, is not estimated.

use super::stats::{Stats, Wanted};
use crate::trace::batch::{Batch, Col};
use crate::trace::sampling::{ONE, Sampling};
use std::sync::Arc;
use trace_format::schema::{AnyColumn, TableSpec};
use trace_format::tables::column::any;

/// The sums of one group of records by block.
#[derive(Clone, Debug)]
pub struct Sample {
    sampling: Arc<Sampling>,
    /// Block, count and nanoseconds in parts of [`ONE`], by block.
    sums: Vec<(u32, u64, u128)>,
    /// Records of processes that were recorded whole.
    whole: (u64, u128),
}

impl PartialEq for Sample {
    fn eq(&self, other: &Self) -> bool {
        self.sums == other.sums && self.whole == other.whole
    }
}

/// Tells which block each row of a batch lies in.
pub(crate) struct RowBlocks<'b> {
    sampling: &'b Arc<Sampling>,
    process: u32,
    correlation: Option<Col<'b, u64>>,
    start: Col<'b, i64>,
}

impl<'b> RowBlocks<'b> {
    /// The columns that are read besides others, if rows are to be told apart so.
    pub(crate) fn columns(sampling: Option<&Arc<Sampling>>, table: &TableSpec) -> Vec<&'static dyn AnyColumn> {
        if sampling.is_none() {
            return Vec::new();
        }
        let all: [&dyn AnyColumn; 2] = [any::START_NS, any::CORRELATION];
        all.into_iter().filter(|column| table.column_index(column.name()).is_some()).collect()
    }

    /// The blocks of the rows of `batch`, which has [`RowBlocks::columns`].
    pub(crate) fn of(sampling: &'b Arc<Sampling>, batch: &'b Batch) -> RowBlocks<'b> {
        let has_calls = batch.table.column_index(any::CORRELATION.name()).is_some();
        RowBlocks {
            sampling,
            process: batch.process,
            correlation: has_calls.then(|| batch.get(any::CORRELATION)),
            start: batch.get(any::START_NS),
        }
    }

    /// Adds row `i`, whose value is `value`, to `stats`.
    pub(crate) fn add(&self, i: usize, value: i64, stats: &mut Stats, wanted: Wanted) {
        let correlation = self.correlation.as_ref().and_then(|column| column.get(i));
        add(self.sampling, (self.process, correlation, self.start.get(i)), value, stats, wanted);
    }
}

/// Adds the value of a record to `stats` and to its sample. `record`: process, correlation id and start, as far as they are
/// known.
pub(crate) fn add(
    sampling: &Arc<Sampling>,
    record: (u32, Option<u64>, Option<i64>),
    value: i64,
    stats: &mut Stats,
    wanted: Wanted,
) {
    stats.add(value, wanted);
    let (process, correlation, start_ns) = record;
    let block = sampling.block(process, correlation, start_ns);
    stats.sample.get_or_insert_with(|| Box::new(Sample::new(Arc::clone(sampling)))).add(block, value);
}

/// Estimates of a group's sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// How many records.
    pub count: u64,
    /// The sum of their durations.
    pub total_ns: u128,
    /// The true count is so near in 95 of 100 cases; `None`: there are too few steps to tell.
    pub count_within: Option<u64>,
    /// The true sum is so near in 95 of 100 cases; `None`: there are too few steps to tell.
    pub total_within_ns: Option<u128>,
}

impl Sample {
    /// No records yet.
    pub fn new(sampling: Arc<Sampling>) -> Sample {
        Sample { sampling, sums: Vec::new(), whole: (0, 0) }
    }

    /// Adds a record that lies in a block, with its weight, or in a process that was recorded whole.
    pub fn add(&mut self, block: Option<(u32, u64)>, ns: i64) {
        let ns = ns.unsigned_abs();
        let Some((block, weight)) = block else {
            self.whole = (self.whole.0 + 1, self.whole.1 + u128::from(ns));
            return;
        };
        // Records come nearly in the order of time.
        let at = match self.sums.last() {
            Some(&(last, ..)) if last == block => Ok(self.sums.len() - 1),
            Some(&(last, ..)) if last > block => self.sums.binary_search_by_key(&block, |&(of, ..)| of),
            _ => Err(self.sums.len()),
        };
        let ns = u128::from(ns) * u128::from(weight);
        match at {
            Ok(at) => {
                let (_, count, total) = &mut self.sums[at];
                (*count, *total) = (count.saturating_add(weight), total.saturating_add(ns));
            }
            Err(at) => self.sums.insert(at, (block, weight, ns)),
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: Sample) {
        self.whole = (self.whole.0 + other.whole.0, self.whole.1 + other.whole.1);
        if self.sums.last().map(|sum| sum.0) < other.sums.first().map(|sum| sum.0) {
            self.sums.extend(other.sums);
            return;
        }
        self.sums.extend(other.sums);
        self.sums.sort_unstable();
        self.sums.dedup_by(|next, sum| {
            let is_same = next.0 == sum.0;
            if is_same {
                *sum = (sum.0, sum.1.saturating_add(next.1), sum.2.saturating_add(next.2));
            }
            is_same
        });
    }

    /// What the sums stand for.
    pub fn estimate(&self) -> Estimate {
        let of_blocks = |value: fn(&(u32, u64, u128)) -> u128| {
            let mut sum = Sum::default();
            let mut first = 0;
            let mut sums = self.sums.as_slice();
            for blocks in self.sampling.blocks().chunk_by(|a, b| a.process == b.process) {
                let end = first + blocks.len() as u32;
                let (own, rest) = sums.split_at(sums.partition_point(|&(block, ..)| block < end));
                sums = rest;
                let first_of_process = std::mem::replace(&mut first, end);
                // There may be a thousand processes, and most groups are of few.
                if own.is_empty() {
                    continue;
                }
                let mut values = vec![0; blocks.len()];
                own.iter().for_each(|sum| values[(sum.0 - first_of_process) as usize] = value(sum));
                let sizes: Vec<u64> = blocks.iter().map(|block| block.size).collect();
                let (all, share) = self.sampling.whole(blocks[0].process);
                sum.add(&values, &sizes, all, share);
            }
            sum
        };
        let (count, total) = (of_blocks(|sum| u128::from(sum.1)), of_blocks(|sum| sum.2));
        Estimate {
            count: self.whole.0 + u64::try_from(count.estimate).unwrap_or(u64::MAX),
            total_ns: self.whole.1 + total.estimate,
            count_within: count.within().map(|within| within as u64),
            total_within_ns: total.within().map(|within| within as u128),
        }
    }
}

/// An estimate over processes.
#[derive(Default)]
struct Sum {
    estimate: u128,
    variance: f64,
    /// `Σ variance² / degrees of freedom`.
    by_freedom: f64,
    is_unknown: bool,
}

impl Sum {
    /// Adds one process: values in parts of [`ONE`] and sizes by block, how much there was in all, and the share of it that was
    /// recorded.
    fn add(&mut self, values: &[u128], sizes: &[u64], all: u64, share: f64) {
        let stood_for: u64 = sizes.iter().sum();
        let value = values.iter().fold(0u128, |sum, value| sum.saturating_add(*value));
        if stood_for == 0 || value == 0 {
            return;
        }
        let part = u128::from(stood_for) * u128::from(ONE);
        self.estimate += value.saturating_mul(u128::from(all)).saturating_add(part / 2) / part;
        if share >= 1.0 {
            return;
        }
        if values.len() < 2 {
            self.is_unknown = true;
            return;
        }
        let blocks = values.len() as f64;
        let ratio = value as f64 / part as f64;
        let residual = |(&value, &size): (&u128, &u64)| (value as f64 / ONE as f64 - size as f64 * ratio).powi(2);
        let spread = values.iter().zip(sizes).map(residual).sum::<f64>() / (blocks - 1.0);
        let variance = blocks * (all as f64 / stood_for as f64).powi(2) * (1.0 - share) * spread;
        self.variance += variance;
        self.by_freedom += variance * variance / (blocks - 1.0);
    }

    fn within(&self) -> Option<f64> {
        if self.is_unknown {
            return None;
        }
        if self.variance <= 0.0 {
            return Some(0.0);
        }
        let freedom = self.variance * self.variance / self.by_freedom;
        Some((self.variance.sqrt() * student(freedom)).ceil())
    }
}

/// The 97.5 % quantile of Student's distribution: exact to three decimals for few degrees of freedom, an expansion of it in
/// inverse powers (Abramowitz and Stegun 26.7.5) beyond.
fn student(freedom: f64) -> f64 {
    const FEW: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    const NORMAL: f64 = 1.959_964;
    // Fewer degrees of freedom make the interval wider.
    if let Some(&few) = FEW.get((freedom.max(1.0) as usize) - 1) {
        return few;
    }
    let (z, n) = (NORMAL, freedom);
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / n + second / (n * n) + third / n.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, quantile) in [
            (1.0, 12.706),
            (2.9, 4.303),
            (10.0, 2.228),
            (11.0, 2.201),
            (20.0, 2.086),
            (30.0, 2.042),
            (120.0, 1.980),
            (1e9, 1.960),
        ] {
            assert!((student(freedom) - quantile).abs() < 5e-4, "{freedom}: {}", student(freedom));
        }
    }

    #[test]
    fn an_estimate_is_that_of_the_textbook() {
        let weighted = |values: &[u64]| values.iter().map(|value| u128::from(value * ONE)).collect::<Vec<u128>>();
        let mut sum = Sum::default();
        // Three blocks of two steps each out of 60: per step 5, 7 and 6.
        sum.add(&weighted(&[10, 14, 12]), &[2, 2, 2], 60, 0.1);
        assert_eq!(sum.estimate, 360);
        // Residuals -2, 2, 0: spread 4; 30 blocks, nine tenths of them not seen.
        assert!((sum.variance - 30.0 * 30.0 * 0.9 * 4.0 / 3.0).abs() < 1e-9);
        assert_eq!(sum.within(), Some((1_080.0_f64.sqrt() * 4.303).ceil()));
        // All steps were recorded: nothing is left to guess.
        let mut sum = Sum::default();
        sum.add(&weighted(&[10, 14]), &[1, 1], 2, 1.0);
        assert_eq!((sum.estimate, sum.within()), (24, Some(0.0)));
        // One block tells nothing of how blocks differ.
        let mut sum = Sum::default();
        sum.add(&weighted(&[10]), &[1], 2, 0.5);
        assert_eq!((sum.estimate, sum.within()), (20, None));
    }
}
