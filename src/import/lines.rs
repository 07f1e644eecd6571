//! Text files line by line, plain or gzip, in memory that does not grow with the file.

use super::kineto::unpack;
use crate::error::Result;
use crate::numbers::items;
use crate::trace::sink::Sink;
use std::path::Path;

/// The longest line that is looked at. Kernel names of 64 KiB exist; a file without line ends must not fill memory.
const LINE_LIMIT: usize = 4 << 20;

/// Lines under one quoted field that are joined; more are taken for a stray quote.
const JOINED_LINES: usize = 1000;

/// The lines of a text.
pub struct Lines<'s> {
    source: &'s mut dyn FnMut(&mut Vec<u8>) -> bool,
    buffer: Vec<u8>,
    start: usize,
    ended: bool,
    /// Lines given out, so the number of the last one, counted from 1.
    pub number: u64,
    /// Lines left out because they are too long.
    pub too_long: u64,
    /// The last line had no end, or ended inside a quoted field: the file may have been cut off in it.
    unended: bool,
}

impl<'s> Lines<'s> {
    /// The lines of what `source` appends piece by piece until it returns false.
    pub fn new(source: &'s mut dyn FnMut(&mut Vec<u8>) -> bool) -> Self {
        Lines { source, buffer: Vec::new(), start: 0, ended: false, number: 0, too_long: 0, unended: false }
    }

    /// The next line, without its end; `None` behind the last one.
    pub fn next(&mut self) -> Option<&[u8]> {
        let mut searched = self.start;
        loop {
            if let Some(at) = self.buffer[searched..].iter().position(|&byte| byte == b'\n') {
                let (from, to) = (self.start, searched + at);
                self.start = to + 1;
                self.number += 1;
                if to - from > LINE_LIMIT {
                    self.too_long += 1;
                    searched = self.start;
                    continue;
                }
                return Some(trimmed(&self.buffer[from..to]));
            }
            if self.ended {
                let from = self.start;
                self.start = self.buffer.len();
                if from == self.start {
                    return None;
                }
                self.number += 1;
                // A carriage return is the first half of a line end, and nothing else begins with one. So the line
                // itself is complete.
                self.unended = self.buffer.last() != Some(&b'\r');
                if self.start - from > LINE_LIMIT {
                    self.too_long += 1;
                    return None;
                }
                return Some(trimmed(&self.buffer[from..]));
            }
            self.buffer.drain(..self.start);
            self.start = 0;
            // Of a line that is too long already, nothing but its length matters any more.
            self.buffer.truncate(self.buffer.len().min(LINE_LIMIT + 1));
            searched = self.buffer.len();
            self.ended = !(self.source)(&mut self.buffer);
        }
    }

    /// The next record of RFC 4180: lines are joined while a quoted field is open.
    pub fn next_record(&mut self) -> Option<Vec<u8>> {
        let mut record = self.next()?.to_vec();
        for _ in 0..JOINED_LINES {
            if is_balanced(&record) || record.len() > LINE_LIMIT {
                break;
            }
            let Some(line) = self.next() else {
                self.unended = true;
                break;
            };
            record.push(b'\n');
            record.extend_from_slice(line);
        }
        Some(record)
    }

    /// Says that the line given out last is whole, or holds nothing, although it may have no end: an object that is
    /// closed cannot have been cut off. Every other last line without an end is noted by [`with_lines`], because a
    /// number that was cut short reads as another number.
    pub fn vouch(&mut self) {
        self.unended = false;
    }
}

