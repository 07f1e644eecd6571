//! Points in time as people type them: `1.5s` after the start, `14:05:00` on the wall, `1650739307350458174` exactly.

use crate::error::{Error, Result};

/// A point in time, not yet placed in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Nanoseconds after the first record.
    AfterStart(i64),
    /// Nanoseconds as the trace counts them.
    Exactly(i64),
    /// Nanoseconds after midnight UTC, on the day of the first record or, if that is before it, the day after.
    OnTheWall(i64),
}

/// A length of time: `10us`, `1.5ms`, `2min`, `1h`, or plain nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length(pub i64);

impl std::str::FromStr for Length {
    type Err = Error;

    fn from_str(text: &str) -> Result<Length> {
        let longer = [("min", 60), ("h", 3_600)];
        let long = longer.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)));
        if let Some((number, seconds)) = long
            && let Some(ns) = decimal_ns(number, 9).and_then(|ns| ns.checked_mul(seconds)).filter(|&ns| ns >= 0)
        {
            return Ok(Length(ns));
        }
        let units = [("ns", 0), ("us", 3), ("ms", 6), ("s", 9)];
        let unit = units.iter().find_map(|(unit, digits)| Some((text.strip_suffix(unit)?, *digits)));
        let (number, digits) = unit.unwrap_or((text, 0));
        decimal_ns(number, digits).filter(|&ns| ns >= 0).map(Length).ok_or_else(|| {
            Error::new(format!("\"{text}\" is not a length of time"))
                .remedy("write 1.5s, 200ms, 10us, 5ns, 2min or 1h")
        })
    }
}

const DAY_NS: i64 = 86_400_000_000_000;

impl std::str::FromStr for When {
    type Err = Error;

    fn from_str(text: &str) -> Result<When> {
        let bad = || {
            Error::new(format!("\"{text}\" is not a time")).remedy(
                "write 1.5s, 200ms, 10us or 5ns after the first record, HH:MM:SS UTC, or nanoseconds as listed",
            )
        };
        if text.contains(':') {
            let parts: Vec<&str> = text.split(':').collect();
            let [hours, minutes, seconds] = parts[..] else { return Err(bad()) };
            let whole = |part: &str, below: i64| part.parse::<i64>().ok().filter(|v| (0..below).contains(v));
            let seconds = decimal_ns(seconds, 9).filter(|&ns| (0..60_000_000_000).contains(&ns));
            let (Some(h), Some(m), Some(ns)) = (whole(hours, 24), whole(minutes, 60), seconds) else {
                return Err(bad());
            };
            return Ok(When::OnTheWall((h * 60 + m) * 60_000_000_000 + ns));
        }
        for (unit, digits) in [("ns", 0), ("us", 3), ("ms", 6), ("s", 9)] {
            if let Some(number) = text.strip_suffix(unit) {
                return decimal_ns(number, digits).map(When::AfterStart).ok_or_else(bad);
            }
        }
        text.parse().map(When::Exactly).map_err(|_| bad())
    }
}

/// `number` of a unit of 10^`digits` ns, exactly; `None` if it is no decimal or finer than a nanosecond.
fn decimal_ns(number: &str, digits: usize) -> Option<i64> {
    let (sign, unsigned) = number.strip_prefix('-').map_or((1, number), |rest| (-1, rest));
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || fraction.len() > digits || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    format!("{whole}{fraction:0<digits$}").parse::<i64>().ok().map(|ns| sign * ns)
}

impl When {
    /// The time in the trace's own counting, given when its first record starts.
    pub fn in_trace(self, start_ns: i64) -> i64 {
        match self {
            When::AfterStart(ns) => start_ns.saturating_add(ns),
            When::Exactly(ns) => ns,
            When::OnTheWall(ns) => {
                let midnight = start_ns.div_euclid(DAY_NS) * DAY_NS;
                let that_day = midnight.saturating_add(ns);
                if that_day < start_ns - DAY_NS / 2 { that_day + DAY_NS } else { that_day }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_exactly() {
        let parse = |text: &str| text.parse::<When>();
        assert_eq!(parse("1.5s"), Ok(When::AfterStart(1_500_000_000)));
        assert_eq!(parse("-0.25ms"), Ok(When::AfterStart(-250_000)));
        assert_eq!(parse("7ns"), Ok(When::AfterStart(7)));
        assert_eq!(parse("1650739307350458174"), Ok(When::Exactly(1_650_739_307_350_458_174)));
        assert_eq!(parse("14:05:00.5"), Ok(When::OnTheWall(50_700_500_000_000)));
        for bad in ["", "s", "1.5", "1.5ns", "25:00:00", "1:2", "1e3s", "ten"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lengths_are_read_exactly() {
        let parse = |text: &str| text.parse::<Length>().ok().map(|length| length.0);
        assert_eq!(
            [parse("10us"), parse("1.5s"), parse("7"), parse("0.5h")],
            [10_000, 1_500_000_000, 7, 1_800_000_000_000].map(Some)
        );
        assert_eq!(parse("2min"), Some(120_000_000_000));
        for bad in ["", "s", "h", "-1s", "-1min", "1d", "9999999999h", "1.5"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn wall_clock_times_after_midnight_belong_to_the_next_day() {
        let late = 19_000 * DAY_NS + 23 * 3_600_000_000_000;
        assert_eq!(When::OnTheWall(3_600_000_000_000).in_trace(late), 19_001 * DAY_NS + 3_600_000_000_000);
        let early = 19_000 * DAY_NS + 60;
        assert_eq!(When::OnTheWall(3_600_000_000_000).in_trace(early), 19_000 * DAY_NS + 3_600_000_000_000);
    }
}
