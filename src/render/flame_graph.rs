//! Flame graphs: SVG pictures that answer the mouse, drawn by inferno from folded stacks.

use crate::demangle::short_name;
use crate::error::{Error, Result};
use inferno::flamegraph::color::{BackgroundColor, Color};
use inferno::flamegraph::{Options, TextTruncateDirection};
use std::borrow::Cow;
use std::io::{self, Write};

/// What all of ours have in common. Lines come sorted.
pub fn options<'a>(title: &str, subtitle: &str) -> Options<'a> {
    let mut options = Options::default();
    options.bgcolors = Some(BackgroundColor::Flat(Color::new(255, 255, 255)));
    options.title = printable(title);
    options.subtitle = Some(printable(subtitle));
    options.count_name = "ns".to_owned();
    options.name_type = "Name:".to_owned();
    options.deterministic = true;
    options.no_sort = true;
    options.font_type = "sans-serif".to_owned();
    options.text_truncate_direction = TextTruncateDirection::Right;
    options
}

/// Draws `lines`, which are sorted: frames with `;` between them, a space, and nanoseconds. Frames are as [`frame`] makes them.
///
/// # Errors
/// Fails if `out` cannot be written to, or with inferno's reason why there is nothing to draw.
pub fn draw(options: &mut Options, lines: &[String], out: &mut dyn Write) -> Result<()> {
    let mut out = Out { inner: out, failed: None };
    let drawn = inferno::flamegraph::from_lines(options, lines.iter().map(String::as_str), &mut out);
    match (out.failed, drawn) {
        (Some(error), _) => Err(Error::output(&error)),
        (None, Err(error)) => Err(Error::new(format!("the flame graph cannot be drawn: {error}"))),
        (None, Ok(())) => Ok(()),
    }
}

/// A name that may stand in a folded line: no semicolons, no line ends or other control characters, nothing that XML
/// forbids, no space at its ends, not empty. The last name must not end in what reads as a second count.
pub fn frame(name: &str, is_last: bool) -> String {
    let one = |c: char| match c {
        ';' => ':',
        // Unicode's own line ends: some readers split lines there.
        '\u{2028}' | '\u{2029}' => ' ',
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        c if c.is_control() => ' ',
        c => c,
    };
    let mut clean: String = name.chars().map(one).collect();
    if clean.trim().len() != clean.len() {
        clean = clean.trim().to_owned();
    }
    if is_last
        && let Some((before, after)) = clean.rsplit_once(char::is_whitespace)
        && after.chars().all(|c| c.is_ascii_digit() || c == '.')
    {
        clean = format!("{before}_{after}");
    }
    if clean.is_empty() { "[unnamed]".to_owned() } else { clean }
}

/// The name of a function such that it begins with what tells it apart, for boxes show the beginning. The whole name follows,
/// for searching and for what is shown of the box below the mouse.
pub fn short_name_first(name: String) -> String {
    match short_name(&name) {
        Cow::Owned(short) if !name.starts_with(&short) => format!("{short} = {name}"),
        _ => name,
    }
}

/// Text without what XML forbids.
fn printable(text: &str) -> String {
    text.replace(|c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'), " ")
}

/// The stream, remembering why it failed: inferno turns every error into one of its own.
struct Out<'o> {
    inner: &'o mut dyn Write,
    failed: Option<io::Error>,
}

impl Out<'_> {
    fn keep<T>(&mut self, outcome: io::Result<T>) -> io::Result<T> {
        outcome.map_err(|error| {
            let copy = io::Error::new(error.kind(), error.to_string());
            self.failed.get_or_insert(error);
            copy
        })
    }
}

impl Write for Out<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let outcome = self.inner.write(buffer);
        self.keep(outcome)
    }

    fn flush(&mut self) -> io::Result<()> {
        let outcome = self.inner.flush();
        self.keep(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::frame;

    #[test]
    fn names_cannot_break_a_line() {
        assert_eq!(frame("a;b\nc\u{85}d\u{2028}e", false), "a:b c d e");
        assert_eq!(frame("  \u{1}x\t", false), "x");
        assert_eq!(frame("\u{7}", false), "[unnamed]");
        assert_eq!(frame("operator new 12", false), "operator new 12");
        assert_eq!(frame("operator new 12", true), "operator new_12");
        assert_eq!(frame("12", true), "12");
        assert_eq!(frame("gemm 1.5", true), "gemm_1.5");
        assert_eq!(frame("void f<1, 2>(int)", true), "void f<1, 2>(int)");
        assert_eq!(frame("\u{ffff}", true), "\u{fffd}");
    }
}
