//! Decimal digits, two at a time: numbers are most of what text exports write.

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

/// A signed number.
#[inline]
pub fn signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    unsigned(out, value.unsigned_abs());
}
