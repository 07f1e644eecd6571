//! JSON text, byte by byte: what is written millions of times takes no detour through a general library.

use crate::render::digits::PAIRS;
pub use crate::render::digits::{signed, unsigned};

/// Nanoseconds as microseconds with three decimals; the integer is cut, never divided as a floating-point number.
#[inline]
pub fn microseconds(out: &mut Vec<u8>, ns: i64) {
    if ns < 0 {
        out.push(b'-');
    }
    let ns = ns.unsigned_abs();
    unsigned(out, ns / 1000);
    let decimals = (ns % 1000) as usize;
    let pair = decimals % 100 * 2;
    out.extend_from_slice(&[b'.', b'0' + (decimals / 100) as u8, PAIRS[pair], PAIRS[pair + 1]]);
}

/// A string in quotes. Each byte that is not UTF-8 is written as the text `\xff`, as reports show it: JSON has
/// no bytes, and one character for all of them would make one name of several.
pub fn string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    content(out, text);
    out.push(b'"');
}

/// The content of a string, without its quotes.
pub fn content(out: &mut Vec<u8>, text: &[u8]) {
    for chunk in text.utf8_chunks() {
        escaped(out, chunk.valid().as_bytes());
        for byte in chunk.invalid() {
            // The backslash of the mark is escaped like any other.
            out.extend_from_slice(format!("\\\\x{byte:02x}").as_bytes());
        }
    }
}

/// What a byte is written as: 0 as it is, `u` as `\u00XX`, anything else behind a backslash.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut control = 0;
    while control < 0x20 {
        table[control] = b'u';
        control += 1;
    }
    table[0x08] = b'b';
    table[0x09] = b't';
    table[0x0a] = b'n';
    table[0x0c] = b'f';
    table[0x0d] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    // Legal as it is, and some terminals obey it.
    table[0x7f] = b'u';
    table
};

fn escaped(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&b| ESCAPES[usize::from(b)] != 0) {
        let byte = rest[at];
        out.extend_from_slice(&rest[..at]);
        match ESCAPES[usize::from(byte)] {
            b'u' => {
                let digit = |d: u8| if d < 10 { b'0' + d } else { b'a' + d - 10 };
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
            }
            escape => out.extend_from_slice(&[b'\\', escape]),
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Bytes such that a reader gets exactly them: a string, or `{"hex":"…"}` where they are no UTF-8.
pub fn exact(out: &mut Vec<u8>, bytes: &[u8]) {
    if std::str::from_utf8(bytes).is_ok() {
        string(out, bytes);
    } else {
        out.extend_from_slice(b"{\"hex\":\"");
        hex(out, bytes);
        out.extend_from_slice(b"\"}");
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

/// A floating-point number, as short as it can be read back exactly; what JSON has no number for becomes a string.
pub fn float(out: &mut Vec<u8>, value: f64) {
    let text = format!("{value:?}");
    let text = text.as_bytes();
    if value.is_finite() { out.extend_from_slice(text) } else { string(out, text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn decimals_are_those_of_the_integer() {
        let cases = [
            (0, "0.000"),
            (1, "0.001"),
            (999, "0.999"),
            (1_000, "1.000"),
            (12_034_056, "12034.056"),
            (-1, "-0.001"),
            (1_712_195_495_519_689_251, "1712195495519689.251"),
            (i64::MAX, "9223372036854775.807"),
            (i64::MIN, "-9223372036854775.808"),
        ];
        for (ns, text) in cases {
            assert_eq!(written(|out| microseconds(out, ns)), text);
        }
    }

    #[test]
    fn what_is_no_utf8_is_replaced_or_kept_in_hexadecimal() {
        let lone_surrogate = b"a\xed\xa0\xbdb";
        assert_eq!(written(|out| string(out, b"\xff\"")), r#""\\xff\"""#);
        assert_eq!(written(|out| string(out, lone_surrogate)), r#""a\\xed\\xa0\\xbdb""#);
        assert_eq!(written(|out| exact(out, lone_surrogate)), "{\"hex\":\"61eda0bd62\"}");
        assert_eq!(written(|out| exact(out, "é\n".as_bytes())), "\"é\\n\"");
    }

    #[test]
    fn floats_are_numbers_or_strings() {
        let texts = [1.0, 0.1, -1e300, f64::NAN, f64::NEG_INFINITY].map(|v| written(|out| float(out, v)));
        assert_eq!(texts, ["1.0", "0.1", "-1e300", "\"NaN\"", "\"-inf\""]);
    }

    proptest! {
        #[test]
        fn numbers_are_written_as_the_standard_library_writes_them(value in any::<i64>(), bits in 0u32..64) {
            prop_assert_eq!(written(|out| signed(out, value >> bits)), (value >> bits).to_string());
            prop_assert_eq!(written(|out| unsigned(out, value as u64 >> bits)), (value as u64 >> bits).to_string());
        }

        #[test]
        fn strings_are_read_back_as_they_were(text in any::<String>()) {
            let json = written(|out| string(out, text.as_bytes()));
            prop_assert_eq!(serde_json::from_str::<String>(&json).expect("JSON"), text);
        }
    }
}
