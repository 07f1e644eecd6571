//! Walks a trace document as its text arrives: the header's fields and the events, each handed over whole.
//!
//! Nothing is kept but the text of the item that is not complete yet, so memory does not grow with the file. Two
//! forms exist: an object with the events under `traceEvents` and header fields before and after them, and a bare
//! array of events. A writer that was killed leaves either of them cut off anywhere.

use super::event::{Event, Read};
use super::tape::{Indexer, Step, Tape, Value, value_start};
use super::text::unescape;

/// The largest event or header field that is looked at; a larger one is left out. The largest seen in a real trace
/// was 40 KiB; without a limit one quote too few makes the rest of a file one item.
pub const ITEM_LIMIT: usize = 16 << 20;

/// What a document is made of.
pub trait Visitor {
    /// Whether a header field is of interest; others are passed over however long they are.
    fn wants(&mut self, key: &[u8]) -> bool;
    /// A header field that is of interest.
    fn header(&mut self, key: &[u8], value: Value, tape: Tape);
    /// An event, and where in the text it begins.
    fn event(&mut self, event: &Event, tape: Tape, offset: u64);
    /// Something in the list of events that is no event, and where it begins.
    fn broken(&mut self, offset: u64);
    /// An item beyond [`ITEM_LIMIT`], and where it begins.
    fn oversized(&mut self, offset: u64);
}

/// How a document ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With its closing bracket, before this byte.
    Closed(u64),
    /// Before its closing bracket: at this byte, inside the item that begins at the other if there is one.
    Cut(u64, Option<u64>),
    /// It is no JSON array or object.
    NotJson,
}

/// The text of a document, piece by piece.
pub struct Document<'s> {
    /// Appends the next piece; false at the end.
    source: &'s mut dyn FnMut(&mut Vec<u8>) -> bool,
    ended: bool,
    text: Vec<u8>,
    /// Where `text` begins in the whole text.
    offset: u64,
    indexer: Indexer,
    /// How far the indexer got.
    indexed: usize,
    /// The next token to look at.
    at: usize,
    /// Whether a list of events was met.
    pub has_events: bool,
}

/// What a cut-off document makes the walking methods return.
struct CutOff;

type Walk<T> = Result<T, CutOff>;

impl<'s> Document<'s> {
    /// A document whose text comes from `source`.
    pub fn new(source: &'s mut dyn FnMut(&mut Vec<u8>) -> bool) -> Self {
        Document {
            source,
            ended: false,
            text: Vec::new(),
            offset: 0,
            indexer: Indexer::default(),
            indexed: 0,
            at: 0,
            has_events: false,
        }
    }

    /// Walks it to its end.
    pub fn walk(&mut self, visitor: &mut dyn Visitor) -> End {
        let Some(first) = self.first_byte() else { return End::NotJson };
        let walked = match first {
            b'[' => {
                self.has_events = true;
                self.at += 1;
                self.events(visitor)
            }
            _ => self.fields(visitor),
        };
        match walked {
            Ok(()) => End::Closed(self.position(self.at - 1) + 1),
            Err(CutOff) => {
                let item = (self.at < self.indexer.tokens().len()).then(|| self.position(self.at));
                End::Cut(self.offset + self.text.len() as u64, item)
            }
        }
    }

    /// How many bytes other than white space follow the document.
    pub fn rest(&mut self) -> u64 {
        let mut from = self.indexer.tokens()[self.at - 1] as usize + 1;
        let mut count = 0;
        loop {
            count += self.text[from..].iter().filter(|b| !b.is_ascii_whitespace()).count() as u64;
            self.text.clear();
            from = 0;
            if !(self.source)(&mut self.text) {
                return count;
            }
        }
    }

