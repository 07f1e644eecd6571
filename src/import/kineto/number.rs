//! Decimal text to integers, exactly: a microsecond count of 2024 with three decimals needs more digits than a
//! double has.

use super::tape::Value;
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
