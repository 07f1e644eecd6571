//! System samples reduced: by what was measured, on which GPU or process, how much there was of it over time.
//!
//! Samples do not come evenly, so a mean is over time: each value counts for as long as it was the newest one, and the
//! last for nothing. Percentiles are of the values as they are. A gap of more than twice the usual one (the median) has
//! missed samples in it. Energy is what the GPU's own counter says, or else the integral of power.

use crate::error::Result;
use crate::metrics::{self, name};
use crate::trace::frames::Frames;
use crate::trace::select::{Filter, Spans};
use std::collections::BTreeMap;
use trace_format::tables;
use trace_format::tables::column::sample;

/// What a series of samples is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Whose {
    /// Ordinal of the process whose trace has them: a launcher, or a process that sampled its own GPUs.
    pub process: u32,
    /// The GPU, as that trace numbers it; `None`: the host.
    pub device: Option<u32>,
    /// The process that was measured; `None`: all of the host or GPU.
    pub pid: Option<u32>,
    /// Place of the metric among others, then its name.
    pub metric: (usize, String),
}

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Number of the time span it is in, where a range chose several.
    pub span: u32,
    /// When, Unix nanoseconds where the trace has an epoch.
    pub at_ns: i64,
    /// The value.
    pub value: f64,
}

/// Samples of one thing in order of time.
pub type Series = BTreeMap<Whose, Vec<Point>>;

/// Process, device, measured process and name of the metric, by their numbers.
type Key = (u32, Option<u32>, Option<u32>, u32);

/// What a series comes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reduced {
    /// Samples.
    pub samples: u64,
    /// Mean, percentiles and the largest value; `None` for counters and bits, of which they would say nothing.
    pub values: Option<Values>,
    /// Samples that should have been there, by the gaps.
    pub missed: u64,
    /// Energy, joules; of power and energy alone.
    pub energy_j: Option<f64>,
}

/// How large the values were.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Values {
    /// Mean over time; of a single sample, the sample.
    pub mean: f64,
    /// The smallest value that half of all samples do not exceed.
    pub p50: f64,
    /// The value that 95 percent of the samples do not exceed.
    pub p95: f64,
    /// The largest.
    pub max: f64,
}

/// All samples that the filter selects. A range selects those within its times, whoever opened it.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn series(frames: &Frames, filter: &Filter) -> Result<Series> {
    let spans = filter.range_times(frames);
    let found = frames.fold(
        &tables::SAMPLE,
        &[sample::START_NS, sample::METRIC_ID, sample::DEVICE, sample::VALUE, sample::OF_PID],
        filter,
        BTreeMap::new,
        |found: &mut BTreeMap<Key, Vec<Point>>, batch| {
            let (start, value) = (batch.get(sample::START_NS), batch.get(sample::VALUE));
            let (metric, device, pid) =
                (batch.get(sample::METRIC_ID), batch.get(sample::DEVICE), batch.get(sample::OF_PID));
            batch.for_each_row(|i| {
                let (Some(start), Some(value)) = (start.get(i), value.get(i).filter(|v| v.is_finite())) else {
                    return;
                };
                let at_ns = start.saturating_add(batch.offset_ns);
                let Some(span) = span_of(spans.as_ref(), at_ns) else { return };
                let key = (batch.process, device.get(i), pid.get(i), metric.get(i).unwrap_or(0));
                found.entry(key).or_default().push(Point { span, at_ns, value });
            });
        },
        |a, b| b.into_iter().for_each(|(key, mut points)| a.entry(key).or_default().append(&mut points)),
    )?;
    let named = found.into_iter().map(|((process, device, pid, metric), mut points)| {
        points.sort_unstable_by(|a, b| a.at_ns.cmp(&b.at_ns).then(a.value.total_cmp(&b.value)));
        let text = frames.names.text(metric).into_owned();
        (Whose { process, device, pid, metric: (metrics::rank(&text), text) }, points)
    });
    Ok(named.collect())
}

