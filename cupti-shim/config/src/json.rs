//! As much JSON as `seen.jsonl` needs, without a crate: this code lives inside other people's programs.
//!
//! JSON text is Unicode, but paths and arguments are bytes. Bytes that are no UTF-8 are written as an object
//! `{"hex":"2f74ff"}` where a string would stand, so that they come back as they were.

/// A JSON value. Strings are bytes, as said above.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// As it was written: integers keep all their digits.
    Number(String),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        let Value::Object(members) = self else { return None };
        members.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(crate) fn number<N: std::str::FromStr>(&self) -> Option<N> {
        if let Value::Number(text) = self { text.parse().ok() } else { None }
    }

    /// A string, whatever its bytes.
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Value::Bytes(bytes) => Some(bytes.clone()),
            Value::Object(_) => match self.get("hex")? {
                Value::Bytes(digits) => from_hex(digits),
                _ => None,
            },
            _ => None,
        }
    }
}

fn from_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |b: &u8| char::from(*b).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(digit(high)? << 4 | digit(low)?).ok(),
        _ => None,
    });
    pairs.collect()
}

/// Appends `bytes` as a JSON string, or as `{"hex":…}` if they are no UTF-8.
pub(crate) fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        out.extend(b"{\"hex\":\"");
        for byte in bytes {
            out.extend(format!("{byte:02x}").into_bytes());
        }
        return out.extend(b"\"}");
    };
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' => out.extend(b"\\\""),
            b'\\' => out.extend(b"\\\\"),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            // DEL is legal but invisible on terminals.
            0..=0x1f | 0x7f => out.extend(format!("\\u{byte:04x}").into_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// Deeper than anything we write; a bound on the stack.
const MAX_DEPTH: usize = 16;

/// Reads one JSON value with nothing but white space around it.
pub(crate) fn parse(text: &[u8]) -> Option<Value> {
    let mut parser = Parser { rest: text };
    let value = parser.value(0)?;
    parser.space();
    parser.rest.is_empty().then_some(value)
}

struct Parser<'t> {
    rest: &'t [u8],
}

impl Parser<'_> {
    fn space(&mut self) {
        while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// The next byte that is no white space, left where it is.
    fn peek(&mut self) -> Option<u8> {
        self.space();
        self.rest.first().copied()
    }

    fn expect(&mut self, text: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.peek()? {
            b'n' => self.expect(b"null").map(|()| Value::Null),
            b't' => self.expect(b"true").map(|()| Value::Bool(true)),
            b'f' => self.expect(b"false").map(|()| Value::Bool(false)),
            b'"' => self.string().map(Value::Bytes),
            b'[' => self.list(depth),
            b'{' => self.object(depth),
            _ => self.number(),
        }
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        self.next()?;
        let mut items = Vec::new();
        if self.peek()? == b']' {
            self.next()?;
            return Some(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            match self.next()? {
                b',' => {}
                b']' => return Some(Value::List(items)),
                _ => return None,
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.next()?;
        let mut members = Vec::new();
        if self.peek()? == b'}' {
            self.next()?;
            return Some(Value::Object(members));
        }
        loop {
            if self.peek()? != b'"' {
                return None;
            }
            let name = String::from_utf8(self.string()?).ok()?;
            self.space();
            self.expect(b":")?;
            members.push((name, self.value(depth + 1)?));
            self.space();
            match self.next()? {
                b',' => {}
                b'}' => return Some(Value::Object(members)),
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<Value> {
        let end = self.rest.iter().position(|b| !matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
        let (number, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let text = std::str::from_utf8(number).ok()?;
        text.parse::<f64>().ok().filter(|n| n.is_finite())?;
        self.rest = rest;
        Some(Value::Number(text.to_owned()))
    }

    fn string(&mut self) -> Option<Vec<u8>> {
        self.expect(b"\"")?;
        let mut bytes = Vec::new();
        loop {
            match self.next()? {
                b'"' => break,
                b'\\' => match self.next()? {
                    b'n' => bytes.push(b'\n'),
                    b'r' => bytes.push(b'\r'),
                    b't' => bytes.push(b'\t'),
                    b'b' => bytes.push(8),
                    b'f' => bytes.push(12),
                    b'u' => {
                        let letter = self.escaped_letter()?;
                        bytes.extend(letter.encode_utf8(&mut [0; 4]).bytes());
                    }
                    other @ (b'"' | b'\\' | b'/') => bytes.push(other),
                    _ => return None,
                },
                0..=0x1f => return None,
                other => bytes.push(other),
            }
        }
        std::str::from_utf8(&bytes).is_ok().then_some(bytes)
    }

    /// What follows `\u`; letters beyond U+FFFF are two of them.
    fn escaped_letter(&mut self) -> Option<char> {
        let first = self.four_digits()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        self.expect(b"\\u")?;
        let second = self.four_digits()?;
        if !(0xdc00..0xe000).contains(&second) {
            return None;
        }
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))
    }

    fn four_digits(&mut self) -> Option<u32> {
        let mut number = 0;
        for _ in 0..4 {
            number = number << 4 | char::from(self.next()?).to_digit(16)?;
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        push_bytes(&mut out, bytes);
        String::from_utf8(out).expect("JSON is text")
    }

    #[test]
    fn every_byte_comes_back() {
        let mut all: Vec<Vec<u8>> = (0..=255u8).map(|b| vec![b'a', b, b'z']).collect();
        all.extend([b"".to_vec(), "häß/😀\u{2028}".into(), (0..=255).collect(), b"\xed\xa0\x80".to_vec()]);
        for bytes in all {
            let text = written(&bytes);
            assert!(text.bytes().all(|b| b >= 0x20 && b != 0x7f), "no control characters: {text:?}");
            assert_eq!(parse(text.as_bytes()).and_then(|v| v.bytes()), Some(bytes), "{text}");
        }
    }

    #[test]
    fn other_writers_json_is_read() {
        let value = parse(br#" {"a" : [1, -2.5e3, true, false, null, "\u00e4\ud83d\ude00\/"], "b":{} , "c":[]} "#);
        let value = value.expect("JSON");
        let Some(Value::List(items)) = value.get("a") else { panic!("{value:?}") };
        assert_eq!(items[0].number::<u32>(), Some(1));
        assert_eq!(items[1], Value::Number("-2.5e3".to_owned()));
        assert_eq!(items[5].bytes(), Some("ä😀/".as_bytes().to_vec()));
        assert_eq!(value.get("b"), Some(&Value::Object(Vec::new())));
        assert_eq!(value.get("d"), None);
    }

    #[test]
    fn large_integers_keep_their_digits() {
        assert_eq!(parse(b"1795834061123456789").and_then(|v| v.number::<i64>()), Some(1_795_834_061_123_456_789));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "",
            "{",
            "[1",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "\"a",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\\u12\"",
            "01x",
            "nul",
            "1 2",
            "inf",
            "nan",
            "-",
            "\"\u{1}\"",
            "{\"a\":1,}",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse("[".repeat(100_000).as_bytes()), None, "no stack overflow");
        assert_eq!(parse(b"{\"hex\":\"0g\"}").and_then(|v| v.bytes()), None);
        assert_eq!(parse(b"{\"hex\":\"012\"}").and_then(|v| v.bytes()), None);
    }
}
