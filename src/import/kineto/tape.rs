//! The structure of JSON text: where its strings and brackets are, found 64 bytes at a time.
//!
//! A token is the position of a quote that begins or ends a string, or of a bracket outside strings. Commas, colons
//! and numbers need none: they lie between two tokens, and half as many tokens is twice the speed. Reading an
//! object then is walking its tokens ([`Fields`]); nothing looks at a string's content but who wants it.

/// Finds tokens in text that arrives in pieces.
#[derive(Default)]
pub struct Indexer {
    /// All ones if the last block ended inside a string.
    in_string: u64,
    /// 1 if the last block ended with a backslash that escapes what follows.
    escape: u64,
    tokens: Vec<u32>,
    /// Tokens found; `tokens` is longer, so that a block can be written without asking for room.
    count: usize,
}

/// Bytes that one step looks at.
const BLOCK: usize = 64;

impl Indexer {
    /// Tokens found so far and not yet dropped.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens[..self.count]
    }

    /// Finds the tokens of `text[from..]`, as far as whole blocks go, and of the rest too if it is the `last`.
    /// Returns up to where it got; the next call continues there.
    pub fn index(&mut self, text: &[u8], from: usize, last: bool) -> usize {
        let (blocks, rest) = text[from..].as_chunks::<BLOCK>();
        self.tokens.resize(self.tokens.len().max(self.count + (blocks.len() + 1) * BLOCK), 0);
        let mut at = from;
        for block in blocks {
            self.block(block, at as u32);
            at += BLOCK;
        }
        if last && !rest.is_empty() {
            let mut block = [b' '; BLOCK];
            block[..rest.len()].copy_from_slice(rest);
            self.block(&block, at as u32);
            at = text.len();
        }
        at
    }

    /// Forgets the first `tokens` tokens and counts the others from `bytes` on.
    pub fn drop_front(&mut self, tokens: usize, bytes: usize) {
        self.tokens.copy_within(tokens..self.count, 0);
        self.count -= tokens;
        self.tokens[..self.count].iter_mut().for_each(|t| *t -= bytes as u32);
    }

    fn block(&mut self, block: &[u8; BLOCK], at: u32) {
        let masks = Masks::of(block);
        let quotes = masks.quotes & !self.escaped(masks.backslashes);
        // A bit of the running xor is set from an opening quote up to just before its closing one.
        let inside = prefix_xor(quotes) ^ self.in_string;
        self.in_string = ((inside as i64) >> 63) as u64;
        let mut bits = (masks.brackets & !inside) | quotes;
        let found = bits.count_ones() as usize;
        // Eight at a time without asking whether there are eight: what is written too much is written over later.
        let room = &mut self.tokens[self.count..self.count + BLOCK];
        for eight in room.chunks_exact_mut(8).take(found.div_ceil(8)) {
            for token in eight {
                *token = at + bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
            }
        }
        self.count += found;
    }

    /// Which bytes of the block a backslash escapes. As in simdjson: the carry of an addition runs along each run
    /// of backslashes and tells runs of odd length from runs of even length.
    fn escaped(&mut self, backslashes: u64) -> u64 {
        if backslashes == 0 {
            return std::mem::take(&mut self.escape);
        }
        const EVEN: u64 = 0x5555_5555_5555_5555;
        let backslashes = backslashes & !self.escape;
        let follows = (backslashes << 1) | self.escape;
        let odd_starts = backslashes & !EVEN & !follows;
        let (even_runs, carry) = odd_starts.overflowing_add(backslashes);
        self.escape = u64::from(carry);
        (EVEN ^ (even_runs << 1)) & follows
    }
}

fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

/// One bit per byte of a block.
struct Masks {
    quotes: u64,
    backslashes: u64,
    brackets: u64,
}