    /// The bracket that the document begins with, behind white space and a byte order mark.
    fn first_byte(&mut self) -> Option<u8> {
        loop {
            let text = self.text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.text);
            match text.trim_ascii_start().first() {
                Some(b'{' | b'[') if !self.tape().tokens.is_empty() => return self.tape().byte(0),
                Some(b'{' | b'[' | 0xef) | None if !self.ended && self.text.len() < ITEM_LIMIT => self.fetch(),
                _ => return None,
            }
        }
    }

    fn tape(&self) -> Tape<'_> {
        Tape { text: &self.text, tokens: self.indexer.tokens() }
    }

    /// Where a token is in the whole text.
    fn position(&self, token: usize) -> u64 {
        self.offset + u64::from(self.indexer.tokens()[token])
    }

    fn fetch(&mut self) {
        if !(self.source)(&mut self.text) {
            self.ended = true;
        }
        self.indexed = self.indexer.index(&self.text, self.indexed, self.ended);
    }

    /// Gets more text behind the token looked at, having dropped what is before it.
    fn more(&mut self) -> Walk<()> {
        if self.ended {
            return Err(CutOff);
        }
        let keep_from = self.indexer.tokens().get(self.at).map_or(self.indexed, |&at| at as usize);
        self.text.drain(..keep_from);
        self.indexer.drop_front(self.at, keep_from);
        self.indexed -= keep_from;
        self.offset += keep_from as u64;
        self.at = 0;
        // An item that needs more is read again from its beginning, so the text at least doubles each time.
        let enough = 2 * self.text.len();
        self.fetch();
        while self.text.len() < enough && !self.ended {
            self.fetch();
        }
        Ok(())
    }

    /// The next token's byte.
    fn peek(&mut self) -> Walk<u8> {
        loop {
            match self.tape().byte(self.at) {
                Some(byte) => return Ok(byte),
                None => self.more()?,
            }
        }
    }

    fn events(&mut self, visitor: &mut dyn Visitor) -> Walk<()> {
        loop {
            if self.peek()? == b']' {
                self.at += 1;
                return Ok(());
            }
            let tape = Tape { text: &self.text, tokens: self.indexer.tokens() };
            let offset = self.position(self.at);
            if tape.byte(self.at) != Some(b'{') {
                visitor.broken(offset);
                self.pass()?;
                continue;
            }
            match Event::read(tape, self.at) {
                Read::Whole(event, next) => {
                    visitor.event(&event, tape, offset);
                    self.at = next;
                }
                Read::Cut if self.is_oversized() => {
                    visitor.oversized(offset);
                    self.pass()?;
                }
                Read::Cut => self.more()?,
                Read::Broken => {
                    visitor.broken(offset);
                    self.pass()?;
                }
            }
        }
    }

    fn is_oversized(&self) -> bool {
        self.text.len() - self.indexer.tokens()[self.at] as usize > ITEM_LIMIT
    }

    /// Passes over a string, or over a bracket and all inside it, however long.
    fn pass(&mut self) -> Walk<()> {
        let mut depth = 0usize;
        loop {
            match self.peek()? {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {
                    self.at += 1;
                    self.peek()?;
                }
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// The fields of the object that the document is.
    fn fields(&mut self, visitor: &mut dyn Visitor) -> Walk<()> {
        self.at += 1;
        loop {
            match self.peek()? {
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                b'"' => self.field(visitor)?,
                _ => {
                    visitor.broken(self.position(self.at));
                    self.pass()?;
                }
            }
        }
    }

    fn field(&mut self, visitor: &mut dyn Visitor) -> Walk<()> {
        // The key's two quotes, and the token that tells where a bare value ends.
        while self.indexer.tokens().len() < self.at + 3 {
            if self.is_oversized() {
                visitor.oversized(self.position(self.at));
                return self.pass();
            }
            self.more()?;
        }
        let tape = self.tape();
        let [key, close, next] = [0, 1, 2].map(|i| tape.tokens[self.at + i] as usize);
        let key = unescape(&tape.text[key + 1..close]).into_owned();
        let Some(start) = value_start(&tape.text[close + 1..next]) else {
            visitor.broken(self.position(self.at));
            self.at += 2;
            return Ok(());
        };
        let nested = close + 1 + start == next;
        let is_array = nested && tape.text[next] == b'[';
        if key == b"traceEvents" {
            self.has_events = true;
            if is_array {
                self.at += 3;
                return self.events(visitor);
            }
        }
        if visitor.wants(&key) {
            return self.wanted(&key, visitor);
        }
        self.at += 2;
        if nested { self.pass_value() } else { Ok(()) }
    }

    /// Hands over the field at the token looked at, once all of it is there.
    fn wanted(&mut self, key: &[u8], visitor: &mut dyn Visitor) -> Walk<()> {
        loop {
            let tape = self.tape();
            let mut fields = tape.fields_from(self.at);
            match fields.step() {
                Step::Field(_, value) => {
                    visitor.header(key, value, tape);
                    self.at = fields.at();
                    return Ok(());
                }
                Step::Cut if self.is_oversized() => {
                    visitor.oversized(self.position(self.at));
                    self.at += 2;
                    return self.pass_value();
                }
                Step::Cut => self.more()?,
                Step::End(_) | Step::Broken => {
                    visitor.broken(self.position(self.at));
                    self.at += 2;
                    return Ok(());
                }
            }
        }
    }

    /// Passes over the string, object or array that a field should have; if a bracket closes there, it has none.
    fn pass_value(&mut self) -> Walk<()> {
        match self.peek()? {
            b'}' | b']' => Ok(()),
            _ => self.pass(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes down everything it is told.
    #[derive(Default, Debug, PartialEq)]
    struct Log(Vec<String>);

    impl Visitor for Log {
        fn wants(&mut self, key: &[u8]) -> bool {
            key.starts_with(b"want")
        }

        fn header(&mut self, key: &[u8], value: Value, tape: Tape) {
            let value = match value {
                Value::Nested(open) => format!("({})", show(tape.inner(open))),
                Value::Bare(text) => show(text),
                Value::Text(text) => format!("'{}'", show(text)),
                Value::Missing => unreachable!("a field has a value"),
            };
            self.0.push(format!("{}={value}", show(key)));
        }

        fn event(&mut self, event: &Event, _: Tape, offset: u64) {
            let name = if let Value::Text(name) = event.name { show(name) } else { "?".to_owned() };
            self.0.push(format!("{name}@{offset}"));
        }

        fn broken(&mut self, offset: u64) {
            self.0.push(format!("broken@{offset}"));
        }

        fn oversized(&mut self, offset: u64) {
            self.0.push(format!("oversized@{offset}"));
        }
    }

    fn show(text: &[u8]) -> String {
        String::from_utf8_lossy(text).into_owned()
    }

    /// What is logged, and how it ends, if the text comes in pieces of this many bytes.
    fn walk(text: &[u8], piece: usize) -> (Vec<String>, End, u64) {
        let mut pieces = text.chunks(piece);
        let mut source = |into: &mut Vec<u8>| {
            let next = pieces.next();
            into.extend_from_slice(next.unwrap_or_default());
            next.is_some()
        };
        let mut document = Document::new(&mut source);
        let mut log = Log::default();
        let end = document.walk(&mut log);
        let rest = if let End::Closed(_) = end { document.rest() } else { 0 };
        (log.0, end, rest)
    }

    const OBJECT: &str = r#"
    { "a": {"traceEvents": [{"name":"not this"}]}, "want1" : 17 , "b\"]}": "]}\\",
      "want2": {"x": [1, 2]},"want3":"s\"t", "want4":[],
      "traceEvents" : [ {"ph":"X","name":"one {\"[","args":{"a":[{"b":"}"}]}},{"name":"two"} ,
      null, 3, "stray", [{"name":"nested"}], {"name" "broken"}, {"name":"three\\","x":1}, ],
      "c": [[]], "want5":NaN, "want\u0036":true}  "#;

    #[test]
    fn every_piece_size_gives_the_same() {
        let expected = [
            "want1=17",
            "want2=(\"x\": [1, 2])",
            "want3='s\\\"t'",
            "want4=()",
            "one {\\\"[@184",
            "two@241",
            "broken@279",
            "broken@288",
            "broken@310",
            "three\\\\@329",
            "want5=NaN",
            "want6=true",
        ];
        for piece in 1..=OBJECT.len() {
            let (log, end, rest) = walk(OBJECT.as_bytes(), piece);
            assert_eq!(log, expected, "pieces of {piece}");
            assert_eq!((end, rest), (End::Closed(OBJECT.len() as u64 - 2), 0), "pieces of {piece}");
        }
    }

    #[test]
    fn a_bare_array_is_a_list_of_events() {
        for text in [
            r#"[{"name":"a"},{"name":"b"}]"#,
            r#"[{"name":"a"},{"name":"b"},]"#,
            "\u{feff} [{\"name\":\"a\"}, {\"name\":\"b\"}]",
        ] {
            for piece in 1..=text.len() {
                let (log, end, _) = walk(text.as_bytes(), piece);
                assert_eq!(log.len(), 2, "{text}");
                assert!(log[0].starts_with("a@") && log[1].starts_with("b@"), "{log:?}");
                assert_eq!(end, End::Closed(text.len() as u64));
            }
        }
    }

    #[test]
    fn every_prefix_gives_its_whole_items() {
        let (all, ..) = walk(OBJECT.as_bytes(), 1000);
        let mut most = 0;
        for length in 0..OBJECT.trim_end().len() {
            for piece in [1, 7, 1000] {
                let (log, end, _) = walk(&OBJECT.as_bytes()[..length], piece);
                assert_eq!(log, all[..log.len()], "prefix of {length}");
                assert!(log.len() >= most, "prefix of {length} loses an item");
                most = log.len();
                match end {
                    End::Cut(at, item) => {
                        assert_eq!(at, length as u64);
                        assert!(item.is_none_or(|item| item < at));
                    }
                    End::NotJson => assert_eq!(OBJECT[..length].trim(), ""),
                    End::Closed(_) => panic!("prefix of {length} has no end"),
                }
            }
        }
        assert_eq!(most, all.len());
    }

    #[test]
    fn a_cut_names_the_item_it_is_in() {
        let (log, end, _) = walk(br#"[{"name":"a"}, {"name":"b"#, 5);
        assert_eq!((log.len(), end), (1, End::Cut(25, Some(15))));
        let (log, end, _) = walk(br#"[{"name":"a"}, "#, 5);
        assert_eq!((log.len(), end), (1, End::Cut(15, None)));
    }

    #[test]
    fn what_follows_the_end_is_counted() {
        for piece in [1, 3, 100] {
            assert_eq!(walk(b"[] \n x y", piece), (vec![], End::Closed(2), 2));
        }
    }

    #[test]
    fn what_is_no_json_is_none() {
        for text in ["", "  ", "x[]", "\u{feff}", "\u{e9}{}", "1", "\"[]\""] {
            assert_eq!(walk(text.as_bytes(), 2).1, End::NotJson, "{text}");
        }
    }

    #[test]
    fn a_field_without_a_value_is_passed_over() {
        let (log, end, _) = walk(br#"{"want1":,"want2":1,"x","want3":2,"y":}"#, 3);
        assert_eq!(log.len(), 3, "{log:?}");
        assert_eq!(end, End::Closed(39));
        let (log, end, _) = walk(br#"{"want1":}"#, 3);
        assert_eq!((log, end), (vec!["broken@1".to_owned()], End::Closed(10)));
    }

    #[test]
    fn items_beyond_the_limit_are_left_out_and_the_next_are_read() {
        let long = "x".repeat(ITEM_LIMIT + 1);
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        let event = format!(r#"{{"name":"big","args":{{"a":{deep},"b":"{long}\\"}}}}"#);
        let text =
            format!(r#"{{"want1":"{long}","skip":[{event}],"{long}":1,"traceEvents":[{event},{{"name":"b"}}]}}"#);
        let (log, end, _) = walk(text.as_bytes(), 1 << 20);
        let first = text.find(r#"[{"name":"big""#).expect("skipped").wrapping_add(1);
        let second = text.rfind(r#"{"name":"big""#).expect("left out");
        assert!(first < second);
        let expected = [
            "oversized@1".to_owned(),
            format!("oversized@{}", text.rfind(&format!("\"{long}\":1")).expect("key")),
            format!("oversized@{second}"),
            format!("b@{}", text.len() - 14),
        ];
        assert_eq!(log, expected);
        assert_eq!(end, End::Closed(text.len() as u64));
    }
}