fn is_balanced(record: &[u8]) -> bool {
    record.iter().filter(|&&byte| byte == b'"').count() % 2 == 0
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Calls `read` with the lines of the file, and notes what was wrong with the file on the way.
///
/// # Errors
/// Fails if the file cannot be opened.
pub fn with_lines<T>(path: &Path, sink: &mut Sink, read: impl FnOnce(&mut Lines, &mut Sink) -> T) -> Result<T> {
    let (result, failure) = unpack::with_text(path, |source| {
        let mut lines = Lines::new(source);
        let result = read(&mut lines, sink);
        (result, lines.too_long, lines.unended.then_some(lines.number))
    })?;
    let (result, too_long, unended) = result;
    if let Some(line) = unended {
        note_unended(path, line, sink);
    }
    let path = path.display();
    if let Some(unpack::Failure { reason, is_cut }) = failure {
        let what = if is_cut { "the file ends too early" } else { "the file is damaged" };
        sink.note("damaged", format!("{path}: {what} ({reason}); what came before is read"));
    }
    if too_long > 0 {
        let limit = LINE_LIMIT >> 20;
        let lines = items(too_long, "line is", "lines are");
        sink.note("left-out", format!("{path}: {lines} longer than {limit} MiB and left out"));
    }
    Ok(result)
}

/// Notes lines that stand where rows do and are none. Every reader of tables says so in these words.
pub fn note_not_rows(path: &Path, count: u64, first: u64, sink: &mut Sink) {
    if count > 0 {
        let lines =
            items(count, "line among the rows is not a row and is", "lines among the rows are not rows and are");
        let path = path.display();
        sink.note("left-out", format!("{path}: {lines} left out; the first is line {first}"));
    }
}

/// Notes that the last line of a text has no end. Every reader of lines says so in these words.
pub fn note_unended(path: &Path, line: u64, sink: &mut Sink) {
    let path = path.display();
    sink.note(
        "incomplete-line",
        format!("{path}: line {line}, the last, has no line end: if the file was cut off there, what is shown of that line is wrong and all that followed is missing; compare it with the original"),
    );
}

/// The fields of a line of values that a separator parts. A quoted field ends at a quote before a separator or the end
/// of the line: nvprof does not double the quotes inside names. Doubled ones, as everybody else writes them, become single.
pub fn fields(line: &[u8], separator: u8) -> Vec<Vec<u8>> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = match rest.strip_prefix(b"\"") {
            Some(quoted) => quoted_field(quoted, separator),
            None => {
                let end = rest.iter().position(|&byte| byte == separator).unwrap_or(rest.len());
                (rest[..end].to_vec(), &rest[end..])
            }
        };
        fields.push(field);
        match after.split_first() {
            Some((_, next)) => rest = next,
            None => return fields,
        }
    }
}

/// What parts the values of the table with this heading: a comma, or the semicolon of programs in countries whose
/// numbers have decimal commas.
pub fn separator_of(heading: &[u8]) -> u8 {
    let count = |byte: u8| heading.iter().filter(|&&b| b == byte).count();
    if count(b';') > count(b',') { b';' } else { b',' }
}

/// The content of a quoted field, and what follows its closing quote: a separator or nothing.
fn quoted_field(text: &[u8], separator: u8) -> (Vec<u8>, &[u8]) {
    let ends = |byte: Option<&u8>| byte.is_none_or(|&byte| byte == separator);
    let mut field = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if byte != b'"' {
            field.push(byte);
            at += 1;
            continue;
        }
        match text.get(at + 1) {
            next if ends(next) => return (field, &text[at + 1..]),
            Some(b'"') => {
                // A doubled quote; or the end of a name that ends in a quote which nobody doubled.
                field.push(b'"');
                if ends(text.get(at + 2)) && !has_quote(&text[at + 2..]) {
                    return (field, &text[at + 2..]);
                }
                at += 2;
            }
            _ => {
                field.push(b'"');
                at += 1;
            }
        }
    }
    (field, &[])
}

