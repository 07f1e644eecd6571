//! Two sets of runs compared: what became faster or slower, by how much, and whether that is more than noise.
//!
//! Every trace is read into a [`Run`]: sums by name, small enough to be kept as a baseline. [`align`] finds out which name
//! before is which name after, [`significance`] whether a difference is more than runs differ anyway, and [`Gate`] holds the
//! result against limits. Times of runs with different numbers of steps are compared per step.

mod align;
mod gate;
mod run;
pub mod significance;
mod stacks;

pub use align::Pair;
pub use gate::Gate;
pub use run::{By, Run, RunOptions, Sum};
pub use stacks::{StackChange, StackTimes, stack_changes};

use crate::numbers::items;
use align::pairs;
use significance::{Comparison, Doubt};
use std::collections::BTreeMap;

/// Of either side's time, what has to have a counterpart on the other one, in percent.
const LEAST_COMMON_PERCENT: f64 = 50.0;

/// A row below this share of both sides' time is in the sums and makes no verdict of its own, in percent: short kernels that are
/// launched a few times differ from run to run.
pub const LEAST_SHARE_PERCENT: f64 = 1.0;

/// How much the number of launches of two runs may differ by a constant factor and still count as the same, in percent.
const SAME_COUNT_PERCENT: f64 = 2.0;

/// What is to be compared how.
#[derive(Clone, Debug)]
pub struct Options {
    /// What makes a row.
    pub by: By,
    /// Whether runs on different GPUs are compared too.
    pub across_gpus: bool,
}

/// How a time changed: means over the runs, in nanoseconds per unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    comparison: Comparison,
    /// What it means.
    pub judged: Judged,
}

impl Change {
    fn of(before: &[f64], after: &[f64]) -> Change {
        Change { comparison: Comparison::of(before, after), judged: Judged::NoDifference }
    }

    /// Judged by how sure one has to be.
    fn judged(self, doubt: Doubt) -> Change {
        let judged = match self.comparison.is_sure(doubt) {
            true if self.difference_ns() < 0.0 => Judged::Faster,
            true => Judged::Slower,
            false => Judged::NoDifference,
        };
        Change { judged, ..self }
    }

    /// The time before.
    pub fn before_ns(&self) -> f64 {
        self.comparison.before
    }

    /// The time after.
    pub fn after_ns(&self) -> f64 {
        self.comparison.after
    }

    /// After minus before.
    pub fn difference_ns(&self) -> f64 {
        self.after_ns() - self.before_ns()
    }

    /// The difference in percent of the time before; `None`: there was none before.
    pub fn percent(&self) -> Option<f64> {
        self.percent_of_before(self.difference_ns())
    }

    /// How near the difference is to the true one in 95 of 100 cases, in percent of the time before; `None`: there are too few
    /// runs to say, or there was no time before.
    pub fn within_percent(&self) -> Option<f64> {
        self.percent_of_before(self.comparison.within()?)
    }

    fn percent_of_before(&self, ns: f64) -> Option<f64> {
        (self.before_ns() > 0.0).then(|| ns * 100.0 / self.before_ns())
    }
}

/// What a change means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Less time, and more than noise.
    Faster,
    /// More time, and more than noise.
    Slower,
    /// No more than noise.
    NoDifference,
    /// Only after.
    New,
    /// Only before.
    Gone,
}

impl Judged {
    /// As users read it.
    pub fn word(self) -> &'static str {
        match self {
            Judged::Faster => "faster",
            Judged::Slower => "slower",
            Judged::NoDifference => "no difference",
            Judged::New => "new",
            Judged::Gone => "gone",
        }
    }
}

/// What shares a name, before and after.
#[derive(Clone, Debug)]
pub struct Row {
    /// The names.
    pub pair: Pair,
    /// Its time.
    pub change: Change,
    /// How often it came, before and after, per unit.
    pub counts: [f64; 2],
    /// The median of one, before and after, in nanoseconds: the mean of the runs' medians. `None`: there is none.
    pub medians_ns: [Option<f64>; 2],
}

/// What times are of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unit {
    /// A whole run.
    Run,
    /// A step of the program.
    Step,
    /// A run, those after divided by how much more often they launched everything.
    ScaledRun(f64),
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Diff {
    /// What times are of.
    pub unit: Unit,
    /// Everything that is compared, added up.
    pub total: Change,
    /// From the first to the last work of a GPU.
    pub span: Change,
    /// By falling size of the difference.
    pub rows: Vec<Row>,
    /// Why it means nothing; `None`: it does.
    pub obstacle: Option<String>,
}

