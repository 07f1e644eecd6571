//! Where a list of events goes on behind one that is damaged.
//!
//! A quote too many or too few turns all that follows inside out: strings become structure and structure becomes strings.
//! What tells where the next event begins is then the text itself: an opening brace behind a comma, from which on every
//! string is followed by what JSON allows, up to its closing brace.

use super::Indexer;
use crate::import::kineto::json_tokens::{Nest, Tape};

/// What was found behind a damaged event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// An event begins here, as far as can be told.
    Event(usize),
    /// The list ends with the bracket here.
    End(usize),
    /// Nothing before this place; more text is needed.
    More(usize),
    /// Nothing at all.
    Nothing,
}

/// The longest event that is recognised. Real ones have some hundred bytes, 40 KiB at most.
const LONGEST: usize = 256 << 10;

/// Text that a candidate is first judged by.
const FIRST_WINDOW: usize = 512;

/// Candidates refused before the last of them is taken all the same. Where every event is damaged the work would else
/// grow with the square of the file.
const REFUSALS: usize = 64;

/// What a candidate is.
enum Verdict {
    Event,
    Other,
    Unknown,
}

/// Searches `text` from `from` on; `is_all`: no more will come.
pub fn search(text: &[u8], from: usize, is_all: bool) -> Next {
    let mut at = from;
    let mut refused = 0;
    while let Some(open) = text[at..].iter().position(|&byte| byte == b'{').map(|found| at + found) {
        at = open + 1;
        if text[..open].trim_ascii_end().last() != Some(&b',') {
            continue;
        }
        match verdict(&text[open..], is_all) {
            Verdict::Event => return Next::Event(open),
            Verdict::Unknown => return Next::More(open),
            Verdict::Other => refused += 1,
        }
        if refused == REFUSALS {
            return Next::Event(open);
        }
    }
    match is_all {
        // From the item on: what was searched for events before may hold the end.
        true => end_of_list(text),
        false => Next::More(text.len()),
    }
}

/// Whether an event begins here: a whole object with a phase, and behind it another item or the end of the list.
fn verdict(text: &[u8], is_all: bool) -> Verdict {
    match text[1..].trim_ascii_start().first() {
        Some(b'"') => {}
        Some(_) => return Verdict::Other,
        None if is_all => return Verdict::Other,
        None => return Verdict::Unknown,
    }
    let mut window = FIRST_WINDOW;
    loop {
        let seen = &text[..window.min(text.len())];
        let mut indexer = Indexer::default();
        indexer.index(seen, 0, true);
        let tape = Tape { text: seen, tokens: indexer.tokens() };
        match tape.nest(0) {
            Nest::Whole(after) => {
                let end = tape.tokens[after - 1] as usize + 1;
                let has_phase = seen[end - 1] == b'}' && seen[..end].windows(4).any(|four| four == b"\"ph\"");
                return match text[end..].trim_ascii_start().first() {
                    Some(b',' | b']') if has_phase => Verdict::Event,
                    None if has_phase => {
                        if is_all {
                            Verdict::Event
                        } else {
                            Verdict::Unknown
                        }
                    }
                    _ => Verdict::Other,
                };
            }
            Nest::Broken => return Verdict::Other,
            Nest::Cut if seen.len() < text.len() && window < LONGEST => window *= 4,
            Nest::Cut if is_all || window >= LONGEST => return Verdict::Other,
            Nest::Cut => return Verdict::Unknown,
        }
    }
}

/// The bracket that ends the list when no event follows any more: behind a brace, and before the end of the document or
/// another field of it.
fn end_of_list(text: &[u8]) -> Next {
    let mut at = 1;
    while let Some(close) = text[at..].iter().position(|&byte| byte == b']').map(|found| at + found) {
        at = close + 1;
        let rest = text[at..].trim_ascii_start();
        let goes_on = match rest {
            [] => true,
            [b'}', rest @ ..] => rest.trim_ascii_start().is_empty(),
            [b',', rest @ ..] => is_field(rest.trim_ascii_start()),
            _ => false,
        };
        if goes_on && text[..close].trim_ascii_end().last() == Some(&b'}') {
            return Next::End(close);
        }
    }
    Next::Nothing
}

/// Whether a key and a colon stand here.
fn is_field(text: &[u8]) -> bool {
    let Some(key) = text.strip_prefix(b"\"") else { return false };
    let close = key.iter().position(|&byte| byte == b'"');
    close.is_some_and(|close| key[close + 1..].trim_ascii_start().first() == Some(&b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_event_is_found_behind_an_odd_quote() {
        let text = br#"{"ph": "X", "name": "a">", "args": {"n": [1, {"x": 2}]}}, {"ph": "X", "name": "b, {"}, {"ph": "M"}]"#;
        let found = search(text, 1, true);
        assert!(
            matches!(found, Next::Event(at) if text[at..].starts_with(br#"{"ph": "X", "name": "b, {"}"#)),
            "{found:?}"
        );
    }

    #[test]
    fn an_event_that_is_not_all_there_needs_more_text() {
        let text = br#"{"name": "a"", "ph": "X"}, {"name": "b", "ph":"#;
        assert!(matches!(search(text, 1, false), Next::More(27)));
        assert_eq!(search(text, 1, true), Next::Nothing);
    }

    #[test]
    fn the_end_of_the_list_is_found_when_no_event_follows() {
        for (text, at) in [
            (&br#"{"name": "a"", "ph": "X"}]"#[..], Some(25)),
            (br#"{"name": "a"", "ph": "X"} ] } "#, Some(26)),
            (br#"{"name": "a"", "ph": "X"}], "traceName": "t"}"#, Some(25)),
            (br#"{"name": "a"", "ph": "X", "args": {"a": [1]"#, None),
        ] {
            assert_eq!(
                search(text, 1, true),
                at.map_or(Next::Nothing, Next::End),
                "{}",
                String::from_utf8_lossy(text)
            );
        }
    }
}