/// The number of the span with this time; 0 where there are no spans to choose from.
fn span_of(spans: Option<&Spans>, at_ns: i64) -> Option<u32> {
    let Some(spans) = spans else { return Some(0) };
    let spans = spans.as_slice();
    let begun = spans.partition_point(|&(start, _)| start <= at_ns);
    let index = begun.checked_sub(1)?;
    (at_ns < spans[index].1).then(|| u32::try_from(index).unwrap_or(u32::MAX))
}

/// Reduces every series.
pub fn reduce(series: &Series) -> Vec<(&Whose, Reduced)> {
    let energy_of = |whose: &Whose| {
        let counter = (metrics::rank(name::energy_mj), name::energy_mj.to_owned());
        let counted = series.get(&Whose { metric: counter, ..whose.clone() });
        counted.filter(|points| points.len() > 1).map(|points| counted_j(points))
    };
    let all = series.iter().map(|(whose, points)| {
        let mut reduced = reduce_one(points, is_averaged(&whose.metric.1));
        reduced.energy_j = match whose.metric.1.as_str() {
            name::energy_mj => energy_of(whose),
            name::power_mw => energy_of(whose).or_else(|| (points.len() > 1).then(|| integrated_j(points))),
            _ => None,
        };
        (whose, reduced)
    });
    all.collect()
}

/// Whether means and percentiles of a metric say something.
pub fn is_averaged(metric: &str) -> bool {
    metric != name::energy_mj && !metric.ends_with("_mask")
}

/// The time from one sample to the next, in ascending order.
fn gaps_ns(points: &[Point]) -> Vec<i64> {
    let mut gaps: Vec<i64> = neighbours(points).map(between_ns).filter(|gap| *gap > 0).collect();
    gaps.sort_unstable();
    gaps
}

/// The usual time from one sample to the next: the median.
pub fn usual_gap_ns(points: &[Point]) -> Option<i64> {
    nearest_rank(&gaps_ns(points), 50)
}

fn reduce_one(points: &[Point], is_averaged: bool) -> Reduced {
    let gaps = gaps_ns(points);
    let missed = nearest_rank(&gaps, 50).map_or(0, |usual| {
        let lost =
            |gap: &i64| if *gap > usual.saturating_mul(2) { gap.saturating_add(usual / 2) / usual - 1 } else { 0 };
        gaps.iter().map(|gap| u64::try_from(lost(gap)).unwrap_or(0)).fold(0, u64::saturating_add)
    });
    Reduced {
        samples: points.len() as u64,
        values: if is_averaged { values(points) } else { None },
        missed,
        energy_j: None,
    }
}

fn values(points: &[Point]) -> Option<Values> {
    let mut sorted: Vec<f64> = points.iter().map(|point| point.value).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let (mut area, mut length) = (0.0, 0.0);
    for (a, b) in neighbours(points) {
        let ns = between_ns((a, b)) as f64;
        area += a.value * ns;
        length += ns;
    }
    let plain = || sorted.iter().sum::<f64>() / sorted.len() as f64;
    Some(Values {
        mean: if length > 0.0 { area / length } else { plain() },
        p50: nearest_rank(&sorted, 50)?,
        p95: nearest_rank(&sorted, 95)?,
        max: *sorted.last()?,
    })
}

/// Each sample with the next one of the same time span.
fn neighbours(points: &[Point]) -> impl Iterator<Item = (Point, Point)> + '_ {
    points.windows(2).map(|pair| (pair[0], pair[1])).filter(|(a, b)| a.span == b.span)
}

/// The time between two samples in order; files of others may say any times.
fn between_ns((a, b): (Point, Point)) -> i64 {
    b.at_ns.saturating_sub(a.at_ns)
}

/// The smallest of the sorted values that at least `percent` of them do not exceed.
fn nearest_rank<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// Joules by a counter of millijoules. One that starts again from 0 has counted what it shows.
fn counted_j(points: &[Point]) -> f64 {
    let grown = neighbours(points).map(|(a, b)| if b.value >= a.value { b.value - a.value } else { b.value });
    grown.sum::<f64>() / 1e3
}

