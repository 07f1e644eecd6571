//! Time as the clock on the wall shows it, in this machine's zone.

use std::mem::MaybeUninit;

/// A moment in this machine's zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// Year, month (from 1), day, hour, minute and second.
    pub date: [i64; 6],
    /// Local time minus UTC, in seconds.
    pub ahead_s: i64,
}

/// The local time of `unix_s` seconds since 1970; `None` for years that have no number.
pub fn local_time(unix_s: i64) -> Option<LocalTime> {
    let mut parts = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both are ours, and all zeros is a valid value.
    let parts = unsafe {
        if libc::localtime_r(&raw const unix_s, parts.as_mut_ptr()).is_null() {
            return None;
        }
        parts.assume_init()
    };
    let (year, month) = (i64::from(parts.tm_year) + 1900, i64::from(parts.tm_mon) + 1);
    let [day, hour, minute, second] = [parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec].map(i64::from);
    Some(LocalTime { date: [year, month, day, hour, minute, second], ahead_s: parts.tm_gmtoff })
}

/// Seconds since 1970 of year, month (from 1), day, hour, minute and second in this machine's zone; whether it is
/// summer time then is found out. `None` where there is no such time.
pub fn unix_seconds([year, month, day, hour, minute, second]: [i64; 6]) -> Option<i64> {
    let small = |value: i64| i32::try_from(value).ok();
    let mut parts = libc::tm {
        tm_sec: small(second)?,
        tm_min: small(minute)?,
        tm_hour: small(hour)?,
        tm_mday: small(day)?,
        tm_mon: small(month.checked_sub(1)?)?,
        tm_year: small(year.checked_sub(1900)?)?,
        tm_wday: 0,
        tm_yday: 0,
        // Whether it is summer time then is not known.
        tm_isdst: -1,
        tm_gmtoff: 0,
        tm_zone: std::ptr::null(),
    };
    // SAFETY: the structure is ours and complete.
    let unix_s = unsafe { libc::mktime(&raw mut parts) };
    (unix_s != -1).then_some(unix_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_comes_back_from_its_date() {
        for unix_s in [0, 951_782_400, 1_764_337_500] {
            let time = local_time(unix_s).unwrap();
            assert_eq!(unix_seconds(time.date), Some(unix_s), "{time:?}");
            assert_eq!((unix_s + time.ahead_s).rem_euclid(60), time.date[5], "{time:?}");
        }
        assert_eq!(local_time(i64::MAX), None);
    }
}