impl Diff {
    /// Compares. Each side has at least one run.
    pub fn of(before: &[Run], after: &[Run], options: &Options) -> Diff {
        let by = options.by;
        let names = [names(before, by), names(after, by)];
        let pairs = pairs(&names[0], &names[1]);
        let unit = unit(before, after, by, &pairs);
        let sides = [Side::new(before, by, unit, false), Side::new(after, by, unit, true)];
        let [before_side, after_side] = &sides;
        let total = Change::of(&before_side.totals(), &after_side.totals()).judged(Doubt::total());
        let span = Change::of(&before_side.spans(), &after_side.spans()).judged(Doubt::total());
        let row = |pair: Pair| Row {
            change: Change::of(&before_side.times(pair.before()), &after_side.times(pair.after())),
            counts: [before_side.count(pair.before()), after_side.count(pair.after())],
            medians_ns: [before_side.median_ns(pair.before()), after_side.median_ns(pair.after())],
            pair,
        };
        let mut rows: Vec<Row> = pairs.into_iter().map(row).collect();
        let is_large = |change: &Change| {
            let share = |ns: f64, of: f64| ns > 0.0 && ns * 100.0 >= LEAST_SHARE_PERCENT * of;
            share(change.before_ns(), total.before_ns()) || share(change.after_ns(), total.after_ns())
        };
        // The more rows are judged, the surer each has to be, so that together they are wrong half as often as the total.
        let large = rows.iter().filter(|row| is_large(&row.change)).count();
        for row in &mut rows {
            row.change = match &row.pair {
                Pair::Gone(_) => Change { judged: Judged::Gone, ..row.change },
                Pair::New(_) => Change { judged: Judged::New, ..row.change },
                _ if is_large(&row.change) => row.change.judged(Doubt::row(large)),
                _ => row.change,
            };
        }
        rows.sort_by(|a, b| {
            let size = |row: &Row| row.change.difference_ns().abs();
            size(b).total_cmp(&size(a)).then_with(|| a.pair.names().cmp(&b.pair.names()))
        });
        let obstacle = obstacle(before, after, options, &rows, &total);
        Diff { unit, total, span, rows, obstacle }
    }

    /// In a word: `faster`, `slower`, `no difference` or `cannot be compared`.
    pub fn verdict(&self) -> &'static str {
        match self.obstacle {
            Some(_) => "cannot be compared",
            None => self.total.judged.word(),
        }
    }
}

/// One side's runs.
struct Side<'a> {
    runs: &'a [Run],
    by: By,
    /// What each run's sums are divided by.
    units: Vec<f64>,
    /// Each run's sums by name.
    sums: Vec<BTreeMap<&'a str, &'a Sum>>,
}

impl<'a> Side<'a> {
    fn new(runs: &'a [Run], by: By, unit: Unit, is_after: bool) -> Side<'a> {
        let of_run = |run: &Run| match unit {
            Unit::Step => run.steps.max(1) as f64,
            Unit::ScaledRun(factor) if is_after => factor,
            Unit::Run | Unit::ScaledRun(_) => 1.0,
        };
        let sums = |run: &'a Run| run.sums_by(by).iter().map(|sum| (sum.name.as_str(), sum)).collect();
        Side { runs, by, units: runs.iter().map(of_run).collect(), sums: runs.iter().map(sums).collect() }
    }

    fn per_unit(&self, of: impl Fn(&Run) -> f64) -> Vec<f64> {
        self.runs.iter().zip(&self.units).map(|(run, unit)| of(run) / unit).collect()
    }

    fn totals(&self) -> Vec<f64> {
        self.per_unit(|run| run.sums_by(self.by).iter().map(|sum| sum.total_ns as f64).sum())
    }

    fn spans(&self) -> Vec<f64> {
        self.per_unit(|run| run.span_ns as f64)
    }

    fn of_name(&self, name: Option<&str>, of: impl Fn(&Sum) -> f64) -> Vec<f64> {
        let sum = |sums: &BTreeMap<&str, &Sum>| name.and_then(|name| sums.get(name)).map_or(0.0, |sum| of(sum));
        self.sums.iter().zip(&self.units).map(|(sums, unit)| sum(sums) / unit).collect()
    }

    /// Each run's time of a name, 0 where it has none.
    fn times(&self, name: Option<&str>) -> Vec<f64> {
        self.of_name(name, |sum| sum.total_ns as f64)
    }

    fn count(&self, name: Option<&str>) -> f64 {
        mean(&self.of_name(name, |sum| sum.count as f64))
    }

    fn median_ns(&self, name: Option<&str>) -> Option<f64> {
        let name = name?;
        let of = |sums: &BTreeMap<&str, &Sum>| sums.get(name).and_then(|sum| sum.median_ns);
        let medians: Vec<f64> = self.sums.iter().filter_map(of).collect();
        (!medians.is_empty()).then(|| mean(&medians))
    }
}

/// A name with `mark` in place of every number in it.
pub(super) fn numbers_as(name: &str, mark: char) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c.is_ascii_digit() {
            true if out.ends_with(mark) => {}
            true => out.push(mark),
            false => out.push(c),
        }
    }
    out
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The names of a side, with time and count added up over its runs.
fn names(runs: &[Run], by: By) -> BTreeMap<String, (f64, u64)> {
    let mut names: BTreeMap<String, (f64, u64)> = BTreeMap::new();
    for sum in runs.iter().flat_map(|run| run.sums_by(by)) {
        let (total_ns, count) = names.entry(sum.name.clone()).or_default();
        *total_ns += sum.total_ns as f64;
        *count += sum.count;
    }
    names
}

