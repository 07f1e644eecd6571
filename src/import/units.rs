//! Decimal numbers with units to integers: nanoseconds and bytes, without a detour through floating point.

use super::kineto::number::scaled;

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
    fn units_are_told_from_values() {
        assert!(["s", "ns", "B", "GB/s", "%"].iter().all(|unit| is_unit(unit.as_bytes())));
        assert!(["", "1", "5ms", "x"].iter().all(|text| !is_unit(text.as_bytes())));
        assert_eq!([count(b"6000"), count(b"-1"), count(b"1e300"), count(b"x")], [Some(6000), None, None, None]);
    }
}