fn has_quote(text: &[u8]) -> bool {
    text.contains(&b'"')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(text: &[u8], piece: usize) -> Vec<Vec<u8>> {
        let mut pieces = text.chunks(piece);
        let mut source = |buffer: &mut Vec<u8>| match pieces.next() {
            Some(piece) => {
                buffer.extend_from_slice(piece);
                true
            }
            None => false,
        };
        let mut lines = Lines::new(&mut source);
        std::iter::from_fn(|| lines.next().map(<[u8]>::to_vec)).collect()
    }

    #[test]
    fn lines_are_the_same_however_the_text_arrives() {
        let text = b"one\n\ntwo\r\nthree";
        for piece in [1, 2, 3, 100] {
            assert_eq!(lines_of(text, piece), [&b"one"[..], b"", b"two", b"three"]);
        }
        assert_eq!(lines_of(b"", 5), [b""; 0]);
        assert_eq!(lines_of(b"a\n", 5), [b"a"]);
    }

    #[test]
    fn lines_that_are_too_long_are_left_out() {
        let text = [b"a\n".to_vec(), vec![b'x'; LINE_LIMIT + 10], b"\nb\n".to_vec()].concat();
        assert_eq!(lines_of(&text, 1 << 20), [b"a", b"b"]);
    }

    #[test]
    fn quoted_lines_are_joined() {
        let mut given = false;
        let mut source = |buffer: &mut Vec<u8>| {
            buffer.extend_from_slice(if given { b"" } else { b"1,\"a\nb\",2\n3\n" });
            !std::mem::replace(&mut given, true)
        };
        let mut lines = Lines::new(&mut source);
        assert_eq!(lines.next_record().as_deref(), Some(&b"1,\"a\nb\",2"[..]));
        assert_eq!(lines.next_record().as_deref(), Some(&b"3"[..]));
        assert_eq!(lines.next_record(), None);
    }

    #[test]
    fn a_last_line_that_may_be_cut_is_told_from_a_whole_one() {
        let unended = |text: &[u8], records: bool| {
            let mut given = false;
            let mut source = |buffer: &mut Vec<u8>| {
                buffer.extend_from_slice(if given { b"" } else { text });
                !std::mem::replace(&mut given, true)
            };
            let mut lines = Lines::new(&mut source);
            while if records { lines.next_record().is_some() } else { lines.next().is_some() } {}
            lines.unended
        };
        for (text, expected) in [
            (&b""[..], false),
            (b"a 1\n", false),
            (b"a 1", true),
            (b"a\nb", true),
            (b"a\r\n", false),
            (b"a\r", false),
        ] {
            assert_eq!((unended(text, false), unended(text, true)), (expected, expected), "{text:?}");
        }
        assert!(unended(b"1,\"a\n", true), "the end of a line inside a quoted field ends nothing");
    }

    #[test]
    fn semicolons_part_fields_where_the_heading_has_them() {
        assert_eq!(separator_of(br#""Start";"Size (MB, total)";"Name""#), b';');
        assert_eq!(separator_of(b"Start,Name"), b',');
        let split = |line: &str| fields(line.as_bytes(), b';').into_iter().map(|f| String::from_utf8(f).unwrap());
        assert_eq!(
            split(r#"10,5;;"f(a; b)";"say ""x""""#).collect::<Vec<_>>(),
            ["10,5", "", "f(a; b)", "say \"x\""]
        );
    }

    #[test]
    fn fields_are_split_as_nvprof_and_as_everybody_writes_them() {
        let split = |line: &str| -> Vec<String> {
            fields(line.as_bytes(), b',').into_iter().map(|f| String::from_utf8(f).unwrap()).collect()
        };
        assert_eq!(split(r#"1,,"a, b",x"#), ["1", "", "a, b", "x"]);
        assert_eq!(split(r#""say ""hi""",2"#), [r#"say "hi""#, "2"]);
        assert_eq!(split(r#""op"" f(char*)",2"#), [r#"op" f(char*)"#, "2"]);
        assert_eq!(split(r#""f("x")",2"#), [r#"f("x")"#, "2"]);
        assert_eq!(split(""), [""]);
        assert_eq!(split(",,"), ["", "", ""]);
        assert_eq!(split(r#""open"#), ["open"]);
        assert_eq!(split(r#""""#), [""]);
    }
}
