//! Sums over some of a program's steps as estimates of sums over all of them.
//!
//! The blocks of [`Sampling`] are the observations: block `i` has `w` steps and a sum of `x`. The estimate of one process
//! with `W` steps is the ratio estimator `W * Σx / Σw`, and its variance `W² (1 - Σw/W) / (n * mean(w)²)` times the variance
//! of the residuals `x - w * Σx/Σw` over `n` blocks (Cochran, "Sampling Techniques", chapter 6). Processes are independent of
//! each other, so estimates and variances add up. The interval is that of Student's distribution, with the degrees of
//! freedom of Welch and Satterthwaite.
//!
//! What this takes for granted: steps that are recorded are like those that are not. A program in which every hundredth
//! step is another one, recorded by cycles of a hundred, is not estimated.

use super::stats::{Stats, Wanted};
use crate::trace::batch::{Batch, Col};
use crate::trace::sampling::Sampling;
use std::sync::Arc;
use trace_format::schema::{AnyColumn, TableSpec};
use trace_format::tables::column::any;

/// The sums of one group of records by block.
#[derive(Clone, Debug)]
pub struct Sample {
    sampling: Arc<Sampling>,
    /// Block, count and nanoseconds, by block.
    sums: Vec<(u32, u64, u64)>,
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

    /// Adds a record that lies in `block`, or in a process that was recorded whole.
    pub fn add(&mut self, block: Option<u32>, ns: i64) {
        let ns = ns.unsigned_abs();
        let Some(block) = block else {
            self.whole = (self.whole.0 + 1, self.whole.1 + u128::from(ns));
            return;
        };
        // Records come nearly in the order of time.
        let at = match self.sums.last() {
            Some(&(last, ..)) if last == block => Ok(self.sums.len() - 1),
            Some(&(last, ..)) if last > block => self.sums.binary_search_by_key(&block, |&(of, ..)| of),
            _ => Err(self.sums.len()),
        };
        match at {
            Ok(at) => {
                let (_, count, total) = &mut self.sums[at];
                (*count, *total) = (*count + 1, total.saturating_add(ns));
            }
            Err(at) => self.sums.insert(at, (block, 1, ns)),
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
                *sum = (sum.0, sum.1 + next.1, sum.2.saturating_add(next.2));
            }
            is_same
        });
    }

    /// What the sums stand for.
    pub fn estimate(&self) -> Estimate {
        let of_blocks = |value: fn(&(u32, u64, u64)) -> u64| {
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
                let steps: Vec<u64> = blocks.iter().map(|block| block.steps).collect();
                sum.add(&values, &steps, self.sampling.all_steps(blocks[0].process));
            }
            sum
        };
        let (count, total) = (of_blocks(|sum| sum.1), of_blocks(|sum| sum.2));
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
    /// Adds one process: values and numbers of steps by block, and how many steps there were in all.
    fn add(&mut self, values: &[u64], steps: &[u64], all_steps: u64) {
        let recorded: u64 = steps.iter().sum();
        let value: u128 = values.iter().map(|&value| u128::from(value)).sum();
        if recorded == 0 || value == 0 {
            return;
        }
        let (all, part) = (u128::from(all_steps), u128::from(recorded));
        self.estimate += (value.saturating_mul(all) + part / 2) / part;
        if all_steps <= recorded {
            return;
        }
        let blocks = values.len() as f64;
        if values.len() < 2 {
            self.is_unknown = true;
            return;
        }
        let ratio = value as f64 / recorded as f64;
        let residual = |(&value, &steps): (&u64, &u64)| (value as f64 - ratio * steps as f64).powi(2);
        let spread = values.iter().zip(steps).map(residual).sum::<f64>() / (blocks - 1.0);
        let share = recorded as f64 / all_steps as f64;
        // `W / mean(w)` is the number of blocks that all steps would make.
        let all_blocks = blocks / share;
        let variance = all_blocks * all_blocks * (1.0 - share) * spread / blocks;
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
        let mut sum = Sum::default();
        // Three blocks of two steps each out of 60: per step 5, 7 and 6.
        sum.add(&[10, 14, 12], &[2, 2, 2], 60);
        assert_eq!(sum.estimate, 360);
        // Residuals -2, 2, 0: spread 4; 30 blocks, nine tenths of them not seen.
        assert!((sum.variance - 30.0 * 30.0 * 0.9 * 4.0 / 3.0).abs() < 1e-9);
        assert_eq!(sum.within(), Some((1_080.0_f64.sqrt() * 4.303).ceil()));
        // All steps were recorded: nothing is left to guess.
        let mut sum = Sum::default();
        sum.add(&[10, 14], &[1, 1], 2);
        assert_eq!((sum.estimate, sum.within()), (24, Some(0.0)));
        // One block tells nothing of how blocks differ.
        let mut sum = Sum::default();
        sum.add(&[10], &[1], 2);
        assert_eq!((sum.estimate, sum.within()), (20, None));
    }
}
