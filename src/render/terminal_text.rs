//! Text for a terminal: lines that fit its width, with colour, and plain ASCII where the locale has nothing else.

use super::color::{self, Painter};
use super::terminal::terminal_width;
use crate::demangle::short_name;
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

/// How text for people is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalText {
    /// Characters that a line may have; `None`: any number.
    pub width: Option<usize>,
    /// Whether characters outside ASCII are to be replaced.
    pub ascii: bool,
    /// Whether lines are coloured.
    pub color: bool,
}

impl TerminalText {
    /// What the standard output wants. What is piped is never cut, and neither is anything that is asked for `wide`.
    pub fn of_stdout(wide: bool) -> TerminalText {
        let is_terminal = io::stdout().is_terminal();
        TerminalText {
            width: if is_terminal && !wide { terminal_width() } else { None },
            ascii: ascii_only(),
            color: color::is_wanted(is_terminal),
        }
    }

    /// Whether text is written as it is.
    pub fn is_plain(self) -> bool {
        self == TerminalText::default()
    }

    /// A writer that does to each line what is wanted.
    pub fn lines<W: Write>(self, out: W) -> Lines<W> {
        let painter = self.color.then(Painter::default);
        Lines { out, terminal: self, line: Vec::new(), painter }
    }

    fn line<'t>(self, line: &'t str) -> Cow<'t, str> {
        let line = if self.ascii { to_ascii(line) } else { Cow::Borrowed(line) };
        let too_long = |line: &str, width: usize| line.chars().count() > width;
        let Some(width) = self.width.filter(|&width| too_long(&line, width)) else { return line };
        let line = with_short_name(&line);
        if !too_long(&line, width) {
            return Cow::Owned(line);
        }
        let ellipsis = if self.ascii { "..." } else { "…" };
        let kept = line.chars().take(width.saturating_sub(ellipsis.chars().count()));
        Cow::Owned(kept.chain(ellipsis.chars()).collect())
    }
}

/// The line with the function's name that it ends in shortened, if it ends in one: what tells names apart is not cut off.
fn with_short_name(line: &str) -> String {
    let (before, name) = line.split_at(line.rfind("  ").map_or(0, |gap| gap + 2));
    // Sentences have parentheses too; before those of a function stand a result of one word and the name.
    let head = name.split(['(', '<']).next().unwrap_or(name);
    let is_function = head.len() < name.len() && head.matches(' ').count() <= 1 && !head.ends_with(' ');
    match short_name(name) {
        Cow::Owned(short) if is_function => [before, &*short].concat(),
        _ => line.to_owned(),
    }
}

/// Whether the locale was set to one without UTF-8. One that was not set at all says nothing: containers have none,
/// and their terminals show UTF-8.
pub fn ascii_only() -> bool {
    is_ascii_locale(|name| std::env::var(name).ok())
}

fn is_ascii_locale(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
    set.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        !locale.contains("utf-8") && !locale.contains("utf8")
    })
}

/// Text for the standard error, or any other that is not cut.
pub fn text(text: &str) -> Cow<'_, str> {
    if ascii_only() { to_ascii(text) } else { Cow::Borrowed(text) }
}

/// The same text, as near to it as plain ASCII comes.
pub fn to_ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '…' => out.push_str("..."),
            'µ' | 'μ' => out.push('u'),
            '×' => out.push('x'),
            '–' | '—' | '─' => out.push('-'),
            '→' => out.push_str("->"),
            '·' => out.push('.'),
            '│' => out.push('|'),
            '█' => out.push('#'),
            '░' => out.push('.'),
            '↑' => out.push('^'),
            '↓' => out.push('v'),
            c if c.is_ascii() => out.push(c),
            _ => out.push('?'),
        }
    }
    Cow::Owned(out)
}

/// Writes whole lines as [`TerminalText`] wants them.
pub struct Lines<W: Write> {
    out: W,
    terminal: TerminalText,
    line: Vec<u8>,
    painter: Option<Painter>,
}

impl<W: Write> Lines<W> {
    /// Writes the line that came last, or the one before it where colours need to know what follows.
    fn end_line(&mut self) -> io::Result<()> {
        let line = String::from_utf8_lossy(&self.line);
        let line = self.terminal.line(&line);
        match &mut self.painter {
            None => writeln!(self.out, "{line}")?,
            Some(painter) => {
                if let Some(before) = painter.next(&line) {
                    writeln!(self.out, "{before}")?;
                }
            }
        }
        self.line.clear();
        Ok(())
    }
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.pop_if(|byte| *byte == b'\n').is_some() {
                self.end_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(last) = self.painter.as_mut().and_then(Painter::last) {
            writeln!(self.out, "{last}")?;
        }
        if !self.line.is_empty() {
            let line = String::from_utf8_lossy(&self.line);
            self.out.write_all(self.terminal.line(&line).as_bytes())?;
            self.line.clear();
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(terminal: TerminalText, pieces: &[&str]) -> String {
        let mut out = Vec::new();
        let mut lines = terminal.lines(&mut out);
        pieces.iter().for_each(|piece| lines.write_all(piece.as_bytes()).unwrap());
        lines.flush().unwrap();
        drop(lines);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_are_cut_to_the_width_however_they_come() {
        let narrow = TerminalText { width: Some(6), ascii: false, color: false };
        assert_eq!(written(narrow, &["abcd", "efgh\nabcdef\n", "grün grün"]), "abcde…\nabcdef\ngrün …");
        assert_eq!(written(TerminalText::default(), &["abcdefgh\n"]), "abcdefgh\n");
    }

    #[test]
    fn a_name_that_is_too_long_begins_with_what_tells_it_apart() {
        let narrow = TerminalText { width: Some(40), ascii: false, color: false };
        let row =
            "  70.13%  1.2s  void at::native::copy<(int)4, at::native::Add<float>>(int, at::native::Add<float>)\n";
        assert_eq!(written(narrow, &[row]), "  70.13%  1.2s  copy<4, Add<float>>\n");
        let narrow = TerminalText { width: Some(24), ascii: false, color: false };
        assert_eq!(written(narrow, &[row]), "  70.13%  1.2s  copy<4,…\n");
        let sentence = "Times are those of the host (not of the GPU) and are not comparable\n";
        assert_eq!(written(narrow, &[sentence]), "Times are those of the …\n");
        assert_eq!(written(TerminalText::default(), &[row]), row);
    }

    #[test]
    fn ascii_keeps_what_characters_mean() {
        let ascii = TerminalText { width: None, ascii: true, color: false };
        assert_eq!(written(ascii, &["5 µs → 2 × 3, …\n", "grün\n"]), "5 us -> 2 x 3, ...\ngr?n\n");
        assert_eq!(
            written(TerminalText { width: Some(6), ascii: true, color: false }, &["abcdefgh\n"]),
            "abc...\n"
        );
    }

    #[test]
    fn a_locale_without_utf_8_is_ascii_and_none_is_not() {
        let of = |pairs: &'static [(&str, &str)]| {
            is_ascii_locale(move |name| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(of(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]));
        assert!(of(&[("LC_ALL", ""), ("LANG", "POSIX")]));
        assert!(!of(&[("LC_ALL", "C.UTF-8")]) && !of(&[("LANG", "de_DE.utf8")]) && !of(&[]));
    }
}