impl Masks {
    /// SSE2 is part of every x86-64; this is where most of a trace's bytes are looked at.
    #[cfg(target_arch = "x86_64")]
    fn of(block: &[u8; BLOCK]) -> Masks {
        use std::arch::x86_64::*;
        let mut masks = Masks { quotes: 0, backslashes: 0, brackets: 0 };
        for (i, part) in block.as_chunks::<16>().0.iter().enumerate() {
            let (low, high) = part.split_at(8);
            let word = |b: &[u8]| i64::from_le_bytes(b.try_into().expect("eight bytes"));
            // SAFETY: SSE2 is guaranteed on this architecture, and these three work on registers alone.
            #[allow(unused_unsafe)]
            let (bytes, lower, bits) = unsafe {
                let bytes = _mm_set_epi64x(word(high), word(low));
                // `[` and `{`, `]` and `}` differ in this one bit alone.
                let lower = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
                let bits = |vector: __m128i, byte: u8| {
                    let equal = _mm_cmpeq_epi8(vector, _mm_set1_epi8(byte as i8));
                    u64::from(_mm_movemask_epi8(equal) as u32) << (16 * i)
                };
                (bytes, lower, bits)
            };
            masks.quotes |= bits(bytes, b'"');
            masks.backslashes |= bits(bytes, b'\\');
            masks.brackets |= bits(lower, b'{') | bits(lower, b'}');
        }
        masks
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn of(block: &[u8; BLOCK]) -> Masks {
        Masks::portable(block)
    }

    /// The same without vectors, eight bytes at a time.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    fn portable(block: &[u8; BLOCK]) -> Masks {
        const LOW: u64 = u64::from_le_bytes([0x01; 8]);
        const REST: u64 = u64::from_le_bytes([0x7f; 8]);
        let bits = |word: u64, byte: u8| {
            let differs = word ^ (LOW * u64::from(byte));
            let zero = !(((differs & REST) + REST) | differs | REST);
            // Gathers the top bit of each byte into eight adjacent bits.
            (zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
        };
        let mut masks = Masks { quotes: 0, backslashes: 0, brackets: 0 };
        for (i, part) in block.as_chunks::<8>().0.iter().enumerate() {
            let word = u64::from_le_bytes(*part);
            let lower = word | LOW * 0x20;
            masks.quotes |= bits(word, b'"') << (8 * i);
            masks.backslashes |= bits(word, b'\\') << (8 * i);
            masks.brackets |= (bits(lower, b'{') | bits(lower, b'}')) << (8 * i);
        }
        masks
    }
}

/// Text and the tokens in it.
#[derive(Clone, Copy)]
pub struct Tape<'t> {
    /// The text.
    pub text: &'t [u8],
    /// Positions in `text`, ascending.
    pub tokens: &'t [u32],
}

/// A JSON value, not yet looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Value<'t> {
    /// The key was not there.
    #[default]
    Missing,
    /// A number, `true`, `false`, `null`, or something that is no JSON, such as `NaN`.
    Bare(&'t [u8]),
    /// A string as it is written, escapes and all, without its quotes.
    Text(&'t [u8]),
    /// An object or an array: the index of its opening bracket's token.
    Nested(usize),
}

impl<'t> Tape<'t> {
    /// The byte a token stands at.
    pub fn byte(&self, token: usize) -> Option<u8> {
        self.tokens.get(token).map(|&at| self.text[at as usize])
    }

    /// The token after the bracket that closes the one at `open`, if it is there.
    pub fn after(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        for (i, &at) in self.tokens.get(open..)?.iter().enumerate() {
            match self.text[at as usize] {
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth <= 1 => return Some(open + i + 1),
                b'}' | b']' => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// The fields of the object whose opening bracket is token `open`.
    pub fn fields(self, open: usize) -> Fields<'t> {
        self.fields_from(open + 1)
    }

    /// The fields of an object from the one on whose key begins at token `key`.
    pub fn fields_from(self, key: usize) -> Fields<'t> {
        Fields { tape: self, at: key }
    }

    /// The nested values of the array whose opening bracket is token `open`.
    pub fn elements(self, open: usize) -> impl Iterator<Item = usize> {
        let mut at = open + 1;
        std::iter::from_fn(move || {
            while self.byte(at) == Some(b'"') {
                at += 2;
            }
            let element = at;
            matches!(self.byte(at)?, b'{' | b'[').then_some(())?;
            at = self.after(at)?;
            Some(element)
        })
    }

    /// What is written inside the brackets of the array or object `open`, e.g. `1, 2, 3`.
    pub fn inner(&self, open: usize) -> &'t [u8] {
        let end = self.after(open).map_or(self.text.len(), |after| self.tokens[after - 1] as usize);
        &self.text[self.tokens[open] as usize + 1..end]
    }
}

/// Walks the fields of one object.
pub struct Fields<'t> {
    tape: Tape<'t>,
    at: usize,
}

