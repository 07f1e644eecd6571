//! How nvprof writes a number: in text, value and unit together fill a cell of fixed width; in CSV it is `%f`.
//!
//! Two habits of nvprof's decide the last digit and are kept to the bit (checked against every number of the
//! golden files, `docs/nvprof-compat.md`):
//! - a value reaches its unit by *multiplication* with a power of ten (`ns * 1e-6`), not by division;
//! - text rounds half up by `floor(v * 10^d + 0.5)`, not as `printf` does: 40.0625 KB prints as `40.063KB`, and
//!   2,765 ns in scientific form as `2.76e+03`, because 2765 / 10 / 10 / 10 is a little less than 2.765.
//!   CSV does not round so: it is plain `%f`, and 7.8125e-3 KB prints as `0.007812`.

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
    /// As printed.
    pub name: &'static str,
    /// Base values (ns, bytes, bytes per second) below this print in this unit.
    limit: f64,
    /// Base value to value in this unit.
    factor: f64,
    /// Whether values below 1000 are whole numbers and print as such: `704ns`, `19B`.
    whole: bool,
}

const fn unit(name: &'static str, limit: f64, factor: f64, whole: bool) -> Unit {
    Unit { name, limit, factor, whole }
}

const K: f64 = 1024.0;

/// Times, in nanoseconds. There is no minute: 2,400 s are `2.4e+03s`.
pub static TIME: [Unit; 4] = [
    unit("ns", 1e3, 1.0, true),
    unit("us", 1e6, 1e-3, false),
    unit("ms", 1e9, 1e-6, false),
    unit("s", f64::INFINITY, 1e-9, false),
];

/// Sizes, in bytes. The divisor is 1024, but the next unit starts at 1000: 1,020 KB are `0.9961MB`.
pub static SIZE: [Unit; 5] = [
    unit("B", 1e3, 1.0, true),
    unit("KB", 1e3 * K, 1.0 / K, false),
    unit("MB", 1e3 * K * K, 1.0 / (K * K), false),
    unit("GB", 1e3 * K * K * K, 1.0 / (K * K * K), false),
    unit("TB", f64::INFINITY, 1.0 / (K * K * K * K), false),
];

/// Throughputs, in bytes per second; scaled as sizes, but GB/s is the largest: 15,577 GB/s is `2e+04GB/s`.
pub static RATE: [Unit; 4] = [
    unit("B/s", 1e3, 1.0, false),
    unit("KB/s", 1e3 * K, 1.0 / K, false),
    unit("MB/s", 1e3 * K * K, 1.0 / (K * K), false),
    unit("GB/s", f64::INFINITY, 1.0 / (K * K * K), false),
];

