//! JSON token by token, for documents whose lists are long and are not lists of events: nothing but the token being
//! read is kept, nesting costs a byte per level, and no recursion follows it.

use super::kineto::text::unescape;

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// `{`
    Object,
    /// `}`
    EndObject,
    /// `[`
    Array,
    /// `]`
    EndArray,
    /// A key of an object.
    Key(Vec<u8>),
    /// A string, escapes resolved.
    Text(Vec<u8>),
    /// A number, or `true`, `false`, `null`, as written.
    Bare(Vec<u8>),
}

/// Why there are no more tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The document is complete.
    End,
    /// The text ends before the document does, at this byte.
    Cut(u64),
    /// This byte is not JSON.
    Broken(u64),
}

/// The longest string or number that is read, and the deepest nesting.
const TOKEN_LIMIT: usize = 16 << 20;
const DEPTH_LIMIT: usize = 1 << 20;

/// What may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    /// A value or the end of the array, right behind `[`.
    ValueOrEnd,
    /// A key or the end of the object, right behind `{`.
    KeyOrEnd,
    Key,
    /// A comma or a closing bracket.
    More,
    Nothing,
}

/// The tokens of a text that arrives in pieces.
pub struct Tokens<'s> {
    source: &'s mut dyn FnMut(&mut Vec<u8>) -> bool,
    text: Vec<u8>,
    at: usize,
    offset: u64,
    ended: bool,
    /// The open brackets: true for an object.
    open: Vec<bool>,
    expect: Expect,
}

type Read<T> = Result<T, Stop>;

impl<'s> Tokens<'s> {
    /// The tokens of what `source` appends piece by piece until it returns false.
    pub fn new(source: &'s mut dyn FnMut(&mut Vec<u8>) -> bool) -> Self {
        Tokens { source, text: Vec::new(), at: 0, offset: 0, ended: false, open: Vec::new(), expect: Expect::Value }
    }

    /// Where the next token is looked for.
    pub fn position(&self) -> u64 {
        self.offset + self.at as u64
    }

    /// How many brackets are open.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Gets more text; false if there is none. Text before `at` is dropped.
    fn fetch(&mut self) -> bool {
        if self.ended {
            return false;
        }
        self.text.drain(..self.at);
        self.offset += self.at as u64;
        self.at = 0;
        self.ended = !(self.source)(&mut self.text);
        true
    }

    fn peek(&mut self) -> Option<u8> {
        loop {
            if let Some(&byte) = self.text.get(self.at) {
                return Some(byte);
            }
            if !self.fetch() {
                return None;
            }
        }
    }

    /// The next byte that is no white space; a byte order mark in front of everything counts as such.
    fn next_byte(&mut self) -> Read<u8> {
        loop {
            match self.peek() {
                Some(byte) if byte.is_ascii_whitespace() => self.at += 1,
                Some(0xef | 0xbb | 0xbf) if self.position() < 3 => self.at += 1,
                Some(byte) => return Ok(byte),
                None => return Err(Stop::Cut(self.position())),
            }
        }
    }

    /// The next token.
    ///
    /// # Errors
    /// Fails if there is no next token, because the document has ended or the text was cut off.
    pub fn next(&mut self) -> Read<Token> {
        loop {
            if self.expect == Expect::Nothing {
                return Err(Stop::End);
            }
            let byte = self.next_byte()?;
            match (byte, self.expect) {
                (b',', Expect::More) => {
                    self.at += 1;
                    self.expect = if self.open.last() == Some(&true) { Expect::Key } else { Expect::Value };
                }
                (b'}', Expect::KeyOrEnd | Expect::More | Expect::Key) if self.open.last() == Some(&true) => {
                    return Ok(self.close(Token::EndObject));
                }
                (b']', Expect::ValueOrEnd | Expect::More | Expect::Value) if self.open.last() == Some(&false) => {
                    return Ok(self.close(Token::EndArray));
                }
                (b'"', Expect::Key | Expect::KeyOrEnd) => {
                    let key = self.string()?;
                    if self.next_byte()? != b':' {
                        return Err(Stop::Broken(self.position()));
                    }
                    self.at += 1;
                    self.expect = Expect::Value;
                    return Ok(Token::Key(key));
                }
                (_, Expect::Value | Expect::ValueOrEnd) => return self.value(byte),
                _ => return Err(Stop::Broken(self.position())),
            }
        }
    }

    fn value(&mut self, byte: u8) -> Read<Token> {
        match byte {
            b'{' | b'[' if self.open.len() >= DEPTH_LIMIT => Err(Stop::Broken(self.position())),
            b'{' => {
                self.at += 1;
                self.open.push(true);
                self.expect = Expect::KeyOrEnd;
                Ok(Token::Object)
            }
            b'[' => {
                self.at += 1;
                self.open.push(false);
                self.expect = Expect::ValueOrEnd;
                Ok(Token::Array)
            }
            b'"' => {
                let text = self.string()?;
                self.after_value();
                Ok(Token::Text(text))
            }
            _ => {
                let bare = self.bare()?;
                self.after_value();
                Ok(Token::Bare(bare))
            }
        }
    }

