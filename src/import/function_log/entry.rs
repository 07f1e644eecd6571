//! One line of a function log.

use super::Options;
use super::time::{self, Zone};
use crate::import::kineto::number::scaled;
use serde_json::{Map, Value};

/// What a key called `timestamp` means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Stamp {
    /// When the entry was written: the end of the call. Loggers write once they know how long it took.
    #[default]
    End,
    /// When the call began.
    Start,
}

/// Where a call was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thread {
    /// The log does not say.
    Unknown,
    /// The thread is named by the number that the system gives it.
    Number(u32),
    /// By a name, or a number of another kind (Python's `get_ident`).
    Named(Vec<u8>),
}

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub function: String,
    /// Start, Unix nanoseconds.
    pub start_ns: i64,
    /// End, Unix nanoseconds.
    pub end_ns: i64,
    /// The time that was written down, Unix nanoseconds.
    pub stamp_ns: i64,
    /// Process id.
    pub pid: Option<u32>,
    /// Thread.
    pub thread: Thread,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// An entry.
    Entry(Entry),
    /// An entry without a time that can be read.
    Undated,
    /// The beginning of an entry, and no JSON.
    Broken,
    /// Something else: other messages, other objects.
    Other,
}

const FUNCTIONS: [&str; 3] = ["function", "func", "function_name"];
const LENGTHS: [&str; 5] = ["execution_time", "duration", "elapsed", "elapsed_time", "exec_time"];
/// Keys of the moment, and whether they say of themselves that it is a start or an end.
const MOMENTS: [(&str, Option<Stamp>); 8] = [
    ("start_time", Some(Stamp::Start)),
    ("start", Some(Stamp::Start)),
    ("end_time", Some(Stamp::End)),
    ("end", Some(Stamp::End)),
    ("timestamp", None),
    ("@timestamp", None),
    ("time", None),
    ("ts", None),
];
/// Units that keys may end in, as decimal places of a nanosecond.
const UNITS: [(&str, i32); 7] =
    [("_ns", 0), ("_us", 3), ("_ms", 6), ("_s", 9), ("_sec", 9), ("_secs", 9), ("_seconds", 9)];
/// Brackets in the prefix that may come before the object.
const OPENINGS: usize = 4;

/// Reads a line.
pub fn read(line: &[u8], options: Options) -> Reading {
    // Most lines of a log that is kept for something else are left at once.
    let mentions = |keys: &[&str]| keys.iter().any(|key| find(line, key.as_bytes()).is_some());
    if !mentions(&FUNCTIONS) {
        return Reading::Other;
    }
    let mut from = 0;
    for _ in 0..OPENINGS {
        let Some(at) = line[from..].iter().position(|&byte| byte == b'{') else { break };
        let text = &line[from + at..];
        if let Ok(object) = serde_json::from_slice::<Map<String, Value>>(text) {
            return of_object(
                &Fields { object: &object, text: std::str::from_utf8(text).unwrap_or_default() },
                options,
            );
        }
        from += at + 1;
    }
    let claims = FUNCTIONS.iter().any(|key| find(line, format!("\"{key}\"").as_bytes()).is_some());
    if claims && line.contains(&b'{') { Reading::Broken } else { Reading::Other }
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

/// An object and the text it was read from.
struct Fields<'a> {
    object: &'a Map<String, Value>,
    text: &'a str,
}

