//! Sizes, durations, switches and whole numbers as people write them.

use std::fmt::Write as _;

/// A value in words, for messages.
pub(crate) fn shown(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

fn text(value: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(value).map(str::trim).map_err(|_| "is not text".to_owned())
}

/// Splits `1.5GiB` into its number, exact in millionths, and its unit.
fn number_and_unit(value: &str) -> Option<(u128, &str)> {
    let split = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    let (number, unit) = value.split_at(split);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.len() > 6 || (number.contains('.') && fraction.is_empty()) {
        return None;
    }
    let mut digits = format!("{whole}{fraction}");
    for _ in fraction.len()..6 {
        digits.push('0');
    }
    Some((digits.parse().ok()?, unit.trim()))
}

const MILLION: u128 = 1_000_000;

/// A size: a number of bytes, or with one of the units KiB, MiB, GiB, TiB (K, M, G, T mean the same).
///
/// # Errors
/// Fails with what is wrong about the value, to follow its name: "is not a size such as 512KiB or 64GiB".
pub fn bytes(value: &[u8]) -> Result<u64, String> {
    let value = text(value)?;
    let (millionths, unit) = number_and_unit(value).ok_or("is not a size such as 512KiB or 64GiB")?;
    let scale: u128 = match unit {
        "" | "B" => 1,
        "K" | "k" | "KiB" => 1 << 10,
        "M" | "m" | "MiB" => 1 << 20,
        "G" | "g" | "GiB" => 1 << 30,
        "T" | "t" | "TiB" => 1 << 40,
        _ => return Err(format!("has the unknown unit \"{unit}\"; known are B, KiB, MiB, GiB, TiB")),
    };
    let total = millionths.checked_mul(scale).ok_or("is too large")?;
    u64::try_from(total / MILLION).map_err(|_| "is too large".to_owned())
}

/// A duration in nanoseconds; `unit_ns` is what a bare number counts.
pub(crate) fn duration_ns(value: &[u8], unit_ns: u64) -> Result<u64, String> {
    let value = text(value)?;
    let (millionths, unit) = number_and_unit(value).ok_or("is not a duration such as 500ms or 1.5s")?;
    let scale = match unit {
        "" => u128::from(unit_ns),
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        _ => return Err(format!("has the unknown unit \"{unit}\"; known are us, ms, s, min")),
    };
    let total = millionths.checked_mul(scale).ok_or("is too long")?;
    // As i64, since every time in a trace is one.
    i64::try_from(total / MILLION).map(i64::unsigned_abs).map_err(|_| "is too long".to_owned())
}

/// A duration in whole milliseconds.
pub(crate) fn milliseconds(value: &[u8]) -> Result<u64, String> {
    Ok(duration_ns(value, 1_000_000)? / 1_000_000)
}

/// A whole number.
pub(crate) fn whole(value: &[u8]) -> Result<u64, String> {
    text(value)?.parse().map_err(|_| "is not a whole number".to_owned())
}

/// A switch.
pub(crate) fn switch(value: &[u8]) -> Result<bool, String> {
    match text(value)?.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" | "yes" => Ok(true),
        "off" | "0" | "false" | "no" => Ok(false),
        _ => Err("is neither on nor off".to_owned()),
    }
}

/// `value`, if it lies between `least` and `most`; both are shown by `show` if not.
pub(crate) fn within(value: u64, least: u64, most: u64, show: fn(u64) -> String) -> Result<u64, String> {
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(format!("is outside {} to {}", show(least), show(most)))
}

/// A size in the largest unit that divides it.
pub(crate) fn show_bytes(value: u64) -> String {
    for (scale, unit) in [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if value >= scale && value.is_multiple_of(scale) {
            return format!("{}{unit}", value / scale);
        }
    }
    value.to_string()
}

/// A duration in nanoseconds in the largest unit that divides it.
pub(crate) fn show_ns(value: u64) -> String {
    for (scale, unit) in [(1_000_000_000u64, "s"), (1_000_000, "ms"), (1_000, "us")] {
        if value.is_multiple_of(scale) {
            return format!("{}{unit}", value / scale);
        }
    }
    format!("{value}ns")
}

/// Milliseconds with their unit.
pub(crate) fn show_ms(value: u64) -> String {
    format!("{value}ms")
}

/// A number as it is.
pub(crate) fn show_number(value: u64) -> String {
    value.to_string()
}

/// `on` or `off`.
pub(crate) fn show_switch(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

/// Words joined as a person would: `a, b or c`.
pub(crate) fn one_of(words: &[&str]) -> String {
    let mut text = String::new();
    for (i, word) in words.iter().enumerate() {
        let before = match i {
            0 => "",
            _ if i + 1 == words.len() => " or ",
            _ => ", ",
        };
        // Writing into a String cannot fail.
        let _ = write!(text, "{before}{word}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_binary_units_and_fractions() {
        for (text, expected) in [
            ("0", 0),
            ("4096", 4096),
            ("512KiB", 512 << 10),
            ("512K", 512 << 10),
            ("64 MiB", 64 << 20),
            ("1.5GiB", 3 << 29),
            ("2TiB", 2 << 40),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(bytes(text.as_bytes()), Ok(expected), "{text}");
        }
        for text in
            ["", "x", "MiB", "1.", ".5K", "-1", "1e3", "5MB", "18446744073709551616", "99999999TiB", "1.2.3"]
        {
            assert!(bytes(text.as_bytes()).is_err(), "{text}");
        }
        assert!(bytes(b"5MB").unwrap_err().contains("MiB"), "the known units are named");
        assert!(bytes(b"\xff").is_err());
    }

    #[test]
    fn durations_are_exact() {
        assert_eq!(duration_ns(b"0.1s", 1), Ok(100_000_000));
        assert_eq!(duration_ns(b"1.000001s", 1), Ok(1_000_001_000));
        assert_eq!(duration_ns(b"2", 1_000_000_000), Ok(2_000_000_000));
        assert_eq!(milliseconds(b"500"), Ok(500));
        assert_eq!(milliseconds(b"2s"), Ok(2_000));
        assert_eq!(milliseconds(b"1 min"), Ok(60_000));
        assert!(milliseconds(b"2h").is_err());
        assert!(duration_ns(b"999999999999s", 1).is_err());
    }

    #[test]
    fn switches_and_numbers() {
        assert_eq!(switch(b"ON"), Ok(true));
        assert_eq!(switch(b"0"), Ok(false));
        assert!(switch(b"maybe").is_err());
        assert_eq!(whole(b" 7 "), Ok(7));
        assert!(whole(b"7.5").is_err());
        assert_eq!(within(7, 1, 7, show_number), Ok(7));
        assert_eq!(within(8, 1, 7, show_number), Err("is outside 1 to 7".to_owned()));
    }

    #[test]
    fn what_is_shown_reads_back() {
        for value in [0, 1, 1023, 1024, 512 << 10, 64 << 30, (1 << 40) + 1, u64::MAX] {
            assert_eq!(bytes(show_bytes(value).as_bytes()), Ok(value));
        }
        for value in [0, 1, 999, 1_500_000_000, 60_000_000_000, i64::MAX.unsigned_abs()] {
            assert_eq!(duration_ns(show_ns(value).as_bytes(), 1), Ok(value));
        }
    }

    #[test]
    fn lists_read_as_people_write_them() {
        assert_eq!(one_of(&["a"]), "a");
        assert_eq!(one_of(&["a", "b"]), "a or b");
        assert_eq!(one_of(&["a", "b", "c"]), "a, b or c");
    }
}