    fn close(&mut self, token: Token) -> Token {
        self.at += 1;
        self.open.pop();
        self.after_value();
        token
    }

    fn after_value(&mut self) {
        self.expect = if self.open.is_empty() { Expect::Nothing } else { Expect::More };
    }

    fn string(&mut self) -> Read<Vec<u8>> {
        self.at += 1;
        let mut raw = Vec::new();
        loop {
            let Some(byte) = self.peek() else { return Err(Stop::Cut(self.position())) };
            self.at += 1;
            match byte {
                b'"' => break,
                b'\\' => {
                    raw.push(byte);
                    let Some(escaped) = self.peek() else { return Err(Stop::Cut(self.position())) };
                    self.at += 1;
                    raw.push(escaped);
                }
                _ => raw.push(byte),
            }
            if raw.len() > TOKEN_LIMIT {
                return Err(Stop::Broken(self.position()));
            }
        }
        Ok(match raw.contains(&b'\\') {
            true => unescape(&raw).into_owned(),
            false => raw,
        })
    }

    fn bare(&mut self) -> Read<Vec<u8>> {
        let mut bare = Vec::new();
        while let Some(byte) = self.peek() {
            if !(byte.is_ascii_alphanumeric() || b"+-._".contains(&byte)) {
                break;
            }
            self.at += 1;
            bare.push(byte);
            if bare.len() > TOKEN_LIMIT {
                return Err(Stop::Broken(self.position()));
            }
        }
        match bare.is_empty() {
            true => Err(Stop::Broken(self.position())),
            false => Ok(bare),
        }
    }

    /// Passes over the value that comes next.
    ///
    /// # Errors
    /// Fails if no value comes next, or if only a part of it is there.
    pub fn skip(&mut self) -> Read<()> {
        let depth = self.depth();
        loop {
            match self.next()? {
                Token::Key(_) => {}
                _ if self.depth() <= depth => return Ok(()),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens_of(text: &[u8], piece: usize) -> (Vec<String>, Stop) {
        let mut pieces = text.chunks(piece);
        let mut source =
            |buffer: &mut Vec<u8>| pieces.next().map(|piece| buffer.extend_from_slice(piece)).is_some();
        let mut tokens = Tokens::new(&mut source);
        let mut found = Vec::new();
        loop {
            let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            found.push(match tokens.next() {
                Ok(Token::Object) => "{".to_owned(),
                Ok(Token::EndObject) => "}".to_owned(),
                Ok(Token::Array) => "[".to_owned(),
                Ok(Token::EndArray) => "]".to_owned(),
                Ok(Token::Key(key)) => show(&key) + ":",
                Ok(Token::Text(text)) => format!("'{}'", show(&text)),
                Ok(Token::Bare(text)) => show(&text),
                Err(stop) => return (found, stop),
            });
        }
    }

    #[test]
    fn tokens_are_the_same_however_the_text_arrives() {
        let text = b"\xef\xbb\xbf {\"a\\n\": [1, -2.5e+3,\n{}, [] , \"x\\\"y\"], \"b\":null}  ";
        let expected = ["{", "a\n:", "[", "1", "-2.5e+3", "{", "}", "[", "]", "'x\"y'", "]", "b:", "null", "}"];
        for piece in [1, 2, 3, 7, 1000] {
            let (found, stop) = tokens_of(text, piece);
            assert_eq!((found.as_slice(), stop), (expected.map(str::to_owned).as_slice(), Stop::End));
        }
    }

    #[test]
    fn where_the_text_ends_or_is_no_json_is_said() {
        for (text, stop) in [
            ("", Stop::Cut(0)),
            ("{\"a\"", Stop::Cut(4)),
            ("[1,", Stop::Cut(3)),
            ("[1 2]", Stop::Broken(3)),
            ("{1:2}", Stop::Broken(1)),
            ("{\"a\" 2}", Stop::Broken(5)),
            ("[}", Stop::Broken(1)),
            ("\u{1}", Stop::Broken(0)),
            ("[1,]", Stop::End),
        ] {
            assert_eq!(tokens_of(text.as_bytes(), 3).1, stop, "{text}");
        }
    }

    #[test]
    fn values_are_passed_over_whole_however_deep() {
        let deep = format!("[{}1{},2]", "[".repeat(10_000), "]".repeat(10_000));
        let mut given = false;
        let mut source = |buffer: &mut Vec<u8>| {
            buffer.extend_from_slice(if given { b"" } else { deep.as_bytes() });
            !std::mem::replace(&mut given, true)
        };
        let mut tokens = Tokens::new(&mut source);
        assert_eq!(tokens.next(), Ok(Token::Array));
        assert_eq!(tokens.skip(), Ok(()));
        assert_eq!(tokens.next(), Ok(Token::Bare(b"2".to_vec())));
    }
}
