//! Text as Windows writes it: byte order marks and UTF-16, decoded once, before any reader looks at the text.
//!
//! PowerShell's `>` writes UTF-16 with a byte order mark, editors write UTF-8 with one. Everything else passes through as
//! it is, so readers of UTF-8 pay nothing but a look at the first bytes.

use std::io::{ErrorKind, Read, Result};

/// Units of UTF-16 at the front that must all be plain ASCII for text without a byte order mark to be taken for it. In
/// UTF-8 every second byte of such text would be a zero, which no text has.
const UNMARKED_UNITS: usize = 8;

/// Bytes that are read at once from what has to be decoded.
const STEP_BYTES: usize = 64 << 10;

/// What the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// UTF-8, or no text at all.
    AsIs,
    /// UTF-16, least significant byte first.
    Little,
    /// UTF-16, most significant byte first.
    Big,
}

impl Form {
    /// The form of what begins like this, and how many bytes its mark takes.
    fn of(front: &[u8]) -> (Form, usize) {
        match front {
            [0xef, 0xbb, 0xbf, ..] => (Form::AsIs, 3),
            // UTF-32 begins so too; no tool writes it.
            [0xff, 0xfe, ..] => (Form::Little, 2),
            [0xfe, 0xff, ..] => (Form::Big, 2),
            _ => (Form::without_mark(front), 0),
        }
    }

    fn without_mark(front: &[u8]) -> Form {
        let (pairs, _) = front.as_chunks::<2>();
        let is_text = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
        let all = |zero: usize| pairs.iter().all(|pair| pair[zero] == 0 && is_text(pair[1 - zero]));
        match () {
            () if pairs.len() < UNMARKED_UNITS => Form::AsIs,
            () if all(1) => Form::Little,
            () if all(0) => Form::Big,
            () => Form::AsIs,
        }
    }
}

/// Reads text as UTF-8 whatever it was written in.
pub struct Decoded<R> {
    input: R,
    form: Option<Form>,
    /// What is ready to be given out, from `at` on.
    ready: Vec<u8>,
    at: usize,
    /// What was read and is not decoded yet: half a unit, or the first of two that make a character.
    raw: Vec<u8>,
    /// Where the next bytes are read to.
    step: Vec<u8>,
    ended: bool,
}

impl<R: Read> Decoded<R> {
    /// The text of `input`.
    pub fn new(input: R) -> Self {
        Decoded { input, form: None, ready: Vec::new(), at: 0, raw: Vec::new(), step: Vec::new(), ended: false }
    }

    fn begin(&mut self) -> Result<Form> {
        let mut front = Vec::new();
        let read = self.input.by_ref().take(2 * UNMARKED_UNITS as u64).read_to_end(&mut front);
        let (form, mark) = Form::of(&front);
        front.drain(..mark);
        match form {
            Form::AsIs => self.ready = front,
            Form::Little | Form::Big => self.raw = front,
        }
        self.form = Some(form);
        // What came before an error is given out before it; the next call meets it again.
        if self.ready.is_empty() && self.raw.is_empty() {
            read?;
        }
        Ok(form)
    }

    /// Decodes some more; nothing ready afterwards means that the text has ended.
    fn decode(&mut self, form: Form) -> Result<()> {
        self.ready.clear();
        self.at = 0;
        while self.ready.is_empty() && !self.ended {
            self.step.resize(STEP_BYTES, 0);
            let read = loop {
                match self.input.read(&mut self.step) {
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    other => break other?,
                }
            };
            self.raw.extend_from_slice(&self.step[..read]);
            self.ended = read == 0;
            self.take_units(form);
        }
        Ok(())
    }

