//! Decimal numbers with units to integers: nanoseconds and bytes, without a detour through floating point.

use super::kineto::number::scaled;
use std::borrow::Cow;

/// A unit of time and how many decimal places of it are nanoseconds.
const TIMES: [(&[u8], i32); 4] = [(b"ns", 0), (b"us", 3), (b"ms", 6), (b"s", 9)];

/// A unit of size as nvprof means it: powers of 1024.
const SIZES: [(&[u8], u32); 5] = [(b"KB", 1), (b"MB", 2), (b"GB", 3), (b"TB", 4), (b"B", 0)];

/// Nanoseconds of a number in `unit`; a unit that stands behind the number itself comes first. `None` if it is no
/// number or has no unit.
pub fn nanoseconds(text: &[u8], unit: &[u8]) -> Option<i64> {
    let known = |unit: &[u8]| TIMES.iter().find(|(name, _)| *name == unit).map(|&(_, scale)| scale);
    let glued = TIMES.iter().find_map(|(name, scale)| Some((text.strip_suffix(*name)?, *scale)));
    let (number, scale) = match glued {
        Some(found) => found,
        None => (text, known(unit)?),
    };
    scaled(number, scale)
}

/// Bytes of a number in `unit`, likewise.
pub fn bytes(text: &[u8], unit: &[u8]) -> Option<i64> {
    let known = |unit: &[u8]| SIZES.iter().find(|(name, _)| *name == unit).map(|&(_, power)| power);
    let glued = SIZES.iter().find_map(|(name, power)| Some((text.strip_suffix(*name)?, *power)));
    let (number, power) = match glued {
        Some(found) => found,
        None => (text, known(unit)?),
    };
    if power == 0 {
        return scaled(number, 0);
    }
    const PLACES: i32 = 9;
    const ONE: i128 = 1_000_000_000;
    let exact = i128::from(scaled(number, PLACES)?) * 1024i128.pow(power);
    let rounded = (exact + exact.signum() * (ONE / 2)) / ONE;
    Some(rounded.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
}

/// The number of a cell with a decimal point and without digit groups. In a table parted by commas a comma inside a cell
/// can only part groups of three digits; in one parted by semicolons it is the decimal comma. `None` if it is neither,
/// and if it may be both: `1,234` between semicolons is 1.234 or 1234.
pub fn plain_number(cell: &[u8], separator: u8) -> Option<Cow<'_, [u8]>> {
    let mut parts = cell.split(|&byte| byte == b',');
    let whole = parts.next().unwrap_or_default();
    let rest: Vec<&[u8]> = parts.collect();
    if rest.is_empty() {
        return Some(Cow::Borrowed(cell));
    }
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let sign_free = whole.strip_prefix(b"-").unwrap_or(whole);
    if separator == b';' {
        let [fraction] = rest[..] else { return None };
        let end = fraction.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(fraction.len());
        let is_number = digits(sign_free) && end > 0 && !fraction.contains(&b'.');
        let may_be_group = end == 3 && sign_free.len() <= 3 && sign_free != b"0";
        return (is_number && !may_be_group).then(|| Cow::Owned([whole, b".", fraction].concat()));
    }
    let (last, groups) = rest.split_last()?;
    let end = last.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(last.len());
    let grouped = groups.iter().all(|group| group.len() == 3 && digits(group)) && end == 3;
    (grouped && digits(sign_free) && sign_free.len() <= 3)
        .then(|| Cow::Owned(cell.iter().copied().filter(|&byte| byte != b',').collect()))
}

/// Whether this is a unit of time, of size, of throughput, or a percent sign.
pub fn is_unit(text: &[u8]) -> bool {
    let size = text.strip_suffix(b"/s").unwrap_or(text);
    text == b"%" || TIMES.iter().any(|(name, _)| *name == text) || SIZES.iter().any(|(name, _)| *name == size)
}

/// A count; numbers beyond any count are no count.
pub fn count(text: &[u8]) -> Option<u64> {
    u64::try_from(scaled(text, 0)?).ok().filter(|&count| count < 1 << 53)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_their_unit_behind_them_or_in_the_column() {
        for (text, unit, ns) in [
            ("1.18208s", "", 1_182_080_000),
            ("8.43532s", "ms", 8_435_320_000),
            ("843.53us", "", 843_530),
            ("896ns", "", 896),
            ("2.445000e-03", "ms", 2_445),
            ("0.835718", "s", 835_718_000),
            ("4.68e+05", "us", 468_000_000),
            ("2.4e+03s", "", 2_400_000_000_000),
            ("468245089.000000", "ns", 468_245_089),
        ] {
            assert_eq!(nanoseconds(text.as_bytes(), unit.as_bytes()), Some(ns), "{text} {unit}");
        }
        for text in ["", "-", "s", "ms", "abc", "1.5", "1.5min"] {
            assert_eq!(nanoseconds(text.as_bytes(), b""), None, "{text}");
        }
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        for (text, unit, expected) in [
            ("4.000000", "MB", 4 << 20),
            ("0.000019", "MB", 20),
            ("2.062500", "KB", 2_112),
            ("43.328125KB", "", 44_368),
            ("19B", "", 19),
            ("0B", "MB", 0),
            ("9223372036854775807", "B", i64::MAX),
            ("9e99", "TB", i64::MAX),
        ] {
            assert_eq!(bytes(text.as_bytes(), unit.as_bytes()), Some(expected), "{text} {unit}");
        }
        assert_eq!(bytes(b"-", b"MB"), None);
        assert_eq!(bytes(b"5", b""), None);
    }

    #[test]
    fn commas_are_groups_or_decimals_and_never_guessed() {
        let plain = |cell: &str, separator: u8| {
            plain_number(cell.as_bytes(), separator).map(|n| String::from_utf8_lossy(&n).into_owned())
        };
        for (cell, expected) in [
            ("1234.5", Some("1234.5")),
            ("1,234,567", Some("1234567")),
            ("-1,234.5", Some("-1234.5")),
            ("12,5", None),
            ("1234,567", None),
            ("1,23,456", None),
        ] {
            assert_eq!(plain(cell, b',').as_deref(), expected, "{cell}");
        }
        for (cell, expected) in [
            ("10,000000", Some("10.000000")),
            ("0,125", Some("0.125")),
            ("4,5MB", Some("4.5MB")),
            ("1234,567", Some("1234.567")),
            ("1.5", Some("1.5")),
            ("1,234", None),
            ("1,234,567", None),
            ("1.234,5", None),
        ] {
            assert_eq!(plain(cell, b';').as_deref(), expected, "{cell}");
        }
    }

    #[test]
    fn units_are_told_from_values() {
        assert!(["s", "ns", "B", "GB/s", "%"].iter().all(|unit| is_unit(unit.as_bytes())));
        assert!(["", "1", "5ms", "x"].iter().all(|text| !is_unit(text.as_bytes())));
        assert_eq!([count(b"6000"), count(b"-1"), count(b"1e300"), count(b"x")], [Some(6000), None, None, None]);
    }
}
