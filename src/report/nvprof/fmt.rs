//! How nvprof writes a number: in text, value and unit together fill a cell of fixed width; in CSV it is `%f`.
//!
//! Two habits of nvprof's decide the last digit and are kept to the bit (checked against every number of the
//! golden files, `docs/nvprof-compat.md`):
//! - a value reaches its unit by *multiplication* with a power of ten (`ns * 1e-6`), not by division;
//! - text rounds half up by `floor(v * 10^d + 0.5)`, not as `printf` does: 40.0625 KB prints as `40.063KB`, and
//!   2,765 ns in scientific form as `2.76e+03`, because 2765 / 10 / 10 / 10 is a little less than 2.765.
//!   CSV does not round so: it is plain `%f`, and 7.8125e-3 KB prints as `0.007812`.

use crate::render::digits::push_fixed;
use std::fmt::Write as _;

/// What `--normalized-time-unit` (`-u`) asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    /// Each value in the unit that suits it. CSV has one unit per column all the same.
    #[default]
    Auto,
    /// One unit per column.
    Col,
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
}

impl TimeUnit {
    /// The name on the command line, the other way round.
    pub fn parse(name: &str) -> Option<TimeUnit> {
        Some(match name {
            "auto" => TimeUnit::Auto,
            "col" => TimeUnit::Col,
            "s" => TimeUnit::S,
            "ms" => TimeUnit::Ms,
            "us" => TimeUnit::Us,
            "ns" => TimeUnit::Ns,
            _ => return None,
        })
    }

    /// The unit that all times get, if one was asked for.
    pub fn fixed(self) -> Option<&'static Unit> {
        match self {
            TimeUnit::Auto | TimeUnit::Col => None,
            TimeUnit::Ns => Some(&TIME[0]),
            TimeUnit::Us => Some(&TIME[1]),
            TimeUnit::Ms => Some(&TIME[2]),
            TimeUnit::S => Some(&TIME[3]),
        }
    }
}

/// One unit of a scale.
#[derive(Debug, PartialEq)]
pub struct Unit {
    /// The name of the unit as it is printed.
    pub name: &'static str,
    /// Base values (ns, bytes, bytes per second) below this print in this unit.
    limit: f64,
    /// Base value to value in this unit.
    factor: f64,
    /// Whether values below 1000 are whole numbers and print as such: `704ns`, `19B`.
    whole: bool,
    /// Values in this unit from here on are printed in scientific form.
    scientific_from: f64,
}

const fn unit(name: &'static str, limit: f64, factor: f64, whole: bool) -> Unit {
    Unit { name, limit, factor, whole, scientific_from: 1e3 }
}

/// A throughput has one digit more before it becomes scientific: `1117.6GB/s`, but `1e+04GB/s`.
const fn rate_unit(name: &'static str, limit: f64, factor: f64) -> Unit {
    Unit { scientific_from: 1e4, ..unit(name, limit, factor, false) }
}

const K: f64 = 1024.0;

/// Times, in nanoseconds. There is no minute: 2,400 s are `2.4e+03s`.
pub static TIME: [Unit; 4] = [
    unit("ns", 1e3, 1.0, true),
    unit("us", 1e6, 1e-3, false),
    unit("ms", 1e9, 1e-6, false),
    unit("s", f64::INFINITY, 1e-9, false),
];

/// Sizes, in bytes. The divisor is 1024, but the next unit starts at 1000: 1,020 KB are `0.9961MB`. There is no TB:
/// 1,100 GB are `1e+03GB`.
pub static SIZE: [Unit; 4] = [
    unit("B", 1e3, 1.0, true),
    unit("KB", 1e3 * K, 1.0 / K, false),
    unit("MB", 1e3 * K * K, 1.0 / (K * K), false),
    unit("GB", f64::INFINITY, 1.0 / (K * K * K), false),
];

/// Throughputs, in bytes per second; scaled as sizes, but GB/s is the largest: 15,577 GB/s is `2e+04GB/s`.
pub static RATE: [Unit; 4] = [
    rate_unit("B/s", 1e3, 1.0),
    rate_unit("KB/s", 1e3 * K, 1.0 / K),
    rate_unit("MB/s", 1e3 * K * K, 1.0 / (K * K)),
    rate_unit("GB/s", f64::INFINITY, 1.0 / (K * K * K)),
];

