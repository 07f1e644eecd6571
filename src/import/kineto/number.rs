//! Decimal text to integers, exactly: a microsecond count of 2024 with three decimals needs more digits than a
//! double has.

use super::json_tokens::Value;
use std::cmp::Ordering;

/// Nanoseconds of a number of microseconds; `None` if it is no number. Out of range saturates.
#[inline]
pub fn nanoseconds(microseconds: Value) -> Option<i64> {
    scaled(digits(microseconds)?, 3)
}

/// A whole number; fractions are rounded. `None` if it is no number. Out of range saturates.
#[inline]
pub fn integer(value: Value) -> Option<i64> {
    scaled(digits(value)?, 0)
}

/// An id or a count, if it is one of the type.
#[inline]
pub fn id<T: TryFrom<i64>>(value: Value) -> Option<T> {
    T::try_from(integer(value)?).ok()
}

/// The whole numbers in the text of an array of numbers, as many as asked for.
pub fn integers<const N: usize>(array: &[u8]) -> Option<[i64; N]> {
    let mut numbers = array.split(|&b| b == b',').map(|text| scaled(text.trim_ascii(), 0));
    let mut found = [0; N];
    for slot in &mut found {
        *slot = numbers.next()??;
    }
    Some(found)
}

/// Numbers come with and without quotes, depending on who post-processed the file.
#[inline]
fn digits(value: Value<'_>) -> Option<&[u8]> {
    match value {
        Value::Bare(text) => Some(text),
        Value::Text(text) => Some(text.trim_ascii()),
        Value::Missing | Value::Nested(_) => None,
    }
}

/// `text` times ten to the power of `scale`, rounded half to even as Python's `round` does, saturating.
#[inline]
pub fn scaled(text: &[u8], scale: i32) -> Option<i64> {
    let (negative, unsigned) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let magnitude = match plain(unsigned, scale) {
        Some(magnitude) => i128::from(magnitude),
        None => any(unsigned, scale)?,
    };
    let value = if negative { -magnitude } else { magnitude };
    Some(value.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
}

/// What nearly all numbers are: at most 16 digits before the point and no more than `scale` behind it.
#[inline]
fn plain(text: &[u8], scale: i32) -> Option<u64> {
    let mut value = 0u64;
    let mut at = 0;
    while let Some(digit) = text.get(at).map(|b| b.wrapping_sub(b'0')).filter(|&d| d <= 9) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    if at == 0 || at > 16 {
        return None;
    }
    let mut left = scale;
    if text.get(at) == Some(&b'.') {
        at += 1;
        while let Some(digit) = text.get(at).map(|b| b.wrapping_sub(b'0')).filter(|&d| d <= 9) {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            at += 1;
            left -= 1;
            if left < 0 {
                return None;
            }
        }
    }
    if at != text.len() {
        return None;
    }
    // Sixteen digits and `scale` more of them never wrapped; the factor may still be too much.
    value.checked_mul(10u64.checked_pow(left as u32)?)
}

/// Digits that are kept apart; what follows them only decides how a tie is rounded.
const KEPT_DIGITS: u32 = 36;

/// Every other decimal number: any number of digits, exponents. Above the range of `i64` the exact value is lost.
fn any(text: &[u8], scale: i32) -> Option<i128> {
    let mut mantissa = 0i128;
    let (mut kept, mut seen) = (0u32, false);
    let mut power = i64::from(scale);
    let mut more = false;
    let mut behind_point = false;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'0'..=b'9' => {
                seen = true;
                if kept < KEPT_DIGITS {
                    mantissa = mantissa * 10 + i128::from(byte - b'0');
                    kept += u32::from(mantissa != 0);
                } else {
                    more |= byte != b'0';
                    power += 1;
                }
                power -= i64::from(behind_point);
            }
            b'.' if !behind_point => behind_point = true,
            b'e' | b'E' if seen => {
                power = power.saturating_add(exponent(&text[at + 1..])?);
                at = text.len();
                break;
            }
            _ => return None,
        }
        at += 1;
    }
    debug_assert_eq!(at, text.len());
    if !seen {
        return None;
    }
    if mantissa == 0 {
        return Some(0);
    }
    if power >= 0 {
        let factor = u32::try_from(power).ok().and_then(|p| 10i128.checked_pow(p));
        return Some(factor.and_then(|f| mantissa.checked_mul(f)).unwrap_or(i128::MAX));
    }
    let Some(divisor) = u32::try_from(-power).ok().and_then(|p| 10i128.checked_pow(p)) else { return Some(0) };
    let (quotient, rest) = (mantissa / divisor, mantissa % divisor);
    let up = match rest.cmp(&(divisor - rest)) {
        Ordering::Greater => true,
        Ordering::Less => false,
        Ordering::Equal => more || quotient % 2 == 1,
    };
    Some(quotient + i128::from(up))
}

fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // Ten digits are more than any power that leaves a number in range.
    let value = digits.iter().take(10).fold(0i64, |v, d| v * 10 + i64::from(d - b'0'));
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(text: &str) -> Option<i64> {
        nanoseconds(Value::Bare(text.as_bytes()))
    }

    #[test]
    fn microseconds_become_nanoseconds_exactly() {
        let cases = [
            ("0", 0),
            ("1606910596297023", 1_606_910_596_297_023_000),
            ("1419247332972.313", 1_419_247_332_972_313),
            ("1712195495519689.0", 1_712_195_495_519_689_000),
            ("1712195495519689.25", 1_712_195_495_519_689_250),
            ("5.6", 5_600),
            ("5.", 5_000),
            (".5", 500),
            ("-12.001", -12_001),
            ("+7", 7_000),
            ("007", 7_000),
            ("-0", 0),
            ("9999999999999999", 9_223_372_036_854_775_807),
            ("9223372036854775.807", i64::MAX),
            ("-9223372036854775.808", i64::MIN),
            ("1.712195495519689e15", 1_712_195_495_519_689_000),
            ("1E3", 1_000_000),
            ("1e+3", 1_000_000),
            ("25e-3", 25),
            ("0e999999999999999999999", 0),
        ];
        for (text, expected) in cases {
            assert_eq!(ns(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn half_a_nanosecond_is_rounded_to_even() {
        let cases = [
            ("0.0005", 0),
            ("0.0015", 2),
            ("0.0025", 2),
            ("-0.0015", -2),
            ("0.00150000000000000000000000000000000000000000000001", 2),
            ("0.00050000000000000000000000000000000000000000000001", 1),
            ("0.00249999999999999999999999999999999999999999999999", 2),
            ("1712195495519689.12549", 1_712_195_495_519_689_125),
            ("1712195495519689.1255", 1_712_195_495_519_689_126),
        ];
        for (text, expected) in cases {
            assert_eq!(ns(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn too_large_numbers_saturate_and_too_small_ones_vanish() {
        assert_eq!(ns("1e300"), Some(i64::MAX));
        assert_eq!(ns("-1e999999999999"), Some(i64::MIN));
        assert_eq!(ns("1e-300"), Some(0));
        assert_eq!(ns("1e-999999999999"), Some(0));
        assert_eq!(ns(&"9".repeat(500)), Some(i64::MAX));
        assert_eq!(ns(&format!("{}e-480", "9".repeat(500))), Some(i64::MAX));
        assert_eq!(ns(&format!("0.{}1", "0".repeat(500))), Some(0));
        assert_eq!(ns(&format!("{}5{}", "0".repeat(500), "e-3")), Some(5));
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in [
            "",
            "-",
            ".",
            "NaN",
            "Infinity",
            "-Infinity",
            "nan",
            "null",
            "1.2.3",
            "1e",
            "1e+",
            "e5",
            "0x10",
            "1 2",
            "--1",
            "1e5.0",
        ] {
            assert_eq!(ns(text), None, "{text}");
        }
        assert_eq!(nanoseconds(Value::Missing), None);
        assert_eq!(nanoseconds(Value::Nested(0)), None);
    }

    #[test]
    fn numbers_may_stand_in_quotes() {
        assert_eq!(nanoseconds(Value::Text(b" 12.5 ")), Some(12_500));
        assert_eq!(id::<u32>(Value::Text(b"4093687616")), Some(4_093_687_616));
        assert_eq!(id::<u32>(Value::Text(b"4294967296")), None);
        assert_eq!(id::<u32>(Value::Text(b"stream 7")), None);
    }

    #[test]
    fn both_ways_of_reading_agree() {
        for whole in [0u64, 1, 9, 10, 999, 123_456_789, 999_999_999_999_999] {
            for fraction in ["", ".", ".0", ".5", ".25", ".125", ".999"] {
                let text = format!("{whole}{fraction}");
                let slow = any(text.as_bytes(), 3).map(|v| v as u64);
                assert_eq!(plain(text.as_bytes(), 3), slow, "{text}");
            }
        }
    }

    #[test]
    fn sizes_are_as_many_numbers_as_asked_for() {
        assert_eq!(integers(b" 2322, 1 ,1"), Some([2322, 1, 1]));
        assert_eq!(integers::<3>(b"1, 2"), None);
        assert_eq!(integers::<3>(b"1, x, 3"), None);
        assert_eq!(integers::<3>(b""), None);
    }
}