/// One step of [`Fields`].
pub enum Step<'t> {
    /// A key as written, and its value.
    Field(&'t [u8], Value<'t>),
    /// The object ended; the token after it.
    End(usize),
    /// The tokens end before the object does.
    Cut,
    /// This is no object; nothing more can be read from it.
    Broken,
}

impl<'t> Fields<'t> {
    /// The token after the last field.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The next field.
    #[inline]
    pub fn step(&mut self) -> Step<'t> {
        let Tape { text, tokens } = self.tape;
        // The token after the key tells where a bare value must have ended, so without it there is no field yet.
        let [key, close, next] = match tokens.get(self.at..) {
            Some([open, ..]) if text[*open as usize] == b'}' => return Step::End(self.at + 1),
            Some([open, ..]) if text[*open as usize] != b'"' => return Step::Broken,
            Some([open, close, next, ..]) => [*open as usize, *close as usize, *next as usize],
            _ => return Step::Cut,
        };
        let Some(start) = value_start(&text[close + 1..next]) else { return Step::Broken };
        let start = close + 1 + start;
        let key = &text[key + 1..close];
        self.at += 2;
        if start < next {
            return Step::Field(key, Value::Bare(bare(&text[start..next])));
        }
        match text[next] {
            b'"' => {
                let Some(&end) = tokens.get(self.at + 1) else { return Step::Cut };
                self.at += 2;
                Step::Field(key, Value::Text(&text[next + 1..end as usize]))
            }
            b'{' | b'[' => {
                let nested = self.at;
                let Some(after) = self.tape.after(nested) else { return Step::Cut };
                self.at = after;
                Step::Field(key, Value::Nested(nested))
            }
            _ => Step::Broken,
        }
    }
}

impl<'t> Iterator for Fields<'t> {
    type Item = (&'t [u8], Value<'t>);

    /// The next field, of an object that is known to be whole.
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.step() {
            Step::Field(key, value) => Some((key, value)),
            _ => None,
        }
    }
}