impl Fields<'_> {
    fn get(&self, key: &str) -> Option<&Value> {
        self.object.get(key)
    }

    /// The digits of a number, or of a text that is one, as they stand in the log: a double has too few for nanoseconds
    /// since 1970.
    fn digits(&self, key: &str) -> Option<String> {
        let number = match self.get(key)? {
            Value::Number(number) => number,
            Value::String(text) => return Some(text.trim().to_owned()),
            _ => return None,
        };
        let value = number.as_f64()?;
        let quoted = format!("\"{key}\"");
        let is_digit = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
        let written = self.text.match_indices(&quoted).find_map(|(at, _)| {
            let rest = self.text[at + quoted.len()..].trim_start().strip_prefix(':')?.trim_start();
            let digits = &rest[..rest.find(|c| !is_digit(c)).unwrap_or(rest.len())];
            // The same key may stand deeper inside, with another value.
            let same = digits.parse::<f64>().is_ok_and(|read| (read - value).abs() <= value.abs() * 1e-12);
            same.then(|| digits.to_owned())
        });
        Some(written.unwrap_or_else(|| number.to_string()))
    }

    /// The number under a key times ten to the power of `scale`.
    fn number(&self, key: &str, scale: i32) -> Option<i64> {
        scaled(self.digits(key)?.as_bytes(), scale).filter(|ns| *ns > i64::MIN && *ns < i64::MAX)
    }
}

fn of_object(object: &Fields, options: Options) -> Reading {
    let function = FUNCTIONS.iter().find_map(|key| object.get(key).and_then(Value::as_str));
    let length_ns = LENGTHS.iter().find_map(|key| length(object, key));
    let (Some(function), Some(length_ns)) = (function.filter(|name| !name.is_empty()), length_ns) else {
        return Reading::Other;
    };
    let moment = MOMENTS.iter().find_map(|(key, says)| Some((moment(object, key, options.zone)?, *says)));
    let Some((stamp_ns, says)) = moment else { return Reading::Undated };
    let bounds = match says.unwrap_or(options.stamp) {
        Stamp::End => stamp_ns.checked_sub(length_ns).map(|start_ns| (start_ns, stamp_ns)),
        Stamp::Start => stamp_ns.checked_add(length_ns).map(|end_ns| (stamp_ns, end_ns)),
    };
    let Some((start_ns, end_ns)) = bounds else { return Reading::Undated };
    let pid =
        ["pid", "process", "process_id"].iter().find_map(|key| u32::try_from(object.get(key)?.as_u64()?).ok());
    let thread = ["tid", "thread_id", "thread", "thread_name"].iter().find_map(|key| match object.get(key)? {
        Value::Number(number) => Some(match number.as_u64().and_then(|n| u32::try_from(n).ok()) {
            Some(tid) => Thread::Number(tid),
            None => Thread::Named(number.to_string().into_bytes()),
        }),
        Value::String(name) if !name.is_empty() => Some(Thread::Named(name.clone().into_bytes())),
        _ => None,
    });
    let thread = thread.unwrap_or(Thread::Unknown);
    Reading::Entry(Entry { function: function.to_owned(), start_ns, end_ns, stamp_ns, pid, thread })
}

/// A duration in nanoseconds: seconds unless the key says otherwise.
fn length(object: &Fields, key: &str) -> Option<i64> {
    let in_unit = |(unit, scale): &(&str, i32)| object.number(&format!("{key}{unit}"), *scale);
    object.number(key, 9).or_else(|| UNITS.iter().find_map(in_unit)).filter(|ns| *ns >= 0)
}

/// A moment in Unix nanoseconds.
fn moment(object: &Fields, key: &str, zone: Zone) -> Option<i64> {
    match object.get(key) {
        Some(value) => {
            let date = value.as_str().and_then(|text| time::parse(text, zone));
            date.or_else(|| object.number(key, unit_by_size(&object.digits(key)?)?))
        }
        None => UNITS.iter().find_map(|(unit, scale)| object.number(&format!("{key}{unit}"), *scale)),
    }
}

