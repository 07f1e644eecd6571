//! Walks a trace document as its text arrives: the header's fields and the events, each handed over whole.
//!
//! Nothing is kept but the text of the item that is not complete yet, so memory does not grow with the file. Two
//! forms exist: an object with the events under `traceEvents` and header fields before and after them, and a bare
//! array of events. A writer that was killed leaves either of them cut off anywhere.

mod resync;

use self::resync::Next;
use super::event::{Event, Read};
use super::index::Indexer;
use super::json_tokens::{Nest, Step, Tape, Value, value_start};
use super::text::unescape;

/// The largest event or header field that is looked at; a larger one is left out. The largest seen in a real trace
/// was 40 KiB; without a limit one quote too few makes the rest of a file one item.
pub const ITEM_LIMIT: usize = 16 << 20;

/// The most text between two items in which commas are looked for: memory must not grow with it.
const GAP_LIMIT: usize = 64 << 10;

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
    /// A comma in the list of events with no item before it, and where it is.
    fn stray_comma(&mut self, offset: u64);
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
            self.look_for_commas(visitor)?;
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
                Read::Whole(_, next) if self.is_oversized_before(next) => {
                    visitor.oversized(offset);
                    self.at = next;
                }
                Read::Whole(event, next) => {
                    visitor.event(&event, tape, offset);
                    self.at = next;
                }
                Read::Cut if self.is_oversized(self.indexed) => {
                    visitor.oversized(offset);
                    if !self.resynchronise(false)? {
                        self.pass()?;
                    }
                }
                // No closing bracket ends this event before the end of the text: it has a quote too many, or it was cut
                // off. If it was cut off, no event follows, and what looks like the end of the list may be the end of a
                // list inside the event.
                Read::Cut if self.ended => match self.resynchronise(false)? {
                    true => visitor.broken(offset),
                    false => return Err(CutOff),
                },
                Read::Cut => self.more()?,
                Read::Broken => {
                    visitor.broken(offset);
                    if !self.is_closed_item()? && !self.resynchronise(true)? {
                        self.pass()?;
                    }
                }
            }
        }
    }

    /// Says which commas stand between the token before the one looked at and that one without an item before them.
    /// The comma behind the last item is one that many programs write, and costs nothing.
    fn look_for_commas(&mut self, visitor: &mut dyn Visitor) -> Walk<()> {
        // Behind damage nothing is known of what is before it.
        let Some(before) = self.at.checked_sub(1) else { return Ok(()) };
        let start = self.indexer.tokens()[before] as usize + 1;
        if self.tape().byte(self.at).is_none() && !self.ended && self.text.len() - start <= GAP_LIMIT {
            // Keeps the text from the token before on, which is the first of it then.
            self.at = before;
            self.more()?;
            self.at = 1;
            return self.look_for_commas(visitor);
        }
        let end = self.indexer.tokens().get(self.at).map_or(self.text.len(), |&token| token as usize);
        let gap = &self.text[start..end];
        // Behind an item one comma is in order; in front of the first none is.
        let in_order = usize::from(self.text[start - 1] != b'[');
        let commas = gap.iter().filter(|&&byte| byte == b',').count();
        // Numbers and words are no items that anybody looks at, and have commas of their own.
        if commas > in_order && gap.iter().all(|&byte| byte == b',' || byte.is_ascii_whitespace()) {
            let places = (start..end).filter(|&at| self.text[at] == b',').skip(in_order);
            places.for_each(|at| visitor.stray_comma(self.offset + at as u64));
        }
        Ok(())
    }

    /// Whether the brackets of the item at the token looked at can be trusted: it is an object, its strings are in order
    /// and another item or the end of the list follows. It is passed over then.
    fn is_closed_item(&mut self) -> Walk<bool> {
        loop {
            match self.tape().nest(self.at) {
                Nest::Broken => return Ok(false),
                Nest::Cut if self.ended || self.is_oversized(self.indexed) => return Ok(false),
                Nest::Cut => self.more()?,
                Nest::Whole(after) => {
                    let end = self.indexer.tokens()[after - 1] as usize + 1;
                    let behind = self.text[end..].trim_ascii_start().first();
                    if behind.is_none() && !self.ended {
                        self.more()?;
                        continue;
                    }
                    // A list's bracket there means that a brace is missing inside.
                    let is_closed = self.text[end - 1] == b'}' && matches!(behind, None | Some(b',' | b']'));
                    if is_closed {
                        self.at = after;
                    }
                    return Ok(is_closed);
                }
            }
        }
    }

    /// Goes on behind the damaged item at the token looked at, where the next one, or the end of the list if that is
    /// asked for, can be told from the text alone; false, and nothing changed, if neither is found.
    fn resynchronise(&mut self, may_end: bool) -> Walk<bool> {
        // Counted from the item, because text before it may be dropped meanwhile.
        let mut from = 1;
        loop {
            let Some(&item) = self.indexer.tokens().get(self.at) else { return Ok(false) };
            let item = item as usize;
            let next = match resync::search(&self.text[item..], from, self.ended) {
                Next::Event(next) => item + next,
                Next::End(next) if may_end => item + next,
                Next::End(_) | Next::Nothing => return Ok(false),
                Next::More(_) if self.ended || self.text.len() - item > 2 * ITEM_LIMIT => return Ok(false),
                Next::More(searched) => {
                    from = searched;
                    self.more()?;
                    continue;
                }
            };
            self.text.drain(..next);
            self.offset += next as u64;
            self.indexer = Indexer::default();
            self.at = 0;
            self.indexed = self.indexer.index(&self.text, 0, self.ended);
            return Ok(true);
        }
    }

    /// Whether the item at the token looked at is larger than the limit, given that it reaches to `end`.
    fn is_oversized(&self, end: usize) -> bool {
        end - self.indexer.tokens()[self.at] as usize > ITEM_LIMIT
    }

    /// The same of an item that ends with the token before `next`.
    fn is_oversized_before(&self, next: usize) -> bool {
        self.is_oversized(self.indexer.tokens()[next - 1] as usize)
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
        let next = loop {
            let next = self.indexer.tokens().get(self.at + 2).map(|&token| token as usize);
            if self.is_oversized(next.unwrap_or(self.indexed)) {
                visitor.oversized(self.position(self.at));
                return self.pass();
            }
            match next {
                Some(next) => break next,
                None => self.more()?,
            }
        };
        let tape = self.tape();
        let [key, close] = [0, 1].map(|i| tape.tokens[self.at + i] as usize);
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
            let before = self.position(self.at);
            match fields.step() {
                Step::Field(..) if self.is_oversized_before(fields.at()) => {
                    self.at = fields.at();
                    visitor.oversized(before);
                    return Ok(());
                }
                Step::Field(_, value) => {
                    visitor.header(key, value, tape);
                    self.at = fields.at();
                    return Ok(());
                }
                Step::Cut if self.is_oversized(self.indexed) => {
                    visitor.oversized(before);
                    self.at += 2;
                    return self.pass_value();
                }
                Step::Cut => self.more()?,
                Step::End(_) | Step::Broken => {
                    visitor.broken(before);
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
mod tests;