/// The unit of `scale` that suits `value`.
pub fn suited(value: f64, scale: &'static [Unit]) -> &'static Unit {
    scale.iter().find(|u| value < u.limit).unwrap_or(&scale[scale.len() - 1])
}

/// Appends `value` with its unit, made to fill `width` characters (or fewer: `704ns`).
pub fn push_cell(out: &mut String, value: f64, scale: &'static [Unit], width: usize) {
    let unit = suited(value, scale);
    push_in_unit(out, value, unit, width - unit.name.len());
    out.push_str(unit.name);
}

/// Appends `value` in `unit`, without naming it, made to fill `room` characters.
pub fn push_in_unit(out: &mut String, value: f64, unit: &Unit, room: usize) {
    if unit.whole && value < 1e3 {
        let _ = write!(out, "{value:.0}");
    } else {
        push_filled(out, value * unit.factor, room);
    }
}

/// A time with its unit, e.g. `47.847us`.
pub fn time(ns: f64, width: usize) -> String {
    cell(ns, &TIME, width)
}

/// A size with its unit, e.g. `256.00KB`.
pub fn size(bytes: f64, width: usize) -> String {
    cell(bytes, &SIZE, width)
}

/// A throughput with its unit, e.g. `9.3842GB/s`; `None` for a copy that took no time.
pub fn throughput(bytes: i64, duration_ns: i64, width: usize) -> Option<String> {
    rate(bytes, duration_ns).map(|r| cell(r, &RATE, width))
}

/// Bytes per second; `None` where no time passed.
pub fn rate(bytes: i64, duration_ns: i64) -> Option<f64> {
    (duration_ns > 0).then(|| bytes as f64 / (duration_ns as f64 * 1e-9))
}

fn cell(value: f64, scale: &'static [Unit], width: usize) -> String {
    let mut out = String::new();
    push_cell(&mut out, value, scale, width);
    out
}

/// A share in percent, with two decimals and no sign.
pub fn percent(part: u128, whole: u128) -> String {
    format!("{:.2}", round(share(part, whole), 2))
}

/// A share in percent. Nothing of nothing is 0.
pub fn share(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// Appends a number of a CSV cell: `%f`, except that bare nanoseconds and bytes below 1000 have no decimals.
pub fn push_csv(out: &mut String, value: f64, unit: &Unit) {
    let _ = if unit.whole && value < 1e3 {
        write!(out, "{value:.0}")
    } else {
        write!(out, "{:.6}", value * unit.factor)
    };
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

/// Appends a number that fills `room` characters: fixed point, or scientific where fixed point would say nothing
/// (below 0.01) or not fit (from 1000). Which of the two is decided before rounding.
fn push_filled(out: &mut String, v: f64, room: usize) {
    if v >= 1e3 || (v > 0.0 && v < 0.01) {
        return push_scientific(out, v, room);
    }
    let whole_digits = if v < 10.0 {
        1
    } else if v < 100.0 {
        2
    } else {
        3
    };
    let decimals = room.saturating_sub(1 + whole_digits);
    let rounded = round(v, decimals);
    // 999.996 rounds to a fourth digit before the point: one decimal less keeps the width.
    let carried = whole_digits < 4 && rounded >= 10_f64.powi(whole_digits as i32) && decimals > 0;
    let _ = write!(out, "{:.*}", decimals - usize::from(carried), rounded);
}

fn push_scientific(out: &mut String, v: f64, room: usize) {
    // "1.5e+03": four characters are the exponent, one each the digit and the point.
    let decimals = room.saturating_sub(6);
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

/// Rounds half up at `decimals` digits after the point.
fn round(v: f64, decimals: usize) -> f64 {
    let power = 10_f64.powi(decimals as i32);
    (v * power + 0.5).floor() / power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_unit(ns: u64, unit: TimeUnit) -> String {
        let mut out = String::new();
        push_in_unit(&mut out, ns as f64, unit.fixed().unwrap(), 8);
        out
    }

    fn csv(value: f64, unit: &Unit) -> String {
        let mut out = String::new();
        push_csv(&mut out, value, unit);
        out
    }

    #[test]
    fn times_fill_eight_characters() {
        for (ns, expected) in [
            (0, "0ns"),
            (47, "47ns"),
            (999, "999ns"),
            (1_000, "1.0000us"),
            (1_696, "1.6960us"),
            (88_886, "88.886us"),
            (371_036, "371.04us"),
            (1_036_800, "1.0368ms"),
            (681_920_000, "681.92ms"),
            (1_256_670_000, "1.25667s"),
            (8_569_440_000, "8.56944s"),
            (86_676_800_000, "86.6768s"),
            (2_400_760_000_000_u64, "2.4e+03s"),
        ] {
            assert_eq!(time(ns as f64, 8), expected);
        }
    }

    #[test]
    fn times_fill_ten_characters_in_the_unified_memory_table() {
        for (ns, expected) in
            [(8_288, "8.288000us"), (699_179, "699.1790us"), (1_635_900, "1.635900ms"), (12_247_350, "12.24735ms")]
        {
            assert_eq!(time(f64::from(ns), 10), expected);
        }
    }

    #[test]
    fn sizes_divide_by_1024_and_switch_at_1000() {
        for (bytes, width, expected) in [
            (0, 8, "0B"),
            (999, 8, "999B"),
            (1_142, 8, "1.1152KB"),
            (4_096, 8, "4.0000KB"),
            (634_880, 8, "620.00KB"),
            (1_015_808, 8, "992.00KB"),
            (1_040_384, 8, "0.9922MB"),
            (1_044_480, 8, "0.9961MB"),
            (80_000_000, 8, "76.294MB"),
            (8_400_896, 10, "8.011719MB"),
            (16 << 20, 10, "16.00000MB"),
            (41_024, 8, "40.063KB"),
            (156_800, 8, "153.13KB"),
        ] {
            assert_eq!(size(f64::from(bytes), width), expected);
        }
    }

    #[test]
    fn throughputs_scale_as_sizes() {
        for (bytes, ns, expected) in [
            (1, 1_280, "762.94KB/s"),
            (8, 896, "8.5149MB/s"),
            (4_096, 1_184, "3.2219GB/s"),
            (262_144, 26_016, "9.3842GB/s"),
            (1_048_576, 87_011, "11.223GB/s"),
            (3_200, 3_008, "0.9908GB/s"),
            (12_845_056, 768, "2e+04GB/s"),
        ] {
            assert_eq!(throughput(bytes, ns, 10).as_deref(), Some(expected));
        }
        assert_eq!(throughput(8, 0, 10), None);
    }

    #[test]
    fn a_forced_unit_leaves_the_cell_to_the_number() {
        for (ns, unit, expected) in [
            (81_435, TimeUnit::Ms, "0.081435"),
            (2_683_068_000, TimeUnit::Ms, "2.68e+03"),
            (2_050, TimeUnit::Ms, "2.05e-03"),
            (9_999, TimeUnit::Ms, "1.00e-02"),
            (0, TimeUnit::Ms, "0.000000"),
            (896, TimeUnit::Ns, "896"),
            (1_056, TimeUnit::Ns, "1.06e+03"),
        ] {
            assert_eq!(in_unit(ns, unit), expected);
        }
    }

    #[test]
    fn ties_round_as_nvprof_rounds_them() {
        for (ns, unit, expected) in [
            (2_765, TimeUnit::Ns, "2.76e+03"),
            (3_105, TimeUnit::Ns, "3.11e+03"),
            (1_025, TimeUnit::Ns, "1.02e+03"),
            (9_515, TimeUnit::Ms, "9.51e-03"),
            (9_515, TimeUnit::S, "9.52e-06"),
            (8_165, TimeUnit::Ms, "8.16e-03"),
            (8_165, TimeUnit::Ns, "8.17e+03"),
            (26_993_025, TimeUnit::Ms, "26.99303"),
        ] {
            assert_eq!(in_unit(ns, unit), expected);
        }
        assert_eq!(time(145_265.0, 8), "145.27us");
        assert_eq!(time(704_045.0, 8), "704.05us");
    }

    #[test]
    fn rounding_up_never_widens_a_cell() {
        assert_eq!(time(999_996.0, 8), "1000.0us");
        assert_eq!(time(9_999_960.0, 8), "10.000ms");
        assert_eq!(in_unit(99_999, TimeUnit::Ns), "1.00e+05");
    }

    #[test]
    fn csv_is_printf() {
        assert_eq!(csv(50_617.0, &TIME[1]), "50.617000");
        assert_eq!(csv(896.0, &TIME[0]), "896");
        assert_eq!(csv(13_440.0, &TIME[0]), "13440.000000");
        assert_eq!(csv(8.0, &SIZE[1]), "0.007812");
        assert_eq!(csv(1_028.0, &SIZE[1]), "1.003906");
        assert_eq!(csv(rate(1_028, 1_888).unwrap(), &RATE[3]), "0.507097");
        assert_eq!(csv(0.0, &SIZE[0]), "0");
    }

    #[test]
    fn quotes_in_csv_text_are_doubled() {
        let mut out = String::new();
        push_quoted(&mut out, r#"operator""_x"#);
        assert_eq!(out, r#""operator""""_x""#);
    }

    #[test]
    fn percent_of_nothing_is_zero() {
        assert_eq!(percent(0, 0), "0.00");
        assert_eq!(percent(7, 7), "100.00");
        assert_eq!(percent(28_851, 41_138), "70.13");
    }
}
