//! The session's time: nanoseconds since its start.

use crate::error::Result;
use crate::trace::frames::Frames;

/// Times before this, 1973, are no times of day.
const EARLIEST_NS: i64 = 100_000_000_000_000_000;

/// No session lasts longer: 100 days.
const LONGEST_NS: i64 = 100 * 86_400_000_000_000;

/// Turns times of the trace into times of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    /// Start of the session in Unix nanoseconds; `None`: the trace has no epoch, and its times stay as they are.
    pub(super) epoch_ns: Option<i64>,
    /// First start and last end, in the session's time.
    pub(super) span: Option<(i64, i64)>,
}

impl Clock {
    /// The session's start is the trace's own zero where that is near its records, else the first record.
    pub(super) fn new(frames: &Frames) -> Result<Clock> {
        let offsets: Option<Vec<i64>> = frames.processes.iter().map(|process| process.info.epoch_ns()).collect();
        Ok(Clock::of(offsets.and_then(|offsets| offsets.into_iter().min()), frames.time_span()?))
    }

    fn of(zero: Option<i64>, span: Option<(i64, i64)>) -> Clock {
        let first = span.map_or(0, |(first, _)| first);
        let near = |zero: &i64| first.checked_sub(*zero).is_some_and(|after| (0..LONGEST_NS).contains(&after));
        let epoch_ns = match zero.filter(|&zero| zero >= EARLIEST_NS).filter(near) {
            Some(zero) => Some(zero),
            None => Some(first).filter(|&first| zero.is_some() && first >= EARLIEST_NS),
        };
        let mut clock = Clock { epoch_ns, span: None };
        clock.span = span.map(|(first, last)| (clock.at(first), clock.at(last)));
        clock
    }

    /// A time of the trace in the session's.
    pub(super) fn at(&self, time_ns: i64) -> i64 {
        time_ns.saturating_sub(self.epoch_ns.unwrap_or(0))
    }

    /// Start and end of a record. One without valid times gets an end that lies before its start, by which readers
    /// know it, and which hardly changes a sum of differences.
    pub(super) fn span_of(&self, start_ns: i64, duration_ns: Option<i64>) -> (i64, i64) {
        let start = self.at(start_ns);
        match duration_ns {
            Some(duration_ns) => (start, start.saturating_add(duration_ns)),
            None => (start, start.saturating_sub(1)),
        }
    }
}

/// `2023-10-04T04:13:59` for Unix nanoseconds.
pub(super) fn utc(unix_ns: i64) -> String {
    let seconds = unix_ns.div_euclid(1_000_000_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days since 0000-03-01, in eras of 400 years: leap days are then the last of a year.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_696_392_839_587_175_550;

    #[test]
    fn a_session_keeps_its_own_start_and_other_traces_begin_at_0() {
        let span = Some((START + 5, START + 9));
        assert_eq!(Clock::of(Some(START), span), Clock { epoch_ns: Some(START), span: Some((5, 9)) });
        // nvprof counts from 1970 itself, native traces from when the machine was started.
        assert_eq!(Clock::of(Some(0), span).epoch_ns, Some(START + 5));
        assert_eq!(Clock::of(Some(START - 2 * LONGEST_NS), span).epoch_ns, Some(START + 5));
        assert_eq!(Clock::of(Some(START + 6), span).epoch_ns, Some(START + 5));
        // No epoch, or one that is none because starts were aligned.
        assert_eq!(Clock::of(None, Some((5, 9))), Clock { epoch_ns: None, span: Some((5, 9)) });
        assert_eq!(Clock::of(Some(-7), Some((0, 9))).epoch_ns, None);
        assert_eq!(Clock::of(Some(START), None).at(START), START);
    }

    #[test]
    fn records_without_valid_times_have_no_valid_times() {
        use crate::trace::sink::valid_duration;
        let clock = Clock { epoch_ns: Some(START), span: None };
        for start in [START, START + 1, START + 7, i64::MIN, i64::MAX, 0] {
            let (from, to) = clock.span_of(start, None);
            assert_eq!(valid_duration(from, to), None, "{start}");
        }
        assert_eq!(clock.span_of(START + 7, Some(3)), (7, 10));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(utc(START), "2023-10-04T04:13:59");
        assert_eq!(utc(0), "1970-01-01T00:00:00");
        assert_eq!(utc(951_782_400_000_000_000), "2000-02-29T00:00:00");
        assert_eq!(utc(1_735_689_599_999_999_999), "2024-12-31T23:59:59");
    }
}