/// What times are to be of. Runs of equal length are compared whole; else per step, where steps are known; else by how much
/// more often everything was launched, if that is the same for nearly all of it.
fn unit(before: &[Run], after: &[Run], by: By, pairs: &[Pair]) -> Unit {
    let all = || before.iter().chain(after);
    let first = before.first().map_or(0, |run| run.steps);
    if all().all(|run| run.steps > 0) {
        return if all().all(|run| run.steps == first) { Unit::Run } else { Unit::Step };
    }
    let sides = [Side::new(before, by, Unit::Run, false), Side::new(after, by, Unit::Run, true)];
    let mut ratios: Vec<(f64, f64)> = Vec::new();
    for pair in pairs {
        let (Some(a), Some(b)) = (pair.before(), pair.after()) else { continue };
        let counts = [sides[0].count(Some(a)), sides[1].count(Some(b))];
        ratios.push((counts[1] / counts[0], mean(&sides[0].times(Some(a)))));
    }
    let all_ns: f64 = ratios.iter().map(|(_, ns)| ns).sum();
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sum_ns = 0.0;
    let middle = ratios.iter().find(|(_, ns)| {
        sum_ns += ns;
        sum_ns * 2.0 >= all_ns
    });
    let Some(&(factor, _)) = middle else { return Unit::Run };
    let near = |a: f64, b: f64| (a / b - 1.0).abs() * 100.0 <= SAME_COUNT_PERCENT;
    let alike_ns: f64 = ratios.iter().filter(|(ratio, _)| near(*ratio, factor)).map(|(_, ns)| ns).sum();
    match !near(factor, 1.0) && alike_ns >= 0.9 * all_ns {
        true => Unit::ScaledRun(factor),
        false => Unit::Run,
    }
}

/// Why a comparison would mean nothing.
fn obstacle(before: &[Run], after: &[Run], options: &Options, rows: &[Row], total: &Change) -> Option<String> {
    if let Some((run, why)) = before.iter().chain(after).find_map(|run| Some((run, run.obstacle.as_ref()?))) {
        return Some(format!("{}: {why}", run.source));
    }
    let what = options.by.what();
    for run in before.iter().chain(after) {
        if run.sums_by(options.by).is_empty() {
            return Some(format!("{}: the trace holds no {what}", run.source));
        }
    }
    let first = before.first()?;
    for run in before.iter().chain(after) {
        if !options.across_gpus && !first.gpus.is_empty() && !run.gpus.is_empty() && first.gpus != run.gpus {
            return Some(format!(
                "{} ran on {} and {} on {}; --across-gpus compares them all the same",
                first.source,
                first.gpus.join(", "),
                run.source,
                run.gpus.join(", ")
            ));
        }
        if first.processes != run.processes {
            return Some(format!(
                "{} has GPU work of {} and {} of {}",
                first.source,
                items(first.processes.into(), "process", "processes"),
                run.source,
                items(run.processes.into(), "process", "processes")
            ));
        }
    }
    let common = |of: fn(&Change) -> f64, all: f64| {
        let is_common = |row: &&Row| row.pair.before().is_some() && row.pair.after().is_some();
        let common: f64 = rows.iter().filter(is_common).map(|row| of(&row.change)).sum();
        if all > 0.0 { common * 100.0 / all } else { 100.0 }
    };
    let shares = [
        ("before", common(Change::before_ns, total.before_ns())),
        ("after", common(Change::after_ns, total.after_ns())),
    ];
    shares.iter().find(|(_, share)| *share < LEAST_COMMON_PERCENT).map(|(side, share)| {
        format!("only {share:.1} % of the time {side} is of {what} that the other side has too: these are different programs")
    })
}

#[cfg(test)]
mod tests;