/// Seconds, milliseconds, microseconds or nanoseconds since 1970: whichever lies between the years 1973 and 5138.
fn unit_by_size(text: &str) -> Option<i32> {
    let size: f64 = text.parse().ok()?;
    match size.abs() {
        s if s < 1e11 => Some(9),
        ms if ms < 1e14 => Some(6),
        us if us < 1e17 => Some(3),
        ns if ns < 9.3e18 => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(line: &str) -> Entry {
        match read(line.as_bytes(), Options { zone: Zone::Utc, ..Options::default() }) {
            Reading::Entry(entry) => entry,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn times_and_units_are_read_as_the_keys_and_sizes_say() {
        let s = 1_000_000_000i64;
        for (rest, start_ns, end_ns) in [
            (r#""execution_time": 1.5, "timestamp": 100.25"#, 98 * s + s / 4 * 3, 100 * s + s / 4),
            (r#""execution_time_ms": 250, "timestamp": 100"#, 100 * s - s / 4, 100 * s),
            (r#""duration_us": 2, "ts": 1640995200000"#, 1_640_995_200 * s - 2_000, 1_640_995_200 * s),
            (
                r#""elapsed_ns": 7, "timestamp_us": 1640995200000001"#,
                1_640_995_200 * s + 993,
                1_640_995_200 * s + 1_000,
            ),
            (
                r#""elapsed": 1, "start_time": 1640995200.000001"#,
                1_640_995_200 * s + 1_000,
                1_640_995_201 * s + 1_000,
            ),
            (r#""elapsed": 1, "timestamp": "2022-01-01T00:00:00Z""#, 1_640_995_199 * s, 1_640_995_200 * s),
            (r#""elapsed": 0, "timestamp": "1640995200.5""#, 1_640_995_200 * s + s / 2, 1_640_995_200 * s + s / 2),
        ] {
            let entry = entry(&format!("{{\"function\": \"f\", {rest}}}"));
            assert_eq!((entry.start_ns, entry.end_ns), (start_ns, end_ns), "{rest}");
        }
    }

    #[test]
    fn a_timestamp_may_be_the_start_if_that_is_said() {
        let line = br#"{"function": "f", "execution_time": 2, "timestamp": 10}"#;
        let options = Options { stamp: Stamp::Start, ..Options::default() };
        let Reading::Entry(entry) = read(line, options) else { panic!("an entry") };
        assert_eq!((entry.start_ns, entry.end_ns), (10_000_000_000, 12_000_000_000));
    }

    #[test]
    fn processes_and_threads_are_taken_where_they_are_logged() {
        let line = |rest: &str| entry(&format!("{{\"function\":\"f\",\"elapsed\":1,\"ts\":9{rest}}}"));
        assert_eq!((line("").pid, line("").thread), (None, Thread::Unknown));
        assert_eq!((line(",\"pid\":7,\"tid\":8").pid, line(",\"tid\":8").thread), (Some(7), Thread::Number(8)));
        assert_eq!(line(",\"thread\":\"MainThread\"").thread, Thread::Named(b"MainThread".to_vec()));
        assert_eq!(line(",\"thread_id\":140000000000000").thread, Thread::Named(b"140000000000000".to_vec()));
    }

    #[test]
    fn other_lines_are_told_from_broken_ones() {
        let kind = |line: &str| match read(line.as_bytes(), Options::default()) {
            Reading::Entry(_) => "entry",
            Reading::Undated => "undated",
            Reading::Broken => "broken",
            Reading::Other => "other",
        };
        assert_eq!(kind("{INFO} {\"function\":\"f\",\"elapsed\":1,\"ts\":9}"), "entry");
        assert_eq!(kind("a function was called {"), "other");
        assert_eq!(kind("{\"function\": \"f\", \"elap"), "broken");
        assert_eq!(kind("{\"function\":\"f\",\"elapsed\":1}"), "undated");
        assert_eq!(kind("{\"function\":\"f\",\"elapsed\":1,\"ts\":\"yesterday\"}"), "undated");
        assert_eq!(kind("{\"function\":\"f\",\"elapsed\":-1,\"ts\":9}"), "other");
        assert_eq!(kind("{\"function\":[],\"elapsed\":1,\"ts\":9}"), "other");
        assert_eq!(kind(""), "other");
    }
}