/// The unit of `scale` that suits `value`.
pub fn suited(value: f64, scale: &'static [Unit]) -> &'static Unit {
    scale.iter().find(|u| value < u.limit).unwrap_or(&scale[scale.len() - 1])
}

/// A value in a unit.
pub fn in_unit(value: f64, unit: &Unit) -> f64 {
    value * unit.factor
}

/// Appends `value` with its unit, made to fill `width` characters (or fewer: `704ns`).
pub fn push_cell(out: &mut String, value: f64, scale: &'static [Unit], width: usize) {
    let unit = suited(value, scale);
    push_in_unit(out, value, unit, width - unit.name.len());
    out.push_str(unit.name);
}

/// A total of unified memory with its unit: as in a cell of ten characters, but nvprof gives one that it writes in
/// scientific form no decimals, `1e+03GB`.
pub fn total(value: f64, scale: &'static [Unit]) -> String {
    let unit = suited(value, scale);
    if in_unit(value, unit) < unit.scientific_from {
        return cell(value, scale, 10);
    }
    let mut out = String::new();
    push_scientific(&mut out, in_unit(value, unit), 0);
    out + unit.name
}

/// Appends `value` in `unit`, without naming it, made to fill `room` characters.
pub fn push_in_unit(out: &mut String, value: f64, unit: &Unit, room: usize) {
    if unit.whole && value < 1e3 {
        push_fixed(out, value, 0);
    } else {
        push_filled(out, value * unit.factor, room, unit.scientific_from);
    }
}

/// A time with its unit, e.g. `47.847us`.
#[cfg(test)]
fn time(ns: f64, width: usize) -> String {
    cell(ns, &TIME, width)
}

/// A size with its unit, e.g. `256.00KB`.
pub fn size(bytes: f64, width: usize) -> String {
    cell(bytes, &SIZE, width)
}

/// A throughput with its unit, e.g. `9.3842GB/s`; `None` for a copy that took no time.
#[cfg(test)]
fn throughput(bytes: i64, duration_ns: i64, width: usize) -> Option<String> {
    rate(bytes, duration_ns).map(|r| cell(r, &RATE, width))
}

/// Bytes per second, of which nvprof keeps the whole ones; `None` where no time passed.
pub fn rate(bytes: i64, duration_ns: i64) -> Option<f64> {
    let duration = i128::from(duration_ns);
    (duration > 0).then(|| (i128::from(bytes) * 1_000_000_000).div_euclid(duration) as f64)
}

fn cell(value: f64, scale: &'static [Unit], width: usize) -> String {
    let mut out = String::new();
    push_cell(&mut out, value, scale, width);
    out
}

/// A share in percent, with two decimals and no sign.
pub fn percent(part: u128, whole: u128) -> String {
    let mut out = String::new();
    push_percent(&mut out, part, whole);
    out
}

/// As [`percent`], at the end of `out`.
pub fn push_percent(out: &mut String, part: u128, whole: u128) {
    push_fixed(out, round(share(part, whole), 2), 2);
}

/// A share in percent. Nothing of nothing is 0.
pub fn share(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// Appends a number of a CSV cell: `%f`, except that bare nanoseconds and bytes below 1000 have no decimals.
pub fn push_csv(out: &mut String, value: f64, unit: &Unit) {
    if unit.whole && value < 1e3 {
        push_fixed(out, value, 0);
    } else {
        push_fixed(out, value * unit.factor, 6);
    }
}

/// Makes control characters in what `line` has from `start` on into spaces: a kernel's name may hold a line feed, and
/// must not tear its row apart, nor talk to the terminal.
pub fn flatten(line: &mut String, start: usize) {
    let is_plain = line.as_bytes()[start..].iter().all(|byte| matches!(byte, b' '..=b'~'));
    if !is_plain && line[start..].contains(char::is_control) {
        let flat = line[start..].replace(char::is_control, " ");
        line.truncate(start);
        line.push_str(&flat);
    }
}

/// Appends text as a CSV cell. nvprof writes quotes inside as they are, which no reader can undo; ours are doubled.
pub fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for (i, part) in text.split('"').enumerate() {
        if i > 0 {
            out.push_str("\"\"");
        }
        out.push_str(part);
    }
    out.push('"');
}

/// Digits behind the point that no cell exceeds, however wide it is.
const MOST_DECIMALS: usize = 6;

/// Appends a number that fills `room` characters: fixed point, or scientific where fixed point would say nothing
/// (below 0.01) or is not used (from `scientific_from`). Which of the two is decided before rounding.
fn push_filled(out: &mut String, v: f64, room: usize, scientific_from: f64) {
    if v >= scientific_from || (v > 0.0 && v < 0.01) {
        // "1.5e+03": four characters are the exponent, one each the digit and the point.
        return push_scientific(out, v, room.saturating_sub(6));
    }
    let whole_digits = match v {
        v if v < 10.0 => 1,
        v if v < 100.0 => 2,
        v if v < 1000.0 => 3,
        _ => 4,
    };
    let decimals = |whole_digits| room.saturating_sub(1 + whole_digits).min(MOST_DECIMALS);
    let rounded = round(v, decimals(whole_digits));
    // 999.996 rounds to a fourth digit before the point: one decimal less keeps the width, where there is no more room.
    let carried = rounded >= POWERS[whole_digits];
    push_fixed(out, rounded, decimals(whole_digits + usize::from(carried)));
}

fn push_scientific(out: &mut String, v: f64, decimals: usize) {
    let (mut mantissa, mut exponent) = (v, 0);
    // Step by step, as nvprof does: powi or log10 give other last bits, and ties then round the other way.
    while mantissa >= 10.0 {
        mantissa /= 10.0;
        exponent += 1;
    }
    while mantissa < 1.0 {
        mantissa *= 10.0;
        exponent -= 1;
    }
    mantissa = round(mantissa, decimals);
    if mantissa >= 10.0 {
        mantissa /= 10.0;
        exponent += 1;
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "{mantissa:.decimals$}e{sign}{:02}", i32::abs(exponent));
}

/// Powers of ten.
const POWERS: [f64; 7] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6];

/// Rounds half up at `decimals` digits after the point.
fn round(v: f64, decimals: usize) -> f64 {
    let power = POWERS.get(decimals).copied().unwrap_or_else(|| 10_f64.powi(decimals as i32));
    (v * power + 0.5).floor() / power
}

#[cfg(test)]
mod tests;
