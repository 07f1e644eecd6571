//! What all views share: one value that says everything about a view, and the cells of its table.

use super::super::{Context, View};
use crate::analysis::stats::Stats;
use crate::error::{Error, Result};
use crate::render::table::{Cell, Heading, Table};
use crate::trace::frames::Frames;
use crate::trace::sink::{Detail, Need};
use std::ops::RangeInclusive;
use trace_format::schema::TableSpec;
use trace_format::tables;

/// A view as a value.
pub struct Named {
    /// The name nsys gives it.
    pub name: &'static str,
    /// Names it had before.
    pub aliases: &'static [&'static str],
    /// The title.
    pub title: &'static str,
    /// Tables that have to be read.
    pub tables: &'static [&'static TableSpec],
    /// How much of each row.
    pub detail: Detail,
    /// Arguments that may follow the name.
    pub arguments: &'static [&'static str],
    /// The columns that tell rows apart; none: the rows are records, or there is one.
    pub key: &'static [&'static str],
    /// Makes the table.
    pub make: fn(&Named, &Context) -> Result<Table>,
}

impl View for Named {
    fn name(&self) -> &'static str {
        self.name
    }

    fn aliases(&self) -> &'static [&'static str] {
        self.aliases
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn need(&self) -> Need {
        // PyTorch's operators are ranges too; who asks for ranges asks for them.
        let operators = self.tables.contains(&&tables::RANGE);
        Need { tables: self.tables.to_vec(), detail: self.detail, operators }
    }

    fn arguments(&self) -> &'static [&'static str] {
        self.arguments
    }

    fn table(&self, context: &Context) -> Result<Table> {
        (self.make)(self, context)
    }
}

impl Named {
    /// An empty table with columns of numbers, then columns of text.
    pub(super) fn empty(&self, numbers: &[&'static str], texts: &[&'static str]) -> Table {
        let heading = |is_text| move |&name: &&'static str| Heading { name, is_text };
        let headings = numbers.iter().map(heading(false)).chain(texts.iter().map(heading(true)));
        Table::new(self.name, self.title, headings.collect()).with_key(self.key)
    }

    /// An empty table; of `columns`, those in `texts` hold text.
    pub(super) fn mixed(&self, columns: &[&'static str], texts: &[&'static str]) -> Table {
        let heading = |&name: &&'static str| Heading { name, is_text: texts.contains(&name) };
        Table::new(self.name, self.title, columns.iter().map(heading).collect()).with_key(self.key)
    }
}

/// `numerator / denominator` with this many decimals, halves rounded up, which is what nsys prints: a mean of 4639.95
/// is 4640.0, though the nearest binary fraction lies below it.
pub(super) fn ratio(numerator: u128, denominator: u128, decimals: usize) -> Cell {
    if denominator == 0 {
        return Cell::Fixed(0.0, decimals);
    }
    let scale = 10_u128.pow(decimals as u32);
    let rounded = match numerator.checked_mul(2 * scale) {
        Some(scaled) => ((scaled + denominator) / (2 * denominator)) as f64 / scale as f64,
        None => numerator as f64 / denominator as f64,
    };
    Cell::Fixed(rounded, decimals)
}

/// As [`ratio`], of a numerator that may be negative: halves are rounded away from zero.
pub(super) fn signed_ratio(numerator: i128, denominator: u128, decimals: usize) -> Cell {
    match ratio(numerator.unsigned_abs(), denominator, decimals) {
        // There is no negative zero.
        Cell::Fixed(value, decimals) if numerator < 0 && value != 0.0 => Cell::Fixed(-value, decimals),
        cell => cell,
    }
}

/// `part` of `whole` in percent.
pub(super) fn percent(part: u128, whole: u128) -> Cell {
    ratio(part.saturating_mul(100), whole, 1)
}

/// nsys's MB is 10^6 bytes, with three decimals.
pub(super) const MB: u128 = 1_000_000;

/// Bytes as MB.
pub(super) fn megabytes(bytes: i64) -> Cell {
    ratio(bytes.max(0) as u128, MB, 3)
}

/// MB per second; nothing without a time.
pub(super) fn throughput(bytes: u128, ns: u128) -> Cell {
    if ns == 0 { Cell::Null } else { ratio(bytes.saturating_mul(1000), ns, 3) }
}

/// Mean, median, smallest, largest and sample deviation, counted in `unit`s. Without any value all are empty but the
/// deviation, which nsys prints as 0.
pub(super) fn five_in(stats: &mut Stats, unit: u128, decimals: usize) -> [Cell; 5] {
    let deviation = Cell::Fixed(stats.sample_stddev_ns() / unit as f64, decimals);
    let Some(median_times_2) = stats.durations.median_times_2() else {
        return [Cell::Null, Cell::Null, Cell::Null, Cell::Null, deviation];
    };
    let extreme = |value: i64| match unit {
        1 => Cell::int(value),
        _ => ratio(value.max(0) as u128, unit, decimals),
    };
    [
        ratio(stats.total_ns, u128::from(stats.count).saturating_mul(unit), decimals),
        ratio(median_times_2.max(0) as u128, unit.saturating_mul(2), decimals),
        extreme(stats.min_ns),
        extreme(stats.max_ns),
        deviation,
    ]
}

/// The five statistics of nanoseconds.
pub(super) fn five(stats: &mut Stats) -> [Cell; 5] {
    five_in(stats, 1, 1)
}

/// The value of an argument `KEY=NUMBER` of a view, of which only some are `allowed`; of two, the later one counts.
///
/// # Errors
/// Fails if the value is no such number; the error says what it `means`.
pub(super) fn number_argument(
    view: &Named,
    context: &Context,
    key: &str,
    otherwise: u32,
    allowed: RangeInclusive<u32>,
    means: &str,
) -> Result<u32> {
    let of_key = |argument: &&String| argument.split('=').next() == Some(key);
    let Some(argument) = context.arguments.iter().rev().find(of_key) else { return Ok(otherwise) };
    let number = argument.strip_prefix(key).and_then(|rest| rest.strip_prefix('=')?.parse().ok());
    number.filter(|number| allowed.contains(number)).ok_or_else(|| {
        let (least, most) = allowed.into_inner();
        let range = if most == u32::MAX { format!("{least} or more") } else { format!("from {least} to {most}") };
        Error::new(format!("--view {}:{argument}: write {key}={otherwise}", view.name))
            .remedy(&format!("{key} is {means}, {range}"))
    })
}

/// The process's pid.
pub(super) fn pid(frames: &Frames, process: u32) -> Cell {
    Cell::opt_id(frames.processes.get(process as usize).and_then(|p| p.info.pid))
}

/// Turns the Unix times of listings back into what the trace says.
///
/// nsys counts from the start of the session and so does one file here. Several files have several starts, but one
/// table has one clock: the earliest start among them. Traces without an epoch keep their own zero.
pub(super) struct Clock {
    origin_ns: i64,
}

impl Clock {
    /// The clock of all open traces.
    pub(super) fn new(frames: &Frames) -> Self {
        Clock { origin_ns: frames.origin_ns().unwrap_or(0) }
    }

    /// A time of a process.
    pub(super) fn cell(&self, frames: &Frames, process: u32, time_ns: i64) -> Cell {
        let has_epoch = frames.processes.get(process as usize).is_some_and(|p| p.info.epoch_ns().is_some());
        Cell::int(if has_epoch { i128::from(time_ns) - i128::from(self.origin_ns) } else { i128::from(time_ns) })
    }
}
