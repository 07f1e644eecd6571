//! Decimal digits, two at a time: numbers are most of what exports and listings write.

use std::fmt::Write as _;

/// Two digits for each number below a hundred.
pub const PAIRS: &[u8; 200] = b"00010203040506070809\
10111213141516171819\
20212223242526272829\
30313233343536373839\
40414243444546474849\
50515253545556575859\
60616263646566676869\
70717273747576777879\
80818283848586878889\
90919293949596979899";

/// Writes the decimal digits of `value` at the end of `digits`; where they begin.
#[inline]
fn digits(mut value: u64, digits: &mut [u8; 20]) -> usize {
    let mut at = digits.len();
    // Long numbers eight digits at a time: these fit 32 bits, and none of the four pairs waits for another.
    while value >= 100_000_000 {
        let low = (value % 100_000_000) as u32;
        value /= 100_000_000;
        at -= 8;
        let pairs = [low / 1_000_000, low / 10_000 % 100, low / 100 % 100, low % 100];
        for (to, pair) in digits[at..at + 8].chunks_exact_mut(2).zip(pairs) {
            to.copy_from_slice(&PAIRS[pair as usize * 2..][..2]);
        }
    }
    let mut value = value as u32;
    while value >= 100 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if value >= 10 {
        let pair = value as usize * 2;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        digits[at] = b'0' + value as u8;
    }
    at
}

/// An unsigned number.
#[inline]
pub fn unsigned(out: &mut Vec<u8>, value: u64) {
    let mut buffer = [0; 20];
    let at = digits(value, &mut buffer);
    out.extend_from_slice(&buffer[at..]);
}

/// An unsigned number, for text.
#[inline]
pub fn push_unsigned(out: &mut String, value: u64) {
    let mut buffer = [0; 20];
    let at = digits(value, &mut buffer);
    // Digits are text.
    out.push_str(std::str::from_utf8(&buffer[at..]).unwrap_or_default());
}

/// A signed number, for text.
#[inline]
pub fn push_signed(out: &mut String, value: i64) {
    if value < 0 {
        out.push('-');
    }
    push_unsigned(out, value.unsigned_abs());
}

/// Decimals that [`push_fixed`] writes by integers alone.
const MOST_DECIMALS: u32 = 9;

/// Appends `value` with so many decimals, exactly as `{:.*}` and C's `printf` do: the nearest of them to the exact value of
/// the float, of two that are as near the even one. A float is an integer over a power of two, so integers suffice.
pub fn push_fixed(out: &mut String, value: f64, decimals: usize) {
    let Some(scaled) = u32::try_from(decimals).ok().and_then(|decimals| scaled(value.abs(), decimals)) else {
        // A String takes whatever it is given.
        let _ = write!(out, "{value:.decimals$}");
        return;
    };
    if value.is_sign_negative() {
        out.push('-');
    }
    let power = 10_u64.pow(decimals as u32);
    push_unsigned(out, scaled / power);
    if decimals > 0 {
        let mut buffer = [b'0'; 20];
        digits(scaled % power, &mut buffer);
        out.push('.');
        out.push_str(std::str::from_utf8(&buffer[20 - decimals..]).unwrap_or_default());
    }
}

/// `value` times so many powers of ten, rounded; `None` where that needs more than 64 bits.
fn scaled(value: f64, decimals: u32) -> Option<u64> {
    if value.is_nan() || value >= 1e19 || decimals > MOST_DECIMALS {
        return None;
    }
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    // A float is `mantissa` times two to the power of minus `shift`.
    let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    let shift = 1075 - exponent.max(1);
    let product = u128::from(mantissa) * u128::from(10_u64.pow(decimals));
    if shift <= 0 {
        return u64::try_from(product.checked_shl(shift.unsigned_abs())?).ok();
    }
    // The product has 83 bits: divided by so much it is nearer to 0 than to 1.
    if shift > 84 {
        return Some(0);
    }
    let whole = product >> shift;
    let rest = product & ((1 << shift) - 1);
    let half = 1 << (shift - 1);
    let up = rest > half || (rest == half && whole % 2 == 1);
    u64::try_from(whole + u128::from(up)).ok()
}

/// A signed number.
#[inline]
pub fn signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    unsigned(out, value.unsigned_abs());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fixed(value: f64, decimals: usize) -> String {
        let mut out = String::new();
        push_fixed(&mut out, value, decimals);
        out
    }

    #[test]
    fn what_lies_between_two_goes_to_the_even_one() {
        for (value, decimals, expected) in [
            (0.0078125, 6, "0.007812"),
            (0.5, 0, "0"),
            (1.5, 0, "2"),
            (2.5, 0, "2"),
            (0.125, 2, "0.12"),
            (0.375, 2, "0.38"),
            (1e-9, 6, "0.000000"),
            (999.9999996, 6, "1000.000000"),
            (-0.0, 1, "-0.0"),
            (-12.25, 1, "-12.2"),
            (1.5, 12, "1.500000000000"),
            (1e300, 0, &format!("{:.0}", 1e300)),
            (f64::NAN, 2, "NaN"),
            (f64::INFINITY, 2, "inf"),
            (f64::MIN_POSITIVE / 4.0, 9, "0.000000000"),
        ] {
            assert_eq!(fixed(value, decimals), expected);
            assert_eq!(format!("{value:.decimals$}"), expected);
        }
    }

    proptest! {
        #[test]
        fn integers_write_what_floats_do(
            bits in any::<u64>(),
            number in any::<i64>(),
            shift in 0..70_i32,
            decimals in 0..12_usize,
        ) {
            // Any float at all, quotients by powers of two (whose ties are exact), and by powers of ten.
            let quotient = number as f64 * 2_f64.powi(-shift);
            let small = (number % 1_000_000_000) as f64;
            for value in [f64::from_bits(bits), quotient, small / 1024.0, small * 1e-3, small * 1e-6, small / 8.0] {
                prop_assert_eq!(fixed(value, decimals), format!("{:.*}", decimals, value));
            }
        }
    }
}
