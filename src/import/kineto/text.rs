//! JSON strings to the bytes they mean.

use std::borrow::Cow;

/// The content of a string, escapes resolved. Bytes that are not UTF-8 stay as they are, and so do an escape that JSON
/// does not know and one of a surrogate without its other half: a character that stands for all of them would make one
/// name of several.
#[inline]
pub fn unescape(raw: &[u8]) -> Cow<'_, [u8]> {
    match raw.iter().position(|&b| b == b'\\') {
        None => Cow::Borrowed(raw),
        Some(first) => Cow::Owned(resolve(raw, first)),
    }
}

fn resolve(raw: &[u8], first: usize) -> Vec<u8> {
    let mut text = raw[..first].to_vec();
    let mut rest = &raw[first..];
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'\\' {
            text.push(*byte);
            continue;
        }
        let Some((&escape, after)) = rest.split_first() else {
            text.push(b'\\');
            break;
        };
        rest = after;
        match escape {
            b'"' | b'\\' | b'/' => text.push(escape),
            b'b' => text.push(0x08),
            b'f' => text.push(0x0c),
            b'n' => text.push(b'\n'),
            b'r' => text.push(b'\r'),
            b't' => text.push(b'\t'),
            b'u' => match unit(rest) {
                Some((high, after)) => match character(high, after) {
                    Some((c, after)) => {
                        text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                        rest = after;
                    }
                    None => text.extend_from_slice(b"\\u"),
                },
                None => text.extend_from_slice(b"\\u"),
            },
            _ => text.extend_from_slice(&[b'\\', escape]),
        }
    }
    text
}

/// The four hexadecimal digits after `\u`.
fn unit(text: &[u8]) -> Option<(u16, &[u8])> {
    let (digits, rest) = text.split_first_chunk::<4>()?;
    let value = digits.iter().try_fold(0u16, |v, &d| Some(v << 4 | char::from(d).to_digit(16)? as u16))?;
    Some((value, rest))
}

/// The character that begins with this UTF-16 unit, which may need a second one from the text; `None` if it is half of
/// one and the other half is missing.
fn character(first: u16, rest: &[u8]) -> Option<(char, &[u8])> {
    if let Some(c) = char::from_u32(u32::from(first)) {
        return Some((c, rest));
    }
    let (second, after) = unit(rest.strip_prefix(b"\\u")?)?;
    let c = char::decode_utf16([first, second]).next()?.ok()?;
    Some((c, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(raw: &str) -> String {
        String::from_utf8(unescape(raw.as_bytes()).into_owned()).expect("UTF-8")
    }

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(text(r#"a\"b\\c\/d"#), r#"a"b\c/d"#);
        assert_eq!(text(r"\b\f\n\r\t"), "\u{8}\u{c}\n\r\t");
        assert_eq!(text(r"\u0041\u00e9\u20AC"), "Aé€");
        assert_eq!(text(r"\ud83d\ude00!"), "😀!");
        assert_eq!(text("no escapes: é"), "no escapes: é");
    }

    #[test]
    fn what_is_no_escape_stays() {
        assert_eq!(text(r"\ud83d"), r"\ud83d");
        assert_eq!(text(r"\ud83dx"), r"\ud83dx");
        assert_eq!(text(r"\ude00\u0041"), r"\ude00A");
        assert_eq!(text(r"\ud83d\ud83d\ude00"), r"\ud83d😀");
        assert_eq!(text(r"C:\Users"), r"C:\Users");
        assert_eq!(text(r"\u12"), r"\u12");
        assert_eq!(text(r"\u+123"), r"\u+123");
        assert_eq!(text("x\\"), "x\\");
    }

    #[test]
    fn bytes_that_are_no_utf8_stay() {
        assert_eq!(&*unescape(b"\xff\\n\xfe"), b"\xff\n\xfe");
        assert_eq!(&*unescape(b"\xff"), b"\xff");
    }
}
