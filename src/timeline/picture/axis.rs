//! The time axis: round steps, and times as text, from integers alone.

/// One mark of the axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Where it is, from the origin.
    pub at_ns: u64,
    /// What stands there.
    pub label: String,
}

/// Units of time, largest first.
const UNITS: [(u64, &str); 4] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns")];

/// Marks at round times from `from_ns` to `to_ns` (from the origin), at most `most` of them but at least one step.
pub fn ticks(from_ns: u64, to_ns: u64, most: u64) -> Vec<Tick> {
    let step = step(to_ns.saturating_sub(from_ns), most.max(1));
    let (unit, name) = unit_of(to_ns);
    // Digits after the point that the step needs.
    let mut digits = 0;
    while digits < 9 && (u128::from(step) * 10_u128.pow(digits)) % u128::from(unit) != 0 {
        digits += 1;
    }
    let first = from_ns.div_ceil(step);
    let last = to_ns / step;
    let tick = |i: u64| {
        let at_ns = i * step;
        let label = if at_ns == 0 { "0".to_owned() } else { format!("{} {name}", decimal(at_ns, unit, digits)) };
        Tick { at_ns, label }
    };
    (first..=last).map(tick).collect()
}

/// The smallest of 1, 2, 5, 10, 20, … that needs no more than `most` steps.
fn step(length_ns: u64, most: u64) -> u64 {
    let mut power = 1_u64;
    loop {
        for digit in [1, 2, 5] {
            let Some(step) = power.checked_mul(digit) else { return power };
            if length_ns / step <= most {
                return step;
            }
        }
        let Some(next) = power.checked_mul(10) else { return power };
        power = next;
    }
}

fn unit_of(ns: u64) -> (u64, &'static str) {
    UNITS.into_iter().find(|(unit, _)| ns >= *unit).unwrap_or((1, "ns"))
}

/// `ns` in the unit, cut after so many digits.
fn decimal(ns: u64, unit: u64, digits: u32) -> String {
    let whole = ns / unit;
    if digits == 0 {
        return whole.to_string();
    }
    let fraction = u128::from(ns % unit) * 10_u128.pow(digits) / u128::from(unit);
    format!("{whole}.{fraction:0digits$}", digits = digits as usize)
}

/// A duration in the unit that suits it, exactly.
pub fn duration(ns: u64) -> String {
    let (unit, name) = unit_of(ns);
    let text = decimal(ns, unit, unit.ilog10());
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {name}")
}

/// A share in per cent with one digit after the point, rounded to the nearest; what is not quite all never reads
/// 100.0, and what is too little to read is not 0.0.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let (part, whole) = (u128::from(part), u128::from(whole));
    let mut tenths = (part * 2000 + whole) / (2 * whole);
    if part > 0 && tenths == 0 {
        return "<0.1 %".to_owned();
    }
    if part < whole {
        tenths = tenths.min(999);
    }
    format!("{}.{} %", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(from: u64, to: u64, most: u64) -> Vec<String> {
        ticks(from, to, most).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(labels(0, 1_000_000_000, 5), ["0", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1.0 s"]);
        assert_eq!(labels(0, 73_000, 4), ["0", "20 µs", "40 µs", "60 µs"]);
        assert_eq!(labels(0, 0, 5), ["0"]);
        assert_eq!(labels(0, 3, 5), ["0", "1 ns", "2 ns", "3 ns"]);
        assert_eq!(labels(1_500_000_000, 1_504_000_000, 3), ["1.500 s", "1.502 s", "1.504 s"]);
        for length in (0..63).map(|k| 1_u64 << k).chain([u64::MAX]) {
            for most in 1..12 {
                assert!(ticks(0, length, most).len() as u64 <= most + 1, "{length} {most}");
            }
        }
    }

    #[test]
    fn durations_lose_nothing() {
        assert_eq!(duration(1_234_567_890), "1.23456789 s");
        assert_eq!(duration(2_000_000), "2 ms");
        assert_eq!(duration(1_050), "1.05 µs");
        assert_eq!(duration(7), "7 ns");
        assert_eq!(duration(0), "0 ns");
    }

    #[test]
    fn shares_say_all_and_nothing_only_where_it_is() {
        assert_eq!(percent(1, 3), "33.3 %");
        assert_eq!(percent(0, 3), "0.0 %");
        assert_eq!(percent(1, u64::MAX), "<0.1 %");
        assert_eq!(percent(1, 2000), "0.1 %");
        assert_eq!(percent(u64::MAX - 1, u64::MAX), "99.9 %");
        assert_eq!(percent(5, 5), "100.0 %");
    }
}
