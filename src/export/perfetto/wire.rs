//! Protocol buffers, as far as a trace needs them: variable-length numbers, fixed 64 bits, and bytes with a length.

/// Appends a number of variable length.
#[inline]
pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a field that holds an unsigned number, an enumeration or a yes or no.
#[inline]
pub fn unsigned(out: &mut Vec<u8>, field: u32, value: u64) {
    varint(out, u64::from(field) << 3);
    varint(out, value);
}

/// Appends a field of type `int32` or `int64`: negative numbers take all 64 bits.
#[inline]
pub fn signed(out: &mut Vec<u8>, field: u32, value: i64) {
    unsigned(out, field, value as u64);
}

/// Appends a field of type `fixed64`.
#[inline]
pub fn fixed64(out: &mut Vec<u8>, field: u32, value: u64) {
    varint(out, u64::from(field) << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a field of type `double`.
#[inline]
pub fn double(out: &mut Vec<u8>, field: u32, value: f64) {
    fixed64(out, field, value.to_bits());
}

/// Appends a field of type `bytes`, or a message that is made already.
#[inline]
pub fn bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    varint(out, u64::from(field) << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Appends a field of type `string`; what is not UTF-8 must have been marked before, because readers may refuse it.
#[inline]
pub fn string(out: &mut Vec<u8>, field: u32, value: &str) {
    bytes(out, field, value.as_bytes());
}

/// Appends a message that `write` makes.
#[inline]
pub fn message(out: &mut Vec<u8>, field: u32, write: impl FnOnce(&mut Vec<u8>)) {
    varint(out, u64::from(field) << 3 | 2);
    // Most messages are shorter than 128 bytes, whose length takes one byte; others are moved.
    let at = out.len();
    out.push(0);
    write(out);
    let length = out.len() - at - 1;
    if length < 0x80 {
        out[at] = length as u8;
        return;
    }
    let mut extra = 0;
    let mut rest = length >> 7;
    while rest > 0 {
        extra += 1;
        rest >>= 7;
    }
    out.resize(out.len() + extra, 0);
    out.copy_within(at + 1..at + 1 + length, at + 1 + extra);
    for (i, byte) in out[at..=at + extra].iter_mut().enumerate() {
        *byte = (length >> (7 * i)) as u8 & 0x7f | if i < extra { 0x80 } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Fields of a message: number, wire type, number or length.
    fn read_varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0u64;
        for shift in (0..).step_by(7) {
            let (&byte, rest) = bytes.split_first().expect("a byte");
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }

    #[test]
    fn fields_are_written_as_the_documentation_of_protocol_buffers_shows_them() {
        let mut out = Vec::new();
        unsigned(&mut out, 1, 150);
        string(&mut out, 2, "testing");
        message(&mut out, 3, |out| unsigned(out, 1, 150));
        assert_eq!(out, b"\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01");
        out.clear();
        signed(&mut out, 1, -2);
        assert_eq!(out, b"\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
        out.clear();
        double(&mut out, 44, 1.0);
        assert_eq!(out, b"\xe1\x02\0\0\0\0\0\0\xf0\x3f");
    }

    proptest! {
        #[test]
        fn numbers_come_back(value in any::<u64>(), bits in 0u32..64) {
            let mut out = Vec::new();
            varint(&mut out, value >> bits);
            prop_assert_eq!(read_varint(&mut &out[..]), value >> bits);
        }

        #[test]
        fn messages_of_any_length_hold_what_was_put_in(length in 0usize..40_000) {
            let content: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let mut out = Vec::new();
            message(&mut out, 20_000, |out| out.extend_from_slice(&content));
            let mut rest = &out[..];
            prop_assert_eq!(read_varint(&mut rest), 20_000 << 3 | 2);
            prop_assert_eq!(read_varint(&mut rest) as usize, length);
            prop_assert_eq!(rest, &content[..]);
        }
    }
}
