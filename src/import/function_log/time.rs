//! Dates and times as loggers write them: `2022-01-01T00:00:00.5+01:00`, `2022-01-01 00:00:00,500`.

use crate::error::{Error, Result};
use crate::os::local_time::unix_seconds;

/// The zone of a time that names none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Zone {
    /// This machine's: what Python's `datetime.now()` and `logging` write.
    #[default]
    Local,
    /// UTC.
    Utc,
    /// Seconds ahead of UTC.
    Ahead(i64),
}

impl std::str::FromStr for Zone {
    type Err = Error;

    fn from_str(text: &str) -> Result<Zone> {
        match text {
            "local" => Ok(Zone::Local),
            "utc" | "UTC" | "Z" => Ok(Zone::Utc),
            _ => offset(text).map(Zone::Ahead).ok_or_else(|| {
                Error::new(format!("\"{text}\" is not a time zone")).remedy("write local, utc, +01:00 or -0530")
            }),
        }
    }
}

/// `+01:00`, `-0530` or `+09` in seconds.
fn offset(text: &str) -> Option<i64> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let digits: String = rest.chars().filter(|c| *c != ':').collect();
    let is_right = matches!(digits.len(), 2 | 4) && digits.bytes().all(|b| b.is_ascii_digit());
    let number = |range: std::ops::Range<usize>| digits.get(range).and_then(|d| d.parse::<i64>().ok()).unwrap_or(0);
    let (hours, minutes) = (number(0..2), number(2..4));
    (is_right && hours <= 15 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

/// Unix nanoseconds of a date with a time; `None` if it is none.
pub fn parse(text: &str, zone: Zone) -> Option<i64> {
    let text = text.trim();
    let (date, rest) = (text.get(..10)?, text.get(10..)?);
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let number = |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse::<i64>().ok()).flatten();
    let separated = |at: usize| matches!(date.as_bytes().get(at), Some(b'-' | b'/'));
    if !separated(4) || !separated(7) {
        return None;
    }
    let (year, month, day) = (number(date.get(..4)?)?, number(date.get(5..7)?)?, number(date.get(8..)?)?);
    let zone_at = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (clock, named) = (rest[..zone_at].trim_end(), &rest[zone_at..]);
    let (whole, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, ""));
    let mut parts = whole.split(':').map(number);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?);
    let in_range = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    if !in_range || parts.next().is_some() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // Digits beyond nanoseconds say nothing.
    let fraction_ns = number(&format!("{:0<9}", fraction.get(..fraction.len().min(9))?))?;
    let ahead_s = match named {
        "" => None,
        "Z" | "z" => Some(0),
        other => Some(offset(other)?),
    };
    let utc_s = days_since_1970(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    let unix_s = match (ahead_s, zone) {
        (Some(ahead), _) | (None, Zone::Ahead(ahead)) => utc_s - ahead,
        (None, Zone::Utc) => utc_s,
        (None, Zone::Local) => unix_seconds([year, month, day, hour, minute, second])?,
    };
    unix_s.checked_mul(1_000_000_000)?.checked_add(fraction_ns)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March, so that the leap day is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// A date and time of Unix seconds, as people write it: `2022-01-01 00:00:00 UTC`.
pub fn text(unix_ns: i64) -> String {
    let seconds = unix_ns.div_euclid(1_000_000_000);
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year_of_era + carry;
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_loggers_write_is_read_to_the_nanosecond() {
        let s = 1_000_000_000i64;
        let new_year = 1_640_995_200 * s;
        for (text, expected) in [
            ("2022-01-01T00:00:00Z", new_year),
            ("2022-01-01 00:00:00,500", new_year + s / 2),
            ("2022-01-01T01:00:00.000000001+01:00", new_year + 1),
            ("2021-12-31T18:30:00-0530", new_year),
            ("2022/01/01 00:00", new_year),
            ("2000-02-29T00:00:00Z", 951_782_400 * s),
            ("1969-12-31T23:59:59Z", -s),
        ] {
            assert_eq!(parse(text, Zone::Utc), Some(expected), "{text}");
        }
        assert_eq!(parse("2022-01-01T00:00:00", Zone::Ahead(3_600)), Some(new_year - 3_600 * s));
        for bad in
            ["", "2022-01-01", "2022-13-01T00:00:00", "2022-01-01T25:00:00", "1640995200.0", "2022-01-01Tnoon"]
        {
            assert_eq!(parse(bad, Zone::Utc), None, "{bad}");
        }
    }

    #[test]
    fn times_are_printed_as_they_are_read() {
        for day in [-100_000i64, -1, 0, 59, 60, 11_016, 18_993, 19_000, 47_541] {
            let unix_ns = (day * 86_400 + 12_345) * 1_000_000_000;
            let printed = text(unix_ns);
            let iso = printed.replace(" UTC", "Z");
            if printed.len() == "2022-01-01 00:00:00 UTC".len() {
                assert_eq!(parse(&iso, Zone::Local), Some(unix_ns), "{printed}");
            }
        }
        assert_eq!(text(1_640_995_200_000_000_000), "2022-01-01 00:00:00 UTC");
    }

    #[test]
    fn zones_are_read() {
        let zone = |text: &str| text.parse::<Zone>().ok();
        assert_eq!(
            [zone("local"), zone("utc"), zone("+01:00")],
            [Some(Zone::Local), Some(Zone::Utc), Some(Zone::Ahead(3_600))]
        );
        assert_eq!(
            [zone("-0530"), zone("CET"), zone("+1"), zone("")],
            [Some(Zone::Ahead(-19_800)), None, None, None]
        );
    }
}
