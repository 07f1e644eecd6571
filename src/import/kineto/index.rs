//! The structure of JSON text: where its strings and brackets are, found 64 bytes at a time.
//!
//! A token is the position of a quote that begins or ends a string, or of a bracket outside strings. Commas, colons
//! and numbers need none: they lie between two tokens, and half as many tokens is twice the speed. Reading an
//! object then is walking its tokens ([`super::tape`]); nothing looks at a string's content but who wants it.

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
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code, reason = "calling a function that names SSE2 needs it; see SAFETY")]
    #[inline]
    fn of(block: &[u8; BLOCK]) -> Masks {
        // SAFETY: every x86-64 has SSE2 (System V ABI, AMD64 supplement, 1.1), and nothing else is asked for.
        unsafe { Masks::sse2(block) }
    }

    /// Sixteen bytes at a time; this is where every byte of a trace is looked at.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "sse2")]
    #[inline]
    fn sse2(block: &[u8; BLOCK]) -> Masks {
        use std::arch::x86_64::*;
        let word = |bytes: &[u8; 8]| i64::from_le_bytes(*bytes);
        let bits = |vector: __m128i, byte: u8| {
            u64::from(_mm_movemask_epi8(_mm_cmpeq_epi8(vector, _mm_set1_epi8(byte as i8))) as u32)
        };
        let mut masks = Masks { quotes: 0, backslashes: 0, brackets: 0 };
        let (words, _) = block.as_chunks::<8>();
        for (i, pair) in words.chunks_exact(2).enumerate() {
            let bytes = _mm_set_epi64x(word(&pair[1]), word(&pair[0]));
            // `[` and `{`, `]` and `}` differ in this one bit alone.
            let lower = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
            masks.quotes |= bits(bytes, b'"') << (16 * i);
            masks.backslashes |= bits(bytes, b'\\') << (16 * i);
            masks.brackets |= (bits(lower, b'{') | bits(lower, b'}')) << (16 * i);
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
            let lower = word | (LOW * 0x20);
            masks.quotes |= bits(word, b'"') << (8 * i);
            masks.backslashes |= bits(word, b'\\') << (8 * i);
            masks.brackets |= (bits(lower, b'{') | bits(lower, b'}')) << (8 * i);
        }
        masks
    }
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
}