/// Joules by the integral of power in milliwatts, straight from sample to sample.
fn integrated_j(points: &[Point]) -> f64 {
    let trapezoids = neighbours(points).map(|(a, b)| (a.value + b.value) / 2.0 * between_ns((a, b)) as f64);
    trapezoids.sum::<f64>() / 1e3 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: &[(u32, i64, f64)]) -> Vec<Point> {
        of.iter().map(|&(span, at_ns, value)| Point { span, at_ns, value }).collect()
    }

    #[test]
    fn a_value_counts_for_as_long_as_it_was_the_newest() {
        let values = values(&points(&[(0, 0, 10.0), (0, 100, 20.0), (0, 400, 90.0)])).unwrap();
        // 10 for 100 ns, 20 for 300 ns; the last is known for no time.
        assert_eq!(values, Values { mean: 17.5, p50: 20.0, p95: 90.0, max: 90.0 });
        let one = super::values(&points(&[(0, 7, 3.0)])).unwrap();
        assert_eq!((one.mean, one.p50), (3.0, 3.0));
        assert_eq!(super::values(&[]), None);
    }

    #[test]
    fn what_lies_between_two_spans_counts_for_nothing() {
        let of = points(&[(0, 0, 10.0), (0, 10, 10.0), (1, 1_000, 30.0), (1, 1_010, 30.0)]);
        let reduced = reduce_one(&of, true);
        assert_eq!(reduced.values.unwrap().mean, 20.0);
        assert_eq!(reduced.missed, 0, "nobody looked in between");
        assert_eq!(integrated_j(&points(&[(0, 0, 1e3), (1, 2_000_000_000, 1e3)])), 0.0);
    }

    #[test]
    fn samples_are_missed_where_a_gap_is_more_than_twice_the_usual() {
        let at = [0, 100, 200, 390, 400, 500, 820, 920];
        let of: Vec<Point> = at.iter().map(|&at_ns| Point { span: 0, at_ns, value: 0.0 }).collect();
        // 190 is late and not lost; 320 is three periods, so two samples are missing.
        assert_eq!(reduce_one(&of, true).missed, 2);
    }

    #[test]
    fn energy_is_the_counters_or_else_the_integral_of_power() {
        let whose = |metric: &str| Whose {
            process: 0,
            device: Some(0),
            pid: None,
            metric: (metrics::rank(metric), metric.to_owned()),
        };
        let power = points(&[(0, 0, 100_000.0), (0, 1_000_000_000, 300_000.0), (0, 3_000_000_000, 300_000.0)]);
        let mut series = Series::from([(whose(name::power_mw), power)]);
        let energy = |series: &Series| {
            let all = reduce(series).into_iter();
            all.map(|(whose, reduced)| (whose.metric.1.clone(), reduced.energy_j)).collect::<Vec<_>>()
        };
        assert_eq!(energy(&series), [("power_mw".to_owned(), Some(800.0))]);
        let counter = points(&[(0, 0, 9e6), (0, 1, 9.5e6), (0, 2, 1e5)]);
        series.insert(whose(name::energy_mj), counter);
        // 500 J, then a counter that began again and has 100 J.
        assert_eq!(energy(&series), [("power_mw".to_owned(), Some(600.0)), ("energy_mj".to_owned(), Some(600.0))]);
        let reduced = reduce(&series);
        assert!(reduced[0].1.values.is_some() && reduced[1].1.values.is_none());
    }

    #[test]
    fn spans_begin_with_their_start_and_end_before_their_end() {
        let mut spans = Spans::default();
        spans.push(10, 20);
        spans.push(30, 40);
        spans.unite();
        let of = |at| span_of(Some(&spans), at);
        assert_eq!([of(9), of(10), of(19), of(20), of(39)], [None, Some(0), Some(0), None, Some(1)]);
        assert_eq!(span_of(None, 5), Some(0));
    }
}