/// Where the value begins in what stands between a key and the next token; `None` without a colon.
#[inline]
pub fn value_start(between: &[u8]) -> Option<usize> {
    let space = |from: usize| from + between[from..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    let colon = space(0);
    (between.get(colon) == Some(&b':')).then(|| space(colon + 1))
}

/// A bare value ends at a comma or at white space.
#[inline]
fn bare(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|&b| b == b',' || b.is_ascii_whitespace()).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seeded stream of bytes, most of them such as matter here.
    fn noise(seed: u64, len: usize) -> Vec<u8> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let bytes = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let choice = (state >> 33) as usize;
            let alphabet = b"\"\"\"\\\\{}[]:, a\x80\xff";
            alphabet[choice % alphabet.len()]
        });
        bytes.take(len).collect()
    }

    /// The same by the book, a byte at a time.
    fn tokens_of(text: &[u8]) -> Vec<u32> {
        let (mut tokens, mut inside, mut escaped) = (Vec::new(), false, false);
        for (i, &byte) in text.iter().enumerate() {
            let is_quote = byte == b'"' && !escaped;
            if is_quote || (!inside && b"{}[]".contains(&byte)) {
                tokens.push(i as u32);
            }
            inside ^= is_quote;
            escaped = byte == b'\\' && !escaped;
        }
        tokens
    }

    #[test]
    fn finds_the_same_tokens_as_a_plain_loop_however_the_text_arrives() {
        for seed in 0..400 {
            let text = noise(seed, (seed as usize * 7) % 700);
            let expected = tokens_of(&text);
            for piece in [1, 3, 63, 64, 65, 128, 1000] {
                let mut indexer = Indexer::default();
                let (mut given, mut indexed) = (0, 0);
                while given < text.len() {
                    given = (given + piece).min(text.len());
                    indexed = indexer.index(&text[..given], indexed, given == text.len());
                }
                assert_eq!(indexer.tokens(), expected, "seed {seed}, pieces of {piece}");
            }
        }
    }

    #[test]
    fn masks_without_vectors_are_the_same() {
        for seed in 0..500 {
            let mut block = [0; BLOCK];
            block.copy_from_slice(&noise(seed, BLOCK));
            let (a, b) = (Masks::of(&block), Masks::portable(&block));
            assert_eq!((a.quotes, a.backslashes, a.brackets), (b.quotes, b.backslashes, b.brackets), "seed {seed}");
        }
    }

    #[test]
    fn tokens_in_front_are_dropped_and_the_others_moved() {
        let mut indexer = Indexer::default();
        indexer.index(b"[1]  {2}", 0, true);
        indexer.drop_front(2, 5);
        assert_eq!(indexer.tokens(), [0, 2]);
    }

    fn fields_of(text: &str) -> Vec<(String, String)> {
        let mut indexer = Indexer::default();
        indexer.index(text.as_bytes(), 0, true);
        let tape = Tape { text: text.as_bytes(), tokens: indexer.tokens() };
        let show = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        let fields = tape.fields(0).map(|(key, value)| {
            let value = match value {
                Value::Bare(text) => show(text),
                Value::Text(text) => format!("'{}'", show(text)),
                Value::Nested(open) => format!("({})", show(tape.inner(open))),
                Value::Missing => unreachable!("no such field"),
            };
            (show(key), value)
        });
        fields.collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect()
    }

    #[test]
    fn fields_of_every_kind_are_found() {
        let text = r#"{ "a":1,"b" : "x, \"y" ,"c":[1, {"a":9}],"d":null, "e":{},"f":NaN ,"g":""}"#;
        let expected = [
            ("a", "1"),
            ("b", r#"'x, \"y'"#),
            ("c", r#"(1, {"a":9})"#),
            ("d", "null"),
            ("e", "()"),
            ("f", "NaN"),
            ("g", "''"),
        ];
        assert_eq!(fields_of(text), pairs(&expected));
        assert_eq!(fields_of("{}"), []);
    }

    #[test]
    fn what_is_no_object_ends_the_fields() {
        assert_eq!(fields_of(r#"{"a":1,"b" 2,"c":3}"#), pairs(&[("a", "1")]));
        assert_eq!(fields_of(r#"{"a":}"#), []);
        assert_eq!(fields_of(r#"{[1]}"#), []);
        assert_eq!(fields_of(r#"{"a":1,"b":"#), pairs(&[("a", "1")]));
    }

    #[test]
    fn elements_are_the_nested_values_alone() {
        let text = br#"["x", {"a":1}, 2, [3], {"b":[]}]"#;
        let mut indexer = Indexer::default();
        indexer.index(text, 0, true);
        let tape = Tape { text, tokens: indexer.tokens() };
        let inner: Vec<_> = tape.elements(0).map(|e| tape.inner(e)).collect();
        assert_eq!(inner, [&b"\"a\":1"[..], b"3", b"\"b\":[]"]);
    }
}