    /// Decodes the whole characters of what was read; at the end of the text, everything.
    fn take_units(&mut self, form: Form) {
        let (pairs, odd) = self.raw.as_chunks::<2>();
        let unit = |pair: &[u8; 2]| match form {
            Form::Big => u16::from_be_bytes(*pair),
            Form::Little | Form::AsIs => u16::from_le_bytes(*pair),
        };
        let waits = |unit: u16| (0xd800..0xdc00).contains(&unit) && !self.ended;
        let whole = match pairs.last().map(unit) {
            Some(last) if waits(last) => pairs.len() - 1,
            _ => pairs.len(),
        };
        for character in char::decode_utf16(pairs[..whole].iter().map(unit)) {
            match character {
                Ok(c) => self.ready.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                // As WTF-8 has it: bytes that stay apart from every other name's and are shown as what they are.
                Err(lone) => {
                    let lone = lone.unpaired_surrogate();
                    let byte = |shift: u32, lead: u8, bits: u16| lead | (lone >> shift & bits) as u8;
                    self.ready.extend_from_slice(&[byte(12, 0xe0, 0x0f), byte(6, 0x80, 0x3f), byte(0, 0x80, 0x3f)]);
                }
            }
        }
        if self.ended && !odd.is_empty() {
            // Half a unit: the file was cut off here, and what stands here is no whole line.
            self.ready.extend_from_slice("\u{fffd}".as_bytes());
            self.raw.clear();
        } else {
            self.raw.drain(..2 * whole);
        }
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let form = match self.form {
            Some(form) => form,
            None => self.begin()?,
        };
        if self.at == self.ready.len() {
            match form {
                Form::AsIs => return self.input.read(buffer),
                Form::Little | Form::Big => self.decode(form)?,
            }
        }
        let count = (&self.ready[self.at..]).read(buffer)?;
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives out a byte or two at a time, as pipes may.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            let count = self.1.min(buffer.len()).min(self.0.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn decoded(bytes: &[u8]) -> Vec<u8> {
        let mut all = Vec::new();
        Decoded::new(bytes).read_to_end(&mut all).expect("reads from memory");
        for step in [1, 3, 7] {
            let mut slowly = Vec::new();
            Decoded::new(Slow(bytes, step)).read_to_end(&mut slowly).expect("reads from memory");
            assert_eq!(slowly, all, "{step} bytes at a time");
        }
        all
    }

    fn utf16(text: &str, mark: bool, big: bool) -> Vec<u8> {
        let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
        units.flat_map(|unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    }

    #[test]
    fn every_form_of_a_text_is_the_same_text() {
        let text = "a line of text\r\nnamed gemm<é, 😀>\n".repeat(3_000);
        assert_eq!(decoded(text.as_bytes()), text.as_bytes());
        assert_eq!(decoded(format!("\u{feff}{text}").as_bytes()), text.as_bytes());
        for (mark, big) in [(true, false), (true, true), (false, false), (false, true)] {
            assert_eq!(decoded(&utf16(&text, mark, big)), text.as_bytes(), "mark {mark}, big {big}");
        }
    }

    #[test]
    fn what_is_not_certainly_utf16_stays_as_it_is() {
        for bytes in [
            &b""[..],
            b"a",
            b"a\0",
            b"SQLite format 3\0",
            b"a\0b\0",
            &[0; 64],
            b"\x1f\x8b\x08\0\0\0\0\0",
            b"\xef\xbb",
        ] {
            assert_eq!(decoded(bytes), bytes, "{bytes:?}");
        }
    }

    #[test]
    fn halves_of_characters_stay_apart_and_half_a_unit_is_no_line_end() {
        let lone = |unit: u16| [&utf16("a name: ", true, false)[..], &unit.to_le_bytes(), b"\n\0"].concat();
        let (high, low) = (decoded(&lone(0xd83d)), decoded(&lone(0xdc00)));
        assert_ne!(high, low);
        assert!(String::from_utf8(high).is_err());
        let mut cut = utf16("main;a 12\n", true, false);
        cut.push(b'x');
        assert_eq!(decoded(&cut), "main;a 12\n\u{fffd}".as_bytes());
    }
}
