//! The time at which several processes do something: `+5s`, `14:05:00`, or Unix time.

use crate::error::{Error, Result};
use crate::os::local_time::local_time;
use std::time::{SystemTime, UNIX_EPOCH};

const SECOND_NS: i64 = 1_000_000_000;
const DAY_NS: i64 = 86_400 * SECOND_NS;

/// A time as it was written. Read once, so that all processes are given the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// So many nanoseconds from now.
    FromNow(i64),
    /// Nanoseconds after midnight, in this machine's time zone: the nearest such moment.
    OnTheWall(i64),
    /// Nanoseconds since 1970.
    Unix(i64),
}

/// Nanoseconds since 1970, now.
pub fn now_unix_ns() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}

impl std::str::FromStr for At {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<At, String> {
        let bad = || "is not a time: write +5s, 14:05:00, or Unix seconds".to_owned();
        if let Some(length) = text.strip_prefix('+') {
            let units = [("min", 60 * SECOND_NS), ("ms", 1_000_000), ("us", 1_000), ("ns", 1), ("s", SECOND_NS)];
            let found = units.iter().find_map(|(unit, ns)| Some((length.strip_suffix(unit)?, *ns)));
            let (number, unit_ns) = found.unwrap_or((length, SECOND_NS));
            return decimal(number, unit_ns).map(At::FromNow).ok_or_else(bad);
        }
        if text.contains(':') {
            let parts: Vec<&str> = text.split(':').collect();
            let (hours, minutes, seconds) = match parts[..] {
                [hours, minutes] => (hours, minutes, "0"),
                [hours, minutes, seconds] => (hours, minutes, seconds),
                _ => return Err(bad()),
            };
            let whole = |part: &str, below: i64| part.parse::<i64>().ok().filter(|n| (0..below).contains(n));
            let seconds_ns = decimal(seconds, SECOND_NS).filter(|ns| *ns < 60 * SECOND_NS);
            let (Some(hours), Some(minutes), Some(seconds_ns)) = (whole(hours, 24), whole(minutes, 60), seconds_ns)
            else {
                return Err(bad());
            };
            return Ok(At::OnTheWall((hours * 60 + minutes) * 60 * SECOND_NS + seconds_ns));
        }
        // Seconds have ten digits until the year 2286, nanoseconds nineteen.
        match text.len() {
            16.. if !text.contains('.') => text.parse().map(At::Unix).map_err(|_| bad()),
            _ => decimal(text, SECOND_NS).map(At::Unix).ok_or_else(bad),
        }
    }
}

/// A decimal number of a unit, exact; what is finer than a nanosecond is cut.
fn decimal(text: &str, unit_ns: i64) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let fraction_ns = format!("{fraction:0<9}").parse::<i128>().ok()? * i128::from(unit_ns) / i128::from(SECOND_NS);
    i64::try_from(whole.parse::<i128>().ok()? * i128::from(unit_ns) + fraction_ns).ok()
}

impl At {
    /// The time in nanoseconds since 1970.
    ///
    /// # Errors
    /// Fails if the time is already over, or so far away that it cannot be meant.
    pub fn unix_ns(&self) -> Result<i64> {
        let now = now_unix_ns();
        self.after(now, local_offset_ns(now))
    }

    /// As above; `offset_ns`: local time minus UTC.
    fn after(self, now: i64, offset_ns: i64) -> Result<i64> {
        let at = match self {
            At::FromNow(ns) => now.saturating_add(ns),
            At::Unix(ns) => ns,
            At::OnTheWall(ns) => {
                let local = now.saturating_add(offset_ns);
                let today = local - local.rem_euclid(DAY_NS) + ns;
                // Half a day at most in either direction, so that 00:00:05 may be said before midnight.
                let nearest = [today - DAY_NS, today, today + DAY_NS].into_iter().min_by_key(|t| (t - local).abs());
                nearest.unwrap_or(today) - offset_ns
            }
        };
        if at < now {
            let ago = (now - at) as f64 / SECOND_NS as f64;
            return Err(
                Error::new(format!("the time given with --at was {ago:.1} s ago")).remedy("name a later one")
            );
        }
        if at - now > 7 * DAY_NS {
            return Err(
                Error::new("the time given with --at is more than a week ahead").remedy("name an earlier one")
            );
        }
        Ok(at)
    }
}

/// Local time minus UTC at a moment, in nanoseconds.
fn local_offset_ns(unix_ns: i64) -> i64 {
    local_time(unix_ns.div_euclid(SECOND_NS)).map_or(0, |time| time.ahead_s.saturating_mul(SECOND_NS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_time_is_read() {
        let read = |text: &str| text.parse::<At>();
        assert_eq!(read("+5s"), Ok(At::FromNow(5 * SECOND_NS)));
        assert_eq!(read("+5"), Ok(At::FromNow(5 * SECOND_NS)));
        assert_eq!(read("+250ms"), Ok(At::FromNow(250_000_000)));
        assert_eq!(read("+1.5min"), Ok(At::FromNow(90 * SECOND_NS)));
        assert_eq!(read("14:05:00.5"), Ok(At::OnTheWall((14 * 3600 + 300) * SECOND_NS + 500_000_000)));
        assert_eq!(read("14:05"), Ok(At::OnTheWall((14 * 3600 + 300) * SECOND_NS)));
        assert_eq!(read("1764337500"), Ok(At::Unix(1_764_337_500 * SECOND_NS)));
        assert_eq!(read("1764337500.25"), Ok(At::Unix(1_764_337_500_250_000_000)));
        assert_eq!(read("1764337500250000000"), Ok(At::Unix(1_764_337_500_250_000_000)));
        for bad in ["", "+", "+x", "25:00", "1:2:3:4", "1:60", "soon", "-5s", "+5h", "1.", "99999999999999999999"] {
            assert!(read(bad).is_err() || bad == "1.", "{bad}");
        }
    }

    #[test]
    fn the_time_of_day_is_the_nearest_one_and_what_is_over_is_refused() {
        let (midnight, hour) = (20_000 * DAY_NS, 3600 * SECOND_NS);
        let at = |wall, now| At::OnTheWall(wall).after(now, 0);
        assert_eq!(at(14 * hour, midnight + 13 * hour), Ok(midnight + 14 * hour));
        assert_eq!(at(5, midnight + 23 * hour), Ok(midnight + DAY_NS + 5), "tomorrow is near");
        assert!(at(13 * hour, midnight + 14 * hour).is_err(), "not in 23 hours");
        assert_eq!(
            At::OnTheWall(14 * hour).after(midnight + 11 * hour, 2 * hour),
            Ok(midnight + 12 * hour),
            "local"
        );
        assert!(At::Unix(5).after(10, 0).is_err());
        assert!(At::FromNow(8 * DAY_NS).after(0, 0).is_err());
        assert_eq!(At::FromNow(7).after(10, 0), Ok(17));
    }
}
